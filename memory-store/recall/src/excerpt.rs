//! Excerpts: the words that an earlier session had for the same error.
//!
//! Turns are many and were judged by nobody, so they answer only what they match exactly: an error
//! with the very same signature for which no memory is known; and of the turn only the piece that
//! talks about it is given.

use super::query::Query;
use super::sources::Sources;
use super::{Collection, Hit};
use crate::index::Index;
use crate::index::record::{Entry, Record};
use crate::index::segment::Segment;
use crate::signature::{error_signature, names_cause, signature_hash};
use crate::suspicion::{Origin, suspicion};
use memory_store_base::error::Result;
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::TreeDir;
use memory_store_base::text::{self, rarity, term_hash};

/// Turns with the signature that are read, newest first.
const READ_MAX: usize = 4;
/// Characters of a piece.
const CHARS_MAX: usize = 320;
/// Words of the error that a line must have at least to talk about it.
const SHARED_MIN: usize = 2;
/// Least rarity of these words together: two that are common everywhere do not reach it.
const MASS_MIN: f32 = rarity::IDF_MAX;

/// The piece of the newest turn that talks about this error; `skip` says which turns may not answer.
pub(crate) fn of_error(
    sources: &Sources,
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
    for segment in &segments(sources, false) {
        match with_signature(segment, hash, skip) {
            Ok(hits) => found.extend(hits),
            Err(error) => sources.note(&error),
        }
    }
    found.sort_by(|a, b| b.date.cmp(&a.date).then(b.id.cmp(&a.id)));
    found.into_iter().take(READ_MAX).find_map(|hit| {
        // Turns are not judged when they are indexed: most are never given.
        let text =
            piece(query, &hit.text).filter(|text| suspicion("", text, Origin::Own).is_none())?;
        Some(Hit { text, why: "the same error came up".to_owned(), ..hit })
    })
}

/// Returns whether a turn of this id is there, in what hooks may answer with.
pub(crate) fn is_there(sources: &Sources, id: MemoryId) -> bool {
    let is_in = |segment: &Segment| match segment.find(id) {
        Ok(found) => found.is_some_and(|(doc, _)| !segment.is_dead(doc)),
        Err(damage) => {
            sources.note(&damage);
            false
        }
    };
    segments(sources, false).iter().any(is_in)
}

/// The segments of turns, or of what the model thought in them; what cannot be read is noted.
pub(crate) fn segments(sources: &Sources, thinking: bool) -> Vec<Segment> {
    let Some(index) = sources.list.iter().find_map(|source| source.index.as_ref()) else {
        return Vec::new();
    };
    let (segments, damage) = if thinking {
        // Beside the index, and in no hook's way.
        let folder = index.dir.parent().map(|state| TreeDir::at(state.to_owned()).thinking);
        match folder.map(|folder| Index::open(&folder)) {
            Some(Ok(Some(index))) => index.turns(),
            Some(Ok(None)) | None => (Vec::new(), None),
            Some(Err(error)) => (Vec::new(), Some(error)),
        }
    } else {
        index.turns()
    };
    if let Some(damage) = damage {
        sources.note(&damage);
    }
    segments
}

/// The newest turns of a segment in which an error came up.
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
        if !skip(entry.id) {
            entries.push(entry);
        }
    }
    entries.sort_by(|a, b| b.when.cmp(&a.when).then(b.id.cmp(&a.id)));
    entries.iter().take(READ_MAX).map(|entry| Ok(hit(entry, segment.record(entry)?, 0.0))).collect()
}

/// The line of a text that shares most with the error, and what follows it.
fn piece(query: &Query, text: &str) -> Option<String> {
    let mut best: Option<(f32, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(mass) = mass(query, line)
            && best.is_none_or(|(known, _)| mass > known)
        {
            best = Some((mass, at));
        }
        at += line.len();
    }
    let (_, start) = best?;
    let rest = text[start..].trim();
    let end = rest.char_indices().nth(CHARS_MAX).map_or(rest.len(), |(end, _)| end);
    Some(rest[..end].to_owned())
}

/// Returns how much a line shares with the error, if that is enough.
fn mass(query: &Query, line: &str) -> Option<f32> {
    let mut shared: Vec<usize> = Vec::new();
    text::each_term(line, &mut |term, _| {
        let hash = term_hash(term);
        if let Some(number) = query.terms.iter().position(|known| known.hash == hash)
            && !shared.contains(&number)
        {
            shared.push(number);
        }
    });
    let mass: f32 = shared.iter().map(|&number| query.terms[number].background).sum();
    (shared.len() >= SHARED_MIN && mass >= MASS_MIN).then_some(mass)
}

/// A turn as an answer.
pub(crate) fn hit(entry: &Entry, record: Record, score: f32) -> Hit {
    Hit {
        id: entry.id,
        kind: Kind::Session,
        title: String::new(),
        text: record.text,
        date: record.created,
        paths: Vec::new(),
        tags: Vec::new(),
        file: std::path::PathBuf::new(),
        confidence: 0.0,
        score: score.max(0.0),
        why: String::new(),
        collection: Collection::Turns,
        said_by: None,
        noted: false,
        draft: false,
        superseded: false,
        superseded_by: None,
        expired: None,
        held: false,
        from_repository: false,
        staleness: None,
        signatures: Vec::new(),
        session: record.session,
        turn: record.turn,
        neighbours: Vec::new(),
    }
}
