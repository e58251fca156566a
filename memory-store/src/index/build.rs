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

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::document::{Document, Turn};
use super::freeze::{Frozen, freeze};
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

/// Links vectors into graphs.
pub trait Graphs {
    /// Returns for each set of vectors, and for each vector of it, the numbers of its neighbours in
    /// the set, the nearest first. The same sets give the same neighbours.
    fn link(&self, sets: &[Vec<&Vector>]) -> Vec<Vec<Vec<u32>>>;
}

/// From so many vectors on a segment has a graph. Searching it pays much later only, but so it is
/// in use long before.
const GRAPH_VECTORS_MIN: usize = 1000;

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
    graphs: Option<&'a dyn Graphs>,
}

/// What the turns of the next generation are made from, ready to be written.
enum NewTurns {
    Add(Vec<Document>),
    Replace(Vec<Document>),
    Embed,
}

/// The memories of the next generation, without their graph.
struct Memories<'a> {
    documents: Vec<Document>,
    start: &'a [MemoryId],
    bytes: Vec<u8>,
    digest: [u8; 16],
}

/// What the next generation writes.
struct Plan {
    /// The segment of memories; `None` when the present one says the same.
    memories: Option<Vec<u8>>,
    /// The segments of turns that stay.
    turns: Vec<SegmentRef>,
    /// A further one: its place among them, whether it takes the place of another, its documents,
    /// its bytes.
    written: Option<(usize, bool, u32, Vec<u8>)>,
    /// Whether nothing of this is new.
    idle: bool,
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
        Ok(Self { dir: dir.to_owned(), mark, said: BTreeSet::new(), vectors: None, graphs: None })
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

    /// What links vectors into graphs; without, all of them are compared.
    pub fn graphs(mut self, graphs: &'a dyn Graphs) -> Self {
        self.graphs = Some(graphs);
        self
    }

    /// Writes the next generation, unless it would say what the present one says.
    pub fn publish(self, content: Content<'_, '_>) -> Result<Published> {
        let mut documents = documents(content.root, content.memories, &self.said);
        self.embed(&mut documents);
        let start = &content.start.memories;
        let space = self.space(&documents);
        let bytes =
            write::segment(Collection::Memories, &documents, start, space, Frozen::default());
        let digest = self.digest(&bytes, content.settings);
        let memories = Memories { documents, start, bytes, digest };
        let mut turns = collect_turns(content.turns);
        if let NewTurns::Replace(turns) = &mut turns {
            self.embed(turns);
        }

        // What takes long is done before the lock is taken, for whoever saves a memory waits for it.
        let before = read_manifest(&self.dir).ok().flatten();
        let mut plan = self.plan(before.as_ref(), &memories, &turns)?;
        let _lock = lock::exclusive(&self.dir)?;
        let old = read_manifest(&self.dir).ok().flatten();
        let generation = |manifest: &Option<Manifest>| Some(manifest.as_ref()?.generation);
        if generation(&old) != generation(&before) {
            plan = self.plan(old.as_ref(), &memories, &turns)?;
        }

        let journal = self.journal(old.as_ref());
        if let Some(old) = &old
            && plan.idle
            && journal == Some((old.journal, old.journal_start))
            && self.is_whole(old)
        {
            return Ok(published(old, false));
        }
        let generation = self.next_generation(old.as_ref());
        let mut written = Vec::new();
        let (memories, gate) = match (&plan.memories, old.as_ref().and_then(kept_memories)) {
            (None, Some(kept)) => kept,
            (new, _) => {
                let bytes = new.as_ref().unwrap_or(&memories.bytes);
                let docs = memories.documents.len() as u32;
                let segment = self.write_segment(
                    Collection::Memories,
                    generation,
                    docs,
                    bytes,
                    &mut written,
                )?;
                let gate = self.gate(&segment, content.settings)?;
                (segment, gate)
            }
        };
        let mut segments = plan.turns;
        if let Some((place, replaces, docs, bytes)) = plan.written {
            let segment =
                self.write_segment(Collection::Turns, generation, docs, &bytes, &mut written)?;
            segments.splice(place..place + usize::from(replaces), [segment]);
        }
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

    /// Prepares what the generation after `old` writes.
    fn plan(
        &self,
        old: Option<&Manifest>,
        memories: &Memories<'_>,
        turns: &NewTurns,
    ) -> Result<Plan> {
        let kept = old.filter(|old| old.digest == memories.digest).and_then(kept_memories);
        let kept = kept.is_some_and(|(segment, _)| Segment::open(&self.dir, &segment).is_ok());
        let mut segments = self.turn_segments(old);
        let (place, replaces, documents) = match turns {
            NewTurns::Add(turns) => {
                let turns = self.not_known(&segments, turns.clone());
                let merged = self.merged(&mut segments, turns)?;
                (segments.len(), false, Cow::Owned(merged))
            }
            NewTurns::Replace(turns) => {
                segments.clear();
                (0, false, Cow::Borrowed(turns.as_slice()))
            }
            NewTurns::Embed => {
                let (place, documents) = self.better(&segments)?.unwrap_or_default();
                (place, true, Cow::Owned(documents))
            }
        };
        let reused = if kept { None } else { self.same_graph(old, memories) };
        let own = if kept || reused.is_some() { &[][..] } else { &memories.documents };
        let mut graphs = self.link(&[own, &documents]).into_iter();
        let (own, of_turns) =
            (graphs.next().unwrap_or_default(), graphs.next().unwrap_or_default());
        let own = reused.unwrap_or(own);
        let memories = (!kept).then(|| {
            if own.seeds.is_empty() {
                return memories.bytes.clone();
            }
            let space = self.space(&memories.documents);
            write::segment(Collection::Memories, &memories.documents, memories.start, space, own)
        });
        let written = (!documents.is_empty()).then(|| {
            let space = self.space(&documents);
            let bytes = write::segment(Collection::Turns, &documents, &[], space, of_turns);
            (place, replaces, documents.len() as u32, bytes)
        });
        let replaced = matches!(turns, NewTurns::Replace(_));
        let idle = memories.is_none() && written.is_none() && !replaced;
        Ok(Plan { memories, turns: segments, written, idle })
    }

    /// Builds a graph over the vectors of each of these documents, where there are enough.
    fn link(&self, segments: &[&[Document]]) -> Vec<Frozen> {
        let Some(graphs) = self.graphs else { return Vec::new() };
        let vectored: Vec<Vec<(u32, &Vector)>> = segments
            .iter()
            .map(|documents| {
                let space = self.space(documents);
                space.map(|space| write::vectored(documents, space)).unwrap_or_default()
            })
            .map(|vectors| if vectors.len() < GRAPH_VECTORS_MIN { Vec::new() } else { vectors })
            .collect();
        if vectored.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let sets: Vec<Vec<&Vector>> = vectored
            .iter()
            .map(|vectors| vectors.iter().map(|&(_, vector)| vector).collect())
            .collect();
        let links = graphs.link(&sets);
        vectored.iter().zip(links).map(|(vectors, links)| freeze(vectors, links)).collect()
    }

    /// The graph of the present segment of memories, when it is over the same vectors.
    fn same_graph(&self, old: Option<&Manifest>, memories: &Memories<'_>) -> Option<Frozen> {
        let (reference, _) = kept_memories(old?)?;
        let segment = Segment::open(&self.dir, &reference).ok()?;
        let new = SegmentRef {
            bytes: memories.bytes.len() as u64,
            docs: memories.documents.len() as u32,
            dead: Vec::new(),
            ..reference
        };
        let new = Segment::from_bytes(&self.dir, memories.bytes.clone(), &new).ok()?;
        segment.graph_of(&new).ok()?
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
        docs: u32,
        bytes: &[u8],
        written: &mut Vec<PathBuf>,
    ) -> Result<SegmentRef> {
        let segment = SegmentRef {
            collection,
            generation,
            bytes: bytes.len() as u64,
            docs,
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

    /// Adds to new turns those of segments that have become small beside them, and takes these
    /// segments away. What the new turns replace is marked in the others.
    fn merged(
        &self,
        segments: &mut Vec<SegmentRef>,
        turns: Vec<Document>,
    ) -> Result<Vec<Document>> {
        if turns.is_empty() {
            return Ok(turns);
        }
        for segment in segments.iter_mut() {
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
        self.embed(&mut merged);
        Ok(merged)
    }

    /// What decides whether the memories are new. The gate follows from it.
    fn digest(&self, memories: &[u8], settings: &Settings) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        hasher.update(&crate::recall::fingerprint());
        hasher.update(&[u8::from(self.graphs.is_some())]);
        hasher.update(memories);
        hasher.update(&serde_json::to_vec(settings).unwrap_or_default());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
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
    fn better(&self, segments: &[SegmentRef]) -> Result<Option<(usize, Vec<Document>)>> {
        let Some(vectors) = self.vectors else { return Ok(None) };
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
    fn not_known(&self, segments: &[SegmentRef], mut turns: Vec<Document>) -> Vec<Document> {
        for reference in segments {
            if turns.is_empty() {
                break;
            }
            let Ok(segment) = Segment::open(&self.dir, reference) else { continue };
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
fn collect_turns(turns: Turns<'_>) -> NewTurns {
    let ready = |turns: &mut dyn Iterator<Item = Turn>| {
        let mut documents: Vec<Document> = turns.map(|turn| Document::turn(&turn)).collect();
        documents.reverse();
        documents.sort_by_key(|document| document.entry.id);
        documents.dedup_by(|later, first| later.entry.id == first.entry.id);
        documents
    };
    match turns {
        Turns::Keep => NewTurns::Add(Vec::new()),
        Turns::Add(turns) => NewTurns::Add(ready(turns)),
        Turns::Replace(turns) => NewTurns::Replace(ready(turns)),
        Turns::Embed => NewTurns::Embed,
    }
}

/// The segment of memories of a generation, and its gate.
fn kept_memories(manifest: &Manifest) -> Option<(SegmentRef, Gate)> {
    let memories = |segment: &&SegmentRef| segment.collection == Collection::Memories;
    Some((manifest.segments.iter().find(memories)?.clone(), manifest.gate))
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
