//! Migrations: numbered steps that bring a store from one format to the next.
//!
//! A store is the user's own, the private state of a project, or the memory folder of a working tree; each has its own
//! format ([`crate::format_version`]). A step returns the files that it changes, as a pure function of the store, and
//! may run again over a partly changed store. Before any file changes, the bytes of all files of the step are copied to
//! a backup; the mark of the format changes last. A run that fails restores the changed files; a killed one is
//! continued by the next. Runs hold the project's `store.lock`, and a log beside the ledger lists each step.

mod backup;
mod budget;
mod held_status;
mod log;
mod plan;
mod review_setting;
mod run;
mod site;
mod state;
mod steps;
#[cfg(test)]
mod tests;

pub use backup::{KeptBackup, RestoredFiles, prune, remove_backups};
pub use log::{MigrationLine, StepResult};
pub use run::{Migrated, before_write, bring_up_to_date, go_back, note_step};
pub use site::Site;
pub use state::SiteState;
pub use steps::Migration;

pub(crate) use backup::redact_all;
