//! Checks of an index for damage, for callers that can rebuild it.
//!
//! Readers detect damage only where they read, and a corrupted file may have its old length and time. Therefore a sync
//! checks all files: their headers always, and every byte if there is time.

use std::path::Path;

use super::manifest::{Collection, Manifest};
use super::segment::Segment;
use super::{Index, format, read_manifest};
use memory_store_base::error::{Error, Result};

/// How thoroughly an index is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Checks the manifest, the journal, and the length, header and section table of each segment.
    Headers,
    /// Also checks all checksums, and so every byte of the segments.
    Bytes,
}

/// Unreadable parts of an index.
#[derive(Debug, Default)]
pub struct Health {
    /// First error in the memories or the journal; `None` if they are intact.
    pub memories: Option<Error>,
    /// First error in the passages; `None` if they are intact.
    pub passages: Option<Error>,
}

impl Health {
    /// Returns the first error; `None` if the index is intact.
    pub fn damage(self) -> Option<Error> {
        self.memories.or(self.passages)
    }
}

/// Checks the index in `dir`.
pub fn inspect(dir: &Path, depth: Depth) -> Health {
    let generation = || read_manifest(dir).ok().flatten().map(|manifest| manifest.generation);
    let before = generation();
    let health = look(dir, depth);
    // A publisher may have removed files during the check. There is then a newer generation, which is checked instead.
    let is_sound = health.memories.is_none() && health.passages.is_none();
    if is_sound || generation() == before { health } else { look(dir, depth) }
}

fn look(dir: &Path, depth: Depth) -> Health {
    match Index::open(dir) {
        Ok(Some(index)) => Health {
            memories: index
                .damage
                .or_else(|| of_segments(&index.manifest, dir, Collection::Memories, depth)),
            passages: of_segments(&index.manifest, dir, Collection::Passages, depth),
        },
        Ok(None) => none(|| format::damaged(dir, "there is no index")),
        Err(_) => none(|| match read_manifest(dir) {
            Err(error) => error,
            Ok(_) => format::damaged(dir, "the index cannot be read"),
        }),
    }
}

fn none(error: impl Fn() -> Error) -> Health {
    Health { memories: Some(error()), passages: Some(error()) }
}

/// Returns the first error in the segments of a collection; `None` if they are intact.
fn of_segments(
    manifest: &Manifest,
    dir: &Path,
    collection: Collection,
    depth: Depth,
) -> Option<Error> {
    let segments = manifest.segments.iter().filter(|segment| segment.collection == collection);
    let check = |segment| -> Result<()> {
        let segment = Segment::open(dir, segment)?;
        match depth {
            Depth::Headers => Ok(()),
            Depth::Bytes => segment.verify(),
        }
    };
    segments.map(check).find_map(Result::err)
}
