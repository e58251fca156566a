//! The examinations behind `status` and `doctor`.

pub mod check;
pub mod checks;
pub mod custom_embedder;
pub mod damage;
pub mod folders;
pub mod meaning;
pub mod migrations;
pub mod ollama;
pub mod plugin_checks;
pub mod programs;
pub mod secrets;
pub mod selftest;
pub mod stats;
