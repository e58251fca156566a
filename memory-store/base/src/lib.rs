//! Memories, the layout of their files, and safe reading of untrusted bytes and text.
//!
//! All other parts of the store depend on this crate. It does not read the clock, the environment or the network:
//! callers pass the time, the directories and the settings as arguments.

pub mod background;
pub mod build;
pub mod error;
pub mod exchange;
pub mod format_version;
pub mod fs;
pub mod git_dirs;
pub mod handoff;
pub mod id;
pub mod kind;
pub mod layout;
pub mod memory;
pub mod mode;
pub mod passed_commands;
pub mod progress;
pub mod prompt;
pub mod pulled_setting;
pub mod settings;
pub mod succession;
pub mod text;
pub mod thinking;
pub mod time;
pub mod tree;

pub use error::{Error, Result};
pub use id::{MemoryId, ProjectId, short_session};
pub use kind::Kind;
pub use memory::Memory;
pub use time::Timestamp;
