//! A lab for one row of the matrix: a home, a project, and sessions as Claude Code writes them.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use journeys::chat_server::ChatServer;
use journeys::environment::TestEnvironment;
use journeys::hook_run::{HookRun, Moment};
use serde_json::{Map, Value, json};

/// A wish of the user in a session.
pub const WISH: &str = "From now on never use floats for prices, store whole cents.";

/// A word of the memory that is learned from [`WISH`].
pub const LEARNED: &str = "floats";

/// Environment of one case.
pub struct Lab {
    pub environment: TestEnvironment,
    /// Folder of the project.
    pub root: PathBuf,
}

/// Result of a command.
#[derive(Debug)]
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// Output on stdout and stderr.
    pub text: String,
}

impl Ran {
    /// Returns the output of a command, which must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}", self.text);
        self.text
    }

    /// Checks that the output contains these words.
    #[track_caller]
    pub fn assert_contains(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.text.contains(word), "{word:?} is missing in:\n{}", self.text);
        }
        self
    }
}

impl Lab {
    pub fn new() -> Self {
        let environment = TestEnvironment::new().unwrap();
        ChatServer::reads_for(&environment.home()).unwrap();
        let root = environment.folder("w").unwrap();
        Self { environment, root }
    }

    /// Returns a path in the lab.
    pub fn at(&self, name: &str) -> PathBuf {
        self.environment.path().join(name)
    }

    pub fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let with = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"];
        self.environment.git(folder, &[&with[..], arguments].concat()).unwrap()
    }

    /// Makes a repository with one commit.
    pub fn repository(&self, root: &Path) {
        fs::create_dir_all(root).unwrap();
        self.git(root, &["init", "-q"]);
        self.git(root, &["commit", "-q", "--allow-empty", "-m", root.to_str().unwrap()]);
    }

    /// Creates a repository in the project's folder and sets it up.
    pub fn project(&self) {
        self.repository(&self.root);
        self.init(&self.root).ok();
    }

    /// Sets up a folder, without sessions.
    pub fn init(&self, root: &Path) -> Ran {
        self.run(root, &["init", "--yes", "--no-register", "--no-sync"])
    }

    /// Runs `throughline`.
    pub fn run(&self, root: &Path, arguments: &[&str]) -> Ran {
        let program = self.environment.binary("throughline");
        self.run_command(self.environment.command(program).current_dir(root).args(arguments))
    }

    /// Runs a command of the user.
    pub fn run_command(&self, command: &mut Command) -> Ran {
        // The mode is set, because the default in CI is to recall only.
        command.env("THROUGHLINE", "full");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), text }
    }

    /// Syncs a project.
    pub fn sync(&self, root: &Path) -> String {
        self.run(root, &["sync"]).ok()
    }

    /// Returns the output of `list` for a project.
    pub fn list(&self, root: &Path) -> String {
        self.run(root, &["list"]).ok()
    }

    /// Checks that the memory of the sessions so far is learned.
    #[track_caller]
    pub fn assert_learned(&self, root: &Path) {
        let synced = self.sync(root);
        let listed = self.list(root);
        assert!(listed.contains(LEARNED), "{synced}\n{listed}");
    }

    /// Checks that nothing is learned from the sessions so far, and that the sync reports the reason.
    #[track_caller]
    pub fn assert_named(&self, root: &Path, words: &[&str]) {
        self.run(root, &["sync"]).assert_contains(words).ok();
        self.run(root, &["status"]).assert_contains(words).ok();
        let listed = self.list(root);
        assert!(!listed.contains(LEARNED), "{listed}");
    }

    /// Starts a session by running its hook, and waits for the processes that the hook starts.
    pub fn start(&self, root: &Path) -> HookRun {
        self.start_as(root, "00000009-0000-4000-8000-000000000000")
    }

    pub fn start_as(&self, root: &Path, session: &str) -> HookRun {
        let payload = Moment::start("startup").payload(&self.environment, root, session);
        let run = self.hook("throughline-session-start", payload.to_string().as_bytes(), &[]);
        assert_eq!(self.environment.wait_until_quiet(), Vec::<String>::new());
        run
    }

    /// Runs a hook with these variables in addition to those of the lab.
    pub fn hook(&self, name: &str, payload: &[u8], more: &[(&str, &str)]) -> HookRun {
        let variables: Vec<(&str, &str)> =
            [("THROUGHLINE", "full")].into_iter().chain(more.iter().copied()).collect();
        let begun = std::time::Instant::now();
        let output = self.environment.hook_with(name, payload, &variables).unwrap();
        assert!(output.status.success(), "{output:?}");
        HookRun { output, took: begun.elapsed() }
    }

    /// Returns the transcript of the session with this number. Its folder has a name without meaning.
    pub fn file(&self, number: u32) -> PathBuf {
        let folder = self.environment.claude_dir().join("projects/-x");
        folder.join(format!("{}.jsonl", session_id(number)))
    }

    /// Writes the transcript of the session with this number, which ran in `cwd`.
    pub fn session(&self, number: u32, cwd: &Path) -> PathBuf {
        let file = self.file(number);
        Session::new(number, cwd).write(&file);
        file
    }
}

/// Returns the id of the session with this number.
pub fn session_id(number: u32) -> String {
    format!("{number:08}-0000-4000-8000-000000000000")
}

/// A session that consists of a wish, a failing check, a passing check and a closing text.
#[derive(Clone, Debug)]
pub struct Session {
    id: String,
    cwd: String,
    wish: Value,
    begin: Timestamp,
    more: Map<String, Value>,
}

impl Session {
    /// Creates a session that ended two days ago.
    pub fn new(number: u32, cwd: &Path) -> Self {
        let begin = Timestamp::now() - SignedDuration::from_hours(48);
        Self {
            id: session_id(number),
            cwd: String::from_utf8_lossy(cwd.as_os_str().as_bytes()).into_owned(),
            wish: json!(WISH),
            begin,
            more: Map::new(),
        }
    }

    /// Replaces the wish, which may be a text or a list of blocks.
    pub fn wish(mut self, wish: impl Into<Value>) -> Self {
        self.wish = wish.into();
        self
    }

    /// Sets the start time of the session.
    pub fn begins(mut self, begin: &str) -> Self {
        self.begin = begin.parse().unwrap();
        self
    }

    /// Sets a key in every record.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.more.insert(key.to_owned(), value);
        self
    }

    /// Returns the records in order.
    pub fn records(&self) -> Vec<Value> {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let call = |id: &str, command: &str| json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]);
        let result = |id: &str, text: &str, is_error: bool| json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}]);
        let missing = "Exit code 2\nfixtures/prices.json: No such file or directory";
        let steps = [
            ("user", self.wish.clone(), None),
            ("assistant", text("I keep prices as whole cents."), None),
            ("assistant", call("t1", "make check"), None),
            ("user", result("t1", missing, true), Some(json!(format!("Error: {missing}")))),
            ("assistant", call("t2", "make fixtures && make check"), None),
            (
                "user",
                result("t2", "passed: 4", false),
                Some(json!({"stdout": "passed: 4", "stderr": ""})),
            ),
            (
                "assistant",
                text("The check needs `make fixtures` first. Next I add the tests."),
                None,
            ),
        ];
        let mut parent = Value::Null;
        let mut records = Vec::new();
        for (number, (kind, content, structured)) in steps.into_iter().enumerate() {
            let uuid = format!("{}-{number:04}", &self.id[..8]);
            let minutes = i64::try_from(number).unwrap();
            let at = self.begin + SignedDuration::from_mins(minutes);
            let mut record = json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external",
                "cwd": self.cwd, "sessionId": self.id, "version": "2.1.300", "gitBranch": "main",
                "type": kind, "message": {"role": kind, "content": content},
                "uuid": uuid, "timestamp": at.to_string(),
            });
            if let Some(structured) = structured {
                record["toolUseResult"] = structured;
            }
            for (key, value) in &self.more {
                record[key] = value.clone();
            }
            parent = json!(uuid);
            records.push(record);
        }
        records
    }

    /// Writes the transcript as Claude Code does.
    pub fn write(&self, file: &Path) {
        self.write_as(file, |record| record.to_string().into_bytes());
    }

    /// Writes the transcript; `spell` formats each record.
    pub fn write_as(&self, file: &Path, spell: impl Fn(&Value) -> Vec<u8>) {
        let mut bytes = Vec::new();
        for record in self.records() {
            bytes.extend(spell(&record));
            bytes.push(b'\n');
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
}
