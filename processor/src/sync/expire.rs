//! The part of a sync that removes turns which are too old or too many.

use anyhow::Result;

use super::Run;
use crate::collect::expired::Remains;
use crate::mining::{self, MinedFile};
use crate::upkeep::retention;

impl Run<'_> {
    /// The archived sessions that are too old or too many.
    pub(super) fn overdue(&self) -> Vec<String> {
        let recorded = self.state.sessions.values().map(|session| session.last).max();
        let now = retention::believed(self.options.now, recorded.max(self.newest));
        let limits = retention::Limits::of(&self.settings, self.options.dirs, now);
        limits.expired(&self.entries, &self.state.sessions)
    }

    /// Removes turns that are too old or too many; what was learned from them stays.
    /// Says whether any went.
    pub(super) fn expire(&mut self, mined: &[MinedFile]) -> Result<bool> {
        let mut gone = false;
        for name in &self.overdue() {
            let Some(file) = mined.iter().find(|file| file.name == *name) else { continue };
            // One that cannot be read, or learned from, waits: it would leave less than it holds.
            let (None, Ok(Some(header))) = (&file.failure, self.archive.header(name)) else {
                continue;
            };
            let last = self.state.sessions.get(name).map(|session| session.last);
            let mut remains = self.expired.load(name).unwrap_or_default();
            remains.take_in(Remains {
                header,
                last: last.unwrap_or_default(),
                cwd: file.cwd.clone(),
                turns: file.turns,
                drafts: file.drafts.clone(),
                lost: false,
            });
            self.expired.store(name, &remains)?;
            if !gone {
                // The index holds the turns that go, and whoever is killed from here on leaves it so.
                self.state.all_turns = true;
                self.state.write(&self.home)?;
            }
            self.archive.remove(name)?;
            mining::remove(&self.home, name);
            self.state.sessions.remove(name);
            gone = true;
        }
        Ok(gone)
    }
}
