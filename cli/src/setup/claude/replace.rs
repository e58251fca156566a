//! Replacement of a user's file. The file is read and replaced while Claude Code's own lock is held. The whole file is
//! replaced by a rename, with the same mode. Symbolic links are followed, and a backup is kept beside the file.

use std::fs::{self, DirBuilder};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use memory_store::Timestamp;
use memory_store::fs::disk;
use memory_store::fs::open_regular::{self, Links};

use crate::failure::{AtPath as _, Failure, Result};

/// Maximum bytes of a settings file; a larger file is rejected.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of symbolic links that are followed; a longer chain counts as a loop.
const LINKS_MAX: usize = 16;

/// Longest wait for a lock that another program has.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// Age after which a lock is considered abandoned by a crashed program. Claude Code renews its locks more often.
const LOCK_STALE: Duration = Duration::from_secs(10);

/// The decision about a file.
#[derive(Debug, PartialEq, Eq)]
pub enum NextText {
    /// The file stays unchanged.
    Keep,
    /// The file is replaced by this text.
    Write(String),
    /// The file is deleted.
    Remove,
}

impl NextText {
    /// Returns the change of a file with this text, if there is one.
    fn replacing(self, before: Option<&str>) -> Option<Replaced> {
        let after = match self {
            Self::Keep => return None,
            Self::Write(text) if Some(&*text) == before => return None,
            Self::Write(text) => Some(text),
            Self::Remove => None,
        };
        Some(Replaced { after, backup: None, created: Vec::new() })
    }
}

/// Result of a replacement.
#[derive(Debug)]
pub struct Replaced {
    /// New text of the file; `None` if it was deleted.
    pub after: Option<String>,
    /// The backup, with the previous text of the file.
    pub backup: Option<PathBuf>,
    /// Folders that were created, outermost first.
    pub created: Vec<PathBuf>,
}

/// Whether files are changed or only examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// Files are changed.
    Real,
    /// Files stay unchanged.
    Dry,
}

/// Like [`replace`], but without a backup. In a dry run, only returns the result.
pub fn change(
    path: &Path,
    run: RunMode,
    decide: impl FnOnce(&Path, Option<&str>) -> Result<NextText>,
) -> Result<Option<Replaced>> {
    if run == RunMode::Real {
        return replace(path, None, decide);
    }
    let path = resolve(path)?;
    let before = read(&path)?;
    Ok(decide(&path, before.as_deref())?.replacing(before.as_deref()))
}

/// Calls `decide` with the text of the file at `path`, and executes the decision. Returns `None` if the file stays
/// unchanged.
pub fn replace(
    path: &Path,
    backup_at: Option<Timestamp>,
    decide: impl FnOnce(&Path, Option<&str>) -> Result<NextText>,
) -> Result<Option<Replaced>> {
    let path = resolve(path)?;
    let parent = path.parent().unwrap_or(Path::new("/")).to_owned();
    let created = create_folders(&parent)?;
    let replaced = replace_locked(&path, backup_at, decide);
    if !matches!(replaced, Ok(Some(_))) {
        remove_folders(&created);
    }
    Ok(replaced?.map(|replaced| Replaced { created, ..replaced }))
}

/// Removes a part from a file below `root` that contains `mark`, and the file if `is_bare` accepts the rest. Returns the
/// path if the file contained the part.
pub fn remove_part(
    (path, root): (&Path, &Path),
    mark: &str,
    run: RunMode,
    without: impl Fn(&str) -> Option<String>,
    is_bare: impl Fn(&str) -> bool,
) -> Result<Option<PathBuf>> {
    if !path.exists() || check_inside(path, root).is_err() || !holds(path, mark)? {
        return Ok(None);
    }
    let replaced = change(path, run, |_, text| {
        Ok(match text.and_then(&without) {
            None => NextText::Keep,
            Some(rest) if is_bare(&rest) => NextText::Remove,
            Some(rest) => NextText::Write(rest),
        })
    })?;
    Ok(replaced.map(|_| path.to_owned()))
}

fn replace_locked(
    path: &Path,
    backup_at: Option<Timestamp>,
    decide: impl FnOnce(&Path, Option<&str>) -> Result<NextText>,
) -> Result<Option<Replaced>> {
    let _lock = FileLock::take(path)?;
    let before = read(path)?;
    let next = decide(path, before.as_deref())?;
    let Some(mut replaced) = next.replacing(before.as_deref()) else { return Ok(None) };
    if let (Some(before), Some(now)) = (&before, backup_at) {
        replaced.backup = Some(back_up(path, before, now)?);
    }
    match &replaced.after {
        Some(text) => write(path, path, text)?,
        None if before.is_some() => fs::remove_file(path).at(path)?,
        None => {}
    }
    Ok(Some(replaced))
}

/// Resolves the symbolic links in `path`. The target need not exist.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(Failure::new(format!("{}: too many symbolic links", path.display())))
}

/// Fails if a file, after its symbolic links are resolved, is outside the folder `root`.
pub fn check_inside(path: &Path, root: &Path) -> Result {
    let target = resolve(path)?;
    let canonical = root.canonicalize().at(root)?;
    let there = target.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    // The target of a link may contain `..` after the name of a folder that does not exist yet.
    let is_inside = there.is_some_and(|there| there.starts_with(&canonical))
        && (target.parent().is_some_and(Path::exists) || !climbs(&target));
    if is_inside {
        return Ok(());
    }
    Err(Failure::new(format!("{}: a symbolic link leads out of the project", path.display()))
        .hint("Make it a file of the project, or use `--settings user`."))
}

/// Reads a text file of the user; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("{}: not UTF-8 from byte {at} on", path.display()))
            .code(crate::exit::INVALID)
            .hint("Save the file as UTF-8; it was left as it is.")
    })?;
    Ok(Some(text))
}

/// Returns whether a file contains the text `mark`, even if the file is damaged. A folder does not contain it.
pub fn holds(path: &Path, mark: &str) -> Result<bool> {
    if path.is_dir() {
        return Ok(false);
    }
    let bytes = read_bytes(path)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).contains(mark))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match open_regular::open(path, Links::Follow) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.at(path)?,
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).at(path)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::new(format!("{}: too large for a settings file", path.display())));
    }
    Ok(Some(bytes))
}

fn back_up(path: &Path, text: &str, now: Timestamp) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let backup = path.with_file_name(format!("{name}.backup.{}", now.0));
    write(&backup, path, text)?;
    Ok(backup)
}

/// Writes a whole file with the permissions of the file `like`.
fn write(path: &Path, like: &Path, text: &str) -> Result {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let mut builder = tempfile::Builder::new();
    let permissions = fs::metadata(like).map(|found| found.permissions()).ok();
    // A new file has the permissions that the user's umask allows, as if an editor had written it.
    let new = disk::permissions(0o666);
    builder.permissions(permissions.clone().unwrap_or(new));
    let mut file = builder.prefix(".throughline-").tempfile_in(parent).at(parent)?;
    file.write_all(text.as_bytes()).at(file.path())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions).at(file.path())?;
    }
    file.as_file().sync_all().at(file.path())?;
    file.persist(path).map_err(|error| error.error).at(path)?;
    Ok(())
}

fn create_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    DirBuilder::new().recursive(true).create(folder).at(folder)?;
    Ok(missing)
}

/// Removes the folders in `created` that are empty, innermost first.
pub fn remove_folders(created: &[PathBuf]) {
    for folder in created.iter().rev() {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// The lock that Claude Code uses for its own files: a folder beside the file. Claude Code holds the lock for
/// milliseconds. A lock that is ten seconds old may be taken over.
struct FileLock(PathBuf);

impl FileLock {
    fn take(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        let deadline = Instant::now() + LOCK_WAIT_MAX;
        loop {
            match fs::create_dir(&lock) {
                Ok(()) => return Ok(Self(lock)),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    let folder = path.parent().unwrap_or(path).display();
                    return Err(Failure::new(format!(
                        "{} cannot be changed: {error}",
                        path.display()
                    ))
                    .hint(format!("Give yourself the right to write {folder}, and try again.")));
                }
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(error).at(&lock);
                }
                // If the abandoned lock cannot be removed, for example because it is a file, the function waits as for
                // any other lock.
                Err(_) if is_stale(&lock) && fs::remove_dir(&lock).is_ok() => {}
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20))
                }
                Err(_) => {
                    return Err(Failure::new(format!(
                        "{}: locked by another program",
                        path.display()
                    ))
                    .hint(format!("Try again; if nothing uses it, remove {}.", lock.display())));
                }
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_stale(lock: &Path) -> bool {
    fs::metadata(lock)
        .and_then(|found| found.modified())
        .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > LOCK_STALE))
}
