//! Questions, tasks and failing commands that sessions left open, without those that a later session settled.

use std::cmp::Reverse;

use memory_store::Timestamp;
use serde::Serialize;

use super::share;
use crate::extract::goes_on;
use crate::extract::session_record::{SessionRecord, is_done};
use crate::extract::subject_of;

/// Share of the words of an open item that a later session has where it is about the same.
const SAME_SHARE: f32 = 0.6;
/// Words of an item from which a text can be told to be about it.
const WORDS_MIN: usize = 2;
/// Words of a request that may be the answer to the question before it.
const ANSWER_WORDS_MAX: usize = 12;

/// Kind of an open item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenKind {
    /// A question that was not answered.
    Question,
    /// An item of a todo list that was not done.
    Task,
    /// A command that failed and did not pass since.
    Failing,
}

/// Something that a session left open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenItem {
    /// Its kind.
    pub kind: OpenKind,
    /// The question, the task, or the command.
    pub text: String,
    /// The session.
    pub session: String,
    /// Time of the session's last step.
    pub at: Timestamp,
    /// Branch of the session.
    pub branch: String,
}

/// Returns what sessions left open, the latest first. `records` are those of all sessions, the latest first; what
/// programs and other agents left open is nothing of the person's.
pub fn open_items(records: &[SessionRecord]) -> Vec<OpenItem> {
    let is_persons = |record: &&SessionRecord| {
        record.speaker.unwrap_or_default().is_person() && record.agent.is_none()
    };
    let mut open: Vec<OpenItem> = Vec::new();
    // From the latest on: an item that a later session left open, too, is listed there.
    for (place, record) in records.iter().enumerate().filter(|(_, record)| is_persons(record)) {
        let later = &records[..place];
        let item = |kind, text: &str| OpenItem {
            kind,
            text: text.to_owned(),
            session: record.session.clone(),
            at: record.last,
            branch: record.branch.clone(),
        };
        let question = record.question.as_deref().filter(|text| {
            let next = later.iter().rev().find(|it| is_persons(it) && it.folder == record.folder);
            !next.is_some_and(|next| answers(next, text)) && !is_settled(text, later)
        });
        let tasks = record.open_tasks().map(|task| task.text.as_str());
        let tasks = tasks.filter(|text| !is_settled(text, later));
        let failing =
            record.failing.iter().filter(|failed| !later.iter().any(|it| it.passes(&failed.line)));
        let items = question
            .map(|text| item(OpenKind::Question, text))
            .into_iter()
            .chain(tasks.map(|text| item(OpenKind::Task, text)))
            .chain(failing.map(|failed| item(OpenKind::Failing, &failed.line)));
        for item in items.collect::<Vec<_>>() {
            let repeats = |known: &OpenItem| {
                known.kind == item.kind
                    && (known.text == item.text || is_about(&known.text, &item.text))
            };
            if !open.iter().any(repeats) {
                open.push(item);
            }
        }
    }
    open.sort_by_key(|item| (Reverse(item.at), item.kind));
    open
}

/// Returns whether the first request of the next session answers a question: it only assents, or it is short and has a
/// word of the question.
fn answers(next: &SessionRecord, question: &str) -> bool {
    let request = &next.first_request;
    let words = subject_of(question);
    let is_short = request.split_whitespace().count() <= ANSWER_WORDS_MAX;
    !request.is_empty() && (goes_on(request) || is_short && share(&words, request) > 0.0)
}

/// Returns whether a later session finished a task, or turned to a question.
fn is_settled(text: &str, later: &[SessionRecord]) -> bool {
    later.iter().any(|record| {
        let done = record.tasks.iter().filter(|task| is_done(task)).map(|task| task.text.as_str());
        let commits = record.commits.iter().map(|commit| commit.subject.as_str());
        // What was asked for and left open again is listed with that session.
        let asked = [record.first_request.as_str(), &record.last_request, &record.title];
        let asked = asked.into_iter().filter(|_| record.changed && !record.leaves_open());
        done.chain(commits).chain(asked).any(|other| other == text || is_about(other, text))
    })
}

/// Returns whether a text has most words of an item.
fn is_about(other: &str, item: &str) -> bool {
    let words = subject_of(item);
    words.len() >= WORDS_MIN && share(&words, other) >= SAME_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Landed;
    use crate::transcript::Speaker;
    use crate::transcript::session::Todo;

    fn record(session: &str, at: i64) -> SessionRecord {
        SessionRecord {
            session: session.to_owned(),
            last: Timestamp(at),
            speaker: Some(Speaker::Person),
            ..SessionRecord::default()
        }
    }

    fn task(text: &str, state: &str) -> Todo {
        Todo { text: text.to_owned(), state: state.to_owned() }
    }

    fn open_texts(records: &[SessionRecord]) -> Vec<String> {
        open_items(records).into_iter().map(|item| item.text).collect()
    }

    fn asked() -> SessionRecord {
        let question = Some("Shall the refunds be booked nightly or at once?".to_owned());
        let tasks = vec![
            task("Backfill the keys of old refunds", "pending"),
            task("Write the importer", "completed"),
        ];
        SessionRecord { question, tasks, ..record("a", 1) }
    }

    #[test]
    fn what_a_session_left_is_open_until_a_later_one_settles_it() {
        let both =
            ["Shall the refunds be booked nightly or at once?", "Backfill the keys of old refunds"];
        assert_eq!(open_texts(&[asked()]), both);
        // Another subject settles nothing.
        let other = SessionRecord {
            first_request:
                "Rename the berths of the harbour table and move its tests, please, all of them"
                    .to_owned(),
            changed: true,
            ..record("b", 2)
        };
        assert_eq!(open_texts(&[other, asked()]), both);
        let done = SessionRecord {
            tasks: vec![task("Backfill keys of old refunds", "completed")],
            ..record("b", 2)
        };
        assert_eq!(open_texts(&[done, asked()]), both[..1]);
        let commits = vec![Landed {
            subject: "Backfill keys for old refunds".to_owned(),
            ..Landed::default()
        }];
        assert_eq!(open_texts(&[SessionRecord { commits, ..record("b", 2) }, asked()]), both[..1]);
        for answer in ["nightly", "yes", "book them at once"] {
            let next = SessionRecord { first_request: answer.to_owned(), ..record("b", 2) };
            assert_eq!(open_texts(&[next, asked()]), both[1..], "{answer}");
        }
    }

    #[test]
    fn what_is_left_again_is_listed_once_with_the_later_session() {
        let again = SessionRecord {
            tasks: vec![task("Backfill the keys of old refunds", "in_progress")],
            first_request: "Backfill the keys of the old refunds".to_owned(),
            changed: true,
            ..record("b", 2)
        };
        let open = open_items(&[again, SessionRecord { question: None, ..asked() }]);
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].session, "b");
    }

    #[test]
    fn what_programs_and_agents_left_is_not_the_persons() {
        for speaker in [Speaker::Program, Speaker::Agent] {
            assert_eq!(open_texts(&[SessionRecord { speaker: Some(speaker), ..asked() }]), [""; 0]);
        }
        assert_eq!(
            open_texts(&[SessionRecord { agent: Some("a7".to_owned()), ..asked() }]),
            [""; 0]
        );
    }

    #[test]
    fn a_command_fails_until_it_passes_in_a_later_session() {
        use memory_store::memory::CommandRecord;
        for (line, passing, is_open) in [
            ("make check-links", "make check-links", false),
            ("./run-checks.sh", "cd tools && ./run-checks.sh", false),
            ("pytest tests/test_mailer.py", "pytest", false),
            ("make check-links", "make docs", true),
        ] {
            let failing = CommandRecord {
                line: line.to_owned(),
                directory: ".".to_owned(),
                exit_status: 2,
                passed: 0,
                last: Timestamp(0),
            };
            let failed = SessionRecord { failing: vec![failing], ..record("a", 1) };
            assert_eq!(open_texts(std::slice::from_ref(&failed)), [line]);
            let passed = SessionRecord { passing: vec![passing.to_owned()], ..record("b", 2) };
            assert_eq!(open_texts(&[passed, failed]) == [line], is_open, "{line}");
        }
    }
}
