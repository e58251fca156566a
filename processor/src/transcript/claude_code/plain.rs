//! Removes text that terminals and the client inserted: escape sequences, and marks of pasted images.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
/// Beginning of the mark of an image.
const IMAGE: &str = "[Image";

/// Returns a text without escape sequences.
pub fn without_sequences(text: &str) -> Cow<'_, str> {
    if !text.contains([ESCAPE, '\u{9b}', '\u{9d}']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find([ESCAPE, '\u{9b}', '\u{9d}']) {
        plain.push_str(&rest[..at]);
        rest = after_sequence(&rest[at..]);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns the text after the escape sequence at its beginning (ECMA-48: CSI, OSC and other strings, and single
/// characters).
fn after_sequence(text: &str) -> &str {
    let mut chars = text.chars();
    let kind = match chars.next() {
        Some(ESCAPE) => chars.next(),
        Some('\u{9b}') => Some('['),
        _ => Some(']'),
    };
    let rest = chars.as_str();
    match kind {
        Some('[') => {
            let end = rest.find(|c: char| !matches!(c, ' '..='?'));
            let end = end.filter(|end| rest[*end..].starts_with(|c: char| matches!(c, '@'..='~')));
            end.map_or(rest, |end| &rest[end + 1..])
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // An unterminated sequence ends at the end of its line.
            let end = rest.find(['\u{7}', '\u{9c}', ESCAPE, '\n']).unwrap_or(rest.len());
            let rest = &rest[end..];
            rest.strip_prefix("\u{1b}\\")
                .or_else(|| rest.strip_prefix(['\u{7}', '\u{9c}']))
                .unwrap_or(rest)
        }
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            let mut chars = rest.chars();
            chars.next();
            chars.as_str()
        }
        Some(_) | None => rest,
    }
}

/// Returns the text of a prompt without the marks of images at its beginning and end. A mark between words is part of
/// the sentence.
pub fn without_image_marks(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text;
        if let Some(rest) = text.strip_prefix(IMAGE)
            && is_mark(rest)
            && let Some((_, words)) = rest.split_once(']')
        {
            text = words.trim();
        }
        if let Some(at) = text.rfind(IMAGE)
            && text.ends_with(']')
            && text[at..].matches(']').count() == 1
            && is_mark(&text[at + IMAGE.len()..])
        {
            text = text[..at].trim();
        }
        if text == before {
            return text;
        }
    }
}

/// Returns whether this text continues [`IMAGE`] to a mark: `[Image]`, `[Image #1]`, `[Image: source: /tmp/a.png]`.
fn is_mark(rest: &str) -> bool {
    rest.starts_with([']', ':']) || rest.starts_with(" #")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_sequence_is_left() {
        let check =
            |text: &str, plain: &str| assert_eq!(without_sequences(text), plain, "{text:?}");
        check("a \u{1b}[31mred\u{1b}[0m b", "a red b");
        check("\u{1b}[38;5;12mx\u{1b}[K", "x");
        check("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ end", "link end");
        check("\u{1b}]0;title\nnext", "\nnext");
        check("\u{1b}(Bx\u{1b}7y\u{9b}1mz", "xyz");
        check("cut \u{1b}[", "cut ");
        check("cut \u{1b}", "cut ");
        check("価格 [31m stays", "価格 [31m stays");
    }

    #[test]
    fn marks_of_images_around_words_are_left_out() {
        let check =
            |text: &str, plain: &str| assert_eq!(without_image_marks(text), plain, "{text}");
        check("[Image #1] Fix it", "Fix it");
        check("Fix it [Image #1] [Image #2]", "Fix it");
        check("[Image: source: /tmp/a b.png]", "");
        check(
            "Compare [Image #1] with [Image #2] please",
            "Compare [Image #1] with [Image #2] please",
        );
        check("[Images are slow]", "[Images are slow]");
        check("[Image loading] fails", "[Image loading] fails");
    }
}
