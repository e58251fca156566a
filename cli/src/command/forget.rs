//! `throughline forget`: archives a memory or deletes it, so that it is no longer recalled.

use std::io::Write;

use clap::Args;
use memory_store::ledger::{Asked, PendingChange};
use memory_store::store::{Forget as How, Store, Stored};
use memory_store::{Kind, MemoryId};
use serde::Serialize;

use super::browse::{self, Purpose};
use super::review::removal;
use crate::ask;
use crate::caller::Caller;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view;
use crate::view::changes::line;
use crate::world::World;

/// Archive memories so that they are neither recalled nor relearned
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Ids of the memories [default: choose at the terminal]
    #[arg(add = crate::complete::ids())]
    id: Vec<String>,
    /// Delete the memory files instead of archiving them; also applies to archived memories
    #[arg(long)]
    delete: bool,
    #[command(flatten)]
    write: WriteOptions,
}

/// A memory that was archived or deleted.
#[derive(Serialize)]
struct ForgottenMemory<'a> {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: &'a str,
    /// Whether the memory was deleted permanently.
    deleted: bool,
}

/// Runs the command.
pub fn run(args: &ForgetArgs, world: &World, out: &mut dyn Write) -> Result {
    let (how, purpose) = match args.delete {
        true => (How::Delete, Purpose::Delete),
        false => (How::Archive, Purpose::Forget),
    };
    let ids = browse::named_or_chosen(&args.id, args.write.json, purpose, world)?;
    let stores = Stores::open(world)?;
    // All ids are looked up before any change, so that a mistyped id changes nothing.
    let (mut found, mut aside) = (Vec::new(), Vec::new());
    for id in &ids {
        match (stores.find_or_archived(id)?, how) {
            ((store, stored, false), _) => found.push((store, stored)),
            ((store, stored, true), How::Delete) => aside.push((store, stored)),
            ((_, stored, true), How::Archive) => return Err(is_aside(&stored)),
        }
    }
    if args.write.dry_run {
        let verb = if args.delete { "delete" } else { "archive" };
        let told = found.iter().chain(&aside).map(|(_, Stored { memory, .. })| {
            format!("{verb} {} \"{}\"", memory.id.short(), line(&memory.title))
        });
        return view::would(&told.collect::<Vec<_>>(), args.write.json, out);
    }
    // A user who chose the memory from a list has already confirmed the deletion.
    let is_asked = args.delete && !args.write.yes && !args.id.is_empty();
    // There is no question if Claude runs the command. The code below prevents Claude from deleting memories of the
    // user.
    let is_asked = is_asked && world.caller == Caller::Person;
    if is_asked && !ask::confirm(world, &question(found.iter().chain(&aside)), false)? {
        return Err(ask::declined(world, "nothing was deleted"));
    }
    let left = match world.caller {
        Caller::Person => None,
        Caller::Claude => leave_users_words(world, &mut found, &mut aside)?,
    };
    let told: &mut dyn Write = if args.write.json { &mut std::io::sink() } else { &mut *out };
    for (store, stored) in &found {
        removal::put_aside(&stores, store, stored, how, told)?;
    }
    for (store, stored) in &aside {
        store.delete_archived(&stored.memory.id.to_string())?;
        removal::print_deleted(stored, told)?;
    }
    if args.write.json {
        view::json(&gone(found.iter().chain(&aside), how), out)?;
    }
    left.map_or(Ok(()), Err)
}

/// Removes the user's memories from those that Claude wants to forget, and records the request: the memories stay
/// active until the user agrees. Returns a failure that names them; `None` if there are none.
fn leave_users_words<'s>(
    world: &World,
    found: &mut Vec<(&'s Store, Stored)>,
    aside: &mut Vec<(&'s Store, Stored)>,
) -> Result<Option<Failure>> {
    let mut left = Vec::new();
    for (list, is_given) in [(found, true), (aside, false)] {
        for (store, stored) in std::mem::take(list) {
            if !store.is_persons(&stored)? {
                list.push((store, stored));
                continue;
            }
            if is_given {
                let id = stored.memory.id;
                store.ask(PendingChange::new(id, Asked::Forget, None, world.now))?;
            }
            left.push(stored.memory.id.short());
        }
    }
    let ids = left.join(" ");
    Ok((!left.is_empty()).then(|| {
        Failure::new(format!(
            "{} is what the user said, wrote or kept, and Claude Code runs this: it stays in force until the user agrees",
            left.join(", ")
        ))
        .code(exit::NEEDS_PERSON)
        .hint(format!(
            "Run `throughline forget {ids}` or `throughline review` in a terminal of your own. If you typed this with `!`, \
             the next sync does it."
        ))
    }))
}

fn question<'a>(all: impl Iterator<Item = &'a (&'a Store, Stored)>) -> String {
    let titles: Vec<String> =
        all.map(|(_, stored)| format!("\"{}\"", line(&stored.memory.title))).collect();
    format!("Delete {} for good?", titles.join(", "))
}

fn gone<'a>(
    all: impl Iterator<Item = &'a (&'a Store, Stored)>,
    how: How,
) -> Vec<ForgottenMemory<'a>> {
    all.map(|(_, stored)| ForgottenMemory {
        id: stored.memory.id,
        short: stored.memory.id.short(),
        kind: stored.memory.kind,
        title: &stored.memory.title,
        deleted: how == How::Delete,
    })
    .collect()
}

fn is_aside(stored: &Stored) -> Failure {
    let id = stored.memory.id.short();
    Failure::new(format!("{id} is already archived")).hint(format!(
        "`throughline restore {id}` restores it, `throughline forget {id} --delete` removes it for good."
    ))
}
