//! Faults: each file-system call of a program can be made to fail, to do half its work, or to be the last action of its
//! process.
//!
//! The programs are the shipped ones, without changes. The kernel passes their calls to the test (a seccomp filter with
//! user notification). For each call, the test decides: execute it, make it fail, or kill the process before it. No
//! call is missed, whichever package makes it. Calls are *points*, counted from 1 in order; only calls about files
//! below the folder of the environment are counted.

mod answer;
mod filter;
mod point;

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub use point::{Class, Point};

/// The fault at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this error number.
    Error(i32),
    /// This call and all later calls of its class fail with this error number.
    ErrorFromHere(i32),
    /// A write writes only half of its bytes, and returns this shorter length. Other calls are executed.
    Short,
    /// The process is killed before the call.
    Kill,
    /// A write writes only half of its bytes, then the process is killed. For other calls, the process is killed before
    /// the call.
    Torn,
}

/// Which calls are counted, and the fault at one of them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folder; only calls about files below it are counted.
    pub below: PathBuf,
    /// File name of the program whose calls are counted. `None` means all programs except git.
    pub program: Option<&'static str>,
    /// The classes of calls that are counted; empty means all.
    pub classes: Vec<Class>,
    /// Number of the counted call, and the fault that occurs at it.
    pub fault: Option<(u64, Fault)>,
}

impl Plan {
    /// Returns a plan that counts the calls about files below a folder, without a fault.
    pub fn counting(below: &Path) -> Self {
        Self { below: below.to_owned(), program: None, classes: Vec::new(), fault: None }
    }

    /// Sets the fault that occurs at the point with this number.
    #[must_use]
    pub fn striking(mut self, number: u64, fault: Fault) -> Self {
        self.fault = Some((number, fault));
        self
    }

    /// Limits the plan to calls of these classes.
    #[must_use]
    pub fn of(mut self, classes: &[Class]) -> Self {
        self.classes = classes.to_vec();
        self
    }

    /// Limits the plan to calls of this program.
    #[must_use]
    pub fn by(mut self, program: &'static str) -> Self {
        self.program = Some(program);
        self
    }
}

/// Result of a run under a plan.
#[derive(Debug)]
pub struct Run {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
    /// Standard error output of the program.
    pub stderr: String,
    /// Number of counted calls.
    pub points: u64,
    /// The point at which the fault occurred.
    pub struck: Option<Point>,
}

/// Returns whether the kernel supports answering calls: this requires Linux 5.8 or later, and a container must permit
/// it.
pub fn is_available() -> bool {
    let mut command = Command::new("true");
    run(&mut command, b"", Plan::counting(Path::new("/nowhere"))).is_ok()
}

/// Runs a command and its child processes under a plan, with `input` on stdin. Returns when all of them have ended.
pub fn run(command: &mut Command, input: &[u8], plan: Plan) -> io::Result<Run> {
    let (ours, theirs) = filter::pair()?;
    filter::install(command, theirs)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn();
    // The closure in `command` keeps the other end of the socket open, which does no harm: receiving does not wait for
    // the end of the data.
    let mut child = spawned?;
    let listener: OwnedFd = filter::receive(&ours)?;
    let seen = Arc::new(Mutex::new(answer::Seen::default()));
    let answering = {
        let seen = Arc::clone(&seen);
        thread::spawn(move || answer::all(&listener, &plan, &seen))
    };
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let input = input.to_vec();
    // A write error is ignored: the process may be killed, or may not read its input.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let mut errors = child.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let complaining = thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(errors.read_to_end(&mut bytes));
        bytes
    });
    let mut stdout = Vec::new();
    child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?.read_to_end(&mut stdout)?;
    let status = child.wait()?;
    let died = || io::Error::other("a thread of the test died");
    feeding.join().map_err(|_| died())?;
    let stderr = complaining.join().map_err(|_| died())?;
    answering.join().map_err(|_| died())??;
    let seen = std::mem::take(&mut *seen.lock().map_err(|_| died())?);
    Ok(Run {
        status,
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        points: seen.points,
        struck: seen.struck,
    })
}
