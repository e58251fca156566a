//! Queries to git about contents: ignored files, contents at a given time, and renames. Each query is one call of git,
//! regardless of the number of files. Filters and text conversions of the repository are not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use memory_store::Timestamp;

use super::{answer_to, command, fields, line, output_of};

/// Maximum number of commits that are listed, as an option of git.
const COMMITS_MAX: &str = "--max-count=2000";
/// Maximum number of files in a commit for which git searches renames with changed content, as an option of git.
const RENAMES_MAX: &str = "-l400";
/// Maximum total size in bytes of the contents in one request.
const ALL_BYTES_MAX: usize = 6 << 20;

/// Returns the checked-out commit.
pub fn head(root: &Path) -> Option<String> {
    line(root, &["rev-parse", "--verify", "--quiet", "HEAD"])
}

/// Returns the subset of the paths that git ignores. `None` if git does not answer, for example because a file is in a
/// submodule.
pub fn ignored(root: &Path, paths: &[&str]) -> Option<BTreeSet<String>> {
    let input = paths.join("\0");
    let mut git = command(root);
    git.args(["check-ignore", "-z", "--stdin"]);
    let (status, text) = answer_to(&mut git, input.into_bytes())?;
    // Status 1 means that none of the paths is ignored.
    matches!(status.code(), Some(0 | 1)).then(|| fields(&text).map(str::to_owned).collect())
}

/// Returns the tracked files, each with the id of its staged content; `None` if git does not answer.
pub fn tracked(root: &Path) -> Option<Vec<(String, String)>> {
    let text = output_of(command(root).args(["ls-files", "-z", "--stage"]))?;
    // Format: `<mode> <id> <stage>`, a tab, and the path.
    let file = |field: &str| {
        let (about, path) = field.split_once('\t')?;
        Some((path.to_owned(), about.split(' ').nth(1)?.to_owned()))
    };
    Some(fields(&text).filter_map(file).collect())
}

/// Returns the files that are neither tracked nor ignored; `None` if git does not answer.
pub fn untracked(root: &Path) -> Option<Vec<String>> {
    let mut git = command(root);
    git.args(["ls-files", "-z", "--others", "--exclude-standard"]);
    Some(fields(&output_of(&mut git)?).map(str::to_owned).collect())
}

/// Returns the files of a commit that are missing or different in the working tree, each with the id of its content in
/// the commit; `None` if git does not answer.
pub fn differing(root: &Path, commit: &str) -> Option<Vec<(String, String)>> {
    let mut git = command(root);
    git.args([
        "diff-index",
        "--raw",
        "-z",
        "--no-renames",
        "--relative",
        "--ignore-submodules=all",
    ]);
    let text = output_of(git.args([commit, "--"]))?;
    // Format: `:<mode> <mode> <id> <id> <letter>`, then the path. The id is zero for a file that the commit does not
    // contain.
    let mut fields = fields(&text);
    let mut files = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let id = about.split(' ').nth(2)?;
        if !id.bytes().all(|byte| byte == b'0') {
            files.push((path.to_owned(), id.to_owned()));
        }
    }
    Some(files)
}

/// Returns the commits of the checked-out branch, newest first. Commits of merged branches are omitted.
pub fn commits(root: &Path) -> Vec<(Timestamp, String)> {
    let mut git = command(root);
    git.args(["rev-list", "--first-parent", "--timestamp", COMMITS_MAX, "HEAD", "--"]);
    let text = output_of(&mut git).unwrap_or_default();
    let lines = String::from_utf8_lossy(&text);
    let commit = |line: &str| {
        let (seconds, commit) = line.split_once(' ')?;
        Some((Timestamp(seconds.parse::<i64>().ok()?.checked_mul(1000)?), commit.to_owned()))
    };
    lines.lines().filter_map(commit).collect()
}

/// Result of requesting a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blob {
    /// The content does not exist.
    Missing,
    /// The content is larger than the limit.
    TooLarge,
    /// The content did not fit into this request. It must be requested again.
    Later,
    /// The content.
    Content(Rc<[u8]>),
}

/// Returns the subset of the paths, relative to `root`, that a commit contains; `None` if git does not answer.
pub fn has(root: &Path, commit: &str, paths: &[&str]) -> Option<BTreeSet<String>> {
    let names: Vec<String> = paths.iter().map(|path| name(commit, path)).collect();
    let sizes = sizes(root, &names)?;
    let there = paths.iter().zip(sizes).filter(|(_, size)| size.is_some());
    Some(there.map(|(path, _)| (*path).to_owned()).collect())
}

/// Returns the contents of files, given as `(commit, path)`, of at most `bytes_max` bytes each; `None` if git does not
/// answer.
pub fn contents(root: &Path, wanted: &[(String, String)], bytes_max: u64) -> Option<Vec<Blob>> {
    let names: Vec<String> = wanted.iter().map(|(commit, path)| name(commit, path)).collect();
    named(root, &names, bytes_max)
}

/// Returns the contents with these names, of at most `bytes_max` bytes each; `None` if git does not answer.
pub fn named(root: &Path, names: &[String], bytes_max: u64) -> Option<Vec<Blob>> {
    let sizes = sizes(root, names)?;
    let mut all = 0;
    let mut ids: Vec<&str> = Vec::new();
    for (id, bytes) in sizes.iter().flatten() {
        let fits = *bytes <= bytes_max && all + *bytes <= ALL_BYTES_MAX as u64;
        if fits && !ids.contains(&id.as_str()) {
            all += bytes;
            ids.push(id);
        }
    }
    let mut git = command(root);
    let text = match ids.is_empty() {
        true => Vec::new(),
        false => asked(git.args(["cat-file", "--batch"]), &ids)?,
    };
    let contents = split(&text);
    let blob = |of: &Option<(String, u64)>| match of {
        None => Blob::Missing,
        Some((_, bytes)) if *bytes > bytes_max => Blob::TooLarge,
        Some((id, _)) => {
            let content = contents.get(id.as_str());
            content.map_or(Blob::Later, |&content| Blob::Content(content.into()))
        }
    };
    Some(sizes.iter().map(blob).collect())
}

/// Returns git's name for a file of a commit.
fn name(commit: &str, path: &str) -> String {
    format!("{commit}:./{path}")
}

/// Returns the id and the length in bytes for each name that is a file; `None` if git does not answer.
fn sizes(root: &Path, names: &[String]) -> Option<Vec<Option<(String, u64)>>> {
    // Git would treat an empty line as a name and report it as missing.
    if names.is_empty() {
        return Some(Vec::new());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = asked(command(root).args(["cat-file", "--batch-check"]), &names)?;
    let text = String::from_utf8_lossy(&text);
    let size = |line: &str| {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(id), Some("blob"), Some(bytes), None) => {
                Some((id.to_owned(), bytes.parse().ok()?))
            }
            _ => None,
        }
    };
    let sizes: Vec<_> = text.lines().map(size).collect();
    (sizes.len() == names.len()).then_some(sizes)
}

fn asked(git: &mut std::process::Command, names: &[&str]) -> Option<Vec<u8>> {
    let (status, text) = answer_to(git, (names.join("\n") + "\n").into_bytes())?;
    status.success().then_some(text)
}

/// Parses the output of `cat-file --batch`: `<id> blob <bytes>`, a newline, the content, a newline.
fn split(mut text: &[u8]) -> BTreeMap<String, &[u8]> {
    let mut contents = BTreeMap::new();
    while let Some(end) = text.iter().position(|&byte| byte == b'\n') {
        let (head, rest) = (String::from_utf8_lossy(&text[..end]), &text[end + 1..]);
        let mut words = head.split(' ');
        let (id, bytes) = (words.next().unwrap_or_default().to_owned(), words.nth(1));
        let Some(bytes) = bytes.and_then(|bytes| bytes.parse::<usize>().ok()) else { break };
        let Some((content, rest)) = rest.split_at_checked(bytes) else { break };
        contents.insert(id, content);
        text = rest.get(1..).unwrap_or_default();
    }
    contents
}

/// A file whose path a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// Time of the commit.
    pub at: Timestamp,
    /// The old path.
    pub source: String,
    /// The new path.
    pub target: String,
}

/// Returns the renames in the history of HEAD, oldest first. With `since`, only later ones are returned; empty if git
/// does not have that commit.
pub fn renames(root: &Path, since: Option<&str>) -> Vec<Rename> {
    let range = since.map_or_else(|| "HEAD".to_owned(), |since| format!("{since}..HEAD"));
    let mut git = command(root);
    git.args(["log", COMMITS_MAX, "-M", RENAMES_MAX, "--diff-filter=R", "--name-status", "-z"]);
    git.args(["--relative", "--no-ext-diff", "--no-textconv", "--no-color", "-O/dev/null"]);
    let text = output_of(git.args(["--format=%ct", &range, "--"])).unwrap_or_default();
    let mut renames = Vec::new();
    let mut at = Timestamp::default();
    let mut fields = fields(&text).map(|field| field.trim_start_matches('\n'));
    while let Some(field) = fields.next() {
        let is_rename = field.strip_prefix('R').is_some_and(|share| share.parse::<u8>().is_ok());
        if is_rename {
            let (Some(source), Some(target)) = (fields.next(), fields.next()) else { break };
            renames.push(Rename { at, source: source.to_owned(), target: target.to_owned() });
        } else if let Ok(seconds) = field.parse::<i64>() {
            at = Timestamp(seconds.saturating_mul(1000));
        }
    }
    renames.reverse();
    renames
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::for_tests::git;

    fn commit(root: &Path, day: u32) {
        git(root, &["add", "-A"]);
        let date = format!("2026-03-{day:02}T12:00:00Z");
        crate::for_tests::git_at(root, &["commit", "-q", "-m", "x"], &date);
    }

    #[test]
    fn contents_at_a_time_ignored_files_and_renames_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        git(&root, &["init", "-q"]);
        fs::create_dir(root.join("a b")).unwrap();
        let long: String = (0..40).map(|line| format!("line {line}\n")).collect();
        fs::write(root.join("a b/ä.txt"), &long).unwrap();
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        fs::write(root.join("x.log"), "x").unwrap();
        commit(&root, 1);
        fs::write(root.join("a b/ä.txt"), format!("{long}more\n")).unwrap();
        commit(&root, 3);
        git(&root, &["mv", "a b/ä.txt", "b.txt"]);
        commit(&root, 5);
        git(&root, &["mv", "b.txt", "c.txt"]);
        commit(&root, 7);

        let commits = commits(&root);
        assert_eq!(commits.len(), 4);
        assert!(commits.is_sorted_by(|newer, older| newer.0 > older.0));
        let paths = ["a b/ä.txt", "x.log", "c.txt"];
        assert_eq!(ignored(&root, &paths), Some(BTreeSet::from(["x.log".to_owned()])));
        assert_eq!(ignored(&root, &["c.txt"]), Some(BTreeSet::new()));
        let there = has(&root, &head(&root).unwrap(), &paths);
        assert_eq!(there, Some(BTreeSet::from(["c.txt".to_owned()])));

        let first = &commits[3].1;
        let wanted = [(first, "a b/ä.txt"), (first, "b.txt"), (&commits[2].1, "a b/ä.txt")];
        let wanted = wanted.map(|(commit, path)| (commit.clone(), path.to_owned()));
        let limit = long.len() as u64;
        let found = contents(&root, &wanted, limit).unwrap();
        assert_eq!(found, [Blob::Content(long.as_bytes().into()), Blob::Missing, Blob::TooLarge]);

        let told: Vec<_> = renames(&root, None)
            .into_iter()
            .map(|rename| (rename.at, rename.source, rename.target))
            .collect();
        let expected = [
            (commits[1].0, "a b/ä.txt".to_owned(), "b.txt".to_owned()),
            (commits[0].0, "b.txt".to_owned(), "c.txt".to_owned()),
        ];
        assert_eq!(told, expected);
        assert_eq!(renames(&root, Some(&commits[1].1)).len(), 1);
    }

    #[test]
    fn without_a_repository_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ignored(folder.path(), &["a"]), None);
        assert_eq!(contents(folder.path(), &[("HEAD".to_owned(), "a".to_owned())], 10), None);
        assert!(renames(folder.path(), None).is_empty() && commits(folder.path()).is_empty());
    }
}
