//! The few colours we use. `anstream` leaves them out where nobody would see them.

use anstyle::{AnsiColor, Style};

/// Ids, and commands to type.
pub const NAME: Style = AnsiColor::Cyan.on_default();
/// Headings and titles.
pub const STRONG: Style = Style::new().bold();
/// Details that are seldom needed.
pub const QUIET: Style = Style::new().dimmed();
/// All is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Worth a look.
pub const CARE: Style = AnsiColor::Yellow.on_default();
/// Broken.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// The text in this style.
pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
