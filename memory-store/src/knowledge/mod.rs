//! Knowledge: the names, facts and connections in the front matter of all memories.
//!
//! Everything here is derived from memory files and the names that a person joined ([`confirmed`]), and is never
//! stored. The inputs are memories and plain descriptions of sessions. Transcripts and the clock are not used.

pub mod confirmed;
mod ends;
pub mod entities;
pub mod facts;
pub mod graph;
mod name;
mod predicates;
pub mod time;

pub use confirmed::ConfirmedNames;
pub use entities::{Entities, JoinedBy, compare};
pub use facts::{Conflict, FactBook, Statement};
pub use graph::{Graph, NodeKind};

/// Inputs of [`Knowledge::of`], besides the memories.
pub struct KnowledgeOptions<'a> {
    /// Thresholds and predicate groups in the settings.
    pub settings: &'a crate::settings::KnowledgeSettings,
    /// The names that a person joined or kept apart.
    pub confirmed: &'a ConfirmedNames,
    /// Vectors of names and values.
    pub embed: entities::Embedding<'a>,
    /// Returns whether a person declared two memories to be both true.
    pub hold_both: &'a dyn Fn(crate::MemoryId, crate::MemoryId) -> bool,
}

/// The names and facts of memories.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The entities.
    pub entities: Entities,
    /// The facts.
    pub book: FactBook,
}

impl Knowledge {
    /// Reads the names and facts of memories.
    pub fn of(memories: &[&crate::Memory], options: &KnowledgeOptions<'_>) -> Self {
        let KnowledgeOptions { settings, confirmed, embed, hold_both } = *options;
        let predicates = predicates::Predicates::of(settings);
        let by = entities::Similarity { settings, embed };
        let entities = Entities::of(memories.iter().copied(), confirmed, by, &predicates);
        let book = FactBook::of(memories, &entities, &predicates, by, hold_both);
        Self { entities, book }
    }
}
