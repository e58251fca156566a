//! Origins of the texts of memory files: commits that were made in this repository by `git commit`, according to its
//! reflogs, or other people's commits, which a fetch, a pull or a patch added.
//!
//! Reflogs are local: no clone or fetch transfers them (`git help reflog`).

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

use memory_store::layout::STORE_DIR;

use super::{answer_to, command, fields, lines, output};

/// Maximum number of reflog entries that are read, as an option of git.
const ENTRIES_MAX: &str = "--max-count=5000";
/// Prefixes of the reflog entries for commits that were made here. Entries for a merge, `am` and `cherry-pick` have
/// other prefixes.
const WRITTEN_HERE: [&str; 3] = ["commit: ", "commit (initial): ", "commit (amend): "];

/// The first commit that contains a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstCommit {
    /// Time of the commit in seconds since 1970.
    pub time: i64,
    /// Whether the commit was made by another person. Of two commits with the same time, the one made here counts,
    /// because false is sorted before true.
    pub is_of_others: bool,
}

/// Contents of memory files in all commits of a repository, by the ids of their blobs.
pub struct TextOrigins {
    first: BTreeMap<String, FirstCommit>,
    /// Staged blob of each memory file, by the file's path below the root.
    staged: BTreeMap<String, String>,
}

impl TextOrigins {
    /// Reads the history of the memory folder of a working tree; `None` if git fails.
    pub fn read(root: &Path) -> Option<Self> {
        let here = commits_made_here(root);
        let text = output(
            root,
            &[
                "log",
                "--all",
                "--reflog",
                "-m",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "--no-show-signature",
                "--format=commit %H %ct",
                "--",
                STORE_DIR,
            ],
        )?;
        let mut first = BTreeMap::new();
        let mut current = None;
        for line in String::from_utf8_lossy(&text).lines() {
            let words: Vec<&str> = line.split([' ', '\t']).collect();
            match words[..] {
                ["commit", id, time] => {
                    let time = time.parse().unwrap_or(i64::MIN);
                    current = Some(FirstCommit { time, is_of_others: !here.contains(id) });
                }
                // Format: `:100644 100644 <before> <after> M`, a tab, and the path.
                [_, _, _, after, ..] if line.starts_with(':') => {
                    let known = first.entry(after.to_owned()).or_insert(current?);
                    *known = (*known).min(current?);
                }
                _ => {}
            }
        }
        Some(Self { first, staged: staged(root)? })
    }

    /// Returns the first commit that contains the text of a memory file. Returns `Some(None)` if no commit contains it,
    /// and `None` if git fails. `path` is relative to the root. `is_as_staged` is whether a checkout of the staged blob
    /// would write `content`.
    pub fn first_commit(
        &self,
        root: &Path,
        path: &Path,
        content: &[u8],
        is_as_staged: bool,
    ) -> Option<Option<FirstCommit>> {
        let staged = path.to_str().and_then(|path| self.staged.get(path));
        let ids = match staged.filter(|_| is_as_staged) {
            Some(id) => vec![id.clone()],
            None => {
                let text = String::from_utf8_lossy(content);
                let with_newlines = text.contains("\r\n").then(|| text.replace("\r\n", "\n"));
                let other = with_newlines.map(|text| blob_id(root, text.as_bytes()));
                iter::once(blob_id(root, content)).chain(other).collect::<Option<_>>()?
            }
        };
        Some(ids.iter().filter_map(|id| self.first.get(id)).min().copied())
    }
}

/// Returns the commits that were made here according to the reflogs, and the commits of the stash with the parents that
/// contain the index and untracked files.
fn commits_made_here(root: &Path) -> BTreeSet<String> {
    let entries = lines(root, &["log", "-g", "--all", ENTRIES_MAX, "--format=%H %gs"]);
    let made = entries.into_iter().filter_map(|entry| {
        let (id, subject) = entry.split_once(' ')?;
        WRITTEN_HERE.iter().any(|begin| subject.starts_with(begin)).then(|| id.to_owned())
    });
    let stash = lines(root, &["log", "-g", ENTRIES_MAX, "--format=%H %P", "refs/stash", "--"]);
    let stash = stash.into_iter().flat_map(|entry| {
        // The first parent is the commit that was checked out; the other parents contain the index and untracked files.
        let mut ids: Vec<String> = entry.split(' ').map(str::to_owned).collect();
        if ids.len() > 1 {
            ids.remove(1);
        }
        ids
    });
    made.chain(stash).collect()
}

/// Returns the blob of each staged memory file.
fn staged(root: &Path) -> Option<BTreeMap<String, String>> {
    let text = output(root, &["ls-files", "--stage", "-z", "--", STORE_DIR])?;
    // Format: `100644 <blob> <stage>`, a tab, and the path.
    let entry = |field: &str| {
        let (entry, path) = field.split_once('\t')?;
        Some((path.to_owned(), entry.split(' ').nth(1)?.to_owned()))
    };
    Some(fields(&text).filter_map(entry).collect())
}

/// Returns the id of the blob in which git stores this content without filters.
fn blob_id(root: &Path, content: &[u8]) -> Option<String> {
    let mut git = command(root);
    git.args(["hash-object", "-t", "blob", "--no-filters", "--stdin"]);
    let (status, id) = answer_to(&mut git, content.to_vec())?;
    status.success().then(|| String::from_utf8_lossy(&id).trim().to_owned())
}
