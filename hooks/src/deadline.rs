//! Time limits: from receiving its payload, a hook ends its work after 50 ms and its process after 200 ms.
//!
//! Claude Code may be slow to write the payload on a loaded machine; waiting for it has a separate limit of one second.
//!
//! The soft limit is checked between steps. The hard one is a timer of the operating system, whose handler ends the
//! process even if it is blocked by a slow pipe or a stuck network file system. It is extended with the first claim:
//! the hook must print the claimed memories, because no other hook will.

use std::time::Duration;

use crate::platform::{self, set_timer, since_boot};

/// Factor of all time limits: a tool that instruments each instruction slows a hook down some hundred times
/// (`RUSTFLAGS='--cfg unhurried'`).
const PATIENCE: u32 = if cfg!(unhurried) { 1000 } else { 1 };

/// Soft limit: after it a hook starts no further step and prints its results.
pub const SOFT: Duration = Duration::from_millis(50 * PATIENCE as u64);

/// Maximum time to wait for the payload and read it.
const WAIT: Duration = Duration::from_secs(PATIENCE as u64);

/// Hard limit, which ends the process.
const HARD: Duration = Duration::from_millis(200 * PATIENCE as u64);

/// Time for a hook to finish once it has claimed memories, since a claim must be printed. Only a hanging file system or
/// reader takes that long; the claimed memories are then lost, and the session continues.
const FINISH: Duration = Duration::from_secs(3 * PATIENCE as u64);

/// Limit after which nothing is claimed.
const LAST_CLAIM: Duration = Duration::from_millis(150 * PATIENCE as u64);

/// The time limits of this process.
#[derive(Debug)]
pub struct Deadline {
    /// By [`since_boot`].
    start: Duration,
}

impl Deadline {
    /// Starts the limit for the payload. Must be called first.
    pub fn arm() -> Self {
        platform::quiet_signals();
        // A hook that still reads at its hard limit has time to detect that.
        set_timer(WAIT + HARD);
        Self { start: since_boot() }
    }

    /// Starts both limits of the work, after the payload was read.
    pub fn begin(&mut self) {
        set_timer(HARD);
        self.start = since_boot();
    }

    /// Returns whether the limit for the payload has passed.
    pub fn has_waited(&self) -> bool {
        self.elapsed() >= WAIT
    }

    /// Extends the hard limit, so that it does not interrupt claimed memories, or a write to stdout.
    pub fn finish(&self) {
        set_timer(FINISH);
    }

    /// Returns whether there is time to claim memories and to print them. If so, the hard limit is extended, because a
    /// process that ended in between would lose the claimed memories. If not, the caller must not claim anything.
    pub fn may_claim(&self) -> bool {
        let in_time = self.elapsed() < LAST_CLAIM;
        if in_time {
            self.finish();
        }
        in_time
    }

    /// Returns whether the soft limit has passed.
    pub fn has_passed(&self) -> bool {
        self.elapsed() >= SOFT
    }

    /// Returns the rest of the soft limit.
    pub fn remaining(&self) -> Duration {
        SOFT.saturating_sub(self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        since_boot().saturating_sub(self.start)
    }

    /// Returns the microseconds since the work began.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_claimed_late() {
        let after = |millis| Deadline { start: since_boot() - Duration::from_millis(millis) };
        assert!(after(0).may_claim());
        assert!(!after(150).may_claim());
        assert!(!after(10_000).may_claim());
    }
}
