//! Decisions about memories that a person made in `throughline review`, or that Claude recorded over MCP: memories that
//! were reviewed, memories that were confirmed although their files changed, and pairs of memories that are both valid.
//!
//! The file is private and may be deleted. Then every memory counts as new, and stale memories are proposed for review
//! again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::Result;
use crate::fs::disk::{Privacy, read_if_there, replace};
use crate::id::MemoryId;
use crate::layout::ProjectDir;
use crate::memory::{Guard, Relation};
use crate::stored;
use crate::time::Timestamp;
use crate::uses::{Experience, Use};

/// Maximum size in bytes of the file: more than a hundred thousand memories.
const FILE_BYTES_MAX: usize = 4 << 20;

/// Decisions about the memories of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reviewed {
    /// Memories that a person decided about.
    #[serde(deserialize_with = "known_ids")]
    pub ids: BTreeSet<MemoryId>,
    /// Time at which a person last confirmed a memory.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "known_confirmed")]
    pub confirmed: BTreeMap<MemoryId, Timestamp>,
    /// Pairs of memories that are both valid although their words contradict each other. Each pair is stored as two
    /// ids.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    both: BTreeSet<String>,
    /// Pairs of which, according to a language model, only one memory can be true, until a person decides. They are
    /// stored here because the program adds links to a person's file only on request.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    differing: BTreeSet<String>,
    /// For each memory, how often models reported that it helped, and how often that it did not help.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    helped: BTreeMap<String, (u32, u32)>,
    /// Links that a model proposes and that no person decided about, as `ID KIND ID`.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    proposed: BTreeSet<String>,
    /// Proposed links that a person added or removed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    settled: BTreeSet<String>,
    /// Guards that the user accepted, as `ID JSON`, and whether the user wrote them. Without the file no guard applies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    guards: BTreeMap<String, bool>,
}

/// Parses ids. Invalid ids are skipped.
fn known_ids<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<BTreeSet<MemoryId>, D::Error> {
    let ids = Vec::<String>::deserialize(from)?;
    Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
}

/// Parses ids and times. Entries with an invalid id are skipped.
fn known_confirmed<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<BTreeMap<MemoryId, Timestamp>, D::Error> {
    let confirmed = BTreeMap::<String, Timestamp>::deserialize(from)?;
    Ok(confirmed.iter().filter_map(|(id, time)| Some((id.parse().ok()?, *time))).collect())
}

impl Reviewed {
    /// Reads the decisions of a project. If the file is missing or damaged, the result is empty.
    pub fn read(home: &ProjectDir) -> Self {
        let bytes = read_if_there(&home.reviewed, FILE_BYTES_MAX).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Changes the decisions of a project under the project's lock, so that simultaneous changes are not lost. The file
    /// is not written if nothing changed.
    ///
    /// # Errors
    /// If the project's lock is not released in time, or the file cannot be replaced.
    pub fn change(home: &ProjectDir, change: impl FnOnce(&mut Self)) -> Result<()> {
        let _lock = stored::lock(home)?;
        let before = Self::read(home);
        let mut reviewed = before.clone();
        change(&mut reviewed);
        if reviewed == before { Ok(()) } else { reviewed.write(home) }
    }

    /// Records that a person decided about a memory. The caller must hold the store's lock.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn note_locked(home: &ProjectDir, id: MemoryId) -> Result<()> {
        let mut reviewed = Self::read(home);
        if reviewed.ids.insert(id) { reviewed.write(home) } else { Ok(()) }
    }

    /// Records that a person confirmed a memory.
    pub fn confirm(&mut self, id: MemoryId, now: Timestamp) {
        self.ids.insert(id);
        self.confirmed.insert(id, now);
    }

    /// Records that two memories are both valid, although their words contradict each other.
    pub fn note_both(&mut self, one: MemoryId, other: MemoryId) {
        self.both.insert(pair(one, other));
    }

    /// Returns whether a person declared two memories to be both valid.
    pub fn hold_both(&self, one: MemoryId, other: MemoryId) -> bool {
        self.both.contains(&pair(one, other))
    }

    /// Replaces the pairs of which, according to a language model, only one memory can be true.
    pub fn note_differing(&mut self, pairs: impl IntoIterator<Item = (MemoryId, MemoryId)>) {
        self.differing = pairs.into_iter().map(|(one, other)| pair(one, other)).collect();
    }

    /// Returns the pairs of which, according to a language model, only one memory can be true.
    pub fn differing(&self) -> impl Iterator<Item = (MemoryId, MemoryId)> {
        let ids = self.differing.iter().filter_map(|pair| pair.split_once(' '));
        ids.filter_map(|(one, other)| Some((one.parse().ok()?, other.parse().ok()?)))
    }

    /// Records that the user accepted a guard of a memory, in its present form.
    pub fn accept_guard(&mut self, id: MemoryId, guard: &Guard, is_own: bool) {
        self.guards.insert(guard_line(id, guard), is_own);
    }

    /// Removes the acceptance of all guards of a memory.
    pub fn revoke_guards(&mut self, id: MemoryId) {
        let prefix = format!("{id} ");
        self.guards.retain(|accepted, _| !accepted.starts_with(&prefix));
    }

    /// Returns whether the user wrote an accepted guard; `None` if the user did not accept it in this form.
    pub fn accepted_guard(&self, id: MemoryId, guard: &Guard) -> Option<bool> {
        self.guards.get(&guard_line(id, guard)).copied()
    }

    /// Returns whether the user accepted a guard of a memory, in any form.
    pub fn has_guards(&self, id: MemoryId) -> bool {
        let prefix = format!("{id} ");
        self.guards
            .range(prefix.clone()..)
            .next()
            .is_some_and(|(line, _)| line.starts_with(&prefix))
    }

    /// Counts a report on whether a memory helped.
    pub fn note_use(&mut self, id: MemoryId, helped: bool) {
        let (yes, no) = self.helped.entry(id.to_string()).or_default();
        let count = if helped { yes } else { no };
        *count = count.saturating_add(1);
    }

    /// Returns how often a memory was reported to have helped, and not to have helped.
    pub fn uses(&self, id: MemoryId) -> (u32, u32) {
        self.helped.get(&id.to_string()).copied().unwrap_or_default()
    }

    /// Returns what is known about the value of a memory, given its use by sessions.
    pub fn experience(&self, id: MemoryId, used: Use, contradicted: bool) -> Experience {
        let confirmed = self.confirmed.get(&id).copied();
        Experience { used, helped: self.uses(id), confirmed, contradicted }
    }

    /// Replaces the links that a model proposes. Those that a person decided about are left out.
    pub fn propose(&mut self, links: impl IntoIterator<Item = (MemoryId, Relation)>) {
        self.proposed = links.into_iter().map(|(id, link)| link_line(id, &link)).collect();
        self.proposed = &self.proposed - &self.settled;
    }

    /// Returns the proposed links, each with the memory that would have it.
    pub fn proposals(&self) -> impl Iterator<Item = (MemoryId, Relation)> {
        self.proposed.iter().filter_map(|line| {
            let (id, rest) = line.split_once(' ')?;
            let (kind, to) = rest.rsplit_once(' ')?;
            Some((id.parse().ok()?, Relation { kind: kind.to_owned(), to: to.parse().ok()? }))
        })
    }

    /// Returns the proposed links of a memory.
    pub fn proposals_of(&self, id: MemoryId) -> impl Iterator<Item = Relation> {
        self.proposals().filter(move |(of, _)| *of == id).map(|(_, link)| link)
    }

    /// Records that a person decided about a link.
    pub fn settle_proposal(&mut self, id: MemoryId, link: &Relation) {
        let line = link_line(id, link);
        if self.proposed.remove(&line) {
            self.settled.insert(line);
        }
    }

    /// Keeps only the data about memories in `there`.
    pub fn keep_only(&mut self, there: &BTreeSet<MemoryId>) {
        self.ids.retain(|id| there.contains(id));
        self.confirmed.retain(|id, _| there.contains(id));
        let is_there = |id: &str| id.parse().is_ok_and(|id| there.contains(&id));
        self.both.retain(|pair| pair.split(' ').all(is_there));
        self.differing.retain(|pair| pair.split(' ').all(is_there));
        self.helped.retain(|id, _| is_there(id));
        let has_both = |line: &String| {
            line.split_once(' ').is_some_and(|(id, _)| is_there(id))
                && line.rsplit_once(' ').is_some_and(|(_, id)| is_there(id))
        };
        self.guards.retain(|line, _| line.split(' ').next().is_some_and(is_there));
        self.proposed.retain(has_both);
        self.settled.retain(has_both);
    }

    /// Returns only the decisions about the memories in `ids`.
    pub(crate) fn about(mut self, ids: &BTreeSet<MemoryId>) -> Self {
        self.ids.retain(|id| ids.contains(id));
        self.confirmed.retain(|id, _| ids.contains(id));
        self.both.retain(|pair| is_about(pair, ids));
        self.helped.retain(|id, _| is_about(id, ids));
        self
    }

    /// Restores the decisions about the memories in `ids` to their state `before` a decision that is reverted.
    pub(crate) fn put_back(&mut self, ids: &BTreeSet<MemoryId>, before: &Self) {
        self.ids.retain(|id| !ids.contains(id));
        self.ids.extend(&before.ids);
        self.confirmed.retain(|id, _| !ids.contains(id));
        self.confirmed.extend(&before.confirmed);
        self.both.retain(|pair| !is_about(pair, ids));
        self.both.extend(before.both.iter().cloned());
        self.helped.retain(|id, _| !is_about(id, ids));
        self.helped.extend(before.helped.iter().map(|(id, count)| (id.clone(), *count)));
    }

    fn write(&self, home: &ProjectDir) -> Result<()> {
        // Ids and times can always be serialised.
        let text = serde_json::to_vec(self).unwrap_or_default();
        replace(&home.reviewed, &text, Privacy::Private)
    }
}

/// Returns whether a pair contains one of the memories in `ids`.
fn is_about(pair: &str, ids: &BTreeSet<MemoryId>) -> bool {
    pair.split(' ').any(|id| id.parse().is_ok_and(|id| ids.contains(&id)))
}

/// Returns a guard of a memory as it is stored.
fn guard_line(id: MemoryId, guard: &Guard) -> String {
    // Serialization of these fields cannot fail.
    format!("{id} {}", serde_json::to_string(guard).unwrap_or_default())
}

/// Returns the key of a pair, equal for both orders.
fn link_line(id: MemoryId, link: &Relation) -> String {
    format!("{id} {} {}", link.kind, link.to)
}

/// Returns the key of a pair, equal for both orders.
fn pair(one: MemoryId, other: MemoryId) -> String {
    format!("{} {}", one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_confirmed_is_read_back_until_its_memory_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(home.path().to_owned());
        let (one, two) = (MemoryId([1; 16]), MemoryId([2; 16]));
        let mut reviewed = Reviewed::read(&home);
        reviewed.ids.insert(one);
        reviewed.confirm(two, Timestamp(7));
        reviewed.note_both(two, one);
        reviewed.write(&home).unwrap();
        let mut reviewed = Reviewed::read(&home);
        assert!(reviewed.ids.contains(&one) && reviewed.ids.contains(&two));
        assert_eq!(
            (reviewed.confirmed.get(&one).copied(), reviewed.confirmed.get(&two).copied()),
            (None, Some(Timestamp(7)))
        );
        assert!(reviewed.hold_both(one, two));
        let many: Vec<MemoryId> = (3..11).map(|number| MemoryId([number; 16])).collect();
        std::thread::scope(|scope| {
            for &id in &many {
                let home = &home;
                scope.spawn(move || {
                    Reviewed::change(home, |reviewed| {
                        reviewed.ids.insert(id);
                    })
                    .unwrap()
                });
            }
        });
        assert!(many.iter().all(|id| Reviewed::read(&home).ids.contains(id)), "a note was lost");
        reviewed.keep_only(&BTreeSet::from([one]));
        assert!(!reviewed.hold_both(one, two));
        assert!(reviewed.ids.contains(&one) && !reviewed.ids.contains(&two));
        assert_eq!(reviewed.confirmed.get(&two).copied(), None);
        // A file by an earlier version contains no confirmations.
        fs::write(&home.reviewed, format!("{{\"ids\":[\"{two}\"]}}")).unwrap();
        assert!(Reviewed::read(&home).ids.contains(&two));
        // An invalid id does not affect the others.
        let confirmed =
            format!("\"confirmed\":{{\"{two}\":\"2026-10-02T09:30:00Z\",\"x\":\"2026-10-02\"}}");
        fs::write(&home.reviewed, format!("{{\"ids\":[\"no id\",\"{one}\"],{confirmed}}}"))
            .unwrap();
        let reviewed = Reviewed::read(&home);
        assert_eq!((reviewed.ids, reviewed.confirmed.len()), (BTreeSet::from([one]), 1));
        fs::write(&home.reviewed, "no JSON").unwrap();
        assert_eq!(Reviewed::read(&home), Reviewed::default());
    }
}
