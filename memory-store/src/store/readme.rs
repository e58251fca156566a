//! The note for a teammate who has never heard of any of this.

use std::path::Path;

use crate::error::Result;
use crate::fs::disk::{self, Privacy};

const README: &str = "\
# What this folder is

These are memories of work on this project: decisions, commands that work, fixes, wishes.
A program named Throughline learned them from Claude Code sessions and puts the few that matter in
front of the model again. You need not install it to read them.

Each file in `memories/` is one memory: plain Markdown with a few fields on top. Treat them like
code: review them, correct them, rename them, merge them. Delete a file and it stays deleted.
With Throughline installed, `throughline init` makes your own sessions read and write here, and
`throughline why` shows what was used. Settings of this project may go into `config.toml`.
";

/// Writes the note beside the folder of memory files, unless something stands there.
pub(super) fn write(root: &Path, memories: &Path) -> Result<()> {
    let Some(folder) = memories.parent() else { return Ok(()) };
    let path = folder.join("README.md");
    if std::fs::symlink_metadata(&path).is_ok() {
        return Ok(());
    }
    let (bytes, privacy) = (README.as_bytes(), Privacy::Shared);
    disk::replace_all(&[disk::Write { root, path: &path, bytes, privacy }])
}
