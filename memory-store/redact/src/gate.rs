//! Gate before a memory is written where others read it. It is stricter than redaction: what it finds is not hidden for
//! good, but a memory that contains it is held until a person has looked.
//!
//! Each word of a text has a score: how much it looks like a password, a key or a code by itself, and what stands beside
//! it. `vocabulary.toml` has the words of each language. A word that names a commit, an id, a class or a file takes points
//! away.

use std::borrow::Cow;
use std::ops::Range;

use memory_store_base::text::{self, is_unspaced, rarity};

use super::value::spread::{Evidence, may_spread};
use super::value::{self, Place, Promise, drawn, judge, shape};
use super::vocabulary::WORDS;
use super::{Redactor, cue, known, touches, united};
use crate::Finding;

mod forms;

/// What stands in place of a suspect that is not given to a session.
pub const SUSPECT: &str = "held-back";

/// Points from which on a word is held.
const ENOUGH: i32 = 3;

/// Points from which on a word is suspect beside one that has [`ENOUGH`].
const ENOUGH_BESIDE: i32 = 2;

/// Bytes of a word.
const WORD_BYTES_MAX: usize = 512;

/// Bytes before and behind a value that are compared with the lists of words, the longest of which has 40.
const NEAR_BYTES_MAX: usize = 240;

/// A part of a text that looks like a credential though no rule of redaction hides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Place, in bytes.
    pub range: Range<usize>,
    /// Sum of the reasons.
    pub points: i32,
    /// What looks like a credential about it, the weightiest first.
    pub reasons: Vec<&'static str>,
}

impl Redactor {
    /// Returns the parts of a text that look like credentials, in order. `around` is text that belongs to it, such as a
    /// title.
    pub fn suspects(&self, text: &str, around: &str) -> Vec<Suspect> {
        let hidden = super::placeholders(text);
        let mut found: Vec<Suspect> = Vec::new();
        let (mut weak, mut numbers, mut has_number) = (Vec::new(), Vec::new(), false);
        for part in sentences(text) {
            let has_hidden = touches(&hidden, &part);
            let sentence = Sentence::of(text, part, around);
            let suspects = sentence.suspects();
            let is_code = |suspect: &Suspect| {
                suspect.points >= ENOUGH && is_number(text[suspect.range.clone()].as_bytes())
            };
            let has_code = suspects.iter().any(is_code);
            for suspect in suspects {
                let value = &text[suspect.range.clone()];
                if touches(&hidden, &suspect.range) || self.is_harmless(value.as_bytes()) {
                    continue;
                }
                let is_number = is_number(value.as_bytes());
                match suspect.points {
                    // Beside a code another number is one, too.
                    points if points >= ENOUGH || is_number && has_code && points >= 0 => {
                        has_number |= is_number;
                        found.push(suspect);
                    }
                    points if points < ENOUGH_BESIDE => {}
                    _ if is_number => numbers.push(suspect),
                    _ if has_hidden => found.push(suspect),
                    _ => weak.push(suspect),
                }
            }
        }
        // Beside a code another number is one more often than beside a password.
        if has_number {
            weak.extend(numbers);
        }
        if !found.is_empty() {
            found.extend(weak);
            found.extend(repeated(text, &found));
        }
        found.sort_by_key(|suspect| (suspect.range.start, std::cmp::Reverse(suspect.range.end)));
        let mut end = 0;
        found.retain(|suspect| {
            let is_first = suspect.range.start >= end;
            end = end.max(suspect.range.end);
            is_first
        });
        found
    }

    /// Returns a text without what looks like a credential.
    pub fn without_suspects<'t>(&self, text: &'t str, around: &str) -> Cow<'t, str> {
        let found = self.suspects(text, around);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = text.to_owned();
        self.hold_back(&mut clean, found.into_iter().map(|suspect| suspect.range).collect());
        Cow::Owned(clean)
    }

    /// Puts a placeholder in these places of a text.
    pub(crate) fn hold_back(&self, text: &mut String, mut ranges: Vec<Range<usize>>) {
        ranges.sort_by_key(|range| range.start);
        let found = ranges.into_iter().map(|range| Finding { rule: SUSPECT, range }).collect();
        *text = self.replace(text, &united(found));
    }
}

/// Other places where a suspect is repeated.
fn repeated(text: &str, found: &[Suspect]) -> Vec<Suspect> {
    const BYTES_MIN: usize = 6;
    let mut repeated = Vec::new();
    for suspect in found.iter().filter(|suspect| suspect.range.len() >= BYTES_MIN) {
        let value = &text[suspect.range.clone()];
        for (start, _) in text.match_indices(value) {
            repeated.push(Suspect { range: start..start + value.len(), ..suspect.clone() });
        }
    }
    repeated
}

/// Returns a text in lower case. The names of placeholders are none of its words.
fn lowered(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for range in super::placeholders(text) {
        clean.push_str(&text[at..range.start]);
        at = range.end;
    }
    clean.push_str(&text[at..]);
    clean.to_lowercase()
}

/// Classes of words that a text contains.
struct Lowered {
    access: bool,
    opening: bool,
    vault: bool,
}

impl Lowered {
    fn of(text: &str) -> Self {
        let lowered = format!("{} ", lowered(text));
        let classes = [&WORDS.gate_access, &WORDS.gate_role, &WORDS.gate_phrase, &WORDS.gate_opens];
        let access = classes.iter().any(|class| class.is_in(&lowered));
        Self {
            access,
            opening: WORDS.gate_opening.is_in(&lowered),
            vault: WORDS.gate_vault.is_in(&lowered),
        }
    }
}

/// A sentence, or a line of a list, a table or code.
struct Sentence<'t> {
    text: &'t str,
    range: Range<usize>,
    own: Lowered,
    around: Lowered,
}

impl<'t> Sentence<'t> {
    fn of(text: &'t str, range: Range<usize>, around: &str) -> Self {
        const NEAR_BYTES: usize = 200;
        let own = Lowered::of(&text[range.clone()]);
        let start = text.floor_char_boundary(range.start.saturating_sub(NEAR_BYTES));
        let end = text.ceil_char_boundary((range.end + NEAR_BYTES).min(text.len()));
        let around = Lowered::of(&format!("{around}\n{}", &text[start..end]));
        Self { text, range, own, around }
    }

    fn suspects(&self) -> Vec<Suspect> {
        let mut found: Vec<Suspect> = self.phrases();
        for word in words(self.text, &self.range) {
            found.extend(self.judge(&word));
        }
        found
    }

    /// Scores one word; `None` if it looks like nothing.
    fn judge(&self, word: &Range<usize>) -> Option<Suspect> {
        let (range, is_pair) = self.second_of_pair(word);
        let value = &self.text[range.clone()];
        let looks = Looks::of(value)?;
        let lead = self.lead(range.start);
        let behind = self.behind(range.end);
        let mut score = Score::default();
        score.add(looks.points(), looks.reason());
        let is_named = last_words(&lead, 4);
        let kind = if looks == Looks::Words { last_words(&lead, 2) } else { is_named.clone() };
        if looks != Looks::Sign && WORDS.gate_kinds.is_in_whole(&kind) {
            score.add(-3, "named as something else");
        }
        let is_number = looks == Looks::Number;
        let is_port = is_number && range.start > word.start;
        if is_port || is_number && (WORDS.gate_units.begins(behind.trim_start()) || is_year(value))
        {
            return None;
        }
        score.add(self.access(is_number), "a way in is named");
        let has_role = if is_number { code_before(&lead) } else { role_before(&is_named, &lead) };
        if has_role {
            score.add(if is_number { 3 } else { 2 }, "a secret is named right before it");
        } else if is_number && WORDS.gate_role.is_in(&format!("{} ", last_words(&lead, 5))) {
            score.add(1, "a secret is named before it");
        }
        let is_told =
            self.text[..range.start].trim_end().ends_with([':', '→', '：']) || is_login(&lead);
        let given = given(&lead, &behind, true).max(i32::from(is_told));
        score.add(if self.has_way_in() { given } else { 0 }, "it is given");
        if is_pair && !is_number {
            score.add(1, "a user is named right before it");
        }
        if !is_number && follows_address(&lead) {
            score.add(2, "an address is named right before it");
        }
        Some(Suspect {
            range: with_end(self.text, range),
            points: score.points,
            reasons: score.reasons,
        })
    }

    fn has_way_in(&self) -> bool {
        self.own.access || self.own.opening || self.around.access || self.around.opening
    }

    /// Points for words about a way in, in this sentence or beside it. A number is a code only beside a lock.
    fn access(&self, is_number: bool) -> i32 {
        match (self.own.opening, self.own.access, self.around.opening || self.around.access) {
            (true, _, _) if is_number => 2,
            (_, _, true) | (_, true, _) | (true, _, _) => 1,
            (false, false, false) => 0,
        }
    }

    /// Phrases of plain words: in quotes behind the name of a secret or a lock, or behind a verb for opening.
    fn phrases(&self) -> Vec<Suspect> {
        const WORDS_MIN: usize = 3;
        const WORDS_MAX: usize = 8;
        const CHARS_MIN: usize = 4;
        let mut found = Vec::new();
        for range in quoted(self.text, &self.range) {
            let phrase = &self.text[range.clone()];
            let count = phrase.split_whitespace().count();
            let lead = self.lead(range.start);
            let is_phrase = (WORDS_MIN..=WORDS_MAX).contains(&count) && is_plain_phrase(phrase);
            let is_entered = || self.has_way_in() && given(&lead, "", false) > 0;
            let is_named = || role_before(&last_words(&lead, 6), &lead) || is_entered();
            // Right behind the name of a phrase it may be any text.
            let is_told = || {
                let is_text = count <= WORDS_MAX && phrase.chars().count() >= CHARS_MIN;
                is_text
                    && WORDS.gate_phrase.ends(WORDS.gate_copula.stripped(&lead))
                    && !is_named_thing(phrase)
            };
            if is_phrase && is_named() || is_told() {
                let reasons = vec!["a phrase of plain words where a secret is given"];
                found.push(Suspect { range, points: ENOUGH, reasons });
            }
        }
        found.extend(self.joined_phrase());
        found.extend(self.opening_phrase());
        for (range, reason) in forms::find(&self.text[self.range.clone()]) {
            let range = self.range.start + range.start..self.range.start + range.end;
            found.push(Suspect { range, points: ENOUGH, reasons: vec![reason] });
        }
        found
    }

    /// `walnut-anchor-dusk`, where the sentence names a phrase and gives it.
    fn joined_phrase(&self) -> Option<Suspect> {
        const BETWEEN_MAX: usize = 6;
        let is_given = |range: &Range<usize>| {
            let lead = self.lead(range.start);
            let is_told = self.text[..range.start].trim_end().ends_with([':', '：']);
            (is_told || WORDS.gate_copula.ends(&lead))
                && WORDS.gate_phrase.is_in(&format!("{} ", last_words(&lead, BETWEEN_MAX)))
                && is_joined_words(&self.text[range.clone()])
        };
        let range = words(self.text, &self.range).into_iter().find(is_given)?;
        let reasons = vec!["a phrase of plain words where a secret is given"];
        Some(Suspect { range, points: ENOUGH, reasons })
    }

    /// The words behind "opens with", to the end of the sentence, if they are no clause.
    fn opening_phrase(&self) -> Option<Suspect> {
        const WORDS_MIN: usize = 4;
        let sentence = &self.text[self.range.clone()];
        let mut at = 0;
        for word in sentence.split_inclusive(' ') {
            at += word.len();
            let (lead, rest) = sentence.split_at(at);
            let is_listed = lead.ends_with(": ");
            let start = lead.floor_char_boundary(at.saturating_sub(NEAR_BYTES_MAX));
            let lead = lead[start..].trim_end_matches([' ', ':']).to_lowercase();
            let has_vault = self.own.vault || self.around.vault;
            let is_opened = has_vault && opens_with(&lead);
            let named = WORDS.gate_copula.stripped(&lead);
            let is_said = is_listed || named.len() < lead.len();
            // A phrase is all that follows, a vault may be told about.
            let is_phrase = is_said && WORDS.gate_phrase.ends(named);
            let is_told =
                || is_said && WORDS.gate_vault.is_in(&format!("{} ", last_words(named, 3)));
            if !is_opened && !is_phrase && !is_told() {
                continue;
            }
            let phrase = rest.split([',', ';', '.', ':', '(']).next().unwrap_or_default();
            let is_code = phrase
                .contains(|c: char| c.is_ascii_digit() || c.is_uppercase() || "`'\"/_".contains(c));
            let mut words = phrase.split_whitespace();
            // What a lock is, a sentence with an article tells.
            let is_clause = match (is_phrase && is_listed, is_opened) {
                (true, _) => false,
                (false, true) => words.next().is_some_and(text::is_stop_word),
                (false, false) => words.any(text::is_stop_word),
            };
            if phrase.split_whitespace().count() >= WORDS_MIN && !is_code && !is_clause {
                return Some(Suspect {
                    range: self.range.start + at..self.range.end,
                    points: ENOUGH,
                    reasons: vec!["plain words open a lock"],
                });
            }
        }
        None
    }

    /// The value of `user:value`, `user/value` and `name=value`; whether a user is named before it.
    fn second_of_pair(&self, word: &Range<usize>) -> (Range<usize>, bool) {
        let text = &self.text[word.clone()];
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        for sign in [':', '/', '='] {
            let mut parts = text.splitn(2, sign);
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
            let is_rest_plain = sign == '=' || !value.contains(['/', ':']);
            if is_name(name) && !value.is_empty() && is_rest_plain {
                let at = word.start + name.len() + 1;
                return (at..word.end, sign != '=');
            }
        }
        let lead = self.text[self.range.start..word.start].trim_end();
        let is_pair = lead.ends_with('/') && lead.trim_end_matches('/').ends_with(' ');
        (word.clone(), is_pair)
    }

    /// What stands before a place in the sentence, in lower case, without signs around the value.
    fn lead(&self, at: usize) -> String {
        let start = self.range.start.max(at.saturating_sub(NEAR_BYTES_MAX));
        let lead = lowered(&self.text[self.text.ceil_char_boundary(start)..at]);
        let is_sign = |c: char| c.is_whitespace() || "\"'`*_([{<«„“‘‹「『:=→-–—/（：".contains(c);
        lead.trim_end_matches(is_sign).to_owned()
    }

    /// What stands behind a place in the sentence, in lower case, without the signs around the value.
    fn behind(&self, at: usize) -> String {
        let end = self.range.end.min(at + NEAR_BYTES_MAX);
        let behind = lowered(&self.text[at..self.text.floor_char_boundary(end)]);
        let is_sign = |c: char| c.is_whitespace() || "\"'`*_)]}>»”’›」』）,!?".contains(c);
        format!("{} ", behind.trim_start_matches(is_sign))
    }
}

/// Returns the words of a line that are so clearly credentials that they are hidden, not only held.
pub(super) fn clear(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for part in sentences(line) {
        let mut sentence = None;
        for word in words(line, &part).into_iter().filter(|word| may_be_clear(&line[word.clone()]))
        {
            let sentence = sentence.get_or_insert_with(|| Sentence::of(line, part.clone(), ""));
            let suspect = sentence.judge(&word).map(|suspect| behind_name(line, suspect));
            let is_clear =
                |suspect: &Suspect| is_clear(&line[suspect.range.clone()], suspect.points);
            found.extend(suspect.filter(is_clear).map(|suspect| suspect.range));
        }
    }
    found
}

/// Leaves the name out of a value that is assigned: `sid=x`.
fn behind_name(line: &str, mut suspect: Suspect) -> Suspect {
    let value = &line[suspect.range.clone()];
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let name = value.split('=').next().unwrap_or_default();
    let is_assigned =
        name.len() < value.len() && name.starts_with(|c: char| c.is_ascii_lowercase());
    if is_assigned && name.chars().all(is_name) {
        suspect.range.start += name.len() + 1;
    }
    suspect
}

/// Returns whether a word is worth a look: cheaper than to judge what is around it.
fn may_be_clear(word: &str) -> bool {
    let looks = |value: &str| Looks::of(value).is_some_and(|looks| looks != Looks::Number);
    cue::may_be_value(word.as_bytes())
        && (looks(word) || word.rsplit([':', '/', '=']).next().is_some_and(looks))
}

/// Returns whether a value with these points is hidden. What ids and hashes look like needs more of them, and a number
/// is never clear.
fn is_clear(value: &str, points: i32) -> bool {
    const BYTES_MIN: usize = 8;
    const DRAWN_BYTES_MIN: usize = 10;
    const HASH_BYTES_MIN: usize = 32;
    let Some(looks) = Looks::of(value) else { return false };
    let bytes = value.as_bytes();
    // `Granite~badger_33` is no name in code, whose words have capitals or signs, not both and a number behind them.
    let is_made = || value::are_words_with_number(value.as_bytes());
    let points_min = match looks {
        Looks::CodeSign | Looks::Words if is_made() => 3,
        Looks::Sign | Looks::CodeSign | Looks::Drawn | Looks::Words | Looks::Spelled => 4,
        Looks::Digits => 5,
        Looks::Encoded | Looks::DrawnId => 6,
        Looks::Number => return false,
    };
    // `linux-cargo-` and the hash of a lock file
    let is_content = bytes.rsplit(|byte| b"-_".contains(byte)).next().is_some_and(|end| {
        end.len() < bytes.len()
            && end.len() >= HASH_BYTES_MIN
            && end.iter().all(u8::is_ascii_hexdigit)
    });
    // `2026-11-20T10:02:11Z`
    let is_time = bytes.windows(8).any(|date| {
        let is_sign = |at: usize| date[at] == b'-';
        is_sign(4) && is_sign(7) && date[..4].iter().all(u8::is_ascii_digit)
    });
    let is_beside = || judge(bytes, Place::Beside(Promise::Password)).is_secret();
    // `Argon2Id{salt`, from which the end was taken as the sign of a sentence.
    let count = |signs: &[char]| value.matches(signs).count();
    let (open, closed) = (count(&['{', '(', '[', '<']), count(&['}', ')', ']', '>']));
    points >= points_min
        && bytes.len() >= BYTES_MIN
        && !is_time
        // The end of base 64.
        && !value.ends_with('=')
        && !value.contains("&#")
        && open == closed
        && (open == 0 || is_beside())
        // A name: `profile-1.0#PasswordText`.
        && !WORDS.naming.occur_in(bytes)
        && !is_content
        && (looks != Looks::Drawn || bytes.len() >= DRAWN_BYTES_MIN && is_beside())
        && (looks != Looks::Words || bytes[0].is_ascii_uppercase() || !value.is_ascii())
}

/// Sum of points, with their reasons.
#[derive(Default)]
struct Score {
    points: i32,
    reasons: Vec<&'static str>,
}

impl Score {
    fn add(&mut self, points: i32, reason: &'static str) {
        self.points += points;
        if points > 0 {
            self.reasons.push(reason);
        }
    }
}

/// Returns whether the name of a secret stands in the last words before a value, with nothing else named there.
fn role_before(last: &str, lead: &str) -> bool {
    WORDS.gate_role.is_in(&format!("{last} ")) || WORDS.gate_role.ends(lead)
}

/// Returns whether the name of a code stands before a number, with a word such as `is` between them at most.
fn code_before(lead: &str) -> bool {
    const NO_CODES: [&str; 4] = ["token", "tokens", "key", "secret"];
    let lead = WORDS.gate_copula.stripped(lead);
    let last = last_words(lead, 1);
    WORDS.gate_role.ends(lead) && !NO_CODES.contains(&last.as_str())
}

/// Points for words that give a value: verbs for opening count most. Other words than verbs count only where
/// `copulas` do.
fn given(lead: &str, behind: &str, copulas: bool) -> i32 {
    let opens = opens_with(lead) || WORDS.gate_opens.is_in(&format!("{} ", last_words(lead, 1)));
    let is_given = WORDS.gate_giving.ends(lead)
        || WORDS.gate_after.begins(behind)
        || copulas && WORDS.gate_copula.ends(lead);
    match () {
        () if opens => 2,
        () if is_given => 1,
        () => 0,
    }
}

/// `tess@example.org with`, `tess@example.org –`: a mail address before a value.
fn follows_address(lead: &str) -> bool {
    let lead = WORDS.gate_copula.stripped(lead);
    let word = last_words(lead.trim_end_matches([',', '-', '–', '/', '|', ' ']), 1);
    word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
}

/// `login svc`, before a value: a command that takes a user and a password.
fn is_login(lead: &str) -> bool {
    let mut words = lead.rsplit(char::is_whitespace);
    let (user, command) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_name = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte));
    is_name && !user.starts_with('-') && WORDS.gate_access.is_in(&format!("{command} "))
}

/// `opens with`, `opens for ops with`.
fn opens_with(lead: &str) -> bool {
    const BETWEEN_MAX: usize = 6;
    WORDS.gate_with.ends(lead)
        && WORDS.gate_opens.is_in(&format!("{} ", last_words(lead, BETWEEN_MAX)))
}

/// The last words of a text.
fn last_words(text: &str, count: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().rev().take(count).collect();
    words.into_iter().rev().collect::<Vec<_>>().join(" ")
}

/// What a word looks like by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// Letters and digits with a sign between them that names and code do not have.
    Sign,
    /// The same with a sign that code may have.
    CodeSign,
    /// Drawn at random.
    Drawn,
    /// Drawn at random behind the name of a kind: `cus_Nff8dGh2kL`.
    DrawnId,
    /// A long run of hexadecimal digits or base 64.
    Encoded,
    /// A short one, or a UUID.
    Digits,
    /// Words with a number, joined as people choose a password.
    Words,
    /// A word with digits in place of letters, or two rare words with a sign between them.
    Spelled,
    /// A number.
    Number,
}

impl Looks {
    /// Returns what a word looks like; `None` for plain words, paths, addresses, placeholders, versions and names.
    fn of(value: &str) -> Option<Self> {
        const BYTES_MIN: usize = 4;
        const DRAWN_BYTES_MIN: usize = 8;
        // `pwsh.go:19-27`
        let is_place = |c: char| c.is_ascii_digit() || ":-/".contains(c);
        let value = match value.split_once(':') {
            Some((file, place)) if file.contains('.') && place.chars().all(is_place) => file,
            _ => value,
        };
        let bytes = value.as_bytes();
        if !(BYTES_MIN..=WORD_BYTES_MAX).contains(&bytes.len()) || is_named_thing(value) {
            return None;
        }
        if is_number(bytes) {
            return Some(Self::Number);
        }
        let (letters, digits) = count(value);
        if letters == 0 || shape::is_version_or_colour(bytes) || shape::is_numbered_algorithm(bytes)
        {
            return None;
        }
        match sign(value) {
            Some(true) => return Some(Self::Sign),
            Some(false) => return Some(Self::CodeSign),
            None => {}
        }
        if let Some(looks) = encoded(bytes) {
            return Some(looks);
        }
        // `fmt.Fprintf`, `670µs/op`, a short commit
        let is_short_hash = bytes.len() <= 12 && bytes.iter().all(u8::is_ascii_hexdigit);
        if digits == 0 && value.contains('.') || value.contains('/') || is_short_hash {
            return None;
        }
        let is_drawn = bytes.len() >= DRAWN_BYTES_MIN
            && !is_numbered_name(bytes)
            && may_spread(known::trimmed(value), Evidence::Rule)
            && drawn::is_drawn(bytes);
        if is_drawn {
            return Some(if has_kind(bytes) { Self::DrawnId } else { Self::Drawn });
        }
        match is_spelled(value) {
            true => Some(Self::Spelled),
            false => is_chosen_words(value, digits).then_some(Self::Words),
        }
    }

    const fn points(self) -> i32 {
        match self {
            Self::Sign | Self::Drawn => 3,
            Self::CodeSign | Self::DrawnId | Self::Encoded => 2,
            Self::Digits | Self::Words | Self::Spelled => 1,
            Self::Number => 0,
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Sign | Self::CodeSign => "signs between letters and digits",
            Self::Drawn | Self::DrawnId => "it looks drawn at random",
            Self::Encoded | Self::Digits => "a long run of digits",
            Self::Words => "words with a number",
            Self::Spelled => "a word spelled with digits or signs",
            Self::Number => "a number",
        }
    }
}

/// `s3cret-garden`, `walnut#tide`.
fn is_spelled(value: &str) -> bool {
    const LETTERS_MIN: usize = 5;
    const PART_MIN: usize = 4;
    let plain = |c: char| match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        c => c,
    };
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let has_digit_inside = |word: &str| {
        let inner = word.trim_matches(|c: char| c.is_ascii_digit());
        inner.len() >= LETTERS_MIN && inner.contains(|c: char| c.is_ascii_digit())
    };
    let is_known = |word: &str| !is_rare(word.as_bytes());
    let is_word_in_digits = |word: &str| {
        let spelled: String = word.to_lowercase().chars().map(plain).collect();
        let ends = PART_MIN..=spelled.len().saturating_sub(PART_MIN);
        has_digit_inside(word)
            && spelled.chars().all(is_letter)
            && (is_known(&spelled)
                || ends.into_iter().any(|at| is_known(&spelled[..at]) && is_known(&spelled[at..])))
    };
    let parts = || value.split(|c: char| !c.is_alphanumeric());
    let is_small = |part: &str| part.len() > 2 && part.chars().all(char::is_lowercase);
    let has_rare = || parts().any(|part| is_rare(part.as_bytes()));
    value.split(['-', '_', '.']).any(is_word_in_digits)
        || forms::has_inner_sign(value) && parts().all(is_small) && has_rare()
}

/// Letters and digits of a word.
fn count(value: &str) -> (usize, usize) {
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    (letters, value.chars().filter(char::is_ascii_digit).count())
}

/// Returns whether a word is a path, an address, a variable, a file, a placeholder or something else that has a name.
fn is_named_thing(value: &str) -> bool {
    const ENDING_MAX: usize = 5;
    let bytes = value.as_bytes();
    let is_variable = bytes.first().is_some_and(u8::is_ascii_uppercase)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    // `Ctrl+Shift+F12`
    let is_shortcut = value.split_once('+').is_some_and(|(key, _)| WORDS.modifier_key.has(key));
    // `ORA-01017`
    let is_numbered = value.split_once('-').is_some_and(|(name, number)| {
        name.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    // `03:AC:5C:26:6A:0B`
    let is_serial = bytes.len() > 2
        && bytes
            .split(|byte| *byte == b':')
            .all(|part| part.len() == 2 && part.iter().all(u8::is_ascii_hexdigit));
    // `checkout@b4ffde65`, `prettier@3.1.0`
    let is_pinned = value.rsplit_once('@').is_some_and(|(_, pin)| {
        pin.starts_with(|c: char| c.is_ascii_digit())
            || pin.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    let is_address =
        value.contains("://") || is_pinned || value.contains('@') && value.contains('.');
    let ending = value.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_file = (1..=ENDING_MAX).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_lowercase())
        && !value.contains(['!', '#', '?', '~', '^', '&']);
    let is_host = memchr::memchr_iter(b'.', bytes).count() >= 2
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(byte));
    is_variable
        || is_numbered
        || is_shortcut
        || is_serial
        || is_address
        || is_file
        || is_host
        || value.starts_with(['-', '$', '%', '.', '/', '~', '@', '?', '&', '\\'])
        || value.contains(['(', ')', '[', ']', '…', '\\'])
        || is_template(value)
        || memchr::memchr_iter(b'/', bytes).count() >= 2
        || ["&lt;", "&gt;", "&amp;", "&quot;"].iter().any(|entity| value.contains(entity))
        || has_public_prefix(value)
        || is_slug(value)
        || has_unit(value)
        || shape::is_placeholder(bytes)
        || shape::is_fake(bytes)
        || shape::is_stop_word(bytes)
        || shape::is_path(bytes)
        || value.starts_with("eyJ") && !value.contains('.')
        || ["sha1-", "sha256-", "sha384-", "sha512-", "SHA256:", "sha256:", "data:", "h1:", "md5:"]
            .iter()
            .any(|kind| value.starts_with(kind))
}

/// Returns whether a word begins as public ids do.
fn has_public_prefix(value: &str) -> bool {
    WORDS.gate_prefixes.begin(value.as_bytes())
}

/// `heuristic-robinson-e44709`: words with a short hash behind them.
fn is_slug(value: &str) -> bool {
    const HASH_BYTES: std::ops::RangeInclusive<usize> = 5..=12;
    let Some((words, hash)) = value.rsplit_once(['-', '_', '.']) else { return false };
    HASH_BYTES.contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && words.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte))
}

/// `user:{id}:v5`
fn is_template(value: &str) -> bool {
    value.split_once('{').is_some_and(|(before, rest)| {
        let name = rest.split_once('}').map_or("", |(name, _)| name);
        !before.ends_with(char::is_alphanumeric)
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

/// `10분에`: a number with the unit behind it, in a script that does not set them apart.
fn has_unit(value: &str) -> bool {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < value.len() && !unit.is_empty() && unit.chars().all(is_unspaced)
}

/// `qa_bot_07`: a name in code with a number.
fn is_numbered_name(value: &[u8]) -> bool {
    let name = value.iter().rposition(|byte| !byte.is_ascii_digit());
    name.is_some_and(|at| value[at] == b'_')
        && value.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
}

/// Four to eight digits, alone, one by one (`5-2-9-0`) or in pairs (`90-12-44`).
fn is_number(value: &[u8]) -> bool {
    // `7731#`
    let value = value.strip_suffix(b"#").or_else(|| value.strip_suffix(b"*")).unwrap_or(value);
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_in_groups = |bytes: usize| {
        let groups = value.split(|byte| b"-*#".contains(byte));
        groups.clone().count() >= 3
            && groups
                .clone()
                .all(|group| group.len() == bytes && group.iter().all(u8::is_ascii_digit))
    };
    // `48A17`
    let letters = value.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    let is_with_letter = (1..=2).contains(&letters)
        && digits >= 3
        && digits + letters == value.len()
        && value.first().is_some_and(u8::is_ascii_digit);
    (3..=8).contains(&digits) && is_with_letter
        || (4..=8).contains(&digits)
            && (digits == value.len() || is_in_groups(1) || is_in_groups(2))
}

fn is_year(value: &str) -> bool {
    value.len() == 4 && (value.starts_with("19") || value.starts_with("20"))
}

/// Returns whether a word has a sign between letters and digits: `true` for one that code hardly has there.
fn sign(value: &str) -> Option<bool> {
    const STRONG: &[char] = &['!', '#', '^', '&', '~', '?'];
    const WEAK: &[char] = &['*', '%', '$', '|', '{', '}', '+', ';', '@', '='];
    const CODE: [&str; 17] = [
        "&&", "||", "=>", "->", "::", "!=", "==", "${", "{{", "}}", "**", "?.", "??", "</", "/>",
        "+=", "<=",
    ];
    const LETTERS_MIN: usize = 5;
    let (letters, digits) = count(value);
    let has_cases = value.chars().any(char::is_lowercase) && value.chars().any(char::is_uppercase);
    if letters < LETTERS_MIN
        || digits == 0
        || value.contains('/')
        || CODE.iter().any(|code| value.contains(code))
    {
        return None;
    }
    let inner = value.trim_matches(|c: char| !c.is_alphanumeric());
    if inner.contains(STRONG) {
        let is_one_hash = inner.matches(STRONG).eq(["#"]);
        let (before, behind) = inner.split_once('#').unwrap_or_default();
        let is_name = behind.starts_with(|c: char| c.is_lowercase())
            && behind.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_number =
            behind.trim_start_matches(['L', '-']).bytes().all(|byte| byte.is_ascii_digit());
        // `LogSanitizer#mask2`
        if is_one_hash && is_name && before.matches(char::is_uppercase).count() > 1 {
            return None;
        }
        // `page#L12`, `project#42`
        return Some(has_cases && !(is_one_hash && (is_name || is_number)));
    }
    // `beginWork$1`
    let is_numbered = inner
        .rsplit_once('$')
        .is_some_and(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    (inner.contains(WEAK) && !is_numbered).then_some(false)
}

/// Returns whether a word is a long run of digits in some code.
fn encoded(value: &[u8]) -> Option<Looks> {
    const HEX_BYTES_MIN: usize = 16;
    const LONG_BYTES_MIN: usize = 32;
    const BASE64_BYTES_MIN: usize = 24;
    let has = |is_kind: fn(&u8) -> bool| value.iter().any(is_kind);
    let is_hex = value.iter().all(u8::is_ascii_hexdigit)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic);
    if is_hex && value.len() >= HEX_BYTES_MIN {
        return Some(if value.len() >= LONG_BYTES_MIN { Looks::Encoded } else { Looks::Digits });
    }
    // `ami-0b7c21d94e3f6a858`, a UUID.
    let is_part = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'-').collect();
    if parts.len() == 5 && value.len() == 36 && parts.iter().all(|part| is_part(part)) {
        return Some(Looks::Digits);
    }
    let is_base64 =
        value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_random = || {
        let text = str::from_utf8(value).unwrap_or_default();
        may_spread(known::trimmed(text), Evidence::Rule) && shape::has_random_part(value, 16)
    };
    (is_base64
        && is_mixed
        && value.len() >= BASE64_BYTES_MIN
        && shape::entropy(value) >= 4.0
        && is_random())
    .then_some(Looks::Encoded)
}

/// Returns whether a kind of thing stands before what is random: `cus_Nff8dGh2kL`, `vpce-0a1f39c4be7d2856e`.
fn has_kind(value: &[u8]) -> bool {
    const KIND_BYTES: std::ops::RangeInclusive<usize> = 2..=6;
    let sign = value.iter().position(|byte| b"_-".contains(byte)).unwrap_or_default();
    KIND_BYTES.contains(&sign) && value[..sign].iter().all(u8::is_ascii_lowercase)
}

/// `Heron-Pilot-31`, `loutre.Parapluie.9`, `pelican7Quarry`: words that technical texts do not have, with a number, or
/// three of them joined.
fn is_chosen_words(value: &str, digits: usize) -> bool {
    const LETTERS_MIN: usize = 3;
    const WORD_LETTERS_MIN: usize = 4;
    const DIGITS_MAX: usize = 6;
    let bytes = value.as_bytes();
    let is_sign = |byte: &u8| b"-._".contains(byte);
    let signs = bytes.iter().filter(|byte| is_sign(byte)).count();
    let is_plain = value.chars().all(|c| c.is_alphanumeric() || "-._".contains(c));
    let segments: Vec<&[u8]> =
        drawn::segments(bytes).filter(|part| !part[0].is_ascii_digit()).collect();
    let words = segments.iter().filter(|part| part.len() >= LETTERS_MIN).count();
    let rare =
        segments.iter().filter(|part| part.len() >= WORD_LETTERS_MIN && is_rare(part)).count();
    let common =
        segments.iter().filter(|part| part.len() >= WORD_LETTERS_MIN && !is_rare(part)).count();
    if !is_plain || words == 0 || digits > DIGITS_MAX || rare == 0 || is_name_with_version(bytes) {
        return false;
    }
    let has_capitals = bytes.iter().any(u8::is_ascii_uppercase);
    match (digits, signs) {
        // `vier-Dachse-im-Schnee`, `Sorbet_under_Oak`
        (0, _) => {
            let has_both = has_capitals && segments.iter().any(|part| part[0].is_ascii_lowercase());
            (signs >= 3 || signs == 2 && has_both) && rare * 2 >= words && !bytes.contains(&b'.')
        }
        // `Heron-Pilot-31`: names in code have no capitals beside such signs.
        (_, 1..) if has_capitals => rare >= common && (digits >= 2 || words >= 2),
        // `sowa-pod-mostem-3`, `pelican7Quarry`
        _ => common == 0,
    }
}

/// Returns whether three words or more are joined, most of them such as technical texts do not have.
fn is_joined_words(value: &str) -> bool {
    const WORDS_MIN: usize = 3;
    let words: Vec<&str> = value.split(['-', '_', '.']).collect();
    let rare = words.iter().filter(|word| is_rare(word.as_bytes())).count();
    words.len() >= WORDS_MIN && rare * 2 >= words.len() && words.iter().all(|w| is_plain_phrase(w))
}

fn is_rare(word: &[u8]) -> bool {
    let Ok(word) = str::from_utf8(word) else { return true };
    text::tokens(word).iter().all(|token| rarity::is_unknown(&token.term))
}

/// Returns whether a name ends with a version: `report-v2`, `cache_v4`.
fn is_name_with_version(value: &[u8]) -> bool {
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = &value[..value.len() - digits];
    let (Some(letter), Some(sign)) = (name.last(), name.len().checked_sub(2).map(|at| name[at]))
    else {
        return false;
    };
    (1..=2).contains(&digits) && b"vV".contains(letter) && b"-_.".contains(&sign)
}

/// Returns whether a phrase has plain words of small letters and nothing else.
fn is_plain_phrase(phrase: &str) -> bool {
    phrase
        .split_whitespace()
        .all(|word| word.chars().all(|c| c.is_alphabetic() && !c.is_uppercase()))
}

/// A word with the sign that a password may end with.
fn with_end(text: &str, range: Range<usize>) -> Range<usize> {
    let signs = text[range.end..].bytes().take_while(|byte| b"!?#$%*".contains(byte)).count();
    range.start..range.end + signs
}

/// Sentences of a text. Lines of lists, tables and code are sentences of their own.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_own = begins_item(line);
        if is_own && at > start {
            found.push(start..at);
            start = at;
        }
        let mut chars = line.char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            let is_end = match c {
                '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
                '。' | '！' | '？' => true,
                _ => false,
            };
            if is_end {
                let end = at + offset + c.len_utf8();
                found.push(start..end);
                start = end;
            }
        }
        at += line.len();
        if is_own || line.trim().is_empty() {
            found.push(start..at);
            start = at;
        }
    }
    found.push(start..at);
    found.retain(|range| !text[range.clone()].trim().is_empty());
    found
}

/// Returns whether a line is an item of a list, a row of a table, a heading or code.
fn begins_item(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with("    ")
        || line.starts_with('\t')
        || text.starts_with(['|', '#', '>', '-', '*', '+', '`', '$', '│'])
        || number > 0 && text[number..].starts_with(['.', ')'])
}

/// Words of a sentence, without the signs around them.
fn words(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    let is_quote = |c: char| "\"'`«»「」『』“”„‘’‹›".contains(c);
    let is_unspaced = |c: char| is_unspaced(c) && !is_hangul(c);
    let is_edge = |c: char| {
        c.is_whitespace()
            || is_quote(c)
            || is_unspaced(c)
            || "、，：；（）。！？<>|│–—×→".contains(c)
    };
    let mut found = Vec::new();
    let mut start = sentence.start;
    let mut take = |start: usize, end: usize| {
        let word = &text[start..end];
        let inner = word.trim_start_matches(['(', '[', '{', '*', '_', '=', ',', ';']);
        let from = start + word.len() - inner.len();
        let inner =
            inner.trim_end_matches(['.', ',', ':', ';', '!', '?', ')', ']', '}', '*', '_', '…']);
        if !inner.is_empty() {
            let is_placeholder =
                text[..from].ends_with('<') && text[from + inner.len()..].starts_with('>');
            if !is_placeholder {
                found.push(from..from + inner.len());
            }
        }
    };
    for (offset, c) in text[sentence.clone()].char_indices() {
        if is_edge(c) {
            take(start, sentence.start + offset);
            start = sentence.start + offset + c.len_utf8();
        }
    }
    take(start, sentence.end);
    found
}

/// Returns whether a letter is Korean, which has spaces between words.
fn is_hangul(c: char) -> bool {
    ('\u{AC00}'..='\u{D7AF}').contains(&c)
}

/// What stands between quotes in a sentence.
fn quoted(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    const PAIRS: [(char, char); 9] = [
        ('"', '"'),
        ('`', '`'),
        ('«', '»'),
        ('»', '«'),
        ('「', '」'),
        ('『', '』'),
        ('“', '”'),
        ('„', '“'),
        ('‘', '’'),
    ];
    let mut found = Vec::new();
    for (open, close) in PAIRS {
        let mut at = sentence.start;
        while let Some(start) = text[at..sentence.end].find(open) {
            let start = at + start + open.len_utf8();
            let Some(length) = text[start..sentence.end].find(close) else { break };
            let inner = &text[start..start + length];
            let lead = inner.len() - inner.trim_start().len();
            // Between two quotations of one line there are spaces.
            if inner.trim() == inner || !open.is_ascii() {
                found.push(start + lead..start + lead + inner.trim().len());
            }
            at = start + length + close.len_utf8();
        }
    }
    found
}

#[cfg(test)]
mod tests;
