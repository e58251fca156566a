//! Answers of other programs, in bounded time.

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 256;

/// How often a program is looked at that has not ended. One of ours ends in a millisecond or two,
/// and `doctor` says how long it took.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Asks a program for its `--version`; `None` when it does not end with success in this time.
pub fn version(program: &Path, answer_max: Duration) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    wait(&mut child, answer_max)?.success().then(|| read(&mut child))
}

/// Waits for a program; one that takes too long is ended.
pub fn wait(child: &mut Child, answer_max: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + answer_max;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// Runs a program with this on its stdin, of which a pipe holds all, and returns what it printed; an error says what it
/// said on stderr, or that it did not end in time. More than `bytes_max`, or than a pipe holds, is not read.
pub fn talk(
    command: &mut Command,
    input: &[u8],
    answer_max: Duration,
    bytes_max: u64,
) -> Result<String, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may have ended before it read anything.
        let _ = stdin.write_all(input);
    }
    let status = wait(&mut child, answer_max).ok_or("does not end")?;
    if status.success() {
        return Ok(begins(child.stdout.take(), bytes_max));
    }
    let said = begins(child.stderr.take(), bytes_max);
    Err(if said.trim().is_empty() { format!("ends with {status}") } else { said.trim().into() })
}

/// The beginning of what a program that has ended said.
pub fn read(child: &mut Child) -> String {
    begins(child.stdout.take(), ANSWER_BYTES_MAX)
}

fn begins(pipe: Option<impl Read>, bytes_max: u64) -> String {
    let mut said = Vec::new();
    if let Some(pipe) = pipe {
        // Its answer is all that was read until something went wrong.
        let _ = pipe.take(bytes_max).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}
