//! The part of a sync that takes secrets that became known out of what was stored before.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use rayon::prelude::*;

use super::Run;
use crate::collect::archive::Entry;
use crate::git;
use crate::mining;
use crate::transcript::parts;
use crate::upkeep::audit;

/// Files that cannot be searched, and why.
type Unread = Vec<(PathBuf, anyhow::Error)>;

impl Run<'_> {
    /// Searches all that is stored where something became known since that was done last. Sessions whose records
    /// change count as `changed`.
    pub(super) fn hide_known(&mut self, changed: &mut BTreeSet<String>) -> Result<()> {
        if !self.secrets.is_unclean() {
            return Ok(());
        }
        self.secrets.save()?;
        let only = self.redactor.only_known();
        let (unclean, unread) = self.sessions_with_known()?;
        if !unclean.is_empty() {
            // An index keeps the bytes of turns that were replaced until all of them are written again.
            self.state.all_turns = true;
            self.state.write(&self.home)?;
        }
        let cleaned = audit::clean_known(self.options, &only, &unclean)?;
        // A cure is told with the failure at the end of the part before it.
        for after in unclean.iter().flat_map(|name| parts::after(name)) {
            mining::remove(&self.home, &after);
            if let Some(session) = self.state.sessions.get_mut(&after) {
                session.mined = None;
            }
        }
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
        let mut left = cleaned.left;
        for (path, error) in unread {
            self.report.warnings.push(format!("{error:#}"));
            left.insert(path);
        }
        if !left.is_empty() {
            let named: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
            self.report.warnings.push(format!(
                "a secret became known that these may hold; each is searched and cleaned by the next sync \
                 after it changed or can be read: {}",
                named.join(", ")
            ));
        }
        // As they are, they would fail again.
        self.secrets.note_clean(&left)
    }

    /// The archived sessions whose records hold what is known, and the files that cannot be searched, and why.
    fn sessions_with_known(&self) -> Result<(Vec<String>, Unread)> {
        let (archive, secrets, redactor) = (&self.archive, &self.secrets, &self.redactor);
        let entries = archive.entries()?;
        let holds = |entry: &Entry| match archive.load(&entry.name) {
            Ok(Some(mut file)) => {
                let tasks = &mut [file.header.growth.tasks];
                let hidden = secrets.hide(tasks, redactor);
                let hidden =
                    hidden.and_then(|any| Ok(secrets.hide(&mut file.records, redactor)? || any));
                hidden.unwrap_or(true).then(|| Ok(entry.name.clone()))
            }
            Ok(None) => None,
            Err(error) => Some(Err((entry.path.clone(), error))),
        };
        let found: Vec<_> = entries.par_iter().filter_map(holds).collect();
        let (mut sessions, mut unread) = (Vec::new(), Vec::new());
        for found in found {
            match found {
                Ok(name) => sessions.push(name),
                Err(failed) => unread.push(failed),
            }
        }
        Ok((sessions, unread))
    }
}
