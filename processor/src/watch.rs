//! Watches Claude Code's transcripts, and runs syncs of trusted projects while their sessions run. It starts the same
//! background sync as hooks, without needing a hook.

mod marks;
mod queue;
mod signals;
mod source;
mod waker;
mod worker;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use memory_store::fs::dir::path_of_bytes;
use memory_store::fs::process::{lower_priority, yield_disk};
use memory_store::layout::{Tree, UserDirs};
use memory_store::mode::Mode;
use memory_store::{ProjectId, Timestamp, background};

use crate::lock::{Busy, Lock};
use crate::transcript::SOURCE;
use marks::TranscriptMarks;
use queue::Queue;
use source::NewsSource;
pub use waker::Waker;
use worker::Worker;

/// Maximum number of working trees whose records are read when watching starts.
const RECORDS_MAX: usize = 10_000;
/// Maximum size of such a record in bytes.
const RECORD_BYTES_MAX: u64 = 16 << 10;
/// Interval between checks of a running sync.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Delay before a project is tried again if another process was running a sync of it, or if all projects were switched
/// off.
const BUSY_WAIT: Duration = Duration::from_secs(30);

/// Delays and intervals of the watcher.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time without growth after which a transcript is processed.
    pub quiet: Duration,
    /// Time after which a transcript is processed although it still grows.
    pub patience: Duration,
    /// Minimum time between two syncs of one project.
    pub gap: Duration,
    /// Time without growth after which a session counts as ended, so that questions to models are allowed.
    pub settled: Duration,
    /// Interval between scans if there are no file events.
    pub poll: Duration,
    /// Interval between scans if there are file events. These scans find changes without events.
    pub rescan: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(2),
            patience: Duration::from_secs(30),
            gap: Duration::from_secs(10),
            settled: Duration::from_secs(31 * 60),
            poll: Duration::from_secs(10),
            rescan: Duration::from_secs(5 * 60),
        }
    }
}

/// Options of the watcher.
#[derive(Clone, Debug)]
pub struct Options {
    /// The user's folders.
    pub dirs: UserDirs,
    /// The path of the processor program.
    pub processor: PathBuf,
    /// Whether to scan periodically instead of waiting for events.
    pub polls: bool,
    /// Delays and intervals.
    pub pace: Pace,
}

/// Returns the path of the lock that allows only one `throughline watch` per user.
fn lock_path(dirs: &UserDirs) -> PathBuf {
    dirs.state.join("watch.lock")
}

/// Takes the lock for watching; `None` if another process has it.
pub fn take_turn(dirs: &UserDirs) -> Result<Option<Lock>> {
    Lock::take(&lock_path(dirs), Busy::Leave)
}

/// Returns whether a watcher of this user is running.
pub fn is_running(dirs: &UserDirs) -> bool {
    File::open(lock_path(dirs))
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Stops watching on SIGINT and SIGTERM. Must be called before any other thread starts.
pub fn stop_on_signals(waker: &Waker) -> Result<()> {
    signals::stop_on(waker.clone())
}

/// Lowers this process's priority for processor and disk. Child processes inherit the priority.
pub fn step_back() {
    lower_priority();
    yield_disk();
}

/// Watches until `waker` requests a stop. `say` is called with each line for the user.
pub fn run(options: &Options, waker: &Waker, say: &mut dyn FnMut(&str)) -> Result<()> {
    let Options { dirs, pace, .. } = options;
    let folder = SOURCE.folder(&dirs.claude);
    let mut source = NewsSource::open(&folder, waker, options.polls);
    say(&source.description(&folder));
    let mut marks = TranscriptMarks::default();
    let mut queue = Queue::new(*pace);
    marks.note_all(&folder);
    for project in vouched_for(dirs) {
        queue.grew(project, Instant::now());
    }
    let mut worker: Option<Worker> = None;
    let mut look_at = Instant::now() + source.every(pace);
    loop {
        let now = Instant::now();
        let wake_at = match &worker {
            Some(_) => (now + LOOK_EVERY).min(look_at),
            None => queue.next_at().map_or(look_at, |at| at.min(look_at)),
        };
        let noted = waker.wait(wake_at.saturating_duration_since(now));
        if noted.stops {
            break;
        }
        let now = Instant::now();
        if noted.lost || source.waits_for_folder() && now >= look_at {
            let before = source.description(&folder);
            source = NewsSource::open(&folder, waker, options.polls);
            let after = source.description(&folder);
            if after != before {
                say(&after);
            }
        }
        let grown = if noted.rescan || noted.lost || now >= look_at {
            // Events in a new folder are received only after the folder itself was reported. Another scan finds files
            // that were written before that.
            look_at = now + if noted.rescan { pace.quiet } else { source.every(pace) };
            marks.rescan(dirs, &folder)
        } else {
            marks.look_at(dirs, &noted.paths)
        };
        for project in grown {
            queue.grew(project, now);
        }
        if let Some((project, succeeded)) = worker.as_mut().and_then(Worker::ended) {
            worker = None;
            queue.ended(project, now, succeeded);
            if !succeeded {
                say(&format!(
                    "project {project}: the sync failed; `throughline doctor` in it says why"
                ));
            }
        }
        if worker.is_none()
            && let Some(project) = queue.take(now)
        {
            if is_off(dirs) || background::is_running(&dirs.project(project)) {
                // The running processor may have read the transcripts before they grew.
                queue.postpone(project, now + BUSY_WAIT);
                continue;
            }
            match Worker::start(&options.processor, project) {
                Ok(started) => worker = Some(started),
                Err(error) => {
                    say(&format!("{}: {error}", options.processor.display()));
                    queue.ended(project, now, false);
                }
            }
        }
    }
    if let Some(worker) = worker {
        worker.stop();
    }
    Ok(())
}

/// Returns whether `throughline off` is active for all projects.
fn is_off(dirs: &UserDirs) -> bool {
    #[expect(clippy::disallowed_methods, reason = "runs for days: it asks again and again")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    Mode::Full.unless_off(&dirs.off_file(), now) != Mode::Full
}

/// Returns the existing trusted projects.
fn vouched_for(dirs: &UserDirs) -> BTreeSet<ProjectId> {
    let Ok(records) = fs::read_dir(dirs.data.join("by-path")) else { return BTreeSet::new() };
    let records = records.flatten().take(RECORDS_MAX);
    records
        .filter_map(|record| {
            let mut bytes = Vec::new();
            let file = File::open(record.path()).ok()?;
            file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes).ok()?;
            // The first line is `<project> <path>`; the tree fingerprint follows on the next lines.
            let line = bytes.split(|byte| *byte == b'\n').next()?;
            let at = line.iter().position(|byte| *byte == b' ')?;
            let root = path_of_bytes(&line[at + 1..]);
            Some(Tree::find(dirs, &root)?.project)
        })
        .collect()
}
