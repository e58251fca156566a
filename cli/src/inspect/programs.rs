//! Checks whether Throughline's other programs, in the folder of this program, exist and run.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use memory_store::background;

use crate::answer;
use crate::setup::claude::{hooks, server};

/// Longest wait for the output of a program.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Returns the names of Throughline's other programs.
pub fn all() -> impl Iterator<Item = &'static str> {
    hooks::PROGRAMS.into_iter().chain([background::PROGRAM, server::PROGRAM])
}

/// Returns the version that a program prints for `--version`; `None` if it fails.
pub fn version(path: &Path) -> Option<String> {
    let answer = answer::version(path, ANSWER_MAX)?;
    // The output contains the commit after the version, if it is known.
    let version = answer.split_whitespace().nth(1)?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// Runs a hook with an empty payload in an untrusted folder. Returns the duration of the run, or the problem: the hook
/// must end by itself, succeed, and print nothing.
pub fn dry_run(hook: &Path) -> Result<Duration, String> {
    let start = Instant::now();
    let mut child = Command::new(hook)
        .current_dir("/")
        .env("THROUGHLINE", "read")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A write error is ignored, since the hook may end before it reads its input.
        let _ = stdin.write_all(b"{}");
    }
    let ended = answer::wait(&mut child, ANSWER_MAX).ok_or("does not end")?;
    let took = start.elapsed();
    let said = answer::read(&mut child);
    match (ended.success(), said.trim().is_empty()) {
        (true, true) => Ok(took),
        (true, false) => Err(format!("speaks without being asked: {said}")),
        (false, _) => Err(format!("ends with {ended}")),
    }
}
