//! The first steps of a user without Rust: a release archive, a home with a history of sessions, and the real client,
//! which receives the session record of the last session. `scripts/e2e-install` runs it; with `--write`, it also writes
//! the transcript to `docs/install.md`.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use journeys::checks::Checks;
use journeys::claude_code::{Begin, Client};
use journeys::environment::TestEnvironment;
use journeys::injections::{Injection, injections};
use journeys::messages_api::{MessagesApi, Request, Script};
use journeys::metadata::root;
use journeys::sample_project;

/// Variable with the folder of the archive and SHA256SUMS.
const RELEASE_VARIABLE: &str = "THROUGHLINE_TEST_RELEASE";
const PAGE: &str = "docs/install.md";
const BEGIN: &str = "<!-- begin: written by scripts/e2e-install --write -->\n";
const END: &str = "<!-- end -->\n";

const SESSIONS: usize = 20;
const DAYS_BETWEEN_ROUNDS: i64 = 60;
const COMMANDS_MAX: usize = 4;
const TIME_MAX: Duration = Duration::from_secs(60);
/// Maximum number of lines of one text in the transcript; further lines are only counted.
const LINES_MAX: usize = 14;

const ASK: &str = "What comes next for the mail to the harbour master?";
/// Words of the last session record that answer the user's question.
const ANSWER: &str = "not done: Queue mails in the store";
/// Words of a wish that the user typed in one of the sessions.
const WISH: &str = "never use unwrap()";
const INSTALL: &str = "sh ~/Downloads/get --from ~/Downloads";
const INIT: &str = "cd ~/tidelog && throughline init --yes";
const INIT_BESIDE_PLUGIN: &str = "cd ~/tidelog && throughline init --yes --no-register";
const PLUGIN: &str = ".local/share/throughline-release/plugin";
const SESSION: &str = "11111111-cccc-4111-8111-111111111111";

fn main() -> ExitCode {
    let mut checks = Checks::default();
    let transcripts = journey(&mut checks, "With `init`", INIT, false).and_then(|by_init| {
        Ok([by_init, journey(&mut checks, "By the plugin alone", INIT_BESIDE_PLUGIN, true)?])
    });
    match transcripts {
        Ok(transcripts) if std::env::args().nth(1).as_deref() == Some("--write") => {
            let written = write(&transcripts.join("\n"));
            checks.check(&format!("{PAGE} is written"), written.is_ok(), format!("{written:?}"));
        }
        Ok(_) => {}
        Err(error) => checks.check("the journey runs to its end", false, error),
    }
    checks.finish()
}

/// Installs the programs, sets up a project and starts a session. Returns the output that the user sees.
fn journey(checks: &mut Checks, name: &str, init: &str, by_plugin: bool) -> io::Result<String> {
    checks.part(name);
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let machine = Newcomer::new(&environment, name)?;
    let has_rust =
        ["cargo", "rustc"].map(|program| machine.shell(&format!("command -v {program}")));
    let has_rust = has_rust.iter().any(|found| found.as_ref().is_ok_and(|found| found.0));
    checks.check("there is no Rust", !has_rust, machine.path());

    let api = MessagesApi::start()?;
    api.script([Script::on(ASK).answers("The alert's id becomes the primary key.")]);
    let mut client = Client::new(&environment, &api)?.with_path(machine.path());
    let mut started = format!("cd ~/tidelog && claude \"{ASK}\"");
    if by_plugin {
        client = client.with_plugin(environment.home().join(PLUGIN));
        started = format!("cd ~/tidelog && claude --plugin-dir ~/{PLUGIN} \"{ASK}\"");
    }

    let begun = Instant::now();
    let mut shown = Shown::new(name, &environment);
    for command in [INSTALL, init] {
        let (succeeded, text) = machine.shell(command)?;
        checks.check(&format!("`{command}` succeeds"), succeeded, &text);
        shown.command(command, &text);
    }
    client.session(&machine.project, Begin::New(SESSION), ASK)?;
    let took = begun.elapsed();
    let requests = api.take_requests().into_iter().filter(Request::is_conversation);
    let given: Vec<_> = requests.take(1).flat_map(|request| injections(&request)).collect();
    shown.command(&started, &Shown::given(&given));
    shown.end(took);

    let text = given.iter().map(|given| given.text.as_str()).collect::<String>();
    checks.contains("the first request carries the record of the last session", &text, ANSWER);
    checks.contains("and the user's wish", &text, WISH);
    checks.check(
        &format!("within {} s", TIME_MAX.as_secs()),
        took <= TIME_MAX,
        format!("{took:?}"),
    );
    let commands = shown.commands;
    checks.check(&format!("in {COMMANDS_MAX} commands"), commands <= COMMANDS_MAX, commands);
    let registered = environment.claude_dir().join("settings.json").exists();
    checks.check("hooks are registered once", registered != by_plugin, registered);
    let left = environment.wait_until_quiet();
    checks.check("background work has ended", left.is_empty(), format!("{left:#?}"));
    Ok(shown.text)
}

/// A home that contains only downloads and a history.
struct Newcomer<'a> {
    environment: &'a TestEnvironment,
    project: PathBuf,
}

impl<'a> Newcomer<'a> {
    fn new(environment: &'a TestEnvironment, name: &str) -> io::Result<Self> {
        let downloads = environment.home().join("Downloads");
        let release = std::env::var_os(RELEASE_VARIABLE).ok_or_else(|| {
            io::Error::other(format!(
                "{name}: {RELEASE_VARIABLE} is not set; run scripts/e2e-install"
            ))
        })?;
        sample_project::copy(Path::new(&release), &downloads)?;
        fs::copy(root().join("scripts/get"), downloads.join("get"))?;
        // The sources are created beside the home, and moved into it as the project of the user.
        let project = environment.home().join("tidelog");
        fs::rename(sample_project::sources(environment)?, &project)?;
        write_history(&environment.claude_dir(), &project)?;
        Ok(Self { environment, project })
    }

    /// Returns the search path for programs.
    fn path(&self) -> String {
        let bin = self.environment.home().join(".local/bin");
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
    }

    /// Runs a command line; returns whether it succeeded, and its output.
    fn shell(&self, line: &str) -> io::Result<(bool, String)> {
        let mut command: Command = self.environment.command("sh");
        command
            .env("PATH", self.path())
            .env("THROUGHLINE", "full")
            .current_dir(self.environment.home());
        let output = command.args(["-c", &format!("exec 2>&1; {line}")]).output()?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Writes the sessions of the sample project several times until there are enough. Each repetition is earlier than the
/// previous one.
fn write_history(claude_dir: &Path, project: &Path) -> io::Result<()> {
    let stories = sample_project::stories()?;
    for number in 0..SESSIONS {
        let round = i64::try_from(number / stories.len()).map_err(io::Error::other)?;
        let mut story = stories[number % stories.len()].clone();
        let earlier = SignedDuration::from_hours(24 * DAYS_BETWEEN_ROUNDS * round);
        story.at = story.at.checked_sub(earlier).map_err(io::Error::other)?;
        story.session = format!("{:08x}-0000-4000-8000-000000000000", 0xa100_0000 + number);
        story.write(claude_dir, project)?;
    }
    Ok(())
}

/// The transcript of a journey, as text for the page.
struct Shown {
    text: String,
    home: String,
    commands: usize,
}

impl Shown {
    fn new(name: &str, environment: &TestEnvironment) -> Self {
        let home = environment.home().display().to_string();
        Self { text: format!("{name}:\n\n```\n"), home, commands: 0 }
    }

    fn command(&mut self, line: &str, output: &str) {
        self.commands += 1;
        self.text.push_str(&format!("$ {line}\n"));
        for line in output.trim_end().lines() {
            let line = line.replace(&self.home, "~");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Returns the injections of a session's hooks, each text after the name of its event.
    fn given(given: &[Injection]) -> String {
        let shown = given.iter().map(|given| {
            let lines: Vec<_> = given.text.lines().filter(|line| !line.is_empty()).collect();
            let more = lines.len().saturating_sub(LINES_MAX);
            let mut text = format!("[in the request, by {}]\n", given.event);
            lines.iter().take(LINES_MAX).for_each(|line| text.push_str(&format!("  {line}\n")));
            if more > 0 {
                text.push_str(&format!("  [{more} lines more]\n"));
            }
            text
        });
        shown.collect()
    }

    fn end(&mut self, took: Duration) {
        let commands = self.commands;
        self.text.push_str(&format!(
            "```\n\n{commands} commands, {:.0} s from the first to the end of the session.\n",
            took.as_secs_f64().ceil()
        ));
    }
}

/// Writes the transcripts into the page between its two marks.
fn write(transcripts: &str) -> io::Result<()> {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let lacks =
        || io::Error::other(format!("{} lacks the marks of the transcript", path.display()));
    let (before, rest) = page.split_once(BEGIN).ok_or_else(lacks)?;
    let (_, after) = rest.split_once(END).ok_or_else(lacks)?;
    fs::write(&path, format!("{before}{BEGIN}{transcripts}{END}{after}"))
}
