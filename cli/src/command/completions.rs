//! `throughline completions`: prints completion scripts for shells.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::complete::VARIABLE;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Print a completion script for a shell
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell that runs the script
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &CompletionsArgs, _: &World, out: &mut dyn Write) -> Result {
    let (shells, name) = (Shells::builtins(), args.shell.to_string());
    let shell = shells.completer(&name).ok_or_else(|| {
        let known = shells.names().collect::<Vec<_>>().join(", ");
        Failure::new(format!("there are no completions for {name}"))
            .code(exit::USAGE)
            .hint(format!("There are some for {known}."))
    })?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "throughline", "throughline", "throughline", &mut script)?;
    out.write_all(&script)?;
    Ok(())
}
