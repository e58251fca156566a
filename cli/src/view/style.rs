//! Styles of the output. `anstream` removes them where colours are not supported.

use anstyle::{AnsiColor, Style};

/// Ids, and commands to type.
pub const NAME: Style = AnsiColor::Cyan.on_default();
/// Headings and titles.
pub const STRONG: Style = Style::new().bold();
/// Details of minor importance.
pub const QUIET: Style = Style::new().dimmed();
/// No problem.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// A warning.
pub const CARE: Style = AnsiColor::Yellow.on_default();
/// An error.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Returns a text in a style.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
