//! A sealed home with one project, so that a measurement neither reads nor writes files of the user.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use memory_store::Timestamp;
use memory_store::error::At as _;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{Tree, TreeDir, UserDirs};
use memory_store::memory::Memory;
use memory_store::recall::Recall;
use memory_store::store::Store;

use crate::home::TemporaryHome;
use crate::machine::Machine;
use crate::stage::Stage;

/// Id of the project. It is the same in every run, because the ids of memories depend on it.
const PROJECT: [u8; 16] = *b"throughline eval";

/// The temporary home with one project.
pub struct Sealed {
    home: TemporaryHome,
    /// The project.
    pub tree: Tree,
    programs: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Sealed {
    /// Creates the home and its project.
    pub fn new(machine: &Machine, stage: &Stage, reads: bool) -> Result<Self> {
        let home = TemporaryHome::new(machine.dirs.models.clone())?;
        let root = home.path.join("project");
        fs::create_dir(&root).at(&root)?;
        write_settings(machine, &home.dirs, reads)?;
        // The folder in which the sessions were recorded is registered as a former root of the project, so that
        // statements about its files apply to the project.
        let observed = Observed {
            root,
            worktrees: stage.recorded_root.iter().cloned().collect(),
            ..Observed::default()
        };
        let tree =
            identity::vouch(&home.dirs, &observed, Some(Mode::Private), PROJECT, Timestamp(0))?;
        let (programs, variables) = (machine.programs.clone(), machine.variables.clone());
        Ok(Self { home, tree, programs, variables })
    }

    /// Returns the folder into which the transcripts of a session are copied.
    pub fn stage_dir(&self, session: &str) -> PathBuf {
        self.home.folder.path().join("stage").join(session)
    }

    /// Returns the state folder of the project.
    pub fn state(&self) -> TreeDir {
        self.home.dirs.tree(&self.tree.root)
    }

    /// Opens the indexes as hooks do.
    pub fn recall(&self) -> Recall {
        Recall::open(&self.home.dirs, &self.tree, None)
    }

    /// Processes the transcripts in `folder`.
    pub fn sync(&self, folder: &Path, now: Timestamp) -> Result<()> {
        let program = self.programs.join("throughline");
        let output = self
            .command(&program, now)
            .arg("sync")
            .arg("--from")
            .arg(folder)
            .stdin(Stdio::null())
            .output()
            .at(&program)?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{} was not processed: {}", folder.display(), stderr.trim())
    }

    /// Returns the command that runs a hook in the project, as Claude Code does.
    pub fn hook(&self, name: &str, now: Timestamp) -> Command {
        self.command(&self.programs.join(name), now)
    }

    fn command(&self, program: &Path, now: Timestamp) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home.folder.path())
            .env("THROUGHLINE", "full")
            .env("THROUGHLINE_NOW", now.0.to_string())
            .env("CLAUDE_PROJECT_DIR", &self.tree.root)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.tree.root);
        command
    }

    /// Returns all memory files, of any status, sorted by id.
    pub fn memories(&self) -> Result<Vec<Memory>> {
        let project = Store::open(&self.home.dirs, &self.tree)?;
        let mut memories = Vec::new();
        for store in [project, Store::user(&self.home.dirs)?] {
            for listing in [store.list()?, store.archived()?] {
                memories.extend(listing.memories.into_iter().map(|stored| stored.memory));
            }
        }
        memories.sort_by_key(|memory| memory.id);
        memories.dedup_by_key(|memory| memory.id);
        Ok(memories)
    }

    /// Keeps the home after the measurement, and returns its path.
    pub fn keep(self) -> PathBuf {
        self.home.folder.keep()
    }
}

fn write_settings(machine: &Machine, dirs: &UserDirs, reads: bool) -> Result<()> {
    let mut text = String::new();
    if reads {
        text.push_str(&llm_settings(&machine.dirs.config_file())?);
    }
    let file = dirs.config_file();
    fs::create_dir_all(&dirs.config).at(&dirs.config)?;
    Ok(fs::write(&file, text).at(&file)?)
}

/// Returns the table `[llm]` of a settings file.
fn llm_settings(file: &Path) -> Result<String> {
    const REMEDY: &str = "no LLM is set: run `throughline config llm`";
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(REMEDY),
        read => read.at(file)?,
    };
    let mut settings: toml::Table = text.parse().with_context(|| file.display().to_string())?;
    settings.retain(|name, _| name == "llm");
    if settings.is_empty() {
        bail!(REMEDY);
    }
    Ok(toml::to_string(&settings)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_settings_of_the_user_the_llm_alone_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let problem = || llm_settings(&file).unwrap_err().to_string();
        assert!(problem().contains("throughline config llm"));
        fs::write(&file, "alpha = 0.1\n").unwrap();
        assert!(problem().contains("throughline config llm"));
        let llm = "[llm]\nprovider = \"ollama\"\nmodel = \"m\"\n";
        fs::write(&file, format!("alpha = 0.1\n{llm}")).unwrap();
        let taken: toml::Table = llm_settings(&file).unwrap().parse().unwrap();
        assert_eq!(taken, llm.parse().unwrap());
    }
}
