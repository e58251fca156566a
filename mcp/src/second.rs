//! Vectors of queries in the second space: the processor is asked for them, by name, for it alone knows
//! models.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use memory_store::ProjectId;
use memory_store::background::{PROGRAM, is_passed_on};
use memory_store::second::Ask;
use memory_store::settings::Embedder;
use serde::Deserialize;

/// How much longer than the model the program may take.
const START_MAX: Duration = Duration::from_secs(1);
/// Bytes of an answer: a vector of 8,192 numbers in words.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// The processor as somebody to ask.
#[derive(Debug)]
pub struct Program {
    path: Option<PathBuf>,
    project: ProjectId,
    most: Duration,
}

/// What it prints.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Vector(Vec<f32>),
    Problem(String),
}

impl Program {
    /// The processor beside this program, for a project.
    pub fn new(project: ProjectId, embedder: &Embedder) -> Self {
        let beside = std::env::current_exe().ok();
        Self {
            path: beside.map(|this| this.with_file_name(PROGRAM)),
            project,
            most: Duration::from_millis(u64::from(embedder.search_ms)) + START_MAX,
        }
    }

    fn start(&self) -> std::io::Result<Child> {
        let path = self.path.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        Command::new(path)
            .args(["vector", "--project", &self.project.to_string()])
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }
}

impl Ask for Program {
    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let mut child = self.start().map_err(|error| format!("{PROGRAM}: {error}"))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{PROGRAM} has no pipes"));
        };
        let text = text.to_owned();
        let (answered, answer) = mpsc::channel();
        std::thread::spawn(move || {
            // Whoever reads nothing says so by what it answers.
            let _ = stdin.write_all(text.as_bytes());
            drop(stdin);
            let mut given = Vec::new();
            let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut given);
            let _ = answered.send(read.map(|_| given));
        });
        let given = answer.recv_timeout(self.most);
        // It is done, or too late.
        let _ = child.kill();
        let _ = child.wait();
        match given {
            Err(_) => Err(format!("no vector within {:.1} s", self.most.as_secs_f32())),
            Ok(Err(error)) => Err(format!("{PROGRAM}: {error}")),
            Ok(Ok(given)) => match serde_json::from_slice(&given) {
                Ok(Answer::Vector(vector)) => Ok(vector),
                Ok(Answer::Problem(problem)) => Err(problem),
                Err(_) => Err(format!("{PROGRAM} gave no answer; run scripts/install again")),
            },
        }
    }
}
