//! The lock that allows only one processor at a time per project. The operating system releases it when the process
//! ends, for any reason.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::format_version;
use memory_store::fs::lock;
use memory_store::layout::{ProjectDir, UserDirs};

use crate::private_files::create_private;

/// Maximum time that a sync started by a person waits for a running one.
pub const BUSY_MAX: Duration = Duration::from_secs(600);

/// Lock of a project while a processor works on it.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Behaviour if another processor has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// Give up after a short wait, because the other processor does the work. The wait is needed because a child
    /// process that another thread is starting keeps our lock until it executes its own program.
    Leave,
    /// Wait for at most this time.
    Wait(Duration),
}

impl Lock {
    /// Takes the lock of a project. Returns `None` in the same cases as [`Self::take`].
    ///
    /// # Errors
    /// If a later version of the program has written the project's private state or the user's own state. No change is
    /// allowed then.
    pub fn of_project(dirs: &UserDirs, home: &ProjectDir, busy: Busy) -> Result<Option<Self>> {
        // The version is checked before taking the lock, so that nothing is written, and again afterwards, because a
        // later version may have held the lock until then.
        let check = || {
            format_version::check_user(dirs)?;
            format_version::check_private(home)
        };
        check()?;
        let lock = Self::take(&home.sync_lock, busy)?;
        check()?;
        Ok(lock)
    }

    /// Takes the lock; `None` if another processor holds it for longer than the caller waits.
    pub fn take(path: &Path, busy: Busy) -> Result<Option<Self>> {
        /// Time between two attempts.
        const PAUSE: Duration = Duration::from_millis(10);
        /// Maximum time for which a starting child process may keep the lock.
        const MOMENT: Duration = Duration::from_millis(50);
        if let Some(folder) = path.parent() {
            create_private(folder)?;
        }
        // The lock file is opened without following a link, because emptying it would otherwise empty another file.
        let mut file = lock::open(path).with_context(|| path.display().to_string())?;
        let started = Instant::now();
        let most = match busy {
            Busy::Leave => MOMENT,
            Busy::Wait(most) => most,
        };
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| path.display().to_string());
                }
                Err(TryLockError::WouldBlock) if started.elapsed() < most => {
                    std::thread::sleep(PAUSE)
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
            }
        }
        // The process number is only information for people; the operating system decides whether the lock is taken.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Some(Self { _file: file }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store::fs::disk::permissions;

    #[test]
    fn only_one_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/sync.lock");
        let first = Lock::take(&path, Busy::Leave).unwrap();
        assert!(first.is_some());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions(), permissions(0o100_600));
        assert!(Lock::take(&path, Busy::Leave).unwrap().is_none());
        assert!(Lock::take(&path, Busy::Wait(Duration::from_millis(30))).unwrap().is_none());
        drop(first);
        assert!(Lock::take(&path, Busy::Wait(Duration::ZERO)).unwrap().is_some());
    }
}
