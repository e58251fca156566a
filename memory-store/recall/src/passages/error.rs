//! Passages about an error, from earlier sessions with the same error.
//!
//! The first choice are passages of a turn with the same error signature, if they discuss the error. The second are
//! passages with the words of one of the error's lines.

use super::passage::hit;
use super::rank::{RankedPassage, RankedPassages};
use crate::index::record::FLAG_HELD;
use crate::index::segment::Segment;
use crate::query::Query;
use crate::search::hit::Hit;
use crate::search::sources::{IndexSource, Sources};
use crate::signature::{error_signature, names_cause, signature_hash};
use memory_store_base::error::Result;
use memory_store_base::id::MemoryId;
use memory_store_base::memory::SaidBy;
use memory_store_base::text::{self, rarity, term_hash};

/// Maximum number of passages with the signature that are read in each segment, newest first.
const READ_MAX: usize = 16;
/// Minimum number of words that a passage shares with the error if it discusses the error.
const SHARED_MIN: usize = 2;
/// Minimum total rarity of these words. Two common words do not reach it.
const MASS_MIN: f32 = rarity::IDF_MAX;
/// Minimum number of words of an error line that is compared with passages.
const LINE_WORDS_MIN: usize = 2;
/// Minimum fraction of the line's rarity that such a passage must cover.
const LINE_SHARE_MIN: f32 = 0.7;

/// Returns the newest passage that discusses this error, preferably one that records a cure; `None` if there is none.
/// `skip` excludes passages.
pub(crate) fn of_error(
    passages: &Sources,
    query: &Query,
    error: &str,
    skip: &dyn Fn(MemoryId) -> bool,
) -> Option<Hit> {
    let signature = error_signature(error)?;
    if !signature.split(" | ").any(names_cause) {
        return None;
    }
    let hash = signature_hash(&signature);
    let mut found: Vec<Hit> = Vec::new();
    for segment in passages.list.iter().filter_map(IndexSource::segment) {
        match with_signature(segment, hash, skip) {
            Ok(hits) => found.extend(hits),
            Err(error) => passages.note(&error),
        }
    }
    // A failure recorded from a tool is stored with its cure.
    let is_cure = |hit: &Hit| hit.said_by == Some(SaidBy::Tool);
    found.sort_by(|a, b| {
        is_cure(b).cmp(&is_cure(a)).then(b.date.cmp(&a.date)).then(a.id.cmp(&b.id))
    });
    let talks = |hit: &Hit| is_cure(hit) || shares(query, &hit.text);
    let hit = found.into_iter().find(talks)?;
    Some(Hit { why: "the same error came up".to_owned(), ..hit })
}

/// Keeps the passages that contain most words of a line of the error, and returns true. If there are none, keeps all
/// passages and returns false.
pub(crate) fn keep_quoting(query: &Query, ranked: &mut RankedPassages) -> bool {
    let RankedPassages { passages, counted, .. } = ranked;
    let quotes = |passage: &RankedPassage| {
        query.lines.iter().any(|line| share_of(line, passage, query, counted) >= LINE_SHARE_MIN)
    };
    let quoting: Vec<bool> = passages.iter().map(quotes).collect();
    let any = quoting.contains(&true);
    if any {
        let mut quoting = quoting.into_iter();
        passages.retain(|_| quoting.next().unwrap_or_default());
    }
    any
}

/// Returns the fraction of a line's rarity that a passage covers; 0 for a line with too few words.
fn share_of(line: &[u16], passage: &RankedPassage, query: &Query, counted: &[bool]) -> f32 {
    let rarity_of = |numbers: &mut dyn Iterator<Item = &u16>| -> f32 {
        numbers.map(|&number| query.terms[usize::from(number)].background.powi(2)).sum()
    };
    let counts = |number: &&u16| counted[usize::from(**number)];
    let words = line.iter().filter(counts).count();
    let all = rarity_of(&mut line.iter().filter(counts));
    if words < LINE_WORDS_MIN || all < MASS_MIN.powi(2) {
        return 0.0;
    }
    let shared = &passage.candidate.shared;
    rarity_of(&mut line.iter().filter(counts).filter(|number| shared.contains(number))) / all
}

/// Returns the newest passages of a segment with this signature hash.
fn with_signature(
    segment: &Segment,
    hash: u64,
    skip: &dyn Fn(MemoryId) -> bool,
) -> Result<Vec<Hit>> {
    let mut docs = Vec::new();
    segment.errors(hash, |doc| docs.push(doc))?;
    let mut entries = Vec::new();
    for doc in docs.into_iter().filter(|&doc| !segment.is_dead(doc)) {
        let entry = segment.entry(doc)?;
        if !entry.has(FLAG_HELD) && !skip(entry.id) {
            entries.push(entry);
        }
    }
    entries.sort_by(|a, b| b.when.cmp(&a.when).then(a.id.cmp(&b.id)));
    entries.iter().take(READ_MAX).map(|entry| Ok(hit(entry, segment.record(entry)?, 0.0))).collect()
}

/// Returns whether a text shares enough words with the error to be about it.
fn shares(query: &Query, text: &str) -> bool {
    let mut shared: Vec<usize> = Vec::new();
    text::each_term(text, &mut |term, _| {
        let hash = term_hash(term);
        if let Some(number) = query.terms.iter().position(|known| known.hash == hash)
            && !shared.contains(&number)
        {
            shared.push(number);
        }
    });
    let mass: f32 = shared.iter().map(|&number| query.terms[number].background).sum();
    shared.len() >= SHARED_MIN && mass >= MASS_MIN
}
