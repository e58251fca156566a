//! Commands that check and count: `status` and `doctor`.

pub mod damage;
pub mod doctor;
pub mod migrations;
pub mod secrets;
pub mod selftest;
pub mod stats;
pub mod status;
