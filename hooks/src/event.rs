//! Events: the interpretation of payloads.
//!
//! An event is made from the members that a payload contains. A well-formed payload that is not relevant (another
//! event, no session, a helper agent of Claude Code) is not an event.

use std::path::{Path, PathBuf};

use memory_store_base::layout::path_hash;

use crate::payload::Payload;
use crate::wire::WantedMember;

/// An event in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The session.
    pub session: String,
    /// Id of the subagent in which the event occurred, if any.
    pub agent: Option<String>,
    /// Name of the type of that subagent, or of the subagent as which the session was started.
    pub agent_name: Option<String>,
    /// The session's transcript.
    pub transcript: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// Id of the prompt that is being processed.
    pub prompt_id: Option<String>,
    /// The event itself.
    pub what: EventKind,
}

/// Types of events that hooks process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A session started, in one of several ways.
    SessionStart(StartSource),
    /// A prompt was submitted.
    UserPromptSubmit(PromptEvent),
    /// A tool is about to be called.
    PreToolUse(ToolCall),
    /// A tool call succeeded.
    PostToolUse(ToolCall),
    /// A tool call failed.
    PostToolUseFailure(ToolCall),
    /// The assistant stopped.
    Stop,
    /// A subagent stopped.
    SubagentStop,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The session ended.
    SessionEnd,
}

/// Start of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSource {
    /// A new session. An unknown source counts as a new session too.
    Startup,
    /// An old session was resumed.
    Resume,
    /// `/clear`.
    Clear,
    /// The conversation was compacted.
    Compact,
    /// A session was copied.
    Fork,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptEvent {
    /// Text of the prompt.
    pub text: String,
    /// Name of the prompt's origin in Claude Code's terms, if given.
    pub source: Option<String>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool.
    pub tool: String,
    /// Id of the call.
    pub id: Option<String>,
    /// File that the call read or changed.
    pub file: Option<PathBuf>,
    /// Command that the call ran.
    pub command: Option<String>,
    /// The text that the call writes to the file.
    pub new_text: Option<String>,
    /// The error message of the failed call.
    pub error: Option<String>,
    /// True if the user interrupted the call.
    pub interrupted: bool,
}

impl Event {
    /// Returns the event of a payload; `None` if the payload is not relevant. `project_dir` is used as the working
    /// directory if the payload does not contain one.
    pub fn from_payload(mut payload: Payload, project_dir: Option<PathBuf>) -> Option<Self> {
        let what = EventKind::from_payload(&mut payload)?;
        Some(Self {
            session: filled(&mut payload, WantedMember::SessionId)?,
            agent: filled(&mut payload, WantedMember::AgentId).map(plain_id),
            agent_name: filled(&mut payload, WantedMember::AgentType),
            transcript: payload.take(WantedMember::TranscriptPath).unwrap_or_default(),
            cwd: filled(&mut payload, WantedMember::Cwd).map(PathBuf::from).or(project_dir)?,
            prompt_id: filled(&mut payload, WantedMember::PromptId),
            what,
        })
    }
}

/// Returns an id in a form that is safe in file names. The ids of Claude Code are short and consist of lower-case
/// letters, digits and hyphens; any other id is replaced by its hash.
fn plain_id(id: String) -> String {
    const ID_BYTES_MAX: usize = 40;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.len() <= ID_BYTES_MAX && id.bytes().all(is_plain) {
        return id;
    }
    format!("h{}", &path_hash(Path::new(&id))[..16])
}

impl EventKind {
    fn from_payload(payload: &mut Payload) -> Option<Self> {
        Some(match payload.get(WantedMember::HookEventName)? {
            "SessionStart" => Self::SessionStart(StartSource::from_payload(payload)),
            "UserPromptSubmit" => Self::UserPromptSubmit(PromptEvent {
                text: filled(payload, WantedMember::Prompt)?,
                source: payload.take(WantedMember::Source),
            }),
            "PreToolUse" => Self::PreToolUse(ToolCall::from_payload(payload)?),
            "PostToolUse" => Self::PostToolUse(ToolCall::from_payload(payload)?),
            "PostToolUseFailure" => Self::PostToolUseFailure(ToolCall::from_payload(payload)?),
            "Stop" if !payload.is_true(WantedMember::StopHookActive) => Self::Stop,
            "SubagentStop" if !payload.is_true(WantedMember::StopHookActive) => {
                // Claude Code's own helper agents have an empty type and are ignored.
                filled(payload, WantedMember::AgentType)?;
                Self::SubagentStop
            }
            "PreCompact" => Self::PreCompact,
            "SessionEnd" => Self::SessionEnd,
            _ => return None,
        })
    }

    /// Returns the event's name as used in the output and in notes.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionStart(_) => "SessionStart",
            Self::UserPromptSubmit(_) => "UserPromptSubmit",
            Self::PreToolUse(_) => "PreToolUse",
            Self::PostToolUse(_) => "PostToolUse",
            Self::PostToolUseFailure(_) => "PostToolUseFailure",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::SessionEnd => "SessionEnd",
        }
    }
}

impl StartSource {
    fn from_payload(payload: &Payload) -> Self {
        match payload.get(WantedMember::Source) {
            Some("resume") => Self::Resume,
            Some("clear") => Self::Clear,
            Some("compact") => Self::Compact,
            Some("fork") => Self::Fork,
            _ => Self::Startup,
        }
    }
}

impl ToolCall {
    fn from_payload(payload: &mut Payload) -> Option<Self> {
        let notebook = filled(payload, WantedMember::NotebookPath);
        Some(Self {
            tool: filled(payload, WantedMember::ToolName)?,
            id: filled(payload, WantedMember::ToolUseId),
            file: filled(payload, WantedMember::FilePath).or(notebook).map(PathBuf::from),
            command: filled(payload, WantedMember::Command),
            new_text: [WantedMember::NewString, WantedMember::Content, WantedMember::NewSource]
                .into_iter()
                .find_map(|member| filled(payload, member)),
            error: filled(payload, WantedMember::Error),
            interrupted: payload.is_true(WantedMember::IsInterrupt),
        })
    }
}

/// Takes the text of a member; `None` if it is missing or empty.
fn filled(payload: &mut Payload, member: WantedMember) -> Option<String> {
    payload.take(member).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(json: &str) -> Option<Event> {
        Event::from_payload(Payload::from_chunks([json.as_bytes()]), None)
    }

    #[test]
    fn each_event_is_known_and_others_are_not() {
        let base = r#""session_id":"s","cwd":"/w","transcript_path":"/t""#;
        let what = |rest: &str| event(&format!("{{{base},{rest}}}")).map(|event| event.what);
        assert_eq!(
            what(r#""hook_event_name":"SessionStart","source":"fork""#),
            Some(EventKind::SessionStart(StartSource::Fork))
        );
        assert_eq!(
            what(r#""hook_event_name":"SessionStart","source":"of the future""#),
            Some(EventKind::SessionStart(StartSource::Startup))
        );
        assert_eq!(what(r#""hook_event_name":"Stop""#), Some(EventKind::Stop));
        assert_eq!(what(r#""hook_event_name":"Stop","stop_hook_active":true"#), None);
        assert_eq!(what(r#""hook_event_name":"SubagentStop","agent_type":"""#), None);
        assert_eq!(
            what(r#""hook_event_name":"SubagentStop","agent_type":"Explore""#),
            Some(EventKind::SubagentStop)
        );
        assert_eq!(what(r#""hook_event_name":"UserPromptSubmit","prompt":"""#), None);
        assert_eq!(what(r#""hook_event_name":"OfTheFuture""#), None);
        assert_eq!(what(r#""other":1"#), None);
        assert_eq!(event(r#"{"hook_event_name":"Stop","cwd":"/w"}"#), None);
    }

    #[test]
    fn an_agents_id_is_written_down_only_where_it_looks_like_one() {
        let agent = |id: &str| {
            let base = r#""hook_event_name":"SubagentStop","session_id":"s","cwd":"/w""#;
            let payload = format!(r#"{{{base},"agent_type":"E","agent_id":"{id}"}}"#);
            event(&payload).unwrap().agent.unwrap()
        };
        assert_eq!(agent("a1b2-c3d4"), "a1b2-c3d4");
        for odd in ["ghp_q7W2eR4tY6uI8oP0", "Cobaltheron6629", "a b"] {
            assert!(agent(odd).len() == 17 && agent(odd).starts_with('h'), "{}", agent(odd));
            assert_eq!(agent(odd), agent(odd));
        }
        assert_ne!(agent("A"), agent("B"));
    }

    #[test]
    fn a_tool_call_is_read() {
        let event = event(
            r#"{"hook_event_name":"PostToolUseFailure","session_id":"s","cwd":"/w","agent_id":"a",
               "tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"u",
               "error":"Exit code 2","is_interrupt":false,"duration_ms":12.5}"#,
        )
        .unwrap();
        assert_eq!(event.agent.as_deref(), Some("a"));
        assert_eq!(
            event.what,
            EventKind::PostToolUseFailure(ToolCall {
                tool: "Bash".into(),
                id: Some("u".into()),
                file: None,
                command: Some("make".into()),
                new_text: None,
                error: Some("Exit code 2".into()),
                interrupted: false,
            })
        );
    }
}
