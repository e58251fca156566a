//! Which transcripts are this project's: those in which any working directory that was recorded
//! lies in one of its working trees. The names of Claude Code's folders say nothing reliable
//! (`a_b`, `a-b` and `a.b` share one), so the records are looked at; how far, and what was found,
//! is remembered per file.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use memory_store::identity::Identity;
use memory_store::layout::{Tree, UserDirs};
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use crate::git;
use crate::private_files::modified_ns;
use crate::transcript::SOURCE;
use crate::transcript::name::TranscriptName;
use crate::transcript::session::Turn;

/// Transcripts looked at; a year of heavy use has some ten thousand.
const TRANSCRIPTS_MAX: usize = 200_000;

/// Folders below `projects` that are entered.
const DEPTH_MAX: usize = 8;

/// A transcript on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Where it is.
    pub path: PathBuf,
    /// The session and subagent, by its path.
    pub name: TranscriptName,
    /// Its length in bytes.
    pub len: u64,
    /// Its inode.
    pub inode: u64,
    /// Its last change, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// Record of a transcript that is kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seen {
    /// Its inode; another one is another file.
    pub inode: u64,
    /// How far it was looked through for working directories.
    pub looked: u64,
    /// Whether it is this project's.
    pub ours: bool,
    /// Whether the user gave it by `--from`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_folder: bool,
    /// The session, where only the records tell it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// Its length when it was last read into the archive.
    pub len: u64,
    /// Its last change then.
    pub modified_ns: i128,
}

/// The working trees of a project, those of the past too.
#[derive(Clone, Debug)]
pub struct Territory {
    dirs: UserDirs,
    tree: Tree,
    roots: Vec<PathBuf>,
    /// Where working directories lie, once it was looked for: sessions share a few of them.
    found: Arc<Mutex<HashMap<String, Option<PathBuf>>>>,
}

impl Territory {
    /// Gathers the roots of the project's working trees: what identity knows, what git lists now,
    /// and what was `known` before.
    pub fn new(dirs: &UserDirs, tree: &Tree, known: &[PathBuf]) -> Self {
        let identity = Identity::read(&dirs.project(tree.project)).ok().flatten();
        let recorded =
            identity.into_iter().flat_map(|identity| [identity.paths, identity.worktrees].concat());
        let mut roots: Vec<PathBuf> = vec![tree.root.clone(), tree.main_root.clone()];
        roots.extend(recorded);
        roots.extend(git::worktrees(&tree.main_root));
        roots.extend(known.iter().cloned());
        roots.retain(|root| root.is_absolute() && root.parent().is_some());
        roots.sort();
        roots.dedup();
        Self { dirs: dirs.clone(), tree: tree.clone(), roots, found: Arc::default() }
    }

    /// The roots, sorted.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The roots as extraction takes them.
    pub fn folders(&self) -> impl Iterator<Item = String> {
        self.roots.iter().filter_map(|root| root.to_str()).map(str::to_owned)
    }

    /// The root of the working tree that a recorded working directory lies in. A repository inside
    /// that is a project of its own is not part of this one.
    pub fn root_of(&self, cwd: &str) -> Option<PathBuf> {
        let known = |found: &HashMap<_, _>| found.get(cwd).cloned();
        if let Some(root) = self.found.lock().ok().and_then(|found| known(&found)) {
            return root;
        }
        let root = self.look_for(Path::new(cwd));
        if let Ok(mut found) = self.found.lock() {
            found.insert(cwd.to_owned(), root.clone());
        }
        root
    }

    fn look_for(&self, cwd: &Path) -> Option<PathBuf> {
        if !cwd.is_absolute() {
            return None;
        }
        let root = self
            .roots
            .iter()
            .filter(|root| cwd.starts_with(root))
            .max_by_key(|root| root.as_os_str().len())?;
        match Tree::find(&self.dirs, cwd) {
            Some(found) if found.project != self.tree.project => None,
            Some(found) if found.root.starts_with(root) => Some(found.root),
            Some(_) | None => Some(root.clone()),
        }
    }

    /// Whether a turn is this project's. A session may go through several; a turn counts where it
    /// began.
    pub fn is_ours(&self, turn: &Turn) -> bool {
        turn.cwd.is_empty() || self.root_of(&turn.cwd).is_some()
    }

    /// Returns the marks that the lines of this project's transcripts contain: the beginning of a working directory.
    fn marks(&self) -> Vec<Vec<u8>> {
        self.roots.iter().filter_map(|root| SOURCE.mark(root)).collect()
    }
}

/// Result of a look through a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The transcripts, by path.
    pub transcripts: Vec<Transcript>,
    /// When the newest transcript was written, this project's or not, in nanoseconds since 1970.
    pub newest_ns: Option<i128>,
    /// Folders and files that could not be looked at.
    pub unreadable: Vec<PathBuf>,
    /// One line about each of them.
    pub warnings: Vec<String>,
}

/// All transcripts below `folder`. What cannot be read below it does not keep the rest.
pub fn transcripts_in(folder: &Path) -> Result<Discovery> {
    let mut found = Discovery::default();
    for entry in WalkDir::new(folder).max_depth(DEPTH_MAX).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            // A session may end and be swept while we look.
            Err(error)
                if error
                    .io_error()
                    .is_some_and(|error| error.kind() == io::ErrorKind::NotFound) =>
            {
                continue;
            }
            Err(error) => match error.path() {
                Some(path) if error.depth() > 0 => {
                    found.unreadable.push(path.to_owned());
                    found.warnings.push(format!(
                        "{error}; its transcripts are left out until it can be read"
                    ));
                    continue;
                }
                Some(_) | None => {
                    return Err(error).with_context(|| folder.display().to_string());
                }
            },
        };
        let Some(name) = TranscriptName::of(entry.path()) else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_file() || found.transcripts.len() >= TRANSCRIPTS_MAX {
            continue;
        }
        let modified_ns = modified_ns(&metadata);
        found.newest_ns = found.newest_ns.max(Some(modified_ns));
        found.transcripts.push(Transcript {
            path: entry.into_path(),
            name,
            len: metadata.len(),
            inode: metadata.ino(),
            modified_ns,
        });
    }
    Ok(found)
}

/// The transcripts of a project among those of its client. Cheap: what was looked through before
/// is not looked through again if `seen` is kept.
pub fn transcripts(dirs: &UserDirs, tree: &Tree) -> Result<Vec<Transcript>> {
    let found = ours(dirs, &Territory::new(dirs, tree, &[]), &mut BTreeMap::new())?;
    Ok(found.transcripts)
}

/// The transcripts that are this project's. Updates `seen`, forgets in it what is gone.
pub fn ours(
    dirs: &UserDirs,
    territory: &Territory,
    seen: &mut BTreeMap<PathBuf, Seen>,
) -> Result<Discovery> {
    let folder = SOURCE.folder(dirs);
    if !folder.is_dir() {
        seen.retain(|_, memo| memo.from_folder);
        return Ok(Discovery::default());
    }
    let marks = territory.marks();
    let mut before = std::mem::take(seen);
    let Discovery { transcripts, newest_ns, unreadable, warnings } = transcripts_in(&folder)?;
    let mut found = Vec::new();
    for mut transcript in transcripts {
        let mut memo = before.remove(&transcript.path).unwrap_or_default();
        if memo.inode != transcript.inode || transcript.len < memo.looked {
            memo = Seen { inode: transcript.inode, ..Seen::default() };
        }
        if !memo.ours && memo.looked < transcript.len {
            // A transcript that vanished or cannot be read now is looked at next time.
            let _ = look(&transcript.path, &marks, territory, &mut memo);
        }
        if memo.ours {
            if transcript.name.session.is_empty() {
                transcript.name.session.clone_from(&memo.session);
            }
            found.push(transcript.clone());
        }
        seen.insert(transcript.path, memo);
    }
    // Transcripts in a folder that cannot be read now are still there.
    let hidden = |path: &Path| unreadable.iter().any(|folder| path.starts_with(folder));
    seen.extend(before.into_iter().filter(|(path, memo)| memo.from_folder || hidden(path)));
    Ok(Discovery { transcripts: found, newest_ns, unreadable, warnings })
}

/// Looks through what is new of a transcript until a working directory of this project is found.
fn look(path: &Path, marks: &[Vec<u8>], territory: &Territory, memo: &mut Seen) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(memo.looked))?;
    let mut lines = crate::transcript::lines(BufReader::with_capacity(256 << 10, file));
    let from = memo.looked;
    while let Some(line) = lines.next_whole()? {
        let marked = marks.iter().any(|mark| memchr::memmem::find(line, mark).is_some());
        if marked
            && let Some(found) = crate::transcript::place(line)
            && territory.root_of(&found.cwd).is_some()
        {
            memo.ours = true;
            memo.session = found.session;
            return Ok(());
        }
        memo.looked = from + lines.consumed;
    }
    memo.looked = from + lines.consumed;
    Ok(())
}

/// The session that a transcript's first records name.
pub fn session_of(path: &Path) -> Option<String> {
    /// Lines in which a session id is looked for.
    const LINES_MAX: usize = 50;
    let mut lines = crate::transcript::lines(BufReader::new(File::open(path).ok()?));
    for _ in 0..LINES_MAX {
        let line = lines.next_whole().ok()??;
        if let Some(found) = crate::transcript::place(line)
            && !found.session.is_empty()
        {
            return Some(found.session);
        }
    }
    None
}

/// Whether a folder of transcripts can be read at all, for a message before work begins.
pub fn check_folder(folder: &Path) -> Result<()> {
    let listing = std::fs::read_dir(folder)
        .with_context(|| format!("{}: cannot read this folder of transcripts", folder.display()))?;
    drop(listing);
    Ok(())
}

/// The longest folder that all of these lie in; for transcripts recorded on another machine.
pub fn common_root<'a>(cwds: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut common: Option<Vec<&str>> = None;
    for cwd in cwds.into_iter().filter(|cwd| cwd.starts_with('/')) {
        let parts: Vec<&str> = cwd.trim_end_matches('/').split('/').collect();
        common = Some(match common {
            None => parts,
            Some(before) => before
                .into_iter()
                .zip(parts)
                .take_while(|(a, b)| a == b)
                .map(|(part, _)| part)
                .collect(),
        });
    }
    // One folder below the root of the file system is no project.
    common.filter(|parts| parts.len() > 2).map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_looked_at_does_not_keep_the_others() {
        let home = tempfile::tempdir().unwrap();
        let (good, bad) = (home.path().join("a-good"), home.path().join("b-bad"));
        let id = "0a1b2c3d-0000-4000-8000-000000000001";
        for folder in [&good, &bad] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(good.join(format!("{id}.jsonl")), "{}\n").unwrap();
        let open = |path: &Path, mode: u32| {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, permissions).unwrap();
        };
        open(home.path(), 0o755);
        open(&bad, 0o000);
        let found = std::thread::scope(|threads| {
            let look = || {
                as_nobody();
                transcripts_in(home.path())
            };
            threads.spawn(look).join().unwrap().unwrap()
        });
        open(&bad, 0o700);
        assert_eq!(found.transcripts.len(), 1);
        assert_eq!(found.unreadable, std::slice::from_ref(&bad));
        assert!(found.warnings[0].contains(bad.to_str().unwrap()), "{:?}", found.warnings);
    }

    /// Lets this thread see files as another user does: no folder is closed to root.
    fn as_nobody() {
        const NOBODY: libc::c_long = 65534;
        // SAFETY: the call takes a number and changes only how this thread accesses files; it
        // does nothing for a thread that may not do this.
        unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
    }

    #[test]
    fn the_common_root_is_a_folder_of_all() {
        let check = |cwds: &[&str], expected: Option<&str>| {
            assert_eq!(common_root(cwds.iter().copied()).as_deref(), expected, "{cwds:?}");
        };
        check(&["/u/ada/code/app", "/u/ada/code/app/web"], Some("/u/ada/code/app"));
        check(&["/u/ada/code/app", "/u/ada/code/application"], Some("/u/ada/code"));
        check(&["/u/ada/x"], Some("/u/ada/x"));
        check(&["/u/x", "/v/x"], None);
        check(&["relative", ""], None);
    }
}
