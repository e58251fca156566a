//! What a session starts with: the memories of the session-start block in the order of their
//! worth. The hook prints as many of them as its budget holds.

use std::collections::BTreeSet;

use memory_store::index::build::StartPlan;
use memory_store::memory::Status;
use memory_store::recall::worth::{Standing, StartGroup, worth};
use memory_store::settings::Settings;
use memory_store::store::Stored;
use memory_store::{Memory, MemoryId, Timestamp};

/// Wishes that are planned.
const WISHES_MAX: usize = 10;
/// Warnings that are planned.
const WARNINGS_MAX: usize = 6;

/// Returns the memories that a session starts with, the most valuable first.
/// Those that are `said` anyway are left out, and what is held takes nobody's place: that is asked, as it takes
/// time, of those alone that would have one.
pub fn plan(
    stored: &[Stored],
    said: &BTreeSet<MemoryId>,
    is_held: &dyn Fn(&Stored) -> bool,
    settings: &Settings,
    now: Timestamp,
) -> StartPlan {
    let mut ranked: Vec<(StartGroup, f32, &Stored)> = stored
        .iter()
        .filter(|stored| {
            let memory = &stored.memory;
            takes_part(memory, settings, now) && !said.contains(&memory.id)
        })
        .filter_map(|stored| {
            let standing = Standing::from(&stored.memory);
            let group = StartGroup::of(&standing)?;
            Some((group, worth(&standing, settings, now), stored))
        })
        .collect();
    ranked.sort_by(|(group, worth, stored), (other_group, other_worth, other)| {
        let by_id = stored.memory.id.cmp(&other.memory.id);
        group.cmp(other_group).then(other_worth.total_cmp(worth)).then(by_id)
    });
    let (mut wishes, mut warnings) = (0, 0);
    ranked.retain(|(group, _, stored)| match group {
        StartGroup::Pinned => true,
        StartGroup::Wish => takes_place(&mut wishes, WISHES_MAX, || is_held(stored)),
        StartGroup::Warning => takes_place(&mut warnings, WARNINGS_MAX, || is_held(stored)),
    });
    StartPlan { memories: ranked.into_iter().map(|(_, _, stored)| stored.memory.id).collect() }
}

fn takes_place(taken: &mut usize, max: usize, is_held: impl Fn() -> bool) -> bool {
    let takes = *taken < max && !is_held();
    *taken += usize::from(takes);
    takes
}

fn takes_part(memory: &Memory, settings: &Settings, now: Timestamp) -> bool {
    matches!(memory.status, Status::Active | Status::Draft)
        && memory.superseded_by.is_none()
        && (settings.kinds.is_empty() || settings.kinds.contains(&memory.kind))
        && memory.valid_until.is_none_or(|until| until > now)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use memory_store::Kind;
    use memory_store::time::DAY_MS;

    use super::*;

    #[test]
    fn a_half_life_of_the_settings_changes_the_order() {
        let now = Timestamp(1_000 * DAY_MS);
        let memory = |number: u8, kind, days_ago| {
            let at = Timestamp(now.0 - days_ago * DAY_MS);
            let memory = Memory::new(MemoryId::new(at, [number; 10]), kind, "Title", "", at);
            Stored { path: PathBuf::new(), memory, modified_ns: 0, len: 0 }
        };
        let stored = [
            memory(1, Kind::Fact, 1),
            memory(2, Kind::Gotcha, 1),
            memory(3, Kind::Preference, 60),
            memory(4, Kind::Convention, 40),
        ];
        let said = BTreeSet::new();
        let none = |_: &Stored| false;
        let ids = |settings: &Settings| plan(&stored, &said, &none, settings, now).memories;
        let [_, gotcha, preference, convention] = stored.each_ref().map(|stored| stored.memory.id);
        let mut settings = Settings::default();
        assert_eq!(ids(&settings), [convention, preference, gotcha]);
        settings.half_life_days.insert(Kind::Convention, 10);
        assert_eq!(ids(&settings), [preference, convention, gotcha]);
        let said = BTreeSet::from([preference]);
        assert_eq!(plan(&stored, &said, &none, &settings, now).memories, [convention, gotcha]);
    }

    #[test]
    fn what_is_held_takes_nobodys_place() {
        let now = Timestamp(1_000 * DAY_MS);
        let stored = |number: u8| {
            let id = MemoryId::new(now, [number; 10]);
            let memory = Memory::new(id, Kind::Preference, "Title", "", now);
            Stored { path: PathBuf::new(), memory, modified_ns: 0, len: 0 }
        };
        let all: Vec<Stored> = (1..=40).map(stored).collect();
        let is_held = |stored: &Stored| stored.memory.id <= all[29].memory.id;
        let plan = plan(&all, &BTreeSet::new(), &is_held, &Settings::default(), now);
        let expected: Vec<MemoryId> = all[30..].iter().map(|stored| stored.memory.id).collect();
        assert_eq!(plan.memories, expected);
    }
}
