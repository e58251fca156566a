//! The memory files of a repository, in the working tree, a commit or the index. Untrusted folders are read too, since
//! the files are only displayed and never injected.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use memory_store::file::{EXTENSION, FILE_BYTES_MAX};
use memory_store::fs::open_regular::Links;
use memory_store::layout::STORE_DIR;
use processor::git::blobs::Blob;
use processor::git::memories::{self, TrackedFile};

use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};

/// The folder of memory files, relative to [`STORE_DIR`].
const FOLDER: &str = "memories";
/// Maximum depth of folders.
const DEPTH_MAX: usize = 16;

/// A file of one side.
#[derive(Debug)]
pub struct SideFile {
    /// Path of the file relative to the root, with `/` as separator.
    pub path: String,
    /// Content of the file.
    pub content: FileContent,
}

/// Content of a file.
#[derive(Debug)]
pub enum FileContent {
    /// The bytes of the file.
    Bytes(Vec<u8>),
    /// A symbolic link, which is not followed.
    Link,
    /// The file has an unresolved merge conflict in git's index.
    Unmerged,
    /// The file is unreadable, with the reason.
    Unreadable(String),
}

/// Returns whether a path relative to the root is the path of a memory file.
pub fn is_memory_file(path: &str) -> bool {
    let Some(below) = path
        .strip_prefix(STORE_DIR)
        .and_then(|rest| rest.strip_prefix('/')?.strip_prefix(FOLDER)?.strip_prefix('/'))
    else {
        return false;
    };
    let name = Path::new(below).file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    !below.split('/').any(|part| part.starts_with('.'))
        && Path::new(&name).extension() == Some(OsStr::new(EXTENSION))
        && name != "readme.md"
}

/// Returns the memory files of a working tree, sorted by path.
pub fn in_working_tree(root: &Path) -> Result<Vec<SideFile>> {
    let mut files = Vec::new();
    collect(root, &format!("{STORE_DIR}/{FOLDER}"), DEPTH_MAX, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, below: &str, depth_left: usize, files: &mut Vec<SideFile>) -> Result {
    let folder = root.join(below);
    // A symbolic link to a folder is not followed.
    match fs::symlink_metadata(&folder) {
        Ok(found) if found.is_dir() && depth_left > 0 => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).at(&folder),
    }
    for entry in fs::read_dir(&folder).at(&folder)? {
        let entry = entry.at(&folder)?;
        let kind = entry.file_type().at(&entry.path())?;
        let path = format!("{below}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            collect(root, &path, depth_left - 1, files)?;
        } else if is_memory_file(&path) {
            let content = if kind.is_symlink() { FileContent::Link } else { read(&entry.path()) };
            files.push(SideFile { path, content });
        }
    }
    Ok(())
}

fn read(path: &Path) -> FileContent {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let opened = memory_store::fs::open_regular::open(path, Links::Refuse);
    let read = opened.and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() > FILE_BYTES_MAX => FileContent::Unreadable(too_long()),
        Ok(_) => FileContent::Bytes(bytes),
        Err(error) => FileContent::Unreadable(error.to_string()),
    }
}

fn too_long() -> String {
    format!("the file is longer than {} KiB", FILE_BYTES_MAX >> 10)
}

/// Returns the memory files of a commit, sorted by path.
pub fn in_commit(root: &Path, commit: &str) -> Result<Vec<SideFile>> {
    let files = memories::in_commit(root, commit).ok_or_else(|| silent(root))?;
    contents(root, files)
}

/// Returns the staged memory files, sorted by path.
pub fn in_index(root: &Path, index_file: Option<&OsStr>) -> Result<Vec<SideFile>> {
    contents(root, memory_files(memories::in_index(root, index_file).ok_or_else(|| silent(root))?))
}

/// Returns the paths of staged memory files that differ from the checked-out commit.
pub fn staged_anew(root: &Path, index_file: Option<&OsStr>) -> Result<Vec<String>> {
    let staged = memories::in_index(root, index_file).ok_or_else(|| silent(root))?;
    let head = memories::commit(root, "HEAD");
    let committed = match head {
        Some(head) => memories::in_commit(root, &head).ok_or_else(|| silent(root))?,
        None => Vec::new(),
    };
    let mut new = memory_files(staged);
    new.retain(|file| !committed.contains(file));
    Ok(new.into_iter().map(|file| file.path).collect())
}

fn memory_files(mut files: Vec<TrackedFile>) -> Vec<TrackedFile> {
    files.retain(|file| is_memory_file(&file.path));
    files
}

fn contents(root: &Path, files: Vec<TrackedFile>) -> Result<Vec<SideFile>> {
    let files = memory_files(files);
    let wanted: Vec<&TrackedFile> =
        files.iter().filter(|file| !file.is_link && !file.is_unmerged).collect();
    let read = memories::read(root, &wanted, FILE_BYTES_MAX as u64).ok_or_else(|| silent(root))?;
    let mut read = read.into_iter();
    let mut sides: Vec<SideFile> = Vec::with_capacity(files.len());
    for file in &files {
        let content = match (file.is_link, file.is_unmerged) {
            (_, true) => FileContent::Unmerged,
            (true, false) => FileContent::Link,
            (false, false) => match read.next() {
                Some(Blob::Content(bytes)) => FileContent::Bytes(bytes.to_vec()),
                Some(Blob::TooLarge) => FileContent::Unreadable(too_long()),
                Some(Blob::Missing | Blob::Later) | None => {
                    FileContent::Unreadable("git does not have its content".to_owned())
                }
            },
        };
        sides.push(SideFile { path: file.path.clone(), content });
    }
    sides.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sides)
}

/// Returns the failure of a git command that printed no usable output.
pub fn silent(root: &Path) -> Failure {
    match processor::git::is_repository(root) {
        true => Failure::new(format!("git does not tell about {}", root.display()))
            .hint("Run `git status` there; `throughline doctor` says whether git is new enough."),
        false => Failure::new(format!("{} is in no git repository", root.display()))
            .code(exit::NOT_FOUND)
            .hint("Change to a repository, or name one with --project."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_files_are_recognised_by_folder_and_name() {
        for (path, expected) in [
            (".throughline/memories/a.md", true),
            (".throughline/memories/area/a.MD", true),
            (".throughline/memories/README.md", false),
            (".throughline/memories/.hidden/a.md", false),
            (".throughline/memories/a.txt", false),
            (".throughline/README.md", false),
            (".throughline/config.toml", false),
            (".throughline-memories/a.md", false),
            ("docs/a.md", false),
        ] {
            assert_eq!(is_memory_file(path), expected, "{path}");
        }
    }
}
