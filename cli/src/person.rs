//! Commands that make a decision reserved to the person: they grant access, publish, remove, or turn Throughline off.
//! Claude may not run them, even if a page or a file instructs it to. The table is in `docs/trust.md`.

use crate::caller::Caller;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Fails unless the person runs this command, which decides something for them. `typed` is the command as the person
/// types it.
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
