//! Traces of a project under another path: projects whose folder was moved, and Claude Code sessions in a folder of the
//! same name elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use memory_store::file::EXTENSION;
use memory_store::identity::{self, Observed};
use memory_store::layout::{Tree, UserDirs};
use memory_store::store::Store;
use processor::collect::configurations;
use serde::{Deserialize, Serialize};

use crate::view::printable;

/// Maximum bytes of a transcript that are searched for its working directory.
const HEAD_BYTES_MAX: u64 = 128 << 10;
/// Maximum number of transcript folders that are read.
const FOLDERS_MAX: usize = 2_000;
/// Maximum number of places that a message names.
const NAMED_MAX: usize = 3;
/// Number of characters of a project's id that are sufficient to identify it.
const ID_CHARS: usize = 12;

/// A project whose former folder no longer exists.
#[derive(Debug)]
pub struct MovedFolder {
    /// Argument for `throughline link`.
    id: String,
    was: PathBuf,
    /// Number of private memories. Memories in the repository were moved together with the folder.
    memories: usize,
}

impl MovedFolder {
    /// Returns a sentence about the move, with the command that links the project.
    pub fn description(&self) -> String {
        let Self { id, was, memories } = self;
        let brings = match memories {
            0 => "brings its history".to_owned(),
            1 => "brings its history and its private memory".to_owned(),
            count => format!("brings its history and its {count} private memories"),
        };
        let was = printable::path(was);
        format!(
            "a project was at {was}, which is gone: if it is this one, `throughline link {id}` {brings}"
        )
    }
}

/// Returns the projects of which no folder exists any more, and whose name or history matches the folder `root`.
pub fn moved(dirs: &UserDirs, root: &Path) -> Vec<MovedFolder> {
    let gone = identity::list(dirs).unwrap_or_default().into_iter();
    let gone: Vec<_> = gone
        .map(|known| known.identity)
        .filter(|identity| {
            !identity.paths.is_empty() && identity.paths.iter().all(|path| !path.exists())
        })
        .collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let observed: Observed = processor::git::observe(root);
    let alike = gone.into_iter().filter(|identity| {
        identity.resembles(&observed)
            || identity.paths.iter().any(|path| path.file_name() == root.file_name())
    });
    let moved = alike.map(|identity| MovedFolder {
        memories: memories(&dirs.project(identity.project).private_memories),
        id: identity.project.to_string()[..ID_CHARS].to_owned(),
        was: identity.paths.last().cloned().unwrap_or_default(),
    });
    moved.take(NAMED_MAX).collect()
}

/// Counts the memory files in a folder.
pub fn memories(folder: &Path) -> usize {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter(|file| file.path().extension().is_some_and(|it| it == EXTENSION)).count()
}

/// Returns a warning if the folder of private memories is missing. The program never removes this folder.
pub fn missing_folder(store: &Store) -> Option<String> {
    (store.root.is_none() && !store.folder.exists()).then(|| {
        format!(
            "the folder of this project's private memories is gone: {}. Move it back; `throughline sync` writes \
             what was learned and saved again",
            printable::path(&store.folder)
        )
    })
}

/// Claude Code sessions in a folder of the same name elsewhere.
#[derive(Debug, Serialize)]
pub struct Elsewhere {
    /// Working directory of the sessions.
    cwd: PathBuf,
    sessions: usize,
    /// The folder with the transcripts of the sessions.
    folder: PathBuf,
}

impl Elsewhere {
    /// Returns a sentence about the sessions, with the command that imports them.
    pub fn description(&self) -> String {
        let Self { cwd, sessions, folder } = self;
        let (cwd, folder) = (printable::path(cwd), printable::path(folder));
        let noun = if *sessions == 1 { "session" } else { "sessions" };
        format!(
            "{sessions} {noun} of {cwd}: `throughline sync --from {folder}` takes them as this project's"
        )
    }
}

#[derive(Deserialize)]
struct TranscriptLine {
    cwd: Option<PathBuf>,
}

/// Returns the folders with transcripts of sessions that may belong to the project at `root`. Folders with more
/// sessions are first.
pub fn history(dirs: &UserDirs, root: &Path) -> Vec<Elsewhere> {
    let known = configurations::transcript_folders(dirs);
    let folders = known.iter().flat_map(fs::read_dir).flatten().flatten();
    let mut found: BTreeMap<PathBuf, Elsewhere> = BTreeMap::new();
    for folder in folders.map(|entry| entry.path()).take(FOLDERS_MAX) {
        let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|file| file.path());
        let files: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|it| it == "jsonl")).collect();
        let Some(cwd) = files.iter().find_map(|file| working_directory(file)) else { continue };
        if is_alike(dirs, root, &cwd) {
            let elsewhere = Elsewhere { cwd, sessions: files.len(), folder };
            found.insert(elsewhere.folder.clone(), elsewhere);
        }
    }
    let mut found: Vec<Elsewhere> = found.into_values().collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.sessions));
    found.truncate(NAMED_MAX);
    found
}

/// Returns whether a working directory has the name of the folder `root` and belongs to no other project.
fn is_alike(dirs: &UserDirs, root: &Path, cwd: &Path) -> bool {
    cwd.file_name() == root.file_name() && !cwd.starts_with(root) && Tree::find(dirs, cwd).is_none()
}

/// Returns the first working directory in a transcript.
fn working_directory(file: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD_BYTES_MAX).read_to_end(&mut head).ok()?;
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.find_map(|line| serde_json::from_slice::<TranscriptLine>(line).ok()?.cwd)
}
