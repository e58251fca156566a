//! `throughline guard`: checks of edits and commands that a person derives from memories.

use std::cell::Cell;
use std::io::Write;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use memory_store::guards::{self, GuardState};
use memory_store::memory::{Guard, GuardAction};
use memory_store::recall::guard::{self, GuardedCall};
use memory_store::reviewed::Reviewed;
use memory_store::store::{By, Store, Stored};
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;

use crate::credentials;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::receipts;
use crate::stores::Stores;
use crate::typed::{self, WriteOptions};
use crate::view::changes::line;
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, plain};
use crate::world::World;

/// Check Claude's edits and commands against your rules
///
/// A guard is a part of a memory: it warns Claude, stops a call once, asks you, or denies the call, and gives the memory
/// as the reason. It stops mistakes, not attacks: a script or a program that builds a command is not examined. Without
/// a subcommand, lists the guards.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GuardArgs {
    #[command(subcommand)]
    action: Option<GuardCommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum GuardCommand {
    /// Add a guard to a memory
    Add(AddGuard),
    /// List the guards of all memories, and whether they are in force
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Report which guard applies to a call; exit with 1 if none does
    Test(TestedCall),
    /// Disable the guards of a memory on this machine, without changing its file
    Off(NamedMemory),
    /// Accept guards in a memory's file that other people wrote, or that you wrote by hand
    Trust(NamedMemory),
    /// Delete the guards of a memory from its file
    Remove(NamedMemory),
    /// List the calls on which guards acted, newest first
    Log {
        /// Maximum number of calls
        #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", value_parser = typed::count)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct AddGuard {
    /// Memory that gives the reason
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    reason: String,
    /// Command to check, such as 'git push --force*': the program, its subcommands, and options in
    /// any order
    #[arg(long, value_name = "PATTERN")]
    command: Option<String>,
    /// Files to check when they are written, such as 'db/migrations/**'
    #[arg(long, value_name = "GLOB")]
    path: Option<String>,
    /// Text to check when it is written to a file; `*` for any characters in a line
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Check only on these branches, such as main or 'release/*'
    #[arg(long, value_name = "GLOB")]
    branch: Option<String>,
    /// Effect: warn Claude, pause the first call, ask you, or deny the call
    #[arg(long, default_value = "pause", value_parser = action())]
    action: GuardAction,
    #[command(flatten)]
    write: WriteOptions,
}

fn action() -> impl clap::builder::TypedValueParser<Value = GuardAction> {
    PossibleValuesParser::new(GuardAction::ALL.map(GuardAction::name))
        .try_map(|name| GuardAction::from_name(&name).ok_or("unknown action"))
}

#[derive(Debug, Args)]
struct TestedCall {
    /// Command line
    #[arg(required_unless_present = "path")]
    command: Option<String>,
    /// File that is written, relative to the project's root
    #[arg(long, conflicts_with = "command", value_name = "FILE")]
    path: Option<String>,
    /// Text that is written to it
    #[arg(long, requires = "path", value_name = "TEXT")]
    content: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NamedMemory {
    /// Id of the memory
    #[arg(add = crate::complete::ids())]
    id: String,
    #[command(flatten)]
    write: WriteOptions,
}

impl GuardArgs {
    /// Returns whether it decides something for the person.
    pub fn decides(&self, _: &World) -> bool {
        match &self.action {
            None
            | Some(GuardCommand::List { .. } | GuardCommand::Test(_) | GuardCommand::Log { .. }) => {
                false
            }
            Some(GuardCommand::Add(AddGuard { write, .. })) => !write.dry_run,
            Some(
                GuardCommand::Off(named) | GuardCommand::Trust(named) | GuardCommand::Remove(named),
            ) => !named.write.dry_run,
        }
    }
}

/// A guard of a memory.
#[derive(Serialize)]
struct ListedGuard<'a> {
    memory: MemoryId,
    short: String,
    title: &'a str,
    #[serde(flatten)]
    guard: &'a Guard,
    /// Effect now; `None` if the guard is not in force.
    in_force: Option<GuardAction>,
    /// Reason why it is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'static str>,
    /// Number of calls on which it acted, by the receipts that still exist.
    acted: usize,
}

/// A call on which a guard acted.
#[derive(Serialize)]
struct GuardedEvent<'a> {
    at: Timestamp,
    session: &'a str,
    memory: MemoryId,
    short: String,
    effect: &'a str,
}

/// Reasons of receipts begin with it if a guard acted.
const BY_GUARD: &str = "guard: ";

/// Runs the command.
pub fn run(args: &GuardArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    match &args.action {
        None => list(&stores, args.json, out),
        Some(GuardCommand::List { json }) => list(&stores, *json, out),
        Some(GuardCommand::Add(add)) => add.run(&stores, out),
        Some(GuardCommand::Test(call)) => test(call, &stores, out),
        Some(GuardCommand::Log { limit, json }) => log(&stores, *limit, *json, out),
        Some(GuardCommand::Off(named)) => named.run(&stores, "is off on this machine", revoke, out),
        Some(GuardCommand::Trust(named)) => named.run(
            &stores,
            "is accepted",
            |store, stored| {
                let trust = stores.trust(store)?;
                let is_own = !trust.is_from_repository(stored) && !trust.is_claudes(stored);
                accept(store, &stored.memory.guards, stored.memory.id, is_own)
            },
            out,
        ),
        Some(GuardCommand::Remove(named)) => named.run(
            &stores,
            "is deleted",
            |store, stored| {
                // The author of the remaining memory does not change.
                edit(&stores, store, stored, By::Redaction, &|guards| guards.clear())?;
                revoke(store, stored)
            },
            out,
        ),
    }
}

fn revoke(store: &Store, stored: &Stored) -> Result {
    Ok(Reviewed::change(&store.home, |reviewed| reviewed.revoke_guards(stored.memory.id))?)
}

impl AddGuard {
    fn run(&self, stores: &Stores, out: &mut dyn Write) -> Result {
        let guard = Guard {
            action: self.action,
            command: self.command.clone(),
            path: self.path.as_deref().map(|path| typed::project_path(stores, path)).transpose()?,
            content: self.content.clone(),
            branch: self.branch.clone(),
        };
        if let Some(fault) = guard.fault() {
            return Err(Failure::new(fault).code(exit::USAGE));
        }
        if let Some(pattern) = guard.command.as_deref().filter(|it| !guard::is_matchable(it)) {
            return Err(Failure::new(format!("no command can match `{}`", plain(pattern)))
                .code(exit::USAGE)
                .hint("Write the program, its subcommands and options, for example 'git push --force*'."));
        }
        let (store, stored) = stores.find(&self.reason)?;
        let short = stored.memory.id.short();
        if self.write.dry_run {
            let told = format!("add to {short}: guard {}", plain(&guard.to_string()));
            return view::would(&[told], self.write.json, out);
        }
        let place = Cell::new(0);
        let saved = edit(stores, store, &stored, By::Person, &|guards| {
            let known = guards.iter().position(|it| *it == guard);
            place.set(known.unwrap_or(guards.len()));
            if known.is_none() {
                guards.push(guard.clone());
            }
        })?;
        // Only this guard is accepted, as it was saved: redaction may have changed a condition.
        let added = saved.memory.guards.get(place.get()).into_iter();
        accept(store, added, saved.memory.id, true)?;
        stores.publish_guards()?;
        if self.write.json {
            return view::json(&listed(stores, &[(store, saved)])?, out);
        }
        let title = line(&saved.memory.title);
        writeln!(
            out,
            "Claude is checked from now on: {} because of {} \"{title}\".",
            plain(&guard.to_string()),
            paint(NAME, &short)
        )?;
        writeln!(
            out,
            "{}",
            paint(QUIET, format_args!("`throughline guard off {short}` ends it."))
        )?;
        Ok(())
    }
}

impl NamedMemory {
    /// Applies a change to the guards of a memory; `outcome` is the end of the sentence about each.
    fn run(
        &self,
        stores: &Stores,
        outcome: &str,
        change: impl FnOnce(&Store, &Stored) -> Result,
        out: &mut dyn Write,
    ) -> Result {
        let (store, stored) = stores.find(&self.id)?;
        let short = stored.memory.id.short();
        if stored.memory.guards.is_empty() {
            return Err(Failure::new(format!("{short} has no guard"))
                .code(exit::NOT_FOUND)
                .hint("`throughline guard list` lists the guards."));
        }
        let guards: Vec<String> = stored.memory.guards.iter().map(ToString::to_string).collect();
        if self.write.dry_run {
            let told = guards
                .iter()
                .map(|guard| format!("change {short}: guard {} {outcome}", plain(guard)));
            return view::would(&told.collect::<Vec<_>>(), self.write.json, out);
        }
        change(store, &stored)?;
        stores.publish_guards()?;
        if self.write.json {
            let (store, stored) = stores.find(&self.id)?;
            return view::json(&listed(stores, &[(store, stored)])?, out);
        }
        for guard in &guards {
            writeln!(out, "{}: guard {} {outcome}.", paint(NAME, &short), plain(guard))?;
        }
        Ok(())
    }
}

/// Changes the guards in a memory file, as a person's edit.
fn edit(
    stores: &Stores,
    store: &Store,
    stored: &Stored,
    by: By,
    change: &dyn Fn(&mut Vec<Guard>),
) -> Result<Stored> {
    let redactor = stores.redactor_for_writing(store)?;
    let saved = credentials::asking(&stores.world, store, |store| {
        store.edit_at(&stored.path, stored.memory.id, by, &redactor, |memory| {
            change(&mut memory.guards);
        })
    })?;
    stores.note_saved(store, &saved.stored, &redactor)?;
    Ok(saved.stored)
}

fn accept<'a>(
    store: &Store,
    guards: impl IntoIterator<Item = &'a Guard>,
    id: MemoryId,
    is_own: bool,
) -> Result {
    Ok(Reviewed::change(&store.home, |reviewed| {
        reviewed.ids.insert(id);
        guards.into_iter().for_each(|guard| reviewed.accept_guard(id, guard, is_own));
    })?)
}

/// Returns the memories with guards in both stores.
fn guarded(stores: &Stores) -> Result<Vec<(&Store, Stored)>> {
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let guarded = listing.memories.into_iter().filter(|stored| !stored.memory.guards.is_empty());
    Ok(guarded.map(|stored| (stores.store_of(&stored), stored)).collect())
}

fn listed<'a>(stores: &Stores, guarded: &'a [(&Store, Stored)]) -> Result<Vec<ListedGuard<'a>>> {
    let acted = receipts::last(&stores.state(), usize::MAX, |_| true);
    let acted = |id: MemoryId| {
        let given = acted.iter().flat_map(|receipt| &receipt.memories);
        given.filter(|given| given.id == id && given.why.starts_with(BY_GUARD)).count()
    };
    let mut listed = Vec::new();
    for (store, stored) in guarded {
        let (memory, reviewed) = (&stored.memory, Reviewed::read(&store.home));
        let from_repository = stores.trust(store)?.is_from_repository(stored);
        listed.extend(memory.guards.iter().map(|guard| {
            let state = guards::state(&reviewed, memory, guard, from_repository, stores.world.now);
            ListedGuard {
                memory: memory.id,
                short: memory.id.short(),
                title: &memory.title,
                guard,
                in_force: match state {
                    GuardState::InForce(action) => Some(action),
                    _ => None,
                },
                because: match state {
                    GuardState::InForce(_) => None,
                    GuardState::NotAccepted => Some("you did not accept it"),
                    GuardState::Changed => Some("it changed since you accepted it"),
                    GuardState::MemoryEnded => Some("its memory was replaced or is not valid now"),
                },
                acted: acted(memory.id),
            }
        }));
    }
    Ok(listed)
}

fn list(stores: &Stores, json: bool, out: &mut dyn Write) -> Result {
    let guarded = guarded(stores)?;
    let listed = listed(stores, &guarded)?;
    if json {
        return view::json(&listed, out);
    }
    if listed.is_empty() {
        writeln!(
            out,
            "There are no guards. `throughline guard add --reason ID --command 'git push --force*'` adds one."
        )?;
    }
    for ListedGuard { short, title, guard, in_force, because, acted, .. } in &listed {
        let state = match in_force {
            Some(action) if action == &guard.action => {
                format!("in force; acted on {}", view::plural(*acted, "call"))
            }
            Some(action) => format!(
                "in force as `{}`, because other people wrote it; acted on {}",
                action.name(),
                view::plural(*acted, "call")
            ),
            None => {
                let because = because.unwrap_or_default();
                format!("not in force: {because}; `throughline guard trust {short}` accepts it")
            }
        };
        writeln!(out, "{}  {}", paint(NAME, short), plain(&guard.to_string()))?;
        writeln!(
            out,
            "        {} {}",
            plain(&line(title)),
            paint(QUIET, format_args!("({state})"))
        )?;
    }
    Ok(())
}

fn test(call: &TestedCall, stores: &Stores, out: &mut dyn Write) -> Result {
    let guarded = guarded(stores)?;
    let listed = listed(stores, &guarded)?;
    let in_force: Vec<(MemoryId, Guard)> = listed
        .iter()
        .filter_map(|it| Some((it.memory, Guard { action: it.in_force?, ..it.guard.clone() })))
        .collect();
    let path = call.path.as_deref().map(|path| typed::project_path(stores, path)).transpose()?;
    let guarded_call = GuardedCall {
        command: call.command.as_deref(),
        file: path.as_deref(),
        text: call.content.as_deref(),
    };
    let compiled = guard::compile(in_force.iter().map(|(id, guard)| (*id, guard)), usize::MAX);
    let applied = guard::strongest(&compiled, &guarded_call, &|| stores.tree.branch());
    let applied = applied.and_then(|applied| {
        let title = listed.iter().find(|it| it.memory == applied.memory)?.title;
        Some((applied.action, applied.memory.short(), title))
    });
    if call.json {
        let json = applied.as_ref().map(|(action, short, title)| {
            serde_json::json!({ "action": action, "memory": short, "title": title })
        });
        view::json(&json, out)?;
    }
    match applied {
        None => {
            if !call.json {
                view::remark("No guard applies.");
            }
            Err(Failure::silent(exit::NOTHING))
        }
        Some(_) if call.json => Ok(()),
        Some((action, short, title)) => {
            writeln!(
                out,
                "{}: {} {}",
                paint(STRONG, action.name()),
                paint(NAME, short),
                plain(&line(title))
            )?;
            Ok(())
        }
    }
}

fn log(stores: &Stores, limit: usize, json: bool, out: &mut dyn Write) -> Result {
    let found = receipts::last(&stores.state(), limit, |receipt| {
        receipt.memories.iter().any(|given| given.why.starts_with(BY_GUARD))
    });
    let events: Vec<GuardedEvent<'_>> = found
        .iter()
        .flat_map(|receipt| receipt.memories.iter().map(move |given| (receipt, given)))
        .filter_map(|(receipt, given)| {
            Some(GuardedEvent {
                at: receipt.at,
                session: &receipt.session,
                memory: given.id,
                short: given.id.short(),
                effect: given.why.strip_prefix(BY_GUARD)?,
            })
        })
        .collect();
    if json {
        return view::json(&events, out);
    }
    if events.is_empty() {
        writeln!(out, "No guard acted on a call.")?;
    }
    let memories = stores.list()?.memories;
    for GuardedEvent { at, session, memory, short, effect } in &events {
        let title = memories.iter().find(|stored| stored.memory.id == *memory);
        let title = title.map(|stored| line(&stored.memory.title)).unwrap_or_default();
        let session = plain(memory_store::short_session(session)).to_string();
        writeln!(
            out,
            "{}  {}  {effect}: {} {}",
            clock::time(*at),
            paint(NAME, short),
            plain(&title),
            paint(QUIET, format_args!("(session {session})"))
        )?;
    }
    Ok(())
}
