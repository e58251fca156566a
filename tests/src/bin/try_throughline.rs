//! Demonstrates Throughline: memories that a model writes from transcripts, the texts that Claude would receive, and
//! the results of the same history without a model. `scripts/try` runs it with a sample project or with a project of
//! the user, which is only read.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use journeys::checks::Checks;
use journeys::environment::TestEnvironment;
use journeys::hook_run::{HookRun, Moment};
use journeys::mcp_server::McpServer;
use journeys::recorded_model::{self, RecordedModel};
use journeys::sample_project;
use serde_json::{Value, json};

/// Number of runs of a hook for the time that is shown.
const RUNS: usize = 11;

const USAGE: &str = "usage: scripts/try [--model NAME | --project DIR [--prompt TEXT]]";

/// Default prompt for the user's own project.
const OPEN_PROMPT: &str = "What did we decide last, and what is still open?";

/// Id of the session that is shown.
const SHOWN: &str = "shown-session";
/// A prompt about something that was tried in a session.
const PROMPT: &str = "Should the archive import insert from several threads in parallel?";
/// A prompt that no session answers.
const FOREIGN_PROMPT: &str = "Which birds breed on rocky islands in winter?";
/// A command with an error that a session solved.
const FAILED: (&str, &str) = (
    "cargo test --test two_writers",
    "Exit code 101\nthread 'two_writers_share_the_store' panicked at tests/two_writers.rs:40:14:\ncalled \
     `Result::unwrap()` on an `Err` value: SqliteFailure(Error { code: DatabaseBusy, extended_code: 5 }, Some(\"database \
     is locked\"))\n\ntest result: FAILED. 0 passed; 1 failed",
);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = match arguments[..] {
        [] => show_sample(&SessionReader::Recorded),
        ["--model", name] => show_sample(&SessionReader::Ollama(name)),
        ["--project", project] => show_project(Path::new(project), OPEN_PROMPT),
        ["--project", project, "--prompt", prompt] => show_project(Path::new(project), prompt),
        _ => Err(io::Error::other(USAGE)),
    };
    shown.unwrap_or_else(|error| {
        eprintln!("try: {error}");
        ExitCode::FAILURE
    })
}

/// The model that reads the sessions of the sample project.
enum SessionReader<'a> {
    /// Recorded answers of a large model.
    Recorded,
    /// A model of the user's Ollama.
    Ollama(&'a str),
}

impl SessionReader<'_> {
    /// Returns the line that names the model.
    fn description(&self) -> String {
        match self {
            Self::Recorded => "The memories shown here were written down beforehand, as a large model answers: a server \
                               on this machine replays its recorded answers as Ollama would. No model runs."
                .to_owned(),
            Self::Ollama(name) => {
                format!("The memories shown here are written now, by {name} of your own Ollama.")
            }
        }
    }

    /// Returns whether the answers are recorded.
    const fn is_recorded(&self) -> bool {
        matches!(self, Self::Recorded)
    }
}

fn show_sample(reader: &SessionReader<'_>) -> io::Result<ExitCode> {
    let mut checks = Checks::default();
    say(&reader.description());
    say("A throw-away project with six sessions of work on a program that reads tide gauges.");
    with_model(reader, &mut checks)?;
    without_model(&mut checks)?;
    say("\nNext: scripts/install, then `throughline init` in a project of yours.");
    say("Or first: scripts/try --project DIR, which reads your own history and changes nothing.");
    Ok(checks.finish())
}

/// Demonstrates the main function: sessions are read, and later sessions receive helpful memories.
fn with_model(reader: &SessionReader<'_>, checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let root = sample_project::create(&environment)?;
    let show = Show { environment: &environment, root: &root };
    show.environment.throughline(show.root, &["init", "--yes", "--no-sync"])?;
    checks.part("1. A model reads the sessions");
    let recorded = match reader {
        SessionReader::Recorded => {
            let model = RecordedModel::start(&sample_project::answers(), &root)?;
            show.command(&[
                "config",
                "llm",
                "ollama",
                recorded_model::MODEL,
                "--host",
                model.address(),
            ])?;
            Some(model)
        }
        SessionReader::Ollama(name) => {
            let host = std::env::var("OLLAMA_HOST").unwrap_or_default();
            let named = ["config", "llm", "ollama", name, "--host", &host];
            show.command(&named[..if host.is_empty() { 4 } else { 6 }])?;
            None
        }
    };
    let memories = show.memories()?;
    if let Some(model) = &recorded {
        let differences = model.differences();
        checks.check(
            "every part of a session has its recorded answer",
            differences.is_empty(),
            format!(
                "The sample sessions and tests/fixtures/sample-project/answers differ:\n{}",
                differences.join("\n")
            ),
        );
    }
    let is_written = |memory: &&Value| memory["status"] == "active";
    let first = memories.iter().find(is_written).and_then(|memory| memory["title"].as_str());
    checks.check(
        "memories were written",
        first.is_some(),
        "The model wrote none from these sessions; a larger one may do better.",
    );
    let Some(first) = first else {
        show.ends(checks);
        return Ok(());
    };

    checks.part("2. Memories are Markdown files in the repository, yours to edit and commit");
    show.files(checks)?;
    checks.part("3. An index outside of the repository answers from them");
    show.index(
        if reader.is_recorded() { "insert rows from several threads" } else { first },
        checks,
    )?;

    let expected = Expected { checks, is_recorded: reader.is_recorded() };
    show.sessions(expected)?;
    checks.part("5. Claude asks by itself, over MCP");
    let mut server = McpServer::start(&environment, &root, "full");
    for (tool, question, wanted) in [
        ("recall", "unit of a threshold in the configuration", "millimetres"),
        ("search_sessions", "mail to the harbour master", "a1000006 turn"),
    ] {
        let answer = server.call(tool, &json!({"query": question}));
        heading(&format!("{tool}: \"{question}\""));
        answer.lines().for_each(|line| say(&format!("  | {line}")));
        let mut expected = Expected { checks, is_recorded: reader.is_recorded() };
        expected.contains(&format!("`{tool}` answers"), &answer, wanted);
    }
    drop(server);
    show.ends(checks);
    Ok(())
}

/// Demonstrates the results without a model for the same history.
fn without_model(checks: &mut Checks) -> io::Result<()> {
    checks.part(
        "6. The same project without a model: nothing is written, sessions answer themselves",
    );
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let root = sample_project::create(&environment)?;
    let show = Show { environment: &environment, root: &root };
    let told = show.command(&["init", "--yes"])?;
    checks.contains(
        "`init` says that nothing is written into the repository, and what changes that",
        &told,
        "`throughline config llm`",
    );
    let files = sample_project::snapshot(&sample_project::memories_dir(&root))?;
    checks.check("no memory file is in the repository", files.is_empty(), format!("{files:?}"));
    let start = show.moment("A new session begins", &Moment::start("startup"), &[])?;
    checks.contains("it is told where the work was left", &start, "Where the work was left");
    let moments = [Moment::start("startup")];
    show.moment(&format!("You ask: \"{PROMPT}\""), &Moment::prompt(PROMPT), &moments)?;
    let found = show.command(&["search", "--turns", "import from several threads"])?;
    checks.contains("an earlier session answers in its own words", &found, "rayon");
    let (command, error) = FAILED;
    let name = format!("A command fails: `{command}` (database is locked)");
    let cure = show.moment(&name, &Moment::failure(command, error), &moments)?;
    checks.contains("the session that met this error answers", &cure, "a1000001");
    show.ends(checks);
    Ok(())
}

/// Checks of the texts of memories, which are predictable only if the answers are recorded.
struct Expected<'a> {
    checks: &'a mut Checks,
    is_recorded: bool,
}

impl Expected<'_> {
    fn contains(&mut self, what: &str, text: &str, wanted: &str) {
        if self.is_recorded {
            self.checks.contains(what, text, wanted);
        }
    }
}

/// Demonstrates a project of the user. All files are written into a temporary home; of the user's files, transcripts
/// and sources are read.
fn show_project(project: &Path, prompt: &str) -> io::Result<ExitCode> {
    let root = fs::canonicalize(project)?;
    let environment = TestEnvironment::new()?.reading_claude_dir(claude_dir()?);
    say(&format!("Your history of {}, read only: nothing of yours is changed.", root.display()));
    let show = Show { environment: &environment, root: &root };
    show.environment
        .throughline(show.root, &["init", "--yes", "--private", "--no-register", "--no-sync"])?;
    let memories = show.memories()?;
    let mut moments = vec![
        ("A new session begins".to_owned(), Moment::start("startup")),
        (format!("You ask: \"{prompt}\""), Moment::prompt(prompt)),
    ];
    if let Some(file) = most_named_file(&memories) {
        moments.push((format!("Claude reads {file}"), Moment::read(&root.join(file))));
    }
    moments.push(("Claude stops".to_owned(), Moment::stop()));
    let before = [Moment::start("startup")];
    for (name, moment) in &moments {
        show.moment(name, moment, &before)?;
    }
    let mut checks = Checks::default();
    show.ends(&mut checks);
    say("\nNext: scripts/install, then `throughline init` in this project.");
    Ok(checks.finish())
}

/// Returns Claude Code's folder of the current user.
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
    // Of names with the same count, the first is used.
    let (path, _) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(path.to_owned())
}

struct Show<'a> {
    environment: &'a TestEnvironment,
    root: &'a Path,
}

impl Show<'_> {
    /// Runs a command, and prints it with its output.
    fn command(&self, arguments: &[&str]) -> io::Result<String> {
        let printed = self.environment.throughline(self.root, arguments)?;
        let is_plain = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
        let words = arguments.iter().map(|word| match is_plain(word) {
            true => (*word).to_owned(),
            false => format!("\"{word}\""),
        });
        heading(&format!("throughline {}", words.collect::<Vec<_>>().join(" ")));
        say(printed.trim_end());
        Ok(printed)
    }

    /// Creates memories and lists them.
    fn memories(&self) -> io::Result<Vec<Value>> {
        let begun = Instant::now();
        let report = self.environment.throughline(self.root, &["sync"])?;
        heading(&format!("throughline sync, {} ms", begun.elapsed().as_millis()));
        say(report.trim());
        self.command(&["list"])?;
        let list = self.environment.throughline(self.root, &["list", "--json"])?;
        let list: Value = serde_json::from_str(&list)?;
        Ok(list.as_array().or_else(|| list["memories"].as_array()).cloned().unwrap_or_default())
    }

    /// Prints the names of the memory files, and the content of one.
    fn files(&self, checks: &mut Checks) -> io::Result<()> {
        let files = sample_project::snapshot(&sample_project::memories_dir(self.root))?;
        heading(".throughline/memories");
        files.keys().for_each(|name| say(&name.display().to_string()));
        let of = |word: &str| files.iter().find(|(name, _)| name.to_string_lossy().contains(word));
        if let Some((name, text)) = of("locked").or_else(|| files.iter().next()) {
            heading(&name.display().to_string());
            say(String::from_utf8_lossy(text).trim_end());
        }
        let is_evidenced = |text: &Vec<u8>| {
            let text = String::from_utf8_lossy(text);
            text.starts_with("---\n") && text.contains("\nsource:") && text.contains("quote:")
        };
        let bare = files.iter().find(|(_, text)| !is_evidenced(text)).map(|(name, _)| name);
        checks.check(
            "each quotes the words of a session",
            !files.is_empty() && bare.is_none(),
            format!("{bare:?}"),
        );
        Ok(())
    }

    /// Prints the files of the index, and checks that the index can be rebuilt from memories and archive.
    fn index(&self, query: &str, checks: &mut Checks) -> io::Result<()> {
        let trees = self.environment.state_dir().join("trees");
        let files = sample_project::snapshot(&trees)?;
        let of_index = files.iter().filter(|(name, _)| name.iter().any(|part| part == "index"));
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        heading("the index of this working tree");
        for (path, bytes) in of_index {
            say(&format!("{:>8} bytes  {}", bytes.len(), name(path)));
        }
        let query = ["search", query];
        let before = self.command(&query)?;
        fs::remove_dir_all(&trees)?;
        self.environment.throughline(self.root, &["sync"])?;
        let after = self.environment.throughline(self.root, &query)?;
        checks.check(
            "it may be deleted: the next sync makes one that answers the same",
            before == after && !before.is_empty(),
            format!("{before}\nis not\n{after}"),
        );
        Ok(())
    }

    /// Shows the events of a session: its start, a prompt, a file, an error and its end.
    fn sessions(&self, mut expected: Expected<'_>) -> io::Result<()> {
        expected.checks.part("4. A session is given what helps, at the moment it helps");
        let (command, error) = FAILED;
        let failed = format!("A command fails: `{command}` (database is locked)");
        let asked = format!("You ask: \"{PROMPT}\"");
        let foreign = format!("You ask: \"{FOREIGN_PROMPT}\"");
        let before = [Moment::start("startup")];
        let start = self.moment("A new session begins", &before[0], &[])?;
        let expected_start = "it is told where the work was left";
        expected.checks.contains(expected_start, &start, "Where the work was left");
        expected.contains("and the user's standing rules", &start, "unwrap()");
        for (name, moment, what, wanted) in [
            (&*asked, Moment::prompt(PROMPT), "a prompt brings what was tried before", "rayon"),
            (
                "Claude reads src/times.rs",
                Moment::read(&self.root.join("src/times.rs")),
                "a file brings its trap",
                "line number",
            ),
            (&*failed, Moment::failure(command, error), "an error brings its cure", "busy_timeout"),
        ] {
            let given = self.moment(name, &moment, &before)?;
            expected.contains(what, &given, wanted);
        }
        let given = self.moment(&foreign, &Moment::prompt(FOREIGN_PROMPT), &before)?;
        expected.checks.check(
            "a prompt about something else brings nothing",
            given.is_empty(),
            &given,
        );
        self.moment("Claude stops", &Moment::stop(), &before)?;
        self.command(&["why", "--session", SHOWN])?;
        Ok(())
    }

    /// Prints the output of a hook in the session that is shown. Its time is measured in separate sessions, in which
    /// the events `before` are run first. Returns the text for Claude.
    fn moment(&self, name: &str, moment: &Moment, before: &[Moment]) -> io::Result<String> {
        let run = moment.run(self.environment, self.root, SHOWN)?;
        if !run.output.status.success() {
            let error = String::from_utf8_lossy(&run.output.stderr).into_owned();
            return Err(io::Error::other(format!("{}: {error}", moment.program())));
        }
        let time = self.median(moment, before)?;
        heading(&format!("{name}  ({}, {:.1} ms)", moment.program(), millis(time)));
        show_run(&run);
        Ok(run.context())
    }

    /// Returns the median time of the hook in separate sessions, including the start of its process.
    fn median(&self, moment: &Moment, before: &[Moment]) -> io::Result<Duration> {
        let mut times = Vec::new();
        for run in 0..RUNS {
            let session = format!("timed-session-{run}-{}", before.len());
            for earlier in before {
                earlier.run(self.environment, self.root, &session)?;
            }
            times.push(moment.run(self.environment, self.root, &session)?.took);
        }
        times.sort();
        Ok(times[RUNS / 2])
    }

    fn ends(&self, checks: &mut Checks) {
        let left = self.environment.wait_until_quiet();
        checks.check("no process of ours is left", left.is_empty(), format!("{left:#?}"));
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
