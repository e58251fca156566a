//! The existing working trees of a project.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use memory_store::ProjectId;
use memory_store::identity::{self, Identity};
use memory_store::layout::{Place, Tree, UserDirs};

use crate::git;

/// Checks the trust in those working trees of a project that changed since a person trusted them, before any of their
/// files is read, and repairs the project's record. Returns a description of the repairs, if any.
pub fn review(dirs: &UserDirs, project: ProjectId) -> Result<Option<String>> {
    let mended = identity::mend(dirs, project)?;
    let identity = Identity::read(&dirs.project(project))?;
    let roots = identity.into_iter().flat_map(|it| [it.paths, it.worktrees].concat());
    let mut seen = BTreeSet::new();
    for place in roots.filter_map(|root| Tree::locate(dirs, &root)) {
        let is_ours = |tree: &Tree| tree.project == project;
        match place {
            Place::Moved(moved) if is_ours(&moved.tree) => {
                identity::adopt(dirs, &moved, git::observe)?;
            }
            Place::Trusted(tree) | Place::Changed(tree)
                if is_ours(&tree) && seen.insert(tree.main_root.clone()) =>
            {
                identity::review(dirs, &tree, git::observe)?;
            }
            Place::Trusted(_) | Place::Changed(_) | Place::Moved(_) => {}
        }
    }
    Ok(mended)
}

/// Records that a project's folder was moved to this path.
pub fn adopt(dirs: &UserDirs, project: ProjectId, root: &Path) -> Result<()> {
    match Tree::locate(dirs, root) {
        Some(Place::Moved(moved)) if moved.tree.project == project => {
            identity::adopt(dirs, &moved, git::observe)?;
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// Returns the existing working trees, the main one first. Linked worktrees that git lists are included even if no
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

/// Returns the main working tree of a project according to its record; `None` if there is none.
pub fn main(dirs: &UserDirs, project: ProjectId) -> Option<Tree> {
    let identity = Identity::read(&dirs.project(project)).ok().flatten()?;
    let mut roots = identity.paths.iter().chain(&identity.worktrees).filter(|root| root.is_dir());
    let tree = roots.find_map(|root| Tree::find(dirs, root).filter(|it| it.project == project))?;
    Some(Tree { root: tree.main_root.clone(), ..tree })
}
