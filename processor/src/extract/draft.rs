//! A draft: a proposed memory, before consolidation.

use memory_store::memory::{Fact, SaidBy, Scope};
use memory_store::neighbour::Statement;
use memory_store::{Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// Files of one memory.
pub const PATHS_MAX: usize = 8;

/// A proposed memory with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The kind of memory that it proposes.
    pub kind: Kind,
    /// One line.
    pub title: String,
    /// Markdown below the title; may be empty.
    pub body: String,
    /// Its scope.
    pub scope: Scope,
    /// When its evidence happened.
    pub occurred: Timestamp,
    /// Confidence of the extractor, 0 to 1.
    pub confidence: f32,
    /// The session it was found in.
    pub session: String,
    /// The records that show it, the first one first.
    pub turns: Vec<String>,
    /// Counts drafts of one kind with the same first record.
    pub ordinal: u32,
    /// A verbatim quote of the (redacted) evidence.
    pub quote: String,
    /// Author of the statement.
    pub said_by: SaidBy,
    /// The files it is about: absolute as recorded, or relative to the root.
    pub paths: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// Of a fix: signatures of the errors that it cured.
    pub signatures: Vec<String>,
    /// Name of the extractor that made it.
    pub extractor: String,
    /// How much it is worth against other drafts, any scale; consolidation keeps the best.
    pub worth: f32,
    /// Importance assigned by a language model, 0 to 1; `None` for a wish found by rules.
    #[serde(default)]
    pub importance: Option<f32>,
    /// Whether it applies beyond its session's task.
    #[serde(default)]
    pub standing: bool,
    /// Likely later queries for it.
    #[serde(default)]
    pub cues: Vec<String>,
    /// Names it mentions, as [`memory_store::memory::Entity`] writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Its statements as triples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Its topic, `area/topic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

impl Draft {
    /// Returns its text for comparison with other drafts.
    pub fn statement(&self) -> Statement {
        Statement::new(self.kind, &self.title, &self.body, self.paths.clone())
    }
}

/// The name and version of this extractor, as memories carry it. Versions before
/// [`memory_store::memory::Source::WISHES_ALONE`] wrote other kinds of memories.
pub const EXTRACTOR: &str = "rules/15";
