//! A labelled set: memories and queries, as one JSON object on each line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use memory_store::Timestamp;
use memory_store::error::At as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A memory of a set.
#[derive(Debug, Deserialize)]
pub struct SetMemory {
    /// Id within the set.
    pub id: String,
    /// The text of the memory.
    pub text: String,
    /// Time of the event.
    pub time: Option<Timestamp>,
    /// Source session.
    session: Option<SetSession>,
    group: String,
}

/// Number or name of a session.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SetSession {
    Number(u64),
    Name(String),
}

impl SetMemory {
    /// Returns the name of the memory's session. Memories without a session count as one session if their times are
    /// equal.
    pub fn session(&self) -> Option<String> {
        match &self.session {
            Some(SetSession::Number(number)) => Some(number.to_string()),
            Some(SetSession::Name(name)) => Some(name.clone()),
            None => self.time.map(|time| time.to_string()),
        }
    }
}

/// A query of a set.
#[derive(Debug, Deserialize)]
pub struct Question {
    /// Id within the set.
    pub id: String,
    /// Text of the question.
    pub text: String,
    /// Time of the query.
    pub time: Option<Timestamp>,
    /// Ids of the memories that answer the query; empty if there are none.
    #[serde(default)]
    pub relevant: Vec<String>,
    group: String,
}

impl Question {
    /// Returns a query that no memory answers.
    pub fn unanswerable(id: String, text: String) -> Self {
        Self { id, text, time: None, relevant: Vec::new(), group: String::new() }
    }
}

/// Memories that are searched separately from those of other groups, with the queries about them.
#[derive(Debug, Default)]
pub struct Group {
    /// The memories, sorted by time; those of the same time are in the order of the file.
    pub items: Vec<SetMemory>,
    /// The queries in the order of the file.
    pub questions: Vec<Question>,
}

/// Reads the files `memories.jsonl` and `queries.jsonl` in a folder. Returns the groups, sorted by name.
pub fn read(folder: &Path) -> Result<Vec<Group>> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for item in rows::<SetMemory>(&folder.join("memories.jsonl"))? {
        groups.entry(item.group.clone()).or_default().items.push(item);
    }
    for question in rows::<Question>(&folder.join("queries.jsonl"))? {
        groups.entry(question.group.clone()).or_default().questions.push(question);
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.items.sort_by_key(|item| item.time));
    Ok(groups)
}

/// Reads a file of JSON objects, one on each line.
pub fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).at(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), number + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_by_group_and_a_broken_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put(
            "memories.jsonl",
            r#"{"id": "b", "text": "two", "group": "g", "time": "2026-05-08T13:56:00", "session": 1}
               {"id": "a", "text": "one", "group": "g"}
               {"id": "c", "text": "three", "group": "f"}"#,
        );
        put("queries.jsonl", r#"{"id": "q", "text": "one?", "group": "g", "relevant": ["a"]}"#);
        let groups = read(folder.path()).unwrap();
        let ids =
            |group: &Group| group.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>();
        assert_eq!(
            (ids(&groups[0]), ids(&groups[1])),
            (vec!["c".into()], vec!["a".into(), "b".into()])
        );
        assert_eq!(groups[1].items[1].time.unwrap().date(), "2026-05-08");
        assert_eq!((groups[0].questions.len(), groups[1].questions[0].relevant.len()), (0, 1));

        put("queries.jsonl", "\n{\"id\": 1}\n");
        let error = format!("{:#}", read(folder.path()).unwrap_err());
        assert!(error.contains("queries.jsonl:2: "), "{error}");
    }
}
