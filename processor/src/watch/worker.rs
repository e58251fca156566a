//! The running sync: a child process with a separate process group, which ends before the watcher.

use std::io;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use memory_store::ProjectId;
use memory_store::background::sync_command;
use memory_store::fs::process::{ask_group_to_end, end_group, end_with_caller};

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
        let mut command = sync_command(program, project, std::env::vars_os());
        // It ends when we are killed, too: everything on disk is consistent at any moment.
        Ok(Self { project, child: end_with_caller(&mut command).spawn()? })
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
