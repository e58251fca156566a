//! Archives a memory.

use memory_store::MemoryId;
use memory_store::index::journal;
use memory_store::ledger::{Asked, PendingChange};
use memory_store::memory::{Memory, SaidBy, Scope};
use memory_store::recall::{Hit, render};
use memory_store::store::Store;

use super::find::{FoundMemory, no_such_id};
use super::remember::ProjectStore;
use super::{ANSWER_TOKENS_MAX, HELD_TITLE, Local};
use crate::backend::{ForgetResponse, ToolError};

/// Placeholder for the title of a memory archived before, which may have been quarantined for its text.
const TITLE_BEFORE: &str = "(archived before)";

impl Local {
    /// Archives memories; memories that are already archived stay archived. All ids are looked up before any change, so
    /// that a mistyped id changes nothing.
    ///
    /// # Errors
    /// Returns an error if there is no memory with one of the ids, or if it may not be archived.
    pub fn forget(&self, ids: &[String]) -> Result<Vec<ForgetResponse>, ToolError> {
        let project = self.project()?;
        let mut found: Vec<(&str, Option<FoundMemory>)> = Vec::new();
        for id in ids {
            let memory = self.find_by_id(id, &project)?;
            match &memory {
                Some(memory) if memory.is_users_everywhere() => {
                    let short = memory.stored.memory.id.short();
                    return Err(ToolError::Request(format!(
                        "{short} is the user's own and holds in every project, so only the user archives it: \
                         `throughline forget {short}`"
                    )));
                }
                Some(memory) => {
                    let id = memory.stored.memory.id;
                    let is_known = |(_, known): &(&str, Option<FoundMemory>)| {
                        known.as_ref().is_some_and(|known| known.stored.memory.id == id)
                    };
                    if found.iter().any(is_known) {
                        continue;
                    }
                }
                None => drop(self.forgotten_before(id, &project)?),
            }
            found.push((id, memory));
        }
        let archived = found.into_iter().map(|(id, memory)| match memory {
            Some(memory) => self.archive(memory, &project),
            None => self.forgotten_before(id, &project),
        });
        archived.collect()
    }

    fn archive(
        &self,
        found: FoundMemory,
        project: &ProjectStore,
    ) -> Result<ForgetResponse, ToolError> {
        let ProjectStore { tree, settings, recall } = project;
        let short = found.stored.memory.id.short();
        let FoundMemory { store, trust, stored, scope } = found;
        let hit = recall.listed(stored.memory.id, self.now());
        // The title of a quarantined memory is not printed.
        let redactor = store.redactor(settings);
        let held = trust.judgement(&stored, &redactor).held.is_some();
        if store.is_persons(&stored)? && !held {
            let session = self.environment.session.clone();
            let id = stored.memory.id;
            store.ask(PendingChange::new(id, Asked::Forget, session, self.now()))?;
            return Ok(asked_to_forget(&short, &stored.memory.title, hit));
        }
        store.forget_one(&stored.path, stored.memory.id, &redactor, self.now())?;
        // A failure of the journal is ignored: the file is removed, so no hook prints the memory.
        let gone = journal::Change::Gone(stored.memory.id);
        drop(journal::note(&self.environment.dirs, tree, scope, gone));
        let hold_again = self.hold_again(&stored.memory, project);
        let undo = undo(&short);
        let mut text = format!("{short} is archived. {undo}");
        if !hold_again.is_empty() {
            text.push_str(&format!(
                "\nIt had replaced {}, which holds again: `forget` it, too, if it is wrong.",
                hold_again.join(", ")
            ));
        }
        let title = if held { HELD_TITLE.to_owned() } else { render::clean(&stored.memory.title) };
        match hit.filter(|_| !held) {
            Some(hit) => {
                text.push('\n');
                text.push_str(&render::titles("ids", &[hit], ANSWER_TOKENS_MAX).text);
            }
            None if held => text.push_str(&format!(" {HELD_TITLE}")),
            None => {}
        }
        Ok(ForgetResponse { id: short, title, hold_again, undo, text, ..ForgetResponse::default() })
    }

    fn forgotten_before(
        &self,
        id: &str,
        project: &ProjectStore,
    ) -> Result<ForgetResponse, ToolError> {
        let dirs = &self.environment.dirs;
        let stores = [Store::open(dirs, &project.tree)?, Store::user(dirs)?];
        let Some(stored) = stores.iter().find_map(|store| store.archived().ok()?.find(id).ok())
        else {
            return Err(no_such_id(id));
        };
        let id = stored.memory.id.short();
        let undo = undo(&id);
        let text = format!("{id} was archived before. {undo}");
        let title = TITLE_BEFORE.to_owned();
        Ok(ForgetResponse { id, title, already: true, undo, text, ..ForgetResponse::default() })
    }

    /// Removes the links of memories that the removed memory `gone` had replaced. Returns the ids of those that no
    /// other memory replaces.
    fn hold_again(&self, gone: &Memory, project: &ProjectStore) -> Vec<String> {
        let recall = &project.recall;
        // The index was opened before the removal, so it still contains links that only the newer memory has.
        let successor = |id: MemoryId| recall.indexed(id).and_then(|hit| hit.superseded_by);
        let next = gone.superseded_by.or_else(|| successor(gone.id));
        let unlink = |older: MemoryId| {
            let found = self.find_by_id(&older.to_string(), project).ok()??;
            let link = found.stored.memory.superseded_by.or_else(|| successor(older));
            let next = next.filter(|&next| next != older);
            let is_unlinked =
                link == Some(gone.id) && self.mark_replaced(&found, next, project).is_ok();
            (is_unlinked && next.is_none()).then(|| older.short())
        };
        let mut older = recall.replaced_by(gone.id);
        older.extend(gone.supersedes.iter().filter(|id| !older.contains(id)).collect::<Vec<_>>());
        older.into_iter().filter_map(unlink).collect()
    }
}

impl FoundMemory {
    /// Returns whether the memory is a statement of the user that applies to every project.
    pub(super) fn is_users_everywhere(&self) -> bool {
        self.scope == Scope::User && self.stored.memory.source.said_by != Some(SaidBy::Assistant)
    }
}

/// Returns the answer about a memory of the user, which stays active until the user agrees.
fn asked_to_forget(short: &str, title: &str, hit: Option<Hit>) -> ForgetResponse {
    let undo = format!(
        "It stays in force until the user agrees. They are asked at the next start of a session, and decide with `throughline review`, or at once with \
         `throughline forget {short}`."
    );
    let mut text = format!("{short} is what the user said, wrote or kept. {undo}");
    if let Some(hit) = hit {
        text.push('\n');
        text.push_str(&render::titles("ids", &[hit], ANSWER_TOKENS_MAX).text);
    }
    let (id, title) = (short.to_owned(), render::clean(title));
    ForgetResponse { id, title, waits_for_user: true, undo, text, ..ForgetResponse::default() }
}

fn undo(short: &str) -> String {
    format!(
        "The user can bring it back with `throughline restore {short}`, or remove it for \
         good with `throughline forget {short} --delete`. What holds instead is saved by `remember`."
    )
}
