//! Records the files that the real Claude Code client writes: payloads of hooks, and the transcripts of a small
//! session. Names of this machine and text of the client itself are removed. The parsers are tested with these files;
//! record them again for a new version of the client.
//!
//! usage: record-claude-code FOLDER

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use journeys::claude_code::{Begin, Client};
use journeys::environment::TestEnvironment;
use journeys::ledger_project;
use journeys::messages_api::{MessagesApi, Script};
use serde_json::{Value, json};

/// Maximum number of characters that are kept of the client's own texts, such as its system prompt.
const CLIENT_TEXT_CHARS_MAX: usize = 120;

/// Path that replaces the temporary folder.
const FOLDER: &str = "/home/ada";

const EVENTS: [&str; 11] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
];

const FIRST: &str = "11111111-1111-4111-8111-111111111111";
const ASK_AGENT: &str = "Ask a subagent which files exist.";
const AGENT_PROMPT: &str = "List the files of this project.";
const TASK_NOTICE: &str = "<task-notification>";

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: record-claude-code FOLDER");
        return ExitCode::FAILURE;
    };
    match record(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("record-claude-code: {error}");
            ExitCode::FAILURE
        }
    }
}

fn record(target: &Path) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let root = ledger_project::create(&environment)?;
    let payloads = environment.path().join("payloads");
    register_recorder(&environment, &payloads)?;
    let api = MessagesApi::start()?;
    let client = Client::new(&environment, &api)?;
    api.script(ledger_project::first_session(&root));
    api.script(subagent_scripts());

    let mut session = client.open(&root, Begin::New(FIRST))?;
    for prompt in
        [ledger_project::TASK_AND_WISH, ledger_project::QUESTION, ledger_project::EXPORT_TASK]
    {
        session.turn(prompt)?;
    }
    session.turn(ASK_AGENT)?;
    session.wait_for_result()?;
    session.close()?;
    let mut resumed = client.open(&root, Begin::Resume(FIRST))?;
    resumed.turn("/compact")?;
    resumed.turn("Thank you.")?;
    resumed.close()?;

    let clean = Cleaner::new(&environment);
    let version = client.version()?;
    fs::create_dir_all(target)?;
    fs::write(target.join("version.txt"), format!("{version}\n"))?;
    write_payloads(target, &clean, &payloads)?;
    write_transcripts(target, &clean, &environment.claude_dir().join("projects"))
}

/// Registers a hook for every event that only stores its payload. Each payload is in a separate file, since hooks of
/// the same event run at the same time.
fn register_recorder(environment: &TestEnvironment, payloads: &Path) -> io::Result<()> {
    fs::create_dir(payloads)?;
    let script = environment.path().join("record.sh");
    fs::write(&script, format!("cat > \"$(mktemp '{}/XXXXXXXX')\"\n", payloads.display()))?;
    let handler = json!({"type": "command", "command": "/bin/sh", "args": [script]});
    let group = json!([{"hooks": [handler]}]);
    let hooks: BTreeMap<_, _> = EVENTS.iter().map(|event| (event, &group)).collect();
    fs::create_dir_all(environment.claude_dir())?;
    fs::write(
        environment.claude_dir().join("settings.json"),
        format!("{:#}\n", json!({"hooks": hooks})),
    )
}

fn subagent_scripts() -> [Script; 3] {
    let agent = json!({
        "description": "List files", "prompt": AGENT_PROMPT, "subagent_type": "general-purpose",
    });
    [
        Script::on(ASK_AGENT).calls("Agent", agent).answers("I wait for the subagent."),
        Script::on(AGENT_PROMPT)
            .calls("Bash", ledger_project::shell("ls", "List the files"))
            .answers("Cargo.toml, README.md and src."),
        Script::on(TASK_NOTICE).answers("The project has Cargo.toml, README.md and src."),
    ]
}

/// Removes text that belongs to this machine or to the client.
struct Cleaner {
    replacements: Vec<(String, String)>,
}

impl Cleaner {
    fn new(environment: &TestEnvironment) -> Self {
        let folder = environment.path().display().to_string();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kernel = if kernel.is_empty() { "no kernel release" } else { kernel.trim() };
        let dashed = |path: &str| path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        Self {
            replacements: vec![
                (kernel.to_owned(), "6.1.0".to_owned()),
                (folder.clone() + "/home", FOLDER.to_owned()),
                (dashed(&folder), dashed(FOLDER)),
                (folder, FOLDER.to_owned()),
                // The client's own temporary folder, whose name contains the number of the user. SAFETY: getuid(2) has
                // no arguments and cannot fail.
                (format!("/tmp/claude-{}", unsafe { libc::getuid() }), "/var/claude".to_owned()),
            ],
        }
    }

    fn text(&self, text: &str) -> String {
        self.replacements.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    fn value(&self, value: &mut Value, chars_max: usize) {
        match value {
            Value::String(text) => {
                let mut clean = self.text(text);
                if clean.chars().count() > chars_max {
                    clean = clean.chars().take(chars_max).collect::<String>() + " [cut]";
                }
                *text = clean;
            }
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.value(value, chars_max))
            }
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.value(value, chars_max));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn write_payloads(target: &Path, clean: &Cleaner, payloads: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(payloads)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let mut lines = String::new();
    for (_, file) in files {
        let mut payload: Value = serde_json::from_slice(&fs::read(file)?)?;
        clean.value(&mut payload, usize::MAX);
        lines += &format!("{payload}\n");
    }
    fs::write(target.join("payloads.jsonl"), lines)
}

fn write_transcripts(target: &Path, clean: &Cleaner, projects: &Path) -> io::Result<()> {
    for file in files_below(projects)? {
        let name = file.strip_prefix(projects).map_err(io::Error::other)?;
        let name = target.join("projects").join(clean.text(&name.display().to_string()));
        fs::create_dir_all(name.parent().ok_or(io::ErrorKind::NotFound)?)?;
        let mut lines = String::new();
        for line in fs::read_to_string(&file)?.lines() {
            let mut record: Value = serde_json::from_str(line)?;
            let spoken =
                ["user", "assistant", "summary"].iter().any(|kind| record["type"] == *kind);
            clean.value(&mut record, if spoken { usize::MAX } else { CLIENT_TEXT_CHARS_MAX });
            lines += &format!("{record}\n");
        }
        fs::write(name, lines)?;
    }
    Ok(())
}

fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if entry.path().extension().is_some_and(|kind| kind == "jsonl" || kind == "json") {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
