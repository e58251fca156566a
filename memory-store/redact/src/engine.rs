//! The engine: one pass of an automaton finds all keywords, and each keyword's detectors read the text around it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::context::rule::{self, Rule};
use crate::context::{assignment, block, column, cookie, cue, encoded, joined};
use crate::finding::{
    ACCOUNT, ASSIGNMENT, COOKIE, DENIED, ENCODED, ENCODED_KEY, Finding, KNOWN, LOGIN, NAME,
    PRIVATE_KEY, PRIVATE_TEXT, WITH_LOGIN, placeholder, placeholders, touches, united,
};
use crate::known::echo;
use crate::options::RedactOptions;
use crate::personal::{self, Class, Policy};
use crate::texts;
use crate::value::spread::{SpreadEvidence, may_spread, trimmed};
use crate::vocabulary::WORDS;
use crate::word_search::WordSearch;

/// Maximum number of passes over the result: redacting one secret may expose a part of another.
const PASSES_MAX: usize = 8;

/// Number of keywords without a match after which a rule reads the rest of the text in one pass.
const FAILURES_MAX: u16 = 200;

/// Distance in bytes between two names of secrets below which fewer bytes are read after each name.
const DENSE_BYTES: usize = 24;

/// Minimum length in bytes of a base 64 run that counts as part of an image or an archive; matches inside are ignored.
const BLOB_BYTES_MIN: usize = 256;

/// Hides secrets in text. A redactor is cheap to create and to share between threads.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Policies for findings, and the names and known secrets to hide.
    pub options: RedactOptions,
    /// True to hide only secrets that were recognised elsewhere.
    pub only_known: bool,
}

impl Redactor {
    /// Returns a redactor with the built-in rules.
    pub fn new(options: &RedactOptions) -> Self {
        Self { options: options.clone(), only_known: false }
    }

    /// Returns `text` without secrets, and the values of those secrets that rules found and that appear random: such a
    /// value has no other meaning in other texts.
    pub fn redact_and_recognise<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<String>) {
        let found = self.findings(text);
        let mut values = Vec::new();
        let mut take = |value: &str| {
            let value = trimmed(value);
            if may_spread(value, SpreadEvidence::Rule) {
                values.push(value.to_owned());
            }
        };
        for finding in found.iter().filter(|finding| is_learned(finding.rule)) {
            let value = &text[finding.range.clone()];
            take(value);
            if let Some(password) = password_within(value) {
                take(password);
                encoded::percent_decoded(password).iter().for_each(|password| take(password));
            }
            encoded::password(value).iter().for_each(|password| take(password));
            encoded::base64_decoded(value).iter().for_each(|told| take(told));
        }
        (self.redact_found(text, found), values)
    }

    /// Returns `text` with each secret replaced by `[redacted:<rule>]`. Redacting the result again changes nothing.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_found(text, self.findings(text))
    }

    /// Returns `text` with these findings redacted, and all secrets that the redaction exposes.
    pub(crate) fn redact_found<'t>(&self, text: &'t str, mut found: Vec<Finding>) -> Cow<'t, str> {
        let mut result = Cow::Borrowed(text);
        for pass in 1..=PASSES_MAX {
            if found.is_empty() {
                break;
            }
            result = Cow::Owned(self.replace(&result, &found));
            found = if pass < PASSES_MAX { self.findings(&result) } else { Vec::new() };
        }
        result
    }

    /// Returns the secrets of `text` in order; they do not overlap.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        if self.only_known {
            let mut found = self.options.known.find(text);
            found.retain(|finding| !self.is_harmless(&text.as_bytes()[finding.range.clone()]));
            // One known value may contain another or overlap with it.
            let mut found = united(found);
            found.iter_mut().for_each(|finding| take_end(text.as_bytes(), finding));
            return found;
        }
        let Some(plain) = texts::unnumbered(text) else { return self.findings_of(text) };
        let found = self.findings_of(&plain.text).into_iter();
        found.map(|finding| Finding { range: plain.place(&finding.range), ..finding }).collect()
    }

    /// Returns the secrets of a text that has no line numbers.
    fn findings_of(&self, text: &str) -> Vec<Finding> {
        let mut found = self.options.deny.find(text.as_bytes());
        found.extend(self.options.names.find(text));
        found.extend(ENGINE.scan(text.as_bytes()));
        found.extend(personal::find(text.as_bytes(), &self.options.personal));
        found.extend(self.options.known.find(text));
        if found.is_empty() {
            return found;
        }
        let hidden = placeholders(text);
        found.retain(|finding| {
            let value = &text.as_bytes()[finding.range.clone()];
            let spans = matches!(finding.rule, PRIVATE_TEXT | PRIVATE_KEY);
            (spans || !touches(&hidden, &finding.range))
                && !self.is_harmless(value)
                && (spans || !is_in_blob(text.as_bytes(), &finding.range))
        });
        let mut found = united(found);
        found.extend(self.beside(text, &found));
        let mut found = united(found);
        for finding in &mut found {
            take_end(text.as_bytes(), finding);
            finding.range = whole_characters(text, &finding.range);
        }
        found
    }

    /// Returns whether the user declared this value harmless.
    pub(crate) fn is_harmless(&self, value: &[u8]) -> bool {
        self.options.harmless.iter().any(|harmless| harmless.as_bytes() == value)
    }

    /// Returns values near secrets that are as sensitive as the secrets, such as repetitions and user names.
    fn beside(&self, text: &str, found: &[Finding]) -> Vec<Finding> {
        let mut beside = echo::repeated(text.as_bytes(), found);
        let logins: Vec<Finding> =
            found.iter().filter(|finding| WITH_LOGIN.contains(&finding.rule)).cloned().collect();
        let names = echo::companions(text.as_bytes(), &logins);
        beside.extend(echo::repeated_names(text.as_bytes(), &names));
        beside.extend(names);
        let hidden = placeholders(text);
        beside.retain(|finding| !touches(&hidden, &finding.range));
        beside
    }
}

/// Detectors that a keyword starts. Of overlapping matches, the most specific one determines the rule's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Detector {
    PrivateText,
    PrivateKey,
    EncodedKey,
    Rule(usize),
    Cookie,
    Assignment,
    Cue,
}

/// The compiled built-in rules.
pub(crate) struct Engine {
    pub(crate) rules: Vec<&'static Rule>,
    keywords: WordSearch,
    /// Detectors by keyword.
    detectors: Vec<Vec<Detector>>,
}

pub(crate) static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::new);

impl Engine {
    fn new() -> Self {
        let rules: Vec<&'static Rule> = rule::built_in().collect();
        let cookies = WORDS.cookie_part.iter().map(|word| (word, Detector::Cookie));
        let own = WORDS.name_part.iter().map(|word| (word, Detector::Assignment));
        let cues = WORDS.cue.iter().map(|word| (word, Detector::Cue));
        let own = cookies.chain(own).chain(cues);
        let pairs = [
            (block::PRIVATE_OPEN, Detector::PrivateText),
            (block::PEM_KEYWORD, Detector::PrivateKey),
            (block::ENCODED_PEM_KEYWORD, Detector::EncodedKey),
        ];
        let tabled = rules.iter().enumerate().flat_map(|(index, rule)| {
            rule.keywords.iter().map(move |word| (word.as_str(), Detector::Rule(index)))
        });
        let mut words: Vec<String> = Vec::new();
        let mut indexes: HashMap<String, usize> = HashMap::new();
        let mut detectors: Vec<Vec<Detector>> = Vec::new();
        for (word, detector) in pairs.into_iter().chain(tabled).chain(own) {
            let word = word.to_ascii_lowercase();
            let index = *indexes.entry(word).or_insert_with_key(|word| {
                words.push(word.clone());
                detectors.push(Vec::new());
                words.len() - 1
            });
            detectors[index].push(detector);
        }
        let keywords = WordSearch::new(words);
        Self { rules, keywords, detectors }
    }

    /// Returns all secrets of a text, the most specific first, including secrets that are written in several pieces.
    fn scan(&'static self, text: &[u8]) -> Vec<Finding> {
        let mut found = self.detect(text);
        found.extend(joined::find(text, |piece| {
            let mut found = self.detect(piece);
            found.retain(|(_, range)| !is_in_blob(piece, range));
            found
        }));
        found.sort_by_key(|(detector, range)| (*detector, range.start));
        let mut found: Vec<Finding> = found
            .into_iter()
            .map(|(detector, range)| Finding { rule: self.name(detector), range })
            .collect();
        let encoded = encoded::find(text, |said| !self.detect(said).is_empty());
        found.extend(encoded.into_iter().map(|range| Finding { rule: ENCODED, range }));
        found
    }

    fn detect(&self, text: &[u8]) -> Vec<(Detector, Range<usize>)> {
        let mut found: Vec<(Detector, Range<usize>)> = Vec::new();
        let mut failures = Failures::default();
        let mut last_name = 0;
        let mut cookies = cookie::CookieReader::default();
        let mut cues = cue::CueReader::default();
        let mut rows = 0..0;
        for hit in self.keywords.automaton_for(text).find_overlapping_iter(text) {
            for &detector in &self.detectors[hit.pattern().as_usize()] {
                let range = hit.range();
                if detector == Detector::Cookie {
                    let secrets = cookies.next(text, &range).into_iter().flatten();
                    found.extend(secrets.map(|secret| (Detector::Cookie, secret)));
                    continue;
                }
                if detector == Detector::Cue {
                    let values = cues.next(text, &range).into_iter();
                    found.extend(values.map(|value| (detector, value)));
                    continue;
                }
                let seen = |(known, secret): &(Detector, Range<usize>)| {
                    *known == detector && secret.end >= range.end
                };
                if found.iter().rev().take(4).any(seen) || failures.is_done(detector) {
                    continue;
                }
                let is_dense = last_name > 0 && range.start < last_name + DENSE_BYTES;
                if detector == Detector::Assignment {
                    last_name = range.end;
                }
                if detector == Detector::Assignment {
                    // A table that has a name in every cell is read once, not once for each name.
                    let column = (!rows.contains(&range.start))
                        .then(|| column::find(text, &range))
                        .flatten();
                    if let Some(column) = column {
                        found.extend(column.secrets.into_iter().map(|cell| (detector, cell)));
                        rows = column.rows;
                    }
                }
                match self.find(detector, text, &range, is_dense) {
                    Some(secret) if detector == Detector::Assignment => {
                        let next = assignment::next_secret(text, secret.end);
                        found.push((detector, secret));
                        found.extend(next.map(|secret| (detector, secret)));
                    }
                    Some(secret) => found.push((detector, secret)),
                    None if detector == Detector::Assignment => {
                        let values = cues.sentence(text, &range).into_iter();
                        found.extend(values.map(|value| (Detector::Cue, value)));
                    }
                    None if self.prefers_one_pass(detector)
                        && failures.are_too_many(detector, self.rules.len()) =>
                    {
                        let rest = self.find_all(detector, text, range.start);
                        found.extend(rest.into_iter().map(|secret| (detector, secret)));
                    }
                    None => {}
                }
            }
        }
        let abroad = assignment::abroad(text).into_iter();
        found.extend(abroad.map(|secret| (Detector::Assignment, secret)));
        found.extend(cue::abroad(text).into_iter().map(|value| (Detector::Cue, value)));
        found
    }

    fn prefers_one_pass(&self, detector: Detector) -> bool {
        matches!(detector, Detector::Rule(index) if self.rules[index].prefers_one_pass())
    }

    /// Returns all matches of a rule from the offset `from` on, for text that contains its keyword very often.
    fn find_all(&self, detector: Detector, text: &[u8], from: usize) -> Vec<Range<usize>> {
        match detector {
            Detector::Rule(index) => self.rules[index].find_all(text, from),
            Detector::PrivateText
            | Detector::PrivateKey
            | Detector::EncodedKey
            | Detector::Cookie
            | Detector::Assignment
            | Detector::Cue => Vec::new(),
        }
    }

    fn find(
        &self,
        detector: Detector,
        text: &[u8],
        hit: &Range<usize>,
        is_dense: bool,
    ) -> Option<Range<usize>> {
        match detector {
            Detector::PrivateText => block::private_text(text, hit),
            Detector::PrivateKey => block::private_key(text, hit),
            Detector::EncodedKey => block::encoded_key(text, hit),
            Detector::Rule(index) => self.rules[index].find(text, hit),
            Detector::Assignment => assignment::find(text, hit, is_dense),
            // These detectors return several matches at once; see `detect`.
            Detector::Cookie | Detector::Cue => None,
        }
    }

    fn name(&'static self, detector: Detector) -> &'static str {
        match detector {
            Detector::PrivateText => PRIVATE_TEXT,
            Detector::PrivateKey => PRIVATE_KEY,
            Detector::EncodedKey => ENCODED_KEY,
            Detector::Rule(index) => &self.rules[index].name,
            Detector::Cookie => COOKIE,
            Detector::Assignment => ASSIGNMENT,
            Detector::Cue => LOGIN,
        }
    }
}

/// Number of keywords without a match, for each rule. Reading a window around each keyword is fast while there are few
/// keywords; a text with many of them is read faster once as a whole.
#[derive(Default)]
struct Failures {
    by_rule: Vec<u16>,
}

impl Failures {
    /// Returns whether the rule has already read the text to its end.
    fn is_done(&self, detector: Detector) -> bool {
        let Detector::Rule(index) = detector else { return false };
        self.by_rule.get(index).is_some_and(|count| *count >= FAILURES_MAX)
    }

    /// Counts a failure of a rule. Returns whether the rule should now read the rest of the text as a whole.
    fn are_too_many(&mut self, detector: Detector, rules: usize) -> bool {
        let Detector::Rule(index) = detector else { return false };
        if self.by_rule.is_empty() {
            self.by_rule.resize(rules, 0);
        }
        self.by_rule[index] = self.by_rule[index].saturating_add(1);
        self.by_rule[index] == FAILURES_MAX
    }
}

/// Returns whether a match is inside a long run of base 64: an image, an archive, an integrity string.
fn is_in_blob(text: &[u8], range: &Range<usize>) -> bool {
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let before =
        text[..range.start].iter().rev().take(BLOB_BYTES_MIN).take_while(is_base64).count();
    let after = text[range.end..].iter().take(BLOB_BYTES_MIN).take_while(is_base64).count();
    before.max(after) >= BLOB_BYTES_MIN
}

/// Extends a value by a punctuation mark that follows its final digit: passwords end so more often than sentences do,
/// and a sentence loses nothing but this mark.
fn take_end(text: &[u8], finding: &mut Finding) {
    let range = &finding.range;
    let is_secret = is_learned(finding.rule) || finding.rule == KNOWN;
    let ends_in_digit = text[range.clone()].last().is_some_and(u8::is_ascii_digit);
    let is_emphasised = text[..range.start].ends_with(b"*");
    let is_sign = |byte: &u8| b"!#$%?^~".contains(byte) || *byte == b'*' && !is_emphasised;
    let ends_word = text.get(range.end + 1).is_none_or(|next| {
        next.is_ascii_whitespace() || !next.is_ascii() || b"\"'`,.;:)]}<|\\".contains(next)
    });
    if is_secret && ends_in_digit && ends_word && text.get(range.end).is_some_and(is_sign) {
        finding.range.end += 1;
    }
}

fn whole_characters(text: &str, range: &Range<usize>) -> Range<usize> {
    text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end)
}

impl Redactor {
    pub(crate) fn replace(&self, text: &str, findings: &[Finding]) -> String {
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        for finding in findings {
            result.push_str(&text[at..finding.range.start]);
            if !self.is_dropped(finding.rule) {
                result.push_str(&placeholder(finding.rule));
            }
            at = finding.range.end;
        }
        result.push_str(&text[at..]);
        result
    }

    /// Returns whether matches of a rule are removed without a placeholder.
    fn is_dropped(&self, rule: &str) -> bool {
        Class::from_name(rule).is_some_and(|class| self.options.personal.of(class) == Policy::Drop)
    }
}

/// Returns the password inside a hidden value, which may be a URL, a connection string, a user name with a password, or
/// a sentence.
fn password_within(value: &str) -> Option<&str> {
    if let Some((_, address)) = value.split_once("://") {
        return address.rsplit_once('@')?.0.split_once(':').map(|(_, password)| password);
    }
    let pair = ["assword=", "wd="].iter().find_map(|name| value.split_once(name));
    if let Some((_, rest)) = pair {
        return rest.split([';', '&', ' ']).next();
    }
    // `user:password`, `"user" is "password`
    value.rsplit_once([' ', ',']).or_else(|| value.split_once(':')).map(|(_, password)| password)
}

/// Returns whether the values that a rule found are searched for in other texts. False for personal data and for
/// matches of the user's own patterns and marks.
pub(crate) fn is_learned(rule: &str) -> bool {
    let is_other = [PRIVATE_TEXT, PRIVATE_KEY, ACCOUNT, NAME, KNOWN, DENIED];
    !is_other.contains(&rule) && Class::from_name(rule).is_none()
}
