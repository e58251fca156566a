//! Answers of other programs, with a time limit.

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Maximum bytes read from the output of a program.
const ANSWER_BYTES_MAX: u64 = 256;

/// Interval of the checks whether a program has ended. The interval is short because Throughline's programs end within
/// two milliseconds and `doctor` prints their run time.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// Runs a program with `--version`; `None` if it does not succeed within the time limit.
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

/// Waits for a program; ends it if it exceeds the time limit.
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

/// Runs a program with an input that fits into a pipe, and returns its output. An error contains the program's stderr,
/// or reports a timeout. Output beyond `bytes_max`, or beyond the capacity of a pipe, is not read.
pub fn talk(
    command: &mut Command,
    input: &[u8],
    answer_max: Duration,
    bytes_max: u64,
) -> Result<String, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A failed write is no error: the program may end before it reads its input.
        let _ = stdin.write_all(input);
    }
    let status = wait(&mut child, answer_max).ok_or("does not end")?;
    if status.success() {
        return Ok(begins(child.stdout.take(), bytes_max));
    }
    let said = begins(child.stderr.take(), bytes_max);
    Err(if said.trim().is_empty() { format!("ends with {status}") } else { said.trim().into() })
}

/// Returns the first [`ANSWER_BYTES_MAX`] bytes of the output of a program that has ended.
pub fn read(child: &mut Child) -> String {
    begins(child.stdout.take(), ANSWER_BYTES_MAX)
}

fn begins(pipe: Option<impl Read>, bytes_max: u64) -> String {
    let mut said = Vec::new();
    if let Some(pipe) = pipe {
        // A read error is ignored: the bytes read before it are returned.
        let _ = pipe.take(bytes_max).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}
