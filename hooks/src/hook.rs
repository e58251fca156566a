//! The context of a running hook, and code shared by all hooks.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use memory_store_base::fs::disk::append_within;
use memory_store_base::fs::private_folders;
use memory_store_base::layout::{Place, Tree, TreeDir, UserDirs};
use memory_store_base::{Error, ProjectId, Timestamp, format_version};

use memory_store_recall::{Asker, Recall, Recalled};

use crate::deadline::Deadline;
use crate::event::Event;
use crate::payload::Payload;
use crate::platform;
use crate::program;
use crate::session::HookSession;
use crate::{unknown_folder, unreadable};
use memory_store_base::mode::Mode;

/// Maximum size of the log of hooks. A full log is renamed once and restarted.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// A running hook: the event, and all data for its answer.
#[derive(Debug)]
pub struct Hook {
    /// The time limits.
    pub deadline: Deadline,
    /// Folders of this user.
    pub dirs: UserDirs,
    /// Permission to write. Never [`Mode::Off`], and at most [`Mode::Read`] if `newer` is set.
    pub mode: Mode,
    /// The message for the person if a later version of the program has written the project's private state, which this
    /// one must not change.
    pub newer: Option<String>,
    /// The time.
    pub now: Timestamp,
    /// The working tree, which is trusted unless it `is_untrusted`.
    pub tree: Tree,
    /// True if another folder may be at the path of the tree; its events are answered without reading it.
    pub(crate) is_untrusted: bool,
    /// True if the tree has no record at its path yet.
    pub is_moved: bool,
    /// The state of the working tree.
    pub state: TreeDir,
    /// The event that the hook answers.
    pub event: Event,
    /// First unreadable part of the index, in one line.
    degraded: RefCell<Option<String>>,
    /// True if the index is damaged or outdated, so that a new one is due.
    index_is_due: Cell<bool>,
}

impl Hook {
    /// Reads the event from stdin and finds its tree. `None` if it is not relevant.
    pub(crate) fn from_process(mut deadline: Deadline) -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "the environment of a hook is read here")]
        let get = |name: &str| std::env::var_os(name);
        let mode = Mode::from_environment(get);
        if mode == Mode::Off {
            // The writer of the payload would report a closed pipe as a failed hook.
            drop(Payload::read(&deadline));
            return None;
        }
        let project_dir =
            get("CLAUDE_PROJECT_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let payload = Payload::read(&deadline);
        deadline.begin();
        let event = Event::from_payload(payload, project_dir.clone())?;
        let dirs = UserDirs::resolve(get)?;
        let now = now(get("THROUGHLINE_NOW"));
        let wanted = mode;
        let mode = mode.unless_off(&dirs.off_file(), now);
        if mode == Mode::Off {
            if wanted == Mode::Full {
                unreadable::answer(&dirs, &event).print(event.what.name(), &deadline);
            }
            return None;
        }
        // A session that leaves its project with `cd` is still a session of that project.
        let here = Tree::locate(&dirs, &event.cwd);
        let place = match here {
            Some(Place::Trusted(_) | Place::Moved(_)) => here,
            Some(Place::Changed(_)) | None => {
                project_dir.and_then(|folder| Tree::locate(&dirs, &folder)).or(here)
            }
        };
        let Some(place) = place else {
            if mode == Mode::Full {
                let output = unknown_folder::answer(&dirs, &event);
                output.print(event.what.name(), &deadline);
            }
            return None;
        };
        let (mode, newer) = mode_for_format(mode, &dirs, place.project());
        if mode == Mode::Full {
            private_folders::close_outer(&dirs);
        }
        let is_moved = matches!(place, Place::Moved(_));
        let is_untrusted = match &place {
            Place::Trusted(_) => false,
            Place::Moved(moved) => {
                if mode == Mode::Full {
                    moved.carry_state(&dirs);
                }
                !moved.is_clear
            }
            Place::Changed(_) => true,
        };
        let tree = place.tree();
        let state = dirs.tree(&tree.root);
        let (degraded, index_is_due) = Default::default();
        Some(Self {
            deadline,
            dirs,
            mode,
            newer,
            now,
            tree,
            is_untrusted,
            is_moved,
            state,
            event,
            degraded,
            index_is_due,
        })
    }

    /// Opens the index for queries; the session-start block needs no model.
    pub fn recall(&self) -> Recall {
        let program = program::path();
        #[expect(
            clippy::disallowed_methods,
            reason = "models are looked for only where recall needs them"
        )]
        let dirs = self.dirs.clone().with_models(|name| std::env::var_os(name), program.as_deref());
        let mut recall = Recall::open(&dirs, &self.tree, None);
        recall.asker = Asker::of_agent(self.event.agent_name.clone());
        recall
    }

    /// Returns whether files may be written and processes started.
    pub fn may_write(&self) -> bool {
        self.mode == Mode::Full
    }

    /// Returns whether memories may be claimed now; see [`Deadline::may_claim`].
    pub fn may_claim(&self) -> bool {
        self.may_write() && self.deadline.may_claim()
    }

    /// Records the read errors of recall; its result contains the readable part.
    pub fn note_index(&self, recalled: &Recalled) {
        if let Some(degraded) = &recalled.degraded {
            self.log(degraded);
            self.degraded.replace(Some(degraded.clone()));
        }
        if recalled.stale || recalled.outdated || recalled.degraded.is_some() {
            self.index_is_due.set(true);
        }
    }

    /// Records that files of the index are missing or truncated, whether or not this hook needs them.
    pub fn note_files(&self, recall: &Recall) {
        if recall.lacks_files() {
            self.index_is_due.set(true);
        }
    }

    /// Returns the first unreadable part of the index, if any.
    pub fn degraded(&self) -> Option<String> {
        self.degraded.borrow().clone()
    }

    /// Returns whether a new index is due: the present one cannot be read, or files or settings have changed since.
    pub fn index_is_due(&self) -> bool {
        self.index_is_due.get()
    }

    /// Reads what the session, or its subagent, was given; `None` if that cannot be read.
    pub fn session(&self) -> Option<HookSession> {
        let path = self.state.session(&self.event.session, self.event.agent.as_deref());
        self.attempt("session", HookSession::read(path, self.claimant()))
    }

    /// Reads what another session was given.
    pub fn other_session(&self, session: &str) -> Option<HookSession> {
        self.attempt(
            "session",
            HookSession::read(self.state.session(session, None), self.claimant()),
        )
    }

    /// Returns a number for this hook's claims that differs between concurrent hooks.
    fn claimant(&self) -> u64 {
        u64::from(std::process::id()) << 32 | u64::from(platform::since_1970().subsec_nanos())
    }

    /// Returns the value of a result whose failure does not affect the session. A failure is logged in one line.
    pub fn attempt<T>(&self, what: &str, result: std::io::Result<T>) -> Option<T> {
        result.inspect_err(|error| self.log(&format!("{what}: {error}"))).ok()
    }

    /// Writes one line to the log.
    pub fn log(&self, message: &str) {
        let line = format!("{} {} {message}\n", self.now, self.event.what.name());
        if is_debugging() {
            drop(write!(std::io::stderr(), "throughline: {line}"));
        }
        if !self.may_write() {
            return;
        }
        let log = &self.state.hook_log;
        if append_within(log, line.as_bytes(), LOG_BYTES_MAX).is_ok_and(|len| len >= LOG_BYTES_MAX)
        {
            drop(std::fs::rename(log, log.with_extension("log.old")));
        }
    }
}

/// Returns the mode for the present format of the private state, and the reason if it is less than `mode`.
fn mode_for_format(mode: Mode, dirs: &UserDirs, project: ProjectId) -> (Mode, Option<String>) {
    match format_version::check_project(dirs, project) {
        Err(newer @ Error::Newer { .. }) if mode == Mode::Full => {
            (Mode::Read, Some(newer.to_string()))
        }
        // An unreadable version file is reported by programs that write more than notes.
        Ok(()) | Err(_) => (mode, None),
    }
}

#[expect(clippy::disallowed_methods, reason = "asked only where something went wrong")]
pub(crate) fn is_debugging() -> bool {
    std::env::var_os("THROUGHLINE_DEBUG").is_some_and(|value| !value.is_empty())
}

/// Returns the time: the clock's, or a fixed one for tests, as RFC 3339 or milliseconds.
fn now(fixed: Option<OsString>) -> Timestamp {
    fixed.and_then(|text| Timestamp::from_setting(text.to_str()?)).unwrap_or_else(|| {
        Timestamp(i64::try_from(platform::since_1970().as_millis()).unwrap_or(i64::MAX))
    })
}
