//! `throughline-processor`: runs a sync of a project. Hooks start it; people use `throughline sync`.

use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use memory_store::custom_embedder::Ask;
use memory_store::layout::{Tree, UserDirs};
use memory_store::mode::Mode;
use memory_store::{ProjectId, Timestamp, build, settings_file};
use processor::collect::session_list;
use processor::collect::{trees, whole_turn};
use processor::lock::{BUSY_MAX, Busy};
use processor::machine::Machine;
use processor::publish::custom_embedder::Asker;
use processor::sync::{SyncOptions, sync};
use processor::{background_run, git, programs, progress};

const USAGE: &str = "usage: throughline-processor sync --project ID [--background] [--tree ROOT]
       throughline-processor vector --project ID < QUERY
       throughline-processor sessions --project ID
       throughline-processor turn --project ID < SESSION_AND_TIME";

/// Maximum number of bytes of a query. The rest is not used.
const QUERY_BYTES_MAX: u64 = 64 << 10;

fn main() -> ExitCode {
    // SAFETY: this is the first statement of the program, which has one thread.
    unsafe { programs::keep_absolute_folders() };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("throughline-processor: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    if matches!(std::env::args().nth(1).as_deref(), Some("--version" | "-V")) {
        let version = build::version("throughline-processor", option_env!("THROUGHLINE_COMMIT"));
        return Ok(writeln!(std::io::stdout(), "{version}")?);
    }
    let asked = CommandLine::read(std::env::args().skip(1))?;
    #[expect(clippy::disallowed_methods, reason = "the environment of this program is read here")]
    let get = |name: &str| std::env::var_os(name);
    let program = std::env::current_exe().ok();
    let dirs = UserDirs::resolve(get).context("HOME is not set")?;
    let dirs = dirs.with_models(get, program.as_deref());
    let mode = Mode::from_environment(get).unless_off(&dirs.off_file(), now());
    #[expect(clippy::disallowed_methods, reason = "the environment of this program is read here")]
    let ollama_host = std::env::var("OLLAMA_HOST").ok();
    let machine = Machine::read(get);
    if mode == Mode::Full {
        git::hung::remember(&dirs, now());
    }
    let tree = || {
        trees::main(&dirs, asked.project)
            .context("none of this project's working trees is there any more")
    };
    match (asked.what, mode) {
        (_, Mode::Off) | (Invocation::Sync | Invocation::Background, Mode::Read) => return Ok(()),
        (Invocation::Sessions, _) => return sessions(&dirs, asked.project),
        (Invocation::Turn, _) => return turn(&dirs, asked.project),
        (Invocation::Vector, _) => return vector(&dirs, &tree()?, ollama_host.as_deref()),
        (Invocation::Background, Mode::Full) => {
            return background_run::run(
                &dirs,
                (asked.project, asked.tree.as_deref()),
                (ollama_host.as_deref(), &machine),
                now,
            );
        }
        (Invocation::Sync, Mode::Full) => {}
    }
    if let Some(root) = &asked.tree {
        trees::adopt(&dirs, asked.project, root)?;
    }
    trees::review(&dirs, asked.project)?;
    let tree = tree()?;
    let progress = progress::for_stderr();
    let options = SyncOptions {
        progress: &*progress,
        ollama_host: ollama_host.as_deref(),
        machine: Some(&machine),
        ..SyncOptions::new(&dirs, &tree, Busy::Wait(BUSY_MAX), now())
    };
    let report = sync(&options)?;
    if report.busy {
        bail!("another sync is at work for very long; `throughline doctor` says how it is doing");
    }
    for warning in report.warnings {
        eprintln!("throughline-processor: {warning}");
    }
    Ok(())
}

/// Returns the current time, or the time that a test sets.
fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the time that tests set")]
    let set = std::env::var("THROUGHLINE_NOW").ok().and_then(|text| Timestamp::from_setting(&text));
    set.unwrap_or_else(|| {
        #[expect(clippy::disallowed_methods, reason = "the one place of this program")]
        let since =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}

/// Reads a query from stdin and prints its vector in the second space, or the reason why there is none.
#[expect(clippy::print_stdout, reason = "the answer to another program's question")]
fn vector(dirs: &UserDirs, tree: &Tree, ollama_host: Option<&str>) -> Result<()> {
    let query = query(std::io::stdin()).context("the query on standard input")?;
    let (settings, _) = settings_file::load(dirs, Some(tree));
    let asker = Asker::new(&settings, ollama_host);
    let answer = match asker.map(|asker| asker.vector(&query)) {
        Some(Ok(vector)) => serde_json::json!({ "vector": vector }),
        Some(Err(problem)) => serde_json::json!({ "problem": problem }),
        None => serde_json::json!({ "problem": "no model is set" }),
    };
    println!("{answer}");
    Ok(())
}

/// Prints the sessions of a project, the latest first.
#[expect(clippy::print_stdout, reason = "the answer to another program's question")]
fn sessions(dirs: &UserDirs, project: ProjectId) -> Result<()> {
    println!("{}", serde_json::to_string(&session_list::sessions(&dirs.project(project)))?);
    Ok(())
}

/// Prints a whole turn as JSON; `null` if it is not archived. Standard input contains the session id and the time at
/// which the turn began, in RFC 3339.
#[expect(clippy::print_stdout, reason = "the answer to another program's question")]
fn turn(dirs: &UserDirs, project: ProjectId) -> Result<()> {
    let asked = query(std::io::stdin()).context("the turn on standard input")?;
    let (session, at) = asked.trim().split_once(' ').context("a session and a time")?;
    let at = Timestamp::parse(at).context("the time is no RFC 3339 date")?;
    let text = whole_turn::text(&dirs.project(project), session, at)?;
    println!("{}", serde_json::to_string(&text)?);
    Ok(())
}

/// Reads a query and truncates it at a character boundary if it is too long.
fn query(input: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    input.take(QUERY_BYTES_MAX).read_to_end(&mut bytes)?;
    let end = match str::from_utf8(&bytes) {
        Ok(text) => text.len(),
        // The text was truncated inside a character.
        Err(error) if error.error_len().is_none() && bytes.len() as u64 == QUERY_BYTES_MAX => {
            error.valid_up_to()
        }
        Err(error) => bail!("it is no UTF-8 from byte {} on", error.valid_up_to()),
    };
    bytes.truncate(end);
    Ok(String::from_utf8(bytes)?)
}

/// Task of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Invocation {
    /// Run a sync.
    Sync,
    /// Run syncs in the background.
    Background,
    /// Print the vector of a query.
    Vector,
    /// List the sessions.
    Sessions,
    /// Print a whole turn.
    Turn,
}

/// The command line.
struct CommandLine {
    project: ProjectId,
    what: Invocation,
    /// A working tree of the project for which no record exists yet.
    tree: Option<PathBuf>,
}

impl CommandLine {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut what = match arguments.next().as_deref() {
            Some("sync") => Invocation::Sync,
            Some("vector") => Invocation::Vector,
            Some("sessions") => Invocation::Sessions,
            Some("turn") => Invocation::Turn,
            Some(_) | None => bail!(USAGE),
        };
        let (mut project, mut tree) = (None, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--project" => {
                    let id = arguments.next().context(USAGE)?;
                    project =
                        Some(id.parse().ok().with_context(|| format!("`{id}` is no project id"))?);
                }
                "--tree" => tree = Some(PathBuf::from(arguments.next().context(USAGE)?)),
                "--background" if what == Invocation::Sync => what = Invocation::Background,
                other => bail!("`{other}` is unknown; {USAGE}"),
            }
        }
        Ok(Self { project: project.context(USAGE)?, what, tree })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_query_ends_with_a_whole_character() {
        let max = usize::try_from(QUERY_BYTES_MAX).unwrap();
        for before in 0..4 {
            let text = "x".repeat(before) + &"\u{1F600}".repeat(max);
            let read = query(text.as_bytes()).unwrap();
            assert!(text.starts_with(&read) && read.len() > max - 4 && read.len() <= max);
        }
        assert_eq!(query("ä".as_bytes()).unwrap(), "ä");
        for wrong in [b"ab\xff".as_slice(), b"ab\xc3"] {
            assert_eq!(query(wrong).unwrap_err().to_string(), "it is no UTF-8 from byte 2 on");
        }
    }
}
