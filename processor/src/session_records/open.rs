//! Open items of sessions: questions, tasks and failing commands, except items that a later session settled.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use memory_store::Timestamp;
use serde::Serialize;

use super::share;
use crate::extract::goes_on;
use crate::extract::session_record::{SessionRecord, is_done, settles};
use crate::extract::subject_of;

/// Minimum share of the words of an open item that the text of a later session about the same subject must contain.
const SAME_SHARE: f32 = 0.6;
/// Minimum number of words of an item that can be matched with a text.
const WORDS_MIN: usize = 2;
/// Maximum number of words of a request that may be the answer to an earlier question.
const ANSWER_WORDS_MAX: usize = 12;

/// Kind of an open item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenKind {
    /// A question that was not answered.
    Question,
    /// An item of a todo list that was not completed.
    Task,
    /// A command that failed and did not pass later.
    Failing,
}

/// An unfinished item of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenItem {
    /// Kind of the item.
    pub kind: OpenKind,
    /// The question, the task, or the command.
    pub text: String,
    /// Id of the session.
    pub session: String,
    /// Time of the session's last step.
    pub at: Timestamp,
    /// Branch of the session.
    pub branch: String,
}

/// Returns the open items of sessions, the latest first. `records` are the records of all sessions, the latest first.
/// Items of programs and other agents are omitted, because they are not the person's. Imported sessions may be another
/// person's, so they are used only if this machine has no sessions.
pub fn open_items(records: &[SessionRecord]) -> Vec<OpenItem> {
    let is_typed = |record: &SessionRecord| {
        record.speaker.unwrap_or_default().is_person() && record.agent.is_none()
    };
    let has_own = records.iter().any(|record| is_typed(record) && !record.brought);
    let is_persons = |record: &&SessionRecord| is_typed(record) && !(has_own && record.brought);
    let mut open: Vec<OpenItem> = Vec::new();
    let (mut settled, mut passing) = (TextsByWord::default(), BTreeSet::<&str>::new());
    let mut listed: BTreeMap<OpenKind, TextsByWord> = BTreeMap::new();
    // The latest session is first. An item that several sessions left open is listed with the latest of these.
    for (place, record) in records.iter().enumerate() {
        if is_persons(&record) {
            let question = record.question.as_deref().filter(|text| {
                let next = records[..place].iter().rev();
                let next = next.filter(|it| is_persons(it) && it.folder == record.folder);
                !is_answered(text, record, next) && !settled.has(text)
            });
            let tasks = record.open_tasks().filter(|text| !settled.has(text));
            let is_failing = |line: &str| !passing.iter().any(|passed| settles(passed, line));
            let failing = record.failing.iter().map(|failed| failed.line.as_str());
            let items = question
                .map(|text| (OpenKind::Question, text))
                .into_iter()
                .chain(tasks.map(|text| (OpenKind::Task, text)))
                .chain(failing.filter(|line| is_failing(line)).map(|it| (OpenKind::Failing, it)));
            for (kind, text) in items {
                let known = listed.entry(kind).or_default();
                if known.has(text) {
                    continue;
                }
                known.add(text);
                open.push(OpenItem {
                    kind,
                    text: text.to_owned(),
                    session: record.session.clone(),
                    at: record.last,
                    branch: record.branch.clone(),
                });
            }
        }
        add_settled(record, &mut settled);
        passing.extend(record.passing.iter().map(String::as_str));
    }
    open.sort_by_key(|item| (Reverse(item.at), item.kind));
    open
}

/// Adds the tasks that a session completed, and the questions that it worked on.
fn add_settled(record: &SessionRecord, settled: &mut TextsByWord) {
    let done = record.tasks.iter().filter(|task| is_done(task)).map(|task| task.text.as_str());
    let commits = record.commits.iter().map(|commit| commit.subject.as_str());
    // A request of a session with open items is not settled; it is listed with that session.
    let asked = [record.first_request.as_str(), &record.last_request, &record.title];
    let asked = asked.into_iter().filter(|_| record.changed && !record.leaves_open());
    done.chain(commits).chain(asked).for_each(|text| settled.add(text));
}

/// Texts with an index of their words, so that a similar text is found without comparing all.
#[derive(Default)]
struct TextsByWord {
    whole: HashSet<String>,
    /// Numbers of the texts that contain a word.
    with_word: HashMap<String, Vec<u32>>,
    count: u32,
}

impl TextsByWord {
    fn add(&mut self, text: &str) {
        if !self.whole.insert(text.to_owned()) {
            return;
        }
        for word in subject_of(text) {
            self.with_word.entry(word).or_default().push(self.count);
        }
        self.count += 1;
    }

    /// Returns whether one of the texts is equal to this item, or contains most of its words.
    fn has(&self, item: &str) -> bool {
        if self.whole.contains(item) {
            return true;
        }
        let words = subject_of(item);
        if words.len() < WORDS_MIN {
            return false;
        }
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for number in words.iter().filter_map(|word| self.with_word.get(word)).flatten() {
            *shared.entry(*number).or_default() += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let is_most = |count: &usize| *count as f32 / words.len() as f32 >= SAME_SHARE;
        shared.values().any(is_most)
    }
}

/// Returns whether one of the next sessions answers a question of a session. Between question and answer there may be
/// sessions that changed nothing, and sessions on other branches.
fn is_answered<'a>(
    question: &str,
    of: &SessionRecord,
    next: impl Iterator<Item = &'a SessionRecord>,
) -> bool {
    for next in next {
        if answers(next, question) {
            return true;
        }
        if next.changed && next.branch == of.branch {
            return false;
        }
    }
    false
}

/// Returns whether the first request of the next session answers a question: it only asks to continue, or it is short
/// and has a word in common with the question.
fn answers(next: &SessionRecord, question: &str) -> bool {
    let request = &next.first_request;
    let words = subject_of(question);
    let is_short = request.split_whitespace().count() <= ANSWER_WORDS_MAX;
    !request.is_empty() && (goes_on(request) || is_short && share(&words, request) > 0.0)
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
        // A session about another subject settles no item.
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
    fn sessions_that_change_nothing_or_are_of_another_branch_may_lie_before_the_answer() {
        let on = |branch: &str, request: &str, changed: bool, at: i64| SessionRecord {
            branch: branch.to_owned(),
            first_request: request.to_owned(),
            changed,
            ..record("later", at)
        };
        let asked = SessionRecord { branch: "main".to_owned(), tasks: Vec::new(), ..asked() };
        let answer = on("main", "nightly, thanks", true, 4);
        let other =
            "Rename the berths of the harbour table and move its tests, please, all of them";
        for (between, is_open) in [
            (on("topic", "what is a berth?", false, 3), false),
            (on("main", "what is a berth?", false, 3), false),
            (on("topic", other, true, 3), false),
            (on("main", other, true, 3), true),
        ] {
            let open = open_texts(&[answer.clone(), between.clone(), asked.clone()]);
            assert_eq!(!open.is_empty(), is_open, "{between:?}");
        }
    }

    #[test]
    fn sessions_of_others_count_only_where_none_is_of_this_machine() {
        let brought = SessionRecord { brought: true, ..asked() };
        assert_eq!(open_texts(std::slice::from_ref(&brought)).len(), 2);
        assert_eq!(open_texts(&[record("own", 2), brought]), [""; 0]);
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
