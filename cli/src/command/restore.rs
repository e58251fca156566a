//! `throughline restore`: brings back what was put aside or deleted.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::index::journal::Change as Noted;
use serde::Serialize;

use super::stores::Stores;
use super::view::{self, Sentences};
use crate::failure::Result;
use crate::style::{NAME, paint};
use crate::world::World;

/// Brings back memories that were put aside; what was learned and deleted is learned again at the next sync.
#[derive(Debug, Args)]
pub struct Restore {
    /// Ids, or their last characters (`throughline tombstones` lists them)
    #[arg(required = true)]
    id: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Restores one memory.
pub fn one(world: &World, id: &str, out: &mut dyn Write) -> Result {
    run(&Restore { id: vec![id.to_owned()], json: false }, world, out)
}

/// What became of a memory that was to be restored.
#[derive(Serialize)]
struct Restored {
    id: String,
    /// Its file; none where it was deleted for good, and may be learned again.
    file: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Restore, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    // Asked for before anything is written.
    let of_project = stores.project.redactor_for_writing(&stores.settings)?;
    let of_user = stores.user.redactor_for_writing(&stores.settings)?;
    let (mut restored, mut failure) = (Vec::new(), None);
    for id in &args.id {
        let of_store = match stores.project.restore(id, &of_project) {
            Err(memory_store::Error::NotFound { found: 0, .. }) => {
                stores.user.restore(id, &of_user).map(|it| (&stores.user, &of_user, it))
            }
            other => other.map(|it| (&stores.project, &of_project, it)),
        };
        match of_store {
            Ok(of_store) => restored.push((id, of_store)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let told: &mut dyn Write = &mut Sentences::of(args.json, out);
    let mut views = Vec::new();
    // Whose they are is asked once, when all are there: what comes later than that is held.
    for (id, (store, redactor, restored)) in restored {
        let file = restored.as_ref().map(|stored| stored.path.clone());
        views.push(Restored { id: id.clone(), file });
        match restored {
            Some(stored) => {
                let trust = stores.trust(store)?;
                let saved = Noted::Saved(&stored, redactor, &trust);
                stores.note(world, &stored, saved)?;
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
    if args.json {
        view::json(&views, out)?;
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}
