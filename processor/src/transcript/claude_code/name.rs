//! Paths of transcripts: the session and the subagent in them.

use std::path::Path;

use crate::transcript::name::TranscriptName;

/// Reads a path: `<session>.jsonl`, `<session>/subagents/**/agent-<agent>.jsonl` (from 2.1.2
/// on), or `agent-<agent>.jsonl` beside the sessions (2.0.x). `None` for other files.
pub fn name(path: &Path) -> Option<TranscriptName> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    if let Some(agent) = stem.strip_prefix("agent-") {
        let folders = || path.ancestors().skip(1);
        let session = folders()
            .find(|folder| folder.ends_with("subagents"))
            .and_then(|folder| folder.parent()?.file_name()?.to_str())
            .unwrap_or_default();
        return Some(TranscriptName { session: session.to_owned(), agent: Some(agent.to_owned()) });
    }
    let beside = path
        .ancestors()
        .any(|folder| folder.ends_with("subagents") || folder.ends_with("tool-results"));
    (!stem.is_empty() && !beside).then(|| TranscriptName { session: stem.to_owned(), agent: None })
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
    }
}
