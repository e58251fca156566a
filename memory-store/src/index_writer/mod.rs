//! Writes indexes: publishes generations and appends to journals. `memory_store_recall::index` knows
//! the bytes; this part knows stores, locks and the disk.

pub mod build;
pub mod journal;
mod lock;
mod passages;
mod staged;
