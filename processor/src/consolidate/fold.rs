//! Folding: what tool calls showed of one command, or of one error, over all sessions.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::Kind;
use memory_store::memory::CommandRecord;

use super::Entry;
use crate::extract::draft::{Draft, Effect};

/// A command is worth a memory when it passed this often.
pub const PASSED_MIN: u32 = 2;

/// Commands told as run together with one.
const TOGETHER_MAX: usize = 3;

/// Returns entries, one for each command and each error; the other drafts one by one.
pub fn fold(drafts: Vec<Draft>, proven: &dyn Fn(&str) -> bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut withdrawn: BTreeSet<usize> = BTreeSet::new();
    for draft in drafts {
        match draft.effect.clone() {
            Effect::New => entries.push(Entry::new(draft)),
            Effect::Confirms { key } => match known.get(&key).copied() {
                Some(index) => confirm(&mut entries[index], &draft),
                None => {
                    known.insert(key, entries.len());
                    entries.push(Entry::new(draft));
                }
            },
            Effect::Refutes { key } => {
                if let Some(index) = known.remove(&key) {
                    withdrawn.insert(index);
                }
            }
        }
    }
    let together = together(&entries);
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for (index, mut entry) in entries.into_iter().enumerate() {
        if withdrawn.contains(&index) {
            continue;
        }
        if let Some(record) = entry.draft.command.clone() {
            let is_proven = matches!(&entry.draft.effect, Effect::Confirms { key } if proven(key));
            if record.passed < PASSED_MIN && !(is_proven && record.passed > 0) {
                continue;
            }
            tell_command(&mut entry, &record, together.get(&index));
        }
        kept.push(entry);
    }
    kept
}

/// Seen again: counts add up, and the better told version is kept.
fn confirm(entry: &mut Entry, draft: &Draft) {
    match (&mut entry.draft.command, &draft.command) {
        (Some(record), Some(newer)) => add(record, newer),
        _ => {
            if draft.worth > entry.draft.worth {
                entry.draft.title.clone_from(&draft.title);
                entry.draft.body.clone_from(&draft.body);
                entry.draft.worth = draft.worth;
            }
        }
    }
    if entry.draft.kind == Kind::Command && entry.draft.body.is_empty() {
        entry.draft.body.clone_from(&draft.body);
    }
    entry.merge(draft);
}

fn add(record: &mut CommandRecord, newer: &CommandRecord) {
    record.passed += newer.passed;
    if newer.last >= record.last {
        record.last = newer.last;
        record.exit_status = newer.exit_status;
    }
}

/// For each command, those that were run in most of its sessions too.
fn together(entries: &[Entry]) -> BTreeMap<usize, Vec<String>> {
    let commands: Vec<(usize, &Entry)> =
        entries.iter().enumerate().filter(|(_, entry)| entry.draft.command.is_some()).collect();
    let mut found = BTreeMap::new();
    for (index, entry) in &commands {
        let mut others: Vec<(usize, &str)> = commands
            .iter()
            .filter(|(other, _)| other != index)
            .map(|(_, other)| {
                let shared = other
                    .sessions
                    .iter()
                    .filter(|session| entry.sessions.contains(session))
                    .count();
                (shared, other.draft.command.as_ref().map_or("", |record| record.line.as_str()))
            })
            .filter(|(shared, _)| *shared >= 2 && *shared * 2 > entry.sessions.len())
            .collect();
        others.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        others.truncate(TOGETHER_MAX);
        if !others.is_empty() {
            found.insert(*index, others.into_iter().map(|(_, line)| line.to_owned()).collect());
        }
    }
    found
}

fn tell_command(entry: &mut Entry, record: &CommandRecord, together: Option<&Vec<String>>) {
    let mut body = String::new();
    if !entry.draft.body.is_empty() {
        body = format!("{}. ", entry.draft.body.trim_end_matches('.'));
    }
    let place = if record.directory == "." {
        "in the project's root".to_owned()
    } else {
        format!("in `{}`", record.directory)
    };
    let sessions = entry.sessions.len();
    let times =
        if record.passed == 1 { "once".to_owned() } else { format!("{} times", record.passed) };
    let spread = if sessions > 1 { format!(" in {sessions} sessions") } else { String::new() };
    body.push_str(&format!(
        "Run {place}; it passed {times}{spread}, last on {}.",
        record.last.date()
    ));
    if record.exit_status != 0 {
        body.push_str(" Its last run failed.");
    }
    if let Some(lines) = together {
        let lines: Vec<String> = lines.iter().map(|line| format!("`{line}`")).collect();
        body.push_str(&format!(" Run together with {}.", lines.join(", ")));
    }
    entry.draft.body = body;
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let passed = record.passed as f32;
    entry.draft.worth = passed.ln() * 0.5 + entry.sessions.len() as f32 * 0.3;
}
