//! The sample project: an invented program, and six sessions of work on it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::chat_server::ChatServer;
use crate::environment::TestEnvironment;
use crate::metadata;
use crate::story::Story;

/// The current time, in the morning after the last session.
pub const NOW: &str = "2026-11-20T09:00:00Z";

/// The sample project in a separate environment, after `init`.
pub struct Sample {
    /// The environment.
    pub environment: TestEnvironment,
    /// The root of the project.
    pub root: PathBuf,
}

impl Sample {
    /// Creates the project with all its transcripts.
    pub fn with_history() -> io::Result<Self> {
        let environment = TestEnvironment::new()?.at(NOW);
        let root = create(&environment)?;
        Self { environment, root }.initialised()
    }

    /// Creates the project without transcripts.
    pub fn without_history() -> io::Result<Self> {
        let environment = TestEnvironment::new()?.at(NOW);
        let root = sources(&environment)?;
        Self { environment, root }.initialised()
    }

    fn initialised(self) -> io::Result<Self> {
        ChatServer::reads_for(&self.environment.home())?;
        self.run(&["init", "--yes", "--no-register", "--no-sync"])?;
        Ok(self)
    }

    /// Runs `throughline` in the project.
    pub fn run(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(&self.root, arguments)
    }

    /// Runs `throughline sync`.
    pub fn sync(&self) -> io::Result<String> {
        self.run(&["sync"])
    }

    /// Runs git in the project.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.git(&self.root, arguments)
    }

    /// Returns the folder with the memory files.
    pub fn memories_dir(&self) -> PathBuf {
        memories_dir(&self.root)
    }

    /// Returns the names and contents of the memory files.
    pub fn memories(&self) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
        snapshot(&self.memories_dir())
    }
}

/// Returns the folder with the memory files of a working tree.
pub fn memories_dir(root: &Path) -> PathBuf {
    root.join(".throughline/memories")
}

/// Returns all files below a folder, by their relative paths; empty if the folder is missing.
pub fn snapshot(folder: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if folder.exists() {
        collect(folder, folder, &mut files)?;
    }
    Ok(files)
}

fn collect(top: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if fs::symlink_metadata(&path)?.is_dir() {
            collect(top, &path, files)?;
        } else {
            let name = path.strip_prefix(top).map_err(io::Error::other)?;
            files.insert(name.to_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}

/// Creates the repository with its sources, and the transcripts of its sessions.
pub fn create(environment: &TestEnvironment) -> io::Result<PathBuf> {
    let root = sources(environment)?;
    for story in stories()? {
        story.write(&environment.claude_dir(), &root)?;
    }
    Ok(root)
}

/// Creates the repository with its sources.
pub fn sources(environment: &TestEnvironment) -> io::Result<PathBuf> {
    if !environment.has_git() {
        // The repository is optional: the programs do not require git, and `scripts/try` requires only Rust.
        let root = environment.folder("tidelog")?;
        copy(&folder().join("files"), &root)?;
        return Ok(root);
    }
    let root = environment.repository("tidelog")?;
    copy(&folder().join("files"), &root)?;
    environment.git(&root, &["add", "."])?;
    environment.git(&root, &["commit", "--quiet", "--message", "Begin with the sources"])?;
    Ok(root)
}

/// Returns the sessions, oldest first.
pub fn stories() -> io::Result<Vec<Story>> {
    Story::read_folder(&folder().join("sessions"))
}

/// Returns the folder that contains a large model's answers about these sessions. See `recorded_model`.
pub fn answers() -> PathBuf {
    folder().join("answers")
}

fn folder() -> PathBuf {
    metadata::root().join("tests/fixtures/sample-project")
}

/// Copies a folder recursively.
pub fn copy(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let target = target.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
