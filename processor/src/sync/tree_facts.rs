//! Facts from git about working trees, for the handoff.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use memory_store::layout::{STORE_DIR, Tree};
use memory_store::redact::Redactor;

use crate::git;
use crate::handoff;

/// Facts about each working tree. Git runs while transcripts are read, because the start of a session waits for both.
pub(super) struct TreeFacts {
    asked: Option<JoinHandle<Vec<handoff::Facts>>>,
    facts: Vec<handoff::Facts>,
}

impl TreeFacts {
    pub(super) fn ask(inboxes: &[(Tree, u64)], redactor: &Redactor) -> Self {
        let roots: Vec<PathBuf> = inboxes.iter().map(|(tree, _)| tree.root.clone()).collect();
        let facts = vec![handoff::Facts::default(); roots.len()];
        let redactor = redactor.clone();
        let asked = move || roots.iter().map(|root| tree_facts(root, &redactor)).collect();
        let asked = thread::spawn(asked);
        Self { asked: Some(asked), facts }
    }

    /// Waits for git and returns the facts about each tree; none if the queries failed.
    pub(super) fn get(&mut self) -> &[handoff::Facts] {
        if let Some(Ok(facts)) = self.asked.take().map(JoinHandle::join) {
            self.facts = facts;
        }
        &self.facts
    }
}

/// Queries git about a tree. The answers are redacted, because branch names in transcripts are redacted as well.
fn tree_facts(root: &Path, redactor: &Redactor) -> handoff::Facts {
    let clean = |text: String| redactor.redact(&text).into_owned();
    handoff::Facts {
        branch: git::branch(root).map(clean),
        uncommitted: uncommitted(root).into_iter().map(clean).collect(),
        merged: git::merged_branches(root).into_iter().map(clean).collect(),
    }
}

/// Returns files with uncommitted changes, except memory files.
fn uncommitted(root: &Path) -> Vec<String> {
    let mut files = git::uncommitted(root);
    files.retain(|file| !Path::new(file).starts_with(STORE_DIR));
    files
}
