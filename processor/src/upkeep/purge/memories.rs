//! Effects of a purge on memories. Memories without other evidence are removed; memories that a person changed or wrote
//! are kept without their evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use memory_store::layout::{Tree, UserDirs};
use memory_store::store::{Gone, Store, Stored, Unlearned};
use memory_store::{Memory, MemoryId, ProjectId};

use super::{PurgePreview, PurgeRun, PurgedMemory, automaton, escaped, mark};
use crate::collect::archive::ArchiveEntry;
use crate::collect::purged::hash;
use crate::collect::trees;
use crate::extract::draft::Draft;
use crate::mining;
use crate::sync::SyncOptions;

/// The memories before the purge.
pub(super) struct MemoriesBefore {
    /// Ids of all memories.
    before: BTreeSet<MemoryId>,
    /// Files of the memories that were learned from the sessions to purge.
    learned: BTreeMap<PathBuf, PurgedMemory>,
}

impl PurgeRun {
    /// Records the memories that were learned from the turns to purge.
    pub(super) fn note_drafts(&mut self, entries: &[ArchiveEntry], project: ProjectId) {
        let archived = entries.iter().flat_map(|entry| mining::drafts(&self.home, &entry.name));
        let expired = self.expired.names().into_iter();
        let expired = expired.filter_map(|name| self.expired.load(&name));
        let expired: Vec<Draft> = expired.flat_map(|remains| remains.drafts).collect();
        let mut records = Vec::new();
        for draft in archived.chain(expired) {
            if self.has_gone(&draft) {
                let evidence = draft.turns.first().map_or("", String::as_str);
                let Draft { occurred, kind, ordinal, .. } = draft;
                let id = MemoryId::derived(occurred, project, kind, evidence, ordinal);
                self.ids.insert(id);
            }
            if self.purged.has_session(&draft.session) {
                // For a session whose turns were removed earlier, the drafts are the only record of these turns.
                records.extend(draft.turns.iter().map(|record| hash(record)));
            }
        }
        self.purged.records.extend(records);
    }

    fn has_gone(&self, draft: &Draft) -> bool {
        self.purged.has_session(&draft.session)
            || draft.turns.first().is_some_and(|record| self.purged.has_record(record))
            || self.purged.before.is_some_and(|before| draft.occurred < before)
    }

    /// Returns the effects of the purge on memories, without changing anything.
    pub(super) fn preview(&self, options: &SyncOptions<'_>) -> Result<PurgePreview> {
        let mut learned = BTreeSet::new();
        let mut stripped = BTreeSet::new();
        for store in stores(options.dirs, options.tree)? {
            let would = self.with_gone(&store, |gone| store.would_unlearn(gone))?;
            learned.extend(would.learned.into_iter().map(|(path, _)| path));
            stripped.extend(would.kept.into_iter().map(|(path, _)| path));
        }
        Ok(PurgePreview {
            learned: learned.len(),
            stripped: stripped.len(),
            ..PurgePreview::default()
        })
    }

    /// Removes the evidence from memories that a person changed or wrote, and returns the memories before the purge.
    pub(super) fn unlearn(&mut self, options: &SyncOptions<'_>) -> Result<MemoriesBefore> {
        let mut before = BTreeSet::new();
        let mut learned = BTreeMap::new();
        for store in stores(options.dirs, options.tree)? {
            before.extend(files(&store)?.into_iter().map(|stored| stored.memory.id));
            let unlearned = self.unlearn_in(&store)?;
            learned.extend(unlearned.learned.into_iter().map(purged_memory));
        }
        Ok(MemoriesBefore { before, learned })
    }

    /// Repeats the removal of evidence after the sync, because reconciliation may have written evidence again, and
    /// reports the effects on memories.
    pub(super) fn settle_memories(
        &mut self,
        options: &SyncOptions<'_>,
        MemoriesBefore { before, learned }: MemoriesBefore,
    ) -> Result<()> {
        let mut now = BTreeMap::new();
        let mut left = BTreeSet::new();
        for store in stores(options.dirs, options.tree)? {
            let unlearned = self.unlearn_in(&store)?;
            left.extend(unlearned.learned.into_iter().map(|(path, _)| (path, None)));
            let refused = unlearned.refused.into_iter();
            left.extend(refused.map(|(path, error)| (path, Some(error.to_string()))));
            now.extend(files(&store)?.into_iter().map(|stored| (stored.memory.id, stored)));
        }
        for (path, why) in left {
            self.report.left.push(path);
            self.report.refused.extend(why);
        }
        let gone = learned.into_values().filter(|named| !now.contains_key(&named.id));
        self.report.forgotten.extend(gone);
        let learned = now.into_values().filter(|stored| !before.contains(&stored.memory.id));
        self.report.learned =
            learned.map(|stored| purged_memory((stored.path, stored.memory)).1).collect();
        Ok(())
    }

    /// Reports memories that contain purged text. From then on this text counts as the memory's own, wherever the scan
    /// finds it.
    pub(super) fn spare_memories(&mut self, dirs: &UserDirs, tree: &Tree) -> Result<()> {
        let probes: Vec<Vec<u8>> = std::mem::take(&mut self.probes).into_iter().collect();
        let automaton = automaton(&probes)?;
        let mut said = vec![false; probes.len()];
        let (mut seen, mut still) = (BTreeSet::new(), BTreeMap::new());
        for store in stores(dirs, tree)? {
            for stored in files(&store)? {
                if self.report.left.contains(&stored.path) || !seen.insert(stored.path.clone()) {
                    continue;
                }
                let Memory { id, title, body, .. } = &stored.memory;
                let (id, says) = (id.to_string(), hash(&format!("{title}\n{body}")));
                // Text that an earlier purge found in the memory can no longer be searched for.
                let said_before = self.purged.said.get(&id) == Some(&says);
                if mark(&automaton, &all_text(&stored), &mut said) || said_before {
                    still.insert(id, says);
                    self.report.say.push(purged_memory((stored.path, stored.memory)).1);
                }
            }
        }
        self.purged.said = still;
        self.purged.write(&self.home)?;
        let unsaid = probes.into_iter().zip(said).filter(|(_, said)| !said);
        self.probes = unsaid.map(|(probe, _)| probe).collect();
        Ok(())
    }

    fn unlearn_in(&mut self, store: &Store) -> Result<Unlearned> {
        let unlearned = self.with_gone(store, |gone| store.unlearn(gone))?;
        let named =
            |(path, memory): &(PathBuf, Memory)| purged_memory((path.clone(), memory.clone())).1;
        self.report.stripped.extend(unlearned.kept.iter().map(named));
        self.report.forgotten.extend(unlearned.removed.iter().map(named));
        Ok(unlearned)
    }

    fn with_gone<T>(
        &self,
        store: &Store,
        ask: impl FnOnce(&Gone<'_>) -> memory_store::Result<T>,
    ) -> Result<T> {
        let session = |session: &str| self.purged.has_session(session);
        let record = |record: &str| self.purged.has_record(record);
        // The user's own memories include memories from other projects, which are not purged.
        let is_of_project = store.home == self.home;
        let before = self.purged.before.filter(|_| is_of_project);
        Ok(ask(&Gone { session: &session, record: &record, before, ids: &self.ids })?)
    }
}

/// Returns the stores of a project's memories, and the store of the user's own memories.
fn stores(dirs: &UserDirs, tree: &Tree) -> Result<Vec<Store>> {
    let trees = trees::present(dirs, tree);
    let mut stores: Vec<Store> =
        trees.iter().map(|tree| Ok(Store::open(dirs, tree)?)).collect::<Result<_>>()?;
    stores.push(Store::user(dirs)?);
    Ok(stores)
}

/// Returns all memory files of a store, including archived memories.
fn files(store: &Store) -> Result<Vec<Stored>> {
    let mut files = store.files();
    files.extend(store.archived()?.memories);
    Ok(files)
}

fn purged_memory((path, memory): (PathBuf, Memory)) -> (PathBuf, PurgedMemory) {
    (path.clone(), PurgedMemory { id: memory.id, title: memory.title, path })
}

/// Returns the text of a memory's file, as written and in the forms in which other files may contain it.
fn all_text(Stored { path, memory, .. }: &Stored) -> Vec<u8> {
    let mut text = std::fs::read_to_string(path).unwrap_or_default();
    let escaped = escaped(&text);
    // In the file, a quote may be wrapped.
    for part in [&memory.title, &memory.body].into_iter().chain(&memory.source.quote) {
        text.push('\n');
        text.push_str(part);
    }
    let mut text = text.into_bytes();
    text.push(b'\n');
    text.extend(escaped);
    text
}
