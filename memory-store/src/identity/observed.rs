//! Observation of a working tree.

use std::path::{Path, PathBuf};

use super::remote;
use crate::id::ProjectId;
use crate::layout::{Tree, UserDirs};

/// Observation of a working tree, made by callers that may run git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Its root, canonical.
    pub root: PathBuf,
    /// The root of the working tree that contains the memories, if that is another one: the main one of a linked
    /// worktree.
    pub main_root: Option<PathBuf>,
    /// Root commits of its history; empty without git.
    pub root_commits: Vec<String>,
    /// The addresses of its remotes, as reported by git.
    pub remotes: Vec<String>,
    /// Roots of its linked worktrees.
    pub worktrees: Vec<PathBuf>,
    /// True if its history is truncated, so that its root commits are meaningless.
    pub shallow: bool,
}

impl Observed {
    /// Returns it if it is about this main working tree, or else an empty observation. A repository above a folder
    /// gives no information on the folder.
    pub(super) fn of(self, root: &Path) -> Self {
        if self.main_root() == root {
            return self;
        }
        Self { root: root.to_owned(), ..Self::default() }
    }

    /// Sets the working tree that contains the memories of a repository without a main one, if it is recorded.
    pub(super) fn placed(mut self, dirs: &UserDirs) -> Self {
        if self.main_root.is_none()
            && let Some(tree) = Tree::find(dirs, &self.root)
            && tree.root == self.root
            && tree.main_root != self.root
        {
            self.main_root = Some(tree.main_root);
        }
        self
    }

    /// Returns the root of the working tree that contains the memories, which may be this one.
    pub(super) fn main_root(&self) -> &Path {
        self.main_root.as_deref().unwrap_or(&self.root)
    }

    pub(super) fn normal_remotes(&self) -> Vec<String> {
        self.remotes.iter().filter_map(|remote| remote::normalise(remote)).collect()
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.root).chain(&self.main_root)
    }

    pub(super) fn tree(&self, project: ProjectId) -> Tree {
        let main_root = self.main_root.clone().unwrap_or_else(|| self.root.clone());
        Tree { project, root: self.root.clone(), main_root }
    }
}
