//! The caller of a command: a person, or Claude in a tool call. Claude must not decide for the person, even if a page
//! or a file instructs Claude to run a command.
//!
//! A tool call is recognised by the ancestor processes of the command, so `env -u CLAUDECODE` and `env -i` have no
//! effect. A command that a person types with `!` in Claude Code has the same parent and the same environment as a tool
//! call, and no terminal either. The command therefore counts as Claude's. The next sync attributes its memories to the
//! person if the session's transcript shows that a person typed it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use memory_store::fs::process;

/// Maximum number of ancestor processes that are checked.
const ANCESTORS_MAX: usize = 64;

/// Name of the program of Claude Code.
const CLIENT: &str = "claude";

/// Parts of the path of Claude Code if a JavaScript runtime runs it, or if it is in the folder of its versions.
const CLIENT_PATHS: [&str; 4] =
    ["/claude-code/", "/claude-agent-sdk/", "/claude/versions/", "/claude-code-"];

/// Variables that Claude Code sets for the commands of a session. A person may set other variables with the same
/// prefix.
const MARKS: [&str; 4] =
    ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"];

/// Caller of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A person, or a person's script.
    Person,
    /// Claude, in a tool call: an ancestor process is Claude Code, or the environment of this process or of an ancestor
    /// contains the variables of a session.
    Claude,
}

impl Caller {
    /// Determines the caller of this process. `get` reads the environment of this process. A terminal is no evidence of
    /// a person: a process that Claude detached can open a terminal and answer a question in it.
    pub fn find(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_marked = MARKS.iter().any(|name| get(name).is_some_and(|value| !value.is_empty()));
        Self::of(process::parent_id(), is_marked, &Processes::read(get))
    }

    fn of(parent: u32, is_marked: bool, processes: &Processes) -> Self {
        let next = |process: &Process| processes.of(process.parent).filter(|_| process.parent > 1);
        let first = processes.of(parent).filter(|_| parent > 1);
        let mut above = std::iter::successors(first, next).take(ANCESTORS_MAX);
        match is_marked || above.any(|process| process.is_client || process.is_marked) {
            true => Self::Claude,
            false => Self::Person,
        }
    }
}

/// The properties of a process that determine the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// Whether the process is Claude Code.
    is_client: bool,
    /// Whether the environment of the process contains a variable of a session.
    is_marked: bool,
}

/// The processes of this machine.
enum Processes {
    /// A folder like `/proc` on Linux; each process is read when it is checked.
    Folder(PathBuf),
    /// The processes that `ps` listed.
    Listed(BTreeMap<u32, Process>),
}

impl Processes {
    /// Prepares to read the processes of this machine. Debug builds also read the variable `THROUGHLINE_TEST_PROC`,
    /// which names a folder with other processes: the tests themselves may run below Claude Code.
    fn read(get: impl Fn(&str) -> Option<OsString>) -> Self {
        let folder = get("THROUGHLINE_TEST_PROC").filter(|_| cfg!(debug_assertions));
        if let Some(folder) = folder {
            return Self::Folder(folder.into());
        }
        match Path::new("/proc/self/stat").exists() {
            true => Self::Folder("/proc".into()),
            false => Self::Listed(ps::list()),
        }
    }

    fn of(&self, pid: u32) -> Option<Process> {
        match self {
            Self::Folder(folder) => proc::read(&folder.join(pid.to_string())),
            Self::Listed(processes) => processes.get(&pid).copied(),
        }
    }
}

/// Returns whether a process with this program path and these arguments is Claude Code.
fn is_client(program: &str, arguments: &[&str]) -> bool {
    let program = program.trim_end_matches(" (deleted)");
    let is_named = |path: &str| path.rsplit('/').next() == Some(CLIENT);
    let is_of_client = |path: &str| CLIENT_PATHS.iter().any(|part| path.contains(part));
    // A JavaScript runtime has the script of Claude Code among its first arguments.
    let mut scripts = arguments.iter().skip(1).take(4).filter(|argument| is_of_client(argument));
    is_named(program)
        || is_of_client(program)
        || arguments.first().is_some_and(|name| is_named(name))
        || scripts.any(|script| script.ends_with("js"))
}

/// Returns whether an environment, as an iterator of `NAME=value` texts, contains a variable of a session.
fn has_mark<'a>(mut environment: impl Iterator<Item = &'a str>) -> bool {
    environment.any(|variable| {
        let (name, value) = variable.split_once('=').unwrap_or_default();
        MARKS.contains(&name) && !value.is_empty()
    })
}

/// Processes in `/proc`.
mod proc {
    use std::fs::{self, File};
    use std::io::Read as _;
    use std::path::Path;

    use super::{Process, has_mark, is_client};

    /// Maximum bytes of a process's arguments, and of its environment.
    const BYTES_MAX: u64 = 1 << 20;

    /// Reads a process from its folder; `None` if the process has ended.
    pub(super) fn read(folder: &Path) -> Option<Process> {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // The name of the program is in parentheses, and may itself contain parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
        let program = fs::read_link(folder.join("exe")).unwrap_or_default();
        let arguments = text(&folder.join("cmdline"));
        let arguments: Vec<&str> = arguments.split('\0').collect();
        let environment = text(&folder.join("environ"));
        Some(Process {
            parent,
            is_client: is_client(&program.to_string_lossy(), &arguments),
            is_marked: has_mark(environment.split('\0')),
        })
    }

    /// Reads a file of a process as text. Returns an empty text if the file is unreadable, as the files of other users'
    /// processes are.
    fn text(path: &Path) -> String {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
        drop(read);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Processes in the output of `ps`, for systems without `/proc`.
mod ps {
    use std::collections::BTreeMap;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::{Process, has_mark, is_client};

    /// Longest wait for the output of `ps`.
    const LIST_MAX: Duration = Duration::from_secs(2);

    /// Lists the processes with their arguments and, where `ps` shows them, their environments.
    pub(super) fn list() -> BTreeMap<u32, Process> {
        let (sender, list) = mpsc::channel();
        thread::spawn(move || {
            let mut command = Command::new("/bin/ps");
            command.args(["-axww", "-E", "-o", "pid=,ppid=,command="]).env_clear();
            let listed = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
            // Sending fails if the receiver has timed out.
            drop(sender.send(listed.map(|listed| listed.stdout).unwrap_or_default()));
        });
        let listed = list.recv_timeout(LIST_MAX).unwrap_or_default();
        String::from_utf8_lossy(&listed).lines().filter_map(process).collect()
    }

    /// Parses a line of the output of `ps`.
    pub(super) fn process(line: &str) -> Option<(u32, Process)> {
        let mut words = line.split_whitespace();
        let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let words: Vec<&str> = words.collect();
        let program = words.first().copied().unwrap_or_default();
        let is_marked = has_mark(words.iter().copied());
        Some((pid, Process { parent, is_client: is_client(program, &words), is_marked }))
    }
}

#[cfg(test)]
mod tests;
