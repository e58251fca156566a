//! Keys of the browser, for the help and the last line.

use super::state::{Tab, Task};

/// A key and its action.
pub type KeyHelp = (&'static str, &'static str);

/// Keys in every tab.
pub const EVERYWHERE: [KeyHelp; 15] = [
    ("Tab, 1 2 3", "the next tab, or that one"),
    ("k j, Up Down", "select another row"),
    ("PgUp, PgDn", "a page of rows"),
    ("Home, End", "the first row, the last"),
    ("/", "search as you type"),
    ("  Enter", "back to the list"),
    ("  Esc", "end the search"),
    ("Enter", "zoom the preview"),
    ("Ctrl-D, -U", "scroll the preview"),
    ("Ctrl-R", "read everything again"),
    ("Ctrl-Z", "to the shell; `fg` returns"),
    ("?", "these keys"),
    ("q, Esc", "leave"),
    ("", ""),
    ("", "any key closes this"),
];

/// Keys in the tab of memories.
pub const OF_MEMORIES: [KeyHelp; 15] = [
    ("a", "accept what is held (asks)"),
    ("y", "yes, it holds"),
    ("r", "release (asks) or restore"),
    ("e", "edit a copy, checked after"),
    ("o", "open its file in an editor"),
    ("s", "choose what replaces it"),
    ("d", "forget it (asks)"),
    ("+ -", "it helped, it did not"),
    ("u", "undo the last decision"),
    ("", ""),
    ("K", "filter: next kind"),
    ("S", "filter: next status"),
    ("C", "filter: next scope"),
    ("P", "filter: type a path"),
    ("X", "no filter"),
];

/// Returns the keys for the last line, most important first.
pub fn in_short(task: &Task, tab: Tab, is_typing: bool) -> &'static [KeyHelp] {
    match (task, tab) {
        (Task::Choose { .. } | Task::Replace { .. }, _) => {
            &[("Enter", "choose"), ("Esc", "leave"), ("Up Down", "select"), ("Ctrl-D", "scroll")]
        }
        (Task::Browse, _) if is_typing => {
            &[("Enter", "to the list"), ("Esc", "end"), ("Up Down", "select")]
        }
        (Task::Browse, Tab::Memories) => &[
            ("?", "keys"),
            ("q", "leave"),
            ("/", "search"),
            ("a", "accept"),
            ("y", "holds"),
            ("e", "edit"),
            ("d", "forget"),
            ("u", "undo"),
            ("r", "release"),
            ("s", "supersede"),
            ("o", "open"),
            ("K S C P", "filter by kind, status, scope, path"),
            ("Enter", "zoom"),
        ],
        (Task::Browse, Tab::Sessions | Tab::Injections) => {
            &[("?", "keys"), ("q", "leave"), ("/", "search"), ("Enter", "zoom"), ("Tab", "next")]
        }
    }
}
