//! Text and paths of others, made safe to print: they may hold anything.

use std::path::Path;

/// Text from a file or transcript, safe to print: control characters other than line ends would
/// let it repaint the terminal, and marks of direction show it in another order.
pub fn plain(text: &str) -> String {
    let turns = |c: &char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(c)).collect()
}

/// A path in one line, safe to print: others may have chosen its names.
pub fn path(path: impl AsRef<Path>) -> String {
    plain(&path.as_ref().to_string_lossy()).replace(['\n', '\t'], " ")
}
