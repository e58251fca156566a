//! The machine on which a measurement runs. The environment is read only here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use memory_store::Timestamp;
use memory_store::error::At as _;
use memory_store::layout::{MODELS_VARIABLE, UserDirs};

/// Variables that programs in a sealed home receive, so that they find git and the language model.
const HANDED_ON: [&str; 4] = ["PATH", "OLLAMA_HOST", "TMPDIR", MODELS_VARIABLE];

/// Environment of a measurement.
pub struct Machine {
    /// Folders of the user, whose settings may name a language model.
    pub dirs: UserDirs,
    /// The folder of Throughline's programs.
    pub programs: PathBuf,
    /// Current time.
    pub now: Timestamp,
    /// The variable `OLLAMA_HOST`.
    pub ollama_host: Option<String>,
    /// Variables for programs in a sealed home.
    pub variables: Vec<(&'static str, OsString)>,
}

impl Machine {
    /// Reads the environment. `programs` defaults to the folder of this program.
    #[expect(clippy::disallowed_methods, reason = "the environment and the clock are read here")]
    pub fn read(programs: Option<PathBuf>) -> Result<Self> {
        let get = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let programs = match programs {
            Some(folder) => folder.canonicalize().at(&folder)?,
            None => {
                let exe = env::current_exe().context("the path of this program")?;
                exe.parent().map(Path::to_owned).context("this program lies in no folder")?
            }
        };
        let dirs = UserDirs::resolve(get).context("HOME names no folder: set it to yours")?;
        let now = match get("THROUGHLINE_NOW") {
            Some(fixed) => Timestamp::from_setting(&fixed.to_string_lossy())
                .context("THROUGHLINE_NOW is no time such as 2026-10-02T09:30:00Z")?,
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                let since = since.context("the clock is before 1970")?;
                Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
        };
        Ok(Self {
            dirs: dirs.with_models(get, Some(&programs.join("throughline"))),
            programs,
            now,
            ollama_host: env::var("OLLAMA_HOST").ok(),
            variables: HANDED_ON
                .into_iter()
                .filter_map(|name| Some((name, env::var_os(name)?)))
                .collect(),
        })
    }
}
