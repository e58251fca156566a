//! Requests to the processor, which can read the models of the second space and the archive: vectors of queries, lists
//! of sessions, and turns.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use memory_store::background::{PROGRAM, processor_command};
use memory_store::custom_embedder::Ask;
use memory_store::settings::Embedder;
use memory_store::{ProjectId, Timestamp};
use serde::Deserialize;

/// Time limit for the start of the program, in addition to the limit of the model.
const START_MAX: Duration = Duration::from_secs(1);
/// Maximum bytes of an answer: a vector of 8,192 numbers as text.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Time limit for a list of sessions or a turn.
const LIST_MAX: Duration = Duration::from_secs(10);
/// Maximum bytes of a list of sessions, or of a turn.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// A client of the processor.
#[derive(Debug)]
pub struct Program {
    path: Option<PathBuf>,
    project: ProjectId,
    most: Duration,
}

/// Answer of the processor to a query.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProcessorAnswer {
    Vector(Vec<f32>),
    Problem(String),
}

/// A session in the processor's list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PrintedSession {
    /// Claude Code's id of the session.
    pub session: String,
    /// Author of the session's prompts if this is not a person: `agent` or `program`.
    pub speaker: String,
    /// Time of the first record.
    pub first: Timestamp,
    /// Time of the last record.
    pub last: Timestamp,
    /// Git branch at the end of the session.
    pub branch: String,
    /// Goal of the session at its end.
    pub goal: String,
    /// Completed steps.
    pub done: Vec<String>,
    /// Open steps.
    pub open: Vec<String>,
    /// Changed files, relative to the root of their working tree.
    pub files: Vec<String>,
}

impl PrintedSession {
    /// Whether the session changed `file`, or a file in a folder of this name.
    pub fn changed(&self, file: &str) -> bool {
        let file = file.trim_end_matches('/');
        self.files.iter().any(|path| {
            path == file
                || path.strip_prefix(file).is_some_and(|rest| rest.starts_with('/'))
                || path.strip_suffix(file).is_some_and(|rest| rest.ends_with('/'))
        })
    }
}

/// Requests the sessions of a project from the processor in the folder of this program, latest first.
pub fn sessions(project: ProjectId) -> Result<Vec<PrintedSession>, String> {
    let program = Program::within(project, LIST_MAX);
    let given = program.ask("sessions", String::new(), LIST_BYTES_MAX)?;
    serde_json::from_slice(&given).map_err(|_| program.no_answer())
}

/// Requests the whole text of a turn from the processor in the folder of this program; the index contains only its
/// beginning. Returns `None` if the archive contains no turn of this session that began at this time.
pub fn turn(project: ProjectId, session: &str, at: Timestamp) -> Result<Option<String>, String> {
    let program = Program::within(project, LIST_MAX);
    let given = program.ask("turn", format!("{session} {at}"), LIST_BYTES_MAX)?;
    serde_json::from_slice(&given).map_err(|_| program.no_answer())
}

impl Program {
    /// Returns a client of the processor in the folder of this program, for a project.
    pub fn new(project: ProjectId, embedder: &Embedder) -> Self {
        Self::within(project, Duration::from_millis(u64::from(embedder.search_ms)) + START_MAX)
    }

    fn within(project: ProjectId, most: Duration) -> Self {
        let path = std::env::current_exe().ok().map(|this| this.with_file_name(PROGRAM));
        Self { path, project, most }
    }

    fn start(&self, what: &str) -> std::io::Result<Child> {
        let path = self.path.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        processor_command(path, std::env::vars_os())
            .args([what, "--project", &self.project.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }

    fn no_answer(&self) -> String {
        format!("{PROGRAM} gave no answer; run `throughline doctor`")
    }

    /// Runs the program with a text on its stdin, and returns its output.
    fn ask(&self, what: &str, text: String, bytes_max: u64) -> Result<Vec<u8>, String> {
        let mut child = self.start(what).map_err(|error| format!("{PROGRAM}: {error}"))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{PROGRAM} has no pipes"));
        };
        let (answered, answer) = mpsc::channel();
        std::thread::spawn(move || {
            // A write error is ignored: if the program does not read its input, its output contains the reason.
            let _ = stdin.write_all(text.as_bytes());
            drop(stdin);
            let mut given = Vec::new();
            let read = stdout.take(bytes_max).read_to_end(&mut given);
            let _ = answered.send(read.map(|_| given));
        });
        let given = answer.recv_timeout(self.most);
        // The program has ended or exceeded the time limit.
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
