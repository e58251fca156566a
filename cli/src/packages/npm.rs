//! Packages of npm.

use std::path::{Path, PathBuf};

use memory_store::layout::STORE_DIR;
use serde_json::Value;

use super::{IgnoreLine, Maker, is_ignored, read};

/// Entries of `files` that take all in.
const ALL: [&str; 2] = ["", "."];

/// Returns the line that a package lacks. It goes into a file in the memory folder: a new `.npmignore` at the root would
/// take the place of `.gitignore` there, and what that keeps out would be shipped. Where there is one, and no `files`,
/// which is stronger, the line goes into it, since some clients read no other.
pub fn lacking(root: &Path) -> Option<IgnoreLine> {
    let text = read(&root.join("package.json"))?;
    // npm reads a file that begins with a byte order mark.
    let package: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    // Such a package is never published.
    if !package.is_object() || package.get("private") == Some(&Value::Bool(true)) {
        return None;
    }
    let nested = Path::new(STORE_DIR).join(".npmignore");
    if read(&root.join(&nested)).is_some_and(|text| text.lines().any(|line| line.trim() == "*")) {
        return None;
    }
    let to = |file: PathBuf, line: &str| {
        Some(IgnoreLine { maker: Maker::Npm, file, line: line.to_owned() })
    };
    if let Some(files) = package.get("files").and_then(Value::as_array) {
        let files = files.iter().filter_map(Value::as_str);
        let mut files = files.map(|entry| entry.trim_start_matches("./").trim_matches('/'));
        // A pattern for the first folder may match the memory folder; one line too many does no harm.
        let is_pattern = |entry: &str| {
            entry.split('/').next().is_some_and(|it| it.contains(['*', '?', '[', '{', '(']))
        };
        let takes =
            |entry: &str| ALL.contains(&entry) || entry.starts_with(STORE_DIR) || is_pattern(entry);
        return files.any(takes).then(|| to(nested, "*")).flatten();
    }
    match read(&root.join(".npmignore")) {
        Some(text) if is_ignored(&text) => None,
        Some(_) => to(".npmignore".into(), &format!("{STORE_DIR}/")),
        None => to(nested, "*"),
    }
}
