//! The gold file: sessions in the order of processing, and the queries that follow each session.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use memory_store::Timestamp;
use memory_store::error::At as _;
use serde::Deserialize;

/// A gold file, without the fields that only the scorer reads.
#[derive(Debug, Deserialize)]
pub struct Gold {
    /// The folder of transcripts. In the file the path is relative to the file; here it is absolute.
    pub transcripts: PathBuf,
    /// The sessions in the order of processing.
    pub sessions: Vec<GoldSession>,
    /// Queries to run.
    #[serde(default)]
    pub queries: Vec<Query>,
    /// Prompts that no memory answers.
    #[serde(default)]
    pub negatives: Vec<Query>,
    /// Prompts that people wrote in later sessions, from the file [`REAL_PROMPTS`] in the same folder.
    #[serde(skip)]
    pub real: Vec<Query>,
}

/// File with prompts of a project as people wrote them, one on each line.
const REAL_PROMPTS: &str = "real-prompts.jsonl";

/// A session of the gold file.
#[derive(Debug, Deserialize)]
pub struct GoldSession {
    /// Claude Code's id of the session.
    pub id: String,
    /// Time of the session's last record, which is the time of its processing and of its queries.
    pub last: Timestamp,
}

/// A query.
#[derive(Debug, Deserialize)]
pub struct Query {
    /// Id.
    pub id: String,
    /// Kind of query.
    #[serde(default, rename = "type")]
    pub way: Way,
    /// The prompt, path or error.
    pub text: String,
    /// Id of the session after which the query is run.
    #[serde(default)]
    pub after_session: String,
    /// For a real prompt: whether a query of the gold file was derived from it.
    #[serde(default, rename = "gold")]
    pub is_gold: bool,
}

/// How a query is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// As a prompt.
    #[default]
    Prompt,
    /// As a prompt that is a question.
    Question,
    /// As a file that is read.
    File,
    /// As a command that fails.
    Error,
}

impl Gold {
    /// Reads a gold file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).at(path)?;
        let mut gold: Self = serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "{} is no gold file with `transcripts`, `sessions`, `queries` and `negatives`",
                path.display()
            )
        })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let transcripts = folder.join(&gold.transcripts);
        gold.transcripts = transcripts.canonicalize().at(&transcripts)?;
        let real = folder.join(REAL_PROMPTS);
        if real.exists() {
            let text = fs::read_to_string(&real).at(&real)?;
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read = lines.map(serde_json::from_str).collect::<Result<_, _>>();
            gold.real = read.with_context(|| real.display().to_string())?;
        }
        Ok(gold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_scorer_needs_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("transcripts")).unwrap();
        let path = folder.path().join("gold.json");
        let text = r#"{"project": "x", "transcripts": "transcripts", "memories": [{"id": "m1"}],
            "sessions": [{"id": "s1", "first": "2026-01-01T00:00:00Z", "last": "2026-01-01T01:00:00.5Z", "title": "t"}],
            "queries": [{"id": "q1", "type": "file", "text": "src/a.rs", "after_session": "s1", "relevant": ["m1"]}],
            "negatives": [{"id": "n1", "text": "thanks"}]}"#;
        fs::write(&path, text).unwrap();
        let gold = Gold::read(&path).unwrap();
        assert!(gold.transcripts.is_absolute() && gold.real.is_empty());
        assert_eq!(gold.sessions[0].last, Timestamp::parse("2026-01-01T01:00:00.5Z").unwrap());
        assert_eq!((gold.queries[0].way, gold.negatives[0].way), (Way::File, Way::Prompt));

        let prompt = r#"{"id": "r1", "text": "why", "after_session": "s1", "gold": true}"#;
        fs::write(folder.path().join(REAL_PROMPTS), format!("{prompt}\n\n")).unwrap();
        let real = Gold::read(&path).unwrap().real;
        assert_eq!((real.len(), real[0].is_gold, real[0].way), (1, true, Way::Prompt));

        fs::write(&path, "{}").unwrap();
        let error = format!("{:#}", Gold::read(&path).unwrap_err());
        assert!(error.contains("missing field `transcripts`"), "{error}");
    }
}
