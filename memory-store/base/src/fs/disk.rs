//! Bounded reading and atomic replacement of files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::dir::Folder;
use crate::error::{At, Error, Result};

/// Who may read a written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only this user: folders have mode 0700, files 0600.
    Private,
    /// All users that the umask permits, because the file is to be committed.
    Shared,
}

/// Maximum number of files written at the same time; each has two open handles until it is renamed.
const BATCH_FILES: usize = 64;

/// Maximum number of attempts to write if the folder disappears in the meantime. `git stash -u` and `git clean` remove
/// the folder with the temporary file in it.
const FOLDER_TRIES: usize = 5;

/// Number of threads that flush files to the disk. File systems combine simultaneous requests.
const SYNC_THREADS: usize = 8;

const TEMP_PREFIX: &str = ".throughline-";
const TEMP_SUFFIX: &str = ".tmp";

/// Remedy for a path that cannot be used.
pub(crate) const ELSEWHERE: &str = "Name a file below the folder instead.";

/// Maximum number of names that are tried for a temporary file. Killed processes leave files, and other processes use
/// names.
const TEMP_NAMES_MAX: usize = 1000;

/// A file to be written.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Folder below which no link is followed; see [`Folder`].
    pub root: &'a Path,
    /// Path of the file.
    pub path: &'a Path,
    /// Complete contents of the file.
    pub bytes: &'a [u8],
    /// Who may read the file, and the folders that are created for it.
    pub privacy: Privacy,
}

/// Replaces a file atomically: a temporary file in the same folder is flushed to the disk, then renamed. A reader sees
/// the old bytes or the new ones; a full disk or a crash leaves the old ones. An existing file keeps its mode. Links on
/// the path are followed, so this is only for files outside repositories.
pub fn replace(path: &Path, bytes: &[u8], privacy: Privacy) -> Result<()> {
    replace_all(&[Write { root: parent(path)?, path, bytes, privacy }])
}

/// Replaces many files like [`replace`], with as few waits for the disk as possible.
pub fn replace_all(writes: &[Write]) -> Result<()> {
    writes.chunks(BATCH_FILES).try_for_each(|batch| {
        let mut tries = FOLDER_TRIES;
        loop {
            match replace_batch(batch) {
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && tries > 1 =>
                {
                    tries -= 1;
                }
                outcome => return outcome,
            }
        }
    })
}

fn replace_batch(batch: &[Write]) -> Result<()> {
    let mut temps = batch.iter().map(Temporary::write).collect::<Result<Vec<_>>>()?;
    sync_together(&temps)?;
    temps.iter_mut().try_for_each(Temporary::persist)?;
    let folders: BTreeMap<_, _> =
        temps.iter().map(|temp| (temp.target.parent(), &temp.folder)).collect();
    folders.into_values().try_for_each(Folder::sync)
}

/// A temporary file, which is removed on drop unless it was renamed.
struct Temporary<'a> {
    folder: Folder,
    name: OsString,
    file: File,
    target: &'a Path,
    is_placed: bool,
}

impl<'a> Temporary<'a> {
    /// Writes the temporary file in the folder of its target.
    fn write(write: &Write<'a>) -> Result<Self> {
        let target = write.path;
        let folder = Folder::create(write.root, parent(target)?, write.privacy)?;
        let mode = folder.mode(file_name(target)?);
        let (name, file) = create_temporary(&folder).at(parent(target)?)?;
        let mut temp = Self { folder, name, file, target, is_placed: false };
        temp.file.write_all(write.bytes).at(target)?;
        set_mode(&temp.file, mode, write.privacy).at(target)?;
        Ok(temp)
    }

    /// Renames the temporary file to its target.
    fn persist(&mut self) -> Result<()> {
        self.folder.rename(&self.name, file_name(self.target)?).at(self.target)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            // A file that remains is removed by a later cleanup.
            let _ = self.folder.remove(&self.name);
        }
    }
}

/// A new file that is written before it has a name, so it is invisible and disappears with the process. Most of the
/// flushing can thus precede a lock; under the lock the file only gets its name.
#[derive(Debug)]
pub struct UnnamedFile {
    file: File,
}

impl UnnamedFile {
    /// Writes the bytes of a file for this path, in an existing folder. Returns `None` if that is impossible because
    /// the system does not support files without a name, or the disk is full; writing the file in the normal way then
    /// reports the error.
    pub fn write(write: &Write) -> Option<Self> {
        let folder = Folder::open(write.root, parent(write.path).ok()?).ok()?;
        let mut file = folder.create_unnamed().ok()?;
        file.write_all(write.bytes).ok()?;
        set_mode(&file, None, write.privacy).ok()?;
        file.sync_all().ok()?;
        Some(Self { file })
    }

    /// Gives the file its name. Returns the folder, which must be flushed to the disk.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the name exists; other errors if the folder was replaced, or if the file
    /// system does not support giving names.
    pub fn place(&self, root: &Path, path: &Path) -> io::Result<Folder> {
        let parent = parent(path).map_err(io::Error::other)?;
        let folder = Folder::open(root, parent).map_err(io::Error::other)?;
        folder.name(&self.file, file_name(path).map_err(io::Error::other)?)?;
        Ok(folder)
    }

    /// Flushes the file to the disk again after it was named, because Btrfs skips files without a name.
    pub fn sync(&self, path: &Path) -> Result<()> {
        self.file.sync_all().at(path)
    }
}

fn create_temporary(folder: &Folder) -> io::Result<(OsString, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut tried = 0;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMP_PREFIX}{}-{number}{TEMP_SUFFIX}", std::process::id());
        match folder.create_new(name.as_ref()) {
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && tried < TEMP_NAMES_MAX =>
            {
                tried += 1;
            }
            Err(error) => return Err(error),
            Ok(file) => return Ok((name.into(), file)),
        }
    }
}

fn sync_together(temps: &[Temporary]) -> Result<()> {
    let share = temps.len().div_ceil(SYNC_THREADS).max(1);
    let sync = |temp: &Temporary| temp.file.sync_all().at(temp.target);
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

/// Returns whether a name is that of a temporary file.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
}

/// Returns options for opening a file. A file that is created has access only for its owner.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns permissions with these mode bits, as in `chmod`.
pub fn permissions(mode: u32) -> Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

/// Returns whether any user may execute a file (`stat`).
pub fn is_executable(path: &Path) -> bool {
    let mode = |found: Metadata| std::os::unix::fs::PermissionsExt::mode(&found.permissions());
    fs::metadata(path).is_ok_and(|found| mode(found) & 0o111 != 0)
}

/// Fills a buffer with the bytes after an offset of a file (`pread`).
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Reads bytes after an offset of a file into a buffer, as many as one call returns (`pread`). Returns their number.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

/// Writes bytes at an offset of a file (`pwrite`).
pub fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

/// A file mapped into memory. Programs that read the same file share its bytes.
#[derive(Debug)]
pub struct MappedFile {
    start: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the bytes are only read, and are unmapped when the map is dropped.
unsafe impl Send for MappedFile {}
// SAFETY: as above.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps a file for reading (`mmap`). The file must only be replaced as a whole, never written in place.
    pub fn open(path: &Path) -> Result<Self> {
        use std::os::fd::AsRawFd;

        let file = File::open(path).at(path)?;
        let bytes = usize::try_from(file.metadata().at(path)?.len()).unwrap_or(usize::MAX);
        if bytes == 0 {
            return Ok(Self { start: std::ptr::null_mut(), bytes });
        }
        // SAFETY: this creates a new mapping at an address that the system chooses. The file may be closed afterwards.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).at(path);
        }
        Ok(Self { start, bytes })
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: this number of bytes is mapped at the address until `self` is dropped.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>(), self.bytes) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: this is the mapping that `open` created. Each slice of the mapping borrows `self`, so none exists
            // any more.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }
}

/// Returns whether a call failed because the file system does not support it (`EINVAL`, `ENOTSUP`).
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP))
}

/// Returns whether a folder is on a file system that does not report changes made by other machines (`statfs`, only on
/// Linux).
#[cfg(target_os = "linux")]
pub fn is_remote(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    /// 9p, AFS, Ceph, CIFS, Coda, FUSE, Lustre, NCP, NFS, SMB, SMB 2.
    const TYPES: [u32; 11] = [
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0xff53_4d42,
        0x7375_7245,
        0x6573_5546,
        0x0bd0_0bd0,
        0x564c,
        0x6969,
        0x517b,
        0xfe53_4d42,
    ];
    let Ok(path) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends with a zero byte, and the structure is read only after the call has filled it.
    let kind = unsafe {
        match libc::statfs(path.as_ptr(), found.as_mut_ptr()) {
            0 => found.assume_init().f_type,
            _ => return false,
        }
    };
    // On some machines the type is signed or wider.
    TYPES.contains(&(kind as u32))
}

/// Returns false. On other systems such file systems cause an error.
#[cfg(not(target_os = "linux"))]
pub const fn is_remote(_: &Path) -> bool {
    false
}

/// Creates a folder and its missing parents.
pub fn create_folder(folder: &Path, privacy: Privacy) -> Result<()> {
    make_folders(folder, privacy).at(folder)
}

fn make_folders(folder: &Path, privacy: Privacy) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    if privacy == Privacy::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder.create(folder)
}

/// Opens one of Throughline's files for appending (`O_APPEND`). If the file or its folders are missing, they are
/// created with access only for this user.
fn open_to_append(path: &Path) -> io::Result<File> {
    open_with_folders(path, private_options().append(true).create(true))
}

/// Appends bytes in one call, unless the file has `len_max` bytes or more. Returns its length in bytes. On a local file
/// system, one `write` with `O_APPEND` is not interrupted by other writes, so a line is written whole without a lock.
pub fn append_within(path: &Path, bytes: &[u8], len_max: u64) -> io::Result<u64> {
    let mut file = open_to_append(path)?;
    let len = file.metadata()?.len();
    if len >= len_max {
        return Ok(len);
    }
    let written = file.write(bytes)?;
    Ok(len + written as u64)
}

/// Makes opening fail if the file is a symbolic link (`O_NOFOLLOW`), and not wait for the other end of a pipe
/// (`O_NONBLOCK`).
pub fn refuse_links_and_pipes(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags)
}

/// Makes opening fail if the file is a symbolic link (`O_NOFOLLOW`).
pub fn refuse_links(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW)
}

/// Opens one of Throughline's files. Missing folders are created with access only for this user.
pub fn open_with_folders(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folders(path.parent().ok_or(error)?, Privacy::Private)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// Removes a file; a missing file is not an error. Links on the path are followed.
pub fn remove(path: &Path) -> Result<()> {
    remove_below(parent(path)?, path)
}

/// Removes a file like [`remove`], without following a link below `root`.
pub fn remove_below(root: &Path, path: &Path) -> Result<()> {
    let folder = match Folder::open(root, parent(path)?) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        folder => folder?,
    };
    match folder.remove(file_name(path)?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.at(path).and_then(|()| folder.sync()),
    }
}

/// Reads a regular file of at most `bytes_max` bytes. Fails if the file is a symbolic link; links in the path of its
/// folder are followed. A pipe or device does not block.
pub fn read(path: &Path, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
    read_below(parent(path)?, path, bytes_max)
}

/// Reads a file like [`read`], without following a link below `root`.
pub fn read_below(root: &Path, path: &Path, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
    Folder::open(root, parent(path)?)?.read(file_name(path)?, bytes_max)
}

/// Opens a regular file below `root` for reading, without following links below `root`. A pipe or device does not
/// block.
pub fn open_below(root: &Path, path: &Path) -> Result<(File, Metadata)> {
    Folder::open(root, parent(path)?)?.open_file(file_name(path)?)
}

/// Reads files like [`read`], and keeps the folder of the last file open.
#[derive(Debug, Default)]
pub struct FileReader {
    last: Option<(PathBuf, Folder)>,
}

impl FileReader {
    /// Reads a regular file of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// Those of [`read`].
    pub fn read(&mut self, path: &Path, bytes_max: usize) -> Result<(Vec<u8>, Metadata)> {
        let (folder, name) = (parent(path)?, file_name(path)?);
        match &self.last {
            Some((known, open)) if known == folder => open.read(name, bytes_max),
            _ => {
                let open = Folder::open(folder, folder)?;
                let read = open.read(name, bytes_max);
                self.last = Some((folder.to_owned(), open));
                read
            }
        }
    }
}

/// Reads a file like [`read`], but returns `None` if the file is missing.
pub fn read_if_there(path: &Path, bytes_max: usize) -> Result<Option<Vec<u8>>> {
    if_there(read(path, bytes_max))
}

/// Converts the error for a missing file to `None`.
pub fn if_there(read: Result<(Vec<u8>, Metadata)>) -> Result<Option<Vec<u8>>> {
    match read {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the error for a file or folder that is not read in its present state.
pub fn refused(path: &Path, message: &str, remedy: &'static str) -> Error {
    Error::Refused { path: path.to_owned(), message: message.to_owned(), remedy }
}

fn parent(path: &Path) -> Result<&Path> {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(folder) => Ok(folder),
        None => Err(refused(path, "this path has no folder", ELSEWHERE)),
    }
}

fn file_name(path: &Path) -> Result<&OsStr> {
    path.file_name().ok_or_else(|| refused(path, "this path names no file", ELSEWHERE))
}

/// Sets the permissions of a temporary file to those of the file that it replaces, or to those of a new file.
fn set_mode(temp: &File, old: Option<u32>, privacy: Privacy) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match (old, privacy) {
        (Some(old), _) => old,
        (None, Privacy::Private) => return Ok(()), // Temporary files are 0600.
        (None, Privacy::Shared) => 0o666 & !umask(),
    };
    temp.set_permissions(Permissions::from_mode(mode))
}

/// Returns the umask. It is not determined by setting it, because that would race with other threads.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_name_is_unseen_until_it_is_placed_and_replaces_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (root, path) = (folder.path(), folder.path().join("a.md"));
        let listed = || fs::read_dir(root).unwrap().count();
        let write =
            |bytes, privacy| UnnamedFile::write(&Write { root, path: &path, bytes, privacy });
        // On systems without such files, `replace` is used to write.
        let Some(first) = write(b"first", Privacy::Private) else { return };
        let second = write(b"second", Privacy::Shared).unwrap();
        assert_eq!(listed(), 0);
        first.place(root, &path).unwrap().sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(second.place(root, &path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        fs::remove_file(&path).unwrap();
        second.place(root, &path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!((fs::read(&path).unwrap(), mode), (b"second".to_vec(), 0o666 & !umask()));
        // The folder is missing, or a link has replaced it.
        let third = write(b"third", Privacy::Shared).unwrap();
        let (below, away) = (root.join("below"), root.join("away"));
        assert!(third.place(root, &below.join("a.md")).is_err());
        fs::create_dir(&away).unwrap();
        crate::fs::dir::symlink(&away, &below).unwrap();
        assert!(third.place(root, &below.join("a.md")).is_err());
        drop(third);
        assert_eq!((listed(), fs::read_dir(&away).unwrap().count()), (3, 0));
    }

    #[test]
    fn lines_are_appended_up_to_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        assert_eq!(append_within(&path, b"one\n", 8).unwrap(), 4);
        assert_eq!(append_within(&path, b"three\n", 8).unwrap(), 10);
        assert_eq!(append_within(&path, b"four\n", 8).unwrap(), 10);
        assert_eq!(fs::read(&path).unwrap(), b"one\nthree\n");
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("private/deep/file");
        replace(&path, b"one", Privacy::Private).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"two", Privacy::Private).unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o640, b"two".to_vec()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn links_pipes_and_long_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "12345").unwrap();
        crate::fs::dir::symlink(&file, &link).unwrap();
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
