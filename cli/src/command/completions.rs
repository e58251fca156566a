//! `throughline completions`: what a shell needs to complete our commands.

use std::io::Write;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::failure::Result;

/// Prints a completion script.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &Completions, out: &mut dyn Write) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Args::command(), "throughline", &mut script);
    out.write_all(&script)?;
    Ok(())
}
