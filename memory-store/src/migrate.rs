//! Migrations: numbered steps that bring a store from one format to the next.
//!
//! A store is the user's own, the private state of a project, or the memory folder of a working tree; each has a format
//! of its own ([`crate::format_version`]). A step returns the files that it changes, as a pure function of the store. It
//! is written so that it may run again over a store that it changed in part. Before any file changes, the bytes of all
//! files of the step are copied into a backup; the mark of the format changes last. A run that fails puts back what it
//! changed; one that is killed is continued by the next. All of it happens under the project's `store.lock`, and a log
//! beside the ledger names each step that ran.

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
