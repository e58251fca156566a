//! Patterns that are compiled on first use, in the form that is fastest to compile.
//!
//! A process uses about ninety patterns. Compiling them as written would take longer than all searches: with Unicode,
//! `\w` becomes an automaton with a thousand states, and a letter without case becomes a class. Therefore a text is
//! converted to lower-case ASCII, with a stand-in for each character outside ASCII, and compared with a lower-case
//! pattern that uses ASCII classes. The result is the same unless the pattern distinguishes a stand-in from the
//! characters that it represents. In that case, and if captures are needed, a text with characters outside ASCII is
//! compared with the pattern as written.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex::{CaptureMatches, Captures, Matches, Regex, Replacer};
use regex_syntax::is_word_character;

/// Stand-in for all word characters outside ASCII.
const WORD: char = '_';
/// Stand-in for all white space outside ASCII. No pattern contains it.
const SPACE: char = '\u{b}';

/// Creates a pattern; `text` must be a valid regular expression. Patterns use `[0-9]` for digits and repetitions
/// without an upper bound, because each repetition of a Unicode class copies hundreds of ranges.
pub(super) fn pattern(text: &str) -> Pattern {
    let (flags, rest) = flags(text);
    let sets_case = |at: usize| {
        let flags =
            rest[at + 2..].bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'-');
        flags.into_iter().any(|flag| flag == b'i')
    };
    Pattern {
        small: flags.contains('i') && !rest.match_indices("(?").any(|(at, _)| sets_case(at)),
        takes_stand_ins: !rest.contains(['_', '\u{b}'])
            && !["\\p", "\\d", "\\D", "\\x"].iter().any(|class| rest.contains(class))
            && !rest.chars().any(|c| !c.is_ascii() && is_word_character(c)),
        text: text.to_owned(),
        folded: OnceLock::new(),
        plain: OnceLock::new(),
        whole: OnceLock::new(),
    }
}

/// Splits the flags from the beginning of a pattern.
fn flags(text: &str) -> (&str, &str) {
    let flags = text.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match flags {
        Some((flags, rest)) if flags.bytes().all(|flag| flag.is_ascii_lowercase()) => (flags, rest),
        _ => ("", text),
    }
}

/// A pattern that can be compiled in three forms.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: String,
    /// Whether the whole pattern ignores case.
    small: bool,
    /// Whether the pattern treats each stand-in like the characters that it represents.
    takes_stand_ins: bool,
    /// The form with ASCII classes, in lower case if the pattern ignores case.
    folded: OnceLock<Regex>,
    /// The form with ASCII classes.
    plain: OnceLock<Regex>,
    /// The pattern as written.
    whole: OnceLock<Regex>,
}

/// A match in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternMatch<'t> {
    text: &'t str,
    start: usize,
    end: usize,
}

impl<'t> PatternMatch<'t> {
    pub fn start(&self) -> usize {
        self.start
    }

    pub fn end(&self) -> usize {
        self.end
    }

    pub fn as_str(&self) -> &'t str {
        &self.text[self.start..self.end]
    }
}

impl Pattern {
    pub fn is_match(&self, text: &str) -> bool {
        match self.fold(text) {
            Some(folded) => self.folded().is_match(&folded),
            None => self.whole().is_match(text),
        }
    }

    pub fn find<'t>(&self, text: &'t str) -> Option<PatternMatch<'t>> {
        let Range { start, end } = match self.fold(text) {
            Some(folded) => {
                let found = self.folded().find(&folded)?;
                // The converted text has one character for each character of the original, but may have fewer bytes.
                let place = |at: usize| {
                    let before = folded[..at].chars().count();
                    text.char_indices().nth(before).map_or(text.len(), |(at, _)| at)
                };
                match folded.len() == text.len() {
                    true => found.range(),
                    false => place(found.start())..place(found.end()),
                }
            }
            None => self.whole().find(text)?.range(),
        };
        Some(PatternMatch { text, start, end })
    }

    pub fn find_iter<'p, 't>(&'p self, text: &'t str) -> Matches<'p, 't> {
        self.unfolded(text).find_iter(text)
    }

    pub fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.unfolded(text).captures(text)
    }

    pub fn captures_iter<'p, 't>(&'p self, text: &'t str) -> CaptureMatches<'p, 't> {
        self.unfolded(text).captures_iter(text)
    }

    pub fn replace<'t>(&self, text: &'t str, by: impl Replacer) -> Cow<'t, str> {
        self.unfolded(text).replace(text, by)
    }

    pub fn replace_all<'t>(&self, text: &'t str, by: impl Replacer) -> Cow<'t, str> {
        self.unfolded(text).replace_all(text, by)
    }

    /// Returns the form for a text that was not converted.
    fn unfolded(&self, text: &str) -> &Regex {
        match text.chars().all(is_plain) {
            true => self.plain.get_or_init(|| compiled(&with_ascii_classes(&self.text, false))),
            false => self.whole(),
        }
    }

    fn folded(&self) -> &Regex {
        self.folded.get_or_init(|| compiled(&self.folded_text()))
    }

    fn folded_text(&self) -> String {
        if !self.small {
            return with_ascii_classes(&self.text, false);
        }
        let (flags, rest) = flags(&self.text);
        let flags = flags.replace('i', "");
        let flags = if flags.is_empty() { String::new() } else { format!("(?{flags})") };
        flags + &with_ascii_classes(rest, true)
    }

    fn whole(&self) -> &Regex {
        self.whole.get_or_init(|| compiled(&self.text))
    }

    /// Returns the text converted for the folded form; `None` if the result of the search could differ.
    fn fold<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        if text.is_ascii() {
            return Some(match self.small && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                true => Cow::Owned(text.to_ascii_lowercase()),
                false => Cow::Borrowed(text),
            });
        }
        let fold = |c: char| match c {
            _ if c.is_ascii() && self.small => Some(c.to_ascii_lowercase()),
            _ if is_plain(c) => Some(c),
            // If case is ignored, these two characters are equal to ASCII letters.
            'ſ' | '\u{212a}' => None,
            _ if !self.takes_stand_ins => None,
            _ if is_word_character(c) => Some(WORD),
            _ if c.is_whitespace() => Some(SPACE),
            _ => Some(c),
        };
        text.chars().map(fold).collect::<Option<String>>().map(Cow::Owned)
    }
}

#[cfg(test)]
impl Pattern {
    /// Compiles all forms.
    pub fn compile(&self) {
        self.folded();
        self.unfolded("");
        self.whole();
    }

    /// Returns the range at which the pattern as written matches a text.
    pub fn find_as_written(&self, text: &str) -> Option<Range<usize>> {
        self.whole().find(text).map(|found| found.range())
    }
}

fn compiled(text: &str) -> Regex {
    #[expect(
        clippy::expect_used,
        reason = "the pattern is a constant of this crate, compiled in each form by the tests"
    )]
    Regex::new(text).expect("a constant pattern")
}

/// Returns whether a character is ASCII or a common symbol. These symbols are neither word characters nor white space,
/// and have no case.
fn is_plain(c: char) -> bool {
    c.is_ascii()
        || matches!(c,
            '«' | '»' | '·' | '×' | '§' | '°' | '±' | '…' | '•' | '‘'..='„'
            // Dashes; arrows and mathematical symbols; boxes and shapes; pictograms.
            | '‐'..='―' | '←'..='⋿' | '─'..='◿' | '☀'..='❵' | '➔'..='➿' | '\u{1F300}'..='\u{1FAFF}')
}

/// Returns a pattern with ASCII classes in place of Unicode classes, in lower case if `small` is true.
fn with_ascii_classes(pattern: &str, small: bool) -> String {
    let mut ascii = String::with_capacity(2 * pattern.len());
    let written = |text: &str| if small { text.to_ascii_lowercase() } else { text.to_owned() };
    let (mut depth, mut rest) = (0, pattern);
    while let Some(at) = rest.find(['\\', '[', ']']) {
        ascii.push_str(&written(&rest[..at]));
        let within = depth > 0;
        let (sign, behind) = rest[at..].split_at(1);
        rest = behind;
        match sign {
            "[" => depth += 1,
            "]" if within => depth -= 1,
            "]" => {}
            _ => {
                let (length, class) = escape(rest, within, small);
                match class {
                    Some(class) => ascii.push_str(class),
                    None => ascii.extend(["\\", &rest[..length]]),
                }
                rest = &rest[length..];
                continue;
            }
        }
        ascii.push_str(sign);
    }
    ascii + &written(rest)
}

/// Returns the number of bytes that a backslash escapes, and the equivalent ASCII class, if any. `within` is whether
/// the backslash is inside a bracketed class.
fn escape(behind: &str, within: bool, small: bool) -> (usize, Option<&'static str>) {
    let capitals = if small { ("a-z", "[a-z]") } else { ("A-Z", "[A-Z]") };
    let classes = [
        ("b", "", r"(?-u:\b)"),
        ("w", "0-9A-Za-z_", "[0-9A-Za-z_]"),
        ("W", "[^0-9A-Za-z_]", "[^0-9A-Za-z_]"),
        ("s", r"\t-\r\x20", r"[\t-\r\x20]"),
        ("S", r"[^\t-\r\x20]", r"[^\t-\r\x20]"),
        ("p{Lu}", capitals.0, capitals.1),
        ("p{L}", "A-Za-z", "[A-Za-z]"),
        ("p{N}", "0-9", "[0-9]"),
    ];
    let found = classes.into_iter().find(|(name, ..)| behind.starts_with(name));
    match found {
        Some((name, inner, outer)) => (name.len(), Some(if within { inner } else { outer })),
        None => (behind.chars().next().map_or(0, char::len_utf8), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_a_pattern_become_those_of_ascii() {
        for (pattern, small, ascii) in [
            (r"\bNot\w+\b", false, r"(?-u:\b)Not[0-9A-Za-z_]+(?-u:\b)"),
            (r"\bNot\W", true, r"(?-u:\b)not[^0-9A-Za-z_]"),
            (r"[\w.-]+\\w\]", false, r"[0-9A-Za-z_.-]+\\w\]"),
            (r"(?x)^\W*[^\s\]]", false, r"(?x)^[^0-9A-Za-z_]*[^\t-\r\x20\]]"),
            (r"\p{Lu}[\p{L}\p{N}\S]\.", false, r"[A-Z][A-Za-z0-9[^\t-\r\x20]]\."),
            (r"[A-Z]\p{Lu}", true, "[a-z][a-z]"),
            (r"a\", false, r"a\"),
        ] {
            assert_eq!(with_ascii_classes(pattern, small), ascii);
        }
    }

    /// For a common symbol, Unicode's classes must equal ASCII's. For any other character, they must equal ASCII's
    /// classes for its stand-in.
    #[test]
    fn a_character_is_what_its_stand_in_is() {
        let classes = [r"\w", r"\s", r"\W", r"\S", r"[^a-z]", r"(?i)[a-z]", "."];
        let whole = classes.map(compiled);
        let patterns = classes.map(pattern);
        let plain = ('\u{80}'..=char::MAX).filter(|&c| is_plain(c)).count();
        assert!(plain > 1_000, "{plain}");
        for c in '\u{80}'..=char::MAX {
            let text = c.to_string();
            let folded = patterns[0].fold(&text);
            assert_eq!(folded.is_none(), matches!(c, 'ſ' | '\u{212a}'), "U+{:04X}", u32::from(c));
            for (pattern, whole) in patterns.iter().zip(&whole) {
                assert_eq!(
                    pattern.is_match(&text),
                    whole.is_match(&text),
                    "U+{:04X}",
                    u32::from(c)
                );
            }
            assert!(!is_plain(c) || c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]), "{c}");
        }
    }

    #[test]
    fn all_forms_say_the_same() {
        let patterns = [
            r"(?i)\bk\w*s?\b",
            r"^\W*\p{Lu}\w+['’]s\s",
            r"[\w.-]+:\S",
            r"(?i)[^\s.]{2,4}$",
            r"(?i)\bbut\b",
            r"(?i)\b(?:don['’]t|why)\b.{0,5}",
            r"(?i)\bfi(?:x|n)\w+\s",
            r"(?i)(?-i:[A-Z])b",
            r"_\w",
            r"\bBut\b",
            r"(?i)^\W*(?:schönes|пишет)\b",
        ];
        let texts = [
            "",
            "Keys — kept",
            "→ It’s so",
            "«Tom’s dog»",
            "a.b-c:d e",
            "… ks",
            "ok: ✅\u{b}x",
            "tab\tK.",
            "so, BUT no",
            "le début",
            "où — but",
            "Why\u{a0}so\u{3000}late",
            "\u{212a}s",
            "⚠\u{fe0f} don’t, naïve",
            "préfix it",
            "fixé là",
            "Ab aB",
            "_é",
            "Schönes",
            "Пишет so",
            "日本 but 語",
            "déjà keys:é",
            "Müller’s keys ",
            "a\nb ſo",
        ];
        for written in patterns {
            let (pattern, whole) = (pattern(written), compiled(written));
            for text in texts {
                let expected = whole.find(text).map(|found| found.range());
                let found = pattern.find(text).map(|found| found.start()..found.end());
                assert_eq!(found, expected, "{written} in {text}");
                assert_eq!(pattern.is_match(text), expected.is_some(), "{written} in {text}");
                let captured = pattern.captures(text).map(|all| all.get(0).unwrap().range());
                assert_eq!(captured, expected, "{written} in {text}");
            }
        }
    }

    /// The texts are the source files of extraction and fixtures of many kinds. They contain words that match most of
    /// the patterns.
    #[test]
    fn every_pattern_matches_the_same_in_each_form() {
        use crate::extract::{clean, own_words, prose, retold, shell, wishes, words};
        let files = [
            (include_str!("clean.rs"), clean::PATTERNS),
            (include_str!("own_words.rs"), own_words::PATTERNS),
            (include_str!("prose.rs"), prose::PATTERNS),
            (include_str!("retold.rs"), retold::PATTERNS),
            (include_str!("shell.rs"), shell::PATTERNS),
            (include_str!("wishes.rs"), wishes::PATTERNS),
            (include_str!("words.rs"), words::PATTERNS),
        ];
        let texts = [include_str!("own_words_tests.rs"), include_str!("tests.rs")];
        let texts = files.iter().map(|(source, _)| *source).chain(texts);
        let lines: Vec<&str> = texts.flat_map(str::lines).collect();
        for (source, patterns) in files {
            let made = source.matches("LazyLock<Pattern> =").count();
            assert!(source.contains("macro_rules!") || made == patterns.len(), "{made}");
            for pattern in patterns {
                pattern.compile();
                for line in &lines {
                    let found = pattern.find(line).map(|found| found.start()..found.end());
                    assert_eq!(found, pattern.find_as_written(line), "{pattern:?} in {line}");
                }
            }
        }
    }

    #[test]
    fn patterns_that_distinguish_stand_ins_are_not_matched_against_them() {
        for (written, small, takes) in [
            (r"(?i)\bbut\b", true, true),
            (r"(?ix)\b but\w \b", true, true),
            ("But", false, true),
            (r"(?i)a(?-i:B)", false, true),
            ("(?i)a_b", true, false),
            (r"\p{Lu}", false, false),
            ("größe", false, false),
            ("(?:’|—)s", false, true),
        ] {
            let pattern = pattern(written);
            assert_eq!((pattern.small, pattern.takes_stand_ins), (small, takes), "{written}");
        }
    }
}
