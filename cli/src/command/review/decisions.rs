//! The decisions of one run, so that the last ones can be undone. Each decision is executed immediately. If the program
//! is killed, the decisions are kept but can no longer be undone.

use std::io::Write;

use memory_store::MemoryId;
use memory_store::index::journal::Change;
use memory_store::store::MemoryState;

use super::in_git;
use crate::failure::Result;
use crate::stores::Stores;

/// Maximum decisions that can be undone.
const DECISIONS_MAX: usize = 100;

/// The decisions that can be undone, each with its position in a view.
#[derive(Debug)]
pub struct Decisions<P> {
    done: Vec<UndoableDecision<P>>,
}

#[derive(Debug)]
struct UndoableDecision<P> {
    place: P,
    /// Description for a person, such as `bread1 Bread is baked at night`.
    about: String,
    /// The states before and after the decision, in the project's store and in the user's store.
    states: [(MemoryState, MemoryState); 2],
}

impl<P> Default for Decisions<P> {
    fn default() -> Self {
        Self { done: Vec::new() }
    }
}

impl<P> Decisions<P> {
    /// Executes a decision about these memories and records how to undo it, even if the decision fails halfway.
    ///
    /// # Errors
    /// Returns the error of the decision, or of reading the memories before the decision.
    pub fn make<T>(
        &mut self,
        stores: &Stores,
        ids: &[MemoryId],
        (place, about): (P, String),
        decide: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let [project, user] = stores.both();
        let before = [project.state_of(ids)?, user.state_of(ids)?];
        let done = decide();
        let after = [project.state_again(&before[0])?, user.state_again(&before[1])?];
        if before != after {
            let ([project, user], [project_after, user_after]) = (before, after);
            let states = [(project, project_after), (user, user_after)];
            self.done.push(UndoableDecision { place, about, states });
            if self.done.len() > DECISIONS_MAX {
                self.done.remove(0);
            }
        }
        done
    }

    /// Returns whether there is a decision to undo.
    pub const fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Undoes the last decision, reports that, and returns the position of the decision. A decision that cannot be
    /// undone is removed from the list.
    ///
    /// # Errors
    /// Returns an error if a file changed after the decision, or if git contains a memory that the decision published.
    pub fn undo(&mut self, stores: &Stores, out: &mut dyn Write) -> Result<Option<P>> {
        let Some(UndoableDecision { place, about, states }) = self.done.pop() else {
            writeln!(out, "Nothing is left to undo.")?;
            return Ok(None);
        };
        let [(before, after), _] = &states;
        if let Some(root) = &stores.project.root {
            for path in before.added(after).filter(|path| path.starts_with(&stores.project.folder))
            {
                in_git::refuse(root, path, &about)?;
            }
        }
        for (store, (before, after)) in stores.both().into_iter().zip(&states) {
            let back = store.put_back(before, after)?;
            let redactor = store.redactor(&stores.settings);
            for stored in &back.stored {
                stores.note_saved(store, stored, &redactor)?;
            }
            for id in back.gone {
                stores.note_in(store, Change::Gone(id))?;
            }
        }
        writeln!(out, "Undone: {about}")?;
        Ok(Some(place))
    }
}
