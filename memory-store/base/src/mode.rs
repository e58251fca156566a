//! Permission of Throughline's programs to inject and to write: `THROUGHLINE=off|read|full`, and `throughline off`.

use std::ffi::OsString;
use std::path::Path;

use crate::time::Timestamp;

/// Environment variable that sets the mode.
pub const VARIABLE: &str = "THROUGHLINE";

/// Permissions of Throughline's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is recalled, written or started.
    Off,
    /// Memories are recalled; nothing is written or started.
    Read,
    /// Memories are recalled, files written, and processes started.
    Full,
}

impl Mode {
    /// Returns the mode that the environment sets. The default is `Full` on a person's machine, and `Read` in CI and in
    /// cloud sessions. An unknown value counts as `Off`, because a user who sets the variable probably wants to
    /// restrict the programs.
    pub fn from_environment(get: impl Fn(&str) -> Option<OsString>) -> Self {
        match get(VARIABLE).filter(|value| !value.is_empty()) {
            Some(value) => value.to_str().and_then(Self::from_name).unwrap_or(Self::Off),
            None if is_set(get("CI")) || is_set(get("CLAUDE_CODE_REMOTE")) => Self::Read,
            None => Self::Full,
        }
    }

    /// Returns the mode with this name, in any case; `None` for an unknown name.
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

    /// Returns this mode, or `Off` while the off file is in effect.
    pub fn unless_off(self, off_file: &Path, now: Timestamp) -> Self {
        match std::fs::read_to_string(off_file) {
            Ok(end) if is_over(&end, now) => self,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self,
            // The user wants the programs off, even if the end time cannot be read.
            Ok(_) | Err(_) => Self::Off,
        }
    }
}

/// Returns whether a variable is set to a value that means yes.
fn is_set(value: Option<OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}

/// Returns whether the end time in an off file has passed; false if the file contains none.
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
