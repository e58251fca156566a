//! Rules for providers' tokens: a table of data (`data/rules.toml`), and the code that applies a rule.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use crate::context::{command, rows};
use crate::personal::checksum;
use crate::value::{Promise, ValuePlace, chosen, judge, shape, stand_in};
use crate::vocabulary::WORDS;

/// Number of bytes after a keyword that are searched first. A match that reaches the end of this window is searched for
/// again in a longer window.
const WINDOW_BYTES: usize = 512;

/// Maximum length of a match in bytes.
const MATCH_BYTES_MAX: usize = 16 << 10;

/// Maximum compiled size of a pattern in bytes.
const PATTERN_BYTES_MAX: usize = 64 << 20;

/// Text that may directly precede a token: a character that is not part of a word, an escape such as `\n` in a JSON
/// string, or a percent-encoded byte. Equivalent to [`has_left_edge`].
const LEFT_EDGE: &str = r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\A|[^A-Za-z0-9_])";

/// Maximum length of a left edge in bytes.
const LEFT_EDGE_BYTES: usize = 3;

/// A format of secrets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Name in the placeholder.
    pub name: String,
    /// Keywords. A match contains at least one of them or is near one.
    pub keywords: Vec<String>,
    /// The regular expression. Its group `secret` is hidden, or the whole match if there is no such group.
    pattern: String,
    /// True to ignore case, both in the keywords and in the pattern.
    #[serde(default)]
    ignore_case: bool,
    /// True if the token may directly follow a character of a word.
    #[serde(default)]
    glued: bool,
    /// True if the format is common, and only the name before the secret identifies the provider.
    #[serde(default)]
    named: bool,
    /// Maximum number of bytes in a match before the keyword. If 0, the match begins with the keyword, which is much
    /// faster to test.
    #[serde(default)]
    before: usize,
    /// Maximum number of bytes in a match after the keyword; 0 if only the total length is limited.
    #[serde(default)]
    after: usize,
    /// Text that every match contains between its keyword and the next space.
    #[serde(default)]
    needs: String,
    /// Minimum entropy of the secret, in bits per character.
    #[serde(default)]
    entropy: f32,
    /// True if the secret must have upper-case and lower-case letters and digits.
    #[serde(default)]
    mixed: bool,
    /// The kind of checksum in the format, if any.
    check: Option<checksum::ChecksumKind>,
    /// True if the rule is for a command, which counts only where a command is possible, and whose value may be
    /// something else.
    #[serde(default)]
    command: bool,
    /// True if the secret must resemble a password or a token, because an ordinary word is possible at its place.
    #[serde(default)]
    told: bool,
    /// Like `told`, but a password that a person chose, including its sign, is accepted too, because delimiters mark
    /// the end of the value.
    #[serde(default)]
    chosen: bool,
    /// True if the secret must look like a generated password or key.
    #[serde(default)]
    styled: bool,
    /// True if the secret must appear random, because only its position indicates a secret.
    #[serde(default)]
    drawn: bool,
    /// True if words in place of the secret are not hidden.
    #[serde(default)]
    worded: bool,
    /// True if a user name and a password that are both words without significance are not hidden: `username:password`.
    #[serde(default)]
    pair: bool,
    /// True if placeholders are hidden as well.
    #[serde(default)]
    even_placeholders: bool,
    /// URL of the provider's documentation of the format.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for people, and for the test that reads the table")
    )]
    pub source: String,
    /// Text with a made-up secret in guillemets.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test that reads the table"))]
    pub example: String,
    /// The compiled pattern. It is created when first used, because most rules are not needed in a run.
    #[serde(skip)]
    regex: OnceLock<Option<Regex>>,
    /// Searcher for the text in `needs`.
    #[serde(skip)]
    finder: OnceLock<Finder<'static>>,
}

/// Contents of the file of providers' formats.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<Rule>,
}

static PROVIDERS: LazyLock<RuleFile> = LazyLock::new(|| {
    // The test `the_table_of_rules_is_sound` verifies this.
    toml::from_str(include_str!("../../data/rules.toml")).expect("the built-in rules are valid")
});

static CONTEXTS: LazyLock<Vec<Rule>> = LazyLock::new(|| rows::of("rule"));

/// Returns the built-in rules. Formats are first, because they are more specific than contexts.
pub(crate) fn built_in() -> impl Iterator<Item = &'static Rule> {
    PROVIDERS.rule.iter().chain(CONTEXTS.iter())
}

impl Rule {
    /// Returns the secret near the keyword at `hit`; `None` if the rule does not match.
    pub(crate) fn find(&self, text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
        if !self.may_match(text, hit) {
            return None;
        }
        let regex = self.regex()?;
        if self.before == 0 {
            return self.find_here(regex, text, hit);
        }
        let mut start = hit.start.saturating_sub(self.before + LEFT_EDGE_BYTES);
        let mut window = if self.after == 0 { WINDOW_BYTES } else { self.after };
        loop {
            let end = (hit.end + window).min(text.len());
            let groups = regex.captures_at(&text[..end], start)?;
            let whole = groups.get(0)?.range();
            if self.after == 0 && whole.end == end && end < text.len() && window < MATCH_BYTES_MAX {
                window = MATCH_BYTES_MAX;
                continue;
            }
            if let Some(secret) = self.secret(text, &groups) {
                return Some(secret);
            }
            // A match that begins before the keyword may be a different value from the one after the keyword.
            if whole.end > hit.start || whole.end <= start {
                return None;
            }
            start = whole.end;
        }
    }

    /// Returns the secret in a match that begins with the keyword at `hit`.
    fn find_here(&self, regex: &Regex, text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
        if !self.glued && !has_left_edge(&text[..hit.start]) {
            return None;
        }
        let mut window = if self.after == 0 { WINDOW_BYTES } else { self.after };
        loop {
            let end = (hit.end + window).min(text.len());
            let here = &text[hit.start..end];
            let groups = regex.captures(here)?;
            if self.after == 0
                && groups.get(0)?.end() == here.len()
                && end < text.len()
                && window < MATCH_BYTES_MAX
            {
                window = MATCH_BYTES_MAX;
                continue;
            }
            let secret = self.secret(here, &groups)?;
            let (lead, value) = (&here[..secret.start], &here[secret.clone()]);
            if self.command && !command::is_password(&text[..hit.start], lead, value, self.worded) {
                return None;
            }
            return Some(hit.start + secret.start..hit.start + secret.end);
        }
    }

    /// Returns whether a text with very many of the rule's keywords is searched faster in one pass.
    pub(crate) fn prefers_one_pass(&self) -> bool {
        self.before > 0
    }

    /// Returns all secrets from `from` on, in one pass over the text.
    pub(crate) fn find_all(&self, text: &[u8], from: usize) -> Vec<Range<usize>> {
        let Some(regex) = self.regex() else { return Vec::new() };
        let mut found = Vec::new();
        let mut at = from;
        while let Some(groups) = regex.captures_at(text, at) {
            let Some(whole) = groups.get(0) else { break };
            at = whole.end().max(at + 1);
            found.extend(self.secret(text, &groups));
            if at > text.len() {
                break;
            }
        }
        found
    }

    /// Returns whether the text near the keyword may match. Faster than a search.
    fn may_match(&self, text: &[u8], hit: &Range<usize>) -> bool {
        let keyword = &text[hit.clone()];
        // Some rules have dozens of keywords, most of them with the same length; the first byte distinguishes nearly
        // all of them.
        let is = |known: &String| known.as_bytes()[0] == keyword[0] && known.as_bytes() == keyword;
        if !self.ignore_case && !self.keywords.iter().any(is) {
            return false;
        }
        if self.needs.is_empty() {
            return true;
        }
        let end = (hit.end + WINDOW_BYTES).min(text.len());
        let word = text[hit.end..end].split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let needs = self.finder.get_or_init(|| Finder::new(self.needs.as_bytes()).into_owned());
        needs.find(word).is_some()
    }

    fn secret(&self, text: &[u8], groups: &Captures<'_>) -> Option<Range<usize>> {
        let whole = groups.get(0)?.range();
        let secret = groups.name("secret").map_or(whole.clone(), |group| group.range());
        let judged = groups.name("judged").map_or(secret.clone(), |group| group.range());
        let lead = &text[whole.start..secret.start];
        let user = text[whole.start..judged.start].strip_suffix(b":").unwrap_or_default();
        let user = user.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let are_words = self.pair
            && stand_in::is_stop_word(user)
            && stand_in::is_stop_word(&text[judged.clone()]);
        (!are_words && self.accepts(&text[judged]) && !(self.named && WORDS.content.occur_in(lead)))
            .then_some(secret)
    }

    fn accepts(&self, secret: &[u8]) -> bool {
        match self.check.map(|kind| kind.verify(secret)) {
            Some(checksum::ChecksumVerdict::Right) => return true,
            Some(checksum::ChecksumVerdict::Wrong) => return false,
            Some(checksum::ChecksumVerdict::Unsure) | None => {}
        }
        (self.even_placeholders || !stand_in::is_placeholder(secret))
            && (!self.worded || self.command || !stand_in::is_stop_word(secret))
            && shape::entropy(secret) >= self.entropy
            && (!self.mixed || has_all_kinds(secret))
            && (!self.told || judge(secret, ValuePlace::Rule).is_secret())
            && (!self.chosen
                || judge(secret, ValuePlace::Rule).is_secret()
                || chosen::is_chosen(secret))
            && (!self.styled || judge(secret, ValuePlace::Styled).is_secret())
            && (!self.drawn || judge(secret, ValuePlace::Beside(Promise::Password)).is_secret())
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| self.compile().ok()).as_ref()
    }

    /// Compiles the pattern for ASCII only, which suffices for token formats and is 40 times faster than Unicode.
    pub(crate) fn compile(&self) -> Result<Regex, regex::Error> {
        let pattern = match (self.glued, self.pattern.contains("(?<secret>")) {
            _ if self.before == 0 => format!(r"\A(?:{})", self.pattern),
            (true, _) => self.pattern.clone(),
            (false, true) => format!("{LEFT_EDGE}(?:{})", self.pattern),
            (false, false) => format!("{LEFT_EDGE}(?<secret>{})", self.pattern),
        };
        RegexBuilder::new(&pattern)
            .unicode(false)
            .case_insensitive(self.ignore_case)
            .size_limit(PATTERN_BYTES_MAX)
            .dfa_size_limit(PATTERN_BYTES_MAX)
            .build()
    }
}

/// Returns whether a token may begin after this text.
fn has_left_edge(before: &[u8]) -> bool {
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() && *last != b'_' => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', first, second] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Returns whether a secret has upper-case and lower-case letters and two digits.
fn has_all_kinds(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_uppercase)
        && secret.iter().any(u8::is_ascii_lowercase)
        && secret.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
}
