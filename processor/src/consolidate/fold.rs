//! Folding: what tool calls showed of one command, or of one error, over all sessions.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::Kind;
use memory_store::memory::CommandRecord;
use memory_store::signature::CommandClass;

use super::DraftEntry;
use crate::extract::draft::{Draft, Effect};

/// A command is worth a memory when it passed this often.
pub const PASSED_MIN: u32 = 2;

/// The chance that readers keep the memory of one command.
const ONE_SURE: f32 = 0.5;
/// The chance for commands that are run together.
const TOGETHER_SURE: f32 = 0.75;
/// Commands that the memory of another one tells.
const TOGETHER_MAX: usize = 3;

/// Returns entries, one for each command and each error; the other drafts one by one.
pub fn fold(drafts: Vec<Draft>, proven: &dyn Fn(&str) -> bool) -> Vec<DraftEntry> {
    let mut entries: Vec<DraftEntry> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut withdrawn: BTreeSet<usize> = BTreeSet::new();
    for draft in drafts {
        match draft.effect.clone() {
            Effect::New => entries.push(DraftEntry::new(draft)),
            Effect::Confirms { key } => match known.get(&key).copied() {
                Some(index) => confirm(&mut entries[index], &draft),
                None => {
                    known.insert(key, entries.len());
                    entries.push(DraftEntry::new(draft));
                }
            },
            Effect::Refutes { key } => {
                if let Some(index) = known.remove(&key) {
                    withdrawn.insert(index);
                }
            }
        }
    }
    let mut kept: Vec<DraftEntry> = Vec::with_capacity(entries.len());
    for (index, mut entry) in entries.into_iter().enumerate() {
        if withdrawn.contains(&index) {
            continue;
        }
        if let Some(record) = entry.draft.command.clone() {
            let is_proven = matches!(&entry.draft.effect, Effect::Confirms { key } if proven(key));
            if record.passed < PASSED_MIN && !(is_proven && record.passed > 0) {
                continue;
            }
            entry.draft.worth = worth(&entry, &record);
        }
        kept.push(entry);
    }
    told_together(kept)
}

/// Seen again: counts add up, and the better told version is kept.
fn confirm(entry: &mut DraftEntry, draft: &Draft) {
    let known = entry.draft.turns.len();
    let mut is_noted = true;
    match (&mut entry.draft.command, &draft.command) {
        (Some(record), Some(newer)) => is_noted = add(record, newer),
        _ => {
            if draft.worth > entry.draft.worth {
                entry.draft.title.clone_from(&draft.title);
                entry.draft.body.clone_from(&draft.body);
                entry.draft.worth = draft.worth;
            }
        }
    }
    if entry.draft.kind == Kind::Command && entry.draft.body.is_empty() && !draft.body.is_empty() {
        entry.draft.body.clone_from(&draft.body);
        is_noted = true;
    }
    entry.merge(draft);
    if !is_noted {
        entry.draft.turns.truncate(known);
    }
}

/// Adds runs of a later session, and returns whether they are noted: once the command passed twice as often as when
/// something was noted last. A file that git tracks should not change with each run of the tests.
fn add(record: &mut CommandRecord, newer: &CommandRecord) -> bool {
    let before = record.passed;
    record.passed += newer.passed;
    let is_noted = rounded(record.passed) > rounded(before);
    if is_noted {
        record.last = record.last.max(newer.last);
    }
    is_noted
}

/// Rounds a number of runs down to a power of two.
fn rounded(passed: u32) -> u32 {
    passed.checked_ilog2().map_or(0, |power| 1 << power)
}

/// A command that is mostly run in the sessions of another one, in the same folder, is told by the memory
/// of that one: three checks of one project are one thing to know.
fn told_together(mut entries: Vec<DraftEntry>) -> Vec<DraftEntry> {
    let whole: Vec<CommandRecord> = (entries.iter().filter_map(|it| it.draft.command.clone()))
        .filter(|record| places(&record.line).all(|place| WHOLE.contains(&place)))
        .collect();
    entries.retain(|entry| {
        let part = |of: &CommandRecord| whole.iter().any(|whole| is_part_of(of, whole));
        !entry.draft.command.as_ref().is_some_and(part)
    });
    let mut order: Vec<usize> =
        (0..entries.len()).filter(|&at| entries[at].draft.command.is_some()).collect();
    order.sort_by(|&a, &b| {
        let worth = |at: usize| entries[at].draft.worth;
        worth(b).total_cmp(&worth(a)).then(a.cmp(&b))
    });
    let mut told: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in order {
        let first = told.iter().find(|(first, others)| {
            others.len() < TOGETHER_MAX && is_run_with(&entries[at], &entries[**first])
        });
        match first.map(|(first, _)| *first) {
            Some(first) => told.entry(first).or_default().push(at),
            None => {
                told.insert(at, Vec::new());
            }
        }
    }
    let others: Vec<(usize, Vec<Draft>)> = told
        .iter()
        .map(|(first, others)| {
            (*first, others.iter().map(|&other| entries[other].draft.clone()).collect())
        })
        .collect();
    for (first, others) in &others {
        tell(&mut entries[*first], others);
    }
    let mut at = 0..;
    entries.retain(|entry| {
        at.next().is_some_and(|at| entry.draft.command.is_none() || told.contains_key(&at))
    });
    entries
}

/// Arguments that stand for everything below a folder.
const WHOLE: [&str; 3] = [".", "./", "./..."];

/// The places that a command line names.
fn places(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().skip(1).filter(|word| is_place(word))
}

fn is_place(word: &str) -> bool {
    !word.starts_with('-') && (word.starts_with('.') || word.contains('/'))
}

/// Whether a command does for a part of the project what another one does for all of it: which part is of one task.
fn is_part_of(record: &CommandRecord, whole: &CommandRecord) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split_whitespace().filter(|word| !is_place(word)).map(str::to_owned).collect()
    };
    record.directory == whole.directory
        && places(&record.line).any(|place| !WHOLE.contains(&place))
        && words(&record.line) == words(&whole.line)
}

/// Whether most sessions of a command are sessions of another one in its folder.
fn is_run_with(entry: &DraftEntry, other: &DraftEntry) -> bool {
    let directory =
        |entry: &DraftEntry| entry.draft.command.as_ref().map(|it| it.directory.clone());
    let shared = entry.sessions.iter().filter(|&it| other.sessions.contains(it)).count();
    shared >= 2 && shared * 2 > entry.sessions.len() && directory(entry) == directory(other)
}

/// How much a command counts: by how often and in how many sessions it passed.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn worth(entry: &DraftEntry, record: &CommandRecord) -> f32 {
    (rounded(record.passed) as f32).ln() * 0.5 + entry.sessions.len() as f32 * 0.3
}

/// Whether a command looks at a change before others do: a build, tests, a linter, a formatter.
fn is_check(command: &Draft) -> bool {
    use CommandClass::{Build, Format, Lint, Test};
    let checks = [Build, Test, Lint, Format].map(CommandClass::name);
    command.tags.first().is_some_and(|class| checks.contains(&class.as_str()))
}

/// Writes the memory of a command and of those that are run with it.
fn tell(entry: &mut DraftEntry, others: &[Draft]) {
    let Some(record) = entry.draft.command.clone() else { return };
    // A command works in its folder alone, so the title, which a session starts with, names it.
    let place = match record.directory.as_str() {
        "." => String::new(),
        folder => format!(" (in `{folder}`)"),
    };
    // How often and when it passed stands in the record alone: readers took it for a log.
    if others.is_empty() {
        entry.draft.title.push_str(&place);
    } else {
        let titles = std::iter::once(&entry.draft.title).chain(others.iter().map(|it| &it.title));
        let titles: Vec<&str> = titles.map(|title| title.trim_end_matches('.')).collect();
        entry.draft.body = format!("{}.", titles.join("; "));
        let lines = others.iter().filter_map(|other| other.command.as_ref());
        let lines = std::iter::once(&record).chain(lines).map(|it| format!("`{}`", it.line));
        let lines: Vec<String> = lines.collect();
        let (last, first) = lines.split_last().map_or(("", &[][..]), |(last, it)| (last, it));
        let checks = std::iter::once(&entry.draft).chain(others).all(is_check);
        let purpose = if checks { "check a change" } else { "are run together" };
        entry.draft.title = format!("{} and {last} {purpose}{place}", first.join(", "));
    }
    let passed = rounded(record.passed);
    entry.draft.command = Some(CommandRecord { passed, exit_status: 0, ..record });
    entry.draft.confidence = if others.is_empty() { ONE_SURE } else { TOGETHER_SURE };
}
