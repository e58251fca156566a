//! The processor as somebody to ask, by its name: it alone knows models and the archive of sessions. It tells
//! vectors of queries in the second space, and which sessions there are.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use memory_store::background::{PROGRAM, is_passed_on};
use memory_store::custom_embedder::Ask;
use memory_store::settings::Embedder;
use memory_store::{ProjectId, Timestamp};
use serde::Deserialize;

/// How much longer than the model the program may take.
const START_MAX: Duration = Duration::from_secs(1);
/// Bytes of an answer: a vector of 8,192 numbers in words.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// How long a list of sessions, or a turn, may take.
const LIST_MAX: Duration = Duration::from_secs(10);
/// Bytes of a list of sessions, or of a turn.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// The processor as somebody to ask.
#[derive(Debug)]
pub struct Program {
    path: Option<PathBuf>,
    project: ProjectId,
    most: Duration,
}

/// Output of the search program.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProcessorAnswer {
    Vector(Vec<f32>),
    Problem(String),
}

/// A session, as the processor lists them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PrintedSession {
    /// Claude Code's id of it.
    pub session: String,
    /// Who gave its prompts, where that was no person: `agent` or `program`.
    pub speaker: String,
    /// The time of its first record.
    pub first: Timestamp,
    /// The time of its last.
    pub last: Timestamp,
    /// The branch it was on at its end.
    pub branch: String,
    /// Goal that stood at its end.
    pub goal: String,
    /// Steps that were done.
    pub done: Vec<String>,
    /// Steps that were left open.
    pub open: Vec<String>,
    /// The files that it changed, below the root of their working tree.
    pub files: Vec<String>,
}

impl PrintedSession {
    /// Whether it changed a file, or one in a folder.
    pub fn changed(&self, file: &str) -> bool {
        let file = file.trim_end_matches('/');
        self.files.iter().any(|path| {
            path == file
                || path.strip_prefix(file).is_some_and(|rest| rest.starts_with('/'))
                || path.strip_suffix(file).is_some_and(|rest| rest.ends_with('/'))
        })
    }
}

/// Asks the processor beside this program which sessions a project has; the latest come first.
pub fn sessions(project: ProjectId) -> Result<Vec<PrintedSession>, String> {
    let program = Program::within(project, LIST_MAX);
    let given = program.ask("sessions", String::new(), LIST_BYTES_MAX)?;
    serde_json::from_slice(&given).map_err(|_| program.no_answer())
}

/// Asks the processor beside this program for all of a turn, which the index has the beginning of; `None` where the
/// archive has no turn of this session that began then.
pub fn turn(project: ProjectId, session: &str, at: Timestamp) -> Result<Option<String>, String> {
    let program = Program::within(project, LIST_MAX);
    let given = program.ask("turn", format!("{session} {at}"), LIST_BYTES_MAX)?;
    serde_json::from_slice(&given).map_err(|_| program.no_answer())
}

impl Program {
    /// The processor beside this program, for a project.
    pub fn new(project: ProjectId, embedder: &Embedder) -> Self {
        Self::within(project, Duration::from_millis(u64::from(embedder.search_ms)) + START_MAX)
    }

    fn within(project: ProjectId, most: Duration) -> Self {
        let path = std::env::current_exe().ok().map(|this| this.with_file_name(PROGRAM));
        Self { path, project, most }
    }

    fn start(&self, what: &str) -> std::io::Result<Child> {
        let path = self.path.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        Command::new(path)
            .args([what, "--project", &self.project.to_string()])
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }

    fn no_answer(&self) -> String {
        format!("{PROGRAM} gave no answer; `throughline doctor` says what helps")
    }

    /// Runs the program with a text on its standard input, and returns what it prints.
    fn ask(&self, what: &str, text: String, bytes_max: u64) -> Result<Vec<u8>, String> {
        let mut child = self.start(what).map_err(|error| format!("{PROGRAM}: {error}"))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{PROGRAM} has no pipes"));
        };
        let (answered, answer) = mpsc::channel();
        std::thread::spawn(move || {
            // A program that does not read its input says so by its answer.
            let _ = stdin.write_all(text.as_bytes());
            drop(stdin);
            let mut given = Vec::new();
            let read = stdout.take(bytes_max).read_to_end(&mut given);
            let _ = answered.send(read.map(|_| given));
        });
        let given = answer.recv_timeout(self.most);
        // It is done, or too late.
        let _ = child.kill();
        let _ = child.wait();
        match given {
            Err(_) => Err(format!("no {what} within {:.1} s", self.most.as_secs_f32())),
            Ok(given) => given.map_err(|error| format!("{PROGRAM}: {error}")),
        }
    }
}

impl Ask for Program {
    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let given = self.ask("vector", text.to_owned(), ANSWER_BYTES_MAX)?;
        match serde_json::from_slice(&given) {
            Ok(ProcessorAnswer::Vector(vector)) => Ok(vector),
            Ok(ProcessorAnswer::Problem(problem)) => Err(problem),
            Err(_) => Err(self.no_answer()),
        }
    }
}
