//! Upkeep of stored data: removing old turns and purged sessions, and searching stored text for secrets.

pub mod audit;
pub mod housekeeping;
pub mod purge;
pub mod retention;
