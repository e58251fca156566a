//! Finds a memory by its id, using index and journal. Only the file of this memory is read.

use memory_store::Error;
use memory_store::memory::Scope;
use memory_store::recall::Collection;
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored};
use memory_store::trust::Trust;

use super::Local;
use super::remember::ProjectStore;
use crate::backend::ToolError;

/// A memory that was found by its id.
pub(super) struct FoundMemory {
    pub store: Store,
    pub trust: Trust,
    pub stored: Stored,
    pub scope: Scope,
}

impl Local {
    /// Finds a memory by its id or the end of the id, in the project's store or in the user's; `None` if there is none.
    pub(super) fn find_by_id(
        &self,
        id: &str,
        project: &ProjectStore,
    ) -> Result<Option<FoundMemory>, ToolError> {
        let ProjectStore { tree, settings, recall } = project;
        let dirs = &self.environment.dirs;
        let own = || judged(Store::open(dirs, tree)?, settings);
        let user = || judged(Store::user(dirs)?, settings);
        let found = recall.ids_ending(id);
        if let [only] = found.as_slice() {
            let Some(hit) = recall.indexed(*only) else { return Ok(None) };
            let (scope, (store, trust)) = match hit.collection {
                Collection::User => (Scope::User, user()?),
                _ => (Scope::Project, own()?),
            };
            if let Ok(stored) = store.read_one(&tree.own_file(&hit.file), *only) {
                return Ok(Some(FoundMemory { store, trust, stored, scope }));
            }
        } else if found.len() > 1 {
            return Err(ToolError::Request(format!(
                "{} memories have an id that ends with `{id}`: give more of it",
                found.len()
            )));
        }
        // It was added or moved since the last sync, or there is no index.
        for (scope, (store, trust)) in [(Scope::Project, own()?), (Scope::User, user()?)] {
            let mut named = store.named_by(id);
            if let (Some(stored), true) = (named.pop(), named.is_empty()) {
                return Ok(Some(FoundMemory { store, trust, stored, scope }));
            }
            if !recall.has_index() {
                match store.list().and_then(|all| all.find(id)) {
                    Ok(stored) => return Ok(Some(FoundMemory { store, trust, stored, scope })),
                    Err(Error::NotFound { found: 0, .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(None)
    }

    /// Finds an existing memory; fails if there is none.
    pub(super) fn find(&self, id: &str, project: &ProjectStore) -> Result<FoundMemory, ToolError> {
        self.find_by_id(id, project)?.ok_or_else(|| no_such_id(id))
    }
}

pub(super) fn no_such_id(id: &str) -> ToolError {
    ToolError::Request(format!(
        "no memory has the id `{}`: `recall` shows the ids in brackets, such as [fix k3v9qa]",
        id.chars().take(40).collect::<String>()
    ))
}

/// Returns a store and its trust state. In the store, a withheld memory, or one from the repository, does not hide
/// another memory with the same id.
pub(super) fn judged(store: Store, settings: &Settings) -> Result<(Store, Trust), ToolError> {
    let mut trust = Trust::of(&store, settings)?;
    trust.asks_singly = true;
    Ok((store.judged(trust.clone(), settings), trust))
}
