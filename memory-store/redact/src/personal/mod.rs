//! Personal data: addresses, and numbers of people and their belongings, each validated as far as its format allows.
//! Each class has a policy. Names of people are not detected, because no pattern distinguishes them from other words.

pub(crate) mod checksum;
mod digits;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use crate::finding::Finding;
use memory_store_base::text::mail;

/// A class of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A mail address.
    Email,
    /// A telephone number.
    Phone,
    /// A payment card number, validated by the Luhn formula and its issuer's range.
    Card,
    /// An account number, validated by its checksum and by its length in its country.
    Iban,
    /// A public IP address.
    Ip,
    /// A hardware address.
    Mac,
    /// A Bitcoin address, validated by its checksum.
    Crypto,
    /// A national identification number of a person.
    NationalId,
    /// Addresses and numbers that belong to no person: loopback, private and documentation networks, `example.org`,
    /// `noreply`, authors in git trailers, numbers reserved for fiction.
    Reserved,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 9] = [
        Self::Email,
        Self::Phone,
        Self::Card,
        Self::Iban,
        Self::Ip,
        Self::Mac,
        Self::Crypto,
        Self::NationalId,
        Self::Reserved,
    ];

    /// Returns the name of the class in settings and placeholders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Iban => "iban",
            Self::Ip => "ip",
            Self::Mac => "mac",
            Self::Crypto => "crypto",
            Self::NationalId => "national-id",
            Self::Reserved => "reserved",
        }
    }

    /// Returns the class with this name, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// Handling of a class of personal data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The data is kept.
    #[default]
    Keep,
    /// The data is replaced by the name of its class: `[redacted:email]`.
    Mask,
    /// The data is removed without a placeholder.
    Drop,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Mask, Self::Drop];

    /// Returns the name of the policy in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Mask => "mask",
            Self::Drop => "drop",
        }
    }

    /// Returns the policy with this name, if any.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// The policies of all classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Personal([Policy; Class::ALL.len()]);

impl Default for Personal {
    fn default() -> Self {
        Self::PRIVATE
    }
}

impl Personal {
    /// Policies for the archive and other private files. Only data that is as sensitive as money or a person's identity
    /// is masked, because memories about work need hosts and mail addresses.
    pub(crate) const PRIVATE: Self = Self::KEEP
        .with(Class::Card, Policy::Mask)
        .with(Class::Iban, Policy::Mask)
        .with(Class::NationalId, Policy::Mask);

    /// Policies for committed files, which other people read.
    pub const COMMITTED: Self = Self::STRICT.with(Class::Reserved, Policy::Keep);

    /// Policies that mask everything, however weak the evidence.
    pub const STRICT: Self = Self([Policy::Mask; Class::ALL.len()]);

    const KEEP: Self = Self([Policy::Keep; Class::ALL.len()]);

    /// Returns the policy of a class.
    pub const fn of(&self, class: Class) -> Policy {
        self.0[class as usize]
    }

    /// Returns these policies with the policy of one class replaced.
    pub(crate) const fn with(mut self, class: Class, policy: Policy) -> Self {
        self.0[class as usize] = policy;
        self
    }

    fn hides(&self, class: Class) -> bool {
        self.of(class) != Policy::Keep
    }

    /// Returns whether ambiguous forms also count.
    fn is_strict(&self) -> bool {
        self.hides(Class::Reserved)
    }
}

/// Returns the personal data that the policies hide.
pub(crate) fn find(text: &[u8], personal: &Personal) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut keep = |class: Class, range: Range<usize>| {
        if personal.hides(class) {
            found.push(Finding { rule: class.name(), range });
        }
    };
    if personal.hides(Class::Email) {
        for at in memchr::memchr_iter(b'@', text) {
            if let Some((class, range)) = email(text, at) {
                keep(class, range);
            }
        }
    }
    if personal.hides(Class::Ip) {
        let mut end = 0;
        for at in memchr::memchr_iter(b':', text) {
            if at >= end
                && let Some((class, range)) = ipv6(text, at, personal.is_strict())
            {
                end = range.end;
                keep(class, range);
            }
        }
    }
    let reach = reach(personal);
    let mut at = 0;
    while let Some(start) = next_start(text, at, reach) {
        match number(text, start, personal) {
            Some((class, range)) => {
                at = range.end.max(start + 1);
                keep(class, range);
            }
            None => at = start + 1,
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What may start at a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Nothing,
    /// The byte continues a word.
    Word,
    /// A number starts, or a word that may contain one.
    Candidate,
}

const STARTS: [Start; 256] = {
    let mut starts = [Start::Nothing; 256];
    let mut byte = 0;
    while byte < 256 {
        starts[byte] = match byte as u8 {
            b'A'..=b'Z' | b'0'..=b'9' | b'a'..=b'f' | b't' | b'+' | b'(' => Start::Candidate,
            b'g'..=b'z' | b'_' => Start::Word,
            _ => Start::Nothing,
        };
        byte += 1;
    }
    starts
};

/// Returns the maximum distance in bytes of the first digit from the start of a match.
fn reach(personal: &Personal) -> usize {
    // `RSSMRA85T10A562S`
    const CODE: usize = 6;
    if personal.hides(Class::Mac) {
        // A hardware address may have no digit.
        usize::MAX
    } else if personal.hides(Class::Phone) {
        digits::DIALLED_BYTES_MAX
    } else {
        CODE
    }
}

/// Returns the next offset at which a number begins, or a word that may contain one. Most text has no digit nearby and
/// is skipped.
fn next_start(text: &[u8], from: usize, reach: usize) -> Option<usize> {
    if reach == usize::MAX {
        return start_within(text, from..text.len());
    }
    let mut at = from;
    loop {
        let digit = at + first_digit(text.get(at..)?)?;
        let start = start_within(text, at.max(digit.saturating_sub(reach))..digit + 1);
        if start.is_some() {
            return start;
        }
        at = digit + 1;
    }
}

/// Returns the offset of the first digit. The text is searched in pieces to avoid a branch for each byte.
fn first_digit(text: &[u8]) -> Option<usize> {
    const PIECE_BYTES: usize = 32;
    let has_digit =
        |piece: &[u8]| piece.iter().fold(false, |any, byte| any | byte.is_ascii_digit());
    let piece = text.chunks(PIECE_BYTES).position(has_digit)? * PIECE_BYTES;
    text[piece..].iter().position(u8::is_ascii_digit).map(|at| piece + at)
}

fn start_within(text: &[u8], range: Range<usize>) -> Option<usize> {
    let from = range.start;
    let mut in_word = from > 0 && is_word(text[from - 1]);
    for (offset, byte) in text.get(range)?.iter().enumerate() {
        let start = STARTS[usize::from(*byte)];
        if start == Start::Candidate && !in_word && !is_plain_word(text, from + offset) {
            return Some(from + offset);
        }
        in_word = start != Start::Nothing && is_word(*byte);
    }
    None
}

/// Returns whether the byte at `at` begins a plain word, which is so if lower-case letters follow its first two
/// letters.
fn is_plain_word(text: &[u8], at: usize) -> bool {
    text[at].is_ascii_alphabetic()
        && text.get(at + 2).is_none_or(|byte| byte.is_ascii_lowercase() || *byte == b' ')
        && text.get(at + 4) != Some(&b'.')
}

fn word_end(text: &[u8], start: usize) -> usize {
    let word = text[start..].iter().take_while(|byte| is_word(**byte)).count();
    start + word.max(1)
}

/// Returns the number that begins at `start`. The strictest validator is tried first.
fn number(text: &[u8], start: usize, personal: &Personal) -> Option<(Class, Range<usize>)> {
    let first = text[start];
    if first.is_ascii_alphabetic() || first.is_ascii_digit() {
        if personal.hides(Class::Mac)
            && let Some(range) = mac(text, start, personal.is_strict())
        {
            return Some((Class::Mac, range));
        }
        if personal.hides(Class::Crypto)
            && let Some(range) = crypto(text, start)
        {
            return Some((Class::Crypto, range));
        }
    }
    if first.is_ascii_alphabetic() {
        let class = |range: &Range<usize>| match is_sample(&text[range.clone()]) {
            true => Class::Reserved,
            false => Class::Iban,
        };
        return iban(text, start).map(|range| (class(&range), range)).or_else(|| {
            digits::codice_fiscale(text, start).map(|range| (Class::NationalId, range))
        });
    }
    if first.is_ascii_digit() {
        if personal.hides(Class::Ip)
            && let Some(found) = ipv4(text, start)
        {
            return Some(found);
        }
        let are_many = digits::are_many(text, start);
        if are_many && let Some(range) = digits::card(text, start, personal.is_strict()) {
            let is_sample = is_sample(&text[range.clone()]);
            return Some((if is_sample { Class::Reserved } else { Class::Card }, range));
        }
        if are_many && let Some(range) = digits::national_id(text, start) {
            return Some((Class::NationalId, range));
        }
    }
    if personal.hides(Class::Phone)
        && let Some((range, is_fiction)) = digits::phone(text, start, personal.is_strict())
    {
        return Some((if is_fiction { Class::Reserved } else { Class::Phone }, range));
    }
    None
}

/// Returns whether a number is a documented sample: the test card of a payment service, or the example account in the
/// IBAN registry.
fn is_sample(number: &[u8]) -> bool {
    const SAMPLES: [&[u8]; 2] = [b"4242424242424242", b"DE89370400440532013000"];
    let bare = || number.iter().filter(|byte| byte.is_ascii_alphanumeric());
    SAMPLES.iter().any(|sample| bare().eq(sample.iter()))
}

/// Returns the mail address around an `@`.
fn email(text: &[u8], at: usize) -> Option<(Class, Range<usize>)> {
    let range = mail::address(text, at)?;
    if is_in_url(&text[..range.start]) {
        return None;
    }
    let (name, domain) = (&text[range.start..at], &text[at + 1..range.end]);
    let is_reserved = is_documentation(&domain.to_ascii_lowercase())
        || is_nobody(name)
        || is_git_trailer(text, range.start)
        || text.get(range.end) == Some(&b':') && name == b"git";
    Some((if is_reserved { Class::Reserved } else { Class::Email }, range))
}

/// Returns whether an `@` after this text separates the user of a URL from its host.
fn is_in_url(before: &[u8]) -> bool {
    const USER_BYTES_MAX: usize = 80;
    let lead = &before[before.len().saturating_sub(USER_BYTES_MAX)..];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'<>".contains(byte);
    lead.iter().rposition(ends).is_some_and(|at| lead[..=at].ends_with(b"//"))
}

/// Returns whether a domain is reserved for documentation and tests by RFC 2606 or RFC 6761.
fn is_documentation(domain: &[u8]) -> bool {
    const TOPS: [&[u8]; 6] =
        [b".example", b".test", b".invalid", b".localhost", b".local", b".internal"];
    const DOMAINS: [&[u8]; 3] = [b"example.com", b"example.org", b"example.net"];
    TOPS.iter().any(|top| domain.ends_with(top))
        || DOMAINS.iter().any(|known| {
            domain.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."))
        })
        || domain.ends_with(b"noreply.github.com")
        || domain.ends_with(b"noreply.gitlab.com")
}

fn is_nobody(name: &[u8]) -> bool {
    const NOBODY: [&[u8]; 8] = [
        b"noreply",
        b"no-reply",
        b"no_reply",
        b"donotreply",
        b"do-not-reply",
        b"git",
        b"postmaster",
        b"mailer-daemon",
    ];
    let lower = name.to_ascii_lowercase();
    NOBODY.iter().any(|nobody| lower == *nobody)
}

/// Returns whether an address is in a line of git that names an author, because it is then in the history anyway.
fn is_git_trailer(text: &[u8], start: usize) -> bool {
    const LEAD_BYTES_MAX: usize = 120;
    const TRAILERS: [&[u8]; 7] = [
        b"author:",
        b"commit:",
        b"committer:",
        b"co-authored-by:",
        b"signed-off-by:",
        b"reviewed-by:",
        b"acked-by:",
    ];
    let lead = &text[start.saturating_sub(LEAD_BYTES_MAX)..start];
    let line = memchr::memrchr(b'\n', lead).map_or(lead, |end| &lead[end + 1..]);
    let lower = line.to_ascii_lowercase();
    TRAILERS.iter().any(|trailer| memchr::memmem::find(&lower, trailer).is_some())
}

fn ipv4(text: &[u8], start: usize) -> Option<(Class, Range<usize>)> {
    const TEXT_BYTES_MAX: usize = 15;
    let rest = &text[start..];
    let run = rest.iter().take(TEXT_BYTES_MAX + 3);
    let run = run.take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let mut written = &rest[..run];
    if let [head @ .., b'.'] = written {
        written = head;
    }
    // With a fifth number it is a version, unless the first four numbers are an address in a private network.
    let parts: Vec<&[u8]> = written.split(|byte| *byte == b'.').collect();
    if parts.len() == 5 && written.starts_with(b"192.168.") {
        written = &written[..written.len() - parts[4].len() - 1];
    }
    let address: Ipv4Addr = str::from_utf8(written).ok()?.parse().ok()?;
    let after = rest.get(written.len());
    if after.is_some_and(|byte| is_word(*byte)) || is_version(text, start) {
        return None;
    }
    let class = if is_reserved_v4(address) { Class::Reserved } else { Class::Ip };
    Some((class, start..start + written.len() + prefix_length(&rest[written.len()..])))
}

/// Returns whether the text before four numbers labels them as a version.
fn is_version(text: &[u8], start: usize) -> bool {
    let before = &text[..start];
    let lead = before[before.len().saturating_sub(24)..].to_ascii_lowercase();
    match lead.as_slice() {
        [.., b'.' | b'-' | b'=' | b'~' | b'^'] => true,
        [.., byte, b'/'] => byte.is_ascii_alphanumeric(),
        lead => lead.trim_ascii_end().ends_with(b"version") || lead.ends_with(b"version: "),
    }
}

fn is_reserved_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_broadcast()
        || first == 0
        || first >= 240
        || first == 100 && second & 0xC0 == 64
}

/// Returns the length of a network prefix such as `/24` after an address; 0 if there is none.
fn prefix_length(rest: &[u8]) -> usize {
    if rest.first() != Some(&b'/') {
        return 0;
    }
    let digits = rest[1..].iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let end = rest.get(1 + digits);
    if (1..=3).contains(&digits) && !end.is_some_and(|byte| is_word(*byte)) {
        1 + digits
    } else {
        0
    }
}

fn ipv6(text: &[u8], colon: usize, strict: bool) -> Option<(Class, Range<usize>)> {
    const TEXT_BYTES_MAX: usize = 46;
    let is_part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':' || *byte == b'.';
    let before = text[..colon].iter().rev().take(5).take_while(|b| b.is_ascii_hexdigit()).count();
    let start = colon - before;
    let run = text[start..].iter().take(TEXT_BYTES_MAX).take_while(|b| is_part(b)).count();
    let mut written = &text[start..start + run];
    if start > 0 && (is_word(text[start - 1]) || b".:".contains(&text[start - 1])) {
        return None;
    }
    while let [head @ .., b'.'] = written {
        written = head;
    }
    let address: Ipv6Addr = str::from_utf8(written).ok()?.parse().ok()?;
    let mut end = start + written.len();
    if text.get(end).is_some_and(|byte| is_word(*byte)) {
        return None;
    }
    // Module paths resemble short addresses.
    let digits = written.iter().filter(|byte| byte.is_ascii_digit()).count();
    let colons = written.iter().filter(|byte| **byte == b':').count();
    if !strict && (digits < 2 || colons < 3 || written.ends_with(b"::")) {
        return None;
    }
    if text.get(end) == Some(&b'%') {
        let zone = text[end + 1..].iter().take(16).take_while(|b| b.is_ascii_alphanumeric());
        end += 1 + zone.count();
    }
    end += prefix_length(&text[end..]);
    if written == b"::" && text[end - 1] == b':' {
        return None;
    }
    Some((if is_reserved_v6(address) { Class::Reserved } else { Class::Ip }, start..end))
}

fn is_reserved_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || first & 0xFFC0 == 0xFE80
        || first & 0xFE00 == 0xFC00
        || first == 0x2001 && second == 0x0DB8
        || first == 0x0064
        || address.to_ipv4().is_some_and(is_reserved_v4)
}

/// Returns a hardware address, `00:1a:2b:3c:4d:5e`, with the same sign between all parts. Dots count only if all
/// classes are masked.
fn mac(text: &[u8], start: usize, strict: bool) -> Option<Range<usize>> {
    const PAIRS_BYTES: usize = 17;
    const DOTTED_BYTES: usize = 14;
    let sign = *text.get(start + 2)?;
    let (bytes, group) = match sign {
        b':' | b'-' => (PAIRS_BYTES, 3),
        _ if strict && text.get(start + 4) == Some(&b'.') => (DOTTED_BYTES, 5),
        _ => return None,
    };
    let sign = if group == 5 { b'.' } else { sign };
    let written = text.get(start..start + bytes)?;
    let is_right = written.iter().enumerate().all(|(at, byte)| {
        if at % group == group - 1 { *byte == sign } else { byte.is_ascii_hexdigit() }
    });
    let after = text.get(start + bytes);
    let goes_on = after.is_some_and(|byte| is_word(*byte) || *byte == sign);
    let before = start.checked_sub(1).map(|at| text[at]);
    let same =
        |with: u8| written.iter().all(|byte| *byte == sign || byte.eq_ignore_ascii_case(&with));
    let is_nothing = same(b'0') || same(b'f');
    (is_right && !goes_on && before != Some(sign) && !is_nothing).then_some(start..start + bytes)
}

/// Returns a Bitcoin address, which is base 58 with a valid checksum, or bech32.
fn crypto(text: &[u8], start: usize) -> Option<Range<usize>> {
    let end = word_end(text, start);
    let word = &text[start..end];
    let is_old = matches!(word.first(), Some(b'1' | b'3')) && (26..=35).contains(&word.len());
    let is_new = (14..=90).contains(&word.len())
        && (word.starts_with(b"bc1") || word.starts_with(b"BC1") || word.starts_with(b"tb1"));
    let is_right =
        is_old && checksum::base58check(word) || is_new && checksum::bech32(word).is_some();
    is_right.then_some(start..end)
}

/// Returns an IBAN, either without spaces or in groups of four.
fn iban(text: &[u8], start: usize) -> Option<Range<usize>> {
    let country = text.get(start..start + 2)?;
    if !country.iter().all(u8::is_ascii_uppercase) || !text.get(start + 2)?.is_ascii_digit() {
        return None;
    }
    let length = iban_length(country)?;
    let mut letters: Vec<u8> = Vec::with_capacity(length);
    let mut at = start;
    while letters.len() < length {
        match *text.get(at)? {
            byte if byte.is_ascii_uppercase() || byte.is_ascii_digit() => letters.push(byte),
            b' ' if letters.len().is_multiple_of(4) && text[at - 1] != b' ' => {}
            _ => return None,
        }
        at += 1;
    }
    let goes_on = text.get(at).is_some_and(|byte| is_word(*byte));
    (!goes_on && checksum::iban(&letters)).then_some(start..at)
}

/// Returns the length of account numbers in a country, according to the IBAN registry (ISO 13616).
fn iban_length(country: &[u8]) -> Option<usize> {
    const LENGTHS: [(usize, &str); 18] = [
        (15, "NO"),
        (16, "BE"),
        (18, "DK FO FI GL NL SD"),
        (19, "MK SI"),
        (20, "AT BA EE KZ LT LU XK"),
        (21, "CH HR LI LV"),
        (22, "BG BH CR DE GB GE IE ME RS VA"),
        (23, "AE GI IL IQ TL OM"),
        (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
        (25, "LY PT ST"),
        (26, "IS TR"),
        (27, "BI DJ FR GR IT MC MR SM"),
        (28, "AL AZ BY CY DO GT HU LB PL SV"),
        (29, "BR EG PS QA UA"),
        (30, "JO KW MU"),
        (31, "MT SC"),
        (32, "LC"),
        (33, "RU"),
    ];
    let country = str::from_utf8(country).ok()?;
    let known = |(_, countries): &&(usize, &str)| countries.split(' ').any(|name| name == country);
    LENGTHS.iter().find(known).map(|(length, _)| *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, personal: &Personal) -> Vec<(&'static str, String)> {
        let name = |finding: Finding| (finding.rule, text[finding.range].to_owned());
        find(text.as_bytes(), personal).into_iter().map(name).collect()
    }

    #[track_caller]
    fn check(text: &str, class: &'static str, value: &str) {
        assert_eq!(found(text, &Personal::COMMITTED), [(class, value.to_owned())], "{text}");
    }

    #[test]
    fn what_names_a_person_is_found() {
        check(
            "write to tess.miller+shop@mail.harbour.co.uk, please",
            "email",
            "tess.miller+shop@mail.harbour.co.uk",
        );
        check("call +49 (30) 9018-20, it rings", "phone", "+49 (30) 9018-20");
        check("tel: (212) 736-5000", "phone", "(212) 736-5000");
        check("paid with 5500 0055 5555 5559.", "card", "5500 0055 5555 5559");
        check("to DE75 5121 0800 1245 1261 99", "iban", "DE75 5121 0800 1245 1261 99");
        check("\"FR7630006000011234567890189\"", "iban", "FR7630006000011234567890189");
        check("host 93.184.215.14 answers", "ip", "93.184.215.14");
        check("from [2a02:8109:b6c0::4f2a]:443", "ip", "2a02:8109:b6c0::4f2a");
        check("ether 3c:22:fb:8a:91:d4 up", "mac", "3c:22:fb:8a:91:d4");
        check(
            "to 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "crypto",
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
        );
        check("SSN 536-90-4399", "national-id", "536-90-4399");
        check("CPF 529.982.247-25", "national-id", "529.982.247-25");
        check("CF RSSMRA85T10A562S", "national-id", "RSSMRA85T10A562S");
    }

    #[test]
    fn what_names_nobody_is_left_alone() {
        for text in [
            "http://127.0.0.1:8080, 10.1.2.3, 192.168.0.1/24, 0.0.0.0 and ::1",
            "2001:db8::1 and fe80::1%eth0",
            "tess@example.org and ci@shop.test and noreply@github.com",
            "12345+tess@users.noreply.github.com",
            "Co-authored-by: Tess Miller <tess@harbour.co.uk>",
            "Author: Tess Miller <tess@harbour.co.uk>",
            "git@github.com:tess/shop.git",
            "icon@2x.png, @scope/name@1.2.3",
            "call (212) 555-0132",
            "version 1.2.3.4, Chrome/120.0.0.0, foo-1.2.3.4",
            "std::net::Ipv6Addr and a::b and cafe::dead",
            "1700000000, 1700000000000, 1700000000000000, 4111111111111112",
            "12:34:56 and 2026-11-22T09:00:00",
            "0.4111111111111111 and 5500005555555559abc",
            "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 10:2F:33-AC-29-C3",
            "000-12-3456 666-12-3456 123-00-4567",
            "DE75512108001245126198",
        ] {
            assert_eq!(found(text, &Personal::COMMITTED), [], "{text}");
        }
    }

    #[test]
    fn each_class_has_its_policy() {
        let text = "tess@harbour.co.uk pays with 5500005555555559";
        assert_eq!(found(text, &Personal::PRIVATE), [("card", "5500005555555559".to_owned())]);
        let none = Personal::PRIVATE.with(Class::Card, Policy::Keep);
        assert_eq!(found(text, &none), []);
        assert_eq!(found("10.0.0.1", &Personal::STRICT), [("reserved", "10.0.0.1".to_owned())]);
        for class in Class::ALL {
            assert_eq!(Class::from_name(class.name()), Some(class));
        }
    }
}
