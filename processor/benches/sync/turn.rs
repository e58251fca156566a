//! A turn as Claude Code writes it: a prompt, a command with its output, and an answer.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use memory_store::Timestamp;
use serde_json::{Value, json};

use crate::corpus::Corpus;

/// Number of lines of the prompt, of the command's output, and of the answer.
const LINES: [usize; 3] = [2, 4, 4];

/// Writes a turn's records. The same session and number always result in the same records.
pub fn write(
    out: &mut impl Write,
    corpus: &Corpus,
    session: &str,
    root: &Path,
    turn: u32,
    at: i64,
) -> Result<()> {
    let seed = u64::from_str_radix(&session[..8], 16)? << 32 | u64::from(turn) << 4;
    let [asked, printed, answered] =
        [0, 1, 2].map(|part| corpus.text(seed | part, LINES[part as usize]));
    let id = |step: u32| format!("{}-{:04x}-4000-8000-{step:012x}", &session[..8], turn);
    let call = format!("toolu_{}_{turn}", &session[..8]);
    let command = json!({"command": format!("grep -rn turn{turn} src"), "description": "look"});
    let message = |step: u32, block: Value| {
        json!({
            "id": format!("msg_{}_{turn}_{step}", &session[..8]), "type": "message", "role": "assistant",
            "model": "claude-x", "content": [block], "stop_reason": null, "usage": {"output_tokens": 1},
        })
    };
    let records = [
        json!({"type": "user", "message": {"role": "user", "content": format!("What does this do?\n```\n{asked}\n```")}}),
        json!({
            "type": "assistant", "requestId": "req_1",
            "message": message(1, json!({"type": "tool_use", "id": call, "name": "Bash", "input": command})),
        }),
        json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": printed}]},
            "toolUseResult": {"stdout": printed, "stderr": "", "interrupted": false, "isImage": false},
        }),
        json!({
            "type": "assistant", "requestId": "req_1",
            "message": message(3, json!({"type": "text", "text": answered})),
        }),
    ];
    for (step, mut record) in (0..).zip(records) {
        let parent = match (turn, step) {
            (0, 0) => Value::Null,
            (_, 0) => json!(format!("{}-{:04x}-4000-8000-{:012x}", &session[..8], turn - 1, 3)),
            (_, _) => json!(id(step - 1)),
        };
        record["parentUuid"] = parent;
        record["uuid"] = json!(id(step));
        record["sessionId"] = json!(session);
        record["isSidechain"] = json!(false);
        record["userType"] = json!("external");
        record["cwd"] = json!(root);
        record["version"] = json!("2.1.330");
        record["gitBranch"] = json!("main");
        record["timestamp"] = json!(Timestamp(at + i64::from(step) * 5_000).to_string());
        serde_json::to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
