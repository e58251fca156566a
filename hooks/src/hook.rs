//! The context of a running hook, and code that all hooks share.

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

/// Maximum size in bytes of the hooks' log. A full log is renamed, replacing the previous one, and a new one is
/// started.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// A running hook: its event, and all data needed to answer it.
#[derive(Debug)]
pub struct Hook {
    /// The time limits.
    pub deadline: Deadline,
    /// This user's folders.
    pub dirs: UserDirs,
    /// Permissions of this hook. Never [`Mode::Off`], and at most [`Mode::Read`] if `newer` is set.
    pub mode: Mode,
    /// Message for the person, if a later version of the program has written the project's private state. This version
    /// must not change that state.
    pub newer: Option<String>,
    /// The time at which the hook runs.
    pub now: Timestamp,
    /// The working tree. It is trusted unless `is_untrusted` is set.
    pub tree: Tree,
    /// True if a different folder may be at the tree's path. Such a tree's events are answered without reading the
    /// tree.
    pub(crate) is_untrusted: bool,
    /// True if the tree has no record at its present path yet.
    pub is_moved: bool,
    /// Files with the state of the working tree.
    pub state: TreeDir,
    /// The event that the hook answers.
    pub event: Event,
    /// The first part of the index that could not be read, as one line.
    degraded: RefCell<Option<String>>,
    /// True if the index is damaged or outdated and must be rebuilt.
    index_is_due: Cell<bool>,
}

impl Hook {
    /// Reads the event from stdin and finds its working tree. Returns `None` if there is nothing for the hook to do.
    pub(crate) fn from_process(mut deadline: Deadline) -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "the environment of a hook is read here")]
        let get = |name: &str| std::env::var_os(name);
        let mode = Mode::from_environment(get);
        if mode == Mode::Off {
            // The payload is read although it is ignored: if the pipe were closed early, its writer would report a
            // failed hook.
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
        // A session that leaves the folder of its project with `cd` still belongs to that project.
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

    /// Opens the index for queries; the session-start block does not need this, as it uses no embedder.
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

    /// Returns whether this hook may write files and start processes.
    pub fn may_write(&self) -> bool {
        self.mode == Mode::Full
    }

    /// Returns whether this hook may claim memories now; see [`Deadline::may_claim`].
    pub fn may_claim(&self) -> bool {
        self.may_write() && self.deadline.may_claim()
    }

    /// Records the read errors of a recall, whose result contains only the readable part.
    pub fn note_index(&self, recalled: &Recalled) {
        if let Some(degraded) = &recalled.degraded {
            self.log(degraded);
            self.degraded.replace(Some(degraded.clone()));
        }
        if recalled.stale || recalled.outdated || recalled.degraded.is_some() {
            self.index_is_due.set(true);
        }
    }

    /// Records whether files of the index are missing or truncated, even if this hook does not need those files.
    pub fn note_files(&self, recall: &Recall) {
        if recall.lacks_files() {
            self.index_is_due.set(true);
        }
    }

    /// Returns the first part of the index that could not be read; `None` if all was readable.
    pub fn degraded(&self) -> Option<String> {
        self.degraded.borrow().clone()
    }

    /// Returns whether the index must be rebuilt: it cannot be read, or files or settings have changed since it was
    /// built.
    pub fn index_is_due(&self) -> bool {
        self.index_is_due.get()
    }

    /// Returns the session file of this session, or of the subagent of this event; `None` if it cannot be read.
    pub fn session(&self) -> Option<HookSession> {
        let path = self.state.session(&self.event.session, self.event.agent.as_deref());
        self.attempt("session", HookSession::read(path, self.claimant()))
    }

    /// Returns the session file of another session; `None` if it cannot be read.
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

    /// Returns the value of a result whose failure does not affect the session; `None` if it failed. A failure is
    /// logged in one line.
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

/// Returns the mode that the format of the project's private state permits, and a message if that is less than `mode`.
fn mode_for_format(mode: Mode, dirs: &UserDirs, project: ProjectId) -> (Mode, Option<String>) {
    match format_version::check_project(dirs, project) {
        Err(newer @ Error::Newer { .. }) if mode == Mode::Full => {
            (Mode::Read, Some(newer.to_string()))
        }
        // An unreadable version file is ignored here; the programs that write more than notes report it.
        Ok(()) | Err(_) => (mode, None),
    }
}

#[expect(clippy::disallowed_methods, reason = "asked only where something went wrong")]
pub(crate) fn is_debugging() -> bool {
    std::env::var_os("THROUGHLINE_DEBUG").is_some_and(|value| !value.is_empty())
}

/// Returns the current time. For tests, `fixed` is a time in RFC 3339 or in milliseconds that is returned instead.
fn now(fixed: Option<OsString>) -> Timestamp {
    fixed.and_then(|text| Timestamp::from_setting(text.to_str()?)).unwrap_or_else(|| {
        Timestamp(i64::try_from(platform::since_1970().as_millis()).unwrap_or(i64::MAX))
    })
}
