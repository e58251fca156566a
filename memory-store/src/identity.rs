//! Projects of this machine: which working trees belong to which, and who vouched for them.
//!
//! A store is read only where a person ran `init` or `trust`; that is recorded under `by-path`, outside of the
//! repository, so that nothing a repository brings along can vouch for itself. A folder at the path later is only
//! believed to be the same while its fingerprint holds ([`crate::fs::tree_fingerprint`]), or when git says so ([`review`]).

mod remote;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{At, Error, Result};
use crate::fs::disk::{Privacy, read_if_there, remove, replace};
use crate::fs::tree_fingerprint::{TreeFingerprint, UntrustedTree};
use crate::id::ProjectId;
use crate::layout::{
    ByPath, KnownFingerprint, Place, ProjectDir, Tree, TreeDir, UserDirs, by_path_record,
};
use crate::store::lock;
use crate::time::Timestamp;

/// Bytes that a project's record may take.
const IDENTITY_BYTES_MAX: usize = 1 << 20;

/// Place of a project's memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In the repository's `.throughline/memories`, to be committed.
    #[default]
    Committed,
    /// In the user's data directory.
    Private,
}

/// Record by which a project is recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its id.
    pub project: ProjectId,
    /// Mode: the place of its memories.
    #[serde(default)]
    pub mode: Mode,
    /// When it was first seen.
    #[serde(default)]
    pub created: Timestamp,
    /// The root commits of its history; empty without git and of a shallow clone.
    #[serde(default)]
    pub root_commits: Vec<String>,
    /// Its remotes, normalised.
    #[serde(default)]
    pub remotes: Vec<String>,
    /// The working trees it was seen in, the first one first.
    #[serde(default)]
    pub paths: Vec<PathBuf>,
    /// Linked worktrees seen.
    #[serde(default)]
    pub worktrees: Vec<PathBuf>,
    /// Working trees that trust was taken from: who vouches for one of them again means this project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoked: Vec<PathBuf>,
    /// Limits that an older version put on what others commit. Where there are any, what is from the repository
    /// waits until it is released, whatever the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<serde_json::Value>,
}

impl Identity {
    /// Reads the record of a project; `None` when there is none.
    pub fn read(project: &ProjectDir) -> Result<Option<Self>> {
        let path = &project.identity;
        let Some(bytes) = read_if_there(path, IDENTITY_BYTES_MAX)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::Settings {
            path: path.clone(),
            message: format!("{error}; remove the file and run `throughline init` in the project"),
        })
    }

    fn write(&self, dirs: &UserDirs) -> Result<()> {
        let path = dirs.project(self.project).identity;
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Settings { path: path.clone(), message: error.to_string() })?;
        bytes.push(b'\n');
        replace(&path, &bytes, Privacy::Private)
    }

    /// Adds what was seen of one of its working trees.
    fn learn(&mut self, observed: &Observed) {
        let main_root = observed.main_root();
        add(&mut self.paths, [main_root.to_owned()]);
        self.revoked.retain(|root| root != main_root);
        if !observed.shallow {
            add(&mut self.root_commits, observed.root_commits.iter().cloned());
        }
        add(&mut self.remotes, observed.normal_remotes());
        let linked = observed.main_root.as_ref().map(|_| observed.root.clone());
        add(&mut self.worktrees, observed.worktrees.iter().cloned().chain(linked));
        self.worktrees.retain(|worktree| worktree.is_dir());
    }

    /// Returns whether a tree is this project's without anybody saying so: the same root commit and the same remote.
    /// One alone is not enough: a fork shares the root commit, and what was learned in a private fork must not surface
    /// in the public clone.
    fn is_joined_by(&self, observed: &Observed) -> bool {
        !observed.shallow && self.shares_remote(observed) && self.shares_root_commit(observed)
    }

    fn shares_root_commit(&self, observed: &Observed) -> bool {
        observed.root_commits.iter().any(|root| self.root_commits.contains(root))
    }

    fn shares_remote(&self, observed: &Observed) -> bool {
        observed.normal_remotes().iter().any(|remote| self.remotes.contains(remote))
    }

    /// Returns whether a person who vouches for a tree vouched for it before, and took that back or lost the record of
    /// its path. Another history at its place is something else.
    fn was_vouched_for(&self, observed: &Observed) -> bool {
        let has_none = self.root_commits.is_empty() && observed.root_commits.is_empty();
        let mut roots = self.revoked.iter().chain(&self.paths);
        roots.any(|root| root == observed.main_root())
            && (has_none || self.shares_root_commit(observed))
    }

    /// Says why what stands at a recorded path is not what was vouched for; `None`: it is the same, for example cloned
    /// again. A sealed tree must have both, a root commit and a remote that are known; of records without a fingerprint it is
    /// enough that one is.
    fn objection(
        &self,
        observed: &Observed,
        sealed: &KnownFingerprint,
        now: &TreeFingerprint,
    ) -> Option<&'static str> {
        let is_old = *sealed == KnownFingerprint::No;
        let owned = match sealed {
            KnownFingerprint::As(fingerprint) => now.is_owned_as(fingerprint),
            // Git asks whom a repository belongs to before it says anything of it.
            KnownFingerprint::No | KnownFingerprint::Broken => {
                now.is_ours() || !observed.root_commits.is_empty()
            }
        };
        if !owned {
            return Some("it belongs to another user");
        }
        if self.root_commits.is_empty() && self.remotes.is_empty() {
            return (!is_old).then_some("it is another folder, and no history tells what it is");
        }
        if observed.root_commits.is_empty() {
            return Some("git does not tell its history");
        }
        let shares_remote = self.shares_remote(observed);
        let cannot_tell = observed.shallow || self.root_commits.is_empty();
        let has_root = self.shares_root_commit(observed) || (cannot_tell && shares_remote);
        let has_none = self.remotes.is_empty() && observed.normal_remotes().is_empty();
        let has_remote = shares_remote || has_none;
        match (has_root, has_remote) {
            (true, true) => None,
            (true, false) | (false, true) if is_old => None,
            (false, _) => Some("it has another history"),
            (true, false) => Some("it has another remote"),
        }
    }

    /// Returns whether a tree might be this project's, so that it is worth asking the user.
    pub fn resembles(&self, observed: &Observed) -> bool {
        self.shares_root_commit(observed) || self.shares_remote(observed)
    }
}

/// Observation of a working tree; gathered by whoever may run git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Its root, canonical.
    pub root: PathBuf,
    /// The root of the main working tree, when this is a linked worktree of one.
    pub main_root: Option<PathBuf>,
    /// Root commits of its history; empty without git.
    pub root_commits: Vec<String>,
    /// Its remotes' addresses, as git names them.
    pub remotes: Vec<String>,
    /// Roots of its linked worktrees.
    pub worktrees: Vec<PathBuf>,
    /// True if its history is cut off, so that its root commits mean nothing.
    pub shallow: bool,
}

impl Observed {
    /// Returns it if it is about this main working tree, else an empty observation. The repository around a folder says
    /// nothing about the folder.
    fn of(self, root: &Path) -> Self {
        if self.main_root() == root {
            return self;
        }
        Self { root: root.to_owned(), ..Self::default() }
    }

    /// The root of the main working tree, which this one may be.
    fn main_root(&self) -> &Path {
        self.main_root.as_deref().unwrap_or(&self.root)
    }

    fn normal_remotes(&self) -> Vec<String> {
        self.remotes.iter().filter_map(|remote| remote::normalise(remote)).collect()
    }

    fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.root).chain(&self.main_root)
    }

    fn tree(&self, project: ProjectId) -> Tree {
        let main_root = self.main_root.clone().unwrap_or_else(|| self.root.clone());
        Tree { project, root: self.root.clone(), main_root }
    }
}

/// A project known on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its record.
    pub identity: Identity,
    /// Its trusted working trees that are still there.
    pub trees: Vec<Tree>,
}

/// Reads where a project keeps its memories; one without record keeps them in the repository.
pub fn mode(dirs: &UserDirs, project: ProjectId) -> Result<Mode> {
    Ok(Identity::read(&dirs.project(project))?.map(|identity| identity.mode).unwrap_or_default())
}

/// Vouches for a working tree: from now on its store is read and its sessions are remembered. A
/// tree that is known already stays with its project, one that is plainly another clone of a known
/// project joins it, any other becomes a project whose id is `random`. `mode` says where the project keeps its memories;
/// without it, that stays as it was.
pub fn vouch(
    dirs: &UserDirs,
    observed: &Observed,
    mode: Option<Mode>,
    random: [u8; 16],
    now: Timestamp,
) -> Result<Tree> {
    let identity = known(dirs, observed)?.unwrap_or_else(|| new_identity(random, now));
    record(dirs, identity, observed, mode)
}

/// Makes a working tree part of a project because the user says so.
pub fn link(dirs: &UserDirs, observed: &Observed, project: ProjectId) -> Result<Tree> {
    let identity = Identity::read(&dirs.project(project))?
        .ok_or_else(|| Error::NotFound { id: project.to_string(), found: 0 })?;
    if let Some(before) = recorded(dirs, observed)?.filter(|&before| before != project) {
        leave(dirs, before, observed.tree(project).main_root.as_path())?;
    }
    record(dirs, identity, observed, None)
}

/// Looks again at a working tree whose record says something else than the disk, or nothing, before
/// anything of it is read: what is the same by its history gets a new fingerprint, and what is not is left
/// alone from here on. `observe` asks git, and is only called where that is needed. Returns why it
/// is not what was vouched for; `None` when there is nothing to object, or nothing there.
pub fn review(
    dirs: &UserDirs,
    tree: &Tree,
    observe: impl FnOnce(&Path) -> Observed,
) -> Result<Option<&'static str>> {
    let root = &tree.main_root;
    let (Some(record), Some(now)) = (ByPath::read(dirs, root), TreeFingerprint::of(root)) else {
        return Ok(None);
    };
    match &record.fingerprint {
        KnownFingerprint::As(fingerprint) if *fingerprint == now && record.is_summed => {
            return Ok(None);
        }
        KnownFingerprint::As(fingerprint) if fingerprint.holds(&now) => {
            write_record(dirs, record.project, root)?;
            return Ok(None);
        }
        KnownFingerprint::As(_) | KnownFingerprint::No | KnownFingerprint::Broken => {}
    }
    let observed = observe(root).of(root);
    let is_silent = observed.root_commits.is_empty() && observed.remotes.is_empty();
    if record.fingerprint == KnownFingerprint::No && is_silent && now.has_git() && now.is_ours() {
        // Git cannot be asked now, or there is no commit yet: as before.
        return Ok(None);
    }
    let identity = Identity::read(&dirs.project(record.project))?;
    let lost = || new_identity(record.project.0, Timestamp::default());
    let identity = identity.unwrap_or_else(lost);
    let Some(why) = identity.objection(&observed, &record.fingerprint, &now) else {
        return self::record(dirs, identity, &observed, None).map(|_| None);
    };
    if record.fingerprint == KnownFingerprint::No {
        let mut broken = by_path_record(record.project, root, None);
        broken.extend_from_slice(b"unknown\n");
        replace(&dirs.by_path(root), &broken, Privacy::Private)?;
    }
    let state = dirs.tree(root);
    let strange = UntrustedTree { fingerprint: now, why: why.to_owned() };
    let known = [&state.untrusted_tree, &state.untrusted_tree_told];
    if !known.iter().any(|path| UntrustedTree::read(path).as_ref() == Some(&strange)) {
        replace(&state.untrusted_tree, strange.text().as_bytes(), Privacy::Private)?;
    }
    Ok(Some(why))
}

/// Adds root commits and remotes to a project that had none when it was set up, so that it is known
/// again when it is cloned anew. `observe` asks git, and is only called where that is needed.
pub fn learn_history(
    dirs: &UserDirs,
    tree: &Tree,
    observe: impl FnOnce(&Path) -> Observed,
) -> Result<()> {
    let Some(identity) = Identity::read(&dirs.project(tree.project))? else { return Ok(()) };
    if !identity.root_commits.is_empty() && !identity.remotes.is_empty() {
        return Ok(());
    }
    // Git takes its time, in which the user may say something else about the project.
    let observed = observe(&tree.main_root).of(&tree.main_root);
    change(dirs, tree.project, |known| {
        let Some(identity) = known else { return Ok(()) };
        if identity.root_commits.is_empty() && !observed.shallow {
            add(&mut identity.root_commits, observed.root_commits.iter().cloned());
        }
        if identity.remotes.is_empty() {
            add(&mut identity.remotes, observed.normal_remotes());
        }
        Ok(())
    })
}

/// Drops the limits that an older version put on what others commit; whether there were any.
///
/// # Errors
/// When the record cannot be read or written.
pub fn drop_limits(dirs: &UserDirs, project: ProjectId) -> Result<bool> {
    let path = dirs.project(project);
    if Identity::read(&path)?.is_none_or(|identity| identity.authors.is_none()) {
        return Ok(false);
    }
    let drop_all = |known: &mut Option<Identity>| {
        Ok::<_, Error>(known.as_mut().and_then(|identity| identity.authors.take()).is_some())
    };
    change(dirs, project, drop_all)
}

/// Withdraws the trust in a working tree; nothing of it is read any more. Learned memories stay.
pub fn untrust(dirs: &UserDirs, root: &Path) -> Result<()> {
    match Tree::locate(dirs, root) {
        Some(Place::Trusted(tree) | Place::Changed(tree)) => {
            leave(dirs, tree.project, &tree.main_root)?;
            change(dirs, tree.project, |known| {
                known
                    .iter_mut()
                    .for_each(|known| add(&mut known.revoked, [tree.main_root.clone()]));
                Ok(())
            })
        }
        None => Ok(()),
    }
}

/// Lists the projects of this machine, by id. A record that cannot be read is left out.
pub fn list(dirs: &UserDirs) -> Result<Vec<Known>> {
    let folder = dirs.data.join("projects");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).at(&folder),
    };
    let mut known: Vec<Known> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|project| Identity::read(&dirs.project(project)).ok()?)
        .map(|identity| Known { trees: trees(dirs, &identity), identity })
        .collect();
    known.sort_by_key(|known| known.identity.project);
    Ok(known)
}

fn trees(dirs: &UserDirs, identity: &Identity) -> Vec<Tree> {
    let roots = identity.paths.iter().chain(&identity.worktrees);
    roots
        .filter(|root| root.is_dir())
        .filter_map(|root| Tree::find(dirs, root).filter(|tree| &tree.root == root))
        .filter(|tree| tree.project == identity.project)
        .collect()
}

/// The project of a tree: the one it is recorded with, or the one it joins by itself. `None`: it
/// would become one of its own.
fn recognise(dirs: &UserDirs, observed: &Observed) -> Result<Option<Identity>> {
    if let Some(project) = recorded(dirs, observed)? {
        let home = dirs.project(project);
        let lost = || Identity { project, ..new_identity(project.0, Timestamp::default()) };
        return Ok(Some(Identity::read(&home)?.unwrap_or_else(lost)));
    }
    let mut joined: Vec<Known> = list(dirs)?;
    joined.retain(|known| known.identity.is_joined_by(observed));
    // Two projects that both fit are for the user to decide between.
    Ok(match joined.len() {
        1 => joined.pop().map(|known| known.identity),
        _ => None,
    })
}

/// The project that a working tree is of when a person vouches for it: one that it is recognised as,
/// or that it was of until trust was taken from it, or its record was damaged.
pub fn known(dirs: &UserDirs, observed: &Observed) -> Result<Option<Identity>> {
    if let Some(identity) = recognise(dirs, observed)? {
        return Ok(Some(identity));
    }
    let mut known = list(dirs)?;
    known.retain(|known| known.identity.was_vouched_for(observed));
    Ok(known.pop().map(|known| known.identity))
}

fn recorded(dirs: &UserDirs, observed: &Observed) -> Result<Option<ProjectId>> {
    let main_root = observed.main_root();
    let found = Tree::find(dirs, main_root).filter(|tree| tree.main_root == main_root);
    Ok(found.map(|tree| tree.project))
}

fn new_identity(random: [u8; 16], now: Timestamp) -> Identity {
    Identity {
        project: ProjectId(random),
        mode: Mode::default(),
        created: now,
        root_commits: Vec::new(),
        remotes: Vec::new(),
        paths: Vec::new(),
        worktrees: Vec::new(),
        revoked: Vec::new(),
        authors: None,
    }
}

/// Changes the record of a project as it is when nobody else does: several programs may, and none may lose
/// what another one wrote. `None` is a project without record.
fn change<T, E: From<Error>>(
    dirs: &UserDirs,
    project: ProjectId,
    change: impl FnOnce(&mut Option<Identity>) -> Result<T, E>,
) -> Result<T, E> {
    let home = dirs.project(project);
    // Of a project that is about to begin nobody else knows, and where it cannot nothing is to stay.
    let _lock = home.folder.is_dir().then(|| lock(&home)).transpose()?;
    let before = Identity::read(&home)?;
    let mut identity = before.clone();
    let done = change(&mut identity)?;
    match identity {
        Some(identity) if before.as_ref() != Some(&identity) => identity.write(dirs)?,
        Some(_) | None => {}
    }
    Ok(done)
}

/// Notes that a working tree is this project's; `mode` says where memories are kept from now on.
fn record(
    dirs: &UserDirs,
    identity: Identity,
    observed: &Observed,
    mode: Option<Mode>,
) -> Result<Tree> {
    if let Some(path) = observed.roots().find(|root| root.to_str().is_none()) {
        return Err(Error::Path { path: path.clone() });
    }
    let project = identity.project;
    change::<_, Error>(dirs, project, |known| {
        let identity = known.get_or_insert(identity);
        identity.mode = mode.unwrap_or(identity.mode);
        identity.learn(observed);
        Ok(())
    })?;
    let tree = observed.tree(project);
    let known = ByPath::read(dirs, &tree.main_root);
    if known.is_none_or(|known| known.project != tree.project) {
        // Data derived from another project must not be given to sessions of this one.
        for root in [&tree.main_root, &tree.root] {
            remove_derived(&dirs.tree(root))?;
        }
    }
    write_record(dirs, tree.project, &tree.main_root)?;
    Ok(tree)
}

fn write_record(dirs: &UserDirs, project: ProjectId, root: &Path) -> Result<()> {
    let path = dirs.by_path(root);
    let record = by_path_record(project, root, TreeFingerprint::of(root).as_ref());
    if std::fs::read(&path).ok().as_ref() != Some(&record) {
        replace(&path, &record, Privacy::Private)?;
    }
    let state = dirs.tree(root);
    [&state.untrusted_tree, &state.untrusted_tree_told]
        .into_iter()
        .try_for_each(|path| remove(path))
}

/// Removes what is made of a project's memories and sessions; a sync makes it again.
fn remove_derived(state: &TreeDir) -> Result<()> {
    for folder in [&state.index, &state.thinking] {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).at(folder);
            }
            Ok(()) | Err(_) => {}
        }
    }
    remove(&state.handoff)
}

fn leave(dirs: &UserDirs, project: ProjectId, root: &Path) -> Result<()> {
    remove_record(dirs, project, root)?;
    change(dirs, project, |known| {
        known.iter_mut().for_each(|known| known.paths.retain(|path| path != root));
        Ok(())
    })
}

fn remove_record(dirs: &UserDirs, project: ProjectId, root: &Path) -> Result<()> {
    let path = dirs.by_path(root);
    // A record that says otherwise by now is not ours to remove.
    match std::fs::read(&path) {
        Ok(bytes) if bytes.starts_with(&by_path_record(project, root, None)) => remove(&path),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000);

    struct Home {
        folder: tempfile::TempDir,
        dirs: UserDirs,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { dirs: testutils::dirs_of(folder.path()), folder }
        }

        fn observed(&self, name: &str, roots: &[&str], remotes: &[&str]) -> Observed {
            let root = self.folder.path().join(name);
            std::fs::create_dir_all(&root).unwrap();
            let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
            Observed {
                root,
                root_commits: texts(roots),
                remotes: texts(remotes),
                ..Observed::default()
            }
        }

        fn init(&self, observed: &Observed, random: u8) -> Tree {
            vouch(&self.dirs, observed, Some(Mode::Committed), [random; 16], NOW).unwrap()
        }
    }

    #[test]
    fn a_tree_is_read_only_after_somebody_vouched_for_it() {
        let home = Home::new();
        let observed = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        assert_eq!(Tree::find(&home.dirs, &observed.root), None);
        assert!(recognise(&home.dirs, &observed).unwrap().is_none());
        let tree = home.init(&observed, 1);
        assert_eq!(Tree::find(&home.dirs, &observed.root.join("src")), Some(tree.clone()));
        // Again is the same project, whatever the random bits.
        assert_eq!(home.init(&observed, 2), tree);
        assert_eq!(list(&home.dirs).unwrap().len(), 1);

        untrust(&home.dirs, &observed.root).unwrap();
        assert_eq!(Tree::find(&home.dirs, &observed.root), None);
        assert!(list(&home.dirs).unwrap()[0].trees.is_empty());
        // A second vouch means the same project, but for nothing else at its place.
        let other = Observed { root_commits: vec!["x".into()], ..observed.clone() };
        let other = Observed { remotes: Vec::new(), ..other };
        assert_ne!(vouch(&home.dirs, &other, None, [3; 16], NOW).unwrap().project, tree.project);
        untrust(&home.dirs, &observed.root).unwrap();
        let bare = Observed { remotes: Vec::new(), ..observed };
        assert!(recognise(&home.dirs, &bare).unwrap().is_none());
        assert_eq!(vouch(&home.dirs, &bare, None, [4; 16], NOW).unwrap(), tree);
    }

    #[test]
    fn another_clone_joins_by_root_commit_and_remote_only() {
        let home = Home::new();
        let first = home.init(&home.observed("one", &["r"], &["git@example.com:a/b.git"]), 1);
        let clone = home.observed("two", &["r"], &["https://me:secret@example.com/a/b"]);
        assert_eq!(home.init(&clone, 2).project, first.project);

        let fork = home.observed("fork", &["r"], &["git@example.com:me/b.git"]);
        assert!(recognise(&home.dirs, &fork).unwrap().is_none());
        assert!(list(&home.dirs).unwrap().iter().all(|known| known.identity.resembles(&fork)));
        assert_ne!(home.init(&fork, 2).project, first.project);

        let copy = home.observed("copy", &["r"], &[]);
        assert!(recognise(&home.dirs, &copy).unwrap().is_none());
        let mut shallow = home.observed("shallow", &["r"], &["git@example.com:a/b.git"]);
        shallow.shallow = true;
        assert!(recognise(&home.dirs, &shallow).unwrap().is_none());
        let other = home.observed("other", &["s"], &["git@example.com:a/b.git"]);
        assert!(recognise(&home.dirs, &other).unwrap().is_none());

        // Until the user says so.
        assert_eq!(link(&home.dirs, &copy, first.project).unwrap().project, first.project);
        assert_eq!(Tree::find(&home.dirs, &copy.root).unwrap().project, first.project);
        assert!(link(&home.dirs, &copy, ProjectId([9; 16])).is_err());
        // A tree that was its own project leaves it.
        link(&home.dirs, &fork, first.project).unwrap();
        let known = list(&home.dirs).unwrap();
        assert_eq!(known.iter().map(|known| known.trees.len()).collect::<Vec<_>>(), [4, 0]);
    }

    /// Another folder at the path of a tree, as a clone makes it.
    fn replace_folder(tree: &Tree) {
        std::fs::remove_dir_all(&tree.root).unwrap();
        // Some file systems tell births apart by the tick of a slow clock.
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::create_dir_all(tree.root.join(".git")).unwrap();
    }

    fn look(home: &Home, tree: &Tree, observed: &Observed) -> (Option<&'static str>, bool) {
        let why = review(&home.dirs, tree, |_| observed.clone()).unwrap();
        (why, Tree::find(&home.dirs, &tree.root).is_some())
    }

    #[test]
    fn another_folder_at_the_path_is_trusted_only_by_its_history() {
        let home = Home::new();
        let observed = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        let tree = home.init(&observed, 1);
        // Nobody asks git while the folder is the same.
        assert_eq!(review(&home.dirs, &tree, |_| panic!()).unwrap(), None);
        replace_folder(&tree);
        assert_eq!(Tree::find(&home.dirs, &tree.root), None);
        let evil = home.observed("work", &["s"], &["git@example.com:evil/b.git"]);
        assert_eq!(look(&home, &tree, &evil), (Some("it has another history"), false));
        let fork = home.observed("work", &["r"], &["git@example.com:evil/b.git"]);
        assert_eq!(look(&home, &tree, &fork), (Some("it has another remote"), false));
        let unknown = home.observed("work", &[], &[]);
        assert_eq!(look(&home, &tree, &unknown), (Some("git does not tell its history"), false));
        let around = Observed { root: home.folder.path().to_owned(), ..observed.clone() };
        assert_eq!(look(&home, &tree, &around), (Some("git does not tell its history"), false));
        let strange = UntrustedTree::read(&home.dirs.tree(&tree.root).untrusted_tree).unwrap();
        assert_eq!(strange.fingerprint, TreeFingerprint::of(&tree.root).unwrap());

        // Cloned again it is what it was, a shallow clone by its remote.
        let shallow = Observed {
            shallow: true,
            ..home.observed("work", &["x"], &["https://example.com/a/b"])
        };
        assert_eq!(look(&home, &tree, &shallow), (None, true));
        assert!(!home.dirs.tree(&tree.root).untrusted_tree.exists());
        replace_folder(&tree);
        assert_eq!(look(&home, &tree, &observed), (None, true));
        // A person may say that another history is the same project, or a new one.
        replace_folder(&tree);
        assert!(!look(&home, &tree, &evil).1);
        assert_eq!(link(&home.dirs, &evil, tree.project).unwrap().project, tree.project);
        assert!(Tree::find(&home.dirs, &tree.root).is_some());
        replace_folder(&tree);
        let index = home.dirs.tree(&tree.root).index;
        std::fs::create_dir_all(&index).unwrap();
        let other = home.observed("work", &["t"], &[]);
        assert_ne!(home.init(&other, 2).project, tree.project);
        assert!(!index.exists(), "what was derived of the old project is gone");
    }

    #[test]
    fn a_folder_without_history_is_trusted_as_long_as_it_is_the_same() {
        let home = Home::new();
        let observed = home.observed("work", &[], &[]);
        let tree = home.init(&observed, 1);
        // It may get a repository, and then be known by it.
        std::fs::create_dir(tree.root.join(".git")).unwrap();
        assert_eq!(review(&home.dirs, &tree, |_| panic!()).unwrap(), None);
        let with_git = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        replace_folder(&tree);
        let (why, trusted) = look(&home, &tree, &with_git);
        assert!(why.unwrap().contains("no history") && !trusted);
        learn_history(&home.dirs, &tree, |_| with_git.clone()).unwrap();
        learn_history(&home.dirs, &tree, |_| panic!("both are known")).unwrap();
        assert_eq!(look(&home, &tree, &with_git), (None, true));
    }

    #[test]
    fn records_of_older_versions_are_read_and_sealed_where_the_history_is_the_same() {
        let home = Home::new();
        let observed = home.observed("work", &["r"], &[]);
        let tree = home.init(&observed, 1);
        let path = home.dirs.by_path(&tree.root);
        let sealed = std::fs::read(&path).unwrap();
        std::fs::write(&path, by_path_record(tree.project, &tree.root, None)).unwrap();
        assert!(Tree::find(&home.dirs, &tree.root).is_some());
        // It got a remote since; that is no reason for doubt.
        let pushed = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        assert_eq!(look(&home, &tree, &pushed), (None, true));
        assert_eq!(std::fs::read(&path).unwrap(), sealed);

        std::fs::write(&path, by_path_record(tree.project, &tree.root, None)).unwrap();
        let evil = home.observed("work", &["s"], &[]);
        assert_eq!(look(&home, &tree, &evil), (Some("it has another history"), false));
        // And stays so for hooks, until it is the old one again.
        assert_eq!(look(&home, &tree, &pushed), (None, true));
        untrust(&home.dirs, &tree.root).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_record_with_a_flipped_bit_leads_to_no_project() {
        let home = Home::new();
        let tree = home.init(&home.observed("work", &["r"], &[]), 1);
        let path = home.dirs.by_path(&tree.root);
        let sound = std::fs::read(&path).unwrap();
        for at in 0..sound.len() * 8 {
            let mut damaged = sound.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            std::fs::write(&path, damaged).unwrap();
            let found = Tree::find(&home.dirs, &tree.root);
            assert!(found.is_none_or(|found| found.project == tree.project), "bit {at}");
        }
        // Where a person vouches for it again it is the same project.
        std::fs::write(&path, []).unwrap();
        let again = home.init(&home.observed("work", &["r"], &[]), 9);
        assert_eq!((again.project, &std::fs::read(&path).unwrap()), (tree.project, &sound));
        std::fs::write(&path, []).unwrap();
        assert_ne!(home.init(&home.observed("work", &["s"], &[]), 9).project, tree.project);
        std::fs::write(&path, &sound).unwrap();
        // One of an older version gets its checksum with the next look.
        let lines: Vec<&[u8]> = sound.split_inclusive(|byte| *byte == b'\n').collect();
        std::fs::write(&path, lines[..2].concat()).unwrap();
        review(&home.dirs, &tree, |_| panic!("it is the same")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), sound);
    }

    #[test]
    fn what_the_user_says_while_others_write_the_record_stays() {
        let home = Home::new();
        let observed = home.observed("work", &[], &[]);
        let tree = home.init(&observed, 1);
        let identity = || Identity::read(&home.dirs.project(tree.project)).unwrap().unwrap();
        // As an older version wrote it.
        let path = home.dirs.project(tree.project).identity;
        let limited = Identity { authors: Some(serde_json::json!({"signed": true})), ..identity() };
        std::fs::write(&path, serde_json::to_vec(&limited).unwrap()).unwrap();
        let with_git = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        learn_history(&home.dirs, &tree, |_| {
            assert!(drop_limits(&home.dirs, tree.project).unwrap());
            with_git.clone()
        })
        .unwrap();
        assert_eq!((identity().root_commits, identity().authors), (vec!["r".to_owned()], None));
        assert!(!drop_limits(&home.dirs, tree.project).unwrap());
    }

    #[test]
    fn a_linked_worktree_vouches_for_its_main_tree() {
        let home = Home::new();
        let main = home.observed("main", &["r"], &[]);
        let mut linked = home.observed("linked", &["r"], &[]);
        linked.main_root = Some(main.root.clone());
        let tree = home.init(&linked, 1);
        assert_eq!((&tree.root, &tree.main_root), (&linked.root, &main.root));
        assert_eq!(Tree::find(&home.dirs, &main.root).unwrap().project, tree.project);
        let identity = Identity::read(&home.dirs.project(tree.project)).unwrap().unwrap();
        assert_eq!((identity.paths, identity.worktrees), (vec![main.root], vec![linked.root]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_no_transcript_can_name_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let home = Home::new();
        let mut observed = home.observed("work", &[], &[]);
        observed.root.push(std::ffi::OsString::from_vec(b"caf\xe9".to_vec()));
        let refused =
            vouch(&home.dirs, &observed, Some(Mode::Committed), [1; 16], NOW).unwrap_err();
        assert!(refused.to_string().contains("not UTF-8"), "{refused}");
        assert!(list(&home.dirs).unwrap().is_empty());
    }

    #[test]
    fn a_mode_stays_when_the_tree_is_trusted_again() {
        let home = Home::new();
        let observed = home.observed("work", &["r"], &[]);
        let tree = vouch(&home.dirs, &observed, Some(Mode::Private), [1; 16], NOW).unwrap();
        assert_eq!(mode(&home.dirs, tree.project).unwrap(), Mode::Private);
        vouch(&home.dirs, &observed, None, [2; 16], NOW).unwrap();
        assert_eq!(mode(&home.dirs, tree.project).unwrap(), Mode::Private);
    }
}
