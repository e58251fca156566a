//! SIGINT and SIGTERM, which end watching without an interrupted sync.

use anyhow::{Context, Result};
use memory_store::fs::process::BlockedSignals;

use super::Waker;

/// Starts a thread that waits for the signals and then stops the watcher. The signals are blocked in all threads
/// started afterwards, so this must be called before other threads start.
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
