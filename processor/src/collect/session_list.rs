//! The list of a project's sessions for `throughline-mcp`, made from session records: time, branch, request, results,
//! and changed files.

use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use serde::Serialize;

use crate::extract::session_record::SessionRecord;
use crate::session_records;
use crate::transcript::Speaker;

/// Maximum number of sessions in the list. The latest are kept.
const SESSIONS_MAX: usize = 2_000;
/// Maximum number of files per session. The last changed are kept.
const FILES_MAX: usize = 50;
/// Maximum number of results per session. The last are kept.
const DONE_MAX: usize = 10;

/// One session, with the fields that `throughline-mcp` reads.
#[derive(Debug, PartialEq, Serialize)]
pub struct ListedSession {
    session: String,
    /// Speaker of the prompts; omitted for a person.
    #[serde(skip_serializing_if = "Speaker::is_person")]
    speaker: Speaker,
    first: Timestamp,
    last: Timestamp,
    branch: String,
    goal: String,
    done: Vec<String>,
    open: Vec<String>,
    files: Vec<String>,
}

/// Returns the sessions of a project, the latest first. Subagents are part of their session and have no separate entry.
pub fn sessions(home: &ProjectDir) -> Vec<ListedSession> {
    let records = session_records::read(home).into_iter();
    records
        .filter(|record| record.agent.is_none())
        .take(SESSIONS_MAX)
        .map(ListedSession::from)
        .collect()
}

impl From<SessionRecord> for ListedSession {
    fn from(record: SessionRecord) -> Self {
        let mut files: Vec<(&str, Timestamp)> = record.written().collect();
        files.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let files = files.into_iter().take(FILES_MAX).map(|(path, _)| path.to_owned()).collect();
        let tasks = record.open_tasks().map(str::to_owned);
        let failing = record.failing.iter().map(|command| format!("`{}` fails", command.line));
        let open =
            tasks.chain(record.question.clone()).chain(record.stopped.clone()).chain(failing);
        let open = open.collect();
        let mut done: Vec<String> =
            record.commits.into_iter().rev().take(DONE_MAX).map(|commit| commit.subject).collect();
        if done.is_empty() && !record.answer.is_empty() {
            done.push(record.answer);
        }
        Self {
            session: record.session,
            speaker: record.speaker.unwrap_or_default(),
            first: record.first,
            last: record.last,
            branch: record.branch,
            goal: match record.last_request.is_empty() {
                // A session whose turns were removed still has its title.
                true => record.title,
                false => record.last_request,
            },
            done,
            open,
            files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::session_record::TouchedFile;
    use crate::transcript::session::Todo;

    #[test]
    fn a_session_is_listed_with_what_it_did_and_left_open() {
        let file = |path: &str, last, edited: Option<i64>| TouchedFile {
            path: path.to_owned(),
            last: Timestamp(last),
            edited: edited.map(Timestamp),
            ..TouchedFile::default()
        };
        let task =
            |text: &str, state: &str| Todo { text: text.to_owned(), state: state.to_owned() };
        let record = SessionRecord {
            session: "4f1c".to_owned(),
            branch: "main".to_owned(),
            last_request: "Sum the invoices".to_owned(),
            tasks: vec![task("a test", "pending"), task("the sum", "completed")],
            question: Some("Shall I write it?".to_owned()),
            answer: "The sum is right now.".to_owned(),
            files: vec![
                file("src/read.rs", 9, None),
                file("src/a.rs", 8, Some(1)),
                file("src/b.rs", 5, Some(5)),
            ],
            ..SessionRecord::default()
        };
        let listed = ListedSession::from(record);
        assert_eq!(listed.open, ["a test", "Shall I write it?"]);
        assert_eq!(listed.files, ["src/b.rs", "src/a.rs"]);
        assert_eq!(listed.done, ["The sum is right now."]);
        assert_eq!((listed.branch.as_str(), listed.goal.as_str()), ("main", "Sum the invoices"));
    }
}
