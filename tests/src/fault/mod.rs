//! Faults: each file-system call of a program can be made to fail, to do half its work, or to be the last action of its
//! process.
//!
//! The programs are unmodified. The kernel passes their calls to the test (a seccomp filter with user notification),
//! which answers each: continue, or fail, or kill the process first. So no call is missed, whichever package makes it,
//! and the shipped programs are tested. Calls are *points*, counted from 1 in order; only those about files below the
//! environment's folder count.

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

/// Fault at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this error number.
    Error(i32),
    /// This call fails, and all later ones of its class.
    ErrorFromHere(i32),
    /// A write of half of the bytes, with the shorter result. Other calls are executed.
    Short,
    /// The process is killed before the call.
    Kill,
    /// A write of half of the bytes, then the process is killed. Before other calls it is killed.
    Torn,
}

/// Selection of counted calls, and the fault at one of them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Calls about files below this folder count.
    pub below: PathBuf,
    /// The program whose calls count, by its file name; all but git when there is none.
    pub program: Option<&'static str>,
    /// The classes that count; empty means all.
    pub classes: Vec<Class>,
    /// The fault, and the number of the call at which it occurs.
    pub fault: Option<(u64, Fault)>,
}

impl Plan {
    /// Counts the calls about files below a folder; nothing fails.
    pub fn counting(below: &Path) -> Self {
        Self { below: below.to_owned(), program: None, classes: Vec::new(), fault: None }
    }

    /// Sets the fault for the point of this number.
    #[must_use]
    pub fn striking(mut self, number: u64, fault: Fault) -> Self {
        self.fault = Some((number, fault));
        self
    }

    /// Counts calls of these classes only.
    #[must_use]
    pub fn of(mut self, classes: &[Class]) -> Self {
        self.classes = classes.to_vec();
        self
    }

    /// Counts calls of this program only.
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
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr.
    pub stderr: String,
    /// Number of counted calls.
    pub points: u64,
    /// Point at which the fault occurred.
    pub struck: Option<Point>,
}

/// Returns whether the kernel supports answering calls: Linux 5.8 or later, in no container that forbids it.
pub fn is_available() -> bool {
    let mut command = Command::new("true");
    run(&mut command, b"", Plan::counting(Path::new("/nowhere"))).is_ok()
}

/// Runs a command and its child processes under a plan, with these bytes on its standard input, until all of them have
/// ended.
pub fn run(command: &mut Command, input: &[u8], plan: Plan) -> io::Result<Run> {
    let (ours, theirs) = filter::pair()?;
    filter::install(command, theirs)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn();
    // The closure in the command holds the other end; the bytes received below are complete anyway.
    let mut child = spawned?;
    let listener: OwnedFd = filter::receive(&ours)?;
    let seen = Arc::new(Mutex::new(answer::Seen::default()));
    let answering = {
        let seen = Arc::clone(&seen);
        thread::spawn(move || answer::all(&listener, &plan, &seen))
    };
    let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let input = input.to_vec();
    // A killed process, or one that ignores its input, reads no further.
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
