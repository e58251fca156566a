//! Memories on disk and how they are found again.
//!
//! A *memory* is one Markdown file; a *store* is a folder of them; an *index* is what is derived
//! from a store so that a hook can answer in a millisecond. This crate knows neither clock nor
//! environment nor network: the time, the directories and the settings are arguments.
//!
//! Without features it holds what a hook links: reading an index and answering from it. The
//! feature `write` adds memory files, index building, redaction and settings files.

#[cfg(feature = "write")]
pub mod file;
#[cfg(feature = "write")]
pub mod identity;
pub mod index;
#[cfg(feature = "write")]
mod keywords;
#[cfg(feature = "write")]
pub mod ledger;
#[cfg(feature = "write")]
pub mod neighbour;
pub mod recall;
#[cfg(feature = "write")]
pub mod reviewed;
pub mod second;
#[cfg(feature = "write")]
pub mod settings_file;
#[cfg(feature = "write")]
pub mod store;
pub mod suspicion;
#[cfg(feature = "write")]
pub mod trust;

/// Text as recall sees it, and the search words of one.
pub mod text {
    #[cfg(feature = "write")]
    pub use crate::keywords::keywords;
    pub use memory_store_base::text::*;
}

pub use memory_store_embed as embed;
#[cfg(feature = "write")]
pub use memory_store_redact as redact;

pub use memory_store_base::fs::{lines, lock, names, regular, seal, stamp};
pub use memory_store_base::{
    Error, Kind, Memory, MemoryId, ProjectId, Result, Timestamp, arrived, background, bytes, error,
    fs, id, kind, layout, left, memory, mode, note, policy, progress, prompt, settings,
    short_session, signature, spare, staleness, succession, thinking, time,
};
