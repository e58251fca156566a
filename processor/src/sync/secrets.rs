//! The part of a sync that takes secrets that became known out of what was stored before.

use std::collections::BTreeSet;

use anyhow::Result;
use rayon::prelude::*;

use super::Run;
use crate::archive::Entry;
use crate::audit;
use crate::git;

impl Run<'_> {
    /// Searches all that is stored where something became known since that was done last. Sessions whose records
    /// change count as `changed`.
    pub(super) fn hide_known(&mut self, changed: &mut BTreeSet<String>) -> Result<()> {
        if !self.secrets.is_unclean() {
            return Ok(());
        }
        self.secrets.save()?;
        let only = self.redactor.only_known();
        let unclean = self.sessions_with_known()?;
        if !unclean.is_empty() {
            // An index keeps the bytes of turns that were replaced until all of them are written again.
            self.state.all_turns = true;
            self.state.write(&self.home)?;
        }
        let cleaned = audit::clean_known(self.options, &only, &unclean)?;
        changed.extend(unclean);
        self.report.warnings.extend(cleaned.failed);
        let in_git = |root| git::place(root).is_some();
        if cleaned.committed > 0 && self.trees.iter().any(|tree| in_git(&tree.root)) {
            self.report.warnings.push(format!(
                "a secret became known and was taken out of {} memory files that were written before; \
                 the git history may still hold it: `throughline audit` says where. Change the secret",
                cleaned.committed
            ));
        }
        // What could not be cleaned was told, and an audit names it: it would fail again.
        self.secrets.note_clean()
    }

    /// The archived sessions whose records hold what is known.
    fn sessions_with_known(&self) -> Result<Vec<String>> {
        let (archive, secrets, redactor) = (&self.archive, &self.secrets, &self.redactor);
        let entries = archive.entries()?;
        let holds = |entry: &Entry| {
            // One that cannot be read is told by whoever needs it.
            let mut file = archive.load(&entry.name).ok().flatten()?;
            let found = secrets.hide(&mut file.records, redactor);
            found.unwrap_or(true).then(|| entry.name.clone())
        };
        Ok(entries.par_iter().filter_map(holds).collect())
    }
}
