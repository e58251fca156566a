//! Writes indexes: publishes generations and appends to journals. `memory_store_recall::index` defines the bytes; this
//! part handles stores, locks and the disk.

pub mod build;
pub mod journal;
mod lock;
mod passages;
mod staged;
