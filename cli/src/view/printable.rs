//! Makes text and paths from other sources safe to print.

use std::path::Path;

/// Returns text without unsafe characters: control characters other than line ends could change the terminal, and
/// direction marks could reorder the text.
pub fn plain(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(c)).collect()
}

/// Returns a path in one line, safe to print, since others may have chosen its names.
pub fn path(path: impl AsRef<Path>) -> String {
    plain(&path.as_ref().to_string_lossy()).replace(['\n', '\t'], " ")
}
