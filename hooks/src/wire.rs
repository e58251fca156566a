//! The payloads as Claude Code sends them: the members that hooks want, by their names there.
//!
//! Every member is optional in every version; members that are not listed are passed over.

/// A member that hooks want, and how much of it.
#[derive(Debug)]
pub struct WantedText {
    /// The member, as the code calls it.
    pub member: WantedMember,
    /// The outermost member that holds it; `None` when it is itself outermost.
    pub inside: Option<&'static str>,
    /// Its name on the wire.
    pub name: &'static str,
    /// Bytes of its value that are kept.
    pub bytes_max: usize,
    /// Handling of a longer value.
    pub overlong: Overlong,
}

/// Handling of a value beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlong {
    /// Nothing is kept: half an identifier names something else.
    Drop,
    /// Its beginning is kept.
    Cut,
}

/// Bytes of an identifier or a short word.
const ID_BYTES_MAX: usize = 512;

/// Bytes of a path: Linux allows 4,096, and JSON escapes are already decoded.
const PATH_BYTES_MAX: usize = 4096;

/// Bytes of a command line.
const COMMAND_BYTES_MAX: usize = 16 << 10;

/// Bytes of a prompt or an error: recall reads no more of it.
const TEXT_BYTES_MAX: usize = 64 << 10;

macro_rules! wanted {
    ($($(#[$doc:meta])* $member:ident = $inside:expr, $name:literal, $bytes:expr, $overlong:ident;)*) => {
        /// The members that hooks want.
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
    /// Present inside a subagent only.
    AgentId = None, "agent_id", ID_BYTES_MAX, Drop;
    /// The subagent's type; empty for Claude Code's own helpers.
    AgentType = None, "agent_type", ID_BYTES_MAX, Drop;
    /// Start of a session, or maker of a prompt.
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
    /// Flag of an assistant that goes on because a Stop hook asked for it.
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
