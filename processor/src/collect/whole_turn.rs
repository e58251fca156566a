//! The whole text of one turn, for detailed reading of a session. The index contains only the first kilobytes.

use std::fmt::Write as _;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::layout::ProjectDir;

use super::archive::{Archive, SessionFile, file_name};
use crate::transcript::parts;
use crate::transcript::session::{Call, Input, PromptBy, StepKind, Turn};
use crate::transcript::{Assembly, assemble};

/// Maximum number of bytes of a turn in the result.
const TURN_BYTES_MAX: usize = 256 << 10;
/// Maximum size in bytes of one command, and of the end of its output if the command failed.
const COMMAND_BYTES_MAX: usize = 600;

/// Returns the turn of a session that began at `at`, with prompt, texts, commands and edits in their order; `None` if
/// the archive has no such turn.
pub fn text(home: &ProjectDir, session: &str, at: Timestamp) -> Result<Option<String>> {
    let archive = Archive::open(home);
    let name = file_name(session, None);
    let Some(last) = archive.load(&name)? else { return Ok(None) };
    if let Some(text) = find(&last, at) {
        return Ok(Some(text));
    }
    for part in (1..=last.header.parts).rev() {
        if let Some(text) =
            archive.load(&parts::name(&name, part))?.and_then(|file| find(&file, at))
        {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

fn find(file: &SessionFile, at: Timestamp) -> Option<String> {
    let header = &file.header;
    let alone = Assembly { tasks: &header.growth.tasks, ..Assembly::ALONE };
    let session = assemble(&header.session, None, &file.records, &alone).into_iter().next()?;
    session.turns.iter().find(|turn| turn.at == at).map(turn_text)
}

fn turn_text(turn: &Turn) -> String {
    let mut text = match turn.prompt.by {
        PromptBy::Machine => String::new(),
        PromptBy::User
        | PromptBy::Sdk
        | PromptBy::Agent
        | PromptBy::Command
        | PromptBy::Summary => turn.prompt.text.trim().to_owned(),
    };
    for step in &turn.steps {
        if text.len() > TURN_BYTES_MAX {
            break;
        }
        match &step.what {
            StepKind::Text { text: said } | StepKind::Queued { text: said } => {
                let _ = write!(text, "\n\n{}", said.trim());
            }
            StepKind::Call(call) => write_call(call, &mut text),
            StepKind::Thinking { .. } => {}
        }
    }
    text.truncate(text.floor_char_boundary(TURN_BYTES_MAX));
    text.trim().to_owned()
}

fn write_call(call: &Call, text: &mut String) {
    let end = match (call.denied, call.failed) {
        (true, _) => " (refused by the user)",
        (false, true) => " (failed)",
        (false, false) => "",
    };
    match &call.input {
        Input::Shell { command, .. } => {
            let command = command.trim();
            let shown = &command[..command.floor_char_boundary(COMMAND_BYTES_MAX)];
            let _ = write!(text, "\n$ {shown}{end}");
            if call.failed && !call.denied {
                let output = call.output.trim();
                let from =
                    output.ceil_char_boundary(output.len().saturating_sub(COMMAND_BYTES_MAX));
                let _ = write!(text, "\n{}", &output[from..]);
            }
        }
        Input::Edit { path, .. } => {
            let _ = write!(text, "\nedited {path}{end}");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Timestamp;

    use super::*;
    use crate::transcript::session::{Prompt, Step};

    #[test]
    fn a_turn_is_rendered_in_order_with_commands_and_edits() {
        let step = |what| Step { uuid: String::new(), at: Timestamp(1), what };
        let call = |input, failed, output: &str| {
            StepKind::Call(Box::new(Call {
                input,
                failed,
                output: output.to_owned(),
                ..Call::default()
            }))
        };
        let shell = |command: &str| Input::Shell {
            command: command.to_owned(),
            description: String::new(),
        };
        let turn = Turn {
            prompt: Prompt { text: "Why is it red?".to_owned(), ..Prompt::default() },
            steps: vec![
                step(StepKind::Text { text: "I run the tests.".to_owned() }),
                step(call(shell("cargo test money"), true, "error: rounding")),
                step(StepKind::Thinking { text: "Hidden.".to_owned() }),
                step(StepKind::Text { text: "Fixed.".to_owned() }),
            ],
            ..Turn::default()
        };
        assert_eq!(
            turn_text(&turn),
            "Why is it red?\n\nI run the tests.\n$ cargo test money (failed)\nerror: rounding\n\nFixed."
        );
    }
}
