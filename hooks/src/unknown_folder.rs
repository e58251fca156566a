//! Answers the start of a session in a folder that is not set up. Usually it prints nothing. If the user may expect an
//! injection, it prints one line, once. It reads no file of the folder.

use std::fs;
use std::path::{Path, PathBuf};

use memory_store_base::git_dirs;
use memory_store_base::layout::{STORE_DIR, Tree, TreeRecord, UserDirs};

use crate::append;
use crate::event::{Event, EventKind};
use crate::output::HookOutput;
use crate::unreadable::{self, is_denied};

/// Maximum number of project records that are searched for a project whose folder is missing.
const RECORDS_MAX: usize = 500;
/// Number of characters of a project's id in a message.
const ID_CHARS: usize = 12;

/// Returns the output for an event in a folder that is not set up.
pub fn answer(dirs: &UserDirs, event: &Event) -> HookOutput {
    if !matches!(event.what, EventKind::SessionStart(_)) || event.agent.is_some() {
        return HookOutput::default();
    }
    let cwd = event.cwd.canonicalize().unwrap_or_else(|_| event.cwd.clone());
    let root = cwd.ancestors().find(|folder| git_dirs::is_root(folder)).unwrap_or(&cwd);
    // Users who have set up no project on this machine get no message, and nothing is written for them.
    let has_projects = dirs.data.join("by-path").is_dir();
    let hint = || if has_projects { hint(dirs, root) } else { None };
    let message = unreadable(dirs, &cwd).or_else(hint);
    let is_new = |message: &String| {
        let told = append::create_new(&dirs.hinted(root), message.as_bytes());
        // If the mark cannot be written, the message is repeated, because it is about folders without write permission.
        told.unwrap_or(true)
    };
    HookOutput { message: message.filter(is_new), ..HookOutput::default() }
}

/// Returns a message if the records of this user cannot be read; `None` if they can.
fn unreadable(dirs: &UserDirs, cwd: &Path) -> Option<String> {
    let is_denied = |folder: &Path| is_denied(&fs::metadata(dirs.by_path(folder)));
    cwd.ancestors().any(is_denied).then(|| unreadable::message(&dirs.data))
}

/// Returns a message about the project to which this folder probably belongs; `None` if there is none.
fn hint(dirs: &UserDirs, root: &Path) -> Option<String> {
    let here = root.display();
    if let Some(gone) = gone_project(dirs, root) {
        let (was, id) = (gone.path.display(), &gone.project.to_string()[..ID_CHARS]);
        return Some(format!(
            "Throughline: a project was at {was}, which is gone. If this folder is it, run `throughline link {id}` \
             here; if not, `throughline init` sets up a new one."
        ));
    }
    if let Some(outer) = root.parent().and_then(|folder| Tree::find(dirs, folder)) {
        let outer = outer.root.display();
        return Some(format!(
            "Throughline: {here} is a repository of its own inside {outer}, whose memories are not given here. \
             `throughline init` sets it up."
        ));
    }
    root.join(STORE_DIR).join("memories").is_dir().then(|| {
        format!(
            "Throughline: {here} has a memory folder that is not trusted on this machine. Look at it, then run \
             `throughline trust`."
        )
    })
}

/// Returns the record of a project whose folder is missing and had the same name as this folder; `None` if there is
/// none.
fn gone_project(dirs: &UserDirs, root: &Path) -> Option<TreeRecord> {
    let records = fs::read_dir(dirs.data.join("by-path")).ok()?.flatten().take(RECORDS_MAX);
    let records = records.filter_map(|entry| TreeRecord::read_file(&entry.path()));
    let folder = |record: &TreeRecord| -> PathBuf {
        record.home.clone().unwrap_or_else(|| record.path.clone())
    };
    let mut gone = records.filter(|record| {
        let folder = folder(record);
        folder.file_name() == root.file_name() && !folder.exists()
    });
    let first = gone.next()?;
    Some(TreeRecord { path: folder(&first), ..first })
}
