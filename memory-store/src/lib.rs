//! Memory stores: reading, writing, indexing and recall of memories.
//!
//! A *memory* is one Markdown file; a *store* is a folder of them; an *index* is derived from a store so that a hook
//! can answer in a millisecond. This crate uses no clock, environment or network: the time, the directories and the
//! settings are arguments.
//!
//! Independent parts are in inner crates, in the folders `base`, `recall` and `redact`; hooks link only the first two.
//! This crate contains all code that writes: memory files, the ledger, indexes. It re-exports the modules of the others
//! under its own paths.

pub mod counts;
pub mod field_lines;
pub mod file;
pub mod guards;
pub mod identity;
pub mod index_writer;
mod keywords;
pub mod knowledge;
pub mod ledger;
pub mod migrate;
pub mod neighbour;
pub mod reconcile;
pub mod reviewed;
pub mod settings_file;
pub mod store;
mod stored;
pub mod trust;
pub mod uses;

/// Reading and writing of the index.
pub mod index {
    pub use crate::index_writer::{build, journal};
    pub use memory_store_recall::index::*;
}

/// Finding memories.
pub mod recall {
    pub use memory_store_base::text::rarity::{idf as rarity, table as background_table};
    pub use memory_store_recall::*;
}

/// Tokenization of text, and extraction of search words.
pub mod text {
    pub use crate::keywords::keywords;
    pub use memory_store_base::text::*;
}

pub use memory_store_recall::{bytes, custom_embedder, embed, signature, staleness, suspicion};
pub use memory_store_redact as redact;

pub use memory_store_base::{
    Error, Kind, Memory, MemoryId, ProjectId, Result, Timestamp, background, build, error,
    exchange, format_version, fs, git_dirs, handoff, id, kind, layout, memory, mode,
    passed_commands, progress, prompt, pulled_setting, settings, short_session, succession,
    thinking, time, tree,
};
