//! Permission of our programs to inject and write: `THROUGHLINE=off|read|full`, and `throughline off`.

use std::ffi::OsString;
use std::path::Path;

use crate::time::Timestamp;

/// The environment variable for the mode.
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
    /// Returns the mode in the environment. By default it is full on a person's machine, and read-only in CI and in
    /// cloud sessions. An unknown value counts as off, because a user who sets the variable probably wants less.
    pub fn from_environment(get: impl Fn(&str) -> Option<OsString>) -> Self {
        match get(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_str().and_then(Self::from_name).unwrap_or(Self::Off),
            None if is_set(get("CI")) || is_set(get("CLAUDE_CODE_REMOTE")) => Self::Read,
            None => Self::Full,
        }
    }

    /// Returns the mode of this name, in any case; `None` for an unknown name.
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

    /// Returns the mode after the off file: while that is in effect, `Off`.
    pub fn unless_off(self, off_file: &Path, now: Timestamp) -> Self {
        match std::fs::read_to_string(off_file) {
            Ok(end) if is_over(&end, now) => self,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self,
            // The user requested silence, even if the end is unclear.
            Ok(_) | Err(_) => Self::Off,
        }
    }
}

/// Returns whether a variable has an affirmative value.
fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

/// Returns whether an off file's end has passed; false if it contains none.
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
