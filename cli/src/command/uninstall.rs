//! `throughline uninstall`: takes out of Claude Code's files what `init` put in.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use memory_store::layout::STORE_DIR;
use memory_store::store::readme;
use serde::Serialize;

use super::ask;
use super::view::{self, Sentences};
use crate::claude::register;
use crate::elsewhere::memories;
use crate::failure::{At as _, Result};
use crate::world::World;

/// Files of the programs that the installers put into `share/throughline`, which may be our data folder, too.
const INSTALLED: [&str; 5] = ["LICENSE", "NOTICE", "CHANGELOG.md", "ORIGIN", "MODEL"];
/// How the names of the embedder's files begin.
const MODELS: [&str; 2] = ["table-v", "transformer-v"];

/// Takes hooks and MCP server out of Claude Code's files, and the service of `throughline watch`. Memories stay.
///
/// Run it before you delete the programs: Claude Code notes an error for each hook whose program is
/// gone.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// Also delete what was derived and archived on this machine: index, archive, trust, receipts,
    /// your own memories and those of private projects, your settings. Memories in repositories and the programs' own
    /// files stay. It is shown before it is asked for, and nothing is done unless you agree
    #[arg(long)]
    purge: bool,
    /// Ask nothing
    #[arg(long, short = 'y')]
    yes: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Files that were changed and deleted.
#[derive(Default, Serialize)]
struct Done {
    /// Files of Claude Code that hooks or MCP server were taken out of.
    changed: Vec<PathBuf>,
    /// Folders that were deleted, but for the programs' own files.
    deleted: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Uninstall, world: &World, out: &mut dyn Write) -> Result {
    if args.dry_run {
        return would(args, world, out);
    }
    let done = take_out(args, world, &mut Sentences::of(args.json, out))?;
    if args.json { view::json(&done, out) } else { Ok(()) }
}

/// Says what would be taken out and deleted.
fn would(args: &Uninstall, world: &World, out: &mut dyn Write) -> Result {
    let root = super::root_of(&world.cwd);
    let mut told = Vec::new();
    for found in register::find_hooks(world, &root) {
        if found.hooks.is_ok_and(|hooks| !hooks.is_empty()) {
            told.push(format!("take the hooks out of {}", view::path(&found.path)));
        }
    }
    if let Some((path, _)) = register::find_server(world, &root)? {
        told.push(format!("take the MCP server out of {}", view::path(&path)));
    }
    told.extend(super::guide::would_take_out(world, &root));
    told.extend(super::ignore_lines::would_take_out(world));
    if args.purge {
        let folders = [&world.dirs.data, &world.dirs.state, &world.dirs.config];
        let there = folders.into_iter().filter(|folder| folder.exists());
        told.extend(there.map(|folder| format!("delete {}", view::path(folder))));
    }
    view::would(&told, args.json, out)
}

fn take_out(args: &Uninstall, world: &World, out: &mut dyn Write) -> Result<Done> {
    // Asked first: who declines has changed nothing.
    if args.purge && !args.yes {
        show_purge(world, out)?;
        if !ask::confirm(world, "Uninstall and delete all of this?", false)? {
            return Err(ask::declined(world, "nothing was changed"));
        }
    }
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
    super::ignore_lines::take_out(world, out)?;
    if args.purge {
        let mut deleted = purge(world, out)?;
        // The note alone is nobody's memory.
        if let Some(folder) = readme::remove_alone(&root.join(STORE_DIR).join("memories")) {
            writeln!(out, "Deleted {}, which held no memory", view::path(&folder))?;
            deleted.push(folder);
        }
        return Ok(Done { changed, deleted });
    }
    writeln!(
        out,
        "Your memories and the archive stay where they are; `throughline uninstall --purge` deletes what lies outside of repositories."
    )?;
    Ok(Done { changed, ..Done::default() })
}

/// Says what a purge deletes, and where.
fn show_purge(world: &World, out: &mut dyn Write) -> Result {
    let dirs = &world.dirs;
    let projects = fs::read_dir(dirs.data.join("projects")).into_iter().flatten().flatten();
    let private = projects.map(|project| memories(&project.path().join("memories"))).sum::<usize>();
    let own = memories(&dirs.user_memories());
    let what = [
        (
            &dirs.data,
            format!(
                "archive, ledger, trust, {own} memories of your own, {private} of private projects"
            ),
        ),
        (&dirs.state, "index, receipts, logs".to_owned()),
        (&dirs.config, "your settings".to_owned()),
    ];
    for (folder, what) in what.into_iter().filter(|(folder, _)| folder.exists()) {
        writeln!(out, "{}: {what}", view::path(folder))?;
    }
    writeln!(out, "Memories in repositories stay, and the README.md beside them.")?;
    out.flush()?;
    Ok(())
}

fn purge(world: &World, out: &mut dyn Write) -> Result<Vec<PathBuf>> {
    let (dirs, mut gone) = (&world.dirs, Vec::new());
    let installed = dirs.models.as_deref().filter(|models| is_same(models, &dirs.data));
    for folder in [&dirs.data, &dirs.state, &dirs.config] {
        let deleted = match installed {
            Some(_) if *folder == dirs.data => empty(folder),
            Some(_) | None => fs::remove_dir_all(folder),
        };
        match deleted {
            Ok(()) => {
                writeln!(out, "Deleted {}", view::path(folder))?;
                gone.push(folder.clone());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(folder),
        }
    }
    if let Some(folder) = installed.filter(|folder| folder.exists()) {
        writeln!(out, "The programs' own files stay in {}.", view::path(folder))?;
    }
    Ok(gone)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Deletes what is in a folder but the programs' own files, and the folder where that leaves nothing in it.
fn empty(folder: &Path) -> std::io::Result<()> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let (ours, others): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.into_iter().map(|entry| entry.path()).partition(|path| is_installed(path));
    for path in others {
        match fs::symlink_metadata(&path)?.is_dir() {
            true => fs::remove_dir_all(&path)?,
            false => fs::remove_file(&path)?,
        }
    }
    if ours.is_empty() { fs::remove_dir(folder) } else { Ok(()) }
}

fn is_installed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    INSTALLED.contains(&&*name) || MODELS.iter().any(|start| name.starts_with(start))
}
