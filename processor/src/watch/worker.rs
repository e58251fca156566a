//! The running sync: a child process with a separate process group, which ends before the watcher.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use memory_store::ProjectId;
use memory_store::background::is_passed_on;
use memory_store::fs::process::{ask_group_to_end, end_group, end_with_caller, in_own_group};

/// Maximum time for the process to end after a request.
const END_MAX: Duration = Duration::from_secs(5);
/// Interval between checks whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running sync.
#[derive(Debug)]
pub struct Worker {
    project: ProjectId,
    child: Child,
}

impl Worker {
    /// Starts the processor in the same way as hooks.
    pub fn start(program: &Path, project: ProjectId) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["sync", "--project", &project.to_string(), "--background"])
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // The child is also killed if the watcher is killed. This is safe, because files on disk are consistent at any
        // moment.
        end_with_caller(in_own_group(&mut command));
        Ok(Self { project, child: command.spawn()? })
    }

    /// Returns the project and whether its sync succeeded; `None` while the sync is running.
    pub fn ended(&mut self) -> Option<(ProjectId, bool)> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some((self.project, status.success())),
            Err(_) => Some((self.project, false)),
        }
    }

    /// Ends the sync and its child processes.
    pub fn stop(mut self) {
        ask_group_to_end(&self.child);
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if asked.elapsed() >= END_MAX {
                end_group(&mut self.child);
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}
