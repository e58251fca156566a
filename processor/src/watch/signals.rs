//! SIGINT and SIGTERM, which end watching cleanly.

use anyhow::{Context, Result};
use memory_store::fs::process::BlockedSignals;

use super::Waker;

/// Starts a thread that waits for the signals and then stops the watcher. They are blocked in all other threads, so
/// this must be called before these start.
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
