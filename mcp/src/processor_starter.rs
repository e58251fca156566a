//! Starts the processor while the server runs. In a session that stays open for hours, no hook starts the processor
//! before the session ends, and settings may change.

use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use memory_store::background::{PROGRAM, has_unprocessed, is_running, sync_command};
use memory_store::format_version;
use memory_store::mode::Mode;
use memory_store::recall::Recall;

use crate::environment::ServerEnvironment;

/// Interval of the checks for unprocessed turns and changed settings.
pub const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);

/// Starts the processor if there are unprocessed turns.
#[derive(Debug)]
pub struct ProcessorStarter {
    program: Option<PathBuf>,
    /// Processes that were started and not yet reaped; each check reaps those that have ended.
    children: Vec<Child>,
}

impl ProcessorStarter {
    /// Uses `program`, or the processor installed beside this executable.
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
        let mut command = sync_command(program, tree.project, std::env::vars_os());
        self.children.push(command.spawn()?);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use memory_store::index::build::{Content, Publisher};
    use memory_store::layout::by_path_record;
    use memory_store::progress::Progress;
    use memory_store::settings::Settings;
    use memory_store::{ProjectId, Timestamp};

    use super::*;

    /// A project with one note in its inbox, and a processor that leaves a file and ends.
    fn project(home: &Path, mode: &str) -> (ServerEnvironment, ProcessorStarter) {
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
        (environment, ProcessorStarter::new(Some(program)))
    }

    #[test]
    fn the_processor_is_started_once_for_what_waits() {
        let home = tempfile::tempdir().unwrap();
        let (environment, mut starter) = project(&home.path().canonicalize().unwrap(), "full");
        assert!(starter.look(&environment).unwrap());
        starter.children[0].wait().unwrap();
        let ran = fs::read_to_string(home.path().join("ran")).unwrap();
        let project = ProjectId([7; 16]).to_string();
        assert_eq!(ran.trim(), format!("sync --project {project} --background"));

        let tree = environment.dirs.tree(&environment.folder);
        let progress = Progress { inbox_bytes: 3, ..Progress::default() };
        fs::write(&tree.progress, serde_json::to_vec(&progress).unwrap()).unwrap();
        assert!(!starter.look(&environment).unwrap(), "nothing waits any more");

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
        assert!(!starter.look(&environment).unwrap());
        fs::create_dir_all(&environment.dirs.config).unwrap();
        fs::write(environment.dirs.config_file(), "pulled = \"reviewed\"\n").unwrap();
        assert!(starter.look(&environment).unwrap(), "new settings wait");
        starter.children[0].wait().unwrap();
    }

    #[test]
    fn the_processor_is_not_started_where_it_may_not_be_or_runs_already() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (environment, mut starter) = project(&home, "read");
        assert!(!starter.look(&environment).unwrap());
        let (environment, mut starter) = project(&home, "full");
        let lock = environment.dirs.project(ProjectId([7; 16])).sync_lock;
        let held = File::create(&lock).unwrap();
        held.lock().unwrap();
        assert!(!starter.look(&environment).unwrap());
        drop(held);
        assert!(starter.look(&environment).unwrap());
        starter.children[0].wait().unwrap();
    }
}
