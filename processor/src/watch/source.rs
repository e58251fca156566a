//! Source of changes of transcripts: events of the operating system, or periodic scans if there are no events.

use std::path::Path;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use memory_store::fs::disk::is_remote;

use super::{Pace, Waker};
use crate::transcript::SOURCE;

/// A source of changes.
#[derive(Debug)]
pub enum NewsSource {
    /// Events of the operating system.
    Events(#[expect(dead_code, reason = "events come as long as it lives")] RecommendedWatcher),
    /// Periodic scans, with the reason.
    Polling(PollingReason),
}

/// Reason for scanning instead of waiting for events.
#[derive(Debug)]
pub enum PollingReason {
    /// The user requested it.
    Asked,
    /// The folder does not exist yet.
    NoFolder,
    /// The folder is on another machine, or on a file system without change events.
    Remote,
    /// The operating system returned an error.
    Refused(String),
}

impl NewsSource {
    /// Begins to watch for changes below `folder`.
    pub fn open(folder: &Path, waker: &Waker, polls: bool) -> Self {
        if polls {
            return Self::Polling(PollingReason::Asked);
        }
        if !folder.is_dir() {
            return Self::Polling(PollingReason::NoFolder);
        }
        if is_remote(folder) {
            return Self::Polling(PollingReason::Remote);
        }
        let (waker, root) = (waker.clone(), folder.to_owned());
        let listens = notify::recommended_watcher(move |event| take(&root, &waker, event))
            .and_then(|mut watcher| {
                watcher.watch(folder, RecursiveMode::Recursive)?;
                Ok(watcher)
            });
        match listens {
            Ok(watcher) => Self::Events(watcher),
            Err(error) => Self::Polling(PollingReason::Refused(error.to_string())),
        }
    }

    /// Returns the time between two full scans.
    pub const fn every(&self, pace: &Pace) -> Duration {
        match self {
            Self::Events(_) => pace.rescan,
            Self::Polling(_) => pace.poll,
        }
    }

    /// Returns whether events may become available when the folder exists.
    pub const fn waits_for_folder(&self) -> bool {
        matches!(self, Self::Polling(PollingReason::NoFolder))
    }

    /// Returns a description of the source for people.
    pub fn description(&self, folder: &Path) -> String {
        let folder = folder.display();
        match self {
            Self::Events(_) => format!("Watching {folder}."),
            Self::Polling(PollingReason::Asked) => {
                format!("Looking at {folder} from time to time.")
            }
            Self::Polling(PollingReason::NoFolder) => {
                format!("{folder} is not there yet; it is watched once Claude Code made it.")
            }
            Self::Polling(PollingReason::Remote) => format!(
                "Looking at {folder} from time to time: its file system tells nothing of changes."
            ),
            Self::Polling(PollingReason::Refused(error)) => {
                format!("Looking at {folder} from time to time: it cannot be watched ({error}).")
            }
        }
    }
}

/// Processes one event of the operating system.
fn take(root: &Path, waker: &Waker, event: notify::Result<Event>) {
    let Ok(event) = event else { return waker.rescan() };
    if event.need_rescan() {
        return waker.rescan();
    }
    // Read accesses are ignored; the processor itself reads the files.
    if event.kind.is_access() {
        return;
    }
    let creates = event.kind.is_create();
    for path in event.paths {
        if path == root {
            if event.kind.is_remove() {
                waker.lost();
            }
        } else if SOURCE.name(&path).is_some() {
            waker.changed(path);
        } else if creates && path.is_dir() {
            // There are no events for files that were written into the folder before it was watched.
            waker.rescan();
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, EventKind, Flag, ModifyKind, RemoveKind};

    use super::*;

    fn noted(event: notify::Result<Event>) -> super::super::waker::WakeReason {
        let waker = Waker::default();
        take(Path::new("/p"), &waker, event);
        waker.wait(Duration::ZERO)
    }

    fn of(kind: EventKind, path: &str) -> notify::Result<Event> {
        Ok(Event::new(kind).add_path(path.into()))
    }

    #[test]
    fn lost_events_lead_to_a_look_at_everything() {
        let overflow = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        assert!(noted(Ok(overflow)).rescan);
        assert!(noted(Err(notify::Error::generic("queue"))).rescan);
        assert!(noted(of(EventKind::Remove(RemoveKind::Folder), "/p")).lost);
    }

    #[test]
    fn only_transcripts_are_news() {
        let modified = EventKind::Modify(ModifyKind::Any);
        let news = noted(of(modified, "/p/-w/s1.jsonl"));
        assert!(!news.rescan && news.paths.iter().eq([Path::new("/p/-w/s1.jsonl")]), "{news:?}");
        for (kind, path) in [
            (modified, "/p/-w/s1.txt"),
            (EventKind::Access(AccessKind::Any), "/p/-w/s1.jsonl"),
            (EventKind::Create(CreateKind::File), "/p/-w/memory.md"),
        ] {
            assert_eq!(noted(of(kind, path)), Default::default(), "{kind:?} {path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().to_str().unwrap();
        assert!(noted(of(EventKind::Create(CreateKind::Folder), made)).rescan);
    }

    #[test]
    fn where_no_events_come_it_polls() {
        let folder = tempfile::tempdir().unwrap();
        let (waker, pace) = (Waker::default(), Pace::default());
        let asked = NewsSource::open(folder.path(), &waker, true);
        assert!(!asked.waits_for_folder() && asked.every(&pace) == pace.poll);
        let missing = NewsSource::open(&folder.path().join("missing"), &waker, false);
        assert!(missing.waits_for_folder() && missing.every(&pace) == pace.poll);
    }
}
