//! SIGINT and SIGTERM, which end watching cleanly.

use anyhow::{Context, Result};
use memory_store::fs::process::BlockedSignals;

use super::Waker;

/// Lets a thread wait for the signals and ring the bell. They are blocked everywhere else, so this
/// comes before other threads begin.
pub fn stop_on(waker: Waker) -> Result<()> {
    let signals = BlockedSignals::block().context("signals cannot be blocked")?;
    let waits = move || {
        signals.wait();
        waker.stop();
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(waits)
        .context("no thread for signals")?;
    Ok(())
}
