//! Migrations: numbered steps that bring a store from one format to the next.
//!
//! A store is the user's own, the private state of a project, or the memory folder of a working tree; each has its own
//! format ([`crate::format_version`]). A step returns the files that it changes as a pure function of the store, and
//! can be repeated on a partly changed store. Before any file changes, the bytes of all files that the step changes are
//! copied to a backup; the version file is changed last. A run that fails restores the changed files; a run that is
//! killed is continued by the next one. Runs hold the project's `store.lock`, and a log next to the ledger lists each
//! step.

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
