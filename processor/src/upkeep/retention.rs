//! Limits for the age of turns and the size of the archive.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::error::Result;
use memory_store::identity;
use memory_store::layout::UserDirs;
use memory_store::settings::Settings;
use memory_store::time::DAY_MS;
use memory_store::{ProjectId, Timestamp, settings_file};
use serde::Serialize;

use crate::collect::archive::{self, ArchiveEntry};
use crate::collect::discover::Transcript;
use crate::collect::unclaimed::{known_sessions, last_active};
use crate::private_files::read_json;
use crate::state::SessionState;

/// Maximum number of days by which the clock may be ahead of the newest item.
const AHEAD_DAYS_MAX: i64 = 30;

/// Returns the current time for decisions about age, but at most a month after the `newest` item, because a wrong clock
/// must not empty the archive.
pub fn believed(clock: Timestamp, newest: Option<Timestamp>) -> Timestamp {
    newest.map_or(clock, |newest| {
        clock.min(Timestamp(newest.0.saturating_add(AHEAD_DAYS_MAX * DAY_MS)))
    })
}

/// The limits in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions whose last record is before this time are removed.
    pub oldest: Timestamp,
    /// Sessions whose last record is before this time are not removed because of their age.
    pub kept_until: Timestamp,
    /// Maximum size of the archive in bytes.
    pub bytes_max: u64,
}

impl Limits {
    /// Returns the limits from the program's settings, or from Claude Code's settings if these have a shorter period.
    pub fn of(settings: &Settings, dirs: &UserDirs, now: Timestamp) -> Self {
        Self {
            oldest: Age::of(settings, dirs).limit(now),
            kept_until: Timestamp::default(),
            bytes_max: settings.archive_bytes_max,
        }
    }

    /// Returns whether a session that was last active at `last` is removed because of its age.
    fn is_too_old(&self, last: Timestamp) -> bool {
        // A session without a time has just begun.
        last != Timestamp::default() && last < self.oldest && last >= self.kept_until
    }

    /// Returns the names of the sessions to be removed, the oldest first.
    pub fn expired(
        &self,
        entries: &[ArchiveEntry],
        sessions: &BTreeMap<String, SessionState>,
    ) -> Vec<String> {
        let last = |entry: &ArchiveEntry| {
            sessions.get(&entry.name).map_or(Timestamp::default(), |session| session.last)
        };
        let mut order: Vec<&ArchiveEntry> = entries.iter().collect();
        order.sort_by_key(|entry| (last(entry), entry.name.as_str()));
        let mut bytes: u64 = entries.iter().map(|entry| entry.len).sum();
        let mut names = Vec::new();
        for entry in order {
            if self.is_too_old(last(entry)) || bytes > self.bytes_max {
                bytes -= entry.len;
                names.push(entry.name.clone());
            }
        }
        names
    }
}

/// Maximum age of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Age {
    days: i64,
    /// Name of the setting with the maximum age.
    setting: &'static str,
}

impl Age {
    fn of(settings: &Settings, dirs: &UserDirs) -> Self {
        let own = Self { days: i64::from(settings.retention_days), setting: "retention_days" };
        let client = |days| Self { days, setting: "cleanupPeriodDays" };
        claude_days(dirs).filter(|days| *days < own.days).map_or(own, client)
    }

    /// Returns the time before which sessions are too old at `now`.
    const fn limit(self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.days.saturating_mul(DAY_MS)))
    }
}

/// Sessions that already exceed the maximum age when a project is set up. Unless they are kept, the sync that reads
/// them removes their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OldSessions {
    /// Number of sessions.
    pub count: usize,
    /// The maximum age in days.
    pub days: i64,
    /// Name of the setting with the maximum age.
    pub setting: &'static str,
    /// The sessions ended before this time.
    pub before: Timestamp,
}

impl OldSessions {
    /// Finds such sessions among `transcripts`; `None` if there are none, or if the user has decided to keep them.
    ///
    /// # Errors
    /// If the project's record cannot be read.
    pub fn look(
        dirs: &UserDirs,
        project: ProjectId,
        transcripts: &[Transcript],
        now: Timestamp,
    ) -> Result<Option<Self>> {
        let (settings, _) = settings_file::load(dirs, None);
        let Age { days, setting } = Age::of(&settings, dirs);
        let limits = Limits {
            kept_until: identity::turns_kept_until(dirs, project)?,
            ..Limits::of(&settings, dirs, now)
        };
        let known = known_sessions(dirs, project);
        let is_old = |transcript: &&Transcript| {
            transcript.name.agent.is_none()
                && !known.contains(&archive::name_of(&transcript.name))
                && limits.is_too_old(last_active(transcript))
        };
        // Copies of a transcript count as one session.
        let old = transcripts.iter().filter(is_old).map(|transcript| &transcript.name.session);
        let count = old.collect::<BTreeSet<_>>().len();
        let old = Self { count, days, setting, before: limits.oldest };
        Ok((count > 0).then_some(old))
    }
}

/// Returns `cleanupPeriodDays` from Claude Code's settings; `None` if it is not set.
fn claude_days(dirs: &UserDirs) -> Option<i64> {
    let settings: serde_json::Value = read_json(&dirs.claude.join("settings.json"))?;
    settings.get("cleanupPeriodDays")?.as_i64().filter(|days| *days > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, len: u64) -> ArchiveEntry {
        ArchiveEntry { name: name.into(), path: name.into(), len, modified_ns: 0 }
    }

    #[test]
    fn the_oldest_go_first_and_only_as_many_as_needed() {
        let sessions: BTreeMap<String, SessionState> =
            [("a", 300), ("b", 100), ("c", 200), ("d", 0)]
                .map(|(name, last)| {
                    (
                        name.to_owned(),
                        SessionState { last: Timestamp(last), ..SessionState::default() },
                    )
                })
                .into();
        let entries = ["a", "b", "c"].map(|name| entry(name, 10));
        let check = |oldest: i64, bytes_max: u64, expected: &[&str]| {
            let kept_until = Timestamp::default();
            let limits = Limits { oldest: Timestamp(oldest), kept_until, bytes_max };
            assert_eq!(limits.expired(&entries, &sessions), expected);
        };
        check(0, 30, &[]);
        check(150, 30, &["b"]);
        check(0, 25, &["b"]);
        check(0, 10, &["b", "c"]);
        check(1_000, 30, &["b", "c", "a"]);
        // Sessions that the user decided to keep are removed only because of the archive's size.
        let kept = Limits { oldest: Timestamp(1_000), kept_until: Timestamp(250), bytes_max: 30 };
        assert_eq!(kept.expired(&entries, &sessions), ["a"]);
        assert_eq!(Limits { bytes_max: 10, ..kept }.expired(&entries, &sessions), ["b", "c", "a"]);
    }

    #[test]
    fn a_clock_that_is_far_ahead_is_not_believed() {
        let day = |days: i64| Timestamp(days * DAY_MS);
        assert_eq!(believed(day(100), None), day(100));
        assert_eq!(believed(day(100), Some(day(99))), day(100));
        assert_eq!(believed(day(10_000), Some(day(99))), day(129));
        assert_eq!(believed(day(100), Some(Timestamp(i64::MAX))), day(100));
    }

    #[test]
    fn a_shorter_period_of_claude_code_wins() {
        let home = tempfile::tempdir().unwrap();
        let dirs = testutils::dirs_of(home.path());
        let now = Timestamp(1_000 * DAY_MS);
        let settings = Settings::default();
        let days = |dirs: &UserDirs| (now.0 - Limits::of(&settings, dirs, now).oldest.0) / DAY_MS;
        assert_eq!(days(&dirs), 365);
        std::fs::create_dir_all(&dirs.claude).unwrap();
        for (set, expected) in [("7", 7), ("9999", 365), ("0", 365), ("\"x\"", 365)] {
            std::fs::write(
                dirs.claude.join("settings.json"),
                format!("{{\"cleanupPeriodDays\": {set}}}"),
            )
            .unwrap();
            assert_eq!(days(&dirs), expected, "{set}");
        }
    }
}
