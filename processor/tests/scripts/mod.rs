//! Transcripts written by hand. A script defines the events; its lines have the form of a given version of Claude Code.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_store::Timestamp;
use memory_store::identity::{self, Mode, Observed};
use memory_store::index::segment::Segment;
use memory_store::layout::{Tree, UserDirs};
use processor::lock::Busy;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::transcript::{Redact, SessionBuilder, session::Session};
use serde_json::{Value, json};
use testutils::SealedHome;

use crate::standin::ollama::{Behaviour, Ollama};

/// Current time in the tests.
pub const NOW: &str = "2026-11-21T12:00:00Z";

/// Returns the current time in the tests.
pub fn now() -> Timestamp {
    Timestamp::parse(NOW).unwrap()
}

/// Redactor that changes nothing.
pub struct AsItIs;

impl Redact for AsItIs {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
}

/// One session in the format of a transcript.
#[derive(Clone, Debug)]
pub struct Script {
    pub session: String,
    pub cwd: String,
    pub branch: String,
    pub version: String,
    pub agent: Option<String>,
    pub parent: Option<String>,
    pub lines: Vec<Value>,
    at: i64,
    count: u32,
}

impl Script {
    pub fn new(session: &str, cwd: &str) -> Self {
        Self {
            session: session.into(),
            cwd: cwd.into(),
            branch: "main".into(),
            version: "2.1.219".into(),
            agent: None,
            parent: None,
            lines: Vec::new(),
            at: Timestamp::parse("2026-11-20T09:00:00Z").unwrap().0,
            count: 0,
        }
    }

    pub fn version(mut self, version: &str) -> Self {
        self.version = version.into();
        self
    }

    pub fn starting(mut self, time: &str) -> Self {
        self.at = Timestamp::parse(time).unwrap().0;
        self
    }

    pub fn agent(mut self, agent: &str) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Returns the time of the last line.
    pub fn time(&self) -> String {
        Timestamp(self.at).to_string()
    }

    /// Adds a line of type `kind` with the common fields and those in `more`.
    pub fn line(&mut self, kind: &str, more: Value) -> String {
        self.count += 1;
        self.at += 1_234;
        let agent = self.agent.clone().unwrap_or_default();
        let uuid = format!("{}-{agent}-{:04}", self.session, self.count);
        let mut line = json!({
            "parentUuid": self.parent, "isSidechain": self.agent.is_some(), "userType": "external",
            "cwd": self.cwd, "sessionId": self.session, "version": self.version,
            "gitBranch": self.branch,
        });
        if let Some(agent) = &self.agent {
            line["agentId"] = json!(agent);
        }
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        line["type"] = json!(kind);
        line["uuid"] = json!(uuid);
        line["timestamp"] = json!(self.time());
        self.lines.push(line);
        self.parent = Some(uuid.clone());
        uuid
    }

    /// Adds a line without the common fields.
    pub fn bare(&mut self, line: Value) {
        self.lines.push(line);
    }

    pub fn prompt(&mut self, text: &str) -> String {
        self.line("user", json!({"message": {"role": "user", "content": text}}))
    }

    pub fn say(&mut self, text: &str) -> String {
        self.block(json!({"type": "text", "text": text}))
    }

    pub fn block(&mut self, block: Value) -> String {
        let id = format!("msg_{}_{}", self.session, self.count);
        self.block_of(&id, block)
    }

    pub fn block_of(&mut self, message: &str, block: Value) -> String {
        let message = json!({
            "id": message, "type": "message", "role": "assistant", "model": "claude-x",
            "content": [block], "stop_reason": null, "usage": {"output_tokens": 1},
        });
        self.line("assistant", json!({"message": message, "requestId": "req_1"}))
    }

    /// Adds a tool call. Returns its id.
    pub fn call(&mut self, tool: &str, input: Value) -> String {
        let id = format!("toolu_{}_{}", self.session, self.count);
        self.block(json!({"type": "tool_use", "id": id, "name": tool, "input": input}));
        id
    }

    pub fn result(&mut self, id: &str, text: &str, structured: Value) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        let message = json!({"role": "user", "content": [block]});
        self.line("user", json!({"message": message, "toolUseResult": structured}))
    }

    pub fn failure(&mut self, id: &str, text: &str) -> String {
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true});
        let message = json!({"role": "user", "content": [block]});
        self.line("user", json!({"message": message, "toolUseResult": format!("Error: {text}")}))
    }

    /// Adds a person's rejection of a call. `words` are the person's words; they may be empty.
    pub fn refusal(&mut self, id: &str, words: &str) -> String {
        let text = refusal_text(words);
        let block =
            json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true});
        let message = json!({"role": "user", "content": [block]});
        self.line("user", json!({"message": message, "toolUseResult": "User rejected tool use"}))
    }

    pub fn bash(&mut self, command: &str, output: &str) {
        let id = self.call("Bash", json!({"command": command, "description": "run it"}));
        let structured =
            json!({"stdout": output, "stderr": "", "interrupted": false, "isImage": false});
        self.result(&id, output, structured);
    }

    pub fn bash_fails(&mut self, command: &str, output: &str) {
        let id = self.call("Bash", json!({"command": command, "description": "run it"}));
        self.failure(&id, &format!("Exit code 1\n{output}"));
    }

    pub fn edit(&mut self, path: &str, old: &str, new: &str) {
        let id =
            self.call("Edit", json!({"file_path": path, "old_string": old, "new_string": new}));
        let lines = [format!("-{old}"), format!("+{new}")];
        let structured = json!({
            "filePath": path, "oldString": old, "newString": new,
            "originalFile": "whole file\n".repeat(100),
            "structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": lines}],
        });
        self.result(&id, &format!("The file {path} has been updated."), structured);
    }

    pub fn progress(&mut self) {
        let data = json!({"type": "bash_progress", "output": "\"type\":\"user\""});
        self.line("progress", json!({"data": data, "toolUseID": "t", "parentToolUseID": "t"}));
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Reads the script as a transcript.
    pub fn read(&self) -> Session {
        read(self.text().as_bytes(), &self.session, self.agent.as_deref()).remove(0)
    }
}

/// Returns Claude Code's message to the model if a person rejects a call.
pub fn refusal_text(words: &str) -> String {
    let told = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    match words {
        "" => format!(
            "{told}. STOP what you are doing and wait for the user to tell you how to proceed."
        ),
        words => format!(
            "{told} (eg. if it was a file edit, the new_string was NOT written to the file). To \
             tell you how to proceed, the user said:\n{words}"
        ),
    }
}

/// Reads bytes as a transcript.
pub fn read(bytes: &[u8], session: &str, agent: Option<&str>) -> Vec<Session> {
    let mut builder = SessionBuilder::new(&AsItIs);
    builder.read(bytes).unwrap();
    builder.sessions(session, agent)
}

/// A separate home with one project.
pub struct Sealed {
    home: SealedHome,
    pub base: PathBuf,
    pub dirs: UserDirs,
    pub tree: Tree,
}

impl Sealed {
    pub fn new() -> Self {
        Self::with_mode(Mode::Committed)
    }

    pub fn with_mode(mode: Mode) -> Self {
        let home = SealedHome::new();
        let (base, dirs) = (home.path().to_owned(), home.dirs.clone());
        let root = base.join("work");
        std::fs::create_dir_all(&root).unwrap();
        let observed = Observed { root, ..Observed::default() };
        let tree = identity::vouch(&dirs, &observed, Some(mode), [7; 16], now()).unwrap();
        Self { home, base, dirs, tree }
    }

    pub fn root(&self) -> &str {
        self.tree.root.to_str().unwrap()
    }

    /// Returns a command in this home, at the current time of the tests.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.home.command(program);
        command.env("THROUGHLINE_NOW", NOW);
        command
    }

    /// Requests an index of the model's thinking, in the same way as a search for thinking.
    pub fn want_thinking(&self) {
        memory_store::thinking::want(&self.dirs.tree(&self.tree.root)).unwrap();
    }

    /// Sets a stand-in for a model as the reader of sessions. It answers with [`learns`].
    pub fn read_by_model(&self) {
        let server = Ollama::start(&["m"], Behaviour::Says(learns));
        let llm =
            format!("[llm]\nprovider = \"ollama\"\nmodel = \"m\"\nhost = \"{}\"\n", server.host);
        std::fs::create_dir_all(&self.dirs.config).unwrap();
        std::fs::write(self.dirs.config_file(), llm).unwrap();
    }

    /// Returns the path of a transcript of this project.
    pub fn transcript(&self, name: &str) -> PathBuf {
        self.dirs.claude.join("projects/-work").join(name)
    }

    pub fn write(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.transcript(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn write_script(&self, script: &Script) -> PathBuf {
        self.write(&format!("{}.jsonl", script.session), script.text().as_bytes())
    }

    pub fn options(&self) -> SyncOptions<'_> {
        SyncOptions::new(
            &self.dirs,
            &self.tree,
            Busy::Wait(std::time::Duration::from_secs(20)),
            now(),
        )
    }

    pub fn sync(&self) -> SyncReport {
        let report = sync(&self.options()).unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        report
    }

    /// Returns all files below the home with their contents, except files for which `leave_out` returns true.
    pub fn files(&self, leave_out: impl Fn(&Path) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(&self.base).sort_by_file_name() {
            let entry = entry.unwrap();
            let path = entry.path().strip_prefix(&self.base).unwrap().to_owned();
            if entry.file_type().is_file() && !leave_out(&path) {
                let mut bytes = std::fs::read(entry.path()).unwrap();
                // Segments contain compressed turns, so their decompressed text is added.
                bytes.extend(Segment::inflated_file(entry.path(), u64::MAX));
                files.push((path, bytes));
            }
        }
        files
    }

    /// Returns a file's text without the path of the home, and without checksums, because these depend on the path.
    pub fn anywhere(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).replace(self.base.to_str().unwrap(), "HOME");
        let check = regex::Regex::new(r#""check":"[0-9a-f]{16}""#).unwrap();
        check.replace_all(&text, r#""check":"CHECK""#).into_owned()
    }
}

/// Runs git without a user's configuration. Returns its output.
pub fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Answers with a memory for each sentence in the window that contains a standing wish or names a root cause.
pub fn learns(question: &str) -> String {
    let lines = question.lines().filter(|line| !line.contains("before this part"));
    let sentences = lines.flat_map(|line| line.split_inclusive(". ")).map(str::trim);
    let memories = sentences.filter_map(|sentence| {
        let at = sentence.find("From now on").or_else(|| sentence.find("The root cause"))?;
        let quote = &sentence[at..];
        let kind = if quote.starts_with("From") { "preference" } else { "gotcha" };
        Some(json!({
            "kind": kind, "title": quote.trim_end_matches('.'), "text": "", "quote": quote,
            "confidence": 90, "importance": 90, "standing": true, "paths": [], "cues": [],
        }))
    });
    let memories: Vec<Value> = memories.collect();
    json!({ "memories": memories, "relations": [], "overtaken": [], "fallen": [] }).to_string()
}

/// Returns a session with events that are worth keeping. They differ for each seed.
pub fn eventful(session: &str, root: &str, seed: u32) -> Script {
    let start = format!("2026-11-{:02}T09:{:02}:00Z", 1 + seed % 20, seed % 60);
    let mut script = Script::new(session, root).starting(&start);
    let thing = ["ledger", "parser", "cache", "router"][seed as usize % 4];
    let file = format!("{root}/src/{thing}.rs");
    script.prompt(&format!(
        "Please find out why the {thing} loses the last entry when it is closed, and fix it. \
         From now on, always run the tests of the {thing} with --locked."
    ));
    script.say(&format!(
        "I'll look at how the {thing} closes its table before anything else is changed."
    ));
    let id = script.call("Read", json!({"file_path": file}));
    let read = json!({"filePath": file, "content": "fn close() {}", "numLines": 1});
    script.result(&id, "fn close() {}", json!({"type": "text", "file": read}));
    let command = format!("cargo test -p {thing} --locked");
    script.bash_fails(
        &command,
        &format!("error[E0308]: mismatched types in {thing}::close\nexpected `i64`, found `u32`"),
    );
    script.progress();
    script.edit(&file, "self.total += amount", "self.total += i64::from(amount)");
    script.bash(&command, "test result: ok. 12 passed; 0 failed");
    script.say(&format!(
        "Fixed. The root cause: the {thing} dropped its buffer before the flush, because `close` \
         returned early when the amount did not fit. We decided to convert with `i64::from` \
         instead of casting, since a cast would hide an overflow."
    ));
    script.prompt(&format!(
        "No, that hides which entry was bad. From now on, don't use unwrap in the {thing}, but \
         return an error instead."
    ));
    script.edit(&file, "x.unwrap()", "x?");
    script.bash("cargo clippy --locked", "Finished");
    script.say(&format!(
        "You're right, an unwrap hides which entry was bad. `{thing}` returns an error now. Still \
         open: the same change in the importer."
    ));
    script
}
