//! The time, from the operating system directly.
//!
//! The C library spares itself a system call of 0.2 us by running code that the operating system maps into each
//! process. That touches some pages and page tables more, which pays from about thirty questions on. A hook asks six
//! times.

use std::time::Duration;

/// Time since some moment before the process began; it never goes back.
pub fn since_boot() -> Duration {
    ask(libc::CLOCK_MONOTONIC)
}

/// Time since 1970, as the machine's clock is set.
pub fn since_1970() -> Duration {
    ask(libc::CLOCK_REALTIME)
}

fn ask(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid for writes, and both clocks are always there.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time);
        #[cfg(not(target_os = "linux"))]
        libc::clock_gettime(clock, &raw mut time);
    }
    // A clock set to a time before 1970 is as good as one that was never set.
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_are_those_of_the_standard_library() {
        #[expect(clippy::disallowed_methods, reason = "what ours is compared with")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(since_1970().abs_diff(now) < Duration::from_secs(60));
        let before = since_boot();
        assert!(since_boot() >= before);
    }
}
