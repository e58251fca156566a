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
use super::vectors::Embedded;
use super::{lock, read_manifest, write};
use crate::embed::{Encoder, Space, Vector};
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

/// Gives texts their vectors.
pub trait Vectors {
    /// The space that they lie in.
    fn space(&self) -> Space;

    /// The best vector of a text that can be had at once: the transformer's when it is known
    /// already, otherwise the table's; `None` when it has no words.
    fn of(&self, text: &str) -> Option<(Encoder, Vector)>;
}

/// The vector of a document.
pub(super) fn embed(document: &Document, vectors: &dyn Vectors) -> Option<Embedded> {
    let (encoder, vector) = vectors.of(&document.embedding_text())?;
    Some(Embedded { space: vectors.space(), encoder, vector })
}

/// Gives documents the transformer's vectors where they are known by now; says whether any gained.
fn gain(documents: &mut [Document], vectors: &dyn Vectors) -> bool {
    let mut gained = false;
    for document in documents {
        let best = document.vector.is_some_and(|vector| {
            vector.space == vectors.space() && vector.encoder == Encoder::Transformer
        });
        if !best {
            let before = document.vector;
            document.vector = embed(document, vectors);
            gained |= document.vector != before;
        }
    }
    gained
}

/// What happens to the turns of an index.
pub enum Turns<'a> {
    /// They stay as they are.
    Keep,
    /// These are new, or replace those of the same session and number.
    Add(&'a mut dyn Iterator<Item = Turn>),
    /// These are all there are from now on.
    Replace(&'a mut dyn Iterator<Item = Turn>),
    /// They stay, and some that had only the table's vector get the transformer's, where it is known
    /// by now. To be repeated until nothing changes.
    Embed,
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
pub struct Publisher<'a> {
    dir: PathBuf,
    /// The journal and its length when the store was about to be listed.
    mark: Option<(u64, u64)>,
    /// Memories that Claude Code tells anyway.
    said: BTreeSet<MemoryId>,
    vectors: Option<&'a dyn Vectors>,
}

impl<'a> Publisher<'a> {
    /// Notes how long the journal is, and creates the folder when it is missing.
    pub fn begin(dir: &Path) -> Result<Self> {
        create_private_dir(dir)?;
        // A manifest that cannot be read is replaced, and its journal with it.
        let manifest = read_manifest(dir).ok().flatten();
        let mark = manifest.map(|manifest| {
            let length = fs::metadata(manifest.journal_path(dir)).map_or(0, |meta| meta.len());
            (manifest.journal, length)
        });
        Ok(Self { dir: dir.to_owned(), mark, said: BTreeSet::new(), vectors: None })
    }

    /// Names the memories that Claude Code tells every session anyway, so that they are found by
    /// those who ask, and not injected.
    pub fn said(mut self, said: BTreeSet<MemoryId>) -> Self {
        self.said = said;
        self
    }

    /// Where the vectors come from; without, the index is searched by words alone.
    pub fn vectors(mut self, vectors: &'a dyn Vectors) -> Self {
        self.vectors = Some(vectors);
        self
    }

    /// Writes the next generation, unless it would say what the present one says.
    pub fn publish(self, content: Content<'_, '_>) -> Result<Published> {
        let mut documents = documents(content.root, content.memories, &self.said);
        self.embed(&mut documents);
        let start = &content.start.memories;
        let memories =
            write::segment(Collection::Memories, &documents, start, self.space(&documents));
        let digest = digest(&memories, content.settings);
        let better = matches!(content.turns, Turns::Embed);
        let (replace, mut turns) = collect_turns(content.turns);

        let _lock = lock::exclusive(&self.dir)?;
        let old = read_manifest(&self.dir).ok().flatten();
        if !replace {
            turns = self.not_known(old.as_ref(), turns);
        }
        let better = if better { self.better(old.as_ref())? } else { None };
        let journal = self.journal(old.as_ref());
        if let Some(old) = &old
            && old.digest == digest
            && turns.is_empty()
            && better.is_none()
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
        let mut segments = match better {
            Some((place, documents)) => {
                self.rewritten(kept, place, documents, generation, &mut written)?
            }
            None => self.turns(kept, turns, generation, &mut written)?,
        };
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
        segments.push(self.write_turns(merged, generation, written)?);
        Ok(segments)
    }

    fn write_turns(
        &self,
        mut turns: Vec<Document>,
        generation: u64,
        written: &mut Vec<PathBuf>,
    ) -> Result<SegmentRef> {
        turns.sort_by_key(|document| document.entry.id);
        self.embed(&mut turns);
        let bytes = write::segment(Collection::Turns, &turns, &[], self.space(&turns));
        self.write_segment(Collection::Turns, generation, turns.len(), &bytes, written)
    }

    /// The space of a segment's vectors. When there is nothing to make new ones with, what is known
    /// is kept.
    fn space(&self, documents: &[Document]) -> Option<Space> {
        let known = || documents.iter().find_map(|document| Some(document.vector?.space));
        self.vectors.map(Vectors::space).or_else(known)
    }

    /// Gives documents without a vector of the present space one; says whether any got one.
    fn embed(&self, documents: &mut [Document]) {
        let Some(vectors) = self.vectors else { return };
        for document in documents {
            if document.vector.is_none_or(|vector| vector.space != vectors.space()) {
                document.vector = embed(document, vectors);
            }
        }
    }

    /// A segment of turns with better vectors than it has, by its place; those that have most to
    /// gain are looked at first.
    fn better(&self, old: Option<&Manifest>) -> Result<Option<(usize, Vec<Document>)>> {
        let Some(vectors) = self.vectors else { return Ok(None) };
        let segments = self.turn_segments(old);
        let mut places = Vec::new();
        for (place, reference) in segments.iter().enumerate() {
            let head = Segment::open(&self.dir, reference)?.vector_head()?;
            let head = head.filter(|head| head.space == vectors.space());
            let missing = head.map_or(reference.docs, |head| head.count - head.transformed);
            places.push((missing, place));
        }
        places.sort_unstable_by(|a, b| b.cmp(a));
        for (_, place) in places.into_iter().filter(|&(missing, _)| missing > 0) {
            let mut documents = self.living(&segments[place])?;
            if gain(&mut documents, vectors) {
                return Ok(Some((place, documents)));
            }
        }
        Ok(None)
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

    /// Replaces a segment of turns by its documents as they are now.
    fn rewritten(
        &self,
        mut segments: Vec<SegmentRef>,
        place: usize,
        documents: Vec<Document>,
        generation: u64,
        written: &mut Vec<PathBuf>,
    ) -> Result<Vec<SegmentRef>> {
        segments[place] = self.write_turns(documents, generation, written)?;
        Ok(segments)
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

    /// Reads the documents of a segment of turns that nothing has replaced, with their vectors.
    fn living(&self, reference: &SegmentRef) -> Result<Vec<Document>> {
        let segment = Segment::open(&self.dir, reference)?;
        (0..segment.docs())
            .filter(|&doc| !segment.is_dead(doc))
            .map(|doc| {
                let record = segment.record(&segment.entry(doc)?)?;
                let mut document = Document::turn(&Turn {
                    session: record.session.unwrap_or_default(),
                    agent: record.agent,
                    number: record.turn,
                    at: record.created,
                    text: record.text,
                });
                document.vector = segment.vector(doc)?;
                Ok(document)
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
        Turns::Keep | Turns::Embed => return (false, Vec::new()),
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
