//! Decisions about Claude's changes: files written by tool calls, and requests by Claude to forget or replace
//! memories. The user's memories stay active until the user decides here.

use std::collections::BTreeSet;
use std::io::Write;

use memory_store::MemoryId;
use memory_store::ledger::{Asked, PendingChange};
use memory_store::store::{Forget, Store, Stored};

use super::removal;
use crate::ask;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view;
use crate::view::style::{CARE, NAME, paint};

/// A person's decision about a change by Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// Accept the change: Claude's text becomes the person's, and requests are executed.
    Agree,
    /// Reject the change: the person's memory stays, and Claude's text is removed.
    Refuse,
}

/// A change by Claude that awaits a decision.
pub struct ClaudeChange<'s> {
    store: &'s Store,
    change: PendingChange,
    stored: Stored,
    /// The note that is to replace the person's memory.
    newer: Option<Stored>,
}

impl ClaudeChange<'_> {
    /// Returns the memory, as a tool call wrote it or as the person stated it.
    pub const fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Explains the change or the request by Claude.
    pub fn why(&self) -> String {
        let why = match self.change.change {
            Asked::Add | Asked::Save => {
                "a tool call wrote its file: it is a note by Claude".to_owned()
            }
            Asked::Edit => {
                "a tool call changed its file: what it was before stays in force".to_owned()
            }
            Asked::Remove => "a tool call removed its file, which was written again".to_owned(),
            Asked::Forget => "Claude asked to forget it".to_owned(),
            Asked::Replace(by) => {
                let title = self.newer.as_ref().map(|newer| newer.memory.title.as_str());
                format!(
                    "Claude asked to replace it with {} {}",
                    by.short(),
                    title.unwrap_or_default()
                )
            }
        };
        match &self.change.session {
            Some(session) => format!("{why} (session {session})"),
            None => why,
        }
    }

    /// Returns labels for both decisions.
    const fn words(&self) -> [&'static str; 2] {
        match self.change.change {
            Asked::Add | Asked::Save => ["Keep it as my own", "Drop it"],
            Asked::Edit => ["Keep the file as it is now, as my own", "Put back what it was before"],
            Asked::Remove | Asked::Forget => ["Forget it", "Keep it"],
            Asked::Replace(_) => ["Replace it", "Keep it"],
        }
    }
}

/// Returns the changes by Claude that await a decision.
pub fn all(stores: &Stores) -> Result<Vec<ClaudeChange<'_>>> {
    let mut all = Vec::new();
    for store in stores.both() {
        let claims = store.claims()?;
        let files = claims.files.into_iter().map(|(change, stored)| (change, stored, None));
        for (change, stored, newer) in files.chain(claims.asked) {
            all.push(ClaudeChange { store, change, stored, newer });
        }
    }
    Ok(all)
}

/// Returns the memories that these questions concern; other questions exclude them.
pub fn ids(claims: &[ClaudeChange<'_>]) -> BTreeSet<MemoryId> {
    let newer = claims.iter().filter_map(|claim| claim.newer.as_ref());
    let all = claims.iter().map(ClaudeChange::stored).chain(newer);
    all.map(|stored| stored.memory.id).collect()
}

/// Lists the changes.
pub fn list(stores: &Stores, claims: &[ClaudeChange<'_>], out: &mut dyn Write) -> Result {
    if claims.is_empty() {
        return Ok(());
    }
    let count = view::plural(claims.len(), "change");
    writeln!(out, "{count} by Claude; what you said stays in force until you decide:\n")?;
    for claim in claims {
        let redactor = claim.store.redactor(&stores.settings);
        view::line(&redactor.redacted(&claim.stored.memory), out)?;
        writeln!(out, "        {}", paint(CARE, view::plain(&claim.why())))?;
    }
    Ok(writeln!(
        out,
        "\n`throughline review --agree ID` lets the change to that memory hold, `--refuse ID` undoes it; `throughline show \
         ID` shows the memory.\n"
    )?)
}

/// Asks about each change; returns whether the person continues.
pub fn go_through(
    stores: &Stores,
    claims: &[ClaudeChange<'_>],
    out: &mut dyn Write,
) -> Result<bool> {
    let show = |claim: &ClaudeChange<'_>, out: &mut dyn Write| {
        view::whole(&claim.stored, out)?;
        writeln!(out, "{}", paint(CARE, view::plain(&claim.why())))?;
        Ok(claim.words())
    };
    ask::about_each(claims, out, show, |claim, agrees, out| {
        let decision = if agrees { ChangeVerdict::Agree } else { ChangeVerdict::Refuse };
        decide(stores, claim, decision, out)
    })
}

/// Decides about the change to a memory. `id` is the memory's id, or the end of it.
pub fn decide_by_id(
    stores: &Stores,
    id: MemoryId,
    decision: ChangeVerdict,
    out: &mut dyn Write,
) -> Result {
    let claims = all(stores)?;
    let Some(claim) = claims.iter().find(|claim| claim.stored.memory.id == id) else {
        let id = id.short();
        return Err(Failure::new(format!("no change by Claude to {id} waits for you"))
            .hint("`throughline review` lists those that do."));
    };
    decide(stores, claim, decision, out)
}

fn decide(
    stores: &Stores,
    claim: &ClaudeChange<'_>,
    decision: ChangeVerdict,
    out: &mut dyn Write,
) -> Result {
    let ClaudeChange { store, change, stored, .. } = claim;
    let id = stored.memory.id;
    match (change.change, decision) {
        (Asked::Add | Asked::Save | Asked::Edit, ChangeVerdict::Agree) => {
            store.confirm_written(stored)?
        }
        (Asked::Edit, ChangeVerdict::Refuse) => {
            let redactor = store.redactor_for_writing(&stores.settings)?;
            if !store.restore_former_text(stored, &redactor)? {
                let id = id.short();
                return Err(Failure::new(format!("nothing is known of {id} as it was before"))
                    .hint(format!(
                        "`throughline edit {id}` changes it, `throughline forget {id}` archives it."
                    )));
            }
        }
        (Asked::Replace(by), ChangeVerdict::Agree) => {
            let redactor = store.redactor_for_writing(&stores.settings)?;
            store.agree_to_replace(stored, by, &redactor)?;
        }
        (Asked::Add | Asked::Save, ChangeVerdict::Refuse)
        | (Asked::Forget | Asked::Remove, ChangeVerdict::Agree) => {
            removal::put_aside(stores, store, stored, Forget::Archive, out)?;
            return Ok(store.settle(id)?);
        }
        (Asked::Forget | Asked::Remove | Asked::Replace(_), ChangeVerdict::Refuse) => {
            store.settle(id)?
        }
    }
    let (_, now) = stores.find(&id.to_string())?;
    stores.note_saved(store, &now, &store.redactor(&stores.settings))?;
    let done = match decision {
        ChangeVerdict::Agree => "Agreed",
        ChangeVerdict::Refuse => "Refused",
    };
    Ok(writeln!(out, "{done}: {} {}", paint(NAME, id.short()), view::plain(&now.memory.title))?)
}
