//! Makes texts and paths from other sources safe to print.

use std::path::Path;

/// Removes unsafe characters from a text: control characters other than line ends, which could change the terminal, and
/// direction marks, which could reorder the text.
pub fn plain(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(c)).collect()
}

/// Formats a path as one line that is safe to print. Other people may have chosen the names in it.
pub fn path(path: impl AsRef<Path>) -> String {
    plain(&path.as_ref().to_string_lossy()).replace(['\n', '\t'], " ")
}
