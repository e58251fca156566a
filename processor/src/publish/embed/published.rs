//! Reads vectors of turns from an index.

use std::path::Path;

use memory_store::Result;
use memory_store::custom_embedder::TextHash;
use memory_store::embed::{Encoder, Space, Vector};
use memory_store::index::Index;

/// Calls `told` with each vector of a turn that the transformer computed in this space, and with the hash of its text.
pub(super) fn each(
    folder: &Path,
    space: Space,
    told: &mut dyn FnMut(TextHash, Vector),
) -> Result<()> {
    let Some(index) = Index::open(folder)? else { return Ok(()) };
    // If a segment is damaged, the segments before it are still used.
    let (segments, _) = index.passages();
    for segment in segments {
        if segment.vector_head()?.is_none_or(|head| head.space != space || head.transformed == 0) {
            continue;
        }
        for doc in 0..segment.docs() {
            let Some(embedded) = segment.vector(doc)? else { continue };
            if embedded.encoder == Encoder::Transformer && !segment.is_dead(doc) {
                let text = segment.record(&segment.entry(doc)?)?.embedding_text();
                told(TextHash::of(&text), embedded.vector);
            }
        }
    }
    Ok(())
}
