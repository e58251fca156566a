//! The service that runs `throughline watch` from login to logout: a unit of systemd, an agent of
//! launchd.

pub mod launchd;
pub mod systemd;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use memory_store::store::{Privacy, replace};
use processor::programs;

use crate::answer;
use crate::failure::{At as _, Failure, Result};
use crate::world::World;

/// A line in each file that we wrote.
pub const MARK: &str = "Written by `throughline service install`";

/// How long the manager of services may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// Bytes of a service file that are read.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Variables that it needs and that a login does not set: where files lie and programs are.
const VARIABLES: [&str; 7] = [
    "CLAUDE_CONFIG_DIR",
    "OLLAMA_HOST",
    "PATH",
    "THROUGHLINE_MODELS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Service manager of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// systemd's user manager.
    Systemd,
    /// macOS's launchd.
    Launchd,
}

/// The file at the service's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceFile {
    /// There is none.
    Nothing,
    /// One that we wrote, with its text.
    Ours(String),
    /// One that somebody else wrote.
    Strange,
}

impl Manager {
    /// The one of this operating system.
    pub const fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns the name that people use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
        }
    }

    /// The file that describes the service.
    pub fn file(self, world: &World) -> PathBuf {
        match self {
            Self::Systemd => {
                let config = world.dirs.config.parent().unwrap_or(&world.dirs.config);
                config.join("systemd/user").join(systemd::UNIT)
            }
            Self::Launchd => {
                world.home.join("Library/LaunchAgents").join(format!("{}.plist", launchd::LABEL))
            }
        }
    }

    /// The text of that file.
    pub fn text(self, program: &Path, variables: &[(&str, String)]) -> String {
        match self {
            Self::Systemd => systemd::unit(program, variables),
            Self::Launchd => launchd::agent(program, variables),
        }
    }

    /// The program that a file of ours starts.
    pub fn program(self, text: &str) -> Option<PathBuf> {
        match self {
            Self::Systemd => systemd::program(text),
            Self::Launchd => launchd::program(text),
        }
    }

    /// The commands that start the service, now and at each login.
    pub fn starts(self, world: &World) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => vec![
                words(&["systemctl", "--user", "daemon-reload"]),
                words(&["systemctl", "--user", "enable", systemd::UNIT]),
                words(&["systemctl", "--user", "restart", systemd::UNIT]),
            ],
            Self::Launchd => {
                vec![words(&[
                    "launchctl",
                    "bootstrap",
                    &domain(world),
                    &self.file(world).to_string_lossy(),
                ])]
            }
        }
    }

    /// The commands that end it, before its file goes.
    pub fn stops(self, world: &World) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => {
                vec![words(&["systemctl", "--user", "disable", "--now", systemd::UNIT])]
            }
            Self::Launchd => {
                vec![words(&[
                    "launchctl",
                    "bootout",
                    &format!("{}/{}", domain(world), launchd::LABEL),
                ])]
            }
        }
    }

    /// Looks at the file at the service's place.
    pub fn find(self, world: &World) -> Result<ServiceFile> {
        use std::io::Read as _;
        let path = self.file(world);
        let mut bytes = Vec::new();
        let read = fs::File::open(&path)
            .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ServiceFile::Nothing),
            read => read.at(&path)?,
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(if text.contains(MARK) { ServiceFile::Ours(text) } else { ServiceFile::Strange })
    }

    /// Writes the file; one of somebody else's is left alone.
    pub fn write(self, world: &World, text: &str) -> Result {
        let path = self.file(world);
        if self.find(world)? == ServiceFile::Strange {
            return Err(strange(&path));
        }
        replace(&path, text.as_bytes(), Privacy::Private)?;
        Ok(())
    }

    /// Ends the service and deletes its file if it is ours; returns that file, and the commands that
    /// could not be run.
    pub fn remove(self, world: &World) -> Result<Option<(PathBuf, Vec<String>)>> {
        let path = self.file(world);
        if !matches!(self.find(world)?, ServiceFile::Ours(_)) {
            return Ok(None);
        }
        let mut failed = run_all(world, &self.stops(world));
        fs::remove_file(&path).at(&path)?;
        if self == Self::Systemd && failed.is_empty() {
            failed = run_all(world, &[words(&["systemctl", "--user", "daemon-reload"])]);
        }
        Ok(Some((path, failed)))
    }
}

/// Says that a file is not ours.
pub fn strange(path: &Path) -> Failure {
    Failure::new(format!("{} was not written by Throughline", path.display()))
        .hint("Nothing was changed. Put it aside if the service is to stand there.")
}

/// The variables of this environment that the service needs.
#[expect(clippy::disallowed_methods, reason = "handed on to the service")]
pub fn variables() -> Vec<(&'static str, String)> {
    VARIABLES
        .into_iter()
        .filter_map(|name| {
            let value = std::env::var(name).ok()?;
            let plain = !value.is_empty() && !value.contains(char::is_control);
            plain.then_some((name, value))
        })
        .collect()
}

/// Runs commands one after another; returns those that failed, and those after them.
pub fn run_all(world: &World, commands: &[Vec<String>]) -> Vec<String> {
    let done = commands.iter().take_while(|command| runs(world, command)).count();
    commands[done..].iter().map(|command| command.join(" ")).collect()
}

/// Whether a command of the manager's ends with success.
pub fn runs(world: &World, command: &[String]) -> bool {
    let Some((name, arguments)) = command.split_first() else { return false };
    let Some(program) = programs::find(world.path.as_deref(), name) else { return false };
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok_and(|mut child| {
        answer::wait(&mut child, ANSWER_MAX).is_some_and(|status| status.success())
    })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// launchd's name for what runs in this user's session: the home folder is theirs.
fn domain(world: &World) -> String {
    use std::os::unix::fs::MetadataExt as _;
    format!("gui/{}", fs::metadata(&world.home).map_or(0, |home| home.uid()))
}
