//! What another program answers, in bounded time.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 256;

/// How often a program is looked at that has not ended. One of ours ends in a millisecond or two,
/// and `doctor` says how long it took.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// What a program says to `--version`; `None` when it does not end with success in this time.
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

/// The beginning of what a program that has ended said.
pub fn read(child: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What was read until something went wrong is what it said.
        let _ = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}
