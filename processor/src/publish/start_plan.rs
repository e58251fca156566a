//! Plan of the start block: the ids of memories, sorted by value. The hook prints as many of them as fit into its
//! budget.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use memory_store::memory::{Source, Status};
use memory_store::neighbour::CONTRADICTS;
use memory_store::recall::likeness;
use memory_store::recall::start_rank::{Standing, StartGroup, worth};
use memory_store::settings::Settings;
use memory_store::staleness::{Change, Staleness};
use memory_store::store::Stored;
use memory_store::succession::superseded;
use memory_store::{Memory, MemoryId, Timestamp};

/// Maximum number of rules in the plan.
const RULES_MAX: usize = 6;
/// Number of rules before the first command. A command that checks a change is more useful than the fifth rule, and
/// many rules would use up the budget.
const RULES_FIRST: usize = 4;
/// Maximum number of decisions in the plan.
const DECISIONS_MAX: usize = 3;
/// Maximum number of commands in the plan.
const COMMANDS_MAX: usize = 3;
/// Maximum number of warnings in the plan.
const WARNINGS_MAX: usize = 2;
/// Minimum confidence of rules, decisions and warnings in the plan.
const CONFIDENCE_MIN: f32 = 0.5;
/// Minimum likeness of two memories for the second memory to be omitted as a repetition of the first.
const SAME_LIKENESS: f32 = 0.6;
/// Number of latest sessions. Files of their memories count as recently touched.
const RECENT_SESSIONS: usize = 2;

/// State of memories in addition to their texts.
#[derive(Clone, Copy)]
pub struct MemoryStates<'a> {
    /// Memories that sessions receive in another way, for example in CLAUDE.md. They are omitted.
    pub said: &'a BTreeSet<MemoryId>,
    /// Stale memories. They are placed after the others, and omitted if a file or name no longer exists.
    pub stale: &'a BTreeMap<MemoryId, Staleness>,
    /// Memories from the repository. Only conventions among them are planned, after the user's rules.
    pub pulled: &'a BTreeSet<MemoryId>,
    /// Memories that a newer, different memory replaces until a person decides.
    pub displaced: &'a BTreeSet<MemoryId>,
    /// Effect of the memories' use: change of confidence, and time of the last confirmation or use.
    pub renewals: &'a BTreeMap<MemoryId, (f32, Option<Timestamp>)>,
    /// Returns whether a memory is withheld, because of quarantine or because it requires a release. A withheld memory
    /// is not planned unless it is pinned. The function is slow, so it is called only for candidates that pass all
    /// other checks.
    pub is_held: &'a dyn Fn(&Stored) -> bool,
}

/// Returns the memories for the start of a session, the most valuable first. `touched` are the files with uncommitted
/// changes and the files that the last session wrote. A memory is omitted if its files or a name in it no longer exist,
/// unless it is pinned.
pub fn plan(
    stored: &[Stored],
    known: &MemoryStates<'_>,
    touched: &BTreeSet<String>,
    settings: &Settings,
    now: Timestamp,
) -> Vec<MemoryId> {
    let recent = recent_files(stored, touched);
    let MemoryStates { said, stale, pulled, displaced, renewals, is_held } = *known;
    // A memory from the repository must not replace another memory.
    let own = stored.iter().filter(|stored| !pulled.contains(&stored.memory.id));
    let mut superseded = superseded(own.map(|stored| &stored.memory), now);
    superseded.extend(stored.iter().filter_map(|stored| {
        let id = stored.memory.id;
        (pulled.contains(&id) && stored.memory.superseded_by.is_some()).then_some(id)
    }));
    let mut ranked: Vec<(StartGroup, f32, &Stored)> = stored
        .iter()
        .filter(|stored| {
            let memory = &stored.memory;
            takes_part(memory, settings, now)
                && !superseded.contains(&memory.id)
                && !displaced.contains(&memory.id)
                && !said.contains(&memory.id)
        })
        .filter_map(|stored| {
            let change = stale.get(&stored.memory.id).map(|staleness| staleness.change);
            let is_of_gone = matches!(change, Some(Change::Gone | Change::NameGone));
            if (is_of_gone || is_by_retired_rules(&stored.memory)) && !stored.memory.pinned {
                return None;
            }
            let stale = change.is_some();
            let from_repository = pulled.contains(&stored.memory.id);
            let plain = Standing::from(&stored.memory);
            let (change, renewed) = renewals.get(&stored.memory.id).copied().unwrap_or_default();
            let standing = Standing {
                stale,
                from_repository,
                confidence: (plain.confidence + change).clamp(0.0, 1.0),
                when: renewed.unwrap_or(plain.when).max(plain.when),
                ..plain
            };
            let group = StartGroup::of(&standing)?;
            let is_near = || stored.memory.paths.iter().any(|path| recent.contains(&path.path));
            let belongs = match group {
                // A command was observed to pass, so the confidence of its memory does not matter.
                StartGroup::Pinned | StartGroup::Command => true,
                StartGroup::Rule | StartGroup::Decision => standing.confidence >= CONFIDENCE_MIN,
                StartGroup::Warning => standing.confidence >= CONFIDENCE_MIN && is_near(),
            };
            belongs.then(|| (group, worth(&standing, settings, now) * runs(&stored.memory), stored))
        })
        .collect();
    ranked.sort_by(|(group, worth, stored), (other_group, other_worth, other)| {
        let by_id = stored.memory.id.cmp(&other.memory.id);
        // A rule about certain files is placed after other rules, because it is also injected when one of its files is
        // read.
        let is_bound = |stored: &Stored| !stored.memory.paths.is_empty();
        let by_files = match group {
            StartGroup::Rule => is_bound(stored).cmp(&is_bound(other)),
            StartGroup::Pinned
            | StartGroup::Decision
            | StartGroup::Command
            | StartGroup::Warning => Ordering::Equal,
        };
        let by_worth = other_worth.total_cmp(worth);
        let is_pulled = |stored: &Stored| pulled.contains(&stored.memory.id);
        let by_origin = is_pulled(stored).cmp(&is_pulled(other));
        group.cmp(other_group).then(by_origin).then(by_files).then(by_worth).then(by_id)
    });
    let mut taken: Vec<(StartGroup, &Memory)> = Vec::new();
    for (group, _, stored) in ranked {
        let memory = &stored.memory;
        let count = taken.iter().filter(|(of, _)| *of == group).count();
        let goes_in = count < max_of(group)
            && !taken.iter().any(|(_, other)| repeats(memory, other) || contradict(memory, other))
            && !is_held(stored);
        if goes_in || group == StartGroup::Pinned {
            taken.push((group, memory));
        }
    }
    let is = |wanted| move |(group, _): &&(StartGroup, &Memory)| *group == wanted;
    let place = taken.iter().filter(is(StartGroup::Pinned)).count() + RULES_FIRST;
    if let Some(first) = taken.iter().position(|(group, _)| *group == StartGroup::Command)
        && first > place
    {
        taken[place..=first].rotate_right(1);
    }
    taken.into_iter().map(|(_, memory)| memory.id).collect()
}

/// Returns the weight of a command by the number of its successful runs, so that a daily command is placed before one
/// that was run twice last week.
#[expect(clippy::cast_precision_loss, reason = "a logarithm")]
fn runs(memory: &Memory) -> f32 {
    let passed = memory.command.as_ref().and_then(|command| command.passed.checked_ilog2());
    passed.map_or(1.0, |power| 1.0 + power as f32)
}

fn max_of(group: StartGroup) -> usize {
    match group {
        StartGroup::Pinned => usize::MAX,
        StartGroup::Rule => RULES_MAX,
        StartGroup::Decision => DECISIONS_MAX,
        StartGroup::Command => COMMANDS_MAX,
        StartGroup::Warning => WARNINGS_MAX,
    }
}

/// Returns the touched files and the files of the memories of the last sessions.
fn recent_files(stored: &[Stored], touched: &BTreeSet<String>) -> BTreeSet<String> {
    let mut latest: Vec<&Memory> = stored.iter().map(|stored| &stored.memory).collect();
    latest.sort_by_key(|memory| (Reverse(memory.when()), memory.id));
    let mut sessions: Vec<&str> = Vec::new();
    let mut files = touched.clone();
    for memory in latest {
        let Some(session) = memory.source.session.as_deref() else { continue };
        if !sessions.contains(&session) {
            if sessions.len() == RECENT_SESSIONS {
                break;
            }
            sessions.push(session);
        }
        files.extend(memory.paths.iter().map(|path| path.path.clone()));
    }
    files
}

fn repeats(memory: &Memory, other: &Memory) -> bool {
    let text = |memory: &Memory| format!("{}\n{}", memory.title, memory.body);
    likeness(&text(memory), &text(other)) >= SAME_LIKENESS
}

fn contradict(memory: &Memory, other: &Memory) -> bool {
    let names = |one: &Memory, id| {
        one.relations.iter().any(|link| link.kind == CONTRADICTS && link.to == id)
    };
    names(memory, other.id) || names(other, memory.id)
}

/// Whether a memory was written by rules of an earlier version. Those rules also wrote memories that were not explicit
/// wishes. The memory stays in the repository, and search finds it.
fn is_by_retired_rules(memory: &Memory) -> bool {
    memory.source.extractor.as_deref().is_some_and(Source::is_retired)
}

fn takes_part(memory: &Memory, settings: &Settings, now: Timestamp) -> bool {
    matches!(memory.status, Status::Active | Status::Held)
        && (settings.kinds.is_empty() || settings.kinds.contains(&memory.kind))
        && !memory.is_expired(now)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use memory_store::Kind;
    use memory_store::fs::file_stamp::Stamp;
    use memory_store::time::DAY_MS;

    use super::*;

    fn known<'a>(
        said: &'a BTreeSet<MemoryId>,
        is_held: &'a dyn Fn(&Stored) -> bool,
    ) -> MemoryStates<'a> {
        const NONE_STALE: &BTreeMap<MemoryId, Staleness> = &BTreeMap::new();
        const NONE_PULLED: &BTreeSet<MemoryId> = &BTreeSet::new();
        let displaced = NONE_PULLED;
        const NO_RENEWALS: &BTreeMap<MemoryId, (f32, Option<Timestamp>)> = &BTreeMap::new();
        let renewals = NO_RENEWALS;
        MemoryStates { said, stale: NONE_STALE, pulled: NONE_PULLED, displaced, renewals, is_held }
    }

    fn stored(number: u8, kind: Kind, title: &str, days_ago: i64) -> Stored {
        let at = Timestamp(NOW.0 - days_ago * DAY_MS);
        let mut memory = Memory::new(MemoryId::new(at, [number; 10]), kind, title, "", at);
        memory.source.session = Some(format!("s{days_ago}"));
        Stored { path: PathBuf::new(), memory, stamp: Stamp::default(), text: String::new() }
    }

    const NOW: Timestamp = Timestamp(1_000 * DAY_MS);

    fn planned(stored: &[Stored], touched: &[&str]) -> Vec<String> {
        let touched = touched.iter().map(|path| (*path).to_owned()).collect();
        let said = BTreeSet::new();
        let plan = plan(stored, &known(&said, &|_| false), &touched, &Settings::default(), NOW);
        let title = |id: &MemoryId| {
            let of = stored.iter().find(|stored| stored.memory.id == *id);
            of.map(|stored| stored.memory.title.clone()).unwrap_or_default()
        };
        plan.iter().map(title).collect()
    }

    #[test]
    fn rules_come_first_then_commands_then_traps_of_files_last_touched() {
        let mut trap = stored(3, Kind::Gotcha, "The parser drops the last line", 300);
        trap.memory.paths =
            vec![memory_store::memory::PathRef { path: "src/parse.rs".into(), seen: None }];
        let other = stored(4, Kind::Gotcha, "The cache is never emptied", 300);
        let mut unsure = stored(5, Kind::Preference, "Maybe use fewer words", 1);
        unsure.memory.confidence = 0.4;
        let mut bound = stored(7, Kind::Convention, "Routes are named in the plural", 1);
        bound.memory.paths.clone_from(&trap.memory.paths);
        let all = [
            trap,
            other,
            unsure,
            bound,
            stored(1, Kind::Command, "`make test` runs the tests", 2),
            stored(2, Kind::Convention, "Amounts are integer cents", 90),
            stored(6, Kind::Fact, "The server has two cores", 1),
        ];
        let rules = ["Amounts are integer cents", "Routes are named in the plural"];
        assert_eq!(planned(&all, &[])[..2], rules);
        assert_eq!(planned(&all, &[])[2], "`make test` runs the tests");
        assert_eq!(planned(&all, &["src/parse.rs"])[3], "The parser drops the last line");
    }

    #[test]
    fn decisions_follow_the_rules_and_nothing_old_rules_made_is_planned() {
        let rule = |number, title: &str| stored(number, Kind::Convention, title, 1);
        let mut retired = rule(3, "Ports are written down in the wiki");
        retired.memory.source.extractor = Some("rules/14".to_owned());
        let mut pinned = rule(4, "Releases are made by the robot");
        pinned.memory.source.extractor = Some("rules/14".to_owned());
        pinned.memory.pinned = true;
        let mut wish = rule(5, "From now on use whole cents");
        wish.memory.source.extractor = Some("rules/15".to_owned());
        let decision = stored(1, Kind::Decision, "The queue is kept in the database", 1);
        let titles = planned(&[decision, retired, pinned, wish], &[]);
        assert_eq!(
            titles,
            [
                "Releases are made by the robot",
                "From now on use whole cents",
                "The queue is kept in the database"
            ]
        );
    }

    #[test]
    fn a_memory_of_what_is_gone_is_not_planned() {
        let of = |number, title: &str| stored(number, Kind::Convention, title, 1);
        let all =
            [of(1, "Routes are plural"), of(2, "Amounts are cents"), of(3, "Builds are cold")];
        let change = |change| Staleness { change, name: "src/a.rs".to_owned(), target: None };
        let stale = BTreeMap::from([
            (all[0].memory.id, change(Change::Gone)),
            (all[1].memory.id, change(Change::Rewritten)),
            (all[2].memory.id, Staleness::without("--cold".to_owned())),
        ]);
        let (none, said) = (BTreeSet::new(), BTreeSet::new());
        let states = MemoryStates { stale: &stale, ..known(&said, &|_| false) };
        let plan = plan(&all, &states, &none, &Settings::default(), NOW);
        assert_eq!(plan, [all[1].memory.id]);
    }

    #[test]
    fn many_rules_leave_a_place_for_the_first_command() {
        let words = ["amber", "birch", "cedar", "delta", "ember", "fjord"];
        let mut all: Vec<Stored> = (1..=6)
            .map(|number: u8| {
                stored(number, Kind::Convention, words[usize::from(number) - 1], number.into())
            })
            .collect();
        all.push(stored(7, Kind::Command, "`make test` runs the tests", 2));
        all.push(stored(8, Kind::Command, "`make site` builds", 3));
        let expected = ["amber", "birch", "cedar", "delta", "`make test` runs the tests", "ember"];
        assert_eq!(planned(&all, &[])[..6], expected);
        assert_eq!(planned(&all, &[])[6..], ["fjord", "`make site` builds"]);
    }

    #[test]
    fn what_is_run_each_day_comes_before_what_was_run_twice_last_week() {
        let command = |number, title: &str, days_ago, passed| {
            let mut stored = stored(number, Kind::Command, title, days_ago);
            stored.memory.command = Some(memory_store::memory::CommandRecord {
                line: title.to_owned(),
                directory: ".".to_owned(),
                exit_status: 0,
                passed,
                last: stored.memory.created,
            });
            stored
        };
        let mut all: Vec<Stored> =
            (1..=3).map(|at| command(at, ["a", "b", "c"][usize::from(at) - 1], 5, 2)).collect();
        all.push(command(4, "`make test` runs the tests", 60, 256));
        assert_eq!(planned(&all, &[])[0], "`make test` runs the tests");
        // The rank of a command that is no longer run decreases over time.
        all[3] = command(4, "`make test` runs the tests", 900, 256);
        assert_ne!(planned(&all, &[])[0], "`make test` runs the tests");
    }

    #[test]
    fn nothing_is_repeated_and_of_a_contradiction_one_side_is_planned() {
        let mut newer = stored(2, Kind::Convention, "Tests run against the sandbox", 1);
        let older = stored(1, Kind::Convention, "Carriers are mocked in tests", 50);
        newer.memory.relations =
            vec![memory_store::memory::Relation { kind: CONTRADICTS.into(), to: older.memory.id }];
        let again = stored(3, Kind::Preference, "Tests run against the sandbox", 80);
        assert_eq!(planned(&[older, newer, again], &[]), ["Tests run against the sandbox"]);
    }

    #[test]
    fn a_half_life_of_the_settings_changes_the_order() {
        let stored = [
            stored(3, Kind::Preference, "Short answers", 60),
            stored(4, Kind::Convention, "Amounts are integer cents", 40),
        ];
        let said = BTreeSet::new();
        let none = BTreeSet::new();
        let ids = |settings: &Settings, said: &BTreeSet<MemoryId>| {
            plan(&stored, &known(said, &|_| false), &none, settings, NOW)
        };
        let [preference, convention] = stored.each_ref().map(|stored| stored.memory.id);
        let mut settings = Settings::default();
        assert_eq!(ids(&settings, &said), [convention, preference]);
        settings.half_life_days.insert(Kind::Convention, 10);
        assert_eq!(ids(&settings, &said), [preference, convention]);
        let said = BTreeSet::from([preference]);
        assert_eq!(ids(&settings, &said), [convention]);
    }

    #[test]
    fn a_quarantined_memory_takes_nobodys_place() {
        let words =
            ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris"];
        let all: Vec<Stored> = (1..=9)
            .map(|number: u8| stored(number, Kind::Preference, words[usize::from(number) - 1], 1))
            .collect();
        let is_held = |stored: &Stored| stored.memory.id <= all[5].memory.id;
        let none = BTreeSet::new();
        let (none_said, settings) = (BTreeSet::new(), Settings::default());
        let plan = plan(&all, &known(&none_said, &is_held), &none, &settings, NOW);
        let expected: Vec<MemoryId> = all[6..].iter().map(|stored| stored.memory.id).collect();
        assert_eq!(plan, expected);
    }
}
