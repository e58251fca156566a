//! Upkeep of stored data: removes old turns and purged sessions, and searches stored text for secrets.

pub mod audit;
pub mod housekeeping;
pub mod purge;
pub mod retention;
