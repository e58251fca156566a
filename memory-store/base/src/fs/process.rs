//! The process itself, and those it starts: system calls that are about no file.

use std::io;
use std::process::Command;

/// Has a command run in a process group of its own (`setpgid`), so that signals to the group of the caller do not reach
/// it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

/// Replaces this process by a command (`execvp`). Returns only if that fails.
pub fn replace_with(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Returns the id of the process that started this one (`getppid`).
pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}
