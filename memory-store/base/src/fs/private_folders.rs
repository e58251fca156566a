//! Folders of this user that no other user may enter. A folder that existed before the program may be open to other
//! users, who could read the program's files in it or add files. Such a folder is closed before use.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::process::is_of_user;
use crate::layout::UserDirs;

/// Mode of a private folder.
const MODE: u32 = 0o700;
/// Number of folder levels below the data and the state folder that are checked, as in `projects/<id>/drafts` and
/// `trees/<hash>/index`.
const LEVELS: usize = 3;
/// Maximum number of folders that are checked.
const FOLDERS_MAX: usize = 10_000;

/// A private folder that other users may enter, with the reason why it could not be closed.
#[derive(Debug)]
pub struct OpenFolder {
    /// The folder.
    pub path: PathBuf,
    /// Error that prevented the folder from being closed.
    pub why: io::Error,
}

impl OpenFolder {
    /// Returns a message with the problem and the command that solves it.
    pub fn message(&self) -> String {
        let path = self.path.display();
        format!("others may enter {path}, and it cannot be closed ({}): chmod 700 {path}", self.why)
    }
}

/// Closes the data and the state folder, which contain all other private folders. This takes two calls of `lstat` if
/// both are closed already. [`close_all`] reports folders that cannot be closed.
pub fn close_outer(dirs: &UserDirs) {
    for folder in [&dirs.data, &dirs.state] {
        let _ = close(folder);
    }
}

/// Closes the data folder, the state folder, and all of Throughline's folders in them. Returns the folders that stay
/// open.
pub fn close_all(dirs: &UserDirs) -> Vec<OpenFolder> {
    let found = of_user(dirs).into_iter();
    let closed = found.filter_map(|path| close(&path).err().map(|why| OpenFolder { path, why }));
    closed.collect()
}

/// Returns the private folders that other users may enter at present.
pub fn open_to_others(dirs: &UserDirs) -> Vec<PathBuf> {
    let mut found = of_user(dirs);
    found.retain(|folder| fs::metadata(folder).is_ok_and(|found| is_open(&found)));
    found
}

/// Closes a folder that is open to other users. A link is not followed, because other users may need its target.
///
/// # Errors
/// If the folder is open and cannot be closed.
fn close(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_symlink() => {
            return match fs::metadata(folder).is_ok_and(|target| is_open(&target)) {
                true => Err(io::Error::other("it is a symbolic link, which is not followed")),
                false => Ok(()),
            };
        }
        Ok(found) if is_open(&found) => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    // A handle is used, because another folder may be at the path in the meantime.
    let options = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let handle = File::options().read(true).custom_flags(options).open(folder)?;
    if !is_of_user(&handle.metadata()?) {
        return Err(io::Error::other("it belongs to another user"));
    }
    handle.set_permissions(Permissions::from_mode(MODE))
}

/// Returns whether other users than the owner have permissions for a folder.
fn is_open(found: &Metadata) -> bool {
    found.is_dir() && found.permissions().mode() & 0o077 != 0
}

/// Returns the private folders that exist, each before its subfolders. Only known subfolders of the data folder are
/// included, because it may also contain files of the programs, which all users may read.
fn of_user(dirs: &UserDirs) -> Vec<PathBuf> {
    let inner = ["projects", "by-path", "by-folder", "user"].map(|name| dirs.data.join(name));
    let inner = inner.into_iter().chain(["trees", "user"].map(|name| dirs.state.join(name)));
    let mut found = vec![dirs.data.clone(), dirs.state.clone()];
    let mut level: Vec<PathBuf> =
        inner.filter(|folder| fs::symlink_metadata(folder).is_ok()).collect();
    for _ in 0..LEVELS {
        let next: Vec<PathBuf> = level.iter().flat_map(|folder| folders_in(folder)).collect();
        found.append(&mut level);
        level = next;
        level.truncate(FOLDERS_MAX.saturating_sub(found.len()));
    }
    found
}

/// Returns the subfolders of a folder; links to folders are not included.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn dirs_of(home: &Path) -> UserDirs {
        UserDirs::resolve(|name| (name == "HOME").then(|| home.into())).unwrap()
    }

    fn make(path: &Path, mode: u32) {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_of_ours_are_closed_and_those_of_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs_of(home.path());
        let ours = [
            dirs.data.clone(),
            dirs.state.clone(),
            dirs.data.join("projects"),
            dirs.data.join("projects/a/drafts"),
            dirs.data.join("user/memories"),
            dirs.state.join("trees/b/index"),
        ];
        let others = [
            home.path().join(".local/share"),
            home.path().join(".local/state"),
            dirs.data.join("table-v1"),
        ];
        for folder in others.iter().chain(&ours) {
            make(folder, 0o777);
        }
        assert!(open_to_others(&dirs).len() >= ours.len());
        close_outer(&dirs);
        assert_eq!((mode(&dirs.data), mode(&dirs.state)), (0o700, 0o700));
        assert!(close_all(&dirs).is_empty() && open_to_others(&dirs).is_empty());
        assert!(ours.iter().all(|folder| mode(folder) == 0o700));
        assert!(others.iter().all(|folder| mode(folder) == 0o777), "not ours to close");
    }

    #[test]
    fn a_link_is_named_and_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs_of(home.path());
        let target = home.path().join("shared");
        make(&target.join("a"), 0o777);
        make(&target, 0o777);
        fs::create_dir_all(dirs.data.parent().unwrap()).unwrap();
        crate::fs::dir::symlink(&target, &dirs.data).unwrap();
        make(&dirs.state, 0o700);
        crate::fs::dir::symlink(&target, dirs.state.join("trees")).unwrap();
        let open = close_all(&dirs);
        let told: Vec<String> = open.iter().map(OpenFolder::message).collect();
        assert_eq!(open.len(), 2, "{told:?}");
        assert!(
            told.iter().all(|told| told.contains("symbolic link") && told.contains("chmod 700"))
        );
        assert_eq!((mode(&target), mode(&target.join("a"))), (0o777, 0o777));
        // A link to a folder that is already closed is accepted, because the user created it.
        make(&target, 0o700);
        assert!(close_all(&dirs).is_empty());
    }
}
