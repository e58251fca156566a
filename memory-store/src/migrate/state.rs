//! The state of a store, for reports.

use super::backup::{self, KeptBackup};
use super::log::{self, MigrationLine};
use super::site::Site;
use super::steps::{ALL, Migration};
use crate::error::Result;
use crate::format_version::StoreFormat;

/// The state of a store, for reports.
#[derive(Clone, Debug)]
pub struct SiteState {
    /// Format of the store.
    pub version: StoreFormat,
    /// Steps that have not run yet.
    pub pending: Vec<&'static Migration>,
    /// Steps that ran, oldest first.
    pub log: Vec<MigrationLine>,
    /// Backups, oldest first.
    pub backups: Vec<KeptBackup>,
}

impl Site {
    /// Reads the state of the store.
    ///
    /// # Errors
    /// If the format cannot be read.
    pub fn state(&self) -> Result<SiteState> {
        let version = self.found_version()?;
        let folder = self.folder();
        let mut log = log::read(&self.home);
        log.retain(|line| line.folder == folder);
        let mut backups = backup::list(&self.home);
        backups.retain(|kept| kept.folder == folder);
        let pending = match self.is_untouched() {
            true => Vec::new(),
            false => self.pending(&ALL, version.number).collect(),
        };
        Ok(SiteState { version, pending, log, backups })
    }
}
