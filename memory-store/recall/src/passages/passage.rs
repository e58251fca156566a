//! Segments of passages, and a passage as an answer.

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

/// The segments of passages, or of what the model thought; what cannot be read is noted.
pub(crate) fn segments(sources: &Sources, thinking: bool) -> Vec<Segment> {
    let Some(index) = sources.list.iter().find_map(|source| source.index.as_ref()) else {
        return Vec::new();
    };
    let (segments, damage) = if thinking {
        // Beside the index, and in no hook's way.
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

/// Returns whether a passage of this id is there and may be given by hooks.
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

/// Returns whether a hook may give a passage. It is judged when it is indexed, and marked by [`FLAG_HELD`] if not: a
/// hook would read the rules for longer than it does everything else.
pub fn may_be_given(text: &str) -> bool {
    // Where one secret was hidden, another that looks like none may stand beside it.
    suspicion("", text, TextOrigin::Own).is_none() && !hides_secret(text)
}

/// A passage as an answer.
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
