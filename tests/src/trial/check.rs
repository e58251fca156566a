//! Checks after a fault: the store must be valid, and must contain all acknowledged memories.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memory_store::index::Index;
use serde_json::Value;

use super::{Acknowledged, Trial};
use crate::fault::Run;
use crate::sample_project::snapshot;

/// Description of a violated condition.
pub type Violation = String;

impl Trial {
    /// Returns the violations directly after a fault. A torn record at the end of a journal is permitted then, since
    /// readers skip it.
    pub fn faults(&self) -> Vec<Violation> {
        let mut faults = self.invalid(false);
        faults.extend(self.lost());
        faults
    }

    /// Runs a sync without faults, and returns the violations after it.
    pub fn faults_after_recovery(&self) -> io::Result<Vec<Violation>> {
        self.sample.sync()?;
        let mut faults = self.invalid(true);
        faults.extend(self.lost());
        let kept = || -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
            let mut files = self.sample.memories()?;
            files.extend(snapshot(&self.sample.environment.data_dir().join("projects"))?);
            // Mined drafts are a cache, and a lock file only contains the name of its last holder, so both may differ.
            files.retain(|name, _| {
                let name = name.to_string_lossy();
                !name.contains("/mined/") && !name.ends_with(".lock")
            });
            Ok(files)
        };
        let before = kept()?;
        self.sample.sync()?;
        let after = kept()?;
        let names = before.keys().chain(after.keys());
        for name in names.filter(|name| before.get(*name) != after.get(*name)) {
            faults.push(format!("a second sync changed {}", name.display()));
        }
        for name in before.keys().filter(|name| name.to_string_lossy().ends_with(".tmp")) {
            faults.push(format!("{} is left over", name.display()));
        }
        let left = self.sample.environment.wait_until_quiet();
        faults.extend(left.into_iter().map(|process| format!("still running: {process}")));
        Ok(faults)
    }

    fn invalid(&self, is_recovered: bool) -> Vec<Violation> {
        let mut faults = Vec::new();
        match self.store() {
            Ok(store) => {
                for listing in [store.list(), store.drafts(), store.archived()] {
                    match listing {
                        Ok(listing) => {
                            faults.extend(listing.broken.iter().map(|error| format!("{error}")))
                        }
                        Err(error) => faults.push(format!("the store: {error}")),
                    }
                }
                match store.tombstones() {
                    // There may be no more tombstones than the trial has archived memories.
                    Ok(found) if found.len() > self.forgotten => {
                        faults.push(format!("{} tombstones: {found:?}", found.len()));
                    }
                    Ok(_) => {}
                    Err(error) => faults.push(format!("the ledger: {error}")),
                }
            }
            Err(error) => faults.push(format!("the store: {error}")),
        }
        for folder in
            [self.dirs.tree(&self.tree.root).index, self.dirs.tree(&self.tree.root).thinking]
        {
            if let Err(fault) = index(&folder, is_recovered) {
                faults.push(fault);
            }
        }
        faults
    }

    fn lost(&self) -> Vec<Violation> {
        let memories = self.memories();
        let mut faults = Vec::new();
        for (title, (id, outcome)) in &self.acknowledged {
            let is_there = memories.iter().any(|stored| stored.memory.id == *id);
            if is_there != (*outcome == Acknowledged::Kept) {
                faults.push(format!("`{title}` was acknowledged as {outcome:?}"));
            }
        }
        let archive = self.dirs.project(self.tree.project).archive;
        for session in &self.purged {
            if names(&archive).any(|name| name.contains(session.as_str())) {
                faults.push(format!("session {session} was purged and is in the archive"));
            }
        }
        faults
    }

    /// Returns the violations in a hook's run.
    pub fn hook_faults(run: &Run) -> Vec<Violation> {
        let mut faults = Vec::new();
        // A hook that was killed has no exit code.
        if run.status.code().is_some_and(|code| code != 0) {
            faults.push(format!("a hook exited with {}", run.status));
        }
        if run.stderr.contains("panicked") {
            faults.push(format!("a hook panicked: {}", run.stderr));
        }
        if !run.stdout.is_empty() {
            let said: Result<Value, _> = serde_json::from_slice(&run.stdout);
            let is_whole = said.is_ok_and(|said| {
                let context = said["hookSpecificOutput"]["additionalContext"].as_str();
                let message = said["systemMessage"].as_str();
                context.is_some_and(|text| text.contains("</throughline-memory>"))
                    || (context.is_none() && message.is_some())
            });
            if !is_whole {
                faults.push(format!("a hook said {}", String::from_utf8_lossy(&run.stdout)));
            }
        }
        faults
    }
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned())
}

fn index(folder: &Path, is_recovered: bool) -> Result<(), Violation> {
    let say = |error: memory_store::Error| format!("{error}");
    let Some(index) = Index::open(folder).map_err(say)? else { return Ok(()) };
    if let Some(damage) = &index.damage
        && (is_recovered || !index.journal.damaged)
    {
        return Err(format!("{damage}"));
    }
    let (turns, damage) = index.passages();
    if let Some(damage) = damage {
        return Err(format!("{damage}"));
    }
    index.memories.iter().chain(&turns).try_for_each(|segment| segment.verify().map_err(say))
}
