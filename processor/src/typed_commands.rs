//! Commands that were recorded as Claude's although a person typed them with `!` in Claude Code. Such a command runs
//! like a tool call, and only the transcript shows that a person typed it.

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::layout::{Tree, UserDirs};
use memory_store::ledger::{Asked, Ledger, PendingChange};
use memory_store::memory::SaidBy;
use memory_store::settings::Settings;
use memory_store::store::{Forget, Store};
use memory_store::time::DAY_MS;

use crate::tool_calls::ToolCalls;

/// Extractor name of memories that a person saved by a command.
const CLI: &str = "cli";

/// Performs the changes that commands requested in Claude's name, if a transcript shows that a person typed the
/// command. A change without such evidence within a day stays Claude's.
pub fn carry_out(dirs: &UserDirs, tree: &Tree, settings: &Settings, now: Timestamp) -> Result<()> {
    let mut asked = Vec::new();
    let stores = [Store::open(dirs, tree)?, Store::user(dirs)?];
    for store in stores.into_iter().filter(|store| Ledger::has_asked(&store.home)) {
        let ledger = Ledger::open(&store.home)?;
        // A change requested over MCP has a session; it was not typed by a person.
        let by_command = ledger
            .pending()
            .filter(|change| change.session.is_none() && words(&change.change).is_some());
        for change in by_command {
            match now.0 - change.at.0 <= DAY_MS {
                true => asked.push((store.clone(), change.clone())),
                false if change.change == Asked::Save => store.settle(change.id)?,
                false => {}
            }
        }
    }
    let Some(since) = asked.iter().map(|(_, change)| change.at).min() else { return Ok(()) };
    let calls = ToolCalls::read(dirs, since);
    asked.iter().try_for_each(|(store, change)| decide(store, change, &calls, settings, now))
}

/// Returns a word that a command for this change contains; `None` if no command makes the change.
const fn words(change: &Asked) -> Option<&'static str> {
    match change {
        Asked::Save => Some("add"),
        Asked::Forget => Some("forget"),
        Asked::Replace(_) => Some("--supersedes"),
        Asked::Edit | Asked::Add | Asked::Remove => None,
    }
}

fn decide(
    store: &Store,
    change: &PendingChange,
    calls: &ToolCalls,
    settings: &Settings,
    now: Timestamp,
) -> Result<()> {
    let Ok(stored) = store.list()?.find(&change.id.to_string()) else {
        return Ok(store.settle(change.id)?);
    };
    let (id, short) = (stored.memory.id, stored.memory.id.short());
    let about: Vec<&str> = match change.change {
        Asked::Save => stored.memory.title.split_whitespace().collect(),
        _ => vec![&short],
    };
    let typed = ["throughline"].into_iter().chain(words(&change.change)).chain(about);
    if !calls.is_typed(&typed.collect::<Vec<_>>(), change.at) {
        return Ok(());
    }
    let redactor = store.redactor_for_writing(settings)?;
    match change.change {
        Asked::Save => {
            store.edit(&id.to_string(), &redactor, |memory| {
                memory.source.said_by = Some(SaidBy::User);
                memory.source.extractor = Some(CLI.to_owned());
            })?;
        }
        Asked::Forget => drop(store.forget(&id.to_string(), Forget::Archive, &redactor, now)?),
        Asked::Replace(by) => store.agree_to_replace(&stored, by, &redactor)?,
        Asked::Edit | Asked::Add | Asked::Remove => {}
    }
    Ok(store.settle(id)?)
}
