//! The rules for providers' tokens: a table of data (`data/rules.toml`) and how one rule is applied.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use regex::bytes::{Captures, Regex, RegexBuilder};
use serde::Deserialize;

use crate::context::{command, rows};
use crate::personal::checksum;
use crate::value::{Promise, ValuePlace, chosen, judge, shape, stand_in};
use crate::vocabulary::WORDS;

/// Bytes after a keyword that are searched at first; a match that reaches this far is searched
/// again with a longer window.
const WINDOW_BYTES: usize = 512;

/// The longest text that one match may take.
const MATCH_BYTES_MAX: usize = 16 << 10;

/// Compiled size that one pattern may have.
const PATTERN_BYTES_MAX: usize = 64 << 20;

/// Text allowed directly before a token: nothing of a word, an escape such as `\n` of text in a JSON string, or a
/// percent-encoded byte. [`has_left_edge`] says the same.
const LEFT_EDGE: &str = r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\A|[^A-Za-z0-9_])";

/// The longest left edge.
const LEFT_EDGE_BYTES: usize = 3;

/// One way in which secrets look.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Name in the placeholder.
    pub name: String,
    /// A match contains at least one of these, or stands near it.
    pub keywords: Vec<String>,
    /// The regular expression; its group `secret`, or else all of it, is hidden.
    pattern: String,
    /// True if case says nothing, neither in the keywords nor in the pattern.
    #[serde(default)]
    ignore_case: bool,
    /// True if the token may follow a word's character directly.
    #[serde(default)]
    glued: bool,
    /// True if only the name before the secret tells whose it is, because the form is common.
    #[serde(default)]
    named: bool,
    /// Bytes that a match may begin before its keyword. Where this is nothing the match begins with
    /// the keyword, which is far cheaper to look at.
    #[serde(default)]
    before: usize,
    /// Bytes after the keyword within which a match ends; 0 where only its length bounds it.
    #[serde(default)]
    after: usize,
    /// Text between the keyword of every match and the next space.
    #[serde(default)]
    needs: String,
    /// Bits per character that the secret has at least.
    #[serde(default)]
    entropy: f32,
    /// True if the secret has capitals, small letters and digits.
    #[serde(default)]
    mixed: bool,
    /// The checksum that the format has.
    check: Option<checksum::ChecksumKind>,
    /// True if it is a command, which counts only where one may stand, and whose value may be something else.
    #[serde(default)]
    command: bool,
    /// True if the secret has to look like a password or a token, since a word may stand there.
    #[serde(default)]
    told: bool,
    /// As [`told`](Self::told), or like one that people choose with its sign: all of it stands apart.
    #[serde(default)]
    chosen: bool,
    /// True if the secret has to be of a style in which passwords and keys are made.
    #[serde(default)]
    styled: bool,
    /// True if the secret has to look drawn at random, since nothing but its place tells it.
    #[serde(default)]
    drawn: bool,
    /// True if words that stand where a secret would are none.
    #[serde(default)]
    worded: bool,
    /// True if a user and a password that are both words which mean nothing are none: `username:password`.
    #[serde(default)]
    pair: bool,
    /// True if what looks like a placeholder is hidden too.
    #[serde(default)]
    even_placeholders: bool,
    /// The provider's page that describes the format.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for people, and for the test that reads the table")
    )]
    pub source: String,
    /// Text with a made-up secret in guillemets.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the test that reads the table"))]
    pub example: String,
    /// The compiled pattern; most rules are never needed in a run.
    #[serde(skip)]
    regex: OnceLock<Option<Regex>>,
    /// The search for what it needs.
    #[serde(skip)]
    finder: OnceLock<Finder<'static>>,
}

/// The file of providers' formats.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<Rule>,
}

static PROVIDERS: LazyLock<RuleFile> = LazyLock::new(|| {
    // Proved by the test `the_table_of_rules_is_sound`.
    toml::from_str(include_str!("../../data/rules.toml")).expect("the built-in rules are valid")
});

static CONTEXTS: LazyLock<Vec<Rule>> = LazyLock::new(|| rows::of("rule"));

/// Returns the built-in rules: formats first, which tell more than what stands around a secret.
pub(crate) fn built_in() -> impl Iterator<Item = &'static Rule> {
    PROVIDERS.rule.iter().chain(CONTEXTS.iter())
}

impl Rule {
    /// Finds the secret around a keyword that stands at `hit`.
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
            // A match that begins before the keyword may be another value than the one that follows it.
            if whole.end > hit.start || whole.end <= start {
                return None;
            }
            start = whole.end;
        }
    }

    /// Finds the secret of a match that begins with the keyword at `hit`.
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

    /// Returns whether the rule reads a text that is full of its keywords faster in one pass.
    pub(crate) fn prefers_one_pass(&self) -> bool {
        self.before > 0
    }

    /// Finds all secrets that begin at `from` or later, in one pass over the text.
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

    /// Returns whether the window is worth a look: cheaper than to search it.
    fn may_match(&self, text: &[u8], hit: &Range<usize>) -> bool {
        let keyword = &text[hit.clone()];
        // Some rules have dozens, most of one length: their first bytes tell nearly all of them apart.
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

    /// Compiles the pattern: ASCII only, which is what token formats mean and 40 times faster.
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

/// Returns whether a token may begin after this.
fn has_left_edge(before: &[u8]) -> bool {
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() && *last != b'_' => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', first, second] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Returns whether there are capitals, small letters and two digits.
fn has_all_kinds(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_uppercase)
        && secret.iter().any(u8::is_ascii_lowercase)
        && secret.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
}
