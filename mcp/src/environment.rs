//! The environment of the server, read once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use memory_store::Timestamp;
use memory_store::layout::{Tree, UserDirs};
use memory_store::mode::{Mode, VARIABLE};

/// Maximum bytes of a session's id.
const SESSION_BYTES_MAX: usize = 128;

/// Maximum characters of a value that a message quotes.
const VALUE_CHARS_MAX: usize = 40;

/// Environment of the server.
#[derive(Clone, Debug)]
pub struct ServerEnvironment {
    /// This user's folders.
    pub dirs: UserDirs,
    /// The folder of the project: `CLAUDE_PROJECT_DIR`, or else the working directory.
    pub folder: PathBuf,
    /// The Claude Code session for which the server was started.
    pub session: Option<String>,
    /// Mode set by the environment.
    mode: Mode,
    /// Value of THROUGHLINE if it is not a known mode.
    pub unknown_mode: Option<String>,
    /// The clock.
    pub clock: Clock,
}

/// Source of the time.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// The clock of the system.
    System,
    /// A fixed time, for tests and repeatable runs.
    Fixed(Timestamp),
}

impl Clock {
    /// Returns the time.
    pub fn now(self) -> Timestamp {
        match self {
            Self::Fixed(now) => now,
            Self::System => {
                #[expect(clippy::disallowed_methods, reason = "the one place of this program")]
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
        }
    }
}

impl ServerEnvironment {
    /// Reads the environment through `get`; `cwd` is the working directory. An error describes the missing part.
    pub fn read(
        get: impl Fn(&str) -> Option<OsString> + Copy,
        cwd: PathBuf,
    ) -> Result<Self, String> {
        let dirs = UserDirs::resolve(get)
            .ok_or("HOME is not set to an absolute path; Throughline keeps its files below it")?;
        let program = std::env::current_exe().ok();
        let dirs = dirs.with_models(get, program.as_deref());
        let folder = get("CLAUDE_PROJECT_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
        let folder = folder.unwrap_or(cwd);
        Ok(Self {
            dirs,
            // The path is resolved, because stores are recorded by real paths.
            folder: folder.canonicalize().unwrap_or(folder),
            session: get("CLAUDE_CODE_SESSION_ID")
                .and_then(|session| session.into_string().ok())
                .filter(|session| !session.is_empty() && session.len() <= SESSION_BYTES_MAX),
            mode: Mode::from_environment(get),
            unknown_mode: get(VARIABLE)
                .map(|value| value.to_string_lossy().into_owned())
                .filter(|value| !value.is_empty() && Mode::from_name(value).is_none())
                .map(|value| value.chars().take(VALUE_CHARS_MAX).collect()),
            clock: get("THROUGHLINE_NOW")
                .and_then(|text| Timestamp::from_setting(text.to_str()?))
                .map_or(Clock::System, Clock::Fixed),
        })
    }

    /// Returns the current mode. It is determined for each call, since `throughline off` may start or end while the
    /// server runs.
    pub fn mode(&self) -> Mode {
        self.mode.unless_off(&self.dirs.off_file(), self.clock.now())
    }

    /// Returns the working tree that contains the folder, if it is trusted on this machine.
    pub fn tree(&self) -> Option<Tree> {
        Tree::find(&self.dirs, &self.folder)
    }
}
