//! Recall: finds the relevant memories for a prompt, a file, an error, or a new session.
//!
//! Hooks, MCP server, command line and evaluation all use these functions. A *candidate* is a document that shares a
//! feature with the query. Ranking, removal of near-duplicates and the *gate* turn candidates into *hits*. The gate
//! decides whether any memory is returned: it compares an absolute score with a threshold calibrated for the store.
//!
//! This crate reads indexes and encodes their files. The only files that it writes itself are the embedder's
//! (`embed::build`).

pub mod bytes;
pub mod custom_embedder;
pub mod embed;
mod engine;
mod glob;
pub mod guard;
pub mod index;
pub mod passages;
mod query;
mod rank;
pub mod render;
mod search;
pub mod signature;
pub mod suspicion;

pub use passages::search::SESSION_CHARS_MIN;
pub use query::Query;
pub use query::expression::ScopeName;
pub use query::follow_up::Topic;
pub use query::project_name::hashes as project_names;
pub use query::shape::QueryShape;
pub use query::time_expression::{
    DaySpan, NamedSpan, Span, TIME_FORMS, named_span, whole as time_named,
};
pub use rank::background_prompts::background_prompts;
pub use rank::calibration::{calibrate, fingerprint};
pub use rank::candidate::Features;
pub use rank::near_duplicates::{SAME, likeness};
pub use rank::trace::{CandidateOutcome, Traced};
pub use rank::{staleness, start_rank};
pub use search::hit::{Hit, Recalled, SilenceReason};
pub use search::judged::Judged;
pub use search::listed::IndexedFile;
pub use search::reader::Recall;
pub use search::request::{Search, Tier};
pub use search::sources::{Asker, Collection};
