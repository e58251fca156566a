//! `throughline man`: manual pages, one for each command.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use super::help;
use crate::failure::{At as _, Result};

/// Writes manual pages into a folder, as an installer does; without one, prints the page of `throughline`.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ManPages {
    /// The folder, for example ~/.local/share/man/man1
    dir: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &ManPages, out: &mut dyn Write) -> Result {
    let command = help::command().after_help(help::after());
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        out.write_all(&page)?;
        return Ok(());
    };
    fs::create_dir_all(dir).at(dir)?;
    clap_mangen::generate_to(command, dir).at(dir)?;
    writeln!(out, "Wrote the manual pages into {}.", super::view::path(dir))?;
    Ok(())
}
