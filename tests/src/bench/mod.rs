//! The bench: whole processes, interleaved, beside an empty program that is built in the same way.

pub mod cold;
pub mod corpus;
pub mod run;
pub mod store;
pub mod table;

/// Result of a part of the bench; an error is reported and ends it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
