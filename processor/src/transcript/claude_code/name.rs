//! Parses the session and the subagent from the path of a transcript.

use std::path::Path;

use crate::transcript::name::TranscriptName;

/// Parses a path: `<session>.jsonl`, `<session>/subagents/**/agent-<agent>.jsonl` (since 2.1.2), or
/// `agent-<agent>.jsonl` next to the sessions (2.0.x). Returns `None` for other files.
pub fn name(path: &Path) -> Option<TranscriptName> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    if let Some(agent) = stem.strip_prefix("agent-") {
        let folders = || path.ancestors().skip(1);
        let session = folders()
            .find(|folder| folder.ends_with("subagents"))
            .and_then(|folder| folder.parent()?.file_name()?.to_str())
            .unwrap_or_default();
        let agent = original(agent).to_owned();
        return Some(TranscriptName { session: session.to_owned(), agent: Some(agent) });
    }
    let beside = path
        .ancestors()
        .any(|folder| folder.ends_with("subagents") || folder.ends_with("tool-results"));
    let session = original(stem).to_owned();
    (!session.is_empty() && !beside).then_some(TranscriptName { session, agent: None })
}

/// Returns the original name of a copied file. Services that synchronise folders change the name after a conflict, and
/// file managers change it if the name exists already.
fn original(stem: &str) -> &str {
    // Text after the id of a session was added by another program.
    if let Some(id) = stem.get(..UUID_CHARS).filter(|id| is_uuid(id)) {
        return id;
    }
    const MARKS: [&str; 4] = [".sync-conflict-", " (", ".conflict", " copy"];
    let end = MARKS.iter().filter_map(|mark| stem.find(mark)).min();
    &stem[..end.unwrap_or(stem.len())]
}

/// Number of characters in a session's id.
const UUID_CHARS: usize = 36;

fn is_uuid(text: &str) -> bool {
    let mut bytes = text.bytes().enumerate();
    bytes.all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layouts_are_known() {
        let check = |path: &str, expected: Option<(&str, Option<&str>)>| {
            let name = name(Path::new(path));
            let name = name.as_ref().map(|name| (name.session.as_str(), name.agent.as_deref()));
            assert_eq!(name, expected, "{path}");
        };
        check("/p/-w/s1.jsonl", Some(("s1", None)));
        check("/p/-w/s1/subagents/agent-a1.jsonl", Some(("s1", Some("a1"))));
        check("/p/-w/s1/subagents/workflows/w/agent-a2.jsonl", Some(("s1", Some("a2"))));
        check("/p/-w/s1/subagents/workflows/w/journal.jsonl", None);
        check("/p/-w/agent-a3.jsonl", Some(("", Some("a3"))));
        check("/p/-w/s1/tool-results/x.txt", None);
        check("/p/-w/memory/MEMORY.md", None);
        let id = "0a1b2c3d-0000-4000-8000-00000000000f";
        for copy in [
            "",
            ".sync-conflict-20261120-101500-ABCDEFG",
            " (1)",
            " (Ada's conflicted copy)",
            "-LAPTOP",
            " 2",
        ] {
            check(&format!("/p/-w/{id}{copy}.jsonl"), Some((id, None)));
        }
        check("/p/-w/s1.sync-conflict-2026-A.jsonl", Some(("s1", None)));
        check("/p/-w/s1/subagents/agent-a1 (1).jsonl", Some(("s1", Some("a1"))));
    }
}
