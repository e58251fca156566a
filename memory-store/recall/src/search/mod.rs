//! Searching: opening and reading the sources, explicit search, and look-up of memories.

pub(crate) mod arranged;
pub(crate) mod filter;
pub(crate) mod hit;
pub(crate) mod judged;
pub(crate) mod listed;
pub(crate) mod memories;
mod near;
pub(crate) mod passed_commands;
pub(crate) mod reader;
pub(crate) mod request;
pub(crate) mod sources;
pub(crate) mod tiers;
