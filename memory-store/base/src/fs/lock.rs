//! Bounded waiting for a lock of the operating system. Its holder may be stopped, or blocked by a file system that does
//! not respond.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::disk::{private_options, refuse_links_and_pipes};
use super::file_stamp::file_number;
use crate::error::{At, Error, Result};

/// Maximum time to wait for a lock. Normally no lock is held for more than a second.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Pause between two attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(2);

/// Time after which the kernel's queue is used instead of repeated attempts. Most locks are free by then.
const TRIED: Duration = Duration::from_millis(20);

/// Whether a lock may have several holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Other processes may hold the lock in this mode too.
    Shared,
    /// No other process may hold the lock.
    Alone,
}

/// Opens the file of a lock. A missing file is created with access only for its owner. Fails if a link is at the path
/// (`O_NOFOLLOW`), and does not wait at a pipe (`O_NONBLOCK`).
pub fn open(path: &Path) -> std::io::Result<File> {
    let mut options = private_options();
    refuse_links_and_pipes(&mut options).create(true).truncate(false).write(true).open(path)
}

/// Takes a lock on an open file and waits at most for the time `most`.
///
/// # Errors
/// [`Error::Locked`] if another process holds the lock for longer; other errors if locks are not supported.
pub fn take(file: &File, path: &Path, hold: Hold, most: Duration) -> Result<()> {
    let started = Instant::now();
    loop {
        let tried = match hold {
            Hold::Shared => file.try_lock_shared(),
            Hold::Alone => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error).at(path),
            Err(TryLockError::WouldBlock) => {
                let left = most.saturating_sub(started.elapsed());
                if left.is_zero() {
                    return Err(Error::Locked { path: path.to_owned(), holder: holder(file) });
                }
                // Repeated attempts have no order. Of fifty waiters some would wait for a hundred others, and all would
                // take processor time from the holder.
                if started.elapsed() < TRIED || !queue(file, hold, left) {
                    sleep(PAUSE.min(left));
                } else {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits in the kernel's queue, which is first come, first served. Returns whether the lock was taken.
fn queue(file: &File, hold: Hold, most: Duration) -> bool {
    let Ok(same) = file.try_clone() else { return false };
    let (taken, told) = mpsc::channel();
    let wait = move || {
        let locked = match hold {
            Hold::Shared => same.lock_shared(),
            Hold::Alone => same.lock(),
        };
        // If the receiver no longer waits, the lock is released with the file's last handle, which is this one.
        drop(same);
        let _ = taken.send(locked.is_ok());
    };
    // A thread is needed because a blocking system call has no time limit.
    let spawned = thread::Builder::new().name("lock".to_owned()).stack_size(64 << 10).spawn(wait);
    spawned.is_ok() && told.recv_timeout(most).unwrap_or(false)
}

/// Returns the process that holds a lock on a file; `None` if the kernel does not report it.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    let inode = format!(":{}", file_number(&file.metadata().ok()?).1);
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // Format of a line: `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK").skip(3);
        let (process, place) = (words.next()?, words.next()?);
        place.ends_with(&inode).then(|| process.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &File) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn who_came_first_is_first_and_who_gave_up_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.lock");
        let open = || File::options().create(true).append(true).open(&path).unwrap();
        let held = open();
        take(&held, &path, Hold::Alone, TRIED).unwrap();
        let in_queue = 3 * TRIED;
        assert!(take(&open(), &path, Hold::Alone, in_queue).is_err());
        let (order, came) = mpsc::channel();
        thread::scope(|scope| {
            for number in 0..8 {
                let (order, open, path) = (order.clone(), &open, &path);
                scope.spawn(move || {
                    let file = open();
                    take(&file, path, Hold::Alone, LOCK_WAIT).unwrap();
                    order.send(number).unwrap();
                    sleep(PAUSE);
                });
                // The thread must be in the queue before the next thread starts.
                while waiting_for(path).is_none_or(|waiting| waiting <= number) {
                    sleep(PAUSE);
                }
            }
            drop(held);
        });
        drop(order);
        assert_eq!(came.iter().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        take(&open(), &path, Hold::Alone, TRIED).unwrap();
    }

    /// Returns the number of waiters in the kernel's queue for the lock on this file, without the one that gave up.
    #[cfg(target_os = "linux")]
    fn waiting_for(path: &Path) -> Option<i32> {
        let inode = format!(":{} ", file_number(&path.metadata().ok()?).1);
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        let waiting = locks.lines().filter(|line| line.contains("->") && line.contains(&inode));
        Some(waiting.count() as i32 - 1)
    }

    #[test]
    fn who_holds_it_for_too_long_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.lock");
        let open = || File::options().create(true).append(true).open(&path).unwrap();
        let (first, second) = (open(), open());
        let short = Duration::from_millis(20);
        take(&first, &path, Hold::Shared, short).unwrap();
        take(&second, &path, Hold::Shared, short).unwrap();
        let error = take(&open(), &path, Hold::Alone, short).unwrap_err();
        assert!(matches!(&error, Error::Locked { path: locked, .. } if *locked == path));
        let text = error.to_string();
        assert!(text.contains("some.lock"), "{text}");
        if cfg!(target_os = "linux") {
            assert!(text.contains(&format!("process {}", std::process::id())), "{text}");
        }
        drop((first, second));
        take(&open(), &path, Hold::Alone, short).unwrap();
    }
}
