//! Number of writes that a run of migrations may still make.

use crate::error::Error;

/// Number of writes that a run may still make. Tests use it to end a run after a given number of writes.
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
    /// The run ends because of an error.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
