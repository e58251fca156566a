//! Runs a program and returns its output. The program runs in a separate process group, with limits for time and
//! output.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use memory_store::fs::process::{end_group, start_group};

/// Maximum number of bytes of a program's error output that are read.
const STDERR_BYTES_MAX: u64 = 64 << 10;
/// Maximum time for reading the remaining output after the program has ended. Child processes may keep the pipe open.
const END: Duration = Duration::from_millis(500);

/// Output of a program.
#[derive(Debug, Default)]
pub struct Printed {
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
}

/// Reason why there is no output.
#[derive(Debug)]
pub enum NoOutput {
    /// The program could not be started.
    Start(std::io::Error),
    /// The program took too long and was killed, together with its child processes.
    Late,
    /// The program printed too much.
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
    // Threads read and write the pipes, so that a full pipe does not block. Each thread ends when the process group
    // ends.
    let (mut stdin, input) = (child.stdin.take(), input.as_bytes().to_vec());
    thread::spawn(move || {
        // The program may end before it has read all input.
        drop(stdin.as_mut().map(|stdin| stdin.write_all(&input)));
    });
    let stdout = child.stdout.take().map(|from| whole(from, stdout_bytes_max + 1));
    let stderr = child.stderr.take().map(|from| whole(from, STDERR_BYTES_MAX));
    let received = stdout.map(|stdout| stdout.recv_timeout(left()));
    // The group must be killed before waiting for the child, because afterwards its process number may belong to
    // another process.
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
    // The output is complete, so remaining processes of the group are killed.
    end_group(&mut child);
    Ok(Printed { stdout, stderr: stderr.unwrap_or_default() })
}

/// Starts a thread that reads at most `bytes_max` bytes. Returns the channel that receives them.
fn whole(from: impl Read + Send + 'static, bytes_max: u64) -> mpsc::Receiver<Vec<u8>> {
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the bytes read so far are used.
        drop(from.take(bytes_max).read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    received
}
