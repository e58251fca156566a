//! The check of commands that make a decision reserved to the person: to grant access, publish, remove, or turn
//! Throughline off. Claude may not run such a command, even if a page or a file instructs Claude to. `docs/trust.md`
//! has the table of these decisions.

use crate::caller::Caller;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Fails if the caller is not a person. `typed` is the command as the person types it.
pub fn require(world: &World, typed: &str) -> Result {
    match world.caller {
        Caller::Person => Ok(()),
        Caller::Claude => Err(refused(&format!("`{typed}` decides something for you"), typed)),
    }
}

/// Returns the failure of a command that is reserved to the person but was run by Claude. `typed` is the command as the
/// person types it.
pub fn refused(why: &str, typed: &str) -> Failure {
    Failure::new(format!("{why}, and Claude Code runs it here: nothing was changed"))
        .code(exit::NEEDS_PERSON)
        .hint(format!(
            "Run `{typed}` in a new terminal of your own, opened outside of Claude Code. Typed with `!` in Claude Code, or in \
             a terminal that a session opened, it looks like a command that Claude runs."
        ))
}
