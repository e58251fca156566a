//! `throughline share`: controls whether other projects of this user may query this one over MCP.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::{Args, ValueEnum};
use memory_store::format_version;
use memory_store::store::{Privacy, create_folder, replace};
use serde::Serialize;

use crate::failure::{AtPath as _, Result};
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// Allow your other projects to recall memories of this project
///
/// Sharing is off until you turn it on.
#[derive(Debug, Args)]
pub struct ShareArgs {
    /// Turn sharing on or off [default: print the current setting]
    #[arg(value_enum)]
    what: Option<ShareAction>,
    #[command(flatten)]
    write: WriteOptions,
}

impl ShareArgs {
    /// Returns whether the command changes the state, or would without `--dry-run`.
    pub fn changes(&self) -> bool {
        self.what.is_some()
    }

    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        self.changes() && !self.write.dry_run
    }
}

/// The answer in JSON.
#[derive(Serialize)]
struct ShareReport<'a> {
    root: &'a Path,
    shared: bool,
}

/// State that is asked for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShareAction {
    /// Allow other projects to recall memories
    On,
    /// Prevent other projects from recalling memories
    Off,
}

/// Runs the command.
pub fn run(args: &ShareArgs, world: &World, out: &mut dyn Write) -> Result {
    let tree = world.tree()?;
    let project = world.dirs.project(tree.project);
    let file = project.shared.clone();
    let would = args.what.map(|what| match what {
        ShareAction::On => "let your other projects ask for memories of this one",
        ShareAction::Off => "let no other project ask for memories of this one",
    });
    if let Some(would) = would.filter(|_| args.write.dry_run) {
        return view::would(&[would.to_owned()], args.write.json, out);
    }
    match args.what {
        None => {}
        Some(ShareAction::On) => {
            format_version::check_private(&project)?;
            create_folder(&project.folder, Privacy::Private)?;
            replace(&file, b"", Privacy::Private)?;
        }
        // Sharing can be ended even if another version of the program wrote the project.
        Some(ShareAction::Off) => match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).at(&file),
            Ok(()) | Err(_) => {}
        },
    }
    let shared = file.exists();
    if args.write.json {
        return view::json(&ShareReport { root: &tree.root, shared }, out);
    }
    let root = tree.root.display();
    if shared {
        writeln!(
            out,
            "Your other projects may ask for memories of {root}. `throughline share off` ends it."
        )?;
    } else {
        writeln!(out, "Memories of {root} are recalled in this project only.")?;
    }
    Ok(())
}
