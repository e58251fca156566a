//! The sessions of a project as other programs list them: when, on which branch, what was asked and done, and which
//! files they changed.

use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use serde::Serialize;

use crate::state::State;
use crate::transcript::Speaker;

/// Sessions of a list, the latest first.
const SESSIONS_MAX: usize = 2_000;
/// Files of a session that are named, those that it changed last.
const FILES_MAX: usize = 50;

/// One session; fields as `throughline-mcp` reads them.
#[derive(Debug, PartialEq, Serialize)]
pub struct Listed {
    session: String,
    /// Its speaker, where that is no person.
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

/// Returns the sessions of a project, the latest first; subagents are part of their session's turns and not listed.
pub fn sessions(home: &ProjectDir) -> Vec<Listed> {
    let state = State::read(home);
    let mut listed: Vec<Listed> = state
        .whole_sessions()
        .into_iter()
        .filter_map(|(name, session)| {
            // A subagent's archive file is named by both ids.
            if name.contains('.') {
                return None;
            }
            // A session that left nothing to tell is known by the name of its file.
            let mut left = session.left.map(|(_, left)| left).unwrap_or_default();
            if left.session.is_empty() {
                left.session = name.to_owned();
            }
            let mut files: Vec<(String, Timestamp)> = session.edited.into_iter().collect();
            files.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            files.truncate(FILES_MAX);
            Some(Listed {
                session: left.session,
                speaker: session.speaker.unwrap_or_default(),
                first: session.first,
                last: session.last,
                branch: left.branch,
                goal: left.goal,
                done: left.done,
                open: left.not_done.into_iter().chain(left.next).collect(),
                files: files.into_iter().map(|(path, _)| path).collect(),
            })
        })
        .collect();
    listed.sort_by(|a, b| b.last.cmp(&a.last).then(a.session.cmp(&b.session)));
    listed.dedup_by(|a, b| a.session == b.session);
    listed.truncate(SESSIONS_MAX);
    listed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use memory_store::handoff::LeftSession;

    use super::*;
    use crate::state::SessionState;

    #[test]
    fn sessions_are_listed_with_what_they_did_and_without_their_subagents() {
        let folder = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(folder.path().to_owned());
        let left = LeftSession {
            session: "4f1c".to_owned(),
            branch: "main".to_owned(),
            goal: "Sum the invoices".to_owned(),
            not_done: vec!["a test".to_owned()],
            next: Some("write it".to_owned()),
            ..LeftSession::default()
        };
        let edited = [("src/a.rs", 1), ("src/b.rs", 5)];
        let session = |last| SessionState {
            last: Timestamp(last),
            edited: edited.iter().map(|(path, at)| ((*path).to_owned(), Timestamp(*at))).collect(),
            ..SessionState::default()
        };
        let mut state = State::default();
        state.sessions = BTreeMap::from([
            ("4f1c".to_owned(), SessionState { left: Some((String::new(), left)), ..session(9) }),
            ("4f1c.a7".to_owned(), session(10)),
            ("77aa".to_owned(), session(11)),
        ]);
        std::fs::create_dir_all(&home.mined).unwrap();
        state.write(&home).unwrap();
        let listed = sessions(&home);
        let names: Vec<&str> = listed.iter().map(|session| session.session.as_str()).collect();
        assert_eq!(names, ["77aa", "4f1c"]);
        assert_eq!(listed[1].open, ["a test", "write it"]);
        assert_eq!(listed[1].files, ["src/b.rs", "src/a.rs"]);
        assert_eq!((listed[1].branch.as_str(), listed[0].branch.as_str()), ("main", ""));
    }
}
