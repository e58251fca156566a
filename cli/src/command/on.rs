//! `throughline on`: ends the silence of `throughline off`.

use std::fs;
use std::io::{ErrorKind, Write};

use crate::failure::{At as _, Result};
use crate::world::World;

/// Runs the command.
pub fn run(world: &World, out: &mut dyn Write) -> Result {
    let file = world.dirs.off_file();
    match fs::remove_file(&file) {
        Ok(()) => writeln!(out, "On again.")?,
        Err(error) if error.kind() == ErrorKind::NotFound => writeln!(out, "It was on.")?,
        Err(error) => return Err(error).at(&file),
    }
    Ok(())
}
