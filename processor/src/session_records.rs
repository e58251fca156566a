//! Functions over all session records of a project: the list of sessions, commands that passed in several sessions,
//! cures, and open items.

mod open;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use memory_store::layout::ProjectDir;
use memory_store::passed_commands::PassedCommand;
use memory_store::signature::{classify, error_signature};
use memory_store::suspicion::{TextOrigin, suspicion};
use memory_store::text::placeholder::hides_secret;

use serde::Serialize;

use crate::collect::expired::Expired;
use crate::extract::session_record::{Cure, SessionRecord};
use crate::extract::subject_of;
use crate::mining::{MinedFile, last_mined, names};
use crate::state::State;
use crate::transcript::parts;

pub use open::{OpenItem, OpenKind, open_items};

/// Returns the record of each session, the latest first. Parts and subagents are merged into their session. Sessions
/// whose turns were removed are included.
pub fn read(home: &ProjectDir) -> Vec<SessionRecord> {
    let expired = Expired::open(home);
    let state = State::read(home);
    let gone = expired.names().into_iter().filter_map(|name| {
        let remains = expired.load(&name)?;
        let brought = remains.header.from_folder;
        Some((name, 0, marked(remains.into(), brought)))
    });
    let known = names(home).into_iter().filter_map(|name| {
        let file = last_mined(home, &name)?;
        let brought = state.sessions.get(&name).is_some_and(|session| session.from_folder);
        Some((name, 1, marked(file, brought)))
    });
    let files: Vec<(String, u8, MinedFile)> = gone.chain(known).collect();
    // Removed turns are placed before the remaining turns of the same part.
    let mut files: Vec<&(String, u8, MinedFile)> = files.iter().collect();
    files.sort_by_key(|(_, is_there, _)| *is_there);
    united(files.into_iter().map(|(name, _, file)| (name.as_str(), file)))
}

/// Returns one record per session, made from named mined files, the latest first. Parts and subagents are merged into
/// their session.
pub fn united<'a>(files: impl Iterator<Item = (&'a str, &'a MinedFile)>) -> Vec<SessionRecord> {
    let mut files: Vec<(&str, &MinedFile)> = files.collect();
    files.sort_by_cached_key(|(name, _)| {
        let (session, number) = parts::of_name(name);
        let is_agent = session.contains('.');
        (is_agent, session.to_owned(), number.wrapping_sub(1))
    });
    let mut sessions: BTreeMap<String, SessionRecord> = BTreeMap::new();
    for (_, file) in files {
        if file.session.is_empty() || file.record.is_empty() {
            continue;
        }
        let record = SessionRecord { session: file.session.clone(), ..file.record.clone() };
        match sessions.get_mut(&file.session) {
            Some(known) => known.extend(record),
            None => drop(sessions.insert(file.session.clone(), record)),
        }
    }
    let mut records: Vec<SessionRecord> = sessions.into_values().collect();
    records.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.session.cmp(&b.session)));
    records
}

/// Sets the mark of a record whose transcript was imported from a folder.
fn marked(file: MinedFile, brought: bool) -> MinedFile {
    let is_empty = file.record.is_empty();
    let record = SessionRecord { brought: brought && !is_empty, ..file.record };
    MinedFile { record, ..file }
}

/// Minimum number of sessions in which a command must pass for the start block.
const SESSIONS_MIN: usize = 3;

/// Maximum number of commands in the start block.
const SHOWN_MAX: usize = 3;

/// Returns the commands for the start block, which passed in at least [`SESSIONS_MIN`] sessions: the line, and the
/// folder unless it is the root. If a line passed in several folders, the folder with most sessions is used.
pub fn often<'a>(sessions: impl Iterator<Item = (&'a str, &'a SessionRecord)>) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (session, record) in sessions {
        for command in &record.commands {
            seen.entry((&command.line, &command.directory)).or_default().insert(session);
        }
    }
    let mut often: Vec<(usize, &str, &str)> = seen
        .into_iter()
        .map(|((line, folder), sessions)| (sessions.len(), line, folder))
        .filter(|(sessions, line, _)| {
            *sessions >= SESSIONS_MIN && suspicion("", line, TextOrigin::Own).is_none()
        })
        .collect();
    often.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.cmp(other)));
    let mut lines = BTreeSet::new();
    often.retain(|(_, line, _)| lines.insert(*line));
    let shown = often.into_iter().take(SHOWN_MAX).map(|(_, line, folder)| match folder {
        "." => format!("`{line}`"),
        folder => format!("`{line}` (in `{folder}`)"),
    });
    shown.collect()
}

/// Maximum number of commands for explicit search. Those that passed in most sessions are kept.
const KEPT_MAX: usize = 2_000;

/// Returns the commands that passed in these sessions, sorted by the number of sessions, the highest first.
pub fn passed<'a>(
    sessions: impl Iterator<Item = (&'a str, &'a SessionRecord)>,
) -> Vec<PassedCommand> {
    let mut seen: BTreeMap<(&str, &str), (BTreeSet<&str>, PassedCommand)> = BTreeMap::new();
    for (session, record) in sessions {
        for command in &record.commands {
            let (sessions, known) = seen.entry((&command.line, &command.directory)).or_default();
            sessions.insert(session);
            if command.last >= known.last {
                known.last = command.last;
                session.clone_into(&mut known.session);
            }
        }
    }
    let passed = seen.into_iter().filter(|((line, _), _)| {
        suspicion("", line, TextOrigin::Own).is_none() && !hides_secret(line)
    });
    let mut passed: Vec<PassedCommand> = passed
        .map(|((line, folder), (sessions, known))| PassedCommand {
            line: line.to_owned(),
            folder: folder.to_owned(),
            purpose: classify(line).map_or(String::new(), |class| class.name().to_owned()),
            sessions: sessions.len(),
            ..known
        })
        .collect();
    passed.sort_by_key(|command| (Reverse(command.sessions), Reverse(command.last)));
    passed.truncate(KEPT_MAX);
    passed
}

/// Returns the cures of sessions, newest first. If an error was cured several times in the same way, only the newest
/// cure is returned.
pub fn cures(records: Vec<SessionRecord>) -> Vec<Cure> {
    let mut cures: Vec<Cure> = records.into_iter().flat_map(|record| record.cures).collect();
    cures.sort_by(|one, other| other.at.cmp(&one.at).then_with(|| one.turns.cmp(&other.turns)));
    let mut seen = HashSet::new();
    cures.retain(|cure| seen.insert((cure.call.clone(), cure.error.clone(), cure.cure.clone())));
    cures
}

/// Minimum number of sessions in which an error must occur to be a friction.
const FRICTION_SESSIONS_MIN: usize = 3;

/// An error that recurs from session to session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Friction {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of failures.
    pub failures: usize,
    /// Number of steps from the failures to their ends, as far as it was counted.
    pub steps: usize,
    /// The last failure with its cure.
    #[serde(flatten)]
    pub last: Cure,
}

/// Returns the errors that were cured in at least [`FRICTION_SESSIONS_MIN`] sessions, those that took most steps first.
pub fn frictions(records: &[SessionRecord]) -> Vec<Friction> {
    let mut seen: BTreeMap<&str, (BTreeSet<&str>, Friction)> = BTreeMap::new();
    for record in records {
        for cure in &record.cures {
            let error = cure.signature.as_deref().unwrap_or(&cure.error);
            let (sessions, known) = seen.entry(error).or_insert_with(|| {
                let last = cure.clone();
                (BTreeSet::new(), Friction { sessions: 0, failures: 0, steps: 0, last })
            });
            sessions.insert(&record.session);
            known.failures += 1;
            known.steps += cure.steps;
            if cure.at > known.last.at {
                known.last = cure.clone();
            }
        }
    }
    let counted =
        seen.into_values().map(|(sessions, known)| Friction { sessions: sessions.len(), ..known });
    let mut frictions: Vec<Friction> =
        counted.filter(|it| it.sessions >= FRICTION_SESSIONS_MIN).collect();
    frictions.sort_by_key(|it| (Reverse(it.steps), Reverse(it.failures), Reverse(it.last.at)));
    frictions
}

/// Minimum share of the words of a query that a cure must contain.
const FIT_MIN: f32 = 0.5;

/// Returns the cures for an error, the best first: cures of the same signature, and cures that contain at least half of
/// the error's words.
pub fn cures_of(cures: Vec<Cure>, asked: &str) -> Vec<Cure> {
    let signature = error_signature(asked);
    let words = subject_of(asked);
    let fit = |cure: &Cure| -> f32 {
        if signature.is_some() && cure.signature == signature {
            return 1.0;
        }
        share(&words, &format!("{} {} {}", cure.call, cure.error, cure.cure))
    };
    let fitting = cures.into_iter().map(|cure| (fit(&cure), cure));
    let mut fitting: Vec<(f32, Cure)> = fitting.filter(|(fit, _)| *fit >= FIT_MIN).collect();
    fitting.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    fitting.into_iter().map(|(_, cure)| cure).collect()
}

/// Returns the share of `words` that a text contains.
fn share(words: &BTreeSet<String>, text: &str) -> f32 {
    let of_text = subject_of(text);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = words.intersection(&of_text).count() as f32 / words.len().max(1) as f32;
    share
}

#[cfg(test)]
mod tests {
    use memory_store::Timestamp;
    use memory_store::memory::CommandRecord;

    use super::*;

    #[test]
    fn a_command_is_shown_once_it_passed_in_three_sessions() {
        let of = |line: &str, folder: &str| CommandRecord {
            line: line.to_owned(),
            directory: folder.to_owned(),
            exit_status: 0,
            passed: 9,
            last: Timestamp(0),
        };
        let record = |commands: &[(&str, &str)]| SessionRecord {
            commands: commands.iter().map(|(line, folder)| of(line, folder)).collect(),
            ..SessionRecord::default()
        };
        let sessions = [
            ("a", record(&[("make test", "."), ("npm test", "web"), ("npm test", ".")])),
            ("b", record(&[("make test", "."), ("npm test", "web"), ("make lint", ".")])),
            ("c", record(&[("make test", "."), ("npm test", "web"), ("make lint", ".")])),
            ("c", record(&[("make lint", ".")])),
            ("d", record(&[("make test", ".")])),
        ];
        let shown = often(sessions.iter().map(|(session, record)| (*session, record)));
        assert_eq!(shown, ["`make test`", "`npm test` (in `web`)"]);
    }

    #[test]
    fn a_cure_is_found_by_a_few_words_of_its_error() {
        let cure = |error: &str, cure: &str| Cure {
            call: "`python run.py`".to_owned(),
            error: error.to_owned(),
            cure: cure.to_owned(),
            ..Cure::default()
        };
        let cures = vec![
            cure(
                "sqlite3.OperationalError: database is locked",
                "Cured by `make stop`; then it passed.",
            ),
            cure("KeyError: 'total'", "It passed after a change in src/cart.py."),
        ];
        let found = |asked: &str| -> Vec<String> {
            cures_of(cures.clone(), asked).into_iter().map(|cure| cure.error).collect()
        };
        for asked in ["database is locked", "locked", "the database locked", "database is locked?"]
        {
            assert_eq!(found(asked), ["sqlite3.OperationalError: database is locked"], "{asked}");
        }
        // A query with words of both errors. Each error contains half of them.
        let both = ["sqlite3.OperationalError: database is locked", "KeyError: 'total'"];
        assert_eq!(found("locked total"), both);
        assert_eq!(found("database locked total"), both[..1]);
        for asked in ["a zeppelin is locked in a hangar", "", "is"] {
            assert_eq!(found(asked), [""; 0], "{asked}");
        }
    }
}
