//! Refusal to remove a memory file that git contains: other people may have the file, so moving it out of the folder is
//! not sufficient.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::view;

/// Refuses to remove a memory file that git contains. `about` names the memory.
///
/// # Errors
/// Returns an error if a commit, the index, another branch or a stash contains the file.
pub fn refuse(root: &Path, file: &Path, about: &str) -> Result {
    let Ok(name) = file.strip_prefix(root) else { return Ok(()) };
    let state = processor::git::state(root, None);
    let is_in = |files: &[std::path::PathBuf]| files.iter().any(|known| known == name);
    let path = view::path(name);
    let (why, remedy) = if is_in(&state.committed) {
        (
            "a commit has it, and with it everybody who has that commit",
            format!(
                "To take it out of the next version, run `git rm {path}` and commit; `throughline forget` archives it \
                 as well. The history keeps it."
            ),
        )
    } else if is_in(&state.indexed) {
        (
            "it is staged for the next commit",
            format!("Run `git restore --staged {path}` and try again."),
        )
    } else if is_in(&state.held) {
        (
            "another branch or a stash has it",
            "Take it out there first; `throughline forget` archives it here.".to_owned(),
        )
    } else {
        return Ok(());
    };
    Err(Failure::new(format!("{about} stays in the repository: {why}")).hint(remedy))
}
