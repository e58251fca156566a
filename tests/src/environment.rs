//! A sealed environment with its own home, without variables of the caller, and with the programs of this build.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testutils::SYSTEM_PATH;

/// Variable with the folder of the programs to test, in place of those of this build.
const BIN_DIR_VARIABLE: &str = "THROUGHLINE_TEST_BIN_DIR";

/// Variable that, with any value, keeps the temporary folders for inspection.
const KEEP_VARIABLE: &str = "THROUGHLINE_TEST_KEEP";

/// Longest wait for the end of background work, in seconds: twice the time limit for embedding in the background.
const QUIET_S: u64 = 120;

/// A home in a temporary folder, which is removed at the end.
pub struct TestEnvironment {
    folder: TempDir,
    bin_dir: PathBuf,
    now: Option<String>,
    config_dir: Option<PathBuf>,
}

impl TestEnvironment {
    /// Creates an empty home.
    pub fn new() -> io::Result<Self> {
        let keep = std::env::var_os(KEEP_VARIABLE).is_some();
        let folder =
            tempfile::Builder::new().prefix("throughline-").disable_cleanup(keep).tempdir()?;
        let environment = Self { folder, bin_dir: bin_dir()?, now: None, config_dir: None };
        fs::create_dir(environment.home())?;
        Ok(environment)
    }

    /// Sets the clock of the programs to the fixed time `now`, in RFC 3339.
    pub fn at(mut self, now: &str) -> Self {
        self.now = Some(now.to_owned());
        self
    }

    /// Uses a folder other than `~/.claude` for Claude Code, by `CLAUDE_CONFIG_DIR`.
    pub fn with_config_dir(mut self) -> Self {
        self.config_dir = Some(self.path().join("claude-config"));
        self
    }

    /// Reads Claude Code's folder of another home. Of Throughline's programs, only `init` would write there.
    pub fn reading_claude_dir(mut self, folder: PathBuf) -> Self {
        self.config_dir = Some(folder);
        self
    }

    /// Returns the folder that contains all files, with symbolic links resolved.
    pub fn path(&self) -> PathBuf {
        // On macOS the temporary folder is a symbolic link, and Claude Code records real paths.
        fs::canonicalize(self.folder.path()).unwrap_or_else(|_| self.folder.path().to_owned())
    }

    /// Returns the home folder.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Returns Claude Code's folder.
    pub fn claude_dir(&self) -> PathBuf {
        self.config_dir.clone().unwrap_or_else(|| self.home().join(".claude"))
    }

    /// Returns the folder of Throughline's permanent data.
    pub fn data_dir(&self) -> PathBuf {
        self.home().join(".local/share/throughline")
    }

    /// Returns the folder of Throughline's disposable state.
    pub fn state_dir(&self) -> PathBuf {
        self.home().join(".local/state/throughline")
    }

    /// Returns the path of a program.
    pub fn binary(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }

    /// Creates a folder below [`Self::path`].
    pub fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns whether git is installed.
    pub fn has_git(&self) -> bool {
        printed(self.command("git").arg("--version")).is_ok()
    }

    /// Creates a git repository with one commit.
    pub fn repository(&self, name: &str) -> io::Result<PathBuf> {
        let root = self.folder(name)?;
        self.git(&root, &["init", "--quiet", "--initial-branch=main"])?;
        fs::write(root.join("README.md"), format!("# {name}\n"))?;
        self.git(&root, &["add", "."])?;
        // The commit is earlier than all sessions, since sessions before the first commit are not attributed to the
        // repository.
        let mut commit = self.git_command(&root, &["commit", "--quiet", "--message", "Begin"]);
        let long_ago = "2026-01-02T03:04:05Z";
        printed(commit.env("GIT_AUTHOR_DATE", long_ago).env("GIT_COMMITTER_DATE", long_ago))?;
        Ok(root)
    }

    /// Runs git with a fixed identity and returns its output.
    pub fn git(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        printed(&mut self.git_command(root, arguments))
    }

    fn git_command(&self, root: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command("git");
        command
            .current_dir(root)
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(["-c", "commit.gpgsign=false"])
            .args(arguments);
        command
    }

    /// Returns a command that does not inherit the caller's environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = testutils::sealed(program, &self.home());
        command
            .env("PATH", format!("{}:{SYSTEM_PATH}", self.bin_dir.display()))
            .env("LANG", "C.UTF-8")
            .current_dir(self.path());
        if let Some(folder) = &self.config_dir {
            command.env("CLAUDE_CONFIG_DIR", folder);
        }
        if let Some(now) = &self.now {
            command.env("THROUGHLINE_NOW", now);
        }
        command
    }

    /// Runs `throughline` and returns its output; an error contains the command and its message.
    pub fn throughline(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        let mut command = self.command(self.binary("throughline"));
        // The mode is set, because the default in CI is to recall only.
        printed(command.current_dir(root).env("THROUGHLINE", "full").args(arguments))
    }

    /// Runs a hook with these bytes on its stdin and these variables.
    pub fn hook_with(
        &self,
        name: &str,
        payload: &[u8],
        variables: &[(&str, &str)],
    ) -> io::Result<Output> {
        use io::Write;
        let mut child = self
            .command(self.binary(name))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A write error is ignored, since a hook may stop reading early.
            drop(stdin.write_all(payload));
        }
        child.wait_with_output()
    }

    /// Returns the live processes that were started from this environment.
    pub fn processes(&self) -> Vec<String> {
        processes_below(&self.path())
    }

    /// Waits until no process of this environment runs; returns the processes that still run at the time limit.
    pub fn wait_until_quiet(&self) -> Vec<String> {
        let end = Instant::now() + Duration::from_secs(QUIET_S);
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs a command, which must succeed, and returns its output.
pub fn printed(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(io::Error::other(format!(
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )))
}

/// Returns the folder with the programs of this build. Cargo puts test programs into the folder `deps` below it.
fn bin_dir() -> io::Result<PathBuf> {
    if let Some(folder) = std::env::var_os(BIN_DIR_VARIABLE) {
        return fs::canonicalize(folder);
    }
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or(io::ErrorKind::NotFound)?;
    let folder = if folder.ends_with("deps") { folder.parent() } else { Some(folder) };
    Ok(folder.ok_or(io::ErrorKind::NotFound)?.to_owned())
}

/// Returns the running processes whose environment contains the home of this test. The home distinguishes them from
/// other programs, and from journeys that run at the same time.
fn processes_below(folder: &Path) -> Vec<String> {
    let home = format!("HOME={}", folder.join("home").display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        variables.split(|&byte| byte == 0).any(|variable| variable == home.as_bytes())
    });
    ours.filter_map(|entry| {
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        // A process that has ended but was not reaped has no command line.
        (!words.is_empty()).then(|| format!("{} {words}", entry.file_name().to_string_lossy()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_caller_is_visible() {
        let environment = TestEnvironment::new().unwrap().at("2026-10-02T10:00:00Z");
        let variables = printed(&mut environment.command("env")).unwrap();
        let mut names: Vec<_> =
            variables.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        let expected = ["GIT_CONFIG_NOSYSTEM", "HOME", "LANG", "PATH", "THROUGHLINE_NOW"];
        let of_tests = [testutils::MACHINE_VARIABLE, testutils::PROC_VARIABLE];
        assert_eq!(names, [expected.as_slice(), &of_tests].concat());
    }

    #[test]
    fn processes_of_this_environment_are_seen() {
        let environment = TestEnvironment::new().unwrap();
        let mut child = environment.command("sleep").arg("60").spawn().unwrap();
        assert!(
            !cfg!(target_os = "linux") || environment.processes()[0].contains("sleep 60"),
            "{:?}",
            environment.processes()
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(environment.wait_until_quiet(), Vec::<String>::new());
    }

    #[test]
    fn the_error_of_a_failed_command_names_the_command() {
        let environment = TestEnvironment::new().unwrap();
        let error = printed(environment.command("git").arg("no-such-verb")).unwrap_err();
        assert!(error.to_string().contains("no-such-verb"), "{error}");
    }
}
