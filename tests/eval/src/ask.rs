//! Runs a query as Claude Code does: through the real hook programs, in a new session after its start block.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::process::Stdio;

use anyhow::{Context as _, Result};
use memory_store::Timestamp;
use memory_store::error::At as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gold::{Query, Way};
use crate::sealed::Sealed;

/// The text that a model would receive.
pub struct Answer {
    /// The parts of the text, one for each memory or passage.
    pub pieces: Vec<String>,
    /// The whole text.
    pub text: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Said {
    hook_specific_output: Specific,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    additional_context: String,
}

/// The receipt of a hook.
#[derive(Deserialize)]
struct Receipt {
    event: String,
    session: String,
    memories: Vec<Given>,
}

/// A memory in a receipt, with the byte range of its part of the text.
#[derive(Deserialize)]
struct Given {
    id: String,
    start: usize,
    end: usize,
}

/// Runs a query.
pub fn ask(sealed: &Sealed, query: &Query, now: Timestamp) -> Result<Answer> {
    let session = format!("eval-{}", query.id);
    let start = payload(sealed, &session, "SessionStart", json!({ "source": "startup" }));
    fire(sealed, "throughline-session-start", &start, now)?;
    // The claims of the start block are removed, so that its memories can be injected for the query.
    forget_claims(&sealed.state().session(&session, None))?;
    let (program, payload) = question(sealed, &session, query);
    let text = fire(sealed, program, &payload, now)?;
    let pieces = pieces(sealed, &session, &text, &query.id)?;
    // The inbox is removed, since the notes of the hooks would make the next start process this session.
    remove(&sealed.state().inbox)?;
    Ok(Answer { pieces, text })
}

fn question(sealed: &Sealed, session: &str, query: &Query) -> (&'static str, Value) {
    const PROMPT: &str = "throughline-user-prompt-submit";
    const TOOL: &str = "throughline-post-tool-use";
    let text = &query.text;
    match query.way {
        Way::Prompt | Way::Question => {
            (PROMPT, payload(sealed, session, "UserPromptSubmit", json!({ "prompt": text })))
        }
        Way::File => {
            let path = sealed.tree.root.join(text);
            let more = json!({
                "tool_name": "Read",
                "tool_use_id": "toolu_eval",
                "tool_input": { "file_path": path },
                "tool_response": { "type": "text", "file": {
                    "filePath": path, "content": "", "numLines": 0, "startLine": 1, "totalLines": 0,
                } },
            });
            (TOOL, payload(sealed, session, "PostToolUse", more))
        }
        Way::Error => {
            let more = json!({
                "tool_name": "Bash",
                "tool_use_id": "toolu_eval",
                "tool_input": { "command": text },
                "error": text,
            });
            (TOOL, payload(sealed, session, "PostToolUseFailure", more))
        }
    }
}

fn payload(sealed: &Sealed, session: &str, event: &str, more: Value) -> Value {
    let mut payload = json!({
        "session_id": session,
        "transcript_path": sealed.stage_dir(session).join("none.jsonl"),
        "cwd": sealed.tree.root,
        "permission_mode": "default",
        "hook_event_name": event,
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut payload, more) {
        all.extend(more);
    }
    payload
}

/// Runs a hook and returns its text for the model.
fn fire(sealed: &Sealed, program: &str, payload: &Value, now: Timestamp) -> Result<String> {
    let run = || {
        let mut child = sealed
            .hook(program, now)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            match stdin.write_all(payload.to_string().as_bytes()) {
                // A write error is ignored if the hook stopped reading early.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        child.wait_with_output()
    };
    let output = run().with_context(|| {
        format!("{program} has to lie in the folder of the programs (`--programs`)")
    })?;
    if output.stdout.trim_ascii().is_empty() {
        return Ok(String::new());
    }
    let said: Said = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{program} did not print JSON"))?;
    Ok(said.hook_specific_output.additional_context)
}

/// Splits the text into the parts that the receipt names.
fn pieces(sealed: &Sealed, session: &str, text: &str, query: &str) -> Result<Vec<String>> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let receipt = receipt(sealed, session)?;
    let receipt =
        receipt.with_context(|| format!("{query}: the hook left no receipt for its text"))?;
    let cut = |given: &Given| {
        text.get(given.start..given.end).map(str::to_owned).with_context(|| {
            format!("{query}: the receipt of {} names no part of the text", given.id)
        })
    };
    receipt.memories.iter().map(cut).collect()
}

/// Reads the last receipt of a session, ignoring the receipt of its start. Each day has a file of receipts, which is
/// named by the date.
fn receipt(sealed: &Sealed, session: &str) -> Result<Option<Receipt>> {
    let day = sealed.state().receipts("day");
    let folder = day.parent().unwrap_or(&day);
    let entries = fs::read_dir(folder).at(folder)?.flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    for file in files.iter().rev() {
        let text = fs::read_to_string(file).at(file)?;
        let receipts = text.lines().filter_map(|line| serde_json::from_str::<Receipt>(line).ok());
        let of_query = |it: &Receipt| it.session == session && it.event != "SessionStart";
        if let Some(receipt) = receipts.rev().find(of_query) {
            return Ok(Some(receipt));
        }
    }
    Ok(None)
}

/// Removes the claims of a session's file: its lines that begin with a `c`.
fn forget_claims(file: &std::path::Path) -> Result<()> {
    let records = match fs::read_to_string(file) {
        // A hook without output creates no session file.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read.at(file)?,
    };
    let kept = records.split_inclusive('\n').filter(|record| !record.starts_with("c "));
    Ok(fs::write(file, kept.collect::<String>()).at(file)?)
}

fn remove(file: &std::path::Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Ok(Err(error).at(file)?),
        Ok(()) | Err(_) => Ok(()),
    }
}
