//! Starts the processor while the server runs. In a session that stays open for hours, no hook starts the processor
//! before the session ends, and settings may change.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use memory_store::background::{PROGRAM, has_unprocessed, is_passed_on, is_running};
use memory_store::fs::process::in_own_group;
use memory_store::mode::Mode;
use memory_store::recall::Recall;
use memory_store::{ProjectId, format_version};

use crate::environment::ServerEnvironment;

/// Interval of the checks for unprocessed turns and changed settings.
pub const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);

/// Starts the processor if there are unprocessed turns.
#[derive(Debug)]
pub struct Background {
    program: Option<PathBuf>,
    /// Processes that were started and not yet reaped; each check reaps those that have ended.
    children: Vec<Child>,
}

impl Background {
    /// Uses `program`, or else the processor in the folder of this program.
    pub fn new(program: Option<PathBuf>) -> Self {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name(PROGRAM));
        Self { program: program.or_else(beside), children: Vec::new() }
    }

    /// Starts the processor if there are unprocessed turns or changed settings, and no run is active. Returns whether
    /// the processor was started.
    pub fn look(&mut self, environment: &ServerEnvironment) -> io::Result<bool> {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let (Some(program), Some(tree)) = (&self.program, environment.tree()) else {
            return Ok(false);
        };
        let idle = environment.mode() != Mode::Full
            || format_version::check_project(&environment.dirs, tree.project).is_err()
            || !self.children.is_empty()
            || !(has_unprocessed(&environment.dirs.tree(&tree.root))
                || Recall::open(&environment.dirs, &tree, None).is_outdated())
            || is_running(&environment.dirs.project(tree.project));
        if idle {
            return Ok(false);
        }
        self.children.push(start(program, tree.project)?);
        Ok(true)
    }
}

/// Starts the processor in a separate process group and without the streams of this process: stdout belongs to the
/// protocol, and the client waits until its pipes are closed.
fn start(program: &Path, project: ProjectId) -> io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(["sync", "--project", &project.to_string(), "--background"])
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    in_own_group(&mut command).spawn()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use memory_store::Timestamp;
    use memory_store::index::build::{Content, Publisher};
    use memory_store::layout::by_path_record;
    use memory_store::progress::Progress;
    use memory_store::settings::Settings;

    use super::*;

    /// Returns a project with one note in its inbox, and a stand-in for the processor that leaves a file and ends.
    fn project(home: &Path, mode: &str) -> (ServerEnvironment, Background) {
        let root = home.join("work");
        fs::create_dir_all(&root).unwrap();
        let environment = ServerEnvironment::read(
            |name| match name {
                "HOME" => Some(home.into()),
                "THROUGHLINE" => Some(mode.into()),
                _ => None,
            },
            root.clone(),
        )
        .unwrap();
        let dirs = &environment.dirs;
        fs::create_dir_all(dirs.by_path(&root).parent().unwrap()).unwrap();
        fs::write(dirs.by_path(&root), by_path_record(ProjectId([7; 16]), &root, None)).unwrap();
        fs::create_dir_all(&dirs.tree(&root).folder).unwrap();
        fs::create_dir_all(&dirs.project(ProjectId([7; 16])).folder).unwrap();
        fs::write(dirs.tree(&root).inbox, "{}\n").unwrap();
        let program = home.join("processor");
        fs::write(&program, format!("#!/bin/sh\necho \"$@\" > {}/ran\n", home.display())).unwrap();
        testutils::set_mode(&program, 0o755);
        (environment, Background::new(Some(program)))
    }

    #[test]
    fn the_processor_is_started_once_for_what_waits() {
        let home = tempfile::tempdir().unwrap();
        let (environment, mut background) = project(&home.path().canonicalize().unwrap(), "full");
        assert!(background.look(&environment).unwrap());
        background.children[0].wait().unwrap();
        let ran = fs::read_to_string(home.path().join("ran")).unwrap();
        let project = ProjectId([7; 16]).to_string();
        assert_eq!(ran.trim(), format!("sync --project {project} --background"));

        let tree = environment.dirs.tree(&environment.folder);
        let progress = Progress { inbox_bytes: 3, ..Progress::default() };
        fs::write(&tree.progress, serde_json::to_vec(&progress).unwrap()).unwrap();
        assert!(!background.look(&environment).unwrap(), "nothing waits any more");

        // The index was published before the current settings file was written.
        let (index, root) = (tree.index.clone(), &environment.folder);
        let content = Content {
            root,
            memories: &[],
            passages: None,
            start: &[],
            settings: &Settings::default(),
            now: Timestamp::default(),
        };
        Publisher::begin(&index).unwrap().publish(content).unwrap();
        assert!(!background.look(&environment).unwrap());
        fs::create_dir_all(&environment.dirs.config).unwrap();
        fs::write(environment.dirs.config_file(), "pulled = \"reviewed\"\n").unwrap();
        assert!(background.look(&environment).unwrap(), "new settings wait");
        background.children[0].wait().unwrap();
    }

    #[test]
    fn the_processor_is_not_started_where_it_may_not_be_or_runs_already() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (environment, mut background) = project(&home, "read");
        assert!(!background.look(&environment).unwrap());
        let (environment, mut background) = project(&home, "full");
        let lock = environment.dirs.project(ProjectId([7; 16])).sync_lock;
        let held = File::create(&lock).unwrap();
        held.lock().unwrap();
        assert!(!background.look(&environment).unwrap());
        drop(held);
        assert!(background.look(&environment).unwrap());
        background.children[0].wait().unwrap();
    }
}
