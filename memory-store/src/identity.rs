//! Projects of this machine, their working trees, and the trust in these trees.
//!
//! A store is read only after a person ran `init` or `trust`. The trust is recorded in `by-path`, outside of the
//! repository, so that no file in a repository can grant trust. A folder at a recorded path is accepted only while its
//! tree fingerprint matches ([`crate::fs::tree_fingerprint`]), or after git has confirmed the folder ([`review`]).

mod observed;
mod record;
mod remote;

use std::path::{Path, PathBuf};

pub use observed::Observed;
pub use record::{Earlier, Identity, Mode};

use crate::error::{At, Error, Result};
use crate::format_version;
use crate::fs::disk::{Privacy, remove, replace};
use crate::fs::tree_fingerprint::{TreeFingerprint, UntrustedTree, folder_key};
use crate::git_dirs::GitDirs;
use crate::id::ProjectId;
use crate::layout::{Tree, TreeDir, TreeRecord, UserDirs, by_path_record};
use crate::stored::lock;
use crate::time::Timestamp;
use crate::tree::{KnownFingerprint, Moved, Place, record_with_home};

/// A project that has a record on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The project's record.
    pub identity: Identity,
    /// The project's trusted working trees that still exist.
    pub trees: Vec<Tree>,
}

/// Returns the mode of a project, which determines where its memories are stored. Without a record, they are in the
/// repository.
pub fn mode(dirs: &UserDirs, project: ProjectId) -> Result<Mode> {
    Ok(Identity::read(&dirs.project(project))?.map(|identity| identity.mode).unwrap_or_default())
}

/// Trusts a working tree: from now on its store is read and its sessions are processed. A tree with a record stays in
/// its project. A tree that is certainly another clone of a recorded project joins that project. Any other tree becomes
/// a new project with the id `random`. `mode` sets where the project's memories are stored; `None` leaves this
/// unchanged.
pub fn vouch(
    dirs: &UserDirs,
    observed: &Observed,
    mode: Option<Mode>,
    random: [u8; 16],
    now: Timestamp,
) -> Result<Tree> {
    let observed = observed.clone().placed(dirs);
    let identity = known(dirs, &observed)?.unwrap_or_else(|| Identity::new(random, now));
    record(dirs, identity, &observed, mode)
}

/// Adds a working tree to a project at the user's request.
pub fn link(dirs: &UserDirs, observed: &Observed, project: ProjectId) -> Result<Tree> {
    let identity = Identity::read(&dirs.project(project))?
        .ok_or_else(|| Error::NotFound { id: project.to_string(), found: 0 })?;
    let observed = &observed.clone().placed(dirs);
    if let Some(before) = recorded(dirs, observed)?.filter(|&before| before != project) {
        leave(dirs, before, observed.main_root())?;
    }
    record(dirs, identity, observed, None)
}

/// Reviews a working tree whose record is missing or differs from the disk, before any of its files are read. A tree
/// with the same history gets a new tree fingerprint; any other tree is no longer read. `observe` runs git and is
/// called only if necessary. Returns the reason if the tree is rejected; `None` if it is accepted or does not exist.
pub fn review(
    dirs: &UserDirs,
    tree: &Tree,
    observe: impl FnOnce(&Path) -> Observed,
) -> Result<Option<&'static str>> {
    let root = &tree.main_root;
    if format_version::check_private(&dirs.project(tree.project)).is_err() {
        // The data has the format of a later version, which may record trees in another way.
        return Ok(None);
    }
    let Some((folder, record)) = tree.record(dirs) else { return Ok(None) };
    let Some(now) = TreeFingerprint::of(&folder) else { return Ok(None) };
    let has_home = record.home.as_ref().is_none_or(|home| home == root);
    let is_whole = record.is_summed && has_home && is_found_when_moved(dirs, &folder);
    match &record.fingerprint {
        KnownFingerprint::As(fingerprint) if *fingerprint == now && is_whole => return Ok(None),
        KnownFingerprint::As(fingerprint) if fingerprint.holds(&now) => {
            if !has_home {
                note_home(dirs, record.project, root)?;
            }
            write_records(dirs, record.project, root)?;
            return Ok(None);
        }
        KnownFingerprint::As(_) | KnownFingerprint::No | KnownFingerprint::Broken => {}
    }
    let observed = observe(root).of(root);
    let is_silent = observed.root_commits.is_empty() && observed.remotes.is_empty();
    if record.fingerprint == KnownFingerprint::No && is_silent && now.has_git() && now.is_ours() {
        // Git cannot be queried now, or there is no commit yet, so the record is unchanged.
        return Ok(None);
    }
    let identity = Identity::read(&dirs.project(record.project))?;
    let lost = || Identity::new(record.project.0, Timestamp::default());
    let identity = identity.unwrap_or_else(lost);
    let Some(why) = identity.objection(&observed, &record.fingerprint, &now) else {
        return self::record(dirs, identity, &observed, None).map(|_| None);
    };
    if record.fingerprint == KnownFingerprint::No {
        let mut broken = by_path_record(record.project, &folder, None);
        broken.extend_from_slice(b"unknown\n");
        replace(&dirs.by_path(&folder), &broken, Privacy::Private)?;
        if let Some(key) = folder_key(&folder) {
            remove(&dirs.by_folder(&key))?;
        }
    }
    let state = dirs.tree(root);
    let strange = UntrustedTree { fingerprint: now, why: why.to_owned() };
    let known = [&state.untrusted_tree, &state.untrusted_tree_told];
    if !known.iter().any(|path| UntrustedTree::read(path).as_ref() == Some(&strange)) {
        replace(&state.untrusted_tree, strange.text().as_bytes(), Privacy::Private)?;
    }
    Ok(Some(why))
}

/// Records a trusted working tree at its new path. `observe` runs git.
pub fn adopt(
    dirs: &UserDirs,
    moved: &Moved,
    observe: impl FnOnce(&Path) -> Observed,
) -> Result<Tree> {
    let tree = &moved.tree;
    format_version::check_private(&dirs.project(tree.project))?;
    format_version::check_user(dirs)?;
    let lost = || Identity::new(tree.project.0, Timestamp::default());
    let identity = Identity::read(&dirs.project(tree.project))?.unwrap_or_else(lost);
    let observed = Observed { main_root: None, ..observe(&tree.main_root).of(&tree.main_root) };
    if moved.is_clear {
        moved.carry_state(dirs);
    } else {
        remove_all_derived(dirs, tree)?;
    }
    note(dirs, identity, &observed, None)?;
    Ok(tree.clone())
}

/// Rewrites a damaged or missing record of a project. Returns a description of the repair, or `None` if nothing was
/// repaired.
///
/// # Errors
/// If files cannot be read or written.
pub fn mend(dirs: &UserDirs, project: ProjectId) -> Result<Option<String>> {
    Identity::mend(dirs, project)
}

/// Adds root commits and remotes to a project that had none when it was set up, so that a new clone is recognised.
/// `observe` runs git and is called only if necessary.
pub fn learn_history(
    dirs: &UserDirs,
    tree: &Tree,
    observe: impl FnOnce(&Path) -> Observed,
) -> Result<()> {
    let Some(identity) = Identity::read(&dirs.project(tree.project))? else { return Ok(()) };
    if !identity.root_commits.is_empty() && !identity.remotes.is_empty() {
        return Ok(());
    }
    // The user may change the project while git runs.
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

/// Records the user's decision about sessions that may belong to another project.
///
/// # Errors
/// If the record cannot be read or written.
pub fn decide_earlier(dirs: &UserDirs, project: ProjectId, decision: Earlier) -> Result<()> {
    change(dirs, project, |known| {
        known.iter_mut().for_each(|identity| identity.earlier = Some(decision));
        Ok(())
    })
}

/// Records that turns of sessions that ended before `until` are kept regardless of their age.
///
/// # Errors
/// If the record cannot be read or written.
pub fn keep_turns(dirs: &UserDirs, project: ProjectId, until: Timestamp) -> Result<()> {
    change(dirs, project, |known| {
        known.iter_mut().for_each(|known| known.kept_until = known.kept_until.max(Some(until)));
        Ok(())
    })
}

/// Returns the time before which sessions must have ended for their turns to be kept regardless of their age.
///
/// # Errors
/// If the record cannot be read.
pub fn turns_kept_until(dirs: &UserDirs, project: ProjectId) -> Result<Timestamp> {
    let identity = Identity::read(&dirs.project(project))?;
    Ok(identity.and_then(|identity| identity.kept_until).unwrap_or_default())
}

/// Removes the restrictions on other people's commits that an older version recorded. Returns whether there were any.
///
/// # Errors
/// If the record cannot be read or written.
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

/// Revokes trust in a working tree, so that its files are no longer read. Memories that were learned there are kept.
pub fn untrust(dirs: &UserDirs, root: &Path) -> Result<()> {
    let Some(tree) = Tree::locate(dirs, root).map(Place::tree) else { return Ok(()) };
    leave(dirs, tree.project, &tree.main_root)?;
    change(dirs, tree.project, |known| {
        known.iter_mut().for_each(|known| add(&mut known.revoked, [tree.main_root.clone()]));
        Ok(())
    })
}

/// Lists the projects of this machine by id, except projects whose record cannot be read.
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

/// Returns the existing roots of the trusted working trees in a project's record.
pub(crate) fn known_roots(dirs: &UserDirs, project: ProjectId) -> Vec<PathBuf> {
    let identity = Identity::read(&dirs.project(project)).ok().flatten();
    let trees = identity.map(|identity| trees(dirs, &identity)).unwrap_or_default();
    trees.into_iter().map(|tree| tree.root).collect()
}

/// Returns the recorded project of a tree, or the project that it joins automatically. `None` if the tree would become
/// a new project.
fn recognise(dirs: &UserDirs, observed: &Observed) -> Result<Option<Identity>> {
    if let Some(project) = recorded(dirs, observed)? {
        let home = dirs.project(project);
        let lost = || Identity::new(project.0, Timestamp::default());
        return Ok(Some(Identity::read(&home)?.unwrap_or_else(lost)));
    }
    let mut joined: Vec<Known> = list(dirs)?;
    joined.retain(|known| known.identity.is_joined_by(observed));
    // If two projects match, the user has to decide.
    Ok(match joined.len() {
        1 => joined.pop().map(|known| known.identity),
        _ => None,
    })
}

/// Returns the project that a working tree joins when a person trusts it: the project that it is recognised as, or its
/// project before the trust was revoked, the record was damaged, or the tree was moved. `None` if there is none.
pub fn known(dirs: &UserDirs, observed: &Observed) -> Result<Option<Identity>> {
    if let Some(identity) = recognise(dirs, observed)? {
        return Ok(Some(identity));
    }
    // Without a root commit, only the folder's tree fingerprint distinguishes successive projects at the same path.
    let is_another = matches!(Tree::locate(dirs, observed.main_root()), Some(Place::Changed(_)));
    let known = list(dirs)?.into_iter().map(|known| known.identity);
    let (mut before, others): (Vec<Identity>, Vec<Identity>) = known.partition(|identity| {
        identity.was_vouched_for(observed) && !(is_another && identity.root_commits.is_empty())
    });
    if let Some(identity) = before.pop() {
        return Ok(Some(identity));
    }
    let mut moved: Vec<Identity> =
        others.into_iter().filter(|identity| identity.was_moved_to(observed)).collect();
    Ok(if moved.len() == 1 { moved.pop() } else { None })
}

fn recorded(dirs: &UserDirs, observed: &Observed) -> Result<Option<ProjectId>> {
    let main_root = observed.main_root();
    let found = Tree::find(dirs, main_root).filter(|tree| tree.main_root == main_root);
    Ok(found.map(|tree| tree.project))
}

/// Changes the record of a project under a lock, so that no program overwrites changes by another. `change` gets `None`
/// for a project without a record.
fn change<T, E: From<Error>>(
    dirs: &UserDirs,
    project: ProjectId,
    change: impl FnOnce(&mut Option<Identity>) -> Result<T, E>,
) -> Result<T, E> {
    let home = dirs.project(project);
    format_version::check_user(dirs)?;
    // While a project is being created, no other program uses it, and no lock file may remain if the creation fails.
    let is_new = !home.folder.is_dir();
    let _lock = (!is_new).then(|| lock(&home)).transpose()?;
    let before = Identity::read(&home)?;
    let mut identity = before.clone();
    let done = change(&mut identity)?;
    match identity {
        Some(identity) if before.as_ref() != Some(&identity) => {
            identity.write(dirs)?;
            if is_new {
                format_version::begin(&home)?;
            }
        }
        Some(_) | None => {}
    }
    Ok(done)
}

/// Records that a working tree belongs to this project, and removes data derived there for another project. `mode` sets
/// where memories are stored from now on.
fn record(
    dirs: &UserDirs,
    identity: Identity,
    observed: &Observed,
    mode: Option<Mode>,
) -> Result<Tree> {
    let tree = observed.tree(identity.project);
    let known = tree.record(dirs).map(|(_, record)| record.project);
    let is_anothers = known.is_none_or(|known| known != tree.project);
    if is_anothers {
        // The data are removed before the new record permits reading the tree.
        remove_all_derived(dirs, &tree)?;
    }
    note(dirs, identity, observed, mode)?;
    Ok(tree)
}

fn note(
    dirs: &UserDirs,
    identity: Identity,
    observed: &Observed,
    mode: Option<Mode>,
) -> Result<()> {
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
    write_records(dirs, project, observed.main_root())
}

/// Removes data derived for another project, because it must not be given to sessions of this project.
fn remove_all_derived(dirs: &UserDirs, tree: &Tree) -> Result<()> {
    [&tree.main_root, &tree.root].into_iter().try_for_each(|root| remove_derived(&dirs.tree(root)))
}

/// Records which working tree contains the memories of a repository without a main working tree.
fn note_home(dirs: &UserDirs, project: ProjectId, root: &Path) -> Result<()> {
    change(dirs, project, |known| {
        known.iter_mut().for_each(|known| add(&mut known.paths, [root.to_owned()]));
        Ok(())
    })
}

/// Returns the folders to record so that the working tree with memories and the trees linked to it are found. For a
/// separate git directory, the working tree is recorded with it.
fn folders_of(main_root: &Path) -> Vec<(PathBuf, Option<&Path>)> {
    let root = (main_root.to_owned(), None);
    match GitDirs::of(main_root) {
        // Without a main working tree, no folder other than the git directory is permanent.
        Some(git) if git.is_linked() => vec![(git.common, Some(main_root))],
        Some(git) if git.common.parent() != Some(main_root) => {
            vec![root, (git.common, Some(main_root))]
        }
        Some(_) | None => vec![root],
    }
}

fn write_records(dirs: &UserDirs, project: ProjectId, main_root: &Path) -> Result<()> {
    for (folder, home) in folders_of(main_root) {
        let fingerprint = TreeFingerprint::of(&folder);
        let record = record_with_home(project, &folder, fingerprint.as_ref(), home);
        let by_folder = folder_key(&folder).map(|key| dirs.by_folder(&key));
        for path in std::iter::once(dirs.by_path(&folder)).chain(by_folder) {
            if std::fs::read(&path).ok().as_ref() != Some(&record) {
                replace(&path, &record, Privacy::Private)?;
            }
        }
    }
    let state = dirs.tree(main_root);
    [&state.untrusted_tree, &state.untrusted_tree_told]
        .into_iter()
        .try_for_each(|path| remove(path))
}

/// Returns whether a folder could be recognised after a move. True if the file system cannot identify folders.
fn is_found_when_moved(dirs: &UserDirs, folder: &Path) -> bool {
    folder_key(folder).is_none_or(|key| dirs.by_folder(&key).exists())
}

/// Removes data derived from a project's memories and sessions; a sync derives the data again.
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
    folders_of(root).iter().try_for_each(|(folder, _)| remove_records(dirs, project, folder))?;
    change(dirs, project, |known| {
        known.iter_mut().for_each(|known| known.paths.retain(|path| path != root));
        Ok(())
    })
}

fn remove_records(dirs: &UserDirs, project: ProjectId, folder: &Path) -> Result<()> {
    // A record that names another project now must not be removed.
    let by_folder = folder_key(folder).map(|key| dirs.by_folder(&key));
    for path in std::iter::once(dirs.by_path(folder)).chain(by_folder) {
        if TreeRecord::read_file(&path).is_some_and(|record| record.project == project) {
            remove(&path)?;
        }
    }
    Ok(())
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
        // A repeated call returns the same project, regardless of the random bits.
        assert_eq!(home.init(&observed, 2), tree);
        assert_eq!(list(&home.dirs).unwrap().len(), 1);

        untrust(&home.dirs, &observed.root).unwrap();
        assert_eq!(Tree::find(&home.dirs, &observed.root), None);
        assert!(list(&home.dirs).unwrap()[0].trees.is_empty());
        // A second call returns the same project, but not for another repository at its path.
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

        // If the user links the tree, it belongs to the project.
        assert_eq!(link(&home.dirs, &copy, first.project).unwrap().project, first.project);
        assert_eq!(Tree::find(&home.dirs, &copy.root).unwrap().project, first.project);
        assert!(link(&home.dirs, &copy, ProjectId([9; 16])).is_err());
        // A tree that was a separate project leaves that project.
        link(&home.dirs, &fork, first.project).unwrap();
        let known = list(&home.dirs).unwrap();
        assert_eq!(known.iter().map(|known| known.trees.len()).collect::<Vec<_>>(), [4, 0]);
    }

    /// Replaces the folder of a tree by a different one, as a new clone does.
    fn replace_folder(tree: &Tree) {
        std::fs::remove_dir_all(&tree.root).unwrap();
        // Some file systems record creation times with a resolution of several milliseconds.
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
        // Git is not run if the folder is unchanged.
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

        // A new clone is recognised; a shallow clone is recognised by its remote.
        let shallow = Observed {
            shallow: true,
            ..home.observed("work", &["x"], &["https://example.com/a/b"])
        };
        assert_eq!(look(&home, &tree, &shallow), (None, true));
        assert!(!home.dirs.tree(&tree.root).untrusted_tree.exists());
        replace_folder(&tree);
        assert_eq!(look(&home, &tree, &observed), (None, true));
        // A person may declare that another history is the same project, or that it is a new project.
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
        // The folder may become a repository and then be recognised by its history.
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
        // A remote that was added since does not make the tree untrusted.
        let pushed = home.observed("work", &["r"], &["git@example.com:a/b.git"]);
        assert_eq!(look(&home, &tree, &pushed), (None, true));
        assert_eq!(std::fs::read(&path).unwrap(), sealed);

        std::fs::write(&path, by_path_record(tree.project, &tree.root, None)).unwrap();
        let evil = home.observed("work", &["s"], &[]);
        assert_eq!(look(&home, &tree, &evil), (Some("it has another history"), false));
        // Hooks refuse the folder until the old repository is there again.
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
        // If a person trusts the tree again, it belongs to the same project.
        std::fs::write(&path, []).unwrap();
        let again = home.init(&home.observed("work", &["r"], &[]), 9);
        assert_eq!((again.project, &std::fs::read(&path).unwrap()), (tree.project, &sound));
        // Without the folder's other record, the tree is recognised only by its history.
        std::fs::write(&path, []).unwrap();
        std::fs::remove_dir_all(home.dirs.data.join("by-folder")).unwrap();
        assert_ne!(home.init(&home.observed("work", &["s"], &[]), 9).project, tree.project);
        std::fs::write(&path, &sound).unwrap();
        std::fs::remove_dir_all(home.dirs.data.join("by-folder")).unwrap();
        // A record that an older version wrote gets its checksum at the next review.
        let lines: Vec<&[u8]> = sound.split_inclusive(|byte| *byte == b'\n').collect();
        std::fs::write(&path, lines[..2].concat()).unwrap();
        review(&home.dirs, &tree, |_| panic!("it is the same")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), sound);
    }

    #[test]
    fn a_lost_record_of_a_path_or_of_a_project_is_written_again() {
        let home = Home::new();
        let observed = home.observed("work", &["r"], &[]);
        let tree = vouch(&home.dirs, &observed, Some(Mode::Private), [1; 16], NOW).unwrap();
        let (dirs, root) = (&home.dirs, &tree.root);
        let record = std::fs::read(dirs.by_path(root)).unwrap();
        for lost in [&b""[..], b"x", &record[..20]] {
            std::fs::write(dirs.by_path(root), lost).unwrap();
            if folder_key(root).is_none() {
                break;
            }
            let Some(Place::Moved(moved)) = Tree::locate(dirs, root) else { panic!("{lost:?}") };
            assert_eq!(adopt(dirs, &moved, |_| observed.clone()).unwrap(), tree);
            assert_eq!(std::fs::read(dirs.by_path(root)).unwrap(), record);
        }
        let project = dirs.project(tree.project);
        let sound = std::fs::read(&project.identity).unwrap();
        let identity = Identity::read(&project).unwrap();
        assert_eq!(mend(dirs, tree.project).unwrap(), None);
        for lost in [None, Some(&sound[..30]), Some(b"")] {
            match lost {
                None => std::fs::remove_file(&project.identity).unwrap(),
                Some(bytes) => std::fs::write(&project.identity, bytes).unwrap(),
            }
            assert_eq!(Identity::read(&project).unwrap(), identity);
            assert!(mend(dirs, tree.project).unwrap().unwrap().contains("written again"));
            assert_eq!(std::fs::read(&project.identity).unwrap(), sound);
        }
        // Without a copy, the record is rebuilt only if memories were certainly not private.
        std::fs::write(&project.identity, b"{").unwrap();
        std::fs::remove_file(&project.identity_copy).unwrap();
        assert_eq!(mend(dirs, tree.project).unwrap(), None);
        assert!(Identity::read(&project).is_err());
        let memories = root.join(".throughline/memories");
        std::fs::create_dir_all(&memories).unwrap();
        std::fs::write(memories.join("one.md"), "x").unwrap();
        assert!(mend(dirs, tree.project).unwrap().is_some());
        let rebuilt = Identity::read(&project).unwrap().unwrap();
        assert_eq!((rebuilt.mode, rebuilt.paths), (Mode::Committed, vec![root.clone()]));
    }

    #[test]
    fn a_project_whose_folders_are_gone_is_joined_by_its_history_when_a_person_vouches() {
        let home = Home::new();
        let tree = home.init(&home.observed("work", &["r"], &[]), 1);
        let copy = home.observed("copy", &["r"], &[]);
        assert!(known(&home.dirs, &copy).unwrap().is_none());
        std::fs::remove_dir_all(&tree.root).unwrap();
        let fork = home.observed("fork", &["r"], &["git@example.com:me/b.git"]);
        assert!(known(&home.dirs, &fork).unwrap().is_none());
        assert_eq!(Tree::find(&home.dirs, &copy.root), None);
        assert_eq!(home.init(&copy, 2).project, tree.project);
    }

    #[test]
    fn a_users_change_survives_a_concurrent_write_of_the_project_record() {
        let home = Home::new();
        let observed = home.observed("work", &[], &[]);
        let tree = home.init(&observed, 1);
        let identity = || Identity::read(&home.dirs.project(tree.project)).unwrap().unwrap();
        // The record has the form of an older version.
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
        let home = Home::new();
        let mut observed = home.observed("work", &[], &[]);
        observed.root.push(crate::fs::dir::path_of_bytes(b"caf\xe9"));
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
