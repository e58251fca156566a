//! A draft: a proposed memory, as the input of consolidation.

use memory_store::memory::{Fact, SaidBy, Scope};
use memory_store::neighbour::Statement;
use memory_store::{Kind, Timestamp};
use serde::{Deserialize, Serialize};

/// Maximum number of files of one memory.
pub const PATHS_MAX: usize = 8;

/// A proposed memory with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The kind of the proposed memory.
    pub kind: Kind,
    /// The title, one line.
    pub title: String,
    /// The body: Markdown below the title. It may be empty.
    pub body: String,
    /// The scope of the proposed memory.
    pub scope: Scope,
    /// Time of the evidence.
    pub occurred: Timestamp,
    /// Confidence assigned by the extractor, 0 to 1.
    pub confidence: f32,
    /// The session that contains the evidence.
    pub session: String,
    /// The records that are the evidence, in the order of the session.
    pub turns: Vec<String>,
    /// Number that distinguishes drafts of one kind with the same first record.
    pub ordinal: u32,
    /// A verbatim quote of the redacted evidence.
    pub quote: String,
    /// Author of the statement.
    pub said_by: SaidBy,
    /// The files that the draft is about: absolute as recorded, or relative to the root.
    pub paths: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// Signatures of the errors that a fix cured.
    pub signatures: Vec<String>,
    /// Name and version of the extractor.
    pub extractor: String,
    /// Worth relative to other drafts; the scale is arbitrary. Consolidation keeps the drafts with the highest worth.
    pub worth: f32,
    /// Importance assigned by a language model, 0 to 1; `None` for a wish found by rules.
    #[serde(default)]
    pub importance: Option<f32>,
    /// Whether the draft applies beyond its session's task.
    #[serde(default)]
    pub standing: bool,
    /// Likely queries for the memory.
    #[serde(default)]
    pub cues: Vec<String>,
    /// Names in the draft, in the form of [`memory_store::memory::Entity`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Statements of the draft as triples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// Topic of the draft, `area/topic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

impl Draft {
    /// Returns the draft's text for comparison with other drafts.
    pub fn statement(&self) -> Statement {
        Statement::new(self.kind, &self.title, &self.body, self.paths.clone())
    }
}

/// Name and version of this extractor, as stored in memories. Versions before
/// [`memory_store::memory::Source::WISHES_ALONE`] also wrote other kinds of memories.
pub const EXTRACTOR: &str = "rules/15";
