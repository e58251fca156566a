//! Format versions of stores: one line in the file `version` of a store's folder.
//!
//! The line contains the number of the format and the first program version that writes this format, so that an earlier
//! program can name a version that can read the store. The line depends on nothing else, so two people who migrate a
//! shared folder write the same bytes. A folder without the file has the format of version 0.1.0.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::{At, Error, Result};
use crate::fs::disk::{Privacy, open_below, refused, replace};
use crate::fs::open_regular::{self, Links};
use crate::id::ProjectId;
use crate::layout::{ProjectDir, STORE_DIR, UserDirs};

/// Name of the version file.
pub const FILE: &str = "version";

/// Maximum number of bytes of the version file that are read.
const FILE_BYTES_MAX: u64 = 4096;

/// Maximum length of a program's version in characters; a longer version is ignored.
const PROGRAM_CHARS_MAX: usize = 20;

/// Kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreKind {
    /// The user's own store: `user` in the data directory, with the user's settings.
    User,
    /// The private state of a project: `projects/<id>` in the data directory.
    Project,
    /// The committed folder of a working tree: `.throughline`.
    MemoryFolder,
}

impl StoreKind {
    /// Returns the format that this program writes, which is the newest format that it reads.
    pub const fn format(self) -> u32 {
        match self {
            Self::User => 3,
            Self::Project => 2,
            Self::MemoryFolder => 1,
        }
    }

    /// Returns the first version of the program that writes this format.
    pub const fn program(self) -> &'static str {
        match self {
            Self::User | Self::Project => "0.2.0",
            Self::MemoryFolder => "0.1.0",
        }
    }

    /// Returns the kind of a private folder. A project's folder has the project's id as its name.
    pub fn of_private(folder: &Path) -> Self {
        let name = folder.file_name().and_then(|name| name.to_str());
        match name.is_some_and(|name| name.parse::<ProjectId>().is_ok()) {
            true => Self::Project,
            false => Self::User,
        }
    }

    /// Returns the name of the kind for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::MemoryFolder => "memory folder",
        }
    }
}

/// Format of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFormat {
    /// Number of the format, counted from 1.
    pub number: u32,
    /// First program version that writes the format, if the version file names one.
    pub program: Option<String>,
}

impl StoreFormat {
    /// Format of a store without a version file, which is how program version 0.1.0 wrote it.
    pub const FIRST: Self = Self { number: 1, program: None };

    /// Returns the format of a store in the data directory.
    ///
    /// # Errors
    /// If there is a version file that cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        match open_regular::open(&path, Links::Refuse) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::FIRST),
            opened => Self::read_from(opened.at(&path)?, &path),
        }
    }

    /// Returns the format of a working tree's memory folder. Symbolic links below the root are not followed.
    ///
    /// # Errors
    /// If there is a version file that cannot be read.
    pub fn read_memory_folder(root: &Path) -> Result<Self> {
        let path = root.join(STORE_DIR).join(FILE);
        if root.join(STORE_DIR).is_symlink() {
            // A memory folder that is a link is neither read nor written, so its format is irrelevant.
            return Ok(Self::FIRST);
        }
        match open_below(root, &path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(Self::FIRST)
            }
            opened => Self::read_from(opened?.0, &path),
        }
    }

    fn read_from(file: File, path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).at(path)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(refused(path, "too long for a version file", REMEDY));
        }
        Self::parse(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
            refused(path, "this version file has no line with a format's number", REMEDY)
        })
    }

    /// Parses the lines of a version file; `None` if no line begins with a number. If two people have migrated the
    /// folder to different formats, git leaves several lines, of which the newest format counts. A file without any
    /// line counts as the first format.
    fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::FIRST);
        }
        let lines = text.lines().filter_map(|line| {
            let (number, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            // A number of more than 32 bits is a newer format too.
            let number = is_number.then(|| number.parse().unwrap_or(u32::MAX))?;
            Some(Self { number: number.max(1), program: program_in(rest) })
        });
        lines.max_by_key(|version| version.number)
    }

    /// Returns the content of the version file for a format.
    pub fn line(number: u32, program: &str) -> String {
        format!("{number} {program}\n")
    }
}

const REMEDY: &str = "Remove the file: `throughline sync` writes it again.";

/// Returns the program version at the start of an untrusted text; `None` if there is none.
fn program_in(text: &str) -> Option<String> {
    let version = text.split_whitespace().next()?;
    let is_plain = version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    (is_plain && version.len() <= PROGRAM_CHARS_MAX).then(|| version.to_owned())
}

/// Refuses private state that has a newer format, of a project or of the user.
///
/// # Errors
/// [`Error::Newer`]; other errors if the version file cannot be read.
pub fn check_private(home: &ProjectDir) -> Result<()> {
    check_folder(&home.folder)
}

/// Refuses private state of a project like [`check_private`], in a hook: it opens one file, and reads it if it exists.
///
/// # Errors
/// Those of [`check_private`].
pub fn check_project(dirs: &UserDirs, project: ProjectId) -> Result<()> {
    check_folder(&dirs.project_folder(project))
}

fn check_folder(folder: &Path) -> Result<()> {
    check(StoreKind::of_private(folder), folder, StoreFormat::read(folder)?)
}

/// Refuses the user's own store if it has a newer format. The store includes the settings, and a setting that this
/// program does not support may decide where memories are written.
///
/// # Errors
/// Those of [`check_private`].
pub fn check_user(dirs: &UserDirs) -> Result<()> {
    check_private(&dirs.user_dir())
}

/// Writes the version file of a new project's private folder, with the format that this program writes.
///
/// # Errors
/// If the version file cannot be written.
pub fn begin(home: &ProjectDir) -> Result<()> {
    let kind = StoreKind::of_private(&home.folder);
    let line = StoreFormat::line(kind.format(), kind.program());
    replace(&path(&home.folder), line.as_bytes(), Privacy::Private)
}

/// Refuses the memory folder of a working tree if it has a newer format.
///
/// # Errors
/// Those of [`check_private`].
pub fn check_memory_folder(root: &Path) -> Result<()> {
    let found = StoreFormat::read_memory_folder(root)?;
    check(StoreKind::MemoryFolder, &root.join(STORE_DIR), found)
}

/// Refuses a format that this program does not support.
///
/// # Errors
/// [`Error::Newer`].
pub fn check(kind: StoreKind, folder: &Path, found: StoreFormat) -> Result<()> {
    if found.number <= kind.format() {
        return Ok(());
    }
    Err(Error::Newer {
        path: folder.to_owned(),
        found: found.number,
        program: found.program,
        supported: kind.format(),
    })
}

/// Returns the path of the version file of a store.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32, program: &str) -> Option<StoreFormat> {
        let program = Some(program.to_owned()).filter(|program| !program.is_empty());
        Some(StoreFormat { number, program })
    }

    #[test]
    fn a_line_is_read_back_and_conflicts_count_as_the_newest() {
        let parse = StoreFormat::parse;
        assert_eq!(parse(&StoreFormat::line(3, "0.4.0")), version(3, "0.4.0"));
        assert_eq!(parse("2\r\n"), version(2, ""));
        assert_eq!(parse(" \n"), Some(StoreFormat::FIRST));
        assert_eq!(parse("0 x\n"), version(1, "x"));
        let conflict = "<<<<<<< HEAD\n2 0.2.0\n=======\n3 0.4.0\n>>>>>>> theirs\n";
        assert_eq!(parse(conflict), version(3, "0.4.0"));
        assert_eq!(parse("99999999999 9.0\n"), version(u32::MAX, "9.0"));
        assert_eq!(parse("2 \u{1b}[31mred\n"), version(2, ""));
        for none in ["two\n", "v2 0.2.0\n", "-1\n"] {
            assert_eq!(parse(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_lost_mark_is_the_first_format_and_one_that_cannot_be_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (home, root) = (folder.path().join("home"), folder.path());
        assert_eq!(StoreFormat::read(&home).unwrap(), StoreFormat::FIRST);
        assert_eq!(StoreFormat::read_memory_folder(root).unwrap(), StoreFormat::FIRST);
        std::fs::create_dir(&home).unwrap();
        let write = |text: &str| std::fs::write(home.join(FILE), text).unwrap();
        write("2 0.2.0\n");
        assert_eq!(StoreFormat::read(&home).unwrap().number, 2);
        for text in ["two", &"1\n".repeat(4096)] {
            write(text);
            assert!(StoreFormat::read(&home).unwrap_err().to_string().contains("version"));
        }
        // A commit may contain a link in place of the version file.
        std::fs::create_dir(root.join(STORE_DIR)).unwrap();
        crate::fs::dir::symlink(home.join(FILE), root.join(STORE_DIR).join(FILE)).unwrap();
        assert!(StoreFormat::read_memory_folder(root).is_err());
        // A memory folder that is a link is not read.
        std::fs::remove_dir_all(root.join(STORE_DIR)).unwrap();
        crate::fs::dir::symlink(&home, root.join(STORE_DIR)).unwrap();
        assert_eq!(StoreFormat::read_memory_folder(root).unwrap(), StoreFormat::FIRST);
    }

    #[test]
    fn a_newer_format_is_refused_in_one_line_that_names_the_program() {
        let folder = Path::new("/data/projects/1");
        for kind in [StoreKind::User, StoreKind::Project, StoreKind::MemoryFolder] {
            let of = |number| StoreFormat { number, program: Some("0.9.0".to_owned()) };
            assert!(check(kind, folder, of(kind.format())).is_ok());
            let message = check(kind, folder, of(kind.format() + 1)).unwrap_err().to_string();
            assert!(message.contains("/data/projects/1") && message.contains("0.9.0"), "{message}");
            assert!(message.contains("Install") && !message.contains('\n'), "{message}");
        }
    }
}
