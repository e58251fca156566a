//! `throughline uninstall`: removes the entries that `init` made in files of the user and of all projects, and the
//! additions to such files that the documentation describes.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use dialoguer::console::Term;
use memory_store::layout::STORE_DIR;
use memory_store::store::readme;
use serde::Serialize;

use crate::ask;
use crate::failure::{AtPath as _, Result};
use crate::setup::claude::replace::RunMode;
use crate::setup::elsewhere::memories;
use crate::setup::uninstall::account::{Account, ByHand};
use crate::setup::uninstall::parts;
use crate::typed::WriteOptions;
use crate::view;
use crate::view::wrap::{self, Wrapped};
use crate::world::World;

/// Files that the installers write into `share/throughline`, which may also be the data folder.
const INSTALLED: [&str; 5] = ["LICENSE", "NOTICE", "CHANGELOG.md", "ORIGIN", "MODEL"];
/// Prefixes of the embedder's files.
const MODELS: [&str; 2] = ["table-v", "transformer-v"];

/// Remove Throughline from Claude Code and all projects
///
/// Removes hooks, MCP server, status line, skill, paragraphs, rules, merge driver, commit checks, completions and
/// manual pages. Memories and archive are kept. Prints the line of each part that has to be removed by hand. Run it
/// before you delete the programs: Claude Code reports an error for each hook whose program is missing.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Also delete all data outside of repositories: archive, index, settings, your own memories and
    /// those of private projects; asks first
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    write: WriteOptions,
}

impl UninstallArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// Changed and deleted files.
#[derive(Default, Serialize)]
struct Done {
    /// Files from which a part was removed, and files that were removed completely.
    changed: Vec<PathBuf>,
    /// Deleted folders; files of the installed programs are kept.
    deleted: Vec<PathBuf>,
    /// Parts that could not be removed, with the reasons.
    failed: Vec<String>,
    /// Lines and files that the user has to delete by hand.
    by_hand: Vec<ByHand>,
}

/// Report of a dry run.
#[derive(Serialize)]
struct UninstallPreview {
    would: Vec<String>,
    by_hand: Vec<ByHand>,
}

/// Runs the command.
pub fn run(args: &UninstallArgs, world: &World, out: &mut dyn Write) -> Result {
    if args.write.dry_run {
        return would(args, world, out);
    }
    let told: &mut dyn Write = if args.write.json { &mut std::io::sink() } else { &mut *out };
    // The question is asked before any change.
    if args.purge && !args.write.yes {
        show_purge(world)?;
        if !ask::confirm(world, "Uninstall and delete all of this?", false)? {
            return Err(ask::declined(world, "nothing was changed"));
        }
    }
    let roots = parts::roots(world)?;
    let mut account = Account::new(RunMode::Real);
    parts::take_out(world, &roots, &mut account);
    account.told.iter().try_for_each(|sentence| writeln!(told, "{sentence}"))?;
    show_by_hand(&account.by_hand, told)?;
    let nothing = if args.purge { ", and nothing was deleted" } else { "" };
    let failure = account.failure(&format!(
        "The rest is taken out{nothing}. What could not be taken out is still in use: keep the programs, mend this and \
         run `throughline uninstall` again, or take out by hand what has throughline in its name."
    ));
    let mut done = Done { changed: account.changed, by_hand: account.by_hand, ..Done::default() };
    if failure.is_none() && args.purge {
        purge(world, &roots, &mut done, told)?;
    } else if failure.is_none() {
        writeln!(
            told,
            "Your memories and the archive stay where they are; `throughline uninstall --purge` deletes what lies \
             outside of repositories."
        )?;
    }
    if args.write.json {
        done.failed = failure.iter().map(ToString::to_string).collect();
        view::json(&done, out)?;
    }
    failure.map_or(Ok(()), Err)
}

/// Prints what would be removed and deleted.
fn would(args: &UninstallArgs, world: &World, out: &mut dyn Write) -> Result {
    let roots = parts::roots(world)?;
    let mut account = Account::new(RunMode::Dry);
    parts::take_out(world, &roots, &mut account);
    if args.purge {
        let folders = [&world.dirs.data, &world.dirs.state, &world.dirs.config];
        let there = folders.into_iter().filter(|folder| folder.exists());
        account.told.extend(there.map(|folder| format!("delete {}", view::path(folder))));
    }
    let failure = account
        .failure("`throughline uninstall` cannot look into this, and would leave it as it is.");
    let Account { told, by_hand, .. } = account;
    if args.write.json {
        view::json(&UninstallPreview { would: told, by_hand }, out)?;
    } else {
        view::would(&told, false, out)?;
        show_by_hand(&by_hand, out)?;
    }
    failure.map_or(Ok(()), Err)
}

/// Prints the lines and files that the user has to delete by hand.
fn show_by_hand(by_hand: &[ByHand], out: &mut dyn Write) -> Result {
    if by_hand.is_empty() {
        return Ok(());
    }
    writeln!(out, "Left as it is, for it is written in a way of yours. Delete by hand:")?;
    by_hand.iter().try_for_each(|one| writeln!(out, "  {}", one.to_line()))?;
    Ok(())
}

/// Prints what a purge deletes, with the paths.
fn show_purge(world: &World) -> Result {
    let mut stderr = anstream::stderr();
    let out = &mut Wrapped::new(&mut stderr, wrap::columns(&Term::stderr()));
    let dirs = &world.dirs;
    let projects = fs::read_dir(dirs.data.join("projects")).into_iter().flatten().flatten();
    let private = projects.map(|project| memories(&project.path().join("memories"))).sum::<usize>();
    let own = memories(&dirs.user_memories());
    let what = [
        (
            &dirs.data,
            format!(
                "archive, ledger, trust, {} of your own, {private} of private projects",
                view::plural(own, "memory")
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

fn purge(world: &World, roots: &[PathBuf], done: &mut Done, out: &mut dyn Write) -> Result {
    let dirs = &world.dirs;
    let installed = dirs.models.as_deref().filter(|models| is_same(models, &dirs.data));
    for folder in [&dirs.data, &dirs.state, &dirs.config] {
        // The data folder may also contain files of the installed programs.
        let is_shared = installed.is_some() && *folder == dirs.data;
        let deleted = if is_shared { empty(folder) } else { fs::remove_dir_all(folder) };
        match deleted {
            Ok(()) => {
                let path = view::path(folder);
                match is_shared && folder.exists() {
                    true => writeln!(
                        out,
                        "Deleted all in {path} but the programs' own files, which stay"
                    ),
                    false => writeln!(out, "Deleted {path}"),
                }?;
                done.deleted.push(folder.clone());
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(folder),
        }
    }
    // A folder that contains only the README is removed, since no memory is lost.
    for root in roots {
        if let Some(folder) = readme::remove_alone(&root.join(STORE_DIR).join("memories")) {
            writeln!(out, "Deleted {}, which held no memory", view::path(&folder))?;
            done.deleted.push(folder);
        }
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Deletes the contents of a folder except the files of the installed programs. Deletes the folder too if it is empty
/// afterwards.
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
