//! `throughline mcp`: runs the MCP server.

use std::io::Write;
use std::process::Command;

use clap::Args;
use memory_store::fs::process;

use crate::failure::{Failure, Result};
use crate::setup::claude::server::PROGRAM;
use crate::setup::installation::Installation;
use crate::world::World;

/// Run the MCP server on standard input and output
#[derive(Debug, Args)]
pub struct McpArgs {}

/// Replaces this process by the server; returns only if that fails.
pub fn run(_: &McpArgs, world: &World, _: &mut dyn Write) -> Result {
    let program = world.program(PROGRAM);
    let error = process::replace_with(Command::new(&program).current_dir(&world.cwd));
    Err(Failure::new(format!("{}: {error}", program.display())).hint(format!(
        "The server has to lie beside this program. {}.",
        Installation::find(world).again(&world.home)
    )))
}
