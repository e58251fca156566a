//! The rules for providers' tokens: a table of data (`rules.toml`) and how one rule is applied.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::shape;

/// Bytes after a keyword that are searched at first; a match that reaches this far is searched
/// again with a longer window.
const WINDOW_BYTES: usize = 512;

/// The longest text that one match may take.
const MATCH_BYTES_MAX: usize = 16 << 10;

/// Compiled size that one pattern may have.
const PATTERN_BYTES_MAX: usize = 64 << 20;

/// What may stand directly before a token: nothing of a word, an escape such as `\n` of text in a
/// JSON string, or a percent-encoded byte.
const LEFT_EDGE: &str = r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\A|[^A-Za-z0-9_])";

/// One way in which secrets look.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// What the placeholder says.
    pub name: String,
    /// A match contains at least one of these; case is ignored.
    pub keywords: Vec<String>,
    /// The regular expression; its group `secret`, or else all of it, is hidden.
    pattern: String,
    /// Whether the token may follow a word's character directly.
    #[serde(default)]
    glued: bool,
    /// Bytes that a match may begin before its keyword.
    #[serde(default = "before_default")]
    before: usize,
    /// Bits per character that the secret has at least.
    #[serde(default)]
    entropy: f32,
    /// The compiled pattern; most rules are never needed in a run.
    #[serde(skip)]
    regex: OnceLock<Option<Regex>>,
}

fn before_default() -> usize {
    8
}

/// The file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<Rule>,
}

/// Reads a table of rules.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>, toml::de::Error> {
    Ok(toml::from_str::<RuleFile>(text)?.rule)
}

impl Rule {
    /// Finds the secret around a keyword that stands at `hit`.
    pub fn find(&self, text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
        let regex = self.regex()?;
        let start = hit.start.saturating_sub(self.before);
        let mut window = WINDOW_BYTES;
        loop {
            let end = (hit.end + window).min(text.len());
            let found = regex.captures_at(&text[..end], start)?;
            let whole = found.get(0)?.range();
            if whole.end == end && end < text.len() && window < MATCH_BYTES_MAX {
                window = MATCH_BYTES_MAX;
                continue;
            }
            let secret = found.name("secret").map_or(whole, |group| group.range());
            return self.accepts(&text[secret.clone()]).then_some(secret);
        }
    }

    /// Finds all secrets that begin at `from` or later, in one pass over the text.
    pub fn find_all(&self, text: &[u8], from: usize) -> Vec<Range<usize>> {
        let Some(regex) = self.regex() else { return Vec::new() };
        let mut found = Vec::new();
        let mut at = from;
        while let Some(groups) = regex.captures_at(text, at) {
            let Some(whole) = groups.get(0) else { break };
            let secret = groups.name("secret").unwrap_or(whole).range();
            at = whole.end().max(at + 1);
            if self.accepts(&text[secret.clone()]) {
                found.push(secret);
            }
            if at > text.len() {
                break;
            }
        }
        found
    }

    fn accepts(&self, secret: &[u8]) -> bool {
        !shape::is_placeholder(secret) && shape::entropy(secret) >= self.entropy
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| self.compile().ok()).as_ref()
    }

    /// Compiles the pattern: ASCII only, which is what token formats mean and 40 times faster.
    pub fn compile(&self) -> Result<Regex, regex::Error> {
        let pattern = match (self.glued, self.pattern.contains("(?<secret>")) {
            (true, _) => self.pattern.clone(),
            (false, true) => format!("{LEFT_EDGE}(?:{})", self.pattern),
            (false, false) => format!("{LEFT_EDGE}(?<secret>{})", self.pattern),
        };
        RegexBuilder::new(&pattern).unicode(false).size_limit(PATTERN_BYTES_MAX).build()
    }
}
