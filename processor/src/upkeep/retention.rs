//! How long turns are kept, and how much room they may take.

use std::collections::BTreeMap;

use memory_store::Timestamp;
use memory_store::layout::UserDirs;
use memory_store::settings::Settings;
use memory_store::time::DAY_MS;

use crate::collect::archive::Entry;
use crate::private_files::read_json;
use crate::state::SessionState;

/// A clock further ahead than this of all that was ever written is not believed.
const AHEAD_DAYS_MAX: i64 = 30;

/// The time by which things are old: the clock's, or that of the `newest` thing there is and a
/// month when the clock says a later one. A clock that was set wrong must not empty the archive.
pub fn believed(clock: Timestamp, newest: Option<Timestamp>) -> Timestamp {
    newest.map_or(clock, |newest| {
        clock.min(Timestamp(newest.0.saturating_add(AHEAD_DAYS_MAX * DAY_MS)))
    })
}

/// The limits in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions whose last record is older are removed.
    pub oldest: Timestamp,
    /// Bytes that the archive may take.
    pub bytes_max: u64,
}

impl Limits {
    /// Takes our own setting, or what the user set in Claude Code's settings when that is shorter.
    pub fn of(settings: &Settings, dirs: &UserDirs, now: Timestamp) -> Self {
        let own = i64::from(settings.retention_days);
        let days = claude_days(dirs).map_or(own, |days| days.min(own));
        Self {
            oldest: Timestamp(now.0.saturating_sub(days.saturating_mul(DAY_MS))),
            bytes_max: settings.archive_bytes_max,
        }
    }

    /// The names of the sessions that have to go, the oldest first.
    pub fn expired(
        &self,
        entries: &[Entry],
        sessions: &BTreeMap<String, SessionState>,
    ) -> Vec<String> {
        let last = |entry: &Entry| {
            sessions.get(&entry.name).map_or(Timestamp::default(), |session| session.last)
        };
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by_key(|entry| (last(entry), entry.name.as_str()));
        let mut bytes: u64 = entries.iter().map(|entry| entry.len).sum();
        let mut names = Vec::new();
        for entry in order {
            // A session without any time has just begun.
            let old = last(entry) != Timestamp::default() && last(entry) < self.oldest;
            if old || bytes > self.bytes_max {
                bytes -= entry.len;
                names.push(entry.name.clone());
            }
        }
        names
    }
}

/// `cleanupPeriodDays`, where the user set it.
fn claude_days(dirs: &UserDirs) -> Option<i64> {
    let settings: serde_json::Value = read_json(&dirs.claude.join("settings.json"))?;
    settings.get("cleanupPeriodDays")?.as_i64().filter(|days| *days > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, len: u64) -> Entry {
        Entry { name: name.into(), path: name.into(), len, modified_ns: 0 }
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
            let limits = Limits { oldest: Timestamp(oldest), bytes_max };
            assert_eq!(limits.expired(&entries, &sessions), expected);
        };
        check(0, 30, &[]);
        check(150, 30, &["b"]);
        check(0, 25, &["b"]);
        check(0, 10, &["b", "c"]);
        check(1_000, 30, &["b", "c", "a"]);
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
