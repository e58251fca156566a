//! The environment of a command, read once.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::fs::private_folders;
use memory_store::git_dirs::has_git_entry;
use memory_store::identity;
use memory_store::layout::{Moved, Place, Tree, UserDirs};
use memory_store::mode::{self, Mode};
use memory_store::recall::Recall;
use memory_store::settings_file;
use memory_store::time::DAY_MS;
use processor::lock::{BUSY_MAX, Busy};
use processor::machine::Machine;
use processor::progress::ProgressReport;
use processor::publish::custom_embedder::Asker;
use processor::sync::SyncOptions;

use crate::caller::Caller;
use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::inspect::folders;
use crate::setup::claude::places::ClaudeDirs;
use crate::setup::elsewhere;

/// Maximum age of warnings from background work that are shown, in milliseconds.
const WARNING_MS_MAX: i64 = 7 * DAY_MS;

/// Number of characters of a project's id that are sufficient to identify it.
const PROJECT_CHARS: usize = 12;

/// The environment of a command.
#[derive(Clone)]
pub struct World {
    /// Folders of this program.
    pub dirs: UserDirs,
    /// Folders of Claude Code.
    pub claude: ClaudeDirs,
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder to which the command applies: the current folder, or the folder given with `--project`.
    pub cwd: PathBuf,
    /// The time.
    pub now: Timestamp,
    /// The folder that contains the programs.
    pub bin_dir: PathBuf,
    /// Search path for programs.
    pub path: Option<OsString>,
    /// Caller of the command.
    pub caller: Caller,
    /// Whether questions can be asked. They are printed on stderr.
    pub interactive: bool,
    /// Whether stdout is a terminal, so that the user has seen the text to which a question refers.
    pub is_seen: bool,
    /// Mode of Throughline in this environment, ignoring `throughline off`.
    pub mode: Mode,
    /// Value of `THROUGHLINE` if it is not a known mode.
    pub unclear_mode: Option<String>,
    /// The variable `OLLAMA_HOST`.
    pub ollama_host: Option<String>,
    /// Power and load of this machine.
    pub machine: Machine,
}

impl World {
    /// Reads the environment. `project` is the folder given on the command line.
    #[expect(clippy::disallowed_methods, reason = "the environment of a command is read here")]
    pub fn read(project: Option<&Path>) -> Result<Self> {
        let get = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let no_home = || {
            Failure::new("the environment variable HOME names no folder")
                .hint("Set HOME to your home folder.")
        };
        let program = env::current_exe().ok();
        let dirs = UserDirs::resolve(get).ok_or_else(no_home)?;
        let dirs = dirs.with_models(get, program.as_deref());
        let home = get("HOME").map(PathBuf::from).ok_or_else(no_home)?;
        let moved = get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let claude = ClaudeDirs {
            config: dirs.claude.clone(),
            state: moved.unwrap_or_else(|| home.clone()),
        };
        let cwd = match project {
            Some(folder) => {
                let whole = folder.canonicalize().named(folder)?;
                if !whole.is_dir() {
                    return Err(Failure::new(format!("{} is no folder", folder.display()))
                        .code(exit::USAGE)
                        .hint("Name a folder with -C or --project."));
                }
                whole
            }
            None => env::current_dir()
                .and_then(|folder| folder.canonicalize())
                .map_err(|error| Failure::new(format!("the current folder: {error}")))?,
        };
        let path = get("PATH");
        let now = now(get("THROUGHLINE_NOW"))?;
        let mode = Mode::from_environment(get);
        let caller = Caller::find(get);
        if mode == Mode::Full {
            private_folders::close_outer(&dirs);
            processor::git::hung::remember(&dirs, now);
        }
        Ok(Self {
            now,
            bin_dir: bin_dir(path.as_ref())?,
            // Claude can open a terminal, but must not answer in place of the user.
            interactive: caller != Caller::Claude
                && std::io::stdin().is_terminal()
                && std::io::stderr().is_terminal(),
            caller,
            is_seen: std::io::stdout().is_terminal(),
            mode,
            unclear_mode: get(mode::VARIABLE)
                .map(|value| value.to_string_lossy().into_owned())
                .filter(|value| Mode::from_name(value).is_none()),
            ollama_host: env::var("OLLAMA_HOST").ok(),
            machine: Machine::read(get),
            dirs,
            claude,
            home,
            cwd,
            path,
        })
    }

    /// Returns the working tree to which the command applies. Fails if the tree is not trusted, or if its path now
    /// contains another folder.
    pub fn tree(&self) -> Result<Tree> {
        let tree = match Tree::locate(&self.dirs, &self.cwd) {
            Some(Place::Changed(tree)) => Some(self.look_again(tree)?),
            Some(Place::Trusted(tree)) => Some(tree),
            Some(Place::Moved(moved)) => Some(self.adopt(moved)?),
            None => {
                folders::check_place(&self.dirs.data)?;
                self.check_records()?;
                None
            }
        };
        tree.ok_or_else(|| {
            let root = self.root();
            let store = self.cwd.ancestors().take_while(|folder| folder.starts_with(&root));
            let store = store.into_iter().any(|folder| folder.join(".throughline").is_dir());
            let moved = elsewhere::moved(&self.dirs, &root);
            let failure = Failure::new(format!("{} is not set up", self.cwd.display()))
                .code(exit::NOT_SET_UP);
            if let Some(moved) = moved.first() {
                let told = moved.description();
                failure.hint(format!("It may have been moved: {told}. Otherwise run `throughline init`."))
            } else if store {
                failure.hint(
                    "There is a memory folder that is not trusted on this machine: look at it, then run `throughline trust`.",
                )
            } else {
                failure.hint(self.way_in())
            }
        })
    }

    /// Returns the root of the repository that contains the command's folder. See [`Self::root_of`].
    pub fn root(&self) -> PathBuf {
        self.root_of(&self.cwd)
    }

    /// Returns the root of the repository that contains a folder, or else the folder itself. A repository in the home
    /// folder, as for dotfiles, is ignored for the projects below it.
    pub fn root_of(&self, folder: &Path) -> PathBuf {
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        let mut roots = folder.ancestors().take_while(|folder| *folder != home);
        roots.find(|folder| has_git_entry(folder)).unwrap_or(folder).to_owned()
    }

    /// Returns a hint for a folder that is not set up.
    fn way_in(&self) -> String {
        let was_here = self.cwd.ancestors().any(|folder| self.dirs.tree(folder).folder.exists());
        if was_here && !self.dirs.data.join("projects").exists() {
            return format!(
                "It was set up before, but all that was kept in {} is gone. If that folder was moved, move it back or name \
                 it with XDG_DATA_HOME; if it is lost, run `throughline init`.",
                self.dirs.data.display()
            );
        }
        "Run `throughline init` in the project's folder.".to_owned()
    }

    /// Records the new path of a working tree. If writing is not allowed, the old record is used without a change, but
    /// the call fails if the new path may contain state of another project.
    fn adopt(&self, moved: Moved) -> Result<Tree> {
        if self.mode == Mode::Full {
            return Ok(identity::adopt(&self.dirs, &moved, processor::git::observe)?);
        }
        let root = moved.tree.root.display().to_string();
        Place::Moved(moved).trusted().ok_or_else(|| {
            Failure::new(format!("{root} has come to the place of another project"))
                .code(exit::NOT_SET_UP)
                .hint("`throughline sync` notes that; here nothing may be written.")
        })
    }

    /// Fails if the records of trusted folders cannot be read.
    fn check_records(&self) -> Result {
        for folder in self.cwd.ancestors() {
            let record = self.dirs.by_path(folder);
            if let Err(error) = File::open(&record)
                && error.kind() == ErrorKind::PermissionDenied
            {
                let record = record.display();
                let failure =
                    Failure::new(format!("cannot read what was set up: {record}: {error}"));
                return Err(failure.hint(format!(
                    "Give yourself the right to read and write {} and what is in it.",
                    self.dirs.data.display()
                )));
            }
        }
        Ok(())
    }

    /// Checks with git whether the path of a working tree still contains the same working tree.
    fn look_again(&self, tree: Tree) -> Result<Tree> {
        let why = match self.mode {
            Mode::Full => identity::review(&self.dirs, &tree, processor::git::observe)?,
            Mode::Read | Mode::Off => None,
        };
        if Tree::find(&self.dirs, &self.cwd).as_ref() == Some(&tree) {
            return Ok(tree);
        }
        let why = why.unwrap_or("it is another folder, or another user's");
        let root = tree.main_root.display();
        let message = format!("{root} is not the folder that you trusted: {why}");
        let id = &tree.project.to_string()[..PROJECT_CHARS];
        Err(Failure::new(message).code(exit::NOT_SET_UP).hint(format!(
            "Nothing of it is read. If it is the same project, run `throughline link {id}`; if it is another one, `throughline init`."
        )))
    }

    /// Returns the options of a sync that a person starts, which waits until a running sync has ended.
    pub fn sync_options<'a>(
        &'a self,
        tree: &'a Tree,
        progress: &'a dyn ProgressReport,
    ) -> SyncOptions<'a> {
        SyncOptions {
            progress,
            ollama_host: self.ollama_host.as_deref(),
            machine: Some(&self.machine),
            ..SyncOptions::new(&self.dirs, tree, Busy::Wait(BUSY_MAX), self.now)
        }
    }

    /// Configures recall to use the embedder of the user, if the settings name one.
    pub fn with_second(&self, tree: &Tree, recall: Recall) -> Recall {
        let (settings, _) = settings_file::load(&self.dirs, Some(tree));
        match Asker::new(&settings, self.ollama_host.as_deref()) {
            Some(asker) => recall.with_second(Box::new(asker)),
            None => recall,
        }
    }

    /// Returns the earliest time of warnings from background work that are shown.
    pub fn warnings_since(&self) -> Timestamp {
        Timestamp(self.now.0 - WARNING_MS_MAX)
    }

    /// Returns the path of a Throughline program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }
}

/// Returns the system time, or the fixed time in `THROUGHLINE_NOW`.
fn now(fixed: Option<OsString>) -> Result<Timestamp> {
    let Some(fixed) = fixed else {
        #[expect(clippy::disallowed_methods, reason = "the one place of this program")]
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = since.map_err(|_| Failure::new("the clock is before 1970"))?;
        return Ok(Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)));
    };
    let text = fixed.to_string_lossy();
    Timestamp::from_setting(&text).ok_or_else(|| {
        Failure::new(format!("THROUGHLINE_NOW is `{text}`"))
            .code(exit::USAGE)
            .hint("Write a time such as 2026-10-02T09:30:00Z, or milliseconds since 1970.")
    })
}

/// Returns the folder of the programs. If the `throughline` in `PATH` is this program, it is the folder in `PATH`: a
/// link in `~/.local/bin` remains valid when the versioned folder of its target is removed.
fn bin_dir(path: Option<&OsString>) -> Result<PathBuf> {
    let exe = env::current_exe()
        .map_err(|error| Failure::new(format!("the path of this program: {error}")))?;
    let real = exe.canonicalize().unwrap_or_else(|_| exe.clone());
    let linked = path.into_iter().flat_map(env::split_paths).find(|dir| {
        dir.is_absolute()
            && dir.join("throughline").canonicalize().is_ok_and(|found| found == real)
            && dir.join(crate::setup::claude::hooks::PROGRAMS[0]).exists()
    });
    let folder = linked.or_else(|| real.parent().map(Path::to_owned));
    folder.ok_or_else(|| Failure::new("this program lies in no folder"))
}

/// Creates a folder that is removed with its value.
pub fn temporary_folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| {
        Failure::new(format!("no temporary folder: {error}"))
            .hint("Set TMPDIR to a folder that you may write.")
    })
}

/// Returns fresh entropy.
pub fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_can_be_fixed() {
        assert_eq!(now(Some("1790000000000".into())).unwrap(), Timestamp(1_790_000_000_000));
        let text = now(Some("2026-10-02T09:30:00Z".into())).unwrap();
        assert_eq!(text.date(), "2026-10-02");
        assert_eq!(now(Some("noon".into())).unwrap_err().code, exit::USAGE);
    }
}
