//! Passages to be published, in segments that no manifest names yet.
//!
//! Many passages can be added in portions; readers use the previous state until all are published. Unpublished segments
//! are removed on drop, and those of a killed run by the next run. Otherwise, each failed attempt on a full disk would
//! leave less space for the next.

use std::fs;
use std::path::{Path, PathBuf};

use super::build::{
    Publisher, Vectors, collect_passages, files, passage_segments, publish_passages,
};
use super::lock;
use super::passages::Maker;
use crate::error::Result;
use crate::fs::disk::{Privacy, create_folder};
use crate::time::Timestamp;
use memory_store_recall::index::document::Passage;
use memory_store_recall::index::manifest::{Manifest, SegmentRef};
use memory_store_recall::index::segment::Segment;
use memory_store_recall::index::{format, read_manifest};

/// Passages for the next generation of an index.
#[derive(Debug)]
pub struct Staged {
    dir: PathBuf,
    /// The generation to which the passages are added; `None` if they replace all passages.
    base: Option<u64>,
    segments: Vec<SegmentRef>,
    /// Paths of the written files. They are removed unless a manifest names them.
    written: Vec<PathBuf>,
}

impl Staged {
    /// Begins with the passages in the index in `dir`, or with none if `afresh`. Only one process may add passages to
    /// an index at a time.
    pub fn begin(dir: &Path, afresh: bool) -> Result<Self> {
        let manifest = swept(dir)?.filter(|_| !afresh);
        let segments = passage_segments(manifest.as_ref());
        let base = manifest.map(|manifest| manifest.generation);
        Ok(Self { dir: dir.to_owned(), base, segments, written: Vec::new() })
    }

    /// Adds passages, replacing passages of the same session and number.
    ///
    /// # Errors
    /// If the present segments cannot be read, or a segment cannot be written.
    pub fn add(
        &mut self,
        vectors: Option<&dyn Vectors>,
        passages: &mut dyn Iterator<Item = Passage>,
    ) -> Result<()> {
        let maker = Maker { dir: &self.dir, vectors, graphs: None };
        let passages = collect_passages(passages);
        let parts = maker.with(self.segments.clone(), &passages)?;
        let publisher = Publisher::of(&self.dir);
        let manifest = read_manifest(&self.dir).ok().flatten();
        let mut generation = publisher.next_generation(manifest.as_ref());
        let mut written = Vec::new();
        self.segments = publisher.write_passages(parts, &mut generation, &mut written)?;
        self.written.extend(written);
        Ok(())
    }

    /// Publishes the passages together with the present memories. Returns whether any passage was new.
    ///
    /// # Errors
    /// If there is no index, or it cannot be read or written.
    pub fn publish(self, now: Timestamp) -> Result<bool> {
        let _lock = lock::exclusive(&self.dir)?;
        let missing = || format::damaged(&self.dir, "there is no index");
        let old = read_manifest(&self.dir)?.ok_or_else(missing)?;
        let segments = self.segments(Some(&old))?;
        if segments == passage_segments(Some(&old)) {
            return Ok(false);
        }
        publish_passages(&self.dir, old, segments, now)?;
        Ok(true)
    }

    /// Returns the segments for the generation after `old`.
    ///
    /// # Errors
    /// If another process has published since: its generation may have other passages, and it has removed the files
    /// that its manifest does not name.
    pub(super) fn segments(&self, old: Option<&Manifest>) -> Result<Vec<SegmentRef>> {
        if self.base.is_some() && self.base != old.map(|old| old.generation) {
            return Err(format::damaged(
                &self.dir,
                "somebody else has published passages meanwhile",
            ));
        }
        for segment in &self.segments {
            Segment::open(&self.dir, segment)?;
        }
        Ok(self.segments.clone())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.written.is_empty() {
            return;
        }
        // `drop` does not wait for a lock. If the lock is taken, the next run removes the files.
        if let Ok(Some(_lock)) = lock::try_exclusive(&self.dir)
            && let Ok(manifest) = read_manifest(&self.dir)
        {
            let named = manifest.map(|manifest| files(&manifest, &self.dir)).unwrap_or_default();
            let unnamed = self.written.iter().filter(|path| !named.contains(*path));
            unnamed.for_each(|path| drop(fs::remove_file(path)));
        }
    }
}

/// Removes the files that no manifest names from the index in `dir`, and creates the folder if it is missing. Returns
/// the manifest, if there is one. If the manifest cannot be read, no file is removed.
fn swept(dir: &Path) -> Result<Option<Manifest>> {
    create_folder(dir, Privacy::Private)?;
    let _lock = lock::exclusive(dir)?;
    let Ok(manifest) = read_manifest(dir) else { return Ok(None) };
    Publisher::of(dir).remove_unnamed(manifest.as_ref());
    Ok(manifest)
}
