//! Changes to committed memory files that a sync postponed, because a person should review them first.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use memory_store::layout::ProjectDir;
use memory_store::store::{Privacy, remove, replace};

/// Records the files for `throughline sync --dry-run`, and returns an error if there are any. If there are none,
/// removes the last record.
pub(super) fn note(home: &ProjectDir, files: &[PathBuf]) -> Result<()> {
    if files.is_empty() {
        return Ok(remove(&home.postponed_changes)?);
    }
    let text: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
    replace(&home.postponed_changes, text.as_bytes(), Privacy::Private)?;
    bail!(
        "{} committed memory files would be rewritten or removed, so this sync changed nothing; \
         `throughline sync --dry-run` lists them, `throughline sync --apply` changes them",
        files.len()
    )
}

/// Returns the files that the last sync postponed.
pub fn postponed_changes(home: &ProjectDir) -> Vec<String> {
    let text = fs::read_to_string(&home.postponed_changes).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
