//! Who committed a file, as git tells it: the author of a commit is what the commit says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memory_store::identity::{ADDRESS_BYTES_MAX, Authors};
use serde::{Deserialize, Serialize};

use super::config::settings;
use super::{
    Answer, GIT_TIMEOUT, answer_within, command, line, output, output_of, prefix, signatures,
    texts, version, without_filters,
};
use crate::stamp;

/// Lies in git's folder after `merge --squash`, until what it left in the working tree is committed. Of git's
/// other unfinished work [`memory_store::ledger::Marks`] tell.
const SQUASHED: &str = "SQUASH_MSG";
/// Files whose history is asked for by name; of more, that of the whole folder is.
const NAMED_MAX: usize = 200;
/// Commits that what a merge made may rest on. Beyond, nobody is said to have brought it.
const MERGED_MAX: usize = 64;

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

/// Finds the commits that brought what these files say in HEAD. What a merge made that none of its parents
/// says rests on what they say too: those who brought that follow. A file that is not found is beyond what
/// git has, or can tell in time.
pub fn brought(
    root: &Path,
    folder: &str,
    wanted: &BTreeMap<PathBuf, String>,
) -> Vec<(PathBuf, Vec<Brought>)> {
    let deadline = Instant::now() + GIT_TIMEOUT;
    let prefix = prefix(root);
    let is_shallow =
        line(root, &["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false");
    let mut found = Vec::new();
    let mut open = vec![wanted.clone()];
    while let Some(wanted) = open.pop() {
        // A few are asked for by name: others' files may fill a history that is too long to be read.
        let names: Vec<&Path> = if wanted.len() > NAMED_MAX {
            vec![Path::new(folder)]
        } else {
            wanted.keys().map(PathBuf::as_path).collect()
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let Some((log, is_whole)) = history(root, &names, left) else { break };
        let mut search = Search::new(wanted);
        for mut touch in touches(&log) {
            // Where history is cut off, its first commit seems to bring everything.
            if is_shallow && touch.parents.is_empty() {
                continue;
            }
            let Some(path) = below(&prefix, &touch.path) else { continue };
            touch.author = Authors::normal(&touch.author);
            // One character more than anybody can trust: what is cut is nobody's address.
            touch.author.truncate(touch.author.floor_char_boundary(ADDRESS_BYTES_MAX + 1));
            search.see(&path, &touch);
        }
        let mut missing = search.finish(&mut found);
        if !is_whole && missing.len() > 1 {
            let half = missing.keys().nth(missing.len() / 2).cloned();
            open.extend(half.map(|half| missing.split_off(&half)));
            open.push(missing);
        }
    }
    found
}

/// The newest of what git's log says about these, and whether that is all of it. What is cut off ends with
/// a field that is whole.
fn history(root: &Path, names: &[&Path], limit: Duration) -> Option<(Vec<u8>, bool)> {
    let mut log = command(root);
    log.env("GIT_LITERAL_PATHSPECS", "1");
    log.args(["log", "-z", "--topo-order", "-c", "--raw", "--no-abbrev", "--no-renames"]);
    log.args(["--no-follow", "--no-color", "--format=%x01%H%x00%ae%x00%P", "HEAD", "--"]);
    let Answer { status, mut text } = answer_within(log.args(names), limit)?;
    match status {
        Some(status) => status.success().then_some((text, true)),
        None => {
            let end = text.iter().rposition(|byte| *byte == 0)?;
            text.truncate(end + 1);
            Some((text, false))
        }
    }
}

/// Looks for those who brought what files say, from the newest commit on.
struct Search {
    /// What is wanted comes first, in its order.
    texts: Vec<Text>,
    /// What was not found yet, by path and id, with its place in `texts`.
    open: BTreeMap<(PathBuf, String), usize>,
    wanted: BTreeMap<PathBuf, String>,
}

/// What a file said once.
#[derive(Default)]
struct Text {
    brought: Option<Brought>,
    /// The places of what a merge made it of.
    of: Vec<usize>,
}

impl Search {
    fn new(wanted: BTreeMap<PathBuf, String>) -> Self {
        let mut search = Self { texts: Vec::new(), open: BTreeMap::new(), wanted: BTreeMap::new() };
        for (path, id) in &wanted {
            search.want(path, id);
        }
        Self { wanted, ..search }
    }

    /// The place of a text that is looked for from here on. One that was found is looked for again: what a
    /// merge was made of is older than it.
    fn want(&mut self, path: &Path, id: &str) -> usize {
        *self.open.entry((path.to_owned(), id.to_owned())).or_insert_with(|| {
            self.texts.push(Text::default());
            self.texts.len() - 1
        })
    }

    fn see(&mut self, path: &Path, touch: &Touch) {
        // Who removed a file brought nothing, nor what a merge was made of that was not there.
        if is_nothing(&touch.id) {
            return;
        }
        let Some(place) = self.open.remove(&(path.to_owned(), touch.id.clone())) else { return };
        let (commit, author) = (touch.commit.clone(), touch.author.clone());
        let of = touch.merged.iter().map(|id| self.want(path, id)).collect();
        self.texts[place] = Text { brought: Some(Brought { commit, author }), of };
    }

    /// Adds those of which all was found, and returns the others.
    fn finish(mut self, found: &mut Vec<(PathBuf, Vec<Brought>)>) -> BTreeMap<PathBuf, String> {
        let mut missing = BTreeMap::new();
        for (place, (path, id)) in std::mem::take(&mut self.wanted).into_iter().enumerate() {
            match self.rests_on(place) {
                Some(brought) => found.push((path, brought)),
                None => drop(missing.insert(path, id)),
            }
        }
        missing
    }

    fn rests_on(&self, root: usize) -> Option<Vec<Brought>> {
        let (mut places, mut seen) = (vec![root], BTreeSet::from([root]));
        let mut brought: Vec<Brought> = Vec::new();
        while let Some(place) = places.pop() {
            let text = &self.texts[place];
            let by = text.brought.clone()?;
            if !brought.contains(&by) {
                brought.push(by);
            }
            places.extend(text.of.iter().filter(|of| seen.insert(**of)));
            if brought.len() > MERGED_MAX {
                return None;
            }
        }
        Some(brought)
    }
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
    /// Of a merge the ids of what it says in its parents. Of one that has it under another name, or not at all, the
    /// id of nothing stands there, and nobody is found who brought that: git itself moves files when it merges.
    merged: Vec<String>,
}

/// Whether an id is that of no file.
fn is_nothing(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
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
            // A colon for each parent and its mode, the mode of the result, the ids in the same order, then
            // what happened.
            let parents = field.bytes().take_while(|byte| *byte == b':').count();
            let mut ids = field.split(' ').skip(parents + 1).take(parents + 1).map(str::to_owned);
            let mut merged: Vec<String> = ids.by_ref().take(parents).collect();
            if parents == 1 {
                merged.clear();
            }
            let id = ids.next().unwrap_or_default();
            let path = fields.next().unwrap_or_default().into_owned();
            touches.push(Touch { path, id, merged, ..commit.clone() });
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
    use std::fmt::Write as _;

    use super::*;
    use crate::testing::{git, git_with};

    const FOLDER: &str = ".throughline/memories";

    #[test]
    fn a_history_that_others_make_too_long_hides_nobodys_commits() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        git(root, &["init", "-q"]);
        let mut commits = String::from("blob\nmark :1\ndata 1\nx\n");
        let mut commit = |author: &str, changes: &dyn Fn(&mut String)| {
            write!(commits, "commit refs/heads/main\ncommitter X <{author}> 0 +0000\ndata 0\n")
                .unwrap();
            changes(&mut commits);
        };
        let files = NAMED_MAX + 1;
        commit("bob@example.com", &|text| {
            (0..files).for_each(|n| writeln!(text, "M 100644 :1 {FOLDER}/{n}.md").unwrap());
        });
        let long = "n".repeat(200);
        commit("mallory@example.com", &|text| {
            let mut add = |n| writeln!(text, "M 100644 :1 {FOLDER}/x/{long}{n}").unwrap();
            (0..30_000).for_each(&mut add);
        });
        commit("mallory@example.com", &|text| writeln!(text, "D {FOLDER}/x").unwrap());
        git_with(root, &["fast-import", "--quiet"], &commits);
        assert!(!history(root, &[Path::new(FOLDER)], GIT_TIMEOUT).unwrap().1);

        let by_bob = |wanted: BTreeMap<PathBuf, String>| {
            let found = brought(root, FOLDER, &wanted);
            let is_bobs = |by: &Vec<Brought>| by.len() == 1 && by[0].author == "bob@example.com";
            found.iter().filter(|(_, by)| is_bobs(by)).count()
        };
        let all = super::files(root, FOLDER).unwrap();
        assert_eq!(by_bob(all.clone()), files);
        assert_eq!(by_bob(all.into_iter().take(1).collect()), 1);
    }

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
            merged: Vec::new(),
        };
        let merged = vec!["11".to_owned(), "22".to_owned()];
        let expected = [
            touch("aa", ":100644 x@y", "bb", "d/\x01evil", "22"),
            Touch { merged, ..touch("cc", "c@x", "", "d/b", "33") },
        ];
        assert_eq!(touches(log), expected);
        // Of a parent that has no such file nobody can say what came from it.
        let merged = |ids: &str| {
            let log = format!("\x01cc\0c@x\0\0\0::100644 100644 100644 {ids} 33 MM\0d/b\0");
            touches(log.as_bytes()).remove(0).merged
        };
        assert_eq!(merged("11 00"), ["11", "00"]);
        assert_eq!(merged("00 00"), ["00", "00"]);
    }
}
