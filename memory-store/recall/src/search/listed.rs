//! Look-up of memories by id or title in index and journal, without reading memory files.

use std::collections::HashMap;
use std::ffi::OsString;

use crate::index::document::Document;
use crate::index::record::{FLAG_DRAFT, FLAG_SUPERSEDED};
use crate::query::Query;
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::score;
use crate::rank::trace::CandidateOutcome;
use crate::search::hit::{Hit, Recalled};
use crate::search::reader::Recall;
use crate::search::sources::{At, Collection};
use memory_store_base::fs::file_stamp::Stamp;
use memory_store_base::id::{ID_CHARS, MemoryId, SHORT_ID_CHARS};
use memory_store_base::kind::Kind;
use memory_store_base::text::folded_title;
use memory_store_base::time::Timestamp;

/// Minimum number of characters of an id's end that can be looked up.
const END_CHARS_MIN: usize = 4;
/// Maximum number of candidates in a search for the same title. Candidates share words with the title.
const SAME_TITLE_MAX: usize = 512;

/// Numbers of memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// The project's memories, by the number of their kind.
    pub kinds: [usize; Kind::ALL.len()],
    /// Pending memories.
    pub drafts: usize,
    /// Superseded memories.
    pub superseded: usize,
    /// Withheld memories.
    pub held: usize,
    /// The user's own memories.
    pub user: usize,
}

/// A memory file as an index has recorded it.
#[derive(Clone, Copy, Debug)]
pub struct IndexedFile {
    /// Id of the memory.
    pub id: MemoryId,
    /// Recorded size and modification time of the file.
    pub stamp: Stamp,
}

impl Recall {
    /// Returns whether the project has an index. If so, a memory that the index lacks is missing or newer than the last
    /// sync.
    pub fn has_index(&self) -> bool {
        let mut list = self.sources.list.iter();
        list.any(|source| {
            source.collection == Collection::Memories
                && source.index.as_ref().is_some_and(|index| index.memories.is_some())
        })
    }

    /// Returns the memories whose ids end with `end`. A whole id matches at most one.
    pub fn ids_ending(&self, end: &str) -> Vec<MemoryId> {
        let end = end.trim().to_ascii_lowercase();
        if end.len() == ID_CHARS {
            let id = end.parse().ok().filter(|&id| self.sources.find(id).is_some());
            return id.into_iter().collect();
        }
        let Some((bits, mask)) = end_bits(&end) else { return Vec::new() };
        let sources = &self.sources;
        let mut ids: Vec<MemoryId> = Vec::new();
        for (number, source) in (0..).zip(&sources.list) {
            let docs = source.docs_of_ids(bits, mask).unwrap_or_else(|error| {
                sources.note(&error);
                Vec::new()
            });
            let ats = docs.into_iter().map(|doc| At { source: number, doc });
            ids.extend(ats.filter_map(|at| Some(sources.entry(at)?.id)));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the memories that this one supersedes.
    pub fn replaced_by(&self, id: MemoryId) -> Vec<MemoryId> {
        let replaced = self.entries().filter(|candidate| candidate.entry.has(FLAG_SUPERSEDED));
        let is_by = |candidate: &Candidate| {
            let record = self.sources.record(candidate.at, &candidate.entry);
            record.is_ok_and(|record| record.superseded_by == Some(id))
        };
        replaced.filter(is_by).map(|candidate| candidate.entry.id).collect()
    }

    /// Adds documents to the project's memories, because an index does not contain expired ones. Memories that expired
    /// before `now` supersede nothing.
    #[must_use]
    pub fn with_documents(mut self, mut documents: Vec<Document>, now: Timestamp) -> Self {
        for document in &mut documents {
            if document.record.is_expired(now) {
                document.record.supersedes.clear();
            }
        }
        let mut list = self.sources.list.iter_mut();
        if let Some(source) = list.find(|source| source.collection == Collection::Memories) {
            source.add_unlisted(documents);
        }
        self
    }

    /// Returns whether a text has the form of a memory's short or full id.
    pub fn is_like_id(text: &str) -> bool {
        match text.len() {
            ID_CHARS => text.parse::<MemoryId>().is_ok(),
            // A word of prose contains no digit.
            SHORT_ID_CHARS => {
                end_bits(&text.to_ascii_lowercase()).is_some()
                    && text.bytes().any(|byte| byte.is_ascii_digit())
            }
            _ => false,
        }
    }

    /// Returns the memory with this id, even if it is superseded or expired; `None` if it is not in an index or may not
    /// be shown.
    pub fn listed(&self, id: MemoryId, now: Timestamp) -> Option<Hit> {
        let at = self.sources.find(id)?;
        let candidate = Candidate::new(at, self.sources.entry(at)?);
        self.read(&candidate, now, &mut Recalled::default()).ok()
    }

    /// Returns whether the reader may read a memory: the memory belongs to no subagent, or to the one that asks.
    pub fn may_read(&self, id: MemoryId) -> bool {
        self.sources.find(id).is_none_or(|at| {
            let record = self.sources.entry(at).map(|entry| self.sources.record(at, &entry));
            record.and_then(Result::ok).is_none_or(|record| self.is_for_asker(at, &record))
        })
    }

    /// Returns a memory as indexed, even if its file changed since.
    pub fn indexed(&self, id: MemoryId) -> Option<Hit> {
        let at = self.sources.find(id)?;
        let entry = self.sources.entry(at)?;
        let record = self.sources.record(at, &entry).ok()?;
        let file = self.sources.file(at, &record.file);
        let candidate = Candidate::new(at, entry);
        Some(super::reader::hit(&candidate, record, file, self.sources.collection(at)))
    }

    /// Returns the project's memories of a kind with this title, ignoring case, spaces and a final full stop.
    pub fn of_title(&self, kind: Kind, title: &str, now: Timestamp) -> Vec<Hit> {
        let sources = &self.sources;
        let query = Query::search(title);
        if query.terms.is_empty() {
            return Vec::new();
        }
        let found =
            FoundTerms::look_up_all(sources, &query.terms).with_pairs(sources, &query.pairs);
        let mut candidates = score::find(sources, &query, &found, SAME_TITLE_MAX);
        candidates.retain(|candidate| {
            candidate.entry.kind == kind as u8
                && sources.collection(candidate.at) == Collection::Memories
        });
        let folded = folded_title(title);
        // Most candidates contain only some of the words, so their files are not checked.
        let of_title = candidates.iter().filter(|candidate| {
            let record = sources.record(candidate.at, &candidate.entry);
            record.is_ok_and(|record| folded_title(&record.title) == folded)
        });
        let hits = of_title.filter_map(|candidate| {
            match self.read(candidate, now, &mut Recalled::default()) {
                Ok(hit) => Some(hit),
                // The file has changed since it was indexed.
                Err(CandidateOutcome::Stale | CandidateOutcome::Expired) => {
                    self.indexed(candidate.entry.id)
                }
                Err(_) => None,
            }
        });
        hits.collect()
    }

    /// Returns the memories that were learned from these sessions, as indexed.
    pub fn of_sessions(&self, sessions: &[String]) -> Vec<Hit> {
        let hits =
            self.entries().filter(|it| !it.entry.has(FLAG_SUPERSEDED)).filter_map(|candidate| {
                let record = self.sources.record(candidate.at, &candidate.entry).ok()?;
                let is_of_these =
                    record.session.as_ref().is_some_and(|session| sessions.contains(session));
                let file = self.sources.file(candidate.at, &record.file);
                let held = self.holds(&candidate, &record);
                let collection = self.sources.collection(candidate.at);
                is_of_these.then(|| Hit {
                    held,
                    ..super::reader::hit(&candidate, record, file, collection)
                })
            });
        hits.collect()
    }

    /// Returns the project's current memories as indexed, each with whether it is pinned. Withheld, superseded, expired
    /// and pending memories are excluded. Memory files are not checked.
    pub fn standing(&self, now: Timestamp) -> Vec<(Hit, bool)> {
        let of_project = self.entries().filter(|candidate| {
            self.sources.collection(candidate.at) == Collection::Memories
                && !candidate.entry.has(FLAG_DRAFT | FLAG_SUPERSEDED)
        });
        let standing = of_project.filter_map(|candidate| {
            let record = self.sources.record(candidate.at, &candidate.entry).ok()?;
            if record.is_expired(now) || self.holds(&candidate, &record) {
                return None;
            }
            let file = self.sources.file(candidate.at, &record.file);
            let pinned = candidate.is_pinned();
            let undecided = self.undecided(candidate.entry.id, &record);
            let hit = super::reader::hit(&candidate, record, file, Collection::Memories);
            Some((Hit { undecided, ..hit }, pinned))
        });
        standing.collect()
    }

    /// Returns the numbers of memories.
    pub fn counts(&self) -> MemoryCounts {
        let mut counts = MemoryCounts::default();
        for candidate in self.entries() {
            let Candidate { at, entry, .. } = &candidate;
            if self.sources.collection(*at) == Collection::User {
                counts.user += 1;
                continue;
            }
            counts.held += usize::from(self.is_held(&candidate));
            if let Some(count) = counts.kinds.get_mut(usize::from(entry.kind)) {
                *count += 1;
            }
            counts.drafts += usize::from(entry.has(FLAG_DRAFT));
            let is_decided = || {
                let record = self.sources.record(*at, entry);
                record.is_ok_and(|record| self.undecided(entry.id, &record).is_empty())
            };
            counts.superseded += usize::from(entry.has(FLAG_SUPERSEDED) && is_decided());
        }
        counts
    }

    /// Returns the memory files of these collections as indexed; `None` if there are more than `most`. The keys are the
    /// bytes of the paths, because comparing paths by component takes longer than checking the files.
    pub fn files(
        &self,
        collections: &[Collection],
        most: usize,
    ) -> Option<HashMap<OsString, IndexedFile>> {
        let is_wanted =
            |candidate: &Candidate| collections.contains(&self.sources.collection(candidate.at));
        let mut files = HashMap::new();
        for Candidate { at, entry, .. } in self.entries().filter(is_wanted) {
            if files.len() >= most {
                return None;
            }
            // The error is reported as damage, and the file is skipped.
            let Ok(record) = self.sources.record_file(at, &entry) else { continue };
            let stamp = Stamp { bytes: record.file_bytes, modified_ns: record.modified_ns };
            let file = IndexedFile { id: entry.id, stamp };
            files.insert(self.sources.file(at, &record.file).into_os_string(), file);
        }
        Some(files)
    }

    fn entries(&self) -> impl Iterator<Item = Candidate> {
        let sources = &self.sources;
        sources.list.iter().enumerate().flat_map(move |(number, source)| {
            (0..source.docs()).filter_map(move |doc| {
                let at = At { source: number as u8, doc };
                Some(Candidate::new(at, sources.entry(at)?))
            })
        })
    }
}

/// Returns the last bits of an id, given its last characters, and their mask; `None` if the text is not the end of an
/// id.
fn end_bits(end: &str) -> Option<(u128, u128)> {
    if !(END_CHARS_MIN..ID_CHARS).contains(&end.len()) || !end.is_ascii() {
        return None;
    }
    // Leading zeros fill up the id.
    let id: MemoryId = format!("{end:0>26}").parse().ok()?;
    Some((u128::from_be_bytes(id.0), (1 << (5 * end.len())) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_id_is_matched_by_its_bits() {
        let id = MemoryId(*b"some random byte");
        let whole = id.to_string();
        for chars in END_CHARS_MIN..ID_CHARS {
            let (bits, mask) = end_bits(&whole[ID_CHARS - chars..]).unwrap();
            assert_eq!(u128::from_be_bytes(id.0) & mask, bits, "{chars}");
        }
        for wrong in ["", "abc", "lllll", "a b c d", "ä1ä1"] {
            assert_eq!(end_bits(wrong), None, "{wrong}");
        }
        assert!(Recall::is_like_id(&whole) && Recall::is_like_id("k3v9qa"));
        assert!(!Recall::is_like_id("parser") && !Recall::is_like_id("k3v9q"));
    }
}
