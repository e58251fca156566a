//! Git's settings, with the source of each. The repository's own configuration may be another person's, in a folder
//! that was copied.

use std::path::Path;

use super::{answer, command, version};

/// Exit status of git if no setting was found.
const NOTHING_FOUND: i32 = 1;

/// A setting of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Name of the setting as printed by git.
    pub key: String,
    /// Value of the setting. It may be empty.
    pub value: String,
    /// Whether the setting is from the repository's configuration, not from the user's own.
    pub is_repositorys: bool,
}

/// Returns the settings whose names match a pattern. Returns `None` if git fails or is too old to override settings, or
/// if the name of a repository's setting is not UTF-8, because such a setting cannot be overridden.
pub(super) fn settings(root: &Path, pattern: &str) -> Option<Vec<Setting>> {
    if !version::is_enough() {
        return None;
    }
    let mut config = command(root);
    config.args(["config", "--show-scope", "--null", "--get-regexp", pattern]);
    let (status, found) = answer(&mut config)?;
    match status.code() {
        Some(0) => read(&found),
        Some(NOTHING_FOUND) if found.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

/// Parses pairs of a scope and a setting, each followed by a zero byte.
fn read(found: &[u8]) -> Option<Vec<Setting>> {
    let fields: Vec<&[u8]> = found.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    let (pairs, []) = fields.as_chunks::<2>() else { return None };
    let setting = |[scope, text]: &[&[u8]; 2]| {
        let is_repositorys = !matches!(*scope, b"system" | b"global" | b"command");
        // A setting without a value has no newline after its name.
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        let key = match str::from_utf8(&text[..end]) {
            Ok(key) => key.to_owned(),
            Err(_) if is_repositorys => return None,
            Err(_) => String::from_utf8_lossy(&text[..end]).into_owned(),
        };
        let value = text.get(end + 1..).unwrap_or_default();
        Some(Setting { key, value: String::from_utf8_lossy(value).into_owned(), is_repositorys })
    };
    pairs.iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_repository_is_identified_by_its_scope() {
        let found =
            b"global\0filter.lfs.clean\ngit lfs\0local\0filter.a.clean\na\nb\0worktree\0x.y\n\0";
        let found = read(found).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|setting| (setting.key.as_str(), setting.value.as_str(), setting.is_repositorys))
            .collect();
        assert_eq!(told[0], ("filter.lfs.clean", "git lfs", false));
        assert_eq!(told[2], ("x.y", "", true));
        assert_eq!(told[1], ("filter.a.clean", "a\nb", true));
    }

    #[test]
    fn what_cannot_be_overruled_is_no_answer() {
        assert_eq!(read(b"local\0filter.\xff.clean\ntouch x\0"), None);
        assert!(read(b"global\0filter.\xff.clean\ntouch x\0").is_some());
        assert_eq!(read(b"local\0filter.a.clean\nx"), None);
        assert_eq!(read(b"local\0"), None);
    }
}
