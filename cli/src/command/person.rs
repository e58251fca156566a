//! Commands that make a decision reserved to the person: they grant access, publish, remove, or turn Throughline off.
//! Claude may not run them, even if a page or a file instructs it to. The table is in `docs/trust.md`.

use super::Command;
use crate::caller::Caller;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

impl Command {
    /// Returns the command as a person types it, if with these arguments it makes a decision reserved to the person.
    pub fn decision(&self, world: &World) -> Option<&'static str> {
        let (decides, typed) = match self {
            Self::Init(args) => (args.decides(world), "throughline init"),
            Self::Uninstall(args) => (args.decides(), "throughline uninstall"),
            Self::Trust(args) => (args.decides(), "throughline trust"),
            Self::Link(args) => (args.decides(), "throughline link"),
            Self::Sync(args) => (args.decides(), "throughline sync --from, --earlier or --apply"),
            Self::Browse(args) => (args.decides(), "throughline browse"),
            Self::Restore(args) => (args.decides(), "throughline restore"),
            Self::Review(args) => (args.decides(world), "throughline review"),
            Self::Purge(args) => (args.decides(), "throughline purge"),
            Self::Off(args) => (args.decides(), "throughline off"),
            Self::On(args) => (args.decides(), "throughline on"),
            Self::Share(args) => (args.decides(), "throughline share"),
            Self::Config(args) => (args.decides(), "throughline config"),
            Self::Audit(args) => (args.decides(), "throughline audit --fix"),
            Self::Doctor(args) => (args.decides(), "throughline doctor --migrations --restore"),
            // These commands check each memory that they change.
            Self::Add(_) | Self::Edit(_) | Self::Forget(_) => return None,
            Self::Watch(_)
            | Self::Search(_)
            | Self::Show(_)
            | Self::List(_)
            | Self::Resume(_)
            | Self::Tombstones(_)
            | Self::Pack(_)
            | Self::Handoff(_)
            | Self::Diff(_)
            | Self::Check(_)
            | Self::MergeDriver(_)
            | Self::Status(_)
            | Self::Why(_)
            | Self::Projects(_)
            | Self::Timeline(_)
            | Self::Report(_)
            | Self::Blame(_)
            | Self::Fixes(_)
            | Self::Log(_)
            | Self::Statusline(_)
            | Self::Mcp(_)
            | Self::Redact(_)
            | Self::Selftest(_)
            | Self::Upgrade(_)
            | Self::Man(_)
            | Self::Completions(_) => return None,
        };
        decides.then_some(typed)
    }
}

/// Fails unless the person runs this command. `typed` is the command as the person types it.
pub fn require(world: &World, typed: &str) -> Result {
    match world.caller {
        Caller::Person => Ok(()),
        Caller::Claude => Err(refused(&format!("`{typed}` decides something for you"), typed)),
    }
}

/// Returns the failure of a command that Claude runs in the person's place. `typed` is the command as the person types
/// it.
pub fn refused(why: &str, typed: &str) -> Failure {
    Failure::new(format!("{why}, and Claude Code runs it here: nothing was changed"))
        .code(exit::NEEDS_PERSON)
        .hint(format!(
            "Run `{typed}` in a new terminal of your own, opened outside of Claude Code. Typed with `!` in Claude Code, or in \
             a terminal that a session opened, it looks like a command that Claude runs."
        ))
}
