//! The bench: runs whole processes of hooks, interleaved with an empty program that is built in the same way.

pub mod cold;
pub mod corpus;
pub mod run;
pub mod store;
pub mod table;

/// Result of a part of the bench. An error is reported and ends the part.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
