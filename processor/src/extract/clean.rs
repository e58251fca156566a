//! Plain text from Markdown in chat messages. Decoration (bold, link targets, emoji, line numbers) is removed, and
//! every word is kept.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};

static IMAGE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"!\[[^\]]*\]\([^)]*\)"));
static LINK: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\[([^\]\[]+)\]\([^)\s]*\)"));
static TAG: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"</?(?:br|b|i|em|strong|p|sub|sup|details|summary)\s*/?>"));
static BOLD: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\*\*\*?([^*]+?)\*\*\*?|__([^_]+?)__"));
static ITALIC: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(^|[\s(])\*([^*\s][^*]*?)\*([\s).,;:!?]|$)"));
static SPAN: LazyLock<Pattern> = LazyLock::new(|| pattern(r"`([^`\n]+)`"));
/// Line numbers. They are removed, because later changes of the file make them wrong.
static LINES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^lines?\s*~?[0-9]+(?:\s*[-–]\s*[0-9]+)?\s*[:—–-]\s*|\s*\((?:(?:at|around|in|on|see)\s+)?~?\s*lines?\s*~?\s*[0-9]+(?:\s*(?:[-–,+&]|and|to)\s*~?[0-9]+)*\+?\)|\s+(?:at|on|around|in)\s+lines?\s*~?[0-9]+(?:\s*[-–]\s*[0-9]+)?",
    )
});
/// Line numbers at the start of a parenthesis with more content.
static LINES_LEAD: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\(~?lines?\s*~?[0-9]+(?:\s*[-–]\s*[0-9]+)?,\s*"));
static PATH_LINE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(\.[A-Za-z]{1,5}):[0-9]+(?:[-:][0-9]+)?\b"));
/// The number of a list item.
static NUMBERING: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\s*\*{0,2}[0-9]{1,2}[.)]\s+"));
static SPACES: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\s+"));
static SPACE_BEFORE: LazyLock<Pattern> = LazyLock::new(|| pattern(r" ([,;:.!?)])(\s|$)"));
/// Words at the beginning of a message that have no content.
static FILLER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^(?:(?:
            (?:all\s+)?(?:done|found\ (?:it|the\ (?:issue|problem|bug))|good|great|perfect|excellent|awesome|fixed|got\ it|understood|sure|
            right|ok(?:ay)?|yes|hmm+|ah+|oh|wow|nice|interesting|absolutely|certainly|of\ course|
            you(?:'|’)re\ (?:absolutely\ )?right|good\ (?:catch|question|point|idea|news|call)|
            as\ expected|makes\ sense|the\ (?:change|fix|work)\ is\ (?:done|complete|in\ place)|no\ problem|thanks|thank\ you|well|alright|indeed)
            \s*(?:[!.,:—–-]+)\s+)+)",
    )
});

/// Placeholder for a code span while the text around it is cleaned.
const SPAN_MARK: char = '\u{E000}';

/// Returns the text without Markdown's decoration, on one line. Code spans stay unchanged.
pub fn plain(text: &str) -> String {
    let text = text.replace(SPAN_MARK, "");
    let spans: Vec<&str> = SPAN.find_iter(&text).map(|span| span.as_str()).collect();
    let text = SPAN.replace_all(&text, SPAN_MARK.to_string());
    let text = undressed(&text);
    let mut spans = spans.into_iter();
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c != SPAN_MARK {
            plain.push(c);
            continue;
        }
        let span = spans.next().unwrap_or_default();
        let code = span.trim_matches('`');
        plain.push_str(if needs_ticks(code) { span } else { code });
    }
    let text = NUMBERING.replace(&plain, "");
    let text = LINES.replace_all(&text, "");
    let text = LINES_LEAD.replace_all(&text, "(");
    PATH_LINE.replace_all(&text, "$1").into_owned()
}

/// Returns text outside of code spans, without links, emphasis and ornament.
fn undressed(text: &str) -> String {
    let text = IMAGE.replace_all(text, "");
    let text = LINK.replace_all(&text, "$1");
    let text = TAG.replace_all(&text, " ");
    // A remaining `**` has its counterpart in another sentence.
    let text = BOLD.replace_all(&text, "$1$2").replace("**", "");
    let text = ITALIC.replace_all(&text, "$1$2$3");
    let text: String = text.chars().filter(|&c| !is_ornament(c)).collect();
    let text = SPACES.replace_all(text.trim(), " ");
    SPACE_BEFORE.replace_all(&text, "$1$2").into_owned()
}

/// Returns the text without introductory words that have no content.
pub fn without_filler(text: &str) -> &str {
    let rest = FILLER.find(text).map_or(text, |found| &text[found.end()..]);
    if rest.chars().count() < FILLER_REST_CHARS_MIN { text } else { rest }
}

/// Minimum number of characters after the introductory words. If less remains, nothing is removed.
const FILLER_REST_CHARS_MIN: usize = 12;

/// Returns whether a code span must keep its backticks: Markdown would interpret its characters, or it is a command
/// line of several words.
fn needs_ticks(span: &str) -> bool {
    span.starts_with("__")
        || !span.chars().all(|c| c.is_alphanumeric() || "._/-#@:+,'()=\"&!?→%".contains(c))
}

/// Returns whether a character is decoration, such as an emoji or a block of a progress bar. `→`, `≥` and letters of
/// all scripts are not decoration.
pub(super) fn is_ornament(c: char) -> bool {
    matches!(u32::from(c),
        0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0x2B00..=0x2BFF | 0xFE0F | 0x200D | 0x2500..=0x259F)
}

/// Returns the first `chars_max` characters, truncated after a word. An ellipsis marks the end.
pub fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let end = text.char_indices().nth(chars_max.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let at = head.rfind(char::is_whitespace).filter(|&at| at > end / 2).unwrap_or(end);
    let mut cut =
        head[..at].trim_end_matches([',', ';', ':', ' ', '(', '-', '—', '.', '…']).to_owned();
    // The truncation may have removed the closing backtick of a code span.
    if cut.matches('`').count() % 2 == 1 {
        cut.push('`');
    }
    cut.push('…');
    cut
}

/// Returns the text with a capital first letter, unless the text begins with a name or code.
pub fn capital(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let word = first.trim_end_matches([',', '.', ':', ';', '!', '?', '\'', '’']);
    let is_word =
        !word.is_empty() && word.chars().all(|c| c.is_lowercase() || c == '\'' || c == '’');
    if !is_word {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// All patterns of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[
    &IMAGE,
    &LINK,
    &TAG,
    &BOLD,
    &ITALIC,
    &SPAN,
    &LINES,
    &LINES_LEAD,
    &PATH_LINE,
    &NUMBERING,
    &SPACES,
    &SPACE_BEFORE,
    &FILLER,
];

/// Returns the text as one line, without a final full stop.
pub fn title(text: &str) -> String {
    let text = capital(text.trim());
    text.trim_end_matches(['.', ':', ';', ',']).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dress_goes_and_words_stay() {
        for (text, expected) in [
            ("**Fixed** the [guide](https://x.y/z) ✅", "Fixed the guide"),
            ("Run `make test` in `src/app.py` (line 64-69)", "Run `make test` in src/app.py"),
            ("`__init__` and *really* a*b*c", "`__init__` and really a*b*c"),
            ("see `src/a.rs:12` , now", "see src/a.rs, now"),
            ("a → b ≥ 3", "a → b ≥ 3"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn filler_goes_unless_it_is_all_there_is() {
        assert_eq!(without_filler("Great! The cache was stale."), "The cache was stale.");
        assert_eq!(without_filler("Done."), "Done.");
        assert_eq!(
            without_filler("Good catch — well, the lock is never released."),
            "the lock is never released."
        );
    }

    #[test]
    fn cuts_fall_between_words() {
        assert_eq!(cut("one two three four", 11), "one two…");
        assert_eq!(cut("short", 11), "short");
        assert_eq!(cut("run `make the test`", 14), "run `make`…");
    }
}
