//! Memory files as git stores them, in a commit and in the index, and the merge of texts.

use std::ffi::OsStr;
use std::path::Path;

use memory_store::layout::STORE_DIR;

use super::blobs::{self, Blob};
use super::{answer, command, line, output_of};

/// Mode of a symbolic link in git's output.
const LINK_MODE: &str = "120000";
/// Maximum number of conflicts that `git merge-file` reports as its exit code. A larger code means a failure.
const CONFLICTS_MAX: i32 = 127;

/// A file that git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFile {
    /// Path relative to the root, with `/` as separator.
    pub path: String,
    /// Id of the content.
    pub id: String,
    /// Whether the file is a symbolic link.
    pub is_link: bool,
    /// Whether a merge left the file in conflict.
    pub is_unmerged: bool,
}

/// Returns the commit that a name refers to; `None` if there is none.
pub fn commit(root: &Path, name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with('-') {
        return None;
    }
    let commit = format!("{name}^{{commit}}");
    line(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
}

/// Returns the best common ancestor of two commits; `None` if there is none.
pub fn merge_base(root: &Path, one: &str, other: &str) -> Option<String> {
    line(root, &["merge-base", one, other])
}

/// Returns the files below the memory folder in a commit; `None` if git does not answer.
pub fn in_commit(root: &Path, commit: &str) -> Option<Vec<TrackedFile>> {
    let mut git = command(root);
    git.args(["ls-tree", "-r", "-z", commit, "--", STORE_DIR]);
    let text = output_of(&mut git)?;
    // Format: `<mode> blob <id>`, a tab, and the path.
    let file = |entry: &str| {
        let (head, path) = entry.split_once('\t')?;
        let mut words = head.split(' ');
        let (mode, kind, id) = (words.next()?, words.next()?, words.next()?);
        (kind == "blob").then(|| tracked(mode, id, path, false))
    };
    Some(entries(&text).iter().filter_map(|entry| file(entry)).collect())
}

/// Returns the staged files below the memory folder; `None` if git does not answer. During a commit, git may use a
/// separate index file and passes its path, `index_file`, to hooks.
pub fn in_index(root: &Path, index_file: Option<&OsStr>) -> Option<Vec<TrackedFile>> {
    let mut git = command(root);
    git.args(["ls-files", "--stage", "-z", "--", STORE_DIR]);
    if let Some(file) = index_file {
        git.env("GIT_INDEX_FILE", file);
    }
    let text = output_of(&mut git)?;
    // Format: `<mode> <id> <stage>`, a tab, and the path.
    let file = |entry: &str| {
        let (head, path) = entry.split_once('\t')?;
        let mut words = head.split(' ');
        let (mode, id, stage) = (words.next()?, words.next()?, words.next()?);
        Some(tracked(mode, id, path, stage != "0"))
    };
    let mut files: Vec<TrackedFile> =
        entries(&text).iter().filter_map(|entry| file(entry)).collect();
    // A file in conflict has up to three entries.
    files.dedup_by(|next, first| next.path == first.path);
    Some(files)
}

fn tracked(mode: &str, id: &str, path: &str, is_unmerged: bool) -> TrackedFile {
    let (path, id) = (path.to_owned(), id.to_owned());
    TrackedFile { path, id, is_link: mode == LINK_MODE, is_unmerged }
}

/// Splits a list from git. A name that is not UTF-8 cannot be used in a query; its invalid bytes are replaced.
fn entries(text: &[u8]) -> Vec<String> {
    let entries = text.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| String::from_utf8_lossy(entry).into_owned()).collect()
}

/// Returns the contents of files, of at most `bytes_max` bytes each; `None` if git does not answer.
pub fn read(root: &Path, files: &[&TrackedFile], bytes_max: u64) -> Option<Vec<Blob>> {
    let ids: Vec<String> = files.iter().map(|file| file.id.clone()).collect();
    let mut read = blobs::named(root, &ids, bytes_max)?;
    loop {
        let later: Vec<usize> =
            (0..read.len()).filter(|at| read.get(*at) == Some(&Blob::Later)).collect();
        if later.is_empty() {
            return Some(read);
        }
        let wanted: Vec<String> = later.iter().filter_map(|at| ids.get(*at).cloned()).collect();
        let more = blobs::named(root, &wanted, bytes_max)?;
        // Each request returns at least one content, unless git fails.
        if more.iter().all(|blob| *blob == Blob::Later) {
            return None;
        }
        for (at, blob) in later.into_iter().zip(more) {
            if let Some(place) = read.get_mut(at) {
                *place = blob;
            }
        }
    }
}

/// Result of merging texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    /// The text, with a marked block for each conflict.
    pub text: Vec<u8>,
    /// Whether there are conflicts.
    pub has_conflicts: bool,
}

/// Paths of the files with three versions of a text.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// Version of the current branch (git's "ours").
    pub ours: &'a Path,
    /// The common ancestor.
    pub base: &'a Path,
    /// Version of the merged branch (git's "theirs").
    pub theirs: &'a Path,
}

/// Merges texts line by line, like `git merge-file`; `None` if git fails.
pub fn merge_texts(
    root: &Path,
    versions: Versions<'_>,
    labels: [&str; 3],
    marker_size: usize,
) -> Option<MergedText> {
    let mut git = command(root);
    git.args(["merge-file", "-p", "-q", &format!("--marker-size={marker_size}")]);
    for label in labels {
        git.args(["-L", label]);
    }
    git.arg("--").args([versions.ours, versions.base, versions.theirs]);
    let (status, text) = answer(&mut git)?;
    let conflicts = status.code().filter(|code| (0..=CONFLICTS_MAX).contains(code))?;
    Some(MergedText { text, has_conflicts: conflicts > 0 })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::for_tests::{git, write_memory};

    #[test]
    fn files_of_commits_and_of_the_index_are_read_with_their_contents() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        git(&root, &["init", "-q"]);
        write_memory(&root, "ä b.md", 1, "One");
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "-m", "x"]);
        let head = commit(&root, "HEAD").unwrap();
        assert_eq!(commit(&root, "main"), Some(head.clone()));
        for name in ["nothing", "--all", "", "HEAD:.throughline"] {
            assert_eq!(commit(&root, name), None, "{name}");
        }
        let committed = in_commit(&root, &head).unwrap();
        assert_eq!(committed[0].path, ".throughline/memories/ä b.md");
        assert_eq!(in_index(&root, None).unwrap(), committed);

        crate::for_tests::symlink("x", root.join(".throughline/memories/link.md")).unwrap();
        write_memory(&root, "ä b.md", 1, "Two");
        git(&root, &["add", "-A"]);
        let staged = in_index(&root, None).unwrap();
        assert_eq!(staged.iter().map(|file| file.is_link).collect::<Vec<_>>(), [true, false]);
        let read = read(&root, &[&staged[1], &committed[0]], 1 << 16).unwrap();
        let text = |blob: &Blob| match blob {
            Blob::Content(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(text(&read[0]).contains("# Two") && text(&read[1]).contains("# One"));
    }

    #[test]
    fn texts_are_merged_by_lines() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let merge = |base: &str, ours: &str, theirs: &str| {
            let (ours, base, theirs) = (at("a", ours), at("o", base), at("b", theirs));
            let versions = Versions { ours: &ours, base: &base, theirs: &theirs };
            merge_texts(folder.path(), versions, ["ours", "base", "theirs"], 9).unwrap()
        };
        let clean = merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert_eq!((clean.text, clean.has_conflicts), (b"A\nb\nc\nd\nE\n".to_vec(), false));
        let both = merge("a\n", "b\n", "c\n");
        let text = "<<<<<<<<< ours\nb\n=========\nc\n>>>>>>>>> theirs\n";
        assert_eq!((both.text, both.has_conflicts), (text.as_bytes().to_vec(), true));
        let nothing = Path::new("/nowhere");
        let versions = Versions { ours: nothing, base: nothing, theirs: nothing };
        assert_eq!(merge_texts(folder.path(), versions, ["", "", ""], 7), None);
    }
}
