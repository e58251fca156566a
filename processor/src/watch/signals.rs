//! SIGINT and SIGTERM, which end watching cleanly.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use anyhow::{Context, Result};

use super::Waker;

const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// Lets a thread wait for the signals and ring the bell. They are blocked everywhere else, so this
/// comes before other threads begin.
pub fn stop_on(waker: Waker) -> Result<()> {
    let set = set();
    // SAFETY: the set was filled, and nobody asks for the one before.
    let error = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut()) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error)).context("signals cannot be blocked");
    }
    let waits = move || {
        let mut signal = 0;
        // SAFETY: both outlive the call.
        while unsafe { libc::sigwait(&raw const set, &raw mut signal) } != 0 {}
        waker.stop();
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(waits)
        .context("no thread for signals")?;
    Ok(())
}

/// Lets the signals through again: in a child, between fork and exec.
pub fn unblock() -> io::Result<()> {
    let set = set();
    // SAFETY: as above; the call may be made there.
    match unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call fills the set, the others add to it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in SIGNALS {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
