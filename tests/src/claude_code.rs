//! The real Claude Code client, run without a terminal, with [`crate::messages_api`] as its model.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::ledger_project::toolchain_dir;
use crate::messages_api::MessagesApi;

/// Variable with the path of the client's program; `scripts/e2e-claude-code` sets it.
pub const PROGRAM_VARIABLE: &str = "THROUGHLINE_TEST_CLAUDE";

/// Maximum duration of a session, in seconds.
const SESSION_S: u64 = 120;

/// Tools that the scripted model may use without asking for permission.
const ALLOWED_TOOLS: &str = "Bash,Read,Edit,Write,Agent,Task,ToolSearch,mcp__throughline,mcp__plugin_throughline_throughline";

/// A client in a sealed environment.
pub struct Client<'a> {
    program: PathBuf,
    path: String,
    environment: &'a TestEnvironment,
    api: &'a MessagesApi,
    plugin: Option<PathBuf>,
    entrypoint: Option<&'static str>,
}

/// Result of a session.
#[derive(Debug)]
pub struct Outcome {
    /// Last message of the model.
    pub result: String,
    /// Claude Code's id of the session.
    pub session: String,
    /// Messages printed by the client, one JSON object each.
    pub messages: Vec<Value>,
}

/// How a session begins.
#[derive(Clone, Copy, Debug)]
pub enum Begin<'a> {
    /// As a new session with this id.
    New(&'a str),
    /// As the continuation of the session with this id.
    Resume(&'a str),
}

impl<'a> Client<'a> {
    /// Creates a client that uses `api`. [`PROGRAM_VARIABLE`] names its program.
    pub fn new(environment: &'a TestEnvironment, api: &'a MessagesApi) -> io::Result<Self> {
        let program = std::env::var_os(PROGRAM_VARIABLE).ok_or_else(|| {
            io::Error::other(format!(
                "{PROGRAM_VARIABLE} does not name the client; run scripts/e2e-claude-code"
            ))
        })?;
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", toolchain_dir()?.display());
        Ok(Self { program: program.into(), path, environment, api, plugin: None, entrypoint: None })
    }

    /// Loads the plugin in this folder for the sessions of this client.
    pub fn with_plugin(mut self, folder: PathBuf) -> Self {
        self.plugin = Some(folder);
        self
    }

    /// Runs sessions as the desktop app does; in these, prompts count as typed by a person.
    pub fn in_the_desktop_app(mut self) -> Self {
        self.entrypoint = Some("claude-desktop");
        self
    }

    /// Sets the folders in which programs are searched, in place of those of the system and of the Rust toolchain.
    pub fn with_path(mut self, path: String) -> Self {
        self.path = path;
        self
    }

    /// Returns the version of the client.
    pub fn version(&self) -> io::Result<String> {
        crate::environment::printed(self.command(Path::new("/")).arg("--version"))
            .map(|text| text.trim().to_owned())
    }

    /// Runs one of the client's own commands, for example `mcp list`.
    pub fn run(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        crate::environment::printed(self.command(root).args(arguments))
    }

    /// Runs a session with one prompt to its end.
    pub fn session(&self, root: &Path, begin: Begin, prompt: &str) -> io::Result<Outcome> {
        let mut session = self.open(root, begin)?;
        let turn = session.turn(prompt)?;
        session.close()?;
        Ok(turn)
    }

    /// Opens a session, which accepts prompts until it is closed or killed.
    pub fn open(&self, root: &Path, begin: Begin) -> io::Result<OpenSession> {
        let mut command = self.command(root);
        command.args(["--print", "--verbose"]);
        command.args(["--input-format", "stream-json", "--output-format", "stream-json"]);
        command.args(["--allowed-tools", ALLOWED_TOOLS]);
        if let Some(plugin) = &self.plugin {
            command.arg("--plugin-dir").arg(plugin);
        }
        match begin {
            Begin::New(id) => command.args(["--session-id", id]),
            Begin::Resume(id) => command.args(["--resume", id]),
        };
        let errors = self.environment.path().join("client-errors.txt");
        command.stderr(File::options().create(true).append(true).open(errors)?);
        OpenSession::start(command)
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = self.environment.command(&self.program);
        command
            .current_dir(root)
            .env("ANTHROPIC_BASE_URL", self.api.url())
            .env("ANTHROPIC_API_KEY", "no-key-is-needed-here")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("PATH", self.path.clone())
            .env("SHELL", "/bin/bash")
            // The variable is removed, so that processes below the client are recognised as in real use.
            .env_remove(testutils::PROC_VARIABLE)
            // The mode is set, because the default in CI is to recall only, which does not apply to real users.
            .env("THROUGHLINE", "full");
        if let Some(entrypoint) = self.entrypoint {
            command.env("CLAUDE_CODE_ENTRYPOINT", entrypoint);
        }
        command
    }
}

/// An open session; the client waits for the next prompt.
pub struct OpenSession {
    child: Child,
    lines: mpsc::Receiver<Value>,
}

impl OpenSession {
    fn start(mut command: Command) -> io::Result<Self> {
        // The separate process group includes the client's children, so that a kill reaches them.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || forward_lines(stdout, &sender));
        Ok(Self { child, lines })
    }

    /// Sends a prompt and waits until the model has stopped.
    pub fn turn(&mut self, prompt: &str) -> io::Result<Outcome> {
        let message =
            json!({"type": "user", "message": {"role": "user", "content": prompt}}).to_string();
        let stdin = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{message}")?;
        self.wait_for_result()
    }

    /// Waits until the model's next turn ends.
    pub fn wait_for_result(&mut self) -> io::Result<Outcome> {
        let end = Instant::now() + Duration::from_secs(SESSION_S);
        let mut messages = Vec::new();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.lines.recv_timeout(left).map_err(|error| {
                io::Error::other(format!("the client printed no result: {error}; {messages:#?}"))
            })?;
            let done = message["type"] == "result";
            messages.push(message);
            if done {
                return Ok(outcome(messages));
            }
        }
    }

    /// Ends the session, as a user who leaves the client does.
    pub fn close(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(SESSION_S);
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                return if status.success() {
                    Ok(())
                } else {
                    Err(io::Error::other(format!("the client ended with {status}")))
                };
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(io::Error::other("the client did not end after its input had ended"))
    }

    /// Kills the client and its child processes, as in a power failure.
    pub fn kill(mut self) -> io::Result<()> {
        let group = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        // SAFETY: kill(2) has only integer arguments. The group is that of a child for which no call has waited yet, so
        // its id is not reused.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        self.child.wait().map(drop)
    }
}

fn forward_lines(stdout: impl Read, sender: &mpsc::Sender<Value>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
        if sender.send(message).is_err() {
            return;
        }
    }
}

fn outcome(messages: Vec<Value>) -> Outcome {
    let last = messages.last().cloned().unwrap_or_default();
    let text = |key: &str| last[key].as_str().unwrap_or_default().to_owned();
    Outcome { result: text("result"), session: text("session_id"), messages }
}
