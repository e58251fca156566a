//! Upkeep of what is stored: old turns go, purged sessions go, stored text is searched for secrets.

pub mod audit;
pub mod housekeeping;
pub mod purge;
pub mod retention;
