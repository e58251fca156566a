//! Memories on disk and how they are found again.
//!
//! A *memory* is one Markdown file; a *store* is a folder of them; an *index* is what is derived
//! from a store so that a hook can answer in a millisecond. This crate knows neither clock nor
//! environment nor network: the time, the directories and the settings are arguments.
//!
//! Inner crates hold what stands alone, in the folders `base`, `recall` and `redact`; a hook
//! links the first two. This one holds what writes: memory files, the ledger, indexes. It
//! shows the others' modules under its own paths.

pub mod counts;
pub mod file;
pub mod identity;
pub mod index_writer;
mod keywords;
pub mod ledger;
pub mod migrate;
pub mod neighbour;
pub mod reconcile;
pub mod reviewed;
pub mod settings_file;
pub mod store;
mod stored;
pub mod trust;

/// The index: reading it, and writing it.
pub mod index {
    pub use crate::index_writer::{build, journal};
    pub use memory_store_recall::index::*;
}

/// Finding memories.
pub mod recall {
    pub use memory_store_base::text::rarity::{idf as rarity, table as background_table};
    pub use memory_store_recall::*;
}

/// Text as recall sees it, and the search words of one.
pub mod text {
    pub use crate::keywords::keywords;
    pub use memory_store_base::text::*;
}

pub use memory_store_recall::{bytes, custom_embedder, embed, signature, staleness, suspicion};
pub use memory_store_redact as redact;

pub use memory_store_base::{
    Error, Kind, Memory, MemoryId, ProjectId, Result, Timestamp, background, error, exchange,
    format_version, fs, git_dirs, handoff, id, kind, layout, memory, mode, passed_commands,
    progress, prompt, pulled_setting, settings, short_session, succession, thinking, time, tree,
};
