//! A home of its own, so that a measurement neither reads nor writes anything of the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{MODELS_VARIABLE, Tree, TreeDir, UserDirs};
use memory_store::memory::Memory;
use memory_store::store::Store;
use memory_store::{Timestamp, settings_file};

use super::stage::Stage;
use crate::command::config;
use crate::command::temporary_home::temporary_home;
use crate::exit;
use crate::failure::{At as _, Failure, Result};
use crate::world::World;

/// A project's id, the same in every run: ids of memories depend on it.
const PROJECT: [u8; 16] = *b"throughline eval";

/// Prefix of the temporary folders' names.
pub const PREFIX: &str = "throughline-eval-";

/// Choices of the command line.
pub struct Choices {
    /// How many memories a session of average length leaves.
    pub memories_per_session: Option<f32>,
    /// Whether the LLM of the user's settings extracts, too.
    pub llm: bool,
}

/// The temporary home with one project.
pub struct Sealed {
    home: tempfile::TempDir,
    dirs: UserDirs,
    /// The project.
    pub tree: Tree,
    exe: PathBuf,
    bin_dir: PathBuf,
}

impl Sealed {
    /// Makes the home and the project in it.
    pub fn new(world: &World, stage: &Stage, choices: &Choices) -> Result<Self> {
        let (home, path, dirs) = temporary_home(PREFIX, world.dirs.models.clone())?;
        let root = path.join("project");
        fs::create_dir(&root).at(&root)?;
        write_settings(world, &dirs, choices)?;
        // Where the sessions were recorded is one of the project's trees of the past: what they
        // say about files there is about the same files here.
        let observed = Observed {
            root,
            worktrees: stage.recorded_root.iter().cloned().collect(),
            ..Observed::default()
        };
        let tree = identity::init(&dirs, &observed, Mode::Private, PROJECT, Timestamp(0))?;
        let exe = std::env::current_exe()
            .map_err(|error| Failure::new(format!("the path of this program: {error}")))?;
        Ok(Self { home, dirs, tree, exe, bin_dir: world.bin_dir.clone() })
    }

    /// The folder for a session's transcripts.
    pub fn stage_dir(&self, session: &str) -> PathBuf {
        self.home.path().join("stage").join(session)
    }

    /// The disposable state of the project.
    pub fn state(&self) -> TreeDir {
        self.dirs.tree(&self.tree.root)
    }

    /// Processes the transcripts in `folder`.
    pub fn sync(&self, folder: &Path, now: Timestamp) -> Result {
        let output = self
            .command(&self.exe, now)
            .arg("sync")
            .arg("--from")
            .arg(folder)
            .stdin(Stdio::null())
            .output()
            .at(&self.exe)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::new(said).during(format!("{} was not processed", folder.display())))
    }

    /// A hook, as Claude Code would run it in the project.
    pub fn hook(&self, name: &str, now: Timestamp) -> Command {
        self.command(&self.bin_dir.join(name), now)
    }

    fn command(&self, program: &Path, now: Timestamp) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("THROUGHLINE", "full")
            .env("THROUGHLINE_NOW", now.0.to_string())
            .env("CLAUDE_PROJECT_DIR", &self.tree.root)
            .current_dir(&self.tree.root);
        // Git is found as usual; an LLM answers where it always does.
        #[expect(clippy::disallowed_methods, reason = "handed on to a program in a sealed home")]
        for name in ["PATH", "OLLAMA_HOST", "TMPDIR", MODELS_VARIABLE] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Every memory file, whatever its status, by id.
    pub fn memories(&self) -> Result<Vec<Memory>> {
        let project = Store::open(&self.dirs, &self.tree)?;
        let mut memories = Vec::new();
        for store in [project, Store::user(&self.dirs)?] {
            for listing in [store.list()?, store.archived()?] {
                memories.extend(listing.memories.into_iter().map(|stored| stored.memory));
            }
        }
        memories.sort_by_key(|memory| memory.id);
        memories.dedup_by_key(|memory| memory.id);
        Ok(memories)
    }

    /// Leaves the home where it is, and says where.
    pub fn keep(self) -> PathBuf {
        self.home.keep()
    }
}

fn write_settings(world: &World, dirs: &UserDirs, choices: &Choices) -> Result {
    let mut text = String::new();
    if let Some(count) = choices.memories_per_session {
        text.push_str(&format!("memories_per_session = {count:?}\n"));
    }
    if choices.llm {
        let (settings, _) = settings_file::load(&world.dirs, None);
        let llm = settings.llm.ok_or_else(|| {
            Failure::new("no LLM is set").code(exit::USAGE).hint(format!(
                "Add to {}:\n  [llm]\n  provider = \"ollama\"\n  model = \"<a model that `ollama list` shows>\"",
                world.dirs.config_file().display()
            ))
        })?;
        text.push_str(&config::llm_file(&llm));
    }
    let file = dirs.config_file();
    fs::create_dir_all(&dirs.config).at(&dirs.config)?;
    fs::write(&file, text).at(&file)
}
