//! Trusted working trees of this machine, and their records.
//!
//! A record grants trust to one folder: the root of a main working tree, or the git directory of a repository that has
//! only linked working trees. The record is stored under `by-path`, named by the folder's path. A copy is stored under
//! `by-folder`, named by the folder's identity ([`folder_key`]), so that a folder that was moved or is mounted
//! elsewhere is found again without asking the user. Both are outside the repository, so no file of a repository can
//! grant trust.
//!
//! A repository inside a working tree does not belong to that tree: it has a record of its own, or is not set up.

use std::path::{Path, PathBuf};

use crate::fs::dir::path_of_bytes;
use crate::fs::tree_fingerprint::{TreeFingerprint, folder_key};
use crate::git_dirs::{self, GitDirs};
use crate::id::ProjectId;
use crate::layout::{STORE_DIR, UserDirs};

/// A trusted working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Project of the working tree.
    pub project: ProjectId,
    /// Root of the working tree.
    pub root: PathBuf,
    /// Root of the working tree that contains the project's memories: the main one, or for a bare repository the first
    /// one that was set up. It may equal `root`.
    pub main_root: PathBuf,
}

/// Whether and how a folder is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folder is in a trusted working tree.
    Trusted(Tree),
    /// The folder is in a working tree that was trusted at another path, or whose record under its present path is
    /// lost.
    Moved(Moved),
    /// The folder is at the path of a trusted working tree that may have been replaced by another folder. The files
    /// there must not be read until a program that may run git has checked the folder.
    Changed(Tree),
}

/// A trusted working tree that has no record under its present path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The working tree, at its present path.
    pub tree: Tree,
    /// Path at which the folder was trusted.
    pub from: PathBuf,
    /// True if no other project can have left state under the present path.
    pub is_clear: bool,
}

impl Moved {
    /// Moves the disposable state of the tree to the new path, so that the index and the handoff are available
    /// immediately. If there is state under the new path already, nothing is moved, and a sync rebuilds the state.
    pub fn carry_state(&self, dirs: &UserDirs) {
        let (before, now) = (dirs.tree(&self.from).folder, dirs.tree(&self.tree.main_root).folder);
        if self.is_clear && !self.from.exists() {
            // The rename fails if the target folder exists already.
            drop(std::fs::rename(before, now));
        }
    }
}

impl Place {
    /// Returns the project of the working tree.
    pub fn project(&self) -> ProjectId {
        match self {
            Self::Trusted(tree) | Self::Moved(Moved { tree, .. }) | Self::Changed(tree) => {
                tree.project
            }
        }
    }

    /// Returns the working tree if its files, and the state under its path, may be read; otherwise `None`.
    pub fn trusted(self) -> Option<Tree> {
        match self {
            Self::Trusted(tree) | Self::Moved(Moved { tree, is_clear: true, .. }) => Some(tree),
            Self::Changed(_) | Self::Moved(_) => None,
        }
    }

    /// Returns the working tree, even if it may not be read.
    pub fn tree(self) -> Tree {
        match self {
            Self::Trusted(tree) | Self::Moved(Moved { tree, .. }) | Self::Changed(tree) => tree,
        }
    }
}

impl Tree {
    /// Returns the path of an indexed file in this tree. The index may name the file in the main working tree.
    pub fn own_file(&self, file: &Path) -> PathBuf {
        match file.strip_prefix(&self.main_root) {
            // A linked worktree may be inside the main tree.
            Ok(below) if !file.starts_with(&self.root) => self.root.join(below),
            Ok(_) | Err(_) => file.to_owned(),
        }
    }

    /// Returns the trusted working tree that contains `cwd`. It looks up `cwd` and each folder above, up to the root of
    /// a repository; a linked worktree is found through its main tree or git directory. `None` if no `init` or `trust`
    /// on this machine granted trust, or if another folder is at the path; then none of its files may be read.
    pub fn find(dirs: &UserDirs, cwd: &Path) -> Option<Self> {
        Self::locate(dirs, cwd)?.trusted()
    }

    /// Returns the same as [`Tree::find`], but also moved trees, and trees whose fingerprint has changed.
    ///
    /// This is on the hot path. It takes a hash and an `open` for each folder level and two system calls for the tree
    /// found; it does not start git and parses nothing. Only if nothing is found are symbolic links resolved and moved
    /// folders looked up.
    pub fn locate(dirs: &UserDirs, cwd: &Path) -> Option<Place> {
        let at = |cwd: &Path| {
            look_up(dirs, cwd, TreeRecord::at).or_else(|| look_up(dirs, cwd, TreeRecord::moved_to))
        };
        at(cwd).or_else(|| {
            // Clients record the path as typed, which may contain symbolic links.
            let real = cwd.canonicalize().ok().filter(|real| real != cwd)?;
            at(&real)
        })
    }

    /// Returns the record that grants trust to this tree, and the folder of that record; `None` if there is none.
    pub fn record(&self, dirs: &UserDirs) -> Option<(PathBuf, TreeRecord)> {
        vouched_folders(&self.main_root)
            .into_iter()
            .find_map(|folder| Some((folder.clone(), TreeRecord::read(dirs, &folder)?)))
    }

    /// Returns the branch that is checked out; `None` if there is none, or outside git.
    pub fn branch(&self) -> Option<String> {
        GitDirs::of(&self.root)?.branch()
    }

    /// Returns the committed folder with the memories.
    pub fn store(&self) -> PathBuf {
        self.root.join(STORE_DIR)
    }
}

/// Function that looks up the record of a folder.
type RecordLookup = fn(&UserDirs, &Path) -> Option<(TreeRecord, RecordStanding)>;

/// Relation between a folder and its record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordStanding {
    /// The folder is the trusted one.
    Same,
    /// The folder is the trusted one, but its record has another path.
    Moved,
    /// The folder may be another one.
    Changed,
}

impl RecordStanding {
    fn place(self, dirs: &UserDirs, folder: &Path, tree: Tree, record: TreeRecord) -> Place {
        match self {
            Self::Same => Place::Trusted(tree),
            Self::Moved => {
                // The state of a tree is stored under its path.
                let has_state = |root: &PathBuf| dirs.tree(root).folder.exists();
                let is_same = record.path == folder;
                let is_clear = is_same || ![&tree.root, &tree.main_root].into_iter().any(has_state);
                Place::Moved(Moved { tree, from: record.path, is_clear })
            }
            Self::Changed => Place::Changed(tree),
        }
    }
}

/// Returns the working tree that contains a folder, according to its record; `None` if it has no record.
fn look_up(dirs: &UserDirs, cwd: &Path, look: RecordLookup) -> Option<Place> {
    for folder in cwd.ancestors() {
        if let Some((record, standing)) = look(dirs, folder) {
            let tree = Tree {
                project: record.project,
                root: folder.to_owned(),
                main_root: folder.to_owned(),
            };
            return Some(standing.place(dirs, folder, tree, record));
        }
        // Records of folders above a repository do not apply to the repository.
        if let Some(git) = GitDirs::of(folder) {
            return linked(dirs, folder, &git, look);
        }
    }
    None
}

/// Returns a working tree that is trusted through its main tree, or through the git directory that it shares.
fn linked(dirs: &UserDirs, root: &Path, git: &GitDirs, look: RecordLookup) -> Option<Place> {
    // A folder may claim any git directory, but a directory inside the folder belongs to it.
    if !git.is_linked() && !git.common.starts_with(root) {
        return None;
    }
    let main = git.folder_around().filter(|_| git.is_linked());
    let found = main.and_then(|main| Some((main, look(dirs, main)?)));
    let common = git.common.as_path();
    let (folder, (record, standing)) = found.or_else(|| Some((common, look(dirs, common)?)))?;
    let main_root = if folder == common { record.home_of(root, git) } else { folder.to_owned() };
    let tree = Tree { project: record.project, root: root.to_owned(), main_root };
    // Another user may have created a folder at the path of a former worktree.
    let vouched = TreeFingerprint::of(folder)?;
    TreeFingerprint::of(root)?
        .is_owned_as(&vouched)
        .then(|| standing.place(dirs, folder, tree, record))
}

/// Returns the folders whose record may grant trust to a working tree that contains memories.
fn vouched_folders(main_root: &Path) -> Vec<PathBuf> {
    let common = GitDirs::of(main_root).map(|git| git.common);
    std::iter::once(main_root.to_owned()).chain(common).collect()
}

/// Prefix of the line with the working tree that contains the memories.
const HOME: &str = "home ";
/// Prefix of the line with the checksum.
const SUM: &str = "sum ";
/// Number of hexadecimal digits of a project's id.
const PROJECT_CHARS: usize = 32;

/// Record of a trusted folder. Its first line contains the project and the path, so that the record is never applied to
/// another path. The next lines contain the fingerprint, for a git directory the working tree that contains the
/// memories, and a checksum, because a flipped bit must not lead to another project. Records written by older versions
/// have only the first line, or no checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRecord {
    /// The project of the working tree.
    pub project: ProjectId,
    /// Path of the folder when it was trusted.
    pub path: PathBuf,
    /// Fingerprint that distinguishes the folder from a later one at the same path.
    pub fingerprint: KnownFingerprint,
    /// For a git directory: the working tree that contains the memories.
    pub home: Option<PathBuf>,
    /// True if the record has a checksum.
    pub is_summed: bool,
}

/// Fingerprint of a working tree in its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownFingerprint {
    /// No fingerprint, because an older version wrote the record.
    No,
    /// The fingerprint of the trusted tree.
    As(TreeFingerprint),
    /// A mark that the tree did not match when it was checked.
    Broken,
}

/// Returns the bytes of a record. Without a fingerprint, they have the form of older versions.
pub fn by_path_record(
    project: ProjectId,
    root: &Path,
    fingerprint: Option<&TreeFingerprint>,
) -> Vec<u8> {
    record_with_home(project, root, fingerprint, None)
}

/// Returns the bytes of the record of a folder whose memories are in the working tree `home`.
pub fn record_with_home(
    project: ProjectId,
    root: &Path,
    fingerprint: Option<&TreeFingerprint>,
    home: Option<&Path>,
) -> Vec<u8> {
    let mut record = format!("{project} ").into_bytes();
    record.extend_from_slice(root.as_os_str().as_encoded_bytes());
    record.push(b'\n');
    if let Some(fingerprint) = fingerprint {
        record.extend_from_slice(format!("{fingerprint}\n").as_bytes());
        if let Some(home) = home {
            record.extend_from_slice(HOME.as_bytes());
            record.extend_from_slice(home.as_os_str().as_encoded_bytes());
            record.push(b'\n');
        }
        let sum = sum(&record);
        record.extend_from_slice(format!("{SUM}{sum}\n").as_bytes());
    }
    record
}

fn sum(record: &[u8]) -> String {
    blake3::hash(record).to_hex()[..16].to_owned()
}

impl TreeRecord {
    /// Returns the record of a path; `None` if it is missing or damaged.
    pub fn read(dirs: &UserDirs, folder: &Path) -> Option<Self> {
        let bytes = std::fs::read(dirs.by_path(folder)).ok()?;
        Self::parse(bytes, folder.as_os_str().len()).filter(|record| record.path == folder)
    }

    /// Returns the record in a file, whatever its folder; `None` if it is missing or damaged, or its path contains a
    /// line feed.
    pub fn read_file(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        let path_bytes = bytes.get(PROJECT_CHARS + 1..)?.iter().position(|byte| *byte == b'\n')?;
        Self::parse(bytes, path_bytes)
    }

    /// Looks up the record of a path, and whether the folder there is still the trusted one.
    fn at(dirs: &UserDirs, folder: &Path) -> Option<(Self, RecordStanding)> {
        let record = Self::read(dirs, folder)?;
        if record.holds(folder) {
            return Some((record, RecordStanding::Same));
        }
        // Another trusted folder may have been moved to this path.
        Self::moved_to(dirs, folder).or(Some((record, RecordStanding::Changed)))
    }

    /// Looks up the record of a folder that was trusted under another path. `None` if there is none, or if it is not
    /// certain that the folder is the same.
    fn moved_to(dirs: &UserDirs, folder: &Path) -> Option<(Self, RecordStanding)> {
        let record = Self::read_file(&dirs.by_folder(&folder_key(folder)?))?;
        (record.is_summed && record.holds(folder)).then_some((record, RecordStanding::Moved))
    }

    /// Parses a record whose path has this length in bytes; `None` if it is damaged.
    fn parse(mut record: Vec<u8>, path_bytes: usize) -> Option<Self> {
        let at = memchr::memmem::rfind(&record, format!("\n{SUM}").as_bytes());
        if let Some(at) = at {
            let told = record.split_off(at + 1);
            if told != format!("{SUM}{}\n", sum(&record)).as_bytes() {
                return None;
            }
        }
        let project = str::from_utf8(record.get(..PROJECT_CHARS)?).ok()?.parse().ok()?;
        let start = PROJECT_CHARS + 1;
        let path = path_of_bytes(record.get(start..start + path_bytes)?);
        let rest = record.strip_prefix(by_path_record(project, &path, None).as_slice())?;
        let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
        let fingerprint = match lines.next() {
            Some(line) => str::from_utf8(line)
                .ok()
                .and_then(|line| TreeFingerprint::parse(line.strip_suffix('\n')?))
                .map_or(KnownFingerprint::Broken, KnownFingerprint::As),
            None => KnownFingerprint::No,
        };
        let home: Vec<u8> = lines.flatten().copied().collect();
        let home = home.strip_prefix(HOME.as_bytes()).and_then(|home| home.strip_suffix(b"\n"));
        Some(Self {
            project,
            path,
            fingerprint,
            home: home.map(path_of_bytes),
            is_summed: at.is_some(),
        })
    }

    /// Returns whether a folder is the one to which the record grants trust.
    fn holds(&self, folder: &Path) -> bool {
        match &self.fingerprint {
            KnownFingerprint::No => true,
            KnownFingerprint::As(fingerprint) => {
                TreeFingerprint::of(folder).is_some_and(|now| fingerprint.holds(&now))
            }
            KnownFingerprint::Broken => false,
        }
    }

    /// Returns the working tree that contains the memories of a repository without a main working tree: the recorded
    /// one if it exists, otherwise the first one that exists.
    fn home_of(&self, root: &Path, git: &GitDirs) -> PathBuf {
        let recorded = self.home.clone().filter(|home| home.is_dir());
        let others = || git.linked_roots().into_iter().find(|root| git_dirs::is_root(root));
        recorded.or_else(others).unwrap_or_else(|| root.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(home: &Path) -> UserDirs {
        let home = home.to_owned();
        UserDirs::resolve(move |name| (name == "HOME").then(|| home.clone().into_os_string()))
            .unwrap()
    }

    #[test]
    fn a_tree_is_found_from_below_and_only_when_recorded() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let root = home.path().join("work");
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        assert_eq!(Tree::find(&dirs, &root.join("src/deep")), None);

        let project = ProjectId([3; 16]);
        std::fs::create_dir_all(dirs.by_path(&root).parent().unwrap()).unwrap();
        std::fs::write(dirs.by_path(&root), by_path_record(project, &root, None)).unwrap();
        let tree = Tree::find(&dirs, &root.join("src/deep")).unwrap();
        assert_eq!((tree.project, tree.root), (project, root.clone()));

        // A tree with a fingerprint must match its record; a record written by an older version has none.
        let sealed = |fingerprint: &str| {
            let mut record = by_path_record(project, &root, None);
            record.extend_from_slice(fingerprint.as_bytes());
            std::fs::write(dirs.by_path(&root), record).unwrap();
            Tree::locate(&dirs, &root.join("src"))
        };
        let found = Tree { project, root: root.clone(), main_root: root.clone() };
        let as_it_is = format!("{}\n", TreeFingerprint::of(&root).unwrap());
        assert_eq!(sealed(&as_it_is), Some(Place::Trusted(found.clone())));
        for fingerprint in ["1.5 1\n", "unknown\n", "x", &as_it_is[1..], "\n"] {
            assert_eq!(sealed(fingerprint), Some(Place::Changed(found.clone())), "{fingerprint:?}");
            assert_eq!(Tree::find(&dirs, &root), None);
        }

        // A record with another path is rejected.
        std::fs::write(dirs.by_path(&root), by_path_record(project, Path::new("/elsewhere"), None))
            .unwrap();
        assert_eq!(Tree::find(&dirs, &root), None);
    }

    #[test]
    fn a_linked_worktree_is_known_through_its_main_tree_and_only_if_that_links_back() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let (main, linked) = (home.path().join("main"), home.path().join("linked"));
        let gitdir = main.join(".git/worktrees/linked");
        std::fs::create_dir_all(&gitdir).unwrap();
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::write(linked.join(".git"), format!("gitdir: {}\n", gitdir.display())).unwrap();
        std::fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(dirs.by_path(&main).parent().unwrap()).unwrap();
        std::fs::write(dirs.by_path(&main), by_path_record(ProjectId([3; 16]), &main, None))
            .unwrap();
        assert_eq!(Tree::find(&dirs, &linked), None);

        std::fs::write(gitdir.join("gitdir"), format!("{}\n", linked.join(".git").display()))
            .unwrap();
        let tree = Tree::find(&dirs, &linked).unwrap();
        assert_eq!((tree.root, tree.main_root), (linked, main));
    }
    /// Trusts a folder, like `init`.
    fn vouch(dirs: &UserDirs, folder: &Path, project: ProjectId, home: Option<&Path>) {
        let fingerprint = TreeFingerprint::of(folder).unwrap();
        let record = record_with_home(project, folder, Some(&fingerprint), home);
        for path in [dirs.by_path(folder), dirs.by_folder(&folder_key(folder).unwrap())] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &record).unwrap();
        }
    }

    fn repository(root: &Path) {
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_folder_is_known_again_where_it_was_moved() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let dirs = dirs(&base);
        let (old, new, other) = (base.join("old"), base.join("new"), base.join("other"));
        let (one, two) = (ProjectId([1; 16]), ProjectId([2; 16]));
        repository(&old);
        // Some file systems take creation times from a clock with slow ticks.
        std::thread::sleep(std::time::Duration::from_millis(20));
        repository(&other);
        vouch(&dirs, &old, one, None);
        vouch(&dirs, &other, two, None);
        if folder_key(&old).is_none() {
            eprintln!("skipped: this file system does not store when a folder came into being");
            return;
        }
        let moved = |root: &Path, project: ProjectId, from: &Path| {
            let (root, main_root) = (root.to_owned(), root.to_owned());
            let tree = Tree { project, root, main_root };
            Some(Place::Moved(Moved { tree, from: from.to_owned(), is_clear: true }))
        };
        std::fs::rename(&old, &new).unwrap();
        std::fs::create_dir(new.join("src")).unwrap();
        assert_eq!(Tree::locate(&dirs, &new.join("src")), moved(&new, one, &old));
        // Another project may have left state under the new path.
        std::fs::create_dir_all(dirs.tree(&new).folder).unwrap();
        assert_eq!(Tree::find(&dirs, &new), None);
        std::fs::remove_dir_all(dirs.tree(&new).folder).unwrap();
        // Another project, which was never at the old path, is moved there.
        std::fs::rename(&other, &old).unwrap();
        assert_eq!(Tree::locate(&dirs, &old), moved(&old, two, &other));
        // A copy is a different folder.
        std::thread::sleep(std::time::Duration::from_millis(20));
        repository(&other);
        assert_eq!(
            Tree::locate(&dirs, &other),
            Some(Place::Changed(Tree {
                project: two,
                root: other.clone(),
                main_root: other.clone()
            }))
        );
        let copy = base.join("copy");
        repository(&copy);
        assert_eq!(Tree::locate(&dirs, &copy), None);
        // A folder that has lost its `.git` is not the same.
        std::fs::remove_dir_all(new.join(".git")).unwrap();
        assert_eq!(Tree::locate(&dirs, &new), None);
        // The record under `by-path` is lost.
        std::fs::remove_file(dirs.by_path(&other)).unwrap();
        std::fs::remove_dir_all(&other).unwrap();
        std::fs::rename(&old, &other).unwrap();
        assert_eq!(Tree::locate(&dirs, &other), moved(&other, two, &other));
    }

    #[test]
    fn a_repository_inside_is_no_part_of_the_tree_around_it() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let dirs = dirs(&base);
        let outer = base.join("outer");
        let inner = outer.join("vendor/inner");
        std::fs::create_dir_all(inner.join("src")).unwrap();
        vouch(&dirs, &outer, ProjectId([1; 16]), None);
        assert!(Tree::find(&dirs, &inner.join("src")).is_some());
        repository(&inner);
        assert_eq!(Tree::locate(&dirs, &inner.join("src")), None);
        vouch(&dirs, &inner, ProjectId([2; 16]), None);
        assert_eq!(Tree::find(&dirs, &inner.join("src")).unwrap().root, inner);
    }

    #[test]
    fn working_trees_of_a_bare_repository_are_found_by_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let dirs = dirs(&base);
        let (around, bare) = (base.join("p"), base.join("p/.bare"));
        std::fs::create_dir_all(&bare).unwrap();
        std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(around.join(".git"), "gitdir: ./.bare\n").unwrap();
        let worktree = |name: &str| {
            let (root, own) = (around.join(name), bare.join("worktrees").join(name));
            std::fs::create_dir_all(&root).unwrap();
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(root.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
            std::fs::write(own.join("gitdir"), format!("{}/.git\n", root.display())).unwrap();
            root
        };
        let (first, second) = (worktree("b-first"), worktree("a-second"));
        assert_eq!(Tree::locate(&dirs, &first), None);
        let project = ProjectId([3; 16]);
        vouch(&dirs, &bare, project, Some(&first));
        for root in [&first, &second, &around] {
            let tree = Tree { project, root: root.clone(), main_root: first.clone() };
            assert_eq!(Tree::locate(&dirs, root), Some(Place::Trusted(tree.clone())));
            assert_eq!(tree.record(&dirs).unwrap().0, bare);
        }
        // Another folder may claim the git directory, although the directory is not inside it.
        let evil = base.join("evil");
        std::fs::create_dir(&evil).unwrap();
        std::fs::write(evil.join(".git"), format!("gitdir: {}\n", bare.display())).unwrap();
        assert_eq!(Tree::locate(&dirs, &evil), None);
        // The worktree that contained the memories is removed.
        std::fs::remove_dir_all(&first).unwrap();
        assert_eq!(Tree::find(&dirs, &second).unwrap().main_root, second);
    }

    #[test]
    fn a_path_through_a_link_leads_to_the_same_tree() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let dirs = dirs(&base);
        let (root, alias) = (base.join("real/work"), base.join("alias"));
        std::fs::create_dir_all(root.join("src")).unwrap();
        vouch(&dirs, &root, ProjectId([4; 16]), None);
        crate::fs::dir::symlink(&root, &alias).unwrap();
        assert_eq!(Tree::find(&dirs, &alias.join("src")).unwrap().root, root);
    }
}
