//! Runs a program and returns its answer: in a process group of its own, with a bound on time and output.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use memory_store::fs::process::{end_group, start_group};

/// Bytes of a program's complaints that are read.
const STDERR_BYTES_MAX: u64 = 64 << 10;
/// Time for reading its output after the program has ended: its child processes may keep the pipe open.
const END: Duration = Duration::from_millis(500);

/// Output of a program.
#[derive(Debug, Default)]
pub struct Printed {
    /// On its standard output.
    pub stdout: Vec<u8>,
    /// On its standard error.
    pub stderr: Vec<u8>,
}

/// Why there is nothing of it.
#[derive(Debug)]
pub enum NoOutput {
    /// It could not be started.
    Start(std::io::Error),
    /// It took too long, and was ended with all that it started.
    Late,
    /// It printed too much.
    Long,
}

/// Runs a program with `input` on its standard input.
pub fn run(
    command: &mut Command,
    input: &str,
    limit: Duration,
    stdout_bytes_max: u64,
) -> Result<Printed, NoOutput> {
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, _watched) = start_group(command).map_err(NoOutput::Start)?;
    // In threads, so that no full pipe blocks; each ends with the group.
    let (mut stdin, input) = (child.stdin.take(), input.as_bytes().to_vec());
    thread::spawn(move || {
        // It may end without having read all of it.
        drop(stdin.as_mut().map(|stdin| stdin.write_all(&input)));
    });
    let stdout = child.stdout.take().map(|from| whole(from, stdout_bytes_max + 1));
    let stderr = child.stderr.take().map(|from| whole(from, STDERR_BYTES_MAX));
    let received = stdout.map(|stdout| stdout.recv_timeout(left()));
    // Before waiting for the child: after that its number could be another's.
    let mut end = |failure| {
        end_group(&mut child);
        Err(failure)
    };
    let stdout = match received {
        Some(Ok(stdout)) if stdout.len() as u64 > stdout_bytes_max => return end(NoOutput::Long),
        Some(Ok(stdout)) => stdout,
        Some(Err(_)) | None => return end(NoOutput::Late),
    };
    let stderr = stderr.and_then(|stderr| stderr.recv_timeout(END.min(left())).ok());
    // The output is complete: remaining processes are useless.
    end_group(&mut child);
    Ok(Printed { stdout, stderr: stderr.unwrap_or_default() })
}

/// Reads to the end, up to a number of bytes.
fn whole(from: impl Read + Send + 'static, bytes_max: u64) -> mpsc::Receiver<Vec<u8>> {
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error there is no more data.
        drop(from.take(bytes_max).read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    received
}
