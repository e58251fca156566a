//! Value of a memory independent of a query: for the session-start block, for a brief, and as a part of other rankings.

use crate::index::record::{Entry, FLAG_PINNED, FLAG_STALE};
use memory_store_base::kind::Kind;
use memory_store_base::memory::Memory;
use memory_store_base::settings::Settings;
use memory_store_base::time::{DAY_MS, Timestamp};

/// What a memory's value depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Kind of the memory.
    pub kind: Kind,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// True if a person pinned the memory.
    pub pinned: bool,
    /// Time of the event or of its last confirmation.
    pub when: Timestamp,
    /// True if the memory is stale.
    pub stale: bool,
    /// True if the memory was not derived, written or released on this machine. An index entry does not contain this.
    pub from_repository: bool,
}

/// Factor by which the value of a stale memory is multiplied.
const STALE_SHARE: f32 = 0.5;

impl Standing {
    /// Returns the inputs from an index entry; `None` if the entry has a kind of a later version.
    pub(crate) fn of_entry(entry: &Entry) -> Option<Self> {
        Some(Self {
            kind: entry.kind_of()?,
            confidence: entry.confidence(),
            pinned: entry.has(FLAG_PINNED),
            when: entry.when,
            stale: entry.has(FLAG_STALE),
            from_repository: false,
        })
    }
}

impl From<&Memory> for Standing {
    fn from(memory: &Memory) -> Self {
        Self {
            kind: memory.kind,
            confidence: memory.confidence,
            pinned: memory.pinned,
            when: memory.when(),
            stale: false,
            from_repository: false,
        }
    }
}

/// Returns the value of a memory: its confidence, halved with each half-life of its kind (see the settings), and halved
/// once more if it is stale. A pinned memory exceeds all others.
pub fn worth(standing: &Standing, settings: &Settings, now: Timestamp) -> f32 {
    let pin = if standing.pinned { 1.0 } else { 0.0 };
    let stale = if standing.stale { STALE_SHARE } else { 1.0 };
    pin + standing.confidence * freshness(standing.kind, standing.when, settings, now) * stale
}

/// Returns the freshness of a memory: 1 if it is of today, halved after each half-life of its kind.
pub(crate) fn freshness(kind: Kind, when: Timestamp, settings: &Settings, now: Timestamp) -> f32 {
    let age_days = (now.0 - when.0).max(0) as f32 / DAY_MS as f32;
    (-age_days / settings.half_life_days(kind).max(1) as f32).exp2()
}

/// Age of a memory in half-lives of its kind, since it was learned, confirmed or last used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// At most one half-life.
    #[default]
    Fresh,
    /// At most two half-lives.
    Aging,
    /// More than two half-lives, or there is evidence that the memory is out of date.
    Stale,
}

impl Age {
    /// All ages, the youngest first.
    pub const ALL: [Self; 3] = [Self::Fresh, Self::Aging, Self::Stale];

    /// Returns the age of a memory without evidence that it is out of date. A wish is valid until it is withdrawn, and
    /// a session's results are of the past, so these do not age.
    pub fn of(kind: Kind, renewed: Timestamp, settings: &Settings, now: Timestamp) -> Self {
        let score = freshness(kind, renewed, settings, now);
        match score {
            _ if kind.is_wish() || kind == Kind::Session => Self::Fresh,
            _ if score >= 0.5 => Self::Fresh,
            _ if score >= 0.25 => Self::Aging,
            _ => Self::Stale,
        }
    }

    /// Returns the name for display.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Aging => "aging",
            Self::Stale => "stale",
        }
    }
}

/// Part of a session-start block; parts are in this order. Rules are first, because no prompt names them. Decisions,
/// working commands and warnings about the files that were last changed follow. All other memories are returned when a
/// prompt, a file or an error matches them. Memories shown at the start are not shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartGroup {
    /// A memory that a person pinned, whatever its content.
    Pinned,
    /// A rule about the way of working.
    Rule,
    /// A decision with its reason.
    Decision,
    /// A command that a person wrote down.
    Command,
    /// A warning about a trap, or a failed approach.
    Warning,
}

impl StartGroup {
    /// Returns why the memory is shown at the start of a session, for display.
    pub(crate) const fn why(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Rule => "a standing rule",
            Self::Decision => "a decision",
            Self::Command => "a command that works",
            Self::Warning => "a trap of files that were touched last",
        }
    }

    /// Returns the part to which a memory belongs; `None` if it is not shown at the start of a session. Of the memories
    /// from the repository, only conventions are shown, whether or not they are pinned.
    pub fn of(standing: &Standing) -> Option<Self> {
        if standing.from_repository {
            return (standing.kind == Kind::Convention).then_some(Self::Rule);
        }
        if standing.pinned {
            return Some(Self::Pinned);
        }
        match standing.kind {
            Kind::Preference | Kind::Convention => Some(Self::Rule),
            Kind::Decision => Some(Self::Decision),
            Kind::Command => Some(Self::Command),
            Kind::Gotcha | Kind::FailedApproach => Some(Self::Warning),
            Kind::Fact
            | Kind::Procedure
            | Kind::Fix
            | Kind::Task
            | Kind::Session
            | Kind::Synthesis => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(kind: Kind, days_ago: i64) -> (Standing, Timestamp) {
        let now = Timestamp(1_000 * DAY_MS);
        let when = Timestamp(now.0 - days_ago * DAY_MS);
        let standing = Standing {
            kind,
            confidence: 0.8,
            pinned: false,
            when,
            stale: false,
            from_repository: false,
        };
        (standing, now)
    }

    #[test]
    fn worth_halves_as_the_settings_say() {
        let mut settings = Settings::default();
        let (gotcha, now) = standing(Kind::Gotcha, 180);
        assert!((worth(&gotcha, &settings, now) - 0.4).abs() < 1e-6);
        settings.half_life_days.insert(Kind::Gotcha, 90);
        assert!((worth(&gotcha, &settings, now) - 0.2).abs() < 1e-6);
        let stale = Standing { stale: true, ..gotcha };
        assert!((worth(&stale, &settings, now) - 0.1).abs() < 1e-6);
        let pinned = Standing { pinned: true, confidence: 0.0, ..gotcha };
        assert!(worth(&pinned, &settings, now) >= 1.0);
    }

    #[test]
    fn a_memory_ages_with_the_half_life_of_its_kind_and_a_wish_does_not() {
        let now = Timestamp(1_000 * DAY_MS);
        let age = |kind, days: i64| {
            Age::of(kind, Timestamp(now.0 - days * DAY_MS), &Settings::default(), now)
        };
        assert_eq!([30, 31, 61].map(|days| age(Kind::Fix, days)), Age::ALL);
        assert_eq!([180, 181, 361].map(|days| age(Kind::Fact, days)), Age::ALL);
        assert_eq!([365, 366, 731].map(|days| age(Kind::Command, days)), Age::ALL);
        assert_eq!(age(Kind::Preference, 900), Age::Fresh);
    }

    #[test]
    fn sessions_start_with_rules_decisions_commands_and_warnings() {
        let group = |kind| StartGroup::of(&standing(kind, 0).0);
        assert!(group(Kind::Convention) < group(Kind::Decision));
        assert!(group(Kind::Decision) < group(Kind::Command));
        assert!(group(Kind::Command) < group(Kind::FailedApproach));
        assert_eq!(group(Kind::Fact), None);
        let pulled = |kind| {
            let standing = standing(kind, 0).0;
            StartGroup::of(&Standing { from_repository: true, pinned: true, ..standing })
        };
        assert_eq!(pulled(Kind::Convention), Some(StartGroup::Rule));
        assert_eq!(
            [Kind::Preference, Kind::Decision, Kind::Command, Kind::Gotcha, Kind::Fact].map(pulled),
            [None; 5]
        );
        let pinned = Standing { pinned: true, ..standing(Kind::Fact, 0).0 };
        assert_eq!(StartGroup::of(&pinned), Some(StartGroup::Pinned));
    }
}
