//! The index: data derived from memories and passages, so that a hook answers in a millisecond.
//!
//! A `MANIFEST` names immutable segments and one journal; `FORMAT.md` describes every byte. A reader opens one
//! generation and keeps it, takes no lock, and rejects data whose checksum does not match. An index may be deleted: it
//! is rebuilt from the memory files and the archive.

mod buckets;
pub mod clusters;
pub mod document;
pub mod format;
pub mod freeze;
mod graph;
pub mod health;
pub(crate) mod hub;
pub mod journal;
pub(crate) mod links;
mod listed;
pub mod manifest;
mod pages;
mod pairs;
pub mod record;
pub mod segment;
#[cfg(test)]
pub(crate) mod testing;
pub mod vectors;
pub mod write;

use std::io::Read;
use std::path::{Path, PathBuf};

use journal::{Journal, KnownJournals};
use manifest::{Collection, Manifest};
use memory_store_base::error::{At, Error, Result};
use segment::Segment;

/// An open generation of an index.
#[derive(Debug)]
pub struct Index {
    /// Folder of the index.
    pub dir: PathBuf,
    /// The current manifest.
    pub manifest: Manifest,
    /// The segment of memories; `None` if there are none, or if it is damaged.
    pub memories: Option<Segment>,
    /// Changes since the segments were written.
    pub journal: Journal,
    /// The first damage found; `None` if there is none.
    pub damage: Option<Error>,
}

impl Index {
    /// Opens the index in `dir`. Returns `None` if there is none, and an error if its manifest
    /// cannot be read. A damaged segment or journal is reported in [`Index::damage`], and the rest
    /// is used.
    pub fn open(dir: &Path) -> Result<Option<Self>> {
        Self::open_with(dir, None)
    }

    /// Opens an index as [`Index::open`] does, and uses the journals that the process has cached in `known`.
    pub(crate) fn open_with(dir: &Path, known: Option<&KnownJournals>) -> Result<Option<Self>> {
        let mut last = None;
        // A publisher may remove a segment after the manifest was read and before the segment is read. There is then a
        // newer manifest, so the index is opened a second time.
        for _ in 0..2 {
            let Some(manifest) = read_manifest(dir)? else { return Ok(None) };
            let index = Self::of_manifest(dir, manifest, known);
            if !index.damage.as_ref().is_some_and(is_missing) {
                return Ok(Some(index));
            }
            last = Some(index);
        }
        Ok(last)
    }

    fn of_manifest(dir: &Path, manifest: Manifest, known: Option<&KnownJournals>) -> Self {
        let mut damage = None;
        let memories = manifest
            .segments
            .iter()
            .find(|segment| segment.collection == Collection::Memories)
            .and_then(|segment| {
                Segment::open(dir, segment).map_err(|error| damage = Some(error)).ok()
            });
        let journal = Journal::read(dir, &manifest, known).unwrap_or_else(|error| {
            damage.get_or_insert(error);
            Journal::default()
        });
        if journal.damaged {
            let path = manifest.journal_path(dir);
            damage.get_or_insert_with(|| format::damaged(&path, "a frame is damaged"));
        }
        Self { dir: dir.to_owned(), manifest, memories, journal, damage }
    }

    /// Opens the segments of passages. Returns them oldest first, without damaged ones, and an error if one is damaged.
    pub fn passages(&self) -> (Vec<Segment>, Option<Error>) {
        let mut damage = None;
        let passages = self
            .manifest
            .segments
            .iter()
            .filter(|segment| segment.collection == Collection::Passages)
            .filter_map(|segment| {
                Segment::open(&self.dir, segment).map_err(|error| damage = Some(error)).ok()
            })
            .collect();
        (passages, damage)
    }
}

/// Returns the manifest of the index in `dir`; `None` if there is none.
pub fn read_manifest(dir: &Path) -> Result<Option<Manifest>> {
    let path = dir.join(manifest::FILE_NAME);
    let file = match std::fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).at(&path),
    };
    let mut bytes = Vec::with_capacity(4096);
    file.take(manifest::BYTES_MAX as u64).read_to_end(&mut bytes).at(&path)?;
    Manifest::decode(&path, &bytes).map(Some)
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}
