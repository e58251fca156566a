//! The actions of `init` and `uninstall`, and Throughline's entries in Claude Code's settings.

use std::path::Path;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

pub mod backfill;
pub mod claude;
pub mod elsewhere;
pub mod guide;
pub mod installation;
pub mod login_service;
pub mod merge_setup;
pub mod no_sessions;
pub mod old_sessions;
pub mod plan;
pub mod preview;
pub mod reader;
pub mod settings;
pub mod uninstall;

/// Rejects the home folder and the root of the file system: a store there would make every folder below it trusted.
pub fn refuse_home(world: &World, root: &Path) -> Result {
    let home = world.home.canonicalize().unwrap_or_else(|_| world.home.clone());
    if root == home || root.parent().is_none() {
        return Err(Failure::new(format!("{} is no project", root.display()))
            .code(exit::USAGE)
            .hint("Change to the project's folder, or name it with --project."));
    }
    Ok(())
}
