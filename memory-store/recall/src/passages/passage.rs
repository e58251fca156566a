//! Segments of passages, and conversion of passages to hits.

use crate::index::Index;
use crate::index::record::{Entry, FLAG_HELD, Record};
use crate::index::segment::Segment;
use crate::search::hit::Hit;
use crate::search::sources::Sources;
use crate::suspicion::{TextOrigin, suspicion};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::TreeDir;
use memory_store_base::text::placeholder::hides_secret;

/// Returns the segments of passages, or those of the model's thinking. Read errors are noted.
pub(crate) fn segments(sources: &Sources, thinking: bool) -> Vec<Segment> {
    let Some(index) = sources.list.iter().find_map(|source| source.index.as_ref()) else {
        return Vec::new();
    };
    let (segments, damage) = if thinking {
        // The thinking has an index of its own next to the main one, so that hooks do not open it.
        let folder = index.dir.parent().map(|state| TreeDir::at(state.to_owned()).thinking);
        match folder.map(|folder| Index::open(&folder)) {
            Some(Ok(Some(index))) => index.passages(),
            Some(Ok(None)) | None => (Vec::new(), None),
            Some(Err(error)) => (Vec::new(), Some(error)),
        }
    } else {
        index.passages()
    };
    if let Some(damage) = damage {
        sources.note(&damage);
    }
    segments
}

/// Returns whether a passage with this id exists and may be returned to hooks.
pub(crate) fn is_there(sources: &Sources, id: MemoryId) -> bool {
    let is_in = |segment: &Segment| match segment.find(id) {
        Ok(found) => {
            found.is_some_and(|(doc, entry)| !segment.is_dead(doc) && !entry.has(FLAG_HELD))
        }
        Err(damage) => {
            sources.note(&damage);
            false
        }
    };
    segments(sources, false).iter().any(is_in)
}

/// Returns whether a hook may return a passage. This is determined at indexing, and stored as [`FLAG_HELD`] if it may
/// not, because reading the rules takes longer than all other work of a hook.
pub fn may_be_given(text: &str) -> bool {
    // If one secret was hidden in the text, another that was not recognised may be next to it.
    suspicion("", text, TextOrigin::Own).is_none() && !hides_secret(text)
}

/// Converts a passage to a hit.
pub(crate) fn hit(entry: &Entry, record: Record, score: f32) -> Hit {
    Hit {
        title: record.title,
        text: record.text,
        paths: record.paths,
        score: score.max(0.0),
        said_by: record.said_by,
        session: record.session,
        turn: record.turn,
        ..Hit::of_session(entry.id, entry.kind_of().unwrap_or(Kind::Session), record.created)
    }
}
