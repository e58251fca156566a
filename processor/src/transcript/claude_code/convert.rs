//! Converts one line of a transcript to records. The result depends only on the line, so reading a transcript in
//! portions results in the same records as reading it as a whole.

use memory_store::Timestamp;
use memory_store::prompt::{user_text, user_text_in_pieces, without_echoes};
use serde_json::Value;

use super::plain::{without_image_marks, without_sequences};
use super::prompt::{self, Said};
use super::repair::repair;
use super::scan::{LineHead, scan, shallow};
use super::time;
use super::tool::{self, kept, name, string};
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::redact::{FromOrigin, Redact, TextOrigin};
use crate::transcript::session::PromptBy;
use crate::transcript::source::LineOutcome;

/// Maximum number of bytes of a prompt or of a text by the assistant.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Maximum number of bytes of one piece of thinking.
pub const THINKING_BYTES_MAX: usize = 16 << 10;
/// Maximum number of bytes of a prompt by a machine.
pub const MACHINE_BYTES_MAX: usize = 4 << 10;
/// Maximum number of objects in one line. There may be several if two writers wrote at the same time.
const OBJECTS_PER_LINE_MAX: usize = 8;

/// Entry points of clients in which a person types.
const INTERACTIVE: [&str; 2] = ["cli", "remote"];
/// Entry points of editors and desktop clients.
const EDITORS: [&str; 3] = ["claude-vscode", "claude-jetbrains", "claude-desktop"];

/// Maximum number of bytes that are scanned in a damaged line, in multiples of the line's length.
const SALVAGE_PASSES: usize = 16;

/// Adds the records of `line` to `out`.
pub fn convert(line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome {
    let mut rest = line.trim_ascii();
    for _ in 0..OBJECTS_PER_LINE_MAX {
        if rest.is_empty() {
            return LineOutcome::Read;
        }
        // After a torn write, other text may precede the next object.
        let Some(start) = memchr::memchr(b'{', rest) else { return LineOutcome::Damaged };
        rest = &rest[start..];
        let head = scan(rest);
        let end = head.end.unwrap_or(rest.len());
        if object(&rest[..end], &head, redact, out) == LineOutcome::Damaged {
            return salvage(rest, redact, out);
        }
        rest = rest[end..].trim_ascii();
    }
    LineOutcome::Damaged
}

/// Searches a complete record after the beginning of a torn one. Many unclosed objects may be nested, and scanning each
/// to its end would be slow, so the total number of scanned bytes is limited.
fn salvage(line: &[u8], redact: &dyn Redact, out: &mut Vec<Record>) -> LineOutcome {
    let mut left = line.len().saturating_mul(SALVAGE_PASSES);
    for marker in [&b"{\"parentUuid\":"[..], b"{\"type\":"] {
        for start in memchr::memmem::find_iter(line, marker).filter(|start| *start > 0) {
            let rest = &line[start..];
            let head = scan(rest);
            // A content block may begin in the same way, but only records have an id.
            let record = head.closed && !head.uuid.is_empty();
            let end = head.end.unwrap_or(rest.len());
            let Some(after) = left.checked_sub(end) else { return LineOutcome::Damaged };
            left = after;
            if record && object(&rest[..end], &head, redact, out) == LineOutcome::Read {
                return LineOutcome::Damaged;
            }
        }
    }
    LineOutcome::Damaged
}

fn object(
    bytes: &[u8],
    head: &LineHead<'_>,
    redact: &dyn Redact,
    out: &mut Vec<Record>,
) -> LineOutcome {
    let contains = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    let deep = match head.kind {
        b"user" | b"assistant" | b"summary" | b"custom-title" | b"ai-title"
        | b"queue-operation" => true,
        b"system" => contains("compact_boundary"),
        b"attachment" => contains("queued_command"),
        _ => false,
    };
    if !deep {
        out.extend(link(head));
        return if head.closed { LineOutcome::Read } else { LineOutcome::Damaged };
    }
    let value = serde_json::from_slice::<Value>(bytes)
        .or_else(|_| serde_json::from_slice(&repair(bytes)))
        // A value that is nested too deeply is omitted, and the rest of the line is read.
        .ok()
        .or_else(|| serde_json::from_slice(&repair(&shallow(bytes)?)).ok());
    let Some(value) = value else { return LineOutcome::Damaged };
    let from = out.len();
    let line = ParsedLine { value: &value, redact };
    line.records(out);
    if out.len() == from {
        out.extend(link(head));
    }
    LineOutcome::Read
}

/// Returns the link of an omitted line: the line may be the parent of a line that is kept.
fn link(head: &LineHead<'_>) -> Option<Record> {
    let uuid = |bytes: &[u8]| str::from_utf8(bytes).ok().map(|text| name(Some(&Value::from(text))));
    let (uuid, parent) = (uuid(head.uuid)?, uuid(head.parent)?);
    (!uuid.is_empty() && !parent.is_empty()).then(|| Record {
        uuid,
        part: 0,
        parent,
        at: Timestamp::default(),
        side: false,
        what: RecordWhat::Link,
    })
}

/// A parsed line.
struct ParsedLine<'a> {
    value: &'a Value,
    redact: &'a dyn Redact,
}

impl ParsedLine<'_> {
    fn records(&self, out: &mut Vec<Record>) {
        match self.text("type") {
            "user" => self.user(out),
            "assistant" => self.assistant(out),
            "system" => self.boundary(out),
            "attachment" => self.attachment(out),
            "queue-operation" => self.queue(out),
            "custom-title" => self.title("customTitle", 2, out),
            "ai-title" => self.title("aiTitle", 1, out),
            "summary" => self.title("summary", 0, out),
            _ => {}
        }
    }

    fn user(&self, out: &mut Vec<Record>) {
        let content = self.value.get("message").and_then(|message| message.get("content"));
        if self.flag("isCompactSummary") {
            let text = self.kept(&user_text(&tool::block_text(content)), TEXT_BYTES_MAX);
            return self
                .push(out, RecordWhat::Summary { cwd: self.cwd(), branch: self.branch(), text });
        }
        let blocks =
            content.map_or(&[][..], |content| content.as_array().map_or(&[][..], Vec::as_slice));
        let results = blocks.iter().filter(|block| string(block, "type") == "tool_result");
        for block in results {
            let result = tool::result(block, self.value, self.redact);
            self.push(out, RecordWhat::Result(Box::new(result)));
        }
        if self.flag("isMeta") || self.flag("isVisibleInTranscriptOnly") {
            return;
        }
        match content {
            Some(Value::String(text)) => self.prompt(&[text.as_str()], 0, out),
            Some(Value::Array(blocks)) => {
                let of_kind = |kind: &'static str| {
                    blocks.iter().filter(move |block| string(block, "type") == kind)
                };
                let texts: Vec<&str> = of_kind("text").map(|block| string(block, "text")).collect();
                let images = u32::try_from(of_kind("image").count()).unwrap_or(u32::MAX);
                self.prompt(&texts, images, out);
            }
            _ => {}
        }
    }

    fn prompt(&self, texts: &[&str], images: u32, out: &mut Vec<Record>) {
        let texts: Vec<&str> = texts.iter().map(|text| without_image_marks(text)).collect();
        let pieces = user_text_in_pieces(&texts);
        let (mut words, mut by, mut interrupted) = (Vec::new(), None, false);
        let (mut agents, mut machine) = (Vec::new(), Vec::new());
        for text in &pieces {
            match prompt::classify(text) {
                Said::Prompt(text) => {
                    words.push(text);
                    by = Some(prompt_by(self.value));
                }
                Said::Command(text) => {
                    words.push(text);
                    let driver = prompt_by(self.value);
                    let is_driven = matches!(driver, PromptBy::Sdk | PromptBy::Agent);
                    by = by.or(Some(if is_driven { driver } else { PromptBy::Command }));
                }
                Said::Agent(text) => agents.push(text),
                Said::Machine(text) => machine.push(text),
                Said::Interrupt => interrupted = true,
                Said::Nothing => {}
            }
        }
        if interrupted {
            self.push(out, RecordWhat::Interrupt);
        }
        // If a person's words are present, texts by agents and machines in the same record are not used.
        if by.is_none() && !agents.is_empty() {
            (words, by) = (agents, Some(PromptBy::Agent));
        } else if by.is_none() && !machine.is_empty() {
            (words, by) = (machine, Some(PromptBy::Machine));
        }
        let by = match by {
            Some(by) => by,
            None if images > 0 && texts.iter().all(|text| text.is_empty()) => prompt_by(self.value),
            None => return,
        };
        let max = if by == PromptBy::Machine { MACHINE_BYTES_MAX } else { TEXT_BYTES_MAX };
        let words = words.join("\n\n");
        let text = match by {
            PromptBy::User | PromptBy::Command => self.kept_of_user(&words, max),
            PromptBy::Sdk | PromptBy::Agent | PromptBy::Machine | PromptBy::Summary => {
                self.kept(&words, max)
            }
        };
        self.push(
            out,
            RecordWhat::Prompt { cwd: self.cwd(), branch: self.branch(), text, by, images },
        );
    }

    fn assistant(&self, out: &mut Vec<Record>) {
        let Some(message) = self.value.get("message") else { return };
        if self.flag("isApiErrorMessage") || string(message, "model") == "<synthetic>" {
            return;
        }
        let id = name(message.get("id"));
        match message.get("content") {
            Some(Value::String(text)) => self.reply(text, &id, out),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    match string(block, "type") {
                        "text" => self.reply(string(block, "text"), &id, out),
                        "thinking" => self.thought(string(block, "thinking"), &id, out),
                        "tool_use" => self.call(block, out),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn reply(&self, text: &str, message: &str, out: &mut Vec<Record>) {
        let text = without_echoes(text);
        if !text.trim().is_empty() {
            let text = self.kept(text.trim(), TEXT_BYTES_MAX);
            self.push(out, RecordWhat::Text { message: message.to_owned(), text });
        }
    }

    fn thought(&self, text: &str, message: &str, out: &mut Vec<Record>) {
        if !text.trim().is_empty() {
            let text = self.kept(text.trim(), THINKING_BYTES_MAX);
            self.push(out, RecordWhat::Thinking { message: message.to_owned(), text });
        }
    }

    fn call(&self, block: &Value, out: &mut Vec<Record>) {
        let tool = name(block.get("name"));
        let input = block.get("input").unwrap_or(&Value::Null);
        let id = name(block.get("id"));
        let redact = self.from(TextOrigin::Tool(id.clone()));
        let (what, task) = tool::input(&tool, input, &redact);
        self.push(out, RecordWhat::Call { id, tool, what, task });
    }

    fn boundary(&self, out: &mut Vec<Record>) {
        if self.text("subtype") == "compact_boundary" {
            let after = name(self.value.get("logicalParentUuid"));
            self.push(out, RecordWhat::Boundary { after });
        }
    }

    fn attachment(&self, out: &mut Vec<Record>) {
        let Some(attachment) = self.value.get("attachment") else { return };
        if string(attachment, "type") != "queued_command" {
            return;
        }
        let words = ["prompt", "content", "text"].iter().find_map(|key| attachment.get(key));
        let mode = string(attachment, "commandMode");
        let origin = attachment.get("origin").map_or("", |origin| string(origin, "kind"));
        if let Said::Prompt(text) = prompt::classify(&tool::block_text(words))
            && matches!(mode, "" | "prompt")
            && matches!(origin, "" | "human" | "user" | "sdk")
        {
            self.push(out, RecordWhat::Queued { text: self.kept_of_user(&text, TEXT_BYTES_MAX) });
        }
    }

    fn queue(&self, out: &mut Vec<Record>) {
        match self.text("operation") {
            "enqueue" => {
                let text = tool::block_text(self.value.get("content"));
                // Notices about finished background tasks are queued as JSON objects. They are kept as entries of the
                // queue without text.
                let text = match prompt::classify(&text) {
                    Said::Prompt(text) if !text.starts_with("{\"task_id\"") => text,
                    _ => String::new(),
                };
                self.push(
                    out,
                    RecordWhat::Enqueue { text: self.kept_of_user(&text, TEXT_BYTES_MAX) },
                );
            }
            "dequeue" | "remove" => self.push(out, RecordWhat::Dequeue),
            "popAll" => self.push(out, RecordWhat::PopAll),
            _ => {}
        }
    }

    fn title(&self, key: &str, rank: u8, out: &mut Vec<Record>) {
        /// Maximum number of bytes of a title.
        const TITLE_BYTES_MAX: usize = 512;
        let text = self.kept(self.text(key).trim(), TITLE_BYTES_MAX);
        if !text.is_empty() {
            let leaf = name(self.value.get("leafUuid"));
            self.push(out, RecordWhat::Title { text, rank, leaf });
        }
    }

    fn push(&self, out: &mut Vec<Record>, what: RecordWhat) {
        let at = self.value.get("timestamp").and_then(time::parse).unwrap_or_default();
        let mut uuid = name(self.value.get("uuid"));
        if uuid.is_empty() {
            uuid = content_id(&what, at);
        }
        let part = out.iter().rev().take_while(|record| record.uuid == uuid).count();
        out.push(Record {
            uuid,
            part: u32::try_from(part).unwrap_or(u32::MAX),
            parent: name(self.value.get("parentUuid")),
            at,
            side: self.flag("isSidechain"),
            what,
        });
    }

    fn text(&self, key: &str) -> &str {
        string(self.value, key)
    }

    fn flag(&self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    fn kept(&self, text: &str, max: usize) -> String {
        kept(&without_sequences(text), max, self.redact)
    }

    /// Returns the stored form of a text that the user typed.
    fn kept_of_user(&self, text: &str, max: usize) -> String {
        kept(&without_sequences(text), max, &self.from(TextOrigin::User))
    }

    fn from(&self, origin: TextOrigin) -> FromOrigin<'_> {
        FromOrigin { redact: self.redact, origin }
    }

    fn cwd(&self) -> String {
        self.kept(self.text("cwd"), tool::COMMAND_BYTES_MAX)
    }

    fn branch(&self) -> String {
        self.kept(self.text("gitBranch"), tool::COMMAND_BYTES_MAX)
    }
}

/// Returns the author of a prompt from the fields of its record, which only newer versions write.
pub fn prompt_by(record: &Value) -> PromptBy {
    let word = |key: &str| match record.get(key) {
        Some(Value::String(text)) => text.to_ascii_lowercase(),
        Some(object) => string(object, "kind").to_ascii_lowercase(),
        None => String::new(),
    };
    let [origin, source, turn, entrypoint] =
        ["origin", "promptSource", "turnOrigin", "entrypoint"].map(word);
    if record.get("isSidechain").and_then(Value::as_bool).unwrap_or_default() {
        return PromptBy::Machine;
    }
    // The lead of a team sends prompts to a member as a person would.
    let is_typed = matches!(origin.as_str(), "human" | "user") && source == "typed";
    if !is_typed && is_of_team_member(record) {
        return PromptBy::Agent;
    }
    match origin.as_str() {
        "" => {}
        "human" | "user" if is_of_program([&source, &turn], &entrypoint) => return PromptBy::Sdk,
        "human" | "user" => return PromptBy::User,
        "sdk" => return PromptBy::Sdk,
        "peer" | "teammate" | "agent" => return PromptBy::Agent,
        _ => return PromptBy::Machine,
    }
    match source.as_str() {
        "agent" => PromptBy::Agent,
        "system" | "loop_wakeup" | "schedule_wakeup" | "poll_event" | "task-notification"
        | "hook" => PromptBy::Machine,
        _ if turn == "peer" => PromptBy::Agent,
        _ if !matches!(turn.as_str(), "" | "sdk" | "user" | "human") => PromptBy::Machine,
        _ if is_of_program([&source, &turn], &entrypoint) => PromptBy::Sdk,
        _ => PromptBy::User,
    }
}

/// Returns whether a program sends the prompts of a session. Unknown entry points count as programs, because a person
/// can repeat a wish that was missed, but a wrong wish would be followed.
fn is_of_program(origins: [&str; 2], entrypoint: &str) -> bool {
    // Editors start their sessions through the SDK, but a person types the prompts.
    if EDITORS.contains(&entrypoint) {
        return false;
    }
    // Older versions do not record the entry point.
    let is_interactive = entrypoint.is_empty() || INTERACTIVE.contains(&entrypoint);
    !is_interactive || origins.iter().any(|origin| origin.starts_with("sdk"))
}

/// Returns whether a record is of a session that another agent leads. The record of the lead also contains a name, so
/// that name is excluded.
fn is_of_team_member(record: &Value) -> bool {
    let name = string(record, "agentName");
    let is_lead = ["team-lead", "lead", "leader"].contains(&name.to_ascii_lowercase().as_str());
    !name.is_empty() && !is_lead
}

/// Returns an id for a record whose line has no id. The same line always has the same id.
fn content_id(what: &RecordWhat, at: Timestamp) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&at.0.to_le_bytes());
    hasher.update(serde_json::to_string(what).unwrap_or_default().as_bytes());
    format!("#{}", &hasher.finalize().to_hex()[..24])
}
