//! Waiting for a lock of the operating system's, and no longer than is of use: who holds it may be stopped, or hang
//! on a file system that does not answer.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::{At, Error, Result};

/// How long is waited for a lock. Each is held for a second at most.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// With others who do the same.
    Shared,
    /// By one alone.
    Alone,
}

/// Takes a lock on an open file, and waits this long at most.
///
/// # Errors
/// [`Error::Locked`] when somebody else holds it for longer; others where there are no locks.
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
            Err(TryLockError::WouldBlock) if started.elapsed() < most => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: path.to_owned(), holder: holder(file) });
            }
        }
    }
}

/// The process that holds a lock on a file, where the kernel tells.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`
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
