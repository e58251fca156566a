//! Writes indexes: publishes generations and appends to journals. `memory_store_recall::index` defines the file
//! formats; this module handles stores, locks and files.

pub mod build;
pub mod journal;
mod lock;
mod passages;
mod staged;
