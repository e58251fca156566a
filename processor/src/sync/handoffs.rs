//! The step of a sync that writes the handoff of each working tree.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use memory_store::handoff::{Handoff, LeftSession};
use memory_store::layout::Tree;

use super::context::SyncContext;
use super::tree_facts::TreeFacts;
use crate::collect::inbox;
use crate::handoff;
use crate::private_files::write_json;
use crate::state::State;
use crate::transcript::parts;

/// Working trees whose handoffs a sync writes.
pub(super) struct Handoffs {
    /// Each tree, with the length of its inbox in bytes before anything was read.
    inboxes: Vec<(Tree, u64)>,
    /// Git's facts about the trees, in the order of `inboxes`.
    facts: TreeFacts,
}

impl Handoffs {
    /// Measures the inboxes and starts the queries to git about the trees.
    pub fn begin(context: &SyncContext<'_>) -> Self {
        let length = |tree: &Tree| {
            let inbox = context.dirs().tree(&tree.root).inbox;
            std::fs::metadata(inbox).map_or(0, |inbox| inbox.len())
        };
        let inboxes: Vec<(Tree, u64)> =
            context.trees.iter().map(|tree| (tree.clone(), length(tree))).collect();
        let facts = TreeFacts::ask(&inboxes, &context.redactor);
        Self { inboxes, facts }
    }

    /// Writes the handoffs of the sessions in `state` and of those in `read`, which this sync has just read.
    pub fn write(
        &mut self,
        context: &SyncContext<'_>,
        state: &State,
        read: &[&(String, LeftSession)],
    ) -> Result<()> {
        for (path, handoff) in self.made(context, state, read) {
            write_json(&path, &handoff)?;
        }
        Ok(())
    }

    /// Writes the handoffs again if they changed after mining, which adds open tasks and the commands that passed in
    /// several sessions.
    pub fn write_learned(&mut self, context: &SyncContext<'_>, state: &State) -> Result<()> {
        for (path, handoff) in self.made(context, state, &[]) {
            if Handoff::read(&path) != handoff {
                write_json(&path, &handoff)?;
            }
        }
        Ok(())
    }

    /// Returns the handoff of each tree, with the path of its file.
    fn made(
        &mut self,
        context: &SyncContext<'_>,
        state: &State,
        read: &[&(String, LeftSession)],
    ) -> Vec<(PathBuf, Handoff)> {
        let main = &context.options.tree.main_root;
        let left = state.sessions.iter().filter(|(_, session)| session.left.is_some());
        let persons = left.filter(|(name, _)| state.speaker(name).is_person());
        let (brought, own): (Vec<_>, Vec<_>) =
            persons.map(|(_, session)| session).partition(|session| session.from_folder);
        let own = own.into_iter().filter_map(|session| session.left.as_ref());
        let known =
            own.filter(|(_, left)| !read.iter().any(|(_, new)| new.session == left.session));
        let mut sessions: Vec<&(String, LeftSession)> = known.chain(read.iter().copied()).collect();
        // Imported sessions may be another person's, so they are used only if this machine has no sessions.
        if sessions.is_empty() {
            sessions.extend(brought.into_iter().filter_map(|session| session.left.as_ref()));
        }
        let tasks = tasks(state);
        let with_tasks = |left: &LeftSession| {
            let tasks = tasks.get(left.session.as_str()).into_iter().flatten();
            handoff::with_tasks(left.clone(), tasks.copied())
        };
        let trees = self.inboxes.iter().zip(self.facts.get());
        let made = trees.map(|((tree, inbox_bytes), facts)| {
            let here = |cwd: &str| match context.territory.root_of(cwd) {
                Some(root) if context.trees.iter().any(|tree| tree.root == root) => {
                    root == tree.root
                }
                // The session's working tree was removed, or is on another machine.
                Some(_) | None => tree.root == *main,
            };
            let sessions = sessions.iter().filter(|(cwd, _)| here(cwd));
            let sessions = sessions.map(|(_, left)| with_tasks(left)).collect();
            let mut left = handoff::left(sessions, facts, context.options.now);
            left.inbox_bytes = *inbox_bytes;
            left.commands.clone_from(&state.commands);
            (context.dirs().tree(&tree.root).handoff, left)
        });
        made.collect()
    }

    /// Records for each tree that the notes within the measured length of its inbox are processed, with the time of the
    /// run. A large inbox is then emptied.
    pub fn take_notes(&self, context: &SyncContext<'_>) -> Result<()> {
        for (tree, taken) in &self.inboxes {
            let state = context.dirs().tree(&tree.root);
            inbox::taken_up(&state, *taken, &context.settings, context.options.now)?;
        }
        Ok(())
    }
}

/// Returns the open tasks that a model found, by session. Tasks of closed parts are included.
fn tasks(state: &State) -> BTreeMap<&str, Vec<&String>> {
    let mut tasks: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for (name, session) in &state.sessions {
        let unfinished = session.mined.iter().flat_map(|mined| &mined.unfinished);
        tasks.entry(parts::of_name(name).0).or_default().extend(unfinished);
    }
    tasks
}
