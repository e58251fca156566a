//! Redaction: the first step for all text, before it is archived, shown to a model or written to a file. To *redact* is
//! to replace each secret by `[redacted:<rule>]`.
//!
//! One pass of an automaton over all keywords finds the candidate places; a rule's pattern is compiled when its keyword
//! first appears, and is matched against a window around that keyword.

mod context;
mod engine;
mod finding;
mod gate;
pub mod known;
mod options;
mod personal;
mod stream;
pub mod texts;
mod value;
mod vocabulary;
mod word_search;

pub use context::asked::{Answer, Given, corrects, request};
pub use context::printed::{is_secrets_file, prints_secret, reads_secrets};
pub use engine::Redactor;
pub use finding::{Finding, NAME, PLACEHOLDER_OPEN};
pub use gate::memory::MemorySuspect;
pub use gate::{SUSPECT, Suspect};
pub use known::deny::PatternError;
pub use known::names::Names;
pub use options::{OptionsError, RedactOptions};
pub use personal::{Class, Personal, Policy};
pub use stream::OVERLAP_BYTES;

#[cfg(test)]
mod tests;
