//! `throughline uninstall`: takes out of Claude Code's files what `init` put in.

use std::fs;
use std::io::{ErrorKind, Write};

use clap::Args;

use crate::claude::register;
use crate::failure::{At as _, Result};
use crate::world::World;

/// Takes hooks and MCP server out of Claude Code's files, and the service of `throughline watch`. Memories stay.
///
/// Run it before you delete the programs: Claude Code notes an error for each hook whose program is
/// gone.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// Also delete what was derived and archived on this machine: index, archive, trust, receipts,
    /// your own memories and those of private projects, your settings. Memories in repositories stay.
    #[arg(long)]
    purge: bool,
    /// Ask nothing
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Runs the command.
pub fn run(args: &Uninstall, world: &World, out: &mut dyn Write) -> Result {
    let root = super::root_of(&world.cwd);
    super::service::take_out(world, out)?;
    super::guide::take_out(world, &root, out)?;
    let (changed, failed) = register::unregister(world, &root)?;
    for path in &changed {
        writeln!(out, "Taken out of {}", path.display())?;
    }
    if let Some(failure) = failed {
        return Err(failure.hint(
            "Make that file readable and run `throughline uninstall` again, or take the hooks named \
             throughline-* and the MCP server throughline out of it by hand. Nothing was deleted.",
        ));
    }
    if changed.is_empty() {
        writeln!(out, "Nothing was registered.")?;
    }
    if args.purge {
        purge(args, world, out)?;
    } else {
        writeln!(
            out,
            "Your memories and the archive stay where they are; `throughline uninstall --purge` deletes what lies outside of repositories."
        )?;
    }
    Ok(())
}

fn purge(args: &Uninstall, world: &World, out: &mut dyn Write) -> Result {
    let folders = [&world.dirs.data, &world.dirs.state, &world.dirs.config];
    if !args.yes {
        let question =
            "Delete archive, index, trust, settings, and all memories outside of repositories?";
        if !super::ask::confirm(world, question, false)? {
            return Err(super::ask::declined(world, "nothing was deleted"));
        }
    }
    for folder in folders {
        match fs::remove_dir_all(folder) {
            Ok(()) => writeln!(out, "Deleted {}", folder.display())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(folder),
        }
    }
    Ok(())
}
