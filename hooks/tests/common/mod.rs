//! A sealed environment for hooks, with a separate home and a trusted project, and without variables of the caller.

#[path = "../../../memory-store/tests/common/search_mode.rs"]
mod search_mode;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use memory_store::file::{MemoryFile, file_name};
use memory_store::handoff::{Handoff, LeftSession};
use memory_store::index::build::{Content, Publisher, Staged};
use memory_store::index::document::Passage;
use memory_store::layout::{Tree, TreeDir, UserDirs, by_path_record};
use memory_store::memory::{PathRef, SaidBy};
use memory_store::settings::Settings;
use memory_store::store::Store;
use memory_store::{Kind, Memory, MemoryId, ProjectId, Timestamp};
use serde_json::{Value, json};
use testutils::SealedHome;

pub use search_mode::SearchMode;
pub(crate) use search_mode::in_each_search_mode;

/// The five hooks.
pub const HOOKS: [&str; 5] = [SESSION_START, PROMPT, BEFORE_TOOL, TOOL, STOP];
pub const SESSION_START: &str = env!("CARGO_BIN_EXE_throughline-session-start");
pub const PROMPT: &str = env!("CARGO_BIN_EXE_throughline-user-prompt-submit");
pub const BEFORE_TOOL: &str = env!("CARGO_BIN_EXE_throughline-pre-tool-use");
pub const TOOL: &str = env!("CARGO_BIN_EXE_throughline-post-tool-use");
pub const STOP: &str = env!("CARGO_BIN_EXE_throughline-stop");

pub const NOW: &str = "2026-10-02T12:00:00Z";
pub const PROJECT: ProjectId = ProjectId([7; 16]);

pub struct World {
    home: SealedHome,
    pub root: PathBuf,
    pub dirs: UserDirs,
    variables: Vec<(String, String)>,
    search: SearchMode,
}

/// Output and duration of a hook's run.
#[derive(Debug)]
pub struct Ran {
    pub output: Output,
}

impl World {
    /// Returns a home and an untrusted project.
    pub fn untrusted() -> Self {
        let home = SealedHome::new();
        let root = home.path().join("work");
        fs::create_dir_all(root.join("src")).unwrap();
        let (dirs, search) = (home.dirs.clone(), SearchMode::Words);
        Self { home, root, dirs, variables: Vec::new(), search }
    }

    /// Returns a home and a trusted project with an empty store.
    pub fn trusted() -> Self {
        let world = Self::untrusted();
        world.trust();
        world
    }

    /// Sets the search mode of the published index.
    pub fn searched(mut self, search: SearchMode) -> Self {
        self.search = search;
        self
    }

    pub fn trust(&self) {
        let record = self.dirs.by_path(&self.root);
        fs::create_dir_all(record.parent().unwrap()).unwrap();
        fs::write(record, by_path_record(PROJECT, &self.root, None)).unwrap();
    }

    /// Returns a trusted project with some memories; its start block contains the wishes.
    pub fn with_memories() -> Self {
        Self::with_memories_in(SearchMode::Words)
    }

    /// Like [`World::with_memories`], with an index for this search mode.
    pub fn with_memories_in(search: SearchMode) -> Self {
        let world = Self::trusted().searched(search);
        world.publish(&memories(), &Settings::default());
        world
    }

    /// Writes these memories and publishes an index of the store.
    pub fn publish(&self, memories: &[Memory], settings: &Settings) {
        self.publish_with(memories, None, settings);
    }

    /// Stages turns for the next index. They are added to the current turns, or replace them if `afresh` is true.
    pub fn staged(&self, afresh: bool, turns: impl IntoIterator<Item = Passage>) -> Option<Staged> {
        self.search.stage(&self.state().index, afresh, turns)
    }

    /// Publishes memories with turns.
    pub fn publish_with(&self, memories: &[Memory], turns: Option<Staged>, settings: &Settings) {
        let wishes = memories.iter().filter(|memory| memory.kind == Kind::Preference);
        let start = wishes.map(|memory| memory.id).collect();
        self.publish_all(memories, turns, start, settings, false);
    }

    /// Publishes memories as memories from the repository, all of which are in the start plan.
    pub fn publish_pulled(&self, memories: &[Memory], settings: &Settings) {
        let start = memories.iter().map(|memory| memory.id).collect();
        self.publish_all(memories, None, start, settings, true);
    }

    /// Publishes memories with this start plan.
    pub fn publish_started(&self, memories: &[Memory], start: &[MemoryId]) {
        self.publish_all(memories, None, start.to_vec(), &Settings::default(), false);
    }

    fn publish_all(
        &self,
        memories: &[Memory],
        turns: Option<Staged>,
        start: Vec<MemoryId>,
        settings: &Settings,
        are_pulled: bool,
    ) {
        let tree = Tree { project: PROJECT, root: self.root.clone(), main_root: self.root.clone() };
        let store = Store::open(&self.dirs, &tree).unwrap();
        fs::create_dir_all(&store.folder).unwrap();
        for memory in memories {
            let file = MemoryFile::new(memory.clone()).unwrap();
            fs::write(store.folder.join(file_name(memory)), file.text().as_bytes()).unwrap();
        }
        let index = self.state().index.clone();
        let mut publisher = Publisher::begin(&index).unwrap();
        let listing = store.list().unwrap();
        let ids = listing.memories.iter().filter(|_| are_pulled).map(|stored| stored.memory.id);
        publisher.from_repository = ids.collect();
        let content = Content {
            root: &self.root,
            memories: &listing.memories,
            passages: turns,
            start: &start,
            settings,
            now: Timestamp::parse(NOW).unwrap(),
        };
        self.search.publish(&index, publisher, content);
    }

    /// Writes a handoff.
    pub fn leave(&self, goal: &str, inbox_bytes: u64) {
        let session = LeftSession {
            session: format!("session to {goal}"),
            branch: String::new(),
            last: Timestamp::parse("2026-10-01T18:00:00Z").unwrap(),
            goal: goal.into(),
            ..LeftSession::default()
        };
        let left = Handoff { sessions: vec![session], inbox_bytes, ..Handoff::default() };
        fs::create_dir_all(&self.state().folder).unwrap();
        fs::write(&self.state().handoff, serde_json::to_vec(&left).unwrap()).unwrap();
    }

    pub fn start(&self, session: &str, source: &str) -> Ran {
        self.run(SESSION_START, &self.payload("SessionStart", session, json!({"source": source})))
    }

    pub fn prompt(&self, session: &str, prompt: &str) -> Ran {
        self.run(PROMPT, &self.payload("UserPromptSubmit", session, json!({"prompt": prompt})))
    }

    pub fn read(&self, session: &str, file: &str) -> Ran {
        let more = json!({
            "tool_name": "Read",
            "tool_use_id": "toolu_1",
            "tool_input": {"file_path": self.root.join(file)},
            "tool_response": {"type": "text", "file": {"content": "x"}},
        });
        self.run(TOOL, &self.payload("PostToolUse", session, more))
    }

    pub fn fail(&self, session: &str, command: &str, error: &str) -> Ran {
        let more = json!({
            "tool_name": "Bash",
            "tool_use_id": "toolu_2",
            "tool_input": {"command": command},
            "error": error,
            "is_interrupt": false,
            "duration_ms": 12,
        });
        self.run(TOOL, &self.payload("PostToolUseFailure", session, more))
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn state(&self) -> TreeDir {
        self.dirs.tree(&self.root)
    }

    /// Returns the lines of a JSONL file; none if it is missing.
    pub fn lines(&self, file: &Path) -> Vec<Value> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn notes(&self) -> Vec<Value> {
        self.lines(&self.state().inbox)
    }

    pub fn receipts(&self) -> Vec<Value> {
        self.lines(&self.state().receipts("2026-10-02"))
    }

    /// Returns the payload of an event in this project, with further members.
    pub fn payload(&self, event: &str, session: &str, more: Value) -> Vec<u8> {
        let mut payload = json!({
            "session_id": session,
            "transcript_path": self.home().join("t.jsonl"),
            "cwd": self.root,
            "hook_event_name": event,
        });
        let members = payload.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        payload.to_string().into_bytes()
    }

    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.home.command(program);
        command
            .env("THROUGHLINE_NOW", NOW)
            .envs(self.search.variables())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, hook: impl AsRef<std::ffi::OsStr>, payload: &[u8]) -> Ran {
        run(self.command(hook).spawn().unwrap(), payload)
    }

    /// Runs a hook that must print nothing within its time limit.
    #[track_caller]
    pub fn run_silently(&self, hook: &str, payload: &[u8]) {
        let ran = self.run(hook, payload);
        assert_eq!(ran.stdout(), "", "{hook}");
    }
}

/// The error that one of the sample memories solves.
pub const ERROR: &str =
    "Exit code 101\nerror[E0277]: cannot multiply `i64` by `u32`\n  --> src/lib.rs:13:46\n";

/// Returns sample memories: a wish, a decision, a fact about a file, a fix, and enough others to make their words rare.
pub fn memories() -> Vec<Memory> {
    let memory = |number: u8, kind, title: &str, body: &str, path: Option<&str>| {
        let created = Timestamp::parse("2026-09-20T10:00:00Z").unwrap();
        let mut memory =
            Memory::new(MemoryId::new(created, [number; 10]), kind, title, body, created);
        memory.occurred = Some(created);
        memory.paths.extend(path.map(|path| PathRef { path: path.into(), seen: None }));
        memory
    };
    let mut memories = vec![
        memory(1, Kind::Preference, "Money is integer cents", "Never use f64 for money.", None),
        memory(
            2,
            Kind::Decision,
            "Invoices are archived in Postgres",
            "Invoices are archived in Postgres, because the auditors query them with SQL.",
            None,
        ),
        memory(
            3,
            Kind::Gotcha,
            "The rounding table is generated",
            "src/rounding.rs is generated by build.rs; edits there are lost.",
            Some("src/rounding.rs"),
        ),
        memory(
            4,
            Kind::Fix,
            "cannot multiply i64 by u32",
            "Widen the quantity with i64::from before multiplying.",
            Some("src/lib.rs"),
        ),
    ];
    memories[0].source.said_by = Some(SaidBy::User);
    memories[3].signatures.extend(memory_store::signature::error_signature(ERROR));
    memories.extend((10..40).map(|number| {
        let title = format!("Module {number} owns its own migration {number}");
        memory(number, Kind::Fact, &title, "It was split off when the crate grew.", None)
    }));
    memories
}

/// Writes the payload to a hook and waits until the hook ends.
pub fn run(mut hook: Child, payload: &[u8]) -> Ran {
    let mut stdin = hook.stdin.take().unwrap();
    let payload = payload.to_vec();
    // A hook may end before it has read everything.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&payload)));
    let output = hook.wait_with_output().unwrap();
    feeder.join().unwrap();
    Ran { output }
}

impl Ran {
    /// Returns the stdout of the run, after checking that it exited with 0 and that stderr is empty.
    #[track_caller]
    pub fn stdout(&self) -> String {
        assert_eq!(self.output.status.code(), Some(0), "{self:?}");
        assert_eq!(String::from_utf8_lossy(&self.output.stderr), "");
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// Returns the text for the model, after checking the exact form of the JSON around it.
    #[track_caller]
    pub fn context(&self, event: &str) -> String {
        let said: Value = serde_json::from_str(&self.stdout()).unwrap_or_default();
        let specific = &said["hookSpecificOutput"];
        if specific.is_null() {
            return String::new();
        }
        assert_eq!(specific["hookEventName"], event);
        assert_eq!(specific.as_object().unwrap().len(), 2);
        specific["additionalContext"].as_str().unwrap().to_owned()
    }

    /// Returns the text for the person.
    #[track_caller]
    pub fn message(&self) -> Option<String> {
        let said: Value = serde_json::from_str(&self.stdout()).unwrap_or_default();
        said["systemMessage"].as_str().map(str::to_owned)
    }
}
