//! Starting the processor: its program, its environment, and whether a run is due. All programs that start it use this
//! module.

use std::env::VarsOs;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fs::process::in_own_group;
use crate::id::ProjectId;
use crate::layout::{ProjectDir, TreeDir};
use crate::progress::Progress;

/// Name of the processor's program, which is in the folder of the program that starts it.
pub const PROGRAM: &str = "throughline-processor";

/// Environment variables that the processor needs. Tokens and keys of the session are not passed on.
const VARIABLES: [&str; 8] = [
    "CI",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CONFIG_DIR",
    "HOME",
    "LANG",
    "OLLAMA_HOST",
    "PATH",
    "TMPDIR",
];

/// Prefixes of further variables that the processor needs.
const VARIABLE_STARTS: [&str; 2] = ["XDG_", "THROUGHLINE"];

/// Returns whether a variable of the session's environment is passed on to the processor.
pub fn is_passed_on(variable: &OsStr) -> bool {
    let name = variable.as_encoded_bytes();
    VARIABLE_STARTS.iter().any(|start| name.starts_with(start.as_bytes()))
        || VARIABLES.iter().any(|known| known.as_bytes() == name)
}

/// Returns the command of the processor `program`, with the variables of our environment that it needs.
pub fn processor_command(program: &Path, variables: VarsOs) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(variables.filter(|(name, _)| is_passed_on(name)));
    command
}

/// Returns the command of a sync in the background. It has a separate process group and none of our streams, because
/// keys typed at a terminal must not reach it, and a client waits until its pipes are closed.
pub fn sync_command(program: &Path, project: ProjectId, variables: VarsOs) -> Command {
    let mut command = processor_command(program, variables);
    command
        .args(["sync", "--project", &project.to_string(), "--background"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    in_own_group(&mut command);
    command
}

/// Returns whether a processor is running for this project. It tries the lock and releases it immediately. A processor
/// that starts at that moment may find the lock taken and exit; its work is then done by the next one.
pub fn is_running(project: &ProjectDir) -> bool {
    File::open(&project.sync_lock)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns the length of a working tree's inbox in bytes; 0 if the inbox is missing.
pub fn inbox_bytes(tree: &TreeDir) -> u64 {
    std::fs::metadata(&tree.inbox).map_or(0, |inbox| inbox.len())
}

/// Returns whether the inbox of a working tree contains notes that no processor has read.
pub fn has_unprocessed(tree: &TreeDir) -> bool {
    Progress::read(&tree.progress).leaves(inbox_bytes(tree))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_means_that_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectDir::at(folder.path().to_owned());
        assert!(!is_running(&project));
        let lock = File::create(&project.sync_lock).unwrap();
        assert!(!is_running(&project));
        lock.lock().unwrap();
        assert!(is_running(&project));
        lock.unlock().unwrap();
        assert!(!is_running(&project));
    }

    #[test]
    fn an_inbox_of_another_length_is_unprocessed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = TreeDir::at(folder.path().to_owned());
        assert!(!has_unprocessed(&tree), "nothing was ever noted");
        std::fs::write(&tree.inbox, "{}\n").unwrap();
        assert!(has_unprocessed(&tree));
        std::fs::write(&tree.progress, r#"{"inbox_bytes": 3}"#).unwrap();
        assert!(!has_unprocessed(&tree));
        std::fs::write(&tree.inbox, "").unwrap();
        assert!(has_unprocessed(&tree), "a shorter one is not the one that was taken up");
    }

    #[test]
    fn keys_of_the_session_stay_behind() {
        for (name, passed) in [
            ("HOME", true),
            ("XDG_STATE_HOME", true),
            ("THROUGHLINE_NOW", true),
            ("ANTHROPIC_API_KEY", false),
            ("HOMEBREW_TOKEN", false),
        ] {
            assert_eq!(is_passed_on(OsStr::new(name)), passed, "{name}");
        }
    }
}
