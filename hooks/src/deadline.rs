//! Time limits: a hook ends its work 50 ms after it received the payload, and its process after 200 ms.
//!
//! Claude Code may be slow to write the payload on a loaded machine, so waiting for the payload has a separate limit of
//! one second.
//!
//! The soft limit is checked between steps. The hard limit is a timer of the operating system, whose handler ends the
//! process even if it is blocked by a slow pipe or a stuck network file system. The first claim extends the hard limit,
//! because the hook must print the memories that it has claimed: no other hook will.

use std::time::Duration;

use crate::platform::{self, set_timer, since_boot};

/// Factor by which all time limits are multiplied. A tool that instruments each instruction slows a hook down some
/// hundred times (`RUSTFLAGS='--cfg unhurried'`).
const PATIENCE: u32 = if cfg!(unhurried) { 1000 } else { 1 };

/// Soft limit, after which a hook starts no further step and prints its results.
pub const SOFT: Duration = Duration::from_millis(50 * PATIENCE as u64);

/// Maximum time to wait for the payload and to read it.
const WAIT: Duration = Duration::from_secs(PATIENCE as u64);

/// Hard limit, after which the process is ended.
const HARD: Duration = Duration::from_millis(200 * PATIENCE as u64);

/// Time that a hook has to finish after it has claimed memories, since it must print them. Only a hanging file system
/// or reader takes longer; the claimed memories are then lost, and the session continues.
const FINISH: Duration = Duration::from_secs(3 * PATIENCE as u64);

/// Time limit after which a hook claims no memory.
const LAST_CLAIM: Duration = Duration::from_millis(150 * PATIENCE as u64);

/// The time limits of this process.
#[derive(Debug)]
pub struct Deadline {
    /// Start of the current limit, as returned by [`since_boot`].
    start: Duration,
}

impl Deadline {
    /// Starts the time limit for the payload. Must be called before anything else.
    pub fn arm() -> Self {
        platform::quiet_signals();
        // A hook that is still reading when its limit ends has time to notice that.
        set_timer(WAIT + HARD);
        Self { start: since_boot() }
    }

    /// Starts the soft and the hard limit after the payload was read.
    pub fn begin(&mut self) {
        set_timer(HARD);
        self.start = since_boot();
    }

    /// Returns whether the time limit for the payload has passed.
    pub fn has_waited(&self) -> bool {
        self.elapsed() >= WAIT
    }

    /// Extends the hard limit, so that it interrupts neither the output of claimed memories nor a write to stdout.
    pub fn finish(&self) {
        set_timer(FINISH);
    }

    /// Returns whether there is time to claim memories and to print them. If so, the hard limit is extended, because
    /// claimed memories would be lost if the process ended before printing them. If not, the caller must not claim
    /// anything.
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

    /// Returns the time that remains of the soft limit.
    pub fn remaining(&self) -> Duration {
        SOFT.saturating_sub(self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        since_boot().saturating_sub(self.start)
    }

    /// Returns the microseconds since work began.
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
