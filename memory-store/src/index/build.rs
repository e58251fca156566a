//! Publishes a new generation of an index.
//!
//! ```text
//! let publisher = Publisher::begin(dir)?;      // before the store is listed
//! ... list the store ...
//! publisher.publish(&Content { .. })?;
//! ```
//!
//! The order of writing is: segments (synced), the manifest beside the old one (synced), rename,
//! then files that no manifest names are removed. A crash in between leaves the old generation and
//! some files that the next publisher removes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::document::{Document, Turn};
use super::manifest::{self, Collection, Gate, Manifest, SegmentRef};
use super::record::{FLAG_SAID, FLAG_SUPERSEDED};
use super::segment::Segment;
use super::{lock, read_manifest, write};
use crate::error::{At, Result};
use crate::id::MemoryId;
use crate::memory::Status;
use crate::settings::Settings;
use crate::store::{Stored, private_options};
use crate::time::Timestamp;

/// A segment of turns is merged with the next one when it is not this many times its size.
const TIER_RATIO: u32 = 2;
/// A segment of turns is rewritten when one in this many of its documents is dead.
const DEAD_SHARE: u32 = 4;

/// Makes a stored memory ready for the index of a tree at `root`; for the user's own memories,
/// `root` is the user's data directory.
pub fn document(stored: &Stored, root: &Path) -> Document {
    let file = stored.path.strip_prefix(root).unwrap_or(&stored.path);
    Document::memory(&stored.memory, file, stored.modified_ns, stored.len)
}

/// The memories of the session-start block, most valuable first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartPlan {
    /// Their ids.
    pub memories: Vec<MemoryId>,
}

/// What happens to the turns of an index.
pub enum Turns<'a> {
    /// They stay as they are.
    Keep,
    /// These are new, or replace those of the same session and number.
    Add(&'a mut dyn Iterator<Item = Turn>),
    /// These are all there are from now on.
    Replace(&'a mut dyn Iterator<Item = Turn>),
}

/// What a generation is made from.
pub struct Content<'a, 't> {
    /// The root of the working tree; files below it are named relative to it.
    pub root: &'a Path,
    /// All memories. Archived and rejected ones are left out of the index.
    pub memories: &'a [Stored],
    /// The turns.
    pub turns: Turns<'t>,
    /// The session-start block.
    pub start: &'a StartPlan,
    /// The settings in effect.
    pub settings: &'a Settings,
    /// The time.
    pub now: Timestamp,
}

/// What was published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The generation in force; the old one when nothing had changed.
    pub generation: u64,
    /// Whether it is a new one.
    pub changed: bool,
    /// Memories in it.
    pub memories: u32,
    /// Turns in it.
    pub turns: u32,
    /// Its gate.
    pub gate: Gate,
}

/// Publishes a generation. Begin before the store is listed: what is journalled after that moment
/// stays in the journal.
#[derive(Debug)]
pub struct Publisher {
    dir: PathBuf,
    /// The journal and its length when the store was about to be listed.
    mark: Option<(u64, u64)>,
    /// Memories that Claude Code tells anyway.
    said: BTreeSet<MemoryId>,
}

impl Publisher {
    /// Notes how long the journal is, and creates the folder when it is missing.
    pub fn begin(dir: &Path) -> Result<Self> {
        create_private_dir(dir)?;
        // A manifest that cannot be read is replaced, and its journal with it.
        let manifest = read_manifest(dir).ok().flatten();
        let mark = manifest.map(|manifest| {
            let length = fs::metadata(manifest.journal_path(dir)).map_or(0, |meta| meta.len());
            (manifest.journal, length)
        });
        Ok(Self { dir: dir.to_owned(), mark, said: BTreeSet::new() })
    }

    /// Names the memories that Claude Code tells every session anyway, so that they are found by
    /// those who ask, and not injected.
    pub fn said(mut self, said: BTreeSet<MemoryId>) -> Self {
        self.said = said;
        self
    }

    /// Writes the next generation, unless it would say what the present one says.
    pub fn publish(self, content: Content<'_, '_>) -> Result<Published> {
        let documents = documents(content.root, content.memories, &self.said);
        let memories = write::segment(Collection::Memories, &documents, &content.start.memories);
        let digest = digest(&memories, content.settings);
        let (replace, turns) = collect_turns(content.turns);

        let _lock = lock::exclusive(&self.dir)?;
        let old = read_manifest(&self.dir).ok().flatten();
        let turns = if replace { turns } else { self.not_known(old.as_ref(), turns) };
        let journal = self.journal(old.as_ref());
        if let Some(old) = &old
            && old.digest == digest
            && turns.is_empty()
            && !replace
            && journal == Some((old.journal, old.journal_start))
            && self.is_whole(old)
        {
            return Ok(published(old, false));
        }

        let generation = self.next_generation(old.as_ref());
        let mut written = Vec::new();
        let memories = self.write_segment(
            Collection::Memories,
            generation,
            documents.len(),
            &memories,
            &mut written,
        )?;
        let gate = self.gate(&memories, content.settings)?;
        let kept = if replace { Vec::new() } else { self.turn_segments(old.as_ref()) };
        let mut segments = self.turns(kept, turns, generation, &mut written)?;
        segments.push(memories);
        let manifest = Manifest {
            generation,
            published: content.now,
            journal: journal.map_or(generation, |(journal, _)| journal),
            journal_start: journal.map_or(0, |(_, start)| start),
            digest,
            gate,
            segments,
            settings: content.settings.clone(),
        };
        self.write_manifest(&manifest)?;
        self.remove_unnamed(&manifest);
        Ok(published(&manifest, true))
    }

    /// The journal that the next generation goes on with, and from where; `None` for a new one,
    /// because the segments hold all that was appended.
    fn journal(&self, old: Option<&Manifest>) -> Option<(u64, u64)> {
        let (old, (journal, listed)) = (old?, self.mark?);
        let length = fs::metadata(old.journal_path(&self.dir)).map_or(0, |meta| meta.len());
        // Someone else published in between: only what that generation took in is certain.
        let taken = if old.journal == journal { listed } else { old.journal_start };
        match (length, length > taken) {
            (0, _) => Some((old.journal, 0)),
            (_, true) => Some((old.journal, taken)),
            (_, false) => None,
        }
    }

    /// A number that no file in the folder has, even after a crash or a lost manifest.
    fn next_generation(&self, old: Option<&Manifest>) -> u64 {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let used = files.filter_map(|file| file_generation(&file.file_name().to_string_lossy()));
        used.chain(old.map(|old| old.generation)).max().unwrap_or(0) + 1
    }

    fn write_segment(
        &self,
        collection: Collection,
        generation: u64,
        docs: usize,
        bytes: &[u8],
        written: &mut Vec<PathBuf>,
    ) -> Result<SegmentRef> {
        let segment = SegmentRef {
            collection,
            generation,
            bytes: bytes.len() as u64,
            docs: docs as u32,
            dead: Vec::new(),
        };
        let path = segment.path(&self.dir);
        let result = write_synced(&path, bytes);
        if result.is_err() {
            // A full disk: leave nothing half-written behind.
            written.iter().chain([&path]).for_each(|path| drop(fs::remove_file(path)));
        }
        result?;
        written.push(path);
        Ok(segment)
    }

    fn gate(&self, memories: &SegmentRef, settings: &Settings) -> Result<Gate> {
        let segment = Segment::open(&self.dir, memories)?;
        Ok(crate::recall::calibrate(segment, settings))
    }

    fn turn_segments(&self, old: Option<&Manifest>) -> Vec<SegmentRef> {
        let segments = old.map(|old| old.segments.clone()).unwrap_or_default();
        segments.into_iter().filter(|segment| segment.collection == Collection::Turns).collect()
    }

    /// Adds new turns as a segment and merges what has become small beside it.
    fn turns(
        &self,
        mut segments: Vec<SegmentRef>,
        turns: Vec<Document>,
        generation: u64,
        written: &mut Vec<PathBuf>,
    ) -> Result<Vec<SegmentRef>> {
        if turns.is_empty() {
            return Ok(segments);
        }
        for segment in &mut segments {
            self.bury(segment, &turns)?;
        }
        let mut merged = turns;
        while let Some(last) = segments.last()
            && (last.docs < TIER_RATIO * merged.len() as u32
                || last.dead.len() as u32 * DEAD_SHARE > last.docs)
        {
            merged = [self.living(last)?, merged].concat();
            segments.pop();
        }
        merged.sort_by_key(|document| document.entry.id);
        let bytes = write::segment(Collection::Turns, &merged, &[]);
        segments.push(self.write_segment(
            Collection::Turns,
            generation,
            merged.len(),
            &bytes,
            written,
        )?);
        Ok(segments)
    }

    /// The turns that are not in the index as they are, so that adding again changes nothing.
    fn not_known(&self, old: Option<&Manifest>, mut turns: Vec<Document>) -> Vec<Document> {
        if turns.is_empty() {
            return turns;
        }
        for reference in self.turn_segments(old) {
            let Ok(segment) = Segment::open(&self.dir, &reference) else { continue };
            turns.retain(|turn| match segment.find(turn.entry.id) {
                Ok(Some((doc, entry))) if !segment.is_dead(doc) => {
                    segment.record(&entry).is_ok_and(|record| record != turn.record)
                }
                Ok(_) | Err(_) => true,
            });
        }
        turns
    }

    /// Marks the documents of a segment that newer ones replace.
    fn bury(&self, reference: &mut SegmentRef, newer: &[Document]) -> Result<()> {
        let segment = Segment::open(&self.dir, reference)?;
        let mut dead: BTreeSet<u32> = reference.dead.iter().copied().collect();
        for document in newer {
            dead.extend(segment.find(document.entry.id)?.map(|(doc, _)| doc));
        }
        reference.dead = dead.into_iter().collect();
        Ok(())
    }

    /// Reads the documents of a segment of turns that nothing has replaced.
    fn living(&self, reference: &SegmentRef) -> Result<Vec<Document>> {
        let segment = Segment::open(&self.dir, reference)?;
        (0..segment.docs())
            .filter(|&doc| !segment.is_dead(doc))
            .map(|doc| {
                let record = segment.record(&segment.entry(doc)?)?;
                Ok(Document::turn(&Turn {
                    session: record.session.unwrap_or_default(),
                    agent: record.agent,
                    number: record.turn,
                    at: record.created,
                    text: record.text,
                }))
            })
            .collect()
    }

    /// Whether every file that a manifest names can be opened.
    fn is_whole(&self, manifest: &Manifest) -> bool {
        manifest.segments.iter().all(|segment| Segment::open(&self.dir, segment).is_ok())
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.dir.join(manifest::FILE_NAME);
        let bytes =
            manifest.encode().map_err(|error| super::format::damaged(&path, error.to_string()))?;
        let beside = self.dir.join("MANIFEST.new");
        write_synced(&beside, &bytes)?;
        fs::rename(&beside, &path).at(&path)?;
        sync_dir(&self.dir);
        Ok(())
    }

    /// Removes segments and journals that the manifest does not name. A reader that holds one open
    /// keeps it; one that is about to open one reads the new manifest.
    fn remove_unnamed(&self, manifest: &Manifest) {
        let named: BTreeSet<PathBuf> = manifest
            .segments
            .iter()
            .map(|segment| segment.path(&self.dir))
            .chain([manifest.journal_path(&self.dir)])
            .collect();
        for file in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let ours = file_generation(&file.file_name().to_string_lossy()).is_some();
            if ours && !named.contains(&file.path()) {
                // Another try is made by the next publisher.
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// The generation in the name of a segment or journal.
fn file_generation(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".seg").or_else(|| name.strip_suffix(".log"))?;
    let (_, number) = stem.rsplit_once('-')?;
    u64::from_str_radix(number, 16).ok()
}

/// Makes the memories that take part in recall ready, in the order of their ids.
fn documents(root: &Path, memories: &[Stored], said: &BTreeSet<MemoryId>) -> Vec<Document> {
    let mut documents: Vec<Document> = memories
        .iter()
        .filter(|stored| match stored.memory.status {
            Status::Active | Status::Draft => true,
            Status::Rejected | Status::Archived => false,
        })
        .map(|stored| document(stored, root))
        .collect();
    documents.sort_by(|a, b| {
        a.entry.id.cmp(&b.entry.id).then_with(|| a.record.file.cmp(&b.record.file))
    });
    // A person may have copied a file: the first path stands.
    documents.dedup_by(|later, first| later.entry.id == first.entry.id);
    let superseded: BTreeSet<MemoryId> =
        documents.iter().flat_map(|document| document.record.supersedes.clone()).collect();
    for document in &mut documents {
        if superseded.contains(&document.entry.id) {
            document.entry.flags |= FLAG_SUPERSEDED;
        }
        if said.contains(&document.entry.id) {
            document.entry.flags |= FLAG_SAID;
        }
    }
    documents
}

/// Makes turns ready; of two with the same session and number the later one counts.
fn collect_turns(turns: Turns<'_>) -> (bool, Vec<Document>) {
    let (replace, turns): (bool, &mut dyn Iterator<Item = Turn>) = match turns {
        Turns::Keep => return (false, Vec::new()),
        Turns::Add(turns) => (false, turns),
        Turns::Replace(turns) => (true, turns),
    };
    let mut documents: Vec<Document> = turns.map(|turn| Document::turn(&turn)).collect();
    documents.reverse();
    documents.sort_by_key(|document| document.entry.id);
    documents.dedup_by(|later, first| later.entry.id == first.entry.id);
    (replace, documents)
}

/// What decides whether there is anything new to publish. The gate follows from it.
fn digest(memories: &[u8], settings: &Settings) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(&crate::recall::fingerprint());
    hasher.update(memories);
    hasher.update(&serde_json::to_vec(settings).unwrap_or_default());
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

fn published(manifest: &Manifest, changed: bool) -> Published {
    let docs = |collection| {
        let segments = manifest.segments.iter().filter(|segment| segment.collection == collection);
        segments.map(|segment| segment.docs - segment.dead.len() as u32).sum()
    };
    Published {
        generation: manifest.generation,
        changed,
        memories: docs(Collection::Memories),
        turns: docs(Collection::Turns),
        gate: manifest.gate,
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = private_options();
    let mut file = options.create(true).truncate(true).write(true).open(path).at(path)?;
    file.write_all(bytes).at(path)?;
    file.sync_all().at(path)
}

/// A rename lasts through a power cut once the folder is synced; where that cannot be done the
/// old generation comes back, which is as good.
fn sync_dir(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}

/// Turns are private: only their owner may look.
fn create_private_dir(dir: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).at(dir)
}
