//! Remaining writes of a run of migrations.

use crate::error::Error;

/// Number of remaining writes of a run; a test ends a run after any of them.
pub(super) struct Budget(pub(super) usize);

impl Budget {
    /// Counts one more write, or ends the run if no write is left.
    pub(super) fn spend(&mut self) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(1).ok_or(Stop::Killed)?;
        Ok(())
    }
}

/// Reason why a run ends early.
pub(super) enum Stop {
    /// The run ends as if the process had been killed: nothing more is written.
    Killed,
    /// An error.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
