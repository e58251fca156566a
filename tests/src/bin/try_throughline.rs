//! Shows what Throughline does: memories from transcripts, and what Claude would be given of them.
//! `scripts/try` runs it, with a sample project or, reading only, with one of the user's.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use journeys::environment::TestEnvironment;
use journeys::hook_run::{HookRun, Moment};
use journeys::sample_project;
use serde_json::Value;

/// Number of a hook's runs for the time that is shown.
const RUNS: usize = 11;

const USAGE: &str = "usage: scripts/try [--project DIR [--prompt TEXT]]";

/// Asked of the user's own project when no prompt is given.
const OPEN_PROMPT: &str = "What did we decide last, and what is still open?";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = match arguments[..] {
        [] => show_sample(),
        ["--project", project] => show_project(Path::new(project), OPEN_PROMPT),
        ["--project", project, "--prompt", prompt] => show_project(Path::new(project), prompt),
        _ => Err(io::Error::other(USAGE)),
    };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("try: {error}");
            ExitCode::FAILURE
        }
    }
}

fn show_sample() -> io::Result<()> {
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let root = sample_project::create(&environment)?;
    say("A throw-away project with six sessions of work on a program that reads tide gauges.");
    let show = Show { environment: &environment, root: &root };
    show.memories(&["init", "--yes", "--no-sync"])?;
    let moments = [
        ("A new session begins", Moment::start("startup")),
        (
            "You ask: \"Should the archive import insert from several threads in parallel?\"",
            Moment::prompt("Should the archive import insert from several threads in parallel?"),
        ),
        ("Claude reads src/times.rs", Moment::read(&root.join("src/times.rs"))),
        (
            "A command fails: `cargo test --test two_writers` (database is locked)",
            Moment::failure(
                "cargo test --test two_writers",
                "Exit code 101\nthread 'two_writers_share_the_store' panicked at \
                 tests/two_writers.rs:40:14:\ncalled `Result::unwrap()` on an `Err` value: \
                 SqliteFailure(Error { code: DatabaseBusy, extended_code: 5 }, Some(\"database is \
                 locked\"))\n\ntest result: FAILED. 0 passed; 1 failed",
            ),
        ),
        ("Claude stops", Moment::stop()),
    ];
    show.moments(&moments)?;
    show.ends()?;
    say("Next: scripts/install, then `throughline init` in a project of yours.");
    say("Or first: scripts/try --project DIR, which reads your own history and changes nothing.");
    Ok(())
}

/// Everything is written into a temporary home; of the user's, transcripts and sources are read.
fn show_project(project: &Path, prompt: &str) -> io::Result<()> {
    let root = std::fs::canonicalize(project)?;
    let environment = TestEnvironment::new()?.reading_claude_dir(claude_dir()?);
    say(&format!("Your history of {}, read only: nothing of yours is changed.", root.display()));
    let show = Show { environment: &environment, root: &root };
    let memories = show.memories(&["init", "--yes", "--private", "--no-register", "--no-sync"])?;
    let mut moments = vec![
        ("A new session begins".to_owned(), Moment::start("startup")),
        (format!("You ask: \"{prompt}\""), Moment::prompt(prompt)),
    ];
    if let Some(file) = most_named_file(&memories) {
        moments.push((format!("Claude reads {file}"), Moment::read(&root.join(file))));
    }
    moments.push(("Claude stops".to_owned(), Moment::stop()));
    let moments: Vec<_> =
        moments.iter().map(|(name, moment)| (name.as_str(), moment.clone())).collect();
    show.moments(&moments)?;
    show.ends()?;
    say("Next: scripts/install, then `throughline init` in this project.");
    Ok(())
}

/// Claude Code's folder of the user who runs this.
fn claude_dir() -> io::Result<PathBuf> {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let usual = || std::env::home_dir().map(|home| home.join(".claude"));
    named.or_else(usual).ok_or_else(|| io::Error::other("HOME is not set"))
}

fn most_named_file(memories: &[Value]) -> Option<String> {
    let mut counts = BTreeMap::new();
    let paths = memories.iter().filter_map(|memory| memory["paths"].as_array()).flatten();
    for path in paths.filter_map(Value::as_str) {
        *counts.entry(path).or_insert(0) += 1;
    }
    // Of equal counts the first by name.
    let (path, _) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(path.to_owned())
}

struct Show<'a> {
    environment: &'a TestEnvironment,
    root: &'a Path,
}

impl Show<'_> {
    /// Makes memories and lists them.
    fn memories(&self, init: &[&str]) -> io::Result<Vec<Value>> {
        self.environment.throughline(self.root, init)?;
        let begun = Instant::now();
        let report = self.environment.throughline(self.root, &["sync"])?;
        heading(&format!("throughline sync, {} ms", begun.elapsed().as_millis()));
        say(report.trim());
        heading("throughline list");
        say(self.environment.throughline(self.root, &["list"])?.trim_end());
        let list = self.environment.throughline(self.root, &["list", "--json"])?;
        let list: Value = serde_json::from_str(&list)?;
        Ok(list.as_array().or_else(|| list["memories"].as_array()).cloned().unwrap_or_default())
    }

    fn moments(&self, moments: &[(&str, Moment)]) -> io::Result<()> {
        for (name, moment) in moments {
            let run = moment.run(self.environment, self.root, "the-session-shown")?;
            if !run.output.status.success() {
                let error = String::from_utf8_lossy(&run.output.stderr).into_owned();
                return Err(io::Error::other(format!("{}: {error}", moment.program())));
            }
            let time = self.median(moment, moments)?;
            heading(&format!("{name}  ({}, {:.1} ms)", moment.program(), millis(time)));
            show_run(&run);
        }
        Ok(())
    }

    /// The median time of the hook in sessions of their own, the start of the process included.
    fn median(&self, moment: &Moment, moments: &[(&str, Moment)]) -> io::Result<Duration> {
        let mut times = Vec::new();
        for run in 0..RUNS {
            let session = format!("the-session-timed-{run}");
            // Without its start, a session's first prompt would do the work of both.
            if moment.event != "SessionStart" {
                moments[0].1.run(self.environment, self.root, &session)?;
            }
            let session = if moment.event == "SessionStart" { session + "-start" } else { session };
            times.push(moment.run(self.environment, self.root, &session)?.took);
        }
        times.sort();
        Ok(times[RUNS / 2])
    }

    fn ends(&self) -> io::Result<()> {
        let left = self.environment.wait_until_quiet();
        heading("Afterwards");
        if left.is_empty() {
            say("No process of ours is running.");
            return Ok(());
        }
        Err(io::Error::other(format!("still running: {left:#?}")))
    }
}

fn show_run(run: &HookRun) {
    let context = run.context();
    if context.is_empty() {
        say("Claude sees nothing.");
    } else {
        say("Claude sees:");
        context.lines().for_each(|line| say(&format!("  | {line}")));
    }
    if !run.notice().is_empty() {
        say(&format!("You see: {}", run.notice()));
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn heading(text: &str) {
    say(&format!("\n== {text}"));
}

#[expect(clippy::print_stdout, reason = "this program is read by a person")]
fn say(text: &str) {
    println!("{text}");
}
