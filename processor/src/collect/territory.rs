//! Territory of a project: decides which recorded working directories belong to it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use memory_store::git_dirs;
use memory_store::identity::Identity;
use memory_store::layout::{Place, Tree, UserDirs};
use unicode_normalization::UnicodeNormalization as _;

use crate::git;
use crate::transcript::session::Turn;

/// The working trees of a project, including former ones.
#[derive(Clone, Debug)]
pub struct Territory {
    dirs: UserDirs,
    tree: Tree,
    roots: Vec<PathBuf>,
    /// Other spellings of roots: paths through links, and paths with a different Unicode composition of letters.
    aliases: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Cache of the claims to working directories. Sessions have few different ones.
    claims: Arc<Mutex<HashMap<String, TerritoryClaim>>>,
}

/// Result of the check to which project a recorded working directory belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerritoryClaim {
    /// The directory is in the project's working tree with this root.
    Ours(PathBuf),
    /// The directory is at the path of a former working tree with this root, where another folder is now.
    Replaced(PathBuf),
    /// The directory is in the repository with this root. The repository is inside the project's tree but not part of
    /// the project.
    Inner(PathBuf),
    /// The directory is not in the project's territory.
    Others,
}

impl Territory {
    /// Collects the roots of the project's working trees: the roots in the project's record, the roots that git lists
    /// now, and the roots in `known` from earlier runs.
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
        let (aliases, claims) = (Arc::default(), Arc::default());
        Self { dirs: dirs.clone(), tree: tree.clone(), roots, aliases, claims }
    }

    /// Returns the roots in all spellings found so far, sorted.
    pub fn roots(&self) -> Vec<PathBuf> {
        let aliases = self.aliases.lock().map(|aliases| aliases.clone()).unwrap_or_default();
        let mut roots: Vec<PathBuf> = self.roots.iter().cloned().chain(aliases).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// Returns the roots as strings, as extraction needs them.
    pub fn folders(&self) -> impl Iterator<Item = String> {
        self.roots().into_iter().filter_map(|root| root.into_os_string().into_string().ok())
    }

    /// Returns the project's tree.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the root of the working tree that contains a recorded working directory; `None` if the directory is not
    /// the project's.
    pub fn root_of(&self, cwd: &str) -> Option<PathBuf> {
        match self.claim(cwd) {
            TerritoryClaim::Ours(root) | TerritoryClaim::Replaced(root) => Some(root),
            TerritoryClaim::Inner(_) | TerritoryClaim::Others => None,
        }
    }

    /// Returns the project's claim to a recorded working directory.
    pub fn claim(&self, cwd: &str) -> TerritoryClaim {
        if let Some(claim) = self.claims.lock().ok().and_then(|claims| claims.get(cwd).cloned()) {
            return claim;
        }
        let claim = self.look_for(Path::new(cwd)).unwrap_or(TerritoryClaim::Others);
        if let Ok(mut claims) = self.claims.lock() {
            claims.insert(cwd.to_owned(), claim.clone());
        }
        claim
    }

    fn look_for(&self, cwd: &Path) -> Option<TerritoryClaim> {
        if !cwd.is_absolute() {
            return None;
        }
        let (root, real) = self.root_around(cwd).or_else(|| self.root_around(&resolved(cwd)?))?;
        self.note_alias(cwd, &root, &real);
        let place = Tree::locate(&self.dirs, &real);
        let is_foreign = place.as_ref().is_none_or(|it| it.project() != self.tree.project);
        Some(match place {
            // Another project has a record for a folder that no longer exists.
            None | Some(Place::Changed(_)) if is_foreign => inner_repository(&real, &root)
                .map_or(TerritoryClaim::Ours(root), TerritoryClaim::Inner),
            Some(place) if is_foreign => match self.roots.contains(&place.tree().main_root) {
                // This project was at this path earlier.
                true => TerritoryClaim::Replaced(root),
                false => TerritoryClaim::Others,
            },
            Some(Place::Changed(tree)) if tree.main_root.exists() => {
                TerritoryClaim::Replaced(tree.root)
            }
            Some(place) => TerritoryClaim::Ours(place.tree().root),
            None => TerritoryClaim::Others,
        })
    }

    /// Returns the deepest root that contains a path, and the path in the spelling of that root.
    fn root_around(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let composed_path = composed(path);
        let around = self.roots.iter().filter_map(|root| {
            if path.starts_with(root) {
                return Some((root, path.to_owned()));
            }
            let is_alike = composed_path.as_ref()?.starts_with(composed(root).as_ref()?);
            let rest: PathBuf = path.components().skip(root.components().count()).collect();
            is_alike.then(|| (root, root.join(rest)))
        });
        let (root, real) = around.max_by_key(|(root, _)| root.as_os_str().len())?;
        Some((root.clone(), real))
    }

    /// Records another spelling of a root: the recorded path without the part that is the same in both paths.
    fn note_alias(&self, recorded: &Path, root: &Path, real: &Path) {
        let Ok(below) = real.strip_prefix(root) else { return };
        let mut alias = recorded.to_owned();
        for _ in below.components() {
            alias.pop();
        }
        let leads_here = || {
            self.root_around(&alias).is_some_and(|(found, real)| found == root && real == root)
                || alias.canonicalize().is_ok_and(|real| real == root)
        };
        if alias != root
            && alias.parent().is_some()
            && leads_here()
            && let Ok(mut aliases) = self.aliases.lock()
        {
            aliases.insert(alias);
        }
    }

    /// Returns whether a turn belongs to this project. A session may move through several projects, and a turn belongs
    /// to the project in which it began. A repository inside the project that is not a separate project counts as the
    /// project.
    pub fn is_ours(&self, turn: &Turn) -> bool {
        turn.cwd.is_empty() || !matches!(self.claim(&turn.cwd), TerritoryClaim::Others)
    }
}

/// Returns a path with links in its existing part resolved; `None` if it contains no links.
fn resolved(path: &Path) -> Option<PathBuf> {
    let (there, real) =
        path.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(there).ok()?;
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    (real != path).then_some(real)
}

/// Returns a path with its letters in composed form (Unicode NFC); `None` if the path is ASCII.
fn composed(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    (!text.is_ascii()).then(|| PathBuf::from(text.nfc().collect::<String>()))
}

/// Returns the root of the repository that contains a folder; `None` if there is none below `root`.
fn inner_repository(folder: &Path, root: &Path) -> Option<PathBuf> {
    let mut folders = folder.ancestors().take_while(|folder| *folder != root);
    folders.find(|folder| git_dirs::is_root(folder)).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store::identity::Mode;

    use crate::for_tests::{Project, git};

    #[test]
    fn a_directory_is_claimed_in_every_spelling() {
        let project = Project::new(Mode::Committed);
        let base = project.root().parent().unwrap().to_owned();
        let root = base.join("caf\u{e9}");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let tree = Tree { root: root.clone(), main_root: root.clone(), ..project.tree.clone() };
        let link = base.join("link");
        crate::for_tests::symlink(&root, &link).unwrap();
        let territory = Territory::new(&project.dirs, &tree, &[]);
        let claim = |path: PathBuf| territory.claim(path.to_str().unwrap());
        for path in
            [root.join("src"), base.join("cafe\u{301}/src"), link.join("src/gone"), link.clone()]
        {
            assert_eq!(
                claim(path.clone()),
                TerritoryClaim::Ours(root.clone()),
                "{}",
                path.display()
            );
        }
        let roots = territory.roots();
        for spelling in [root.clone(), base.join("cafe\u{301}"), link] {
            assert!(roots.contains(&spelling), "{} in {roots:?}", spelling.display());
        }
        assert_eq!(claim(base.join("cafe")), TerritoryClaim::Others);
        assert_eq!(claim("src".into()), TerritoryClaim::Others);
    }

    #[test]
    fn a_repository_inside_is_not_claimed_but_by_a_session_that_goes_there() {
        let project = Project::new(Mode::Committed);
        let inner = project.root().join("vendor/inner");
        std::fs::create_dir_all(inner.join("src")).unwrap();
        git(&inner, &["init", "-q"]);
        let territory = Territory::new(&project.dirs, &project.tree, &[]);
        let cwd = inner.join("src").to_str().unwrap().to_owned();
        assert_eq!(territory.claim(&cwd), TerritoryClaim::Inner(inner));
        assert_eq!(territory.root_of(&cwd), None);
        assert!(territory.is_ours(&Turn { cwd, ..Turn::default() }));
    }
}
