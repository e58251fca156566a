//! Converts tool calls and their results to the form that extraction uses.

use memory_store::prompt::without_echoes;
use memory_store::redact::Given;
use serde_json::Value;

use crate::transcript::cut;
use crate::transcript::memory_echo::{REMEMBER, is_memory_path, is_memory_tool};
use crate::transcript::record::{TaskChange, ToolResult};
use crate::transcript::redact::{FromOrigin, Redact, TextOrigin};
use crate::transcript::session::{Input, Todo};

/// Maximum number of bytes of a tool's output.
pub const OUTPUT_BYTES_MAX: usize = 8 << 10;
/// Maximum number of bytes of a file that was read. It is low because the file itself is available.
pub const READ_OUTPUT_BYTES_MAX: usize = 2 << 10;
/// Maximum number of bytes of a subagent's report.
pub const REPORT_BYTES_MAX: usize = 32 << 10;
/// Maximum number of bytes of the old and of the new text of an edit.
pub const EDIT_BYTES_MAX: usize = 4 << 10;
/// Maximum number of bytes of a command line, a search pattern or a description.
pub const COMMAND_BYTES_MAX: usize = 8 << 10;
/// Maximum number of bytes of a plan or a subagent's task.
pub const PLAN_BYTES_MAX: usize = 64 << 10;
/// Maximum number of bytes of the input of an unknown tool.
pub const OTHER_BYTES_MAX: usize = 2 << 10;
/// Maximum number of items of a list, such as todos or questions.
pub const ITEMS_MAX: usize = 200;

/// Phrases that Claude Code inserts before the user's words if the user rejects a call.
const REFUSAL_WORDS: &[&str] =
    &["To tell you how to proceed, the user said:", "the user said:", "The user said:"];

/// Returns the input of a call, and the change that it makes to the list of tasks.
pub fn input(tool: &str, value: &Value, redact: &dyn Redact) -> (Input, Option<TaskChange>) {
    if is_memory_tool(tool) {
        // The outcome that Claude passes at the end is about the session, and is not an echo of a memory.
        let outcome = value.get("outcome").filter(|_| tool.ends_with(REMEMBER));
        let json = outcome.map(|outcome| kept(&outcome.to_string(), PLAN_BYTES_MAX, redact));
        return (json.map_or(Input::Unknown, |json| Input::Other { json }), None);
    }
    let text = |key: &str, max: usize| kept(string(value, key), max, redact);
    let path = || {
        text(
            if value.get("notebook_path").is_some() { "notebook_path" } else { "file_path" },
            COMMAND_BYTES_MAX,
        )
    };
    let known = match tool {
        "Bash" | "PowerShell" => Input::Shell {
            command: text("command", COMMAND_BYTES_MAX),
            description: text("description", COMMAND_BYTES_MAX),
        },
        "Read" | "NotebookRead" => Input::Read { path: path() },
        "Edit" | "NotebookEdit" | "Write" | "MultiEdit" => edit(tool, value, path(), redact),
        "Grep" | "Glob" | "LS" | "WebSearch" | "ToolSearch" => Input::Search {
            pattern: text(
                if value.get("query").is_some() { "query" } else { "pattern" },
                COMMAND_BYTES_MAX,
            ),
            path: text("path", COMMAND_BYTES_MAX),
        },
        "AskUserQuestion" => Input::Question { asked: questions(value, redact) },
        "ExitPlanMode" | "exit_plan_mode" => Input::Plan { plan: text("plan", PLAN_BYTES_MAX) },
        "TodoWrite" => Input::Todos { items: todos(value, redact) },
        "Task" | "Agent" => Input::Agent {
            agent: text("subagent_type", COMMAND_BYTES_MAX),
            prompt: text("prompt", PLAN_BYTES_MAX),
        },
        "TaskCreate" => {
            let text = text("subject", COMMAND_BYTES_MAX);
            return (Input::Todos { items: Vec::new() }, Some(TaskChange::Create { text }));
        }
        "TaskUpdate" => {
            let change = TaskChange::Update {
                id: name(value.get("taskId")),
                state: text("status", COMMAND_BYTES_MAX),
                text: text("subject", COMMAND_BYTES_MAX),
            };
            return (Input::Todos { items: Vec::new() }, Some(change));
        }
        _ => Input::Other { json: kept(&value.to_string(), OTHER_BYTES_MAX, redact) },
    };
    (known, None)
}

fn edit(tool: &str, value: &Value, path: String, redact: &dyn Redact) -> Input {
    if is_memory_path(&path) {
        return Input::Edit { path, old: String::new(), new: String::new() };
    }
    let text = |value: &Value, key: &str| kept(string(value, key), EDIT_BYTES_MAX, redact);
    match tool {
        "Write" => Input::Edit { path, old: String::new(), new: text(value, "content") },
        "NotebookEdit" => Input::Edit { path, old: String::new(), new: text(value, "new_source") },
        "MultiEdit" => {
            let edits: &[Value] =
                value.get("edits").and_then(Value::as_array).map_or(&[], Vec::as_slice);
            let join = |key: &str| {
                edits.iter().map(|edit| string(edit, key)).collect::<Vec<_>>().join("\n")
            };
            Input::Edit {
                path,
                old: kept(&join("old_string"), EDIT_BYTES_MAX, redact),
                new: kept(&join("new_string"), EDIT_BYTES_MAX, redact),
            }
        }
        _ => Input::Edit { path, old: text(value, "old_string"), new: text(value, "new_string") },
    }
}

fn questions(value: &Value, redact: &dyn Redact) -> Vec<(String, String)> {
    items(value, "questions")
        .map(|question| {
            let asked = string(question, "question");
            let mut text = asked.to_owned();
            for option in items(question, "options") {
                text.push_str("\n- ");
                text.push_str(&redact.redact_answer(asked, label(option), Given::Offered).0);
                let description = string(option, "description");
                if !description.is_empty() {
                    text.push_str(": ");
                    text.push_str(description);
                }
            }
            (kept(&text, COMMAND_BYTES_MAX, redact), String::new())
        })
        .collect()
}

fn todos(value: &Value, redact: &dyn Redact) -> Vec<Todo> {
    items(value, "todos")
        .map(|todo| Todo {
            text: kept(string(todo, "content"), COMMAND_BYTES_MAX, redact),
            state: kept(string(todo, "status"), COMMAND_BYTES_MAX, redact),
        })
        .collect()
}

/// Converts a `tool_result` block of a record, with the record's fields about the result.
pub fn result(block: &Value, record: &Value, redact: &dyn Redact) -> ToolResult {
    let mut output = without_echoes(&block_text(block.get("content"))).into_owned();
    drop_agent_trailer(&mut output);
    let structured = record.get("toolUseResult").unwrap_or(&Value::Null);
    let error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false)
        || output.trim_start().starts_with("<tool_use_error>");
    let denied = error && is_refusal(record);
    let said = if denied { split_refusal(&mut output) } else { String::new() };
    let answers = answers(structured, &mut output, redact);
    let interrupted = structured.get("interrupted").and_then(Value::as_bool).unwrap_or(false)
        || (error && output.trim_start().starts_with("[Request interrupted by user"));
    let id = name(block.get("tool_use_id"));
    let of_user = FromOrigin { redact, origin: TextOrigin::User };
    let of_tool = FromOrigin { redact, origin: TextOrigin::Tool(id.clone()) };
    ToolResult {
        id,
        failed: error && !denied,
        denied,
        said: kept(&said, PLAN_BYTES_MAX, &of_user),
        interrupted,
        changed: changed(structured),
        answers,
        plan: kept(string(structured, "plan"), PLAN_BYTES_MAX, redact),
        task: name(structured.get("task").and_then(|task| task.get("id"))),
        output: kept(&output, output_bytes_max(structured), &of_tool),
    }
}

/// Returns the maximum size in bytes of an output, which depends on the kind of the structured result.
fn output_bytes_max(structured: &Value) -> usize {
    if structured.get("file").is_some() {
        READ_OUTPUT_BYTES_MAX
    } else if structured.get("agentId").is_some() || structured.get("totalToolUseCount").is_some() {
        REPORT_BYTES_MAX
    } else {
        OUTPUT_BYTES_MAX
    }
}

/// Returns whether a person rejected the call, according to the fields that Claude Code writes next to the result. The
/// text of the result is not used, because the tool chooses it. An error has the text `Error: ...`, and a denial by a
/// rule or a hook has another kind.
fn is_refusal(record: &Value) -> bool {
    match record.get("toolDenialKind").and_then(Value::as_str) {
        Some(kind) => kind == "user-rejected",
        None => string(record, "toolUseResult") == "User rejected tool use",
    }
}

/// Removes the user's words from the text of a rejection and returns them.
fn split_refusal(output: &mut String) -> String {
    for marker in REFUSAL_WORDS {
        if let Some(at) = output.find(marker) {
            let mut said = output.split_off(at)[marker.len()..].trim().to_owned();
            // Removes the note for the model that Claude Code adds after the words.
            if let Some(note) = said.find("\n\nNote: ") {
                said.truncate(note);
            }
            return said;
        }
    }
    String::new()
}

/// Returns the number of added and of removed lines, counted in the patch.
fn changed(structured: &Value) -> Option<(u32, u32)> {
    let patch = structured.get("structuredPatch")?.as_array()?;
    let lines = || patch.iter().flat_map(|hunk| items(hunk, "lines")).filter_map(Value::as_str);
    let count = |sign: char| {
        u32::try_from(lines().filter(|line| line.starts_with(sign)).count()).unwrap_or(u32::MAX)
    };
    if patch.is_empty() {
        // A new file has no patch, and all its lines are new.
        let content = structured.get("content")?.as_str()?;
        return Some((u32::try_from(content.lines().count()).unwrap_or(u32::MAX), 0));
    }
    Some((count('+'), count('-')))
}

/// Returns the questions and their answers. Answers that are secret because of their question are hidden, also in the
/// output, which repeats them.
fn answers(structured: &Value, output: &mut String, redact: &dyn Redact) -> Vec<(String, String)> {
    let Some(answers) = structured.get("answers").and_then(Value::as_object) else {
        hide_answers(output, redact);
        return Vec::new();
    };
    answers
        .iter()
        .take(ITEMS_MAX)
        .map(|(question, answer)| {
            let answer = answer.as_str().map_or_else(
                || items_of(answer).filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                str::to_owned,
            );
            let answer = cut::middle(&answer, COMMAND_BYTES_MAX).into_owned();
            let is_offered = is_offered(structured, question, &answer);
            let given = if is_offered { Given::Offered } else { Given::Freely };
            let asked = format!("{}: {question}", header(structured, question));
            let (clean, hidden) = redact.redact_answer(&asked, &answer, given);
            if clean != answer && !answer.is_empty() {
                // In the output, a rule may match less than in the separate answer.
                *output = output.replace(&answer, &clean);
            }
            for value in hidden {
                *output = without(output, value);
            }
            let clean = cut::middle(&clean, COMMAND_BYTES_MAX).into_owned();
            (kept(question, COMMAND_BYTES_MAX, redact), clean)
        })
        .collect()
}

/// Returns the heading of a question. It may name the kind of secret.
fn header<'v>(structured: &'v Value, question: &str) -> &'v str {
    items(structured, "questions")
        .find(|asked| string(asked, "question") == question)
        .map_or("", |asked| string(asked, "header"))
}

/// Returns whether an answer is one of the options that Claude offered.
fn is_offered(structured: &Value, question: &str, answer: &str) -> bool {
    let asked =
        items(structured, "questions").filter(|asked| string(asked, "question") == question);
    asked.flat_map(|asked| items(asked, "options")).any(|option| label(option) == answer)
}

/// Returns the text of an option of a question.
fn label(option: &Value) -> &str {
    option.as_str().unwrap_or_else(|| string(option, "label"))
}

/// Hides secrets in an output that contains questions and answers in the form `"question"="answer"`.
fn hide_answers(output: &mut String, redact: &dyn Redact) {
    const BETWEEN: &str = "\"=\"";
    if !output.contains(BETWEEN) {
        return;
    }
    let told = output.clone();
    for (at, _) in told.match_indices(BETWEEN).take(ITEMS_MAX) {
        let (before, after) = (&told[..at], &told[at + BETWEEN.len()..]);
        let question = before.rfind('"').map_or(before, |quote| &before[quote + 1..]);
        let answer = after.find('"').map_or(after, |quote| &after[..quote]);
        for value in redact.redact_answer(question, answer, Given::Freely).1 {
            *output = without(output, value);
        }
    }
}

/// Returns a text in which a value is hidden where it is a separate word.
fn without(text: &str, value: &str) -> String {
    /// Text that replaces the value; see `memory_store::redact`.
    const HIDDEN: &str = "[redacted:answer]";
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (start, _) in text.match_indices(value) {
        let end = start + value.len();
        let before = text[..start].chars().next_back();
        if !is_word(before) && !is_word(text[end..].chars().next()) {
            out.push_str(&text[at..start]);
            out.push_str(HIDDEN);
            at = end;
        }
    }
    out.push_str(&text[at..]);
    out
}

/// Removes the text that Claude Code appends to a subagent's report for its own use.
fn drop_agent_trailer(output: &mut String) {
    if let Some(at) = output.rfind("\nagentId: ")
        && output[at..].contains("<usage>")
    {
        output.truncate(at);
    }
}

/// Returns the text of a content field: a string, or the text blocks of an array.
pub fn block_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Value::String(text) => Some(text.as_str()),
                block => block.get("text").and_then(Value::as_str),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Redacts a text and truncates it in the middle. A very long text is first truncated with a margin, so that the
/// beginning of a secret is not lost before redaction.
pub fn kept(text: &str, max: usize, redact: &dyn Redact) -> String {
    let margin = cut::middle(text, 2 * max + (16 << 10));
    let redacted = redact.redact(&margin);
    cut::middle(&redacted, max).into_owned()
}

/// Returns a string field; empty if there is none.
pub fn string<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an id, which is a short word or a number; empty for other values.
pub fn name(value: Option<&Value>) -> String {
    /// Maximum number of bytes of an id.
    const NAME_BYTES_MAX: usize = 128;
    let word =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@');
    match value {
        Some(Value::String(text)) if text.len() <= NAME_BYTES_MAX && text.chars().all(word) => {
            text.clone()
        }
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).into_iter().flat_map(items_of)
}

/// Returns the first elements of an array.
pub fn items_of(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().take(ITEMS_MAX)
}
