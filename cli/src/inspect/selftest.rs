//! `throughline doctor --selftest`: processes a sample session with processor, hooks, recall and MCP server in a
//! temporary home.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use memory_store::Timestamp;
use memory_store::layout::MODELS_VARIABLE;
use serde_json::{Value, json};

use super::check::HealthCheck;
use crate::answer;
use crate::failure::{AtPath as _, Result};
use crate::world::World;

/// Maximum run time of a program.
const PROGRAM_MAX: Duration = Duration::from_secs(60);

/// Maximum bytes read from the output of a program.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Milliseconds between two records of the sample session.
const STEP_MS: i64 = 20_000;

/// The wish in the sample session, followed by the words by which its memory is recognised.
const WISH: &str =
    "From now on always keep amounts as integer cents, never as floats: an invoice was a cent off.";
const TELLING: &str = "integer cents";

/// A question for which the memory is relevant.
const QUESTION: &str = "Should the amounts of an invoice be floats or integer cents?";

/// Id of the sample session.
const SESSION: &str = "5e1f7e57-0000-4000-8000-000000000001";

/// Runs the chain of programs.
pub fn checks(world: &World) -> Result<Vec<HealthCheck>> {
    Ok(Chain::new(world)?.checks())
}

/// The chain of programs, with a temporary home and project.
struct Chain<'a> {
    world: &'a World,
    _home: tempfile::TempDir,
    home: PathBuf,
    root: PathBuf,
    transcripts: PathBuf,
}

impl<'a> Chain<'a> {
    fn new(world: &'a World) -> Result<Self> {
        let temp = std::env::temp_dir();
        let temporary =
            tempfile::Builder::new().prefix("throughline-selftest-").tempdir_in(&temp).at(&temp)?;
        let home = temporary.path().canonicalize().at(temporary.path())?;
        let (root, transcripts) = (home.join("project"), home.join("transcripts"));
        for folder in [&root, &transcripts] {
            fs::create_dir(folder).at(folder)?;
        }
        let transcript = transcripts.join(format!("{SESSION}.jsonl"));
        fs::write(&transcript, records(&root, world.now)).at(&transcript)?;
        Ok(Self { world, _home: temporary, home, root, transcripts })
    }

    /// Runs all steps. A failed step does not stop the test, since later steps may reveal further problems.
    fn checks(&self) -> Vec<HealthCheck> {
        const SET_UP: [&str; 5] = ["init", "--yes", "--private", "--no-register", "--no-sync"];
        let from = self.transcripts.as_os_str();
        vec![
            self.check("set up", || {
                self.throughline(SET_UP.map(OsStr::new))
                    .map(|_| "a project in a temporary home".into())
            }),
            self.check("learn", || {
                self.throughline(["sync".as_ref(), "--from".as_ref(), from])?;
                let list = self.throughline(["list", "--json"].map(OsStr::new))?;
                check_answer(&list).map(|()| "a memory from one made-up session".into())
            }),
            self.hook("start", "session-start", json!({"source": "startup"}), true),
            self.hook("prompt", "user-prompt-submit", json!({"prompt": QUESTION}), true),
            self.hook("tool", "post-tool-use", tool_fields(&self.root), false),
            self.hook("stop", "stop", json!({"stop_hook_active": false}), false),
            self.check("search", || {
                check_answer(&self.throughline(["search", "--json", QUESTION].map(OsStr::new))?)
                    .map(|()| "the command finds it".into())
            }),
            self.check("mcp", || {
                check_answer(&self.program(
                    "throughline-mcp",
                    "read",
                    [],
                    mcp_requests().as_bytes(),
                )?)
                .map(|()| "the server's recall gives it".into())
            }),
        ]
    }

    /// Runs one step and reports its duration.
    fn check(
        &self,
        name: &'static str,
        step: impl FnOnce() -> Result<String, String>,
    ) -> HealthCheck {
        let start = Instant::now();
        let seen = step();
        let took = match start.elapsed() {
            took if took < Duration::from_secs(1) => format!("{:.1} ms", took.as_secs_f64() * 1e3),
            took => format!("{:.1} s", took.as_secs_f64()),
        };
        match seen {
            Ok(seen) => HealthCheck::good(name, format!("{seen} ({took})")),
            Err(why) => HealthCheck::bad(
                name,
                why,
                "Install all programs of one version again, then try `throughline doctor`.",
            ),
        }
    }

    /// Runs a hook as Claude Code does. Fails if `gives` is set and the hook does not print the memory.
    fn hook(&self, name: &'static str, program: &str, fields: Value, gives: bool) -> HealthCheck {
        let event: String = program.split('-').map(capitalised).collect();
        let mut payload = json!({
            "session_id": "5e1f7e57-0000-4000-8000-000000000002", "hook_event_name": event, "cwd": self.root,
            "transcript_path": self.transcripts.join("open.jsonl"), "permission_mode": "default",
        });
        if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, fields) {
            payload.extend(fields);
        }
        self.check(name, || {
            let said = self.program(
                &format!("throughline-{program}"),
                "read",
                [],
                payload.to_string().as_bytes(),
            )?;
            if gives {
                return check_answer(&said).map(|()| format!("{event} gives it to Claude"));
            }
            Ok(format!("{event} ends in time"))
        })
    }

    fn throughline<'b>(
        &self,
        arguments: impl IntoIterator<Item = &'b OsStr>,
    ) -> Result<String, String> {
        self.program("throughline", "full", arguments, b"")
    }

    /// Runs a Throughline program in the temporary home. Hooks and server run in the mode that only reads, so that they
    /// start no process that outlives the home. An error contains the program's message.
    fn program<'b>(
        &self,
        name: &str,
        mode: &str,
        arguments: impl IntoIterator<Item = &'b OsStr>,
        input: &[u8],
    ) -> Result<String, String> {
        let mut command = Command::new(self.world.bin_dir.join(name));
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("HOME", &self.home)
            .env("THROUGHLINE", mode)
            .env("CLAUDE_PROJECT_DIR", &self.root)
            .env("THROUGHLINE_NOW", self.world.now.0.to_string());
        let models =
            self.world.dirs.models.as_deref().map(|folder| (MODELS_VARIABLE, folder.as_os_str()));
        let path = self.world.path.as_deref().map(|path| ("PATH", path));
        command.envs(models.into_iter().chain(path));
        answer::talk(&mut command, input, PROGRAM_MAX, ANSWER_BYTES_MAX)
            .map_err(|why| format!("{name}: {why}"))
    }
}

/// Checks that a program's output contains the memory.
fn check_answer(answer: &str) -> Result<(), String> {
    match answer.contains(TELLING) {
        true => Ok(()),
        false => Err(format!("the memory is not in the answer: {}", brief(answer))),
    }
}

/// Returns the first line of a program's output.
fn brief(answer: &str) -> String {
    let line = answer.lines().next().unwrap_or_default();
    if line.is_empty() { "nothing was said".into() } else { line.chars().take(120).collect() }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Returns the fields of a `PostToolUse` payload about a file that was read.
fn tool_fields(root: &Path) -> Value {
    let file = root.join("src/price.rs");
    json!({
        "tool_name": "Read", "tool_input": {"file_path": file}, "tool_use_id": "toolu_1",
        "tool_response": {"type": "text", "file": {"filePath": file, "content": ""}},
    })
}

/// Returns the transcript of the sample session. The session ended an hour ago.
fn records(root: &Path, now: Timestamp) -> String {
    let user = |text: &str| json!({"role": "user", "content": text});
    let claude = |text: &str| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "none",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
    };
    let turns = [
        ("user", user(WISH)),
        (
            "assistant",
            claude("Understood: amounts are integer cents everywhere. I changed src/price.rs."),
        ),
        ("user", user("Thanks.")),
        ("assistant", claude("Done.")),
    ];
    let mut records = String::new();
    let mut last = Value::Null;
    for (number, (kind, message)) in (0..).zip(turns) {
        let uuid = format!("5e1f7e57-0000-4000-8000-1000000000{number:02}");
        let at = Timestamp(now.0 - 3_600_000 + number * STEP_MS);
        let record = json!({
            "parentUuid": last, "isSidechain": false, "userType": "external", "cwd": root, "sessionId": SESSION,
            "version": "2.1.330", "type": kind, "message": message, "uuid": uuid, "timestamp": at.to_string(),
        });
        records.push_str(&format!("{record}\n"));
        last = uuid.into();
    }
    records
}

/// Returns the requests of an MCP client: a session with one call of `recall`.
fn mcp_requests() -> String {
    let client = json!({"name": "selftest", "version": "1"});
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": QUESTION}}}),
    ];
    requests.map(|request| format!("{request}\n")).concat()
}
