//! Commands that check and count: `status`, `doctor`, `selftest` and `audit`.

pub mod audit;
pub mod damage;
pub mod doctor;
pub mod migrations;
pub mod selftest;
pub mod stats;
pub mod status;
