//! `throughline report`: writes one HTML file about a project, which requires neither the network nor other files.

mod charts;
mod data;
mod graph;
mod layout;
mod markup;
mod page;
mod sections;
mod timings;

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use memory_store::store::{Privacy, replace};
use processor::programs;

use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;
use data::Overall;

/// Programs that open a file; the first available program is used.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Longest wait for a failure of the program that opens the file.
const OPEN_MAX: Duration = Duration::from_secs(3);
/// Interval of the checks whether that program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Write an HTML report about the project
///
/// With --json, prints the data of the report instead of writing a file.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Output file [default: a private file in the state folder]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "json")]
    out: Option<PathBuf>,
    /// Open the report in the browser
    #[arg(long, conflicts_with = "json")]
    open: bool,
    #[command(flatten)]
    write: WriteOptions,
}

/// Runs the command.
pub fn run(args: &ReportArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let file = match &args.out {
        Some(named) => named_file(&world.cwd.join(named))?,
        None => stores.state().report,
    };
    let overall = Overall::gather(&stores)?;
    if args.write.json && !args.write.dry_run {
        return view::json(&overall, out);
    }
    let page = page::render(&overall)?;
    if args.write.dry_run {
        let size = page.len().div_ceil(1024);
        let told = format!("write {} ({size} KiB)", view::path(&file));
        return view::would(&[told], args.write.json, out);
    }
    replace(&file, page.as_bytes(), Privacy::Private)?;
    let size = page.len().div_ceil(1024);
    writeln!(
        out,
        "Wrote {} ({size} KiB). It needs no network and no other file.",
        view::path(&file)
    )?;
    out.flush()?;
    if args.open { show(&file, world) } else { Ok(()) }
}

/// Checks the output file: it must not exist, or must be an earlier report. Other files are never overwritten.
fn named_file(file: &Path) -> Result<PathBuf> {
    if let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) {
        return Err(Failure::new(format!("{} is no folder", folder.display()))
            .code(exit::NOT_FOUND)
            .hint("Make it first, or name a file in another folder."));
    }
    let mut start = Vec::new();
    match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(file.to_owned()),
        Err(error) => return Err(error).at(file),
        Ok(_) if file.is_dir() => {}
        Ok(old) => drop(old.take(page::START.len() as u64).read_to_end(&mut start).at(file)?),
    }
    if start == page::START.as_bytes() || start.is_empty() && !file.is_dir() {
        return Ok(file.to_owned());
    }
    Err(Failure::new(format!("{} exists and is no report of ours", file.display()))
        .hint("Nothing was written. Name another file, or remove that one first."))
}

/// Opens the file in the user's browser.
fn show(file: &Path, world: &World) -> Result {
    let failure = |why: String| {
        Failure::new(format!("{} cannot be shown: {why}", file.display()))
            .hint("It is written. Open it in a browser yourself.")
    };
    let path = world.path.as_deref();
    let found = OPENERS.iter().find_map(|name| programs::find(path, name));
    let Some(program) = found else {
        return Err(failure(format!("neither {} is in PATH", OPENERS.join(" nor "))));
    };
    let mut command = Command::new(&program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().at(&program)?;
    let deadline = Instant::now() + OPEN_MAX;
    while Instant::now() < deadline {
        match child.try_wait().at(&program)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(failure(format!("{} ends with {status}", program.display())));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
    // The program did not end in time, so it is probably the browser itself and is left running.
    Ok(())
}
