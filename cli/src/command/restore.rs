//! `throughline restore`: restores archived or deleted memories.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::Error;
use memory_store::id::abbreviated;
use memory_store::store::Stored;
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view;
use crate::view::changes::line;
use crate::view::style::{NAME, paint};
use crate::world::World;

/// Restore forgotten memories
///
/// A deleted memory that was learned from a session is relearned by the next sync.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// Ids of the memories, as listed by `throughline list --forgotten`
    #[arg(required = true, add = crate::complete::removed_ids())]
    id: Vec<String>,
    #[command(flatten)]
    write: WriteOptions,
}

impl RestoreArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// Restores one memory.
pub fn one(world: &World, id: &str, out: &mut dyn Write) -> Result {
    run(&RestoreArgs { id: vec![id.to_owned()], write: WriteOptions::default() }, world, out)
}

/// The result for one memory, as printed by `--json`.
#[derive(Serialize)]
struct Restored {
    /// The whole id; for a deleted memory, the id as it was typed.
    id: String,
    /// Short form of the id; `None` if the memory had been deleted.
    short: Option<String>,
    /// File of the memory; `None` for a deleted memory, which can only be learned again.
    file: Option<PathBuf>,
}

/// Returns the failure for an id without an archived memory.
fn not_aside(id: &str) -> Failure {
    Failure::new(format!("no memory with the id {id} was archived or deleted"))
        .code(exit::NOT_FOUND)
        .hint("`throughline list --forgotten` lists removed memories.")
}

/// Prints what would be restored.
fn would(args: &RestoreArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let mut told = Vec::new();
    for id in &args.id {
        let archived =
            stores.both().into_iter().find_map(|store| store.archived().ok()?.find(id).ok());
        if let Some(Stored { memory, .. }) = archived {
            told.push(format!("restore {} \"{}\"", memory.id.short(), line(&memory.title)));
            continue;
        }
        let gone = stores.tombstones()?;
        let gone = gone.iter().map(|tombstone| (tombstone.id, tombstone));
        let [tombstone] = abbreviated(id, gone)[..] else {
            return Err(not_aside(id));
        };
        told.push(format!(
            "let {} \"{}\" be learned again",
            tombstone.id.short(),
            line(&tombstone.title)
        ));
    }
    view::would(&told, args.write.json, out)
}

/// Runs the command.
pub fn run(args: &RestoreArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    if args.write.dry_run {
        return would(args, &stores, out);
    }
    // The redactors are created before anything is written, since that may fail.
    let of_project = stores.redactor_for_writing(&stores.project)?;
    let of_user = stores.redactor_for_writing(&stores.user)?;
    let (mut restored, mut failure) = (Vec::new(), None);
    for id in &args.id {
        let of_store = match stores.project.restore(id, &of_project) {
            Err(Error::NotFound { found: 0, .. }) => {
                stores.user.restore(id, &of_user).map(|it| (&stores.user, &of_user, it))
            }
            other => other.map(|it| (&stores.project, &of_project, it)),
        };
        match of_store {
            Ok(of_store) => restored.push((id, of_store)),
            Err(error) => {
                failure = Some(match error {
                    Error::NotFound { found: 0, .. } => not_aside(id),
                    Error::NotFound { found, .. } => stores.unclear(id, found)?,
                    error => error.into(),
                });
                break;
            }
        }
    }
    let told: &mut dyn Write = if args.write.json { &mut std::io::sink() } else { &mut *out };
    let mut views = Vec::new();
    // Provenance is determined once, after all files were restored. Memories in files that appear later are withheld.
    for (id, (store, redactor, restored)) in restored {
        let file = restored.as_ref().map(|stored| stored.path.clone());
        let whole = restored.as_ref().map(|stored| stored.memory.id);
        views.push(Restored {
            id: whole.map_or_else(|| id.clone(), |whole| whole.to_string()),
            short: whole.map(|whole| whole.short()),
            file,
        });
        match restored {
            Some(stored) => {
                stores.note_saved(store, &stored, redactor)?;
                let id = paint(NAME, stored.memory.id.short());
                writeln!(told, "Restored {id} to {}", view::path(&stored.path))?;
            }
            None => writeln!(
                told,
                "{id} was deleted for good. What the transcripts that are kept say of it is learned again by `throughline \
                 sync`; what was written by hand does not come back."
            )?,
        }
    }
    if args.write.json {
        view::json(&views, out)?;
    }
    failure.map_or(Ok(()), Err)
}
