//! A sealed environment for the command, with its own home, folder of programs and clock.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::ptr::null_mut;
use std::thread;
use std::time::Duration;

use serde_json::json;

/// The fixed time of all tests.
pub const NOW: &str = "2026-10-02T09:30:00Z";

/// The programs that `init` registers, as stand-ins: these tests concern the command.
const PROGRAMS: [&str; 7] = [
    "throughline-session-start",
    "throughline-user-prompt-submit",
    "throughline-pre-tool-use",
    "throughline-post-tool-use",
    "throughline-stop",
    "throughline-processor",
    "throughline-mcp",
];

/// A machine with one project, which is a git working tree without commits.
pub struct Machine {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

/// The output of a command and its exit code.
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        for folder in ["home", "bin", "home/work/.git", "tmp"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        // The program is a hard link if possible: it searches for other programs in the folder of its real path.
        let exe = machine.path("bin/throughline");
        let built = env!("CARGO_BIN_EXE_throughline");
        if fs::hard_link(built, &exe).is_err() {
            fs::copy(built, &exe).unwrap();
        }
        for program in PROGRAMS {
            let version = env!("CARGO_PKG_VERSION");
            let script = format!("#!/bin/sh\n[ $# = 0 ] || echo {program} {version}\n");
            machine.program(program, &script);
        }
        machine
    }

    /// Adds an environment variable.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Replaces a Throughline program by a shell script.
    pub fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(below)
    }

    pub fn work(&self) -> PathBuf {
        self.path("home/work")
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, below: &str) -> String {
        let path = self.path(below);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Keeps a copy of the home for [`Self::restore`].
    pub fn keep(&self) {
        let _ = fs::remove_dir_all(self.path("kept"));
        copy(&self.path("home"), &self.path("kept"));
    }

    /// Restores the kept home, including modification times. The working tree and its `.git` are not replaced, because
    /// a project is identified by these folders.
    pub fn restore(&self) {
        for (folder, stays) in [("home", "work"), ("home/work", ".git"), ("home/work/.git", "")] {
            for entry in fs::read_dir(self.path(folder)).unwrap() {
                let entry = entry.unwrap();
                match entry.file_type().unwrap().is_dir() {
                    true if entry.file_name() == stays => {}
                    true => fs::remove_dir_all(entry.path()).unwrap(),
                    false => fs::remove_file(entry.path()).unwrap(),
                }
            }
        }
        copy(&self.path("kept"), &self.path("home"));
    }

    /// Runs the command in the project, without a terminal.
    pub fn run(&self, args: &[&str]) -> Said {
        self.run_with(args, &[])
    }

    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Said {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        self.output_of(&mut command)
    }

    /// Runs the command as in a tool call of Claude: as a child of the client, in an emptied environment.
    pub fn run_by_claude(&self, args: &[&str]) -> Said {
        let mut command = self.command(args);
        command.env(testutils::PROC_VARIABLE, self.claude_processes());
        self.output_of(&mut command)
    }

    /// Returns a folder like `/proc` in which the parent of the command is Claude Code.
    pub fn claude_processes(&self) -> PathBuf {
        let process = self.path("client").join(std::process::id().to_string());
        if !process.exists() {
            fs::create_dir_all(&process).unwrap();
            fs::write(process.join("stat"), "1 (claude) S 1 1 1 0 -1").unwrap();
            std::os::unix::fs::symlink("/opt/claude/versions/2/claude", process.join("exe"))
                .unwrap();
        }
        self.path("client")
    }

    /// Runs the command with a text on stdin.
    pub fn run_on(&self, args: &[&str], stdin: &str) -> Said {
        self.write("stdin", stdin);
        let mut command = self.command(args);
        command.stdin(File::open(self.path("stdin")).unwrap());
        self.output_of(&mut command)
    }

    /// Runs the command as a user to whom file modes apply, even if the tests run as root. All files in `home` are
    /// given to this user.
    pub fn run_with_few_rights(&self, args: &[&str]) -> Said {
        use std::os::unix::fs::PermissionsExt as _;
        use std::os::unix::process::CommandExt as _;
        const USER: u32 = 4242;
        let mut command = self.command(args);
        // SAFETY: `geteuid` has no arguments and changes nothing.
        if unsafe { libc::geteuid() } == 0 {
            let owner = format!("{USER}:{USER}");
            let given = Command::new("chown").args(["-R", &owner]).arg(self.path("home")).status();
            assert!(given.unwrap().success());
            fs::set_permissions(self.path(""), fs::Permissions::from_mode(0o755)).unwrap();
            fs::set_permissions(self.path("tmp"), fs::Permissions::from_mode(0o777)).unwrap();
            command.uid(USER).gid(USER);
        }
        self.output_of(&mut command)
    }

    /// Changes the modes of a path and everything below it.
    pub fn chmod(&self, mode: &str, below: &str) {
        let changed = Command::new("chmod").args(["-R", mode]).arg(self.path(below)).status();
        assert!(changed.unwrap().success());
    }

    fn output_of(&self, command: &mut Command) -> Said {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let tidy = |bytes: Vec<u8>| self.tidy(&String::from_utf8(bytes).unwrap());
        Said { code: status.code().unwrap(), stdout: tidy(stdout), stderr: tidy(stderr) }
    }

    /// Starts the command, without a terminal.
    pub fn spawn(&self, args: &[&str], stdout: Stdio) -> Child {
        self.command(args).stdin(Stdio::null()).stdout(stdout).spawn().unwrap()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = testutils::sealed(self.path("bin/throughline"), &self.path("home"));
        command
            .args(args)
            .current_dir(self.work())
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", "/usr/bin:/bin")
            .env("THROUGHLINE", "full")
            .env("THROUGHLINE_NOW", NOW)
            .env("TZ", "UTC")
            // `cat` is the pager, since there is no user to close one.
            .env("PAGER", "cat")
            // No service listens at this address.
            .env("OLLAMA_HOST", "127.0.0.1:9")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the command at a terminal. Types each answer once the text that precedes it appears. Returns the whole
    /// output of the terminal.
    pub fn at_terminal(&self, args: &[&str], answers: &[(&str, &str)]) -> String {
        self.at_terminal_while(args, answers, &|| {})
    }

    /// Like [`Self::at_terminal`], but calls a function just before each answer is typed.
    pub fn at_terminal_while(
        &self,
        args: &[&str],
        answers: &[(&str, &str)],
        happens: &dyn Fn(),
    ) -> String {
        let (terminal, program) = terminal();
        let stdout = program.try_clone().unwrap();
        let mut child = self.seated(args, program).stdout(stdout).spawn().unwrap();
        let shown = answer(terminal, answers, happens);
        assert!(child.wait().unwrap().success(), "{shown}");
        self.tidy(&shown)
    }

    /// Like [`Self::at_terminal`], for a terminal with `columns` columns.
    pub fn at_terminal_of(&self, columns: u16, args: &[&str], answers: &[(&str, &str)]) -> String {
        let (terminal, program) = terminal_of(columns);
        let stdout = program.try_clone().unwrap();
        let mut child = self.seated(args, program).stdout(stdout).spawn().unwrap();
        let shown = answer(terminal, answers, &|| {});
        assert!(child.wait().unwrap().success(), "{shown}");
        self.tidy(&shown)
    }

    /// Runs the command at a terminal with answers after which it stops. Returns its exit code and the whole output of
    /// the terminal.
    pub fn declined_at_terminal(
        &self,
        args: &[&str],
        answers: &[(&str, &str)],
    ) -> (Option<i32>, String) {
        let (terminal, program) = terminal();
        let stdout = program.try_clone().unwrap();
        let mut child = self.seated(args, program).stdout(stdout).spawn().unwrap();
        // Ctrl-C is read as a key only when the program already reads single keys.
        let shown = answer(terminal, answers, &|| thread::sleep(Duration::from_millis(200)));
        (child.wait().unwrap().code(), self.tidy(&shown))
    }

    /// Runs the command at a terminal and leaves its list of choices by a key. Returns the exit code and stdout, which
    /// is a pipe.
    pub fn cancelled_in_list(&self, args: &[&str], key: &str) -> (Option<i32>, String) {
        let (terminal, program) = terminal();
        let child = self.seated(args, program).stdout(Stdio::piped()).spawn().unwrap();
        answer(terminal, &[("choose", key)], &|| {});
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    /// Runs the command at a terminal at which `keys` were typed, with a pipe as its stdout. Returns stdout and the
    /// output of the terminal.
    pub fn piped_at_terminal(&self, args: &[&str], keys: &str) -> (String, String) {
        let (mut terminal, program) = terminal();
        terminal.write_all(keys.as_bytes()).unwrap();
        let child = self.seated(args, program).stdout(Stdio::piped()).spawn().unwrap();
        let shown = answer(terminal, &[], &|| {});
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{shown}");
        (self.tidy(&String::from_utf8(output.stdout).unwrap()), self.tidy(&shown))
    }

    /// Runs the command at a terminal with `columns` columns. Returns the output of the terminal.
    pub fn on_screen(&self, args: &[&str], columns: u16) -> String {
        let (terminal, program) = terminal_of(columns);
        let stdout = program.try_clone().unwrap();
        // The closure drops the `Command` value, which would keep the terminal open.
        let spawn = |mut command: Command| command.spawn().unwrap();
        let mut command = self.command(args);
        command.env("TERM", "xterm").stdin(Stdio::null()).stdout(stdout).stderr(program);
        let mut child = spawn(command);
        let shown = answer(terminal, &[], &|| {});
        child.wait().unwrap();
        self.tidy(&shown)
    }

    /// Runs the command at a terminal that is closed once `text` appears. Returns the exit code.
    pub fn left_alone(&self, args: &[&str], text: &str) -> Option<i32> {
        let (mut terminal, program) = terminal_of(80);
        let mut child = self.seated(args, program).stdout(Stdio::null()).spawn().unwrap();
        let (mut shown, mut bytes) = (String::new(), [0; 4096]);
        while !shown.contains(text) {
            let count = terminal.read(&mut bytes).unwrap();
            shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        drop(terminal);
        child.wait().unwrap().code()
    }

    fn seated(&self, args: &[&str], program: OwnedFd) -> Command {
        let mut command = self.command(args);
        command.env("TERM", "xterm").stdin(program.try_clone().unwrap()).stderr(program);
        command
    }

    /// Runs the command, which must succeed; returns its stdout.
    pub fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}\n{}\n{}", said.stdout, said.stderr);
        said.stdout
    }

    /// Runs the command, which must succeed without a result; returns the remark on stderr.
    pub fn remark(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!((said.code, &*said.stdout), (0, ""), "{args:?}\n{}", said.whole());
        said.stderr
    }

    /// Runs a search, which must find nothing and exit with the code for that.
    pub fn finds_nothing(&self, args: &[&str]) {
        let said = self.run(args);
        assert_eq!(
            (said.code, &*said.stdout, &*said.stderr),
            (1, "", "Nothing is known about this.\n"),
            "{args:?}"
        );
    }

    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let text = self.ok(args);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}\n{text}"))
    }

    /// Writes a transcript of this project in Claude Code's format, with a wish and an error that is fixed.
    pub fn transcript(&self, below: &str, session: &str, day: &str) {
        self.write(below, &transcript(&self.work(), session, day));
    }

    /// Writes a transcript of this project with the given steps, in a file that is named by the session.
    pub fn session(&self, session: &str, day: &str, steps: Vec<serde_json::Value>) {
        self.session_on("main", session, day, steps);
    }

    /// Writes a transcript of a session on a branch.
    pub fn session_on(
        &self,
        branch: &str,
        session: &str,
        day: &str,
        steps: Vec<serde_json::Value>,
    ) {
        let below = format!("home/.claude/projects/-home-work/{session}.jsonl");
        self.write(&below, &in_order(&self.work(), session, (day, branch), steps));
    }

    /// Writes the transcript of a subagent.
    pub fn agent(
        &self,
        session: &str,
        agent: &str,
        day: &str,
        steps: impl IntoIterator<Item = serde_json::Value>,
    ) {
        let below =
            format!("home/.claude/projects/-home-work/{session}/subagents/agent-{agent}.jsonl");
        let text = in_order(&self.work(), session, (day, "main"), steps);
        let fields = format!("\"isSidechain\":true,\"agentId\":\"{agent}\"");
        let text = text.replace("\"isSidechain\":false", &fields);
        self.write(&below, &text.replace(&format!("\"{session}-"), &format!("\"{agent}-")));
    }

    /// Adds a receipt to the state of the only working tree, as a hook does.
    pub fn receipt(&self, line: &serde_json::Value) {
        let trees = self.path("home/.local/state/throughline/trees");
        let tree = fs::read_dir(trees).unwrap().next().unwrap().unwrap().path();
        fs::create_dir_all(tree.join("receipts")).unwrap();
        let day = &line["at"].as_str().unwrap()[..10];
        let path = tree.join(format!("receipts/{day}.jsonl"));
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}{line}\n")).unwrap();
    }

    fn tidy(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "")
    }
}

/// Copies the contents of a folder with their times and modes.
fn copy(from: &Path, to: &Path) {
    let mut source = from.as_os_str().to_owned();
    source.push("/.");
    fs::create_dir_all(to).unwrap();
    let copied = Command::new("cp").arg("-a").arg(source).arg(to).status();
    assert!(copied.unwrap().success());
}

/// Types each answer once the text that precedes it appears; returns the whole output of the terminal.
fn answer(mut terminal: File, answers: &[(&str, &str)], happens: &dyn Fn()) -> String {
    let (mut shown, mut read) = (String::new(), 0);
    let mut answers = answers.iter();
    let mut next = answers.next();
    let mut bytes = [0; 4096];
    // Reading ends when the last program that uses the terminal ends.
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        while let Some((text, keys)) = next
            && let Some(at) = shown[read..].find(text)
        {
            read += at + text.len();
            happens();
            terminal.write_all(keys.as_bytes()).unwrap();
            next = answers.next();
        }
    }
    assert_eq!(next, None, "{shown}");
    shown
}

/// Opens a terminal; returns the user's side and the program's side.
fn terminal() -> (File, OwnedFd) {
    terminal_of(0)
}

/// Opens a terminal with `columns` columns; a terminal with 0 columns does not report its size.
fn terminal_of(columns: u16) -> (File, OwnedFd) {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers to both descriptors and to the size are valid, and the other arguments may be null.
    let opened =
        unsafe { libc::openpty(&mut ours, &mut theirs, null_mut(), null_mut(), &raw const size) };
    assert_eq!(opened, 0);
    // The program must not inherit the user's side, or else the terminal would never close. SAFETY: the descriptor was
    // just opened.
    assert_eq!(unsafe { libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC) }, 0);
    // SAFETY: both descriptors were just opened and have no other owner.
    unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) }
}

impl Said {
    /// Returns exit code, stdout and stderr as one text, for a snapshot.
    pub fn whole(&self) -> String {
        format!("code: {}\n{}---\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Returns a transcript in which the user states a wish, a command fails, a file is edited, and the same command
/// succeeds.
fn transcript(cwd: &Path, session: &str, day: &str) -> String {
    let file = cwd.join("src/price.rs");
    let steps = [
        user(json!(
            "From now on, never use floats for money: always keep amounts as integer cents. From now on, run the tests of a price quietly. Fix the rounding in src/price.rs."
        )),
        assistant(
            json!({ "type": "thinking", "thinking": "The halves were an educated guess.", "signature": "s" }),
        ),
        assistant(
            json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "cargo test --quiet" } }),
        ),
        result(
            "t1",
            "error[E0308]: mismatched types\n --> src/price.rs:4:9\nexpected `i64`, found `f64`",
            true,
        ),
        assistant(json!({ "type": "tool_use", "id": "t2", "name": "Edit", "input": {
            "file_path": file, "old_string": "price as f64", "new_string": "i64::from(price)" } })),
        result("t2", "The file has been updated.", false),
        assistant(
            json!({ "type": "tool_use", "id": "t3", "name": "Bash", "input": { "command": "cargo test --quiet" } }),
        ),
        result("t3", "test result: ok. 4 passed", false),
        assistant(
            json!({ "type": "text", "text": "Fixed: the total was computed in f64, which loses cents; it is now computed with i64::from, and all tests pass. Decision: amounts stay integer cents everywhere, because floats cannot hold them exactly." }),
        ),
    ];
    in_order(cwd, session, (day, "main"), steps)
}

/// Returns the lines of a transcript with these steps, one minute apart.
fn in_order(
    cwd: &Path,
    session: &str,
    (day, branch): (&str, &str),
    steps: impl IntoIterator<Item = serde_json::Value>,
) -> String {
    let mut parent = serde_json::Value::Null;
    let mut text = String::new();
    for (number, mut record) in steps.into_iter().enumerate() {
        let uuid = format!("{session}-{number}");
        let fields = json!({
            "uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": cwd,
            "timestamp": format!("{day}T10:{number:02}:00.000Z"), "version": "2.1.330",
            "gitBranch": branch, "isSidechain": false, "userType": "external",
        });
        if let (Some(record), serde_json::Value::Object(fields)) = (record.as_object_mut(), fields)
        {
            record.extend(fields);
        }
        text.push_str(&format!("{record}\n"));
        parent = json!(uuid);
    }
    text
}

pub fn user(content: serde_json::Value) -> serde_json::Value {
    json!({ "type": "user", "message": { "role": "user", "content": content } })
}

pub fn assistant(block: serde_json::Value) -> serde_json::Value {
    json!({ "type": "assistant", "message": {
        "role": "assistant", "model": "claude", "content": [block] } })
}

pub fn result(call: &str, text: &str, failed: bool) -> serde_json::Value {
    user(
        json!([{ "type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed }]),
    )
}

/// Returns all files below a folder with their bytes, except Throughline's own files.
pub fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                if name != "throughline" && name != ".throughline" {
                    folders.push(path);
                }
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// Returns a text without its colours and movements of the cursor.
pub fn strip(text: &str) -> String {
    let mut plain = String::new();
    for (number, part) in text.split("\u{1b}[").enumerate() {
        let from = if number == 0 {
            0
        } else {
            part.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 1)
        };
        plain.push_str(&part[from..]);
    }
    plain.replace('\r', "")
}
