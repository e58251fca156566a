//! The working trees of a project that are there now.

use anyhow::Result;
use memory_store::ProjectId;
use memory_store::identity::{self, Identity};
use memory_store::layout::{Place, Tree, UserDirs};

use crate::git;

/// Looks again at those working trees of a project that are not what was vouched for any more. Before
/// that nothing of them is read.
pub fn review(dirs: &UserDirs, project: ProjectId) -> Result<()> {
    let identity = Identity::read(&dirs.project(project))?;
    for root in identity.into_iter().flat_map(|identity| identity.paths) {
        match Tree::locate(dirs, &root) {
            Some(Place::Trusted(tree) | Place::Changed(tree))
                if tree.project == project && tree.main_root == root =>
            {
                identity::review(dirs, &tree, git::observe)?;
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// The working trees, the main one first. Linked worktrees that git knows are found although no
/// session ran in them yet.
pub fn present(dirs: &UserDirs, tree: &Tree) -> Vec<Tree> {
    let identity = Identity::read(&dirs.project(tree.project)).ok().flatten();
    let mut roots = vec![tree.main_root.clone()];
    roots.extend(git::worktrees(&tree.main_root));
    roots.push(tree.root.clone());
    roots.extend(
        identity.into_iter().flat_map(|identity| [identity.paths, identity.worktrees].concat()),
    );
    let mut trees: Vec<Tree> = Vec::new();
    for root in roots {
        let root = root.canonicalize().unwrap_or(root);
        if !root.is_dir() || trees.iter().any(|known| known.root == root) {
            continue;
        }
        let found = Tree::find(dirs, &root).filter(|found| found.root == root);
        trees.extend(found.filter(|found| found.project == tree.project));
    }
    trees
}

/// The main tree of a project, by its record.
pub fn main(dirs: &UserDirs, project: ProjectId) -> Option<Tree> {
    let identity = Identity::read(&dirs.project(project)).ok().flatten()?;
    identity
        .paths
        .iter()
        .filter(|root| root.is_dir())
        .find_map(|root| Tree::find(dirs, root).filter(|tree| tree.project == project))
}
