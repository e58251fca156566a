//! The payloads in the format of Claude Code: the members that hooks need, by their names.
//!
//! Every member is optional in every version; other members are skipped.

/// A member that hooks need, and its limit.
#[derive(Debug)]
pub struct WantedText {
    /// The member, as the code calls it.
    pub member: WantedMember,
    /// The outermost member that holds it; `None` when it is itself outermost.
    pub inside: Option<&'static str>,
    /// Its name on the wire.
    pub name: &'static str,
    /// Maximum number of bytes of its value that are stored.
    pub bytes_max: usize,
    /// Handling of a longer value.
    pub overlong: Overlong,
}

/// Handling of a value beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlong {
    /// Nothing is stored: a part of an identifier would name something else.
    Drop,
    /// Its beginning is stored.
    Cut,
}

/// Maximum length of an identifier or a short word.
const ID_BYTES_MAX: usize = 512;

/// Maximum length of a path: Linux permits 4,096, and JSON escapes are already decoded.
const PATH_BYTES_MAX: usize = 4096;

/// Maximum length of a command line.
const COMMAND_BYTES_MAX: usize = 16 << 10;

/// Maximum length of a prompt or an error: recall reads no more of it.
const TEXT_BYTES_MAX: usize = 64 << 10;

macro_rules! wanted {
    ($($(#[$doc:meta])* $member:ident = $inside:expr, $name:literal, $bytes:expr, $overlong:ident;)*) => {
        /// The members that hooks need.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WantedMember { $($(#[$doc])* $member,)* }

        /// The table of wanted members, in the order of [`WantedMember`].
        pub static WANTED: [WantedText; [$($name),*].len()] = [$(WantedText {
            member: WantedMember::$member,
            inside: $inside,
            name: $name,
            bytes_max: $bytes,
            overlong: Overlong::$overlong,
        }),*];
    };
}

wanted! {
    /// The event's name.
    HookEventName = None, "hook_event_name", ID_BYTES_MAX, Drop;
    /// The session.
    SessionId = None, "session_id", ID_BYTES_MAX, Drop;
    /// The main session's transcript.
    TranscriptPath = None, "transcript_path", PATH_BYTES_MAX, Drop;
    /// The working directory, which follows `cd` and worktrees.
    Cwd = None, "cwd", PATH_BYTES_MAX, Drop;
    /// The prompt in process, by its uuid.
    PromptId = None, "prompt_id", ID_BYTES_MAX, Drop;
    /// Only present inside a subagent.
    AgentId = None, "agent_id", ID_BYTES_MAX, Drop;
    /// The subagent's type; empty for Claude Code's own helpers.
    AgentType = None, "agent_type", ID_BYTES_MAX, Drop;
    /// Way of a session's start, or origin of a prompt.
    Source = None, "source", ID_BYTES_MAX, Drop;
    /// Text of the user's prompt.
    Prompt = None, "prompt", TEXT_BYTES_MAX, Cut;
    /// The tool.
    ToolName = None, "tool_name", ID_BYTES_MAX, Drop;
    /// The tool call.
    ToolUseId = None, "tool_use_id", ID_BYTES_MAX, Drop;
    /// Error text of a failed tool call.
    Error = None, "error", TEXT_BYTES_MAX, Cut;
    /// Flag of a tool call that the user stopped.
    IsInterrupt = None, "is_interrupt", ID_BYTES_MAX, Drop;
    /// Flag of an assistant that continues because a Stop hook requested it.
    StopHookActive = None, "stop_hook_active", ID_BYTES_MAX, Drop;
    /// The file that a tool read or changed.
    FilePath = Some("tool_input"), "file_path", PATH_BYTES_MAX, Drop;
    /// The notebook that a tool read or changed.
    NotebookPath = Some("tool_input"), "notebook_path", PATH_BYTES_MAX, Drop;
    /// The command line.
    Command = Some("tool_input"), "command", COMMAND_BYTES_MAX, Cut;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_members() {
        for (position, wanted) in WANTED.iter().enumerate() {
            assert_eq!(wanted.member as usize, position, "{}", wanted.name);
        }
    }
}
