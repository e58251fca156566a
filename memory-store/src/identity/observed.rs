//! Observation of a working tree by git.

use std::path::{Path, PathBuf};

use super::remote;
use crate::id::ProjectId;
use crate::layout::{Tree, UserDirs};

/// Properties of a working tree and its repository. Callers that may run git determine them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Root of the working tree, canonical.
    pub root: PathBuf,
    /// Root of the working tree that contains the memories, if it is a different one: for a linked worktree, the main
    /// working tree.
    pub main_root: Option<PathBuf>,
    /// Root commits of the history; empty without git.
    pub root_commits: Vec<String>,
    /// Addresses of the remotes, as reported by git.
    pub remotes: Vec<String>,
    /// Roots of the linked worktrees.
    pub worktrees: Vec<PathBuf>,
    /// True if the history is truncated, so that the root commits are meaningless.
    pub shallow: bool,
}

impl Observed {
    /// Returns this observation if it is about the main working tree `root`, or else an empty one, because a repository
    /// above a folder does not identify the folder.
    pub(super) fn of(self, root: &Path) -> Self {
        if self.main_root() == root {
            return self;
        }
        Self { root: root.to_owned(), ..Self::default() }
    }

    /// For a repository without a main working tree, sets the one that contains the memories, if it is recorded.
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

    /// Returns the root of the working tree that contains the memories, which may be this working tree.
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
