//! Files read with bounds and replaced whole.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;
use walkdir::WalkDir;

use crate::error::{At, Error, Result};
use crate::regular::{self, Links};

/// Who may read what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// The user alone: folders 0700, files 0600.
    Private,
    /// Whoever the user's umask lets: files that are meant to be committed.
    Shared,
}

/// Files that are written at once; each holds a handle until it is in place.
const BATCH_FILES: usize = 64;

/// Threads that wait for the disk. File systems commit what several of them ask for together.
const SYNC_THREADS: usize = 8;

const TEMP_PREFIX: &str = ".throughline-";
const TEMP_SUFFIX: &str = ".tmp";

/// A file to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    pub path: &'a Path,
    pub bytes: &'a [u8],
    pub privacy: Privacy,
}

/// Replaces a file whole: a temporary file in the same folder, synced, then renamed over it. A
/// reader sees the old or the new bytes; a full disk or a crash leaves the old ones. An existing
/// file keeps its mode.
pub fn replace(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<()> {
    replace_all(&[Write { path, bytes, privacy }])
}

/// Replaces many files, each as [`replace`] does, waiting for the disk as seldom as possible.
pub(crate) fn replace_all(writes: &[Write]) -> Result<()> {
    let mut folders = BTreeSet::new();
    for batch in writes.chunks(BATCH_FILES) {
        let temps = batch.iter().map(prepare).collect::<Result<Vec<_>>>()?;
        sync_together(&temps)?;
        for (write, temp) in batch.iter().zip(temps) {
            temp.persist(write.path).map_err(|error| error.error).at(write.path)?;
            folders.insert(parent(write.path)?);
        }
    }
    folders.into_iter().try_for_each(|folder| sync_folder(folder).at(folder))
}

/// Writes a temporary file; it is removed when it is dropped before it is in place.
fn prepare(write: &Write) -> Result<NamedTempFile> {
    let folder = parent(write.path)?;
    create_folder(folder, write.privacy)?;
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix(TEMP_PREFIX).suffix(TEMP_SUFFIX);
    let mut temp = builder.tempfile_in(folder).at(folder)?;
    temp.write_all(write.bytes).at(write.path)?;
    set_mode(temp.as_file(), write.path, write.privacy).at(write.path)?;
    Ok(temp)
}

fn sync_together(temps: &[NamedTempFile]) -> Result<()> {
    let share = temps.len().div_ceil(SYNC_THREADS).max(1);
    let sync = |temp: &NamedTempFile| temp.as_file().sync_all().at(temp.path());
    if temps.len() == 1 {
        return temps.iter().try_for_each(sync);
    }
    std::thread::scope(|scope| {
        let shares = temps.chunks(share);
        let threads: Vec<_> =
            shares.map(|temps| scope.spawn(move || temps.iter().try_for_each(sync))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Removes temporary files that a killed process left below a folder. Whoever calls this holds the
/// lock that writers hold, so that none of them is in use.
pub(crate) fn sweep(folder: &Path, levels: usize) {
    let walk = WalkDir::new(folder).max_depth(levels).follow_root_links(false);
    for entry in walk.into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let name = entry.file_name().to_string_lossy();
        if name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX) {
            // One that stays does no harm: it is hidden, and no memory file.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Options to open a file that is created for its owner alone.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder and what is missing above it.
pub fn create_folder(folder: &Path, privacy: Privacy) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if privacy == Privacy::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder.create(folder).at(folder)
}

/// Removes a file; one that is gone already is no error.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(parent(path)?).at(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).at(path),
    }
}

/// Reads a regular file of at most `bytes_max` bytes. A symbolic link is not followed, and a pipe
/// or device is not waited for.
pub fn read(path: &Path, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
    let file = regular::open(path, Links::Refuse).at(path)?;
    let metadata = file.metadata().at(path)?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).at(path)?;
    if bytes.len() > bytes_max {
        return Err(refused(
            path,
            &format!("longer than {} KiB; it is left alone", bytes_max >> 10),
        ));
    }
    Ok((bytes, metadata))
}

/// [`read`], where a missing file is `None`.
pub fn read_if_there(path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>> {
    match read(path, bytes_max) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn refused(path: &Path, message: &str) -> Error {
    Error::Io {
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidInput, message.to_owned()),
    }
}

fn parent(path: &Path) -> Result<&Path> {
    path.parent().ok_or_else(|| refused(path, "this path has no folder"))
}

#[cfg(unix)]
fn set_mode(temp: &File, path: &Path, privacy: Privacy) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match (fs::symlink_metadata(path), privacy) {
        (Ok(old), _) if old.is_file() => old.permissions().mode() & 0o7777,
        (_, Privacy::Private) => return Ok(()), // Temporary files are 0600.
        (_, Privacy::Shared) => 0o666 & !umask(),
    };
    temp.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: &Path, _: Privacy) -> io::Result<()> {
    Ok(())
}

/// The umask, without setting it: that would race with other threads.
#[cfg(unix)]
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private/deep/file");
        replace(&path, b"one", Privacy::Private).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"two", Privacy::Private).unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o640, b"two".to_vec()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn links_pipes_and_long_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 10).is_err());
        assert!(read(&file, 4).unwrap_err().to_string().contains("longer"));
        assert_eq!(read(&file, 5).unwrap().0, b"12345");
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is a valid C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(read(&pipe, 10).unwrap_err().to_string().contains("no regular file"));
        assert_eq!(read_if_there(&folder.path().join("none"), 10).unwrap(), None);
    }
}
