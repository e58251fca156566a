//! Time limits: a hook gives up its own work after 50 ms and its life after 200 ms, from when it has its payload.
//!
//! Claude Code may be slow to write that, on a loaded machine; this is waited for apart, a second at most.
//!
//! The soft limit is asked between steps. The hard one is a timer of the operating system, whose
//! handler ends the process, whatever it waits for: a slow pipe, a stuck network file system. It
//! moves with the first claim: what a hook has claimed it prints, for nobody else will.

use std::time::Duration;

use crate::clock;

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
    /// By [`clock::since_boot`].
    start: Duration,
}

impl Deadline {
    /// Starts the limit of waiting for the payload. To be called first.
    pub fn arm() -> Self {
        // A crash must not be louder than a time-out: Claude Code shows both as a hook error.
        for signal in [libc::SIGALRM, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGSEGV] {
            on_signal(signal, end_quietly as *const () as libc::sighandler_t);
        }
        // A reader that is gone and a file that may not grow are errors, and no reason to die.
        for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
            on_signal(signal, libc::SIG_IGN);
        }
        // A hook that still reads at its hard limit has time to notice.
        set_timer(WAIT + HARD);
        Self { start: clock::since_boot() }
    }

    /// Starts both limits of the work, once the payload is there.
    pub fn begin(&mut self) {
        set_timer(HARD);
        self.start = clock::since_boot();
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
        clock::since_boot().saturating_sub(self.start)
    }

    /// Microseconds since the work began.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Ends the process as if there had been nothing to say.
extern "C" fn end_quietly(_signal: libc::c_int) {
    // SAFETY: `_exit` may be called in a signal handler.
    unsafe { libc::_exit(0) }
}

/// Sets what a signal does.
pub(crate) fn on_signal(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: both are valid, and the handlers used here only call `_exit`.
    unsafe { libc::signal(signal, handler) };
}

fn set_timer(after: Duration) {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval {
        it_interval: never,
        it_value: libc::timeval {
            tv_sec: after.as_secs() as libc::time_t,
            tv_usec: after.subsec_micros() as libc::suseconds_t,
        },
    };
    // SAFETY: the timer is valid for reads, and a null old value is allowed.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_claimed_late() {
        let after =
            |millis| Deadline { start: clock::since_boot() - Duration::from_millis(millis) };
        assert!(after(0).may_claim());
        assert!(!after(150).may_claim());
        assert!(!after(10_000).may_claim());
    }
}
