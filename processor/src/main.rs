//! `throughline-processor`: brings a project up to date. Hooks start it; people use `throughline
//! sync`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use memory_store::layout::UserDirs;
use memory_store::mode::Mode;
use memory_store::{ProjectId, Timestamp};
use processor::lock::Busy;
use processor::sync::{BUSY_MAX, SyncOptions, sync};
use processor::{background, progress, trees};

const USAGE: &str = "usage: throughline-processor sync --project ID [--background]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("throughline-processor: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        print_version();
        return Ok(());
    }
    let asked = Asked::read(std::env::args().skip(1))?;
    let get = |name: &str| std::env::var_os(name);
    let program = std::env::current_exe().ok();
    let dirs = UserDirs::resolve(get).context("HOME is not set")?;
    let dirs = dirs.with_models(get, program.as_deref());
    let mode = Mode::from_environment(get).unless_off(&dirs.off_file(), now());
    if mode != Mode::Full {
        return Ok(());
    }
    let ollama_host = std::env::var("OLLAMA_HOST").ok();
    if asked.background {
        return background::run(&dirs, asked.project, ollama_host.as_deref(), now);
    }
    let tree = trees::main(&dirs, asked.project)
        .context("none of this project's working trees is there any more")?;
    let progress = progress::for_stderr();
    let options = SyncOptions {
        dirs: &dirs,
        tree: &tree,
        from: None,
        now: now(),
        progress: &*progress,
        busy: Busy::Wait(BUSY_MAX),
        afresh: false,
        ollama_host: ollama_host.as_deref(),
    };
    for warning in sync(&options)?.warnings {
        eprintln!("throughline-processor: {warning}");
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the answer to a person's question")]
fn print_version() {
    println!("throughline-processor {}", env!("CARGO_PKG_VERSION"));
}

/// The time, or the one that tests set.
fn now() -> Timestamp {
    let set = std::env::var("THROUGHLINE_NOW").ok().and_then(|text| Timestamp::from_setting(&text));
    set.unwrap_or_else(|| {
        let since =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}

/// The command line.
struct Asked {
    project: ProjectId,
    background: bool,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        if arguments.next().as_deref() != Some("sync") {
            bail!(USAGE);
        }
        let (mut project, mut background) = (None, false);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--project" => {
                    let id = arguments.next().context(USAGE)?;
                    project =
                        Some(id.parse().ok().with_context(|| format!("`{id}` is no project id"))?);
                }
                "--background" => background = true,
                other => bail!("`{other}` is unknown; {USAGE}"),
            }
        }
        Ok(Self { project: project.context(USAGE)?, background })
    }
}
