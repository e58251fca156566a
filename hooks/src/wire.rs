//! The format of Claude Code's payloads: the names of the members that hooks need.
//!
//! Every member may be missing in any version; other members are skipped.

/// A member that hooks need, and its maximum length.
#[derive(Debug)]
pub struct WantedText {
    /// The member.
    pub member: WantedMember,
    /// Name of the outermost member that contains this one; `None` if this one is outermost itself.
    pub inside: Option<&'static str>,
    /// Name in the payload.
    pub name: &'static str,
    /// Maximum number of bytes of the value that are stored.
    pub bytes_max: usize,
    /// What to do with a longer value.
    pub overlong: Overlong,
}

/// What to do with a value that exceeds its maximum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlong {
    /// Nothing is stored, because a truncated identifier would name something else.
    Drop,
    /// Only the beginning of the value is stored.
    Cut,
}

/// Maximum length in bytes of an identifier or a short word.
const ID_BYTES_MAX: usize = 512;

/// Maximum length in bytes of a path. Linux permits 4,096; JSON escapes are decoded before counting.
const PATH_BYTES_MAX: usize = 4096;

/// Maximum length in bytes of a command line.
const COMMAND_BYTES_MAX: usize = 16 << 10;

/// Maximum length in bytes of the text that an edit writes; names near its start are used.
const NEW_TEXT_BYTES_MAX: usize = 16 << 10;

/// Maximum length in bytes of a prompt or an error; recall does not read more.
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
    /// Name of the event.
    HookEventName = None, "hook_event_name", ID_BYTES_MAX, Drop;
    /// Id of the session.
    SessionId = None, "session_id", ID_BYTES_MAX, Drop;
    /// Path of the main session's transcript.
    TranscriptPath = None, "transcript_path", PATH_BYTES_MAX, Drop;
    /// The working directory. It changes with `cd` and with the worktree.
    Cwd = None, "cwd", PATH_BYTES_MAX, Drop;
    /// Id (UUID) of the prompt that is being processed.
    PromptId = None, "prompt_id", ID_BYTES_MAX, Drop;
    /// Id of the subagent; missing outside subagents.
    AgentId = None, "agent_id", ID_BYTES_MAX, Drop;
    /// The subagent's type; empty for Claude Code's own helper agents.
    AgentType = None, "agent_type", ID_BYTES_MAX, Drop;
    /// How a session started, or where a prompt came from.
    Source = None, "source", ID_BYTES_MAX, Drop;
    /// Text of the user's prompt.
    Prompt = None, "prompt", TEXT_BYTES_MAX, Cut;
    /// Name of the tool.
    ToolName = None, "tool_name", ID_BYTES_MAX, Drop;
    /// Id of the tool call.
    ToolUseId = None, "tool_use_id", ID_BYTES_MAX, Drop;
    /// Error text of a failed tool call.
    Error = None, "error", TEXT_BYTES_MAX, Cut;
    /// `true` if the user interrupted the tool call.
    IsInterrupt = None, "is_interrupt", ID_BYTES_MAX, Drop;
    /// `true` if the assistant continues because a Stop hook requested it.
    StopHookActive = None, "stop_hook_active", ID_BYTES_MAX, Drop;
    /// Path of the file that a tool read or changed.
    FilePath = Some("tool_input"), "file_path", PATH_BYTES_MAX, Drop;
    /// Path of the notebook that a tool read or changed.
    NotebookPath = Some("tool_input"), "notebook_path", PATH_BYTES_MAX, Drop;
    /// New text of the place that `Edit` changes.
    NewString = Some("tool_input"), "new_string", NEW_TEXT_BYTES_MAX, Cut;
    /// Content of the file that `Write` writes.
    Content = Some("tool_input"), "content", NEW_TEXT_BYTES_MAX, Cut;
    /// New content of the cell that `NotebookEdit` changes.
    NewSource = Some("tool_input"), "new_source", NEW_TEXT_BYTES_MAX, Cut;
    /// The command line that a tool ran.
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
