//! Memories on disk and how they are found again.
//!
//! A *memory* is one Markdown file; a *store* is a folder of them; an *index* is what is derived
//! from a store so that a hook can answer in a millisecond. This crate knows neither clock nor
//! environment nor network: the time, the directories and the settings are arguments.
//!
//! Without features it holds what a hook links: reading an index and answering from it. The
//! feature `write` adds memory files, index building, redaction and settings files.

pub mod arrived;
pub mod background;
pub mod bytes;
pub mod embed;
pub mod error;
#[cfg(feature = "write")]
pub mod file;
pub mod fs;
pub mod id;
#[cfg(feature = "write")]
pub mod identity;
pub mod index;
pub mod kind;
pub mod layout;
#[cfg(feature = "write")]
pub mod ledger;
pub mod left;
pub mod memory;
pub mod mode;
#[cfg(feature = "write")]
pub mod neighbour;
pub mod note;
pub mod policy;
pub mod progress;
pub mod prompt;
pub mod recall;
#[cfg(feature = "write")]
pub mod redact;
#[cfg(feature = "write")]
pub mod reviewed;
pub mod second;
pub mod settings;
#[cfg(feature = "write")]
pub mod settings_file;
pub mod signature;
pub mod spare;
pub mod staleness;
#[cfg(feature = "write")]
pub mod store;
pub mod succession;
pub mod suspicion;
pub mod text;
pub mod thinking;
pub mod time;
#[cfg(feature = "write")]
pub mod trust;

pub use fs::{lines, lock, names, regular, seal, stamp};

pub use error::{Error, Result};
pub use id::{MemoryId, ProjectId, short_session};
pub use kind::Kind;
pub use memory::Memory;
pub use time::Timestamp;
