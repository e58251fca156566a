//! Text for display, without deceptive characters.

/// Returns text without deceptive parts: control and direction characters are removed, and tags like the delimiter of
/// injections are escaped. Lines are joined, because each memory is printed on one line.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        // Most text is a run of characters that need no change, so it is copied in runs.
        let mut after_space = clean.ends_with(' ');
        let end = rest.bytes().position(|byte| {
            let is_kept = matches!(byte, b'!'..=b'~') || byte == b' ' && !after_space;
            after_space = byte == b' ';
            !is_kept
        });
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        clean.push_str(run);
        let mut chars = after.chars();
        match chars.next() {
            Some(c) if c.is_whitespace() && !clean.ends_with(' ') => clean.push(' '),
            Some(c) if c.is_whitespace() || is_invisible(c) => {}
            Some(c) => clean.push(c),
            None => {}
        }
        rest = chars.as_str();
    }
    // Runs of spaces were reduced to one, so there is at most one space at either end.
    if clean.ends_with(' ') {
        clean.pop();
    }
    if clean.starts_with(' ') {
        clean.remove(0);
    }
    if clean.contains('<') { escape(&clean) } else { clean }
}

/// Escapes the `<` of all closing tags, and of tags like the delimiter of injections or like markup that models
/// interpret, in any case. Any other `<` is kept, because memories often contain text such as `Vec<u8>`.
fn escape(clean: &str) -> String {
    let mut out = String::with_capacity(clean.len() + 3);
    for (at, c) in clean.char_indices() {
        if c == '<' && is_special(&clean[at + 1..]) { out.push_str("&lt;") } else { out.push(c) }
    }
    out
}

/// Returns whether the text after a `<` makes it a tag that models may interpret.
fn is_special(rest: &str) -> bool {
    /// Beginnings of tag names: the delimiter of injections, and the markup that clients and models write around turns.
    const NAMES: [&str; 12] = [
        "throughline",
        "system",
        "antml",
        "assistant",
        "human",
        "function_",
        "tool_",
        "user-",
        "user_",
        "command-",
        "local-command",
        "instruction",
    ];
    let name = rest.trim_start_matches(' ');
    if let Some(closed) = name.strip_prefix('/') {
        return closed.trim_start().starts_with(|c: char| c.is_ascii_alphabetic());
    }
    NAMES
        .iter()
        .any(|start| name.get(..start.len()).is_some_and(|name| name.eq_ignore_ascii_case(start)))
}

/// Returns whether a character is invisible: zero-width characters, direction controls, soft hyphens, variation
/// selectors, tags, and controls that are not white space.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cleans a text character by character, as a reference for [`clean`].
    fn clean_plainly(text: &str) -> String {
        let mut clean = String::new();
        for c in text.chars() {
            if c.is_whitespace() {
                if !clean.ends_with(' ') {
                    clean.push(' ');
                }
            } else if !is_invisible(c) {
                clean.push(c);
            }
        }
        escape(clean.trim())
    }

    proptest::proptest! {
        #[test]
        fn runs_are_cleaned_as_characters_are(text in "([a-c ]|[\\s\\PC\\x00-\\x20]|<throughline|\u{200b}|\u{a0}){0,40}") {
            proptest::prop_assert_eq!(clean(&text), clean_plainly(&text));
        }
    }
}
