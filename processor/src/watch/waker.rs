//! Waker of the watching thread. It passes on changed files, requests for a full scan, and requests to stop.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of changed files that are stored. If there are more, all files are scanned.
const PATHS_MAX: usize = 1024;

/// Wakes the watching thread from other threads.
#[derive(Clone, Debug, Default)]
pub struct Waker(Arc<Bell>);

#[derive(Debug, Default)]
struct Bell {
    noted: Mutex<WakeReason>,
    rung: Condvar,
}

/// Reasons why the thread was woken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WakeReason {
    /// Files that changed.
    pub paths: BTreeSet<PathBuf>,
    /// Whether unnamed files may have changed.
    pub rescan: bool,
    /// Whether the watched folder itself was removed.
    pub lost: bool,
    /// Whether to stop.
    pub stops: bool,
}

impl WakeReason {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Waker {
    /// Records that a file changed.
    pub fn changed(&self, path: PathBuf) {
        self.ring(|noted| {
            if noted.rescan {
                return;
            }
            noted.paths.insert(path);
            if noted.paths.len() > PATHS_MAX {
                noted.paths.clear();
                noted.rescan = true;
            }
        });
    }

    /// Records that unnamed files may have changed, because events were lost.
    pub fn rescan(&self) {
        self.ring(|noted| {
            noted.paths.clear();
            noted.rescan = true;
        });
    }

    /// Records that the watched folder was removed.
    pub fn lost(&self) {
        self.ring(|noted| noted.lost = true);
    }

    /// Requests to stop.
    pub fn stop(&self) {
        self.ring(|noted| noted.stops = true);
    }

    /// Waits for a reason, for at most this time. Removes and returns the recorded reasons.
    pub fn wait(&self, most: Duration) -> WakeReason {
        let waits = |noted: &mut WakeReason| noted.is_nothing();
        let waited = self.0.rung.wait_timeout_while(self.noted(), most, waits);
        let (mut noted, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *noted)
    }

    fn ring(&self, note: impl FnOnce(&mut WakeReason)) {
        note(&mut self.noted());
        self.0.rung.notify_all();
    }

    fn noted(&self) -> MutexGuard<'_, WakeReason> {
        // A poisoned lock is used, because the value is consistent after every change.
        self.0.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_changes_mean_that_everything_is_looked_at() {
        let waker = Waker::default();
        for number in 0..PATHS_MAX {
            waker.changed(format!("/{number}").into());
        }
        let noted = waker.wait(Duration::ZERO);
        assert_eq!((noted.paths.len(), noted.rescan), (PATHS_MAX, false));
        for number in 0..=PATHS_MAX {
            waker.changed(format!("/{number}").into());
        }
        waker.changed("/one-more".into());
        let noted = waker.wait(Duration::ZERO);
        assert_eq!((noted.paths.len(), noted.rescan), (0, true));
        assert_eq!(waker.wait(Duration::ZERO), WakeReason::default(), "it was taken");
    }

    #[test]
    fn who_waits_is_woken() {
        let waker = Waker::default();
        let other = waker.clone();
        let waits = std::thread::spawn(move || other.wait(Duration::from_secs(600)));
        waker.stop();
        assert!(waits.join().unwrap().stops);
    }
}
