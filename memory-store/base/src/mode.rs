//! Whether our programs may speak and write: `THROUGHLINE=off|read|full`, and `throughline off`.

use std::ffi::OsString;
use std::path::Path;

use crate::time::Timestamp;

/// The environment variable that names the mode.
pub const VARIABLE: &str = "THROUGHLINE";

/// Permissions of our programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Recall only: nothing is written, nothing started.
    Read,
    /// Everything.
    Full,
}

impl Mode {
    /// The mode that the environment asks for. Without a word about it, that is everything on a
    /// person's machine and recall only in CI and in cloud sessions. A word that nobody knows
    /// silences: whoever sets the variable rather wants less.
    pub fn from_environment(get: impl Fn(&str) -> Option<OsString>) -> Self {
        match get(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_str().and_then(Self::from_name).unwrap_or(Self::Off),
            None if is_set(get("CI")) || is_set(get("CLAUDE_CODE_REMOTE")) => Self::Read,
            None => Self::Full,
        }
    }

    /// The mode of this name, in capitals or not; `None` for a name that means none.
    pub fn from_name(name: &str) -> Option<Self> {
        let is = |names: &[&str]| names.iter().any(|known| name.trim().eq_ignore_ascii_case(known));
        if is(&["off", "0", "none", "no", "false"]) {
            Some(Self::Off)
        } else if is(&["read"]) {
            Some(Self::Read)
        } else if is(&["full"]) {
            Some(Self::Full)
        } else {
            None
        }
    }

    /// The mode, once the off file is taken into account: while it is in force, nothing.
    pub fn unless_off(self, off_file: &Path, now: Timestamp) -> Self {
        match std::fs::read_to_string(off_file) {
            Ok(end) if is_over(&end, now) => self,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self,
            // Somebody asked for silence, even if it is not clear until when.
            Ok(_) | Err(_) => Self::Off,
        }
    }
}

/// Returns whether a variable is set to something that means yes.
fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

/// Returns whether an off file's end has passed. Without an end there is none.
fn is_over(end: &str, now: Timestamp) -> bool {
    Timestamp::parse(end).is_some_and(|end| end <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(variables: &[(&str, &str)]) -> Mode {
        Mode::from_environment(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn recall_only_is_the_default_where_nobody_owns_the_machine() {
        assert_eq!(mode(&[]), Mode::Full);
        assert_eq!(mode(&[("CI", "true")]), Mode::Read);
        assert_eq!(mode(&[("CI", "false")]), Mode::Full);
        assert_eq!(mode(&[("CLAUDE_CODE_REMOTE", "true")]), Mode::Read);
        assert_eq!(mode(&[("CI", "1"), ("THROUGHLINE", "full")]), Mode::Full);
        assert_eq!(mode(&[("THROUGHLINE", "off")]), Mode::Off);
        assert_eq!(mode(&[("THROUGHLINE", "read")]), Mode::Read);
        assert_eq!(mode(&[("CI", "1"), ("THROUGHLINE", "")]), Mode::Read);
    }

    #[test]
    fn the_variable_is_read_in_capitals_or_not_and_silences_when_unclear() {
        for (value, expected) in [
            ("READ", Mode::Read),
            ("Full", Mode::Full),
            ("Off", Mode::Off),
            ("0", Mode::Off),
            ("none", Mode::Off),
            ("No", Mode::Off),
            ("false", Mode::Off),
            ("ful", Mode::Off),
        ] {
            assert_eq!(mode(&[("THROUGHLINE", value)]), expected, "{value}");
        }
    }

    #[test]
    fn the_off_file_silences_until_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("off");
        let now = Timestamp::parse("2026-10-02T12:00:00Z").unwrap();
        let mode = || Mode::Full.unless_off(&file, now);
        assert_eq!(mode(), Mode::Full);
        for (text, expected) in [
            ("", Mode::Off),
            ("2026-10-02T13:00:00Z\n", Mode::Off),
            ("2026-10-02T11:00:00Z\n", Mode::Full),
            ("until I say so", Mode::Off),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(mode(), expected, "{text}");
        }
    }
}
