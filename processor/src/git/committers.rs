//! Who committed a file, as git tells it: the author of a commit is what the commit says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memory_store::identity::{ADDRESS_BYTES_MAX, Authors};
use serde::{Deserialize, Serialize};

use super::config::settings;
use super::{
    command, line, output, output_of, prefix, signatures, texts, version, without_filters,
};
use crate::stamp;

/// Lies in git's folder after `merge --squash`, until what it left in the working tree is committed. Of git's
/// other unfinished work [`memory_store::ledger::Marks`] tell.
const SQUASHED: &str = "SQUASH_MSG";

/// The commit that brought what a file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brought {
    /// Its id.
    pub commit: String,
    /// Its author's address, in lower case.
    pub author: String,
}

/// The files below `folder` in HEAD, by their path from `root`, and the ids of what they say there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Ids by path.
    pub files: BTreeMap<PathBuf, String>,
    /// Those whose content in the working tree is another, as far as git sees.
    pub changed: BTreeSet<PathBuf>,
    /// Those with changes in the index: what git is about to commit, whoever wrote it.
    pub staged: BTreeSet<PathBuf>,
    /// Whether what a merge left is to be committed as one's own.
    pub is_squashed: bool,
}

/// What a working tree has below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Nothing was ever committed.
    Bare,
    /// What HEAD holds.
    Head(Head),
    /// Git does not tell: it cannot be run, does not trust the repository's owner, or the folder is a
    /// repository of its own.
    Silent,
}

/// Asks what HEAD holds below `folder`, which is named from `root` on.
pub fn tree(root: &Path, folder: &str) -> Tree {
    let nested = Path::new(folder).ancestors().filter(|step| !step.as_os_str().is_empty());
    if nested.into_iter().any(|step| root.join(step).join(".git").exists()) {
        return Tree::Silent;
    }
    let Some(git_dir) = line(root, &["rev-parse", "--absolute-git-dir"]) else {
        let is_bare = root.ancestors().all(|folder| !folder.join(".git").exists());
        return if is_bare { Tree::Bare } else { Tree::Silent };
    };
    if line(root, &["rev-parse", "--verify", "--quiet", "HEAD"]).is_none() {
        // A branch without commits may stand beside others that have some.
        let refs = output(root, &["for-each-ref", "--count=1"]);
        return if refs.is_some_and(|refs| refs.is_empty()) { Tree::Bare } else { Tree::Silent };
    }
    match (files(root, folder), changed(root, folder)) {
        (Some(files), Some((changed, staged))) => {
            let is_squashed = Path::new(&git_dir).join(SQUASHED).exists();
            Tree::Head(Head { files, changed, staged, is_squashed })
        }
        (Some(_) | None, _) => Tree::Silent,
    }
}

fn files(root: &Path, folder: &str) -> Option<BTreeMap<PathBuf, String>> {
    let listing = output(root, &["ls-tree", "-r", "-z", "HEAD", "--", folder])?;
    let mut files = BTreeMap::new();
    for entry in texts(&listing) {
        let Some((object, path)) = entry.split_once('\t') else { continue };
        let id = object.rsplit(' ').next().unwrap_or_default();
        files.insert(PathBuf::from(path), id.to_owned());
    }
    Some(files)
}

/// The files that are not as HEAD has them, and those of them that are not as HEAD has them in the index.
fn changed(root: &Path, folder: &str) -> Option<(BTreeSet<PathBuf>, BTreeSet<PathBuf>)> {
    let prefix = prefix(root);
    let mut status = command(root);
    status.args(["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"]);
    // Git would ask a git of their own about them, which has filters of its own to run.
    status.args(["--ignore-submodules=all", "--", folder]);
    if !without_filters(&mut status, root) {
        return None;
    }
    let status = output_of(&mut status)?;
    let (mut changed, mut staged) = (BTreeSet::new(), BTreeSet::new());
    for entry in texts(&status) {
        let Some(path) = entry.get(3..).and_then(|path| below(&prefix, path)) else { continue };
        if !entry.starts_with(' ') {
            staged.insert(path.clone());
        }
        changed.insert(path);
    }
    Some((changed, staged))
}

/// What HEAD has of a file: as it is stored, and as a checkout writes it.
pub fn contents(root: &Path, file: &Path) -> Vec<Vec<u8>> {
    let Some(file) = file.to_str() else { return Vec::new() };
    let object = format!("HEAD:./{file}");
    let stored = output(root, &["cat-file", "blob", &object]);
    let mut written = command(root);
    written.args(["cat-file", "--filters", &object]).env("GIT_LFS_SKIP_SMUDGE", "1");
    let written = without_filters(&mut written, root).then(|| output_of(&mut written)).flatten();
    stored.into_iter().chain(written).collect()
}

/// Finds the commits that brought what these files say in HEAD; one that is not found is beyond what git
/// has, or can tell in time. Of a merge counts what none of its parents says.
pub fn brought(
    root: &Path,
    folder: &str,
    wanted: &BTreeMap<PathBuf, String>,
) -> Vec<(PathBuf, Brought)> {
    let prefix = prefix(root);
    let is_shallow =
        line(root, &["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false");
    let Some(log) = output(
        root,
        &[
            "log",
            "-z",
            "--topo-order",
            "-c",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--no-follow",
            "--no-color",
            "--format=%x01%H%x00%ae%x00%P",
            "HEAD",
            "--",
            folder,
        ],
    ) else {
        return Vec::new();
    };
    let mut found = BTreeMap::new();
    for touch in touches(&log) {
        // Where history is cut off, its first commit seems to bring everything.
        if is_shallow && touch.parents.is_empty() {
            continue;
        }
        let Some(path) = below(&prefix, &touch.path) else { continue };
        if wanted.get(&path) == Some(&touch.id) {
            let (commit, mut author) = (touch.commit, Authors::normal(&touch.author));
            // One character more than anybody can trust: what is cut is nobody's address.
            author.truncate(author.floor_char_boundary(ADDRESS_BYTES_MAX + 1));
            found.entry(path).or_insert(Brought { commit, author });
        }
    }
    found.into_iter().collect()
}

/// That a commit changed a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Touch {
    commit: String,
    author: String,
    parents: String,
    path: String,
    /// The id of what the file says after it.
    id: String,
}

/// Reads the log: of each commit its id, author and parents, then a line and a path for each file. What
/// others chose, addresses and paths, is told by its place.
fn touches(log: &[u8]) -> Vec<Touch> {
    let mut fields = log.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut commit = Touch::default();
    let mut touches = Vec::new();
    while let Some(field) = fields.next() {
        let field = field.trim_start_matches('\n');
        if let Some(id) = field.strip_prefix('\x01') {
            let mut next = || fields.next().unwrap_or_default().into_owned();
            let (author, parents) = (next(), next());
            commit = Touch { commit: id.to_owned(), author, parents, ..Touch::default() };
        } else if field.starts_with(':') {
            // Modes, then ids, the last one that of the result, then what happened.
            let id = field.rsplit(' ').nth(1).unwrap_or_default().to_owned();
            let path = fields.next().unwrap_or_default().into_owned();
            touches.push(Touch { path, id, ..commit.clone() });
        }
    }
    touches
}

/// The user's own addresses: what their configuration says, but not the repository's, which may have been
/// copied from somebody else.
pub fn own_addresses(root: &Path) -> BTreeSet<String> {
    let found = settings(root, r"^(user|author)\.email$");
    let own = found.into_iter().flatten().filter(|setting| !setting.is_repositorys);
    own.map(|setting| Authors::normal(&setting.value)).filter(|own| !own.is_empty()).collect()
}

/// What judging depends on besides files and commits, in a form to compare with an earlier one: how far back
/// history goes, who the user is, and where signatures count, which keys are believed.
pub fn grounds(root: &Path, signed: bool) -> String {
    let mut grounds: Vec<String> = own_addresses(root).into_iter().collect();
    grounds.push(format!("{:?}", version::found()));
    let shallow = line(root, &["rev-parse", "--path-format=absolute", "--git-path", "shallow"]);
    grounds.extend(shallow.map(|path| stamp::of_file(Path::new(&path))));
    if signed {
        grounds.extend(signatures::grounds(root));
    }
    grounds.join("\n")
}

fn below(prefix: &str, path: &str) -> Option<PathBuf> {
    path.strip_prefix(prefix).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_by_place() {
        let log = b"\x01aa\0:100644 x@y\0bb\0\0\n:100644 100644 11 22 M\0d/\x01evil\0\
                    \x01cc\0c@x\0\0\0::100644 100644 100644 11 22 33 MM\0d/b\0";
        let touch = |commit: &str, author: &str, parents: &str, path: &str, id: &str| Touch {
            commit: commit.to_owned(),
            author: author.to_owned(),
            parents: parents.to_owned(),
            path: path.to_owned(),
            id: id.to_owned(),
        };
        let expected = [
            touch("aa", ":100644 x@y", "bb", "d/\x01evil", "22"),
            touch("cc", "c@x", "", "d/b", "33"),
        ];
        assert_eq!(touches(log), expected);
    }
}
