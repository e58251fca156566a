//! Runs of the five hooks with the payloads that Claude Code sends.

use std::io;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;
use crate::story::transcript_path;

/// An event for which Claude Code runs a hook.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Name of the event.
    pub event: &'static str,
    /// Fields of the payload that only this event has.
    pub fields: Value,
}

impl Moment {
    /// The start of a session.
    pub fn start(source: &str) -> Self {
        Self { event: "SessionStart", fields: json!({"source": source}) }
    }

    /// A prompt of the user.
    pub fn prompt(text: &str) -> Self {
        Self { event: "UserPromptSubmit", fields: json!({"prompt": text}) }
    }

    /// A file read by Claude.
    pub fn read(file: &Path) -> Self {
        let response = json!({"type": "text", "file": {
            "filePath": file, "content": "", "numLines": 0, "startLine": 1, "totalLines": 0,
        }});
        Self::tool("Read", json!({"file_path": file}), response)
    }

    /// A successful tool call.
    pub fn tool(name: &str, input: Value, response: Value) -> Self {
        Self {
            event: "PostToolUse",
            fields: json!({
                "tool_name": name, "tool_input": input, "tool_response": response,
                "tool_use_id": "toolu_1", "duration_ms": 12,
            }),
        }
    }

    /// A failed command.
    pub fn failure(command: &str, error: &str) -> Self {
        Self {
            event: "PostToolUseFailure",
            fields: json!({
                "tool_name": "Bash", "tool_input": {"command": command, "description": ""},
                "tool_use_id": "toolu_2", "error": error, "is_interrupt": false,
            }),
        }
    }

    /// The end of a turn.
    pub fn stop() -> Self {
        let fields = json!({"stop_hook_active": false, "last_assistant_message": "Done."});
        Self { event: "Stop", fields }
    }

    /// The end of a session.
    pub fn end() -> Self {
        Self { event: "SessionEnd", fields: json!({"reason": "other"}) }
    }

    /// Returns the program that is registered for this event.
    pub fn program(&self) -> &'static str {
        match self.event {
            "SessionStart" => "throughline-session-start",
            "UserPromptSubmit" => "throughline-user-prompt-submit",
            "PreToolUse" => "throughline-pre-tool-use",
            "PostToolUse" | "PostToolUseFailure" => "throughline-post-tool-use",
            _ => "throughline-stop",
        }
    }

    /// Returns the payload of the event for a session in `root`.
    pub fn payload(&self, environment: &TestEnvironment, root: &Path, session: &str) -> Value {
        let mut payload = json!({
            "session_id": session,
            "transcript_path": transcript_path(&environment.claude_dir(), root, session),
            "cwd": root, "hook_event_name": self.event, "permission_mode": "default",
        });
        if let (Value::Object(payload), Value::Object(fields)) = (&mut payload, &self.fields) {
            payload.extend(fields.clone());
        }
        payload
    }

    /// Runs the hook in the mode `full`, in which it may write.
    pub fn run(
        &self,
        environment: &TestEnvironment,
        root: &Path,
        session: &str,
    ) -> io::Result<HookRun> {
        let payload = self.payload(environment, root, session).to_string();
        let begun = Instant::now();
        let output = environment.hook_with(
            self.program(),
            payload.as_bytes(),
            &[("THROUGHLINE", "full")],
        )?;
        Ok(HookRun { output, took: begun.elapsed() })
    }
}

/// Result of a hook's run.
#[derive(Debug)]
pub struct HookRun {
    /// Exit status and output.
    pub output: Output,
    /// Duration of the run, including the start of the process.
    pub took: Duration,
}

impl HookRun {
    /// Returns the text for the model; empty if there is none.
    pub fn context(&self) -> String {
        let printed: Value = serde_json::from_slice(&self.output.stdout).unwrap_or_default();
        printed["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the notice for the user; empty if there is none.
    pub fn notice(&self) -> String {
        let printed: Value = serde_json::from_slice(&self.output.stdout).unwrap_or_default();
        printed["systemMessage"].as_str().unwrap_or_default().to_owned()
    }
}
