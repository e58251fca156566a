//! Decisions about values in memories. They concern pending memories that resemble credentials, and memories of a
//! person that contain a value that was later found to be a secret.

use std::io::Write;

use memory_store::memory::Status;
use memory_store::redact::Redactor;
use memory_store::store::{Proposal, Store, Stored, places};
use memory_store::trust::Trust;
use memory_store::{Error, MemoryId};
use processor::project_texts::Committed;
use processor::secrets::{self, SecretDecision};

use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::view;
use crate::view::style::{CARE, NAME, QUIET, paint};
use crate::world::World;

/// Moves a pending memory into the memory folder. If the memory contains a possible credential, a person must have seen
/// it: either `seen` is set, or the person answers a question at a terminal.
pub fn promote(
    stores: &Stores,
    stored: &Stored,
    seen: bool,
    redactor: &Redactor,
) -> Result<Stored> {
    let id = stored.memory.id.to_string();
    let accepting = stores.project.accepting_credentials();
    let project = if seen { &accepting } else { &stores.project };
    match project.promote(&id, redactor) {
        Err(Error::Credential { places, .. }) => {
            let failure = not_accepted(stored, &places);
            if !(stores.world.interactive && stores.world.is_seen) {
                return Err(failure);
            }
            let question = format!(
                "It contains something that looks like a credential: {}. Take it into the repository as it is?",
                view::plain(&spots(stores, stored, redactor))
            );
            match ask::confirm(&stores.world, &question, false)? {
                true => Ok(accepting.promote(&id, redactor)?),
                false => Err(failure),
            }
        }
        promoted => Ok(promoted?),
    }
}

/// Changes a memory file. If the new text contains a possible credential, the program asks the person at the terminal
/// whether the text may be committed. Without a person the text is not written.
pub fn asking<T>(
    world: &World,
    store: &Store,
    mut change: impl FnMut(&Store) -> memory_store::Result<T>,
) -> memory_store::Result<T> {
    let refused = match change(store) {
        Err(refused @ Error::Credential { .. }) => refused,
        changed => return changed,
    };
    let Error::Credential { places, .. } = &refused else { return Err(refused) };
    let question = format!(
        "It contains something that looks like a credential: {}. Write it into the repository as it is?",
        view::plain(places)
    );
    let is_asked = world.interactive && world.is_seen;
    match is_asked && ask::confirm(world, &question, false).unwrap_or(false) {
        true => change(&store.accepting_credentials()),
        false => Err(refused),
    }
}

/// Returns the argument that accepts exactly the current text of a pending memory.
fn marked(stored: &Stored) -> String {
    format!("{}@{}", stored.memory.id.short(), Trust::mark(stored))
}

fn not_accepted(stored: &Stored, places: &str) -> Failure {
    let id = stored.memory.id.short();
    Failure::new(format!(
        "{id} was not accepted, because it contains something that looks like a credential: {places}"
    ))
    .hint(format!(
        "`throughline show {id}` shows all of it. If it may be committed, `throughline review --accept {}` takes it \
         in as it is now; `throughline edit {id}` changes it.",
        marked(stored)
    ))
}

/// Returns the lines with possible credentials, including the values, for the person who decides about them.
fn spots(stores: &Stores, stored: &Stored, redactor: &Redactor) -> String {
    let clean = redactor.redacted(&memory_of(stored));
    let suspects = stores.project.gate(&mut clean.clone(), redactor);
    let lines: Vec<String> =
        suspects.iter().map(|it| format!("{}: \"{}\"", it.field, it.line)).collect();
    lines.join("; ")
}

/// Returns a memory as it would be written into the memory folder.
fn memory_of(stored: &Stored) -> memory_store::Memory {
    let mut memory = stored.memory.clone();
    memory.release();
    memory
}

/// Prints the places in a pending memory that resemble credentials, and the command that accepts the memory.
pub fn explain(stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
    if stored.memory.status != Status::Held {
        return Ok(());
    }
    let redactor = stores.project.redactor(&stores.settings);
    let mut memory = redactor.redacted(&memory_of(stored));
    let suspects = stores.project.gate(&mut memory, &redactor);
    if suspects.is_empty() {
        return Ok(());
    }
    writeln!(out, "        {}", paint(CARE, view::plain(&places(&suspects))))?;
    Ok(writeln!(out, "        {}", paint(QUIET, format!("--accept {}", marked(stored))))?)
}

/// A change that redacts known secrets in a memory, with its store.
pub struct ProposedSecret<'s> {
    store: &'s Store,
    proposal: Proposal,
    redactor: Redactor,
}

impl ProposedSecret<'_> {
    /// Returns the memory that would change.
    pub fn stored(&self) -> &Stored {
        &self.proposal.stored
    }

    /// Returns the lines that would change, before and after.
    fn changes(&self) -> impl Iterator<Item = (&str, &str)> {
        let (before, after) = (self.proposal.before.lines(), self.proposal.after.lines());
        before.zip(after).filter(|(before, after)| before != after)
    }
}

/// Returns the user's memories that contain a value found to be a secret.
pub fn proposals(stores: &Stores) -> Result<Vec<ProposedSecret<'_>>> {
    let mut proposed = Vec::new();
    for store in stores.both() {
        let mut redactor = stores.project.redactor(&stores.settings);
        redactor.only_known = true;
        if redactor.options.known.hides_nothing() {
            continue;
        }
        let committed = store.root.as_deref().map(Committed::of).unwrap_or_default();
        for proposal in store.proposals(&redactor, &|path| committed.has(path))? {
            proposed.push(ProposedSecret { store, proposal, redactor: redactor.clone() });
        }
    }
    Ok(proposed)
}

/// Lists proposed changes, without showing the secret values.
pub fn list(proposed: &[ProposedSecret<'_>], out: &mut dyn Write) -> Result {
    if proposed.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{} of yours contain a value that became known as a secret. Each stays as it is until you decide; sessions are \
         given it without the value.\n",
        proposed.len()
    )?;
    for one in proposed {
        let clean = one.redactor.redacted(&one.stored().memory);
        view::line(&clean, out)?;
        for (_, after) in one.changes() {
            writeln!(out, "        {}", paint(QUIET, view::plain(after.trim())))?;
        }
    }
    Ok(writeln!(
        out,
        "\n`throughline review --hide ID` takes the value out of that memory, and out of what else is stored; \
         `--keep-value ID` keeps it everywhere, as no secret.\n"
    )?)
}

/// Asks about each proposed change; returns whether the user continues.
pub fn go_through(
    stores: &Stores,
    proposed: &[ProposedSecret<'_>],
    out: &mut dyn Write,
) -> Result<bool> {
    let show = |one: &ProposedSecret<'_>, out: &mut dyn Write| {
        view::whole(one.stored(), out)?;
        writeln!(out, "{}", paint(CARE, "It contains a value that became known as a secret:"))?;
        for (before, after) in one.changes() {
            writeln!(out, "  - {}\n  + {}", view::plain(before.trim()), view::plain(after.trim()))?;
        }
        Ok(["Keep it as it is: the value is no secret", "Hide the value"])
    };
    ask::about_each(proposed, out, show, |one, keeps, out| {
        let decision = if keeps { SecretDecision::Keep } else { SecretDecision::Hide };
        decide(stores, one, decision, out)
    })
}

/// Executes the decision about a memory.
pub fn decide_by_id(
    stores: &Stores,
    id: MemoryId,
    decision: SecretDecision,
    out: &mut dyn Write,
) -> Result {
    let proposed = proposals(stores)?;
    let Some(one) = proposed.iter().find(|one| one.stored().memory.id == id) else {
        let id = id.short();
        return Err(Failure::new(format!("{id} contains no value that is known as a secret"))
            .hint("`throughline review` lists the memories that do."));
    };
    decide(stores, one, decision, out)
}

fn decide(
    stores: &Stores,
    one: &ProposedSecret<'_>,
    decision: SecretDecision,
    out: &mut dyn Write,
) -> Result {
    let home = stores.world.dirs.project(stores.tree.project);
    let id = paint(NAME, one.stored().memory.id.short());
    let decided = secrets::decide(
        &stores.world.dirs,
        &home,
        (one.store, &one.redactor),
        &one.proposal,
        decision,
    )
    .map_err(|error| Failure::new(format!("{error:#}")))?;
    let Some(stored) = decided else {
        return Err(Failure::new("the memory was changed since it was shown, and stays as it is")
            .code(exit::INVALID)
            .hint("`throughline review` shows it as it is now."));
    };
    let done = match decision {
        SecretDecision::Keep => format!("Kept as it is: {id}"),
        SecretDecision::Hide => format!("Hidden in {id}: {}", view::path(&stored.path)),
    };
    let redactor = one.store.redactor(&stores.settings);
    stores.note_saved(one.store, &stored, &redactor)?;
    Ok(writeln!(out, "{done}")?)
}
