//! Time limits: a hook gives up its own work after 50 ms and its life after 200 ms, from when it has its payload.
//!
//! Claude Code may be slow to write that, on a loaded machine; this is waited for apart, a second at most.
//!
//! The soft limit is asked between steps. The hard one is a timer of the operating system, whose
//! handler ends the process, whatever it waits for: a slow pipe, a stuck network file system. It
//! moves with the first claim: what a hook has claimed it prints, for nobody else will.

use std::time::Duration;

use crate::platform::{self, set_timer, since_boot};

/// Factor of all time limits: under a tool that watches each instruction a hook is some hundred times slower
/// (`RUSTFLAGS='--cfg unhurried'`).
const PATIENCE: u32 = if cfg!(unhurried) { 1000 } else { 1 };

/// After this a hook starts nothing more and prints what it has.
pub const SOFT: Duration = Duration::from_millis(50 * PATIENCE as u64);

/// So long the payload is waited for, and read.
const WAIT: Duration = Duration::from_secs(PATIENCE as u64);

/// After this it is over.
const HARD: Duration = Duration::from_millis(200 * PATIENCE as u64);

/// Time that a hook gets to finish once it claims memories, since a claim must be printed. Nothing takes that long but
/// a file system or a reader that hangs; then what was claimed is lost, and the session goes on.
const FINISH: Duration = Duration::from_secs(3 * PATIENCE as u64);

/// After this nothing is claimed any more.
const LAST_CLAIM: Duration = Duration::from_millis(150 * PATIENCE as u64);

/// The time limits of this process.
#[derive(Debug)]
pub struct Deadline {
    /// By [`since_boot`].
    start: Duration,
}

impl Deadline {
    /// Starts the limit of waiting for the payload. To be called first.
    pub fn arm() -> Self {
        platform::quiet_signals();
        // A hook that still reads at its hard limit has time to notice.
        set_timer(WAIT + HARD);
        Self { start: since_boot() }
    }

    /// Starts both limits of the work, once the payload is there.
    pub fn begin(&mut self) {
        set_timer(HARD);
        self.start = since_boot();
    }

    /// Returns whether the payload was waited for long enough.
    pub fn has_waited(&self) -> bool {
        self.elapsed() >= WAIT
    }

    /// Moves the hard limit, so that it does not cut off what was claimed, or a write to stdout.
    pub fn finish(&self) {
        set_timer(FINISH);
    }

    /// Asks for the time to claim something and to print it. `false` when it is too late, so that
    /// nothing may be claimed; otherwise the hard limit moves, for a process that ended
    /// between the two would take what it claimed with it.
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

    /// Microseconds since the work began.
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
