//! Publishes a new generation of an index.
//!
//! ```text
//! let publisher = Publisher::begin(dir)?;      // before the store is listed
//! ... list the store ...
//! publisher.publish(&Content { .. })?;
//! ```
//!
//! Segments are written and synced first, then the manifest is written next to the old one and renamed to publish it.
//! Files that no manifest names are removed last. A crash in between leaves the old generation and some files that the
//! next publisher removes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store_recall::index::document::{Document, Passage};
use memory_store_recall::index::freeze::{self, Frozen};
use memory_store_recall::index::manifest::{
    self, Collection, Gate, Manifest, PassageGate, SegmentRef,
};
use memory_store_recall::index::record::{
    FLAG_DRAFT, FLAG_HELD, FLAG_SAID, FLAG_STALE, FLAG_SUPERSEDED, REPEATED_MAX, is_newer,
};
use memory_store_recall::index::segment::Segment;
use memory_store_recall::index::vectors::Embedded;
use memory_store_recall::index::{format, read_manifest, write};

use super::lock;
pub use super::passages::SEGMENT_PASSAGES_MAX;
use super::passages::{self, SettlePart};
pub use super::staged::Staged;
pub use crate::embed::Vectors;
use crate::embed::{Space, Vector};
use crate::error::{At, Result};
use crate::fs::disk::{Privacy, create_folder, private_options};
use crate::id::MemoryId;
use crate::memory::Status;
use crate::settings::Settings;
use crate::staleness::Staleness;
use crate::stored::Stored;
use crate::succession;
use crate::time::Timestamp;
use crate::trust::Trust;

/// Returns the index document of a stored memory, not yet tokenized. `root` is the root of the working tree; for the
/// user's own memories, it is the user's data directory.
pub fn document(stored: &Stored, root: &Path) -> Document {
    let file = stored.path.strip_prefix(root).unwrap_or(&stored.path);
    Document::memory(&stored.memory, file, stored.stamp)
}

/// Links vectors into a graph.
pub trait Graphs {
    /// Returns, for each vector, the numbers of its neighbours, the nearest first. Equal vectors must have equal
    /// neighbours.
    fn link(&self, vectors: &[&Vector]) -> Vec<Vec<u32>>;

    /// Returns the minimum number of memory vectors for which a graph is built. A graph makes searches faster only in
    /// far larger stores; the limit is low so that this code is used early.
    fn vectors_min(&self) -> usize {
        1000
    }

    /// Returns the minimum number of passages in a segment for which a graph is built.
    fn passages_min(&self) -> u32 {
        1 << 14
    }
}

/// Contents of a generation.
pub struct Content<'a> {
    /// Root of the working tree. Paths of files below the root are stored relative to it.
    pub root: &'a Path,
    /// All memories. Archived and rejected ones are not indexed.
    pub memories: &'a [Stored],
    /// The new passages; `None` keeps the present ones.
    pub passages: Option<Staged>,
    /// The memories of the start block, the most valuable first.
    pub start: &'a [MemoryId],
    /// The present settings.
    pub settings: &'a Settings,
    /// The present time.
    pub now: Timestamp,
}

/// Result of publishing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Current generation; the previous one if nothing changed.
    pub generation: u64,
    /// True if the generation is new.
    pub changed: bool,
    /// Number of memories in the generation.
    pub memories: u32,
    /// Number of passages in the generation.
    pub passages: u32,
    /// Gate of the generation.
    pub gate: Gate,
}

/// Publishes a generation. Call [`Publisher::begin`] before listing the store, because journal entries that are
/// appended later are kept in the journal.
pub struct Publisher<'a> {
    dir: PathBuf,
    /// The journal's number and length when the publisher began.
    mark: Option<(u64, u64)>,
    /// Memories whose texts Claude Code adds to every session, such as `CLAUDE.md`. Searches return these memories, but
    /// hooks do not inject them.
    pub said: BTreeSet<MemoryId>,
    /// Releases by a person, and the policy for memories from the repository.
    pub trust: Trust,
    /// Memories whose files changed since they were learned, with the changes. They are labelled and ranked lower.
    pub stale: BTreeMap<MemoryId, Staleness>,
    /// Effect of the memories' use: change of confidence, and time of the last confirmation or use.
    pub renewals: BTreeMap<MemoryId, (f32, Option<Timestamp>)>,
    /// Memories from the repository. They are labelled, and withheld if [`Self::trust`] requires a release. They
    /// supersede only each other.
    pub from_repository: BTreeSet<MemoryId>,
    /// For each memory, the earlier memories that contradict it, if this is undecided. The memory is returned instead
    /// of them. `None` if only the links in the files are used.
    pub differs: Option<BTreeMap<MemoryId, Vec<MemoryId>>>,
    /// Names of the project. They do not distinguish prompts.
    pub names: BTreeSet<String>,
    /// Source of vectors; `None` if the index contains only words.
    pub vectors: Option<&'a dyn Vectors>,
    /// Builder that links vectors into graphs; `None` if searches compare all vectors.
    pub graphs: Option<&'a dyn Graphs>,
    /// Whether the segment of memories is rebuilt without reading the present segment, which may have damage that its
    /// header does not reveal.
    pub afresh: bool,
}

/// The memories of the next generation.
struct MemoryDocuments<'a> {
    documents: Vec<Document>,
    start: &'a [MemoryId],
    space: Option<Space>,
    digest: [u8; 16],
    now: Timestamp,
    /// Whether the documents are tokenized, and the withheld and superseded documents are marked.
    read: bool,
}

/// Changes from which the next generation is made.
struct BuildPlan {
    /// The new segment of memories; `None` if the present one is up to date.
    memories: Option<Vec<u8>>,
    /// All segments of passages.
    passages: Vec<SegmentRef>,
    /// Whether there is nothing to publish.
    idle: bool,
}

impl<'a> Publisher<'a> {
    /// Records the length of the journal. Creates the folder if it is missing.
    pub fn begin(dir: &Path) -> Result<Self> {
        // Passages are private, so only the owner can read the folder.
        create_folder(dir, Privacy::Private)?;
        // A manifest that cannot be read is replaced, together with its journal.
        let manifest = read_manifest(dir).ok().flatten();
        let mark = manifest.map(|manifest| {
            let length = fs::metadata(manifest.journal_path(dir)).map_or(0, |meta| meta.len());
            (manifest.journal, length)
        });
        Ok(Self { mark, ..Self::of(dir) })
    }

    pub(super) fn of(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            mark: None,
            said: BTreeSet::new(),
            trust: Trust::default(),
            from_repository: BTreeSet::new(),
            stale: BTreeMap::new(),
            renewals: BTreeMap::new(),
            differs: None,
            names: BTreeSet::new(),
            vectors: None,
            graphs: None,
            afresh: false,
        }
    }

    /// Writes the next generation, unless it would be equal to the present one.
    pub fn publish(self, content: Content<'_>) -> Result<Published> {
        let mut documents = documents(content.root, content.memories, &self.said);
        self.label(&mut documents);
        self.embed(&mut documents);
        let start = content.start;
        let space = passages::space(self.vectors, &documents);
        let now = content.now;
        let digest = self.digest(&documents, start, space, content.settings, now);
        let mut memories = MemoryDocuments { documents, start, space, digest, now, read: false };
        let passages = content.passages;

        // Slow work is done before the lock is taken, because saves wait for the lock.
        let before = read_manifest(&self.dir).ok().flatten();
        let early = self.plan(before.as_ref(), &mut memories, passages.as_ref());
        let _lock = lock::exclusive(&self.dir)?;
        let old = read_manifest(&self.dir).ok().flatten();
        let generation = |manifest: &Option<Manifest>| Some(manifest.as_ref()?.generation);
        let plan = match early {
            Ok(plan) if generation(&old) == generation(&before) => plan,
            // Another process has published since, and may have removed files that this process was reading.
            Ok(_) | Err(_) => self.plan(old.as_ref(), &mut memories, passages.as_ref())?,
        };

        let journal = self.journal(old.as_ref());
        let names = crate::recall::project_names(self.names.iter().map(String::as_str));
        if let Some(old) = &old
            && plan.idle
            && old.settings.config == content.settings.config
            && old.names == names
            && journal == Some((old.journal, old.journal_start))
            && self.is_whole(old)
        {
            return Ok(published(old, false));
        }
        let mut written = Vec::new();
        let generation = self.next_generation(old.as_ref());
        let (memories, gate) = match (plan.memories, old.as_ref().and_then(kept_memories)) {
            (Some(bytes), _) => {
                let docs = memories.documents.len() as u32;
                let collection = Collection::Memories;
                let segment =
                    self.write_segment(collection, generation, docs, &bytes, &mut written)?;
                let gate = self.gate(&segment, content.settings)?;
                (segment, gate)
            }
            (None, Some(kept)) => kept,
            (None, None) => {
                let missing = "the segment of memories is gone";
                return Err(format::damaged(&self.dir, missing));
            }
        };
        let known = old.as_ref().and_then(|old| old.passage_gate);
        let passage_gate = self.passage_gate(&plan.passages, known, content.settings)?;
        let mut segments = plan.passages;
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
            names,
            passage_gate,
        };
        self.write_manifest(&manifest)?;
        self.remove_unnamed(Some(&manifest));
        Ok(published(&manifest, true))
    }

    /// Returns the changes from `old` to the next generation.
    fn plan(
        &self,
        old: Option<&Manifest>,
        memories: &mut MemoryDocuments<'_>,
        passages: Option<&Staged>,
    ) -> Result<BuildPlan> {
        let kept = old.filter(|old| old.digest == memories.digest).and_then(kept_memories);
        let is_sound =
            |segment: &SegmentRef| !self.afresh && Segment::open(&self.dir, segment).is_ok();
        let kept = kept.is_some_and(|(segment, _)| is_sound(&segment));
        let present = passage_segments(old);
        let passages = match passages {
            Some(staged) => staged.segments(old)?,
            None => present.clone(),
        };
        let memories = (!kept).then(|| self.memories(old, memories));
        let idle = memories.is_none() && passages == present;
        Ok(BuildPlan { memories, passages, idle })
    }

    /// Returns the bytes of the segment of memories.
    fn memories(&self, old: Option<&Manifest>, memories: &mut MemoryDocuments<'_>) -> Vec<u8> {
        if !std::mem::replace(&mut memories.read, true) {
            for document in &mut memories.documents {
                document.read();
                self.trust.judge(document);
                // The document was judged before, because a release is recorded for the complete text.
                if let Some(staleness) = self.stale.get(&document.entry.id) {
                    mark_stale(document, staleness.clone());
                }
            }
            name_successors(&mut memories.documents, memories.now);
        }
        let (documents, space) = (&memories.documents, memories.space);
        let graph = space.and_then(|space| self.graph(old, documents, space)).unwrap_or_default();
        write::segment(Collection::Memories, documents, memories.start, space, graph)
    }

    /// Returns the graph of the memories' vectors; `None` if there are too few vectors or no builder is set.
    fn graph(
        &self,
        old: Option<&Manifest>,
        documents: &[Document],
        space: Space,
    ) -> Option<Frozen> {
        let graphs = self.graphs?;
        let old = || {
            let (segment, _) = old.filter(|_| !self.afresh).and_then(kept_memories)?;
            Segment::open(&self.dir, &segment).ok()
        };
        let link = |vectors: &[&Vector]| graphs.link(vectors);
        Some(freeze::graph(old, documents, space, graphs.vectors_min(), &link))
    }

    /// Returns the number and start offset of the journal that the next generation continues. Returns `None` if a new
    /// journal begins, because the segments contain all appended changes.
    fn journal(&self, old: Option<&Manifest>) -> Option<(u64, u64)> {
        let (old, (journal, listed)) = (old?, self.mark?);
        let length = fs::metadata(old.journal_path(&self.dir)).map_or(0, |meta| meta.len());
        // Another process has published since, so only the entries before the journal's start offset are certainly in a
        // segment.
        let taken = if old.journal == journal { listed } else { old.journal_start };
        match (length, length > taken) {
            (0, _) => Some((old.journal, 0)),
            (_, true) => Some((old.journal, taken)),
            (_, false) => None,
        }
    }

    /// Returns a number that no file in the folder contains, even after a crash or the loss of the manifest.
    pub(super) fn next_generation(&self, old: Option<&Manifest>) -> u64 {
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
            // The disk may be full, so incomplete files are removed.
            written.iter().chain([&path]).for_each(|path| drop(fs::remove_file(path)));
        }
        result?;
        written.push(path);
        Ok(segment)
    }

    /// Writes the new segments among `parts`. Each file gets its own number, starting at `generation`, which is set to
    /// the last number used.
    pub(super) fn write_passages(
        &self,
        parts: Vec<SettlePart>,
        generation: &mut u64,
        written: &mut Vec<PathBuf>,
    ) -> Result<Vec<SegmentRef>> {
        let write = |part| match part {
            SettlePart::Kept(segment) => Ok(segment),
            SettlePart::New { docs, dead, bytes } => {
                *generation += u64::from(!written.is_empty());
                let collection = Collection::Passages;
                let segment = self.write_segment(collection, *generation, docs, &bytes, written)?;
                Ok(SegmentRef { dead, ..segment })
            }
        };
        parts.into_iter().map(write).collect()
    }

    fn gate(&self, memories: &SegmentRef, settings: &Settings) -> Result<Gate> {
        let segment = Segment::open(&self.dir, memories)?;
        Ok(crate::recall::calibrate(segment, settings, self.vectors))
    }

    /// Returns the gate for passages. If the passages are unchanged, this is `known`.
    fn passage_gate(
        &self,
        passages: &[SegmentRef],
        known: Option<PassageGate>,
        settings: &Settings,
    ) -> Result<Option<PassageGate>> {
        let open = |segment: &SegmentRef| Segment::open(&self.dir, segment);
        let segments = passages.iter().map(open).collect::<Result<Vec<_>>>()?;
        Ok(crate::recall::passages::calibrated(segments, known, settings, self.vectors))
    }

    /// Returns the digest by which changed memories are detected. It determines the segment and the gate.
    fn digest(
        &self,
        documents: &[Document],
        start: &[MemoryId],
        space: Option<Space>,
        settings: &Settings,
        now: Timestamp,
    ) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        hasher.update(&[format::MAJOR.to_le_bytes(), format::MINOR.to_le_bytes()].concat());
        hasher.update(&crate::text::VERSION.to_le_bytes());
        hasher.update(&crate::recall::fingerprint());
        // The result depends on the memory, the rules, the releases and the policy.
        hasher.update(&self.trust.fingerprint());
        hasher.update(&[u8::from(self.graphs.is_some())]);
        hasher.update(&(self.stale.len() as u64).to_le_bytes());
        for (id, staleness) in &self.stale {
            let staleness = staleness.encode();
            hasher.update(&id.0);
            hasher.update(&(staleness.len() as u64).to_le_bytes());
            hasher.update(&staleness);
        }
        hasher.update(&serde_json::to_vec(settings).unwrap_or_default());
        hasher.update(&space.map_or([0; 16], |space| space.0));
        hasher.update(&(start.len() as u64).to_le_bytes());
        let mut bytes: Vec<u8> = start.iter().flat_map(|id| id.0).collect();
        hasher.update(&bytes);
        // Expired memories are not indexed.
        let over: Vec<u8> = expired(documents, now).flat_map(|id| id.0).collect();
        hasher.update(&(over.len() as u64).to_le_bytes());
        hasher.update(&over);
        for document in documents {
            bytes.clear();
            document.encode(&mut bytes);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        digest
    }

    /// Labels memories from the repository and memories that differ from others, and adds the effect of use.
    fn label(&self, documents: &mut [Document]) {
        for document in documents {
            if let Some(differs) = &self.differs {
                let differs_from = differs.get(&document.entry.id);
                document.record.differs_from = differs_from.cloned().unwrap_or_default();
            }
            if let Some(&(confidence, renewed)) = self.renewals.get(&document.entry.id) {
                document.renew(confidence, renewed);
            }
            document.record.from_repository = self.from_repository.contains(&document.entry.id);
        }
    }

    /// Sets the vectors of memories, which must be sorted by id. If the text in the present index is equal, its vector
    /// is reused, unless a better one is available.
    fn embed(&self, documents: &mut [Document]) {
        let Some(vectors) = self.vectors else { return };
        let space = vectors.space();
        let mut present = if self.afresh { None } else { Present::open(&self.dir, space) };
        for document in documents {
            let text = document.record.embedding_text();
            let embedded = |(encoder, vector)| Embedded { space, encoder, vector };
            let best = vectors.best(&text).map(embedded);
            let known = || present.as_mut()?.vector(document.entry.id, &text);
            document.vector = best.or_else(known).or_else(|| vectors.of(&text).map(embedded));
        }
    }

    /// Returns whether every file that a manifest names can be opened.
    fn is_whole(&self, manifest: &Manifest) -> bool {
        manifest.segments.iter().all(|segment| Segment::open(&self.dir, segment).is_ok())
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.dir.join(manifest::FILE_NAME);
        let bytes = manifest.encode().map_err(|error| format::damaged(&path, error))?;
        let beside = self.dir.join("MANIFEST.new");
        clear_folder(&beside);
        write_synced(&beside, &bytes)?;
        clear_folder(&path);
        fs::rename(&beside, &path).at(&path)?;
        sync_dir(&self.dir);
        Ok(())
    }

    /// Removes segments and journals that the manifest does not name; without a manifest, all of them. The caller must
    /// hold the writers' lock. A reader that has a file open can still read it; a reader that is about to open a
    /// removed file reads the new manifest instead.
    pub(super) fn remove_unnamed(&self, manifest: Option<&Manifest>) {
        let named = manifest.map(|manifest| files(manifest, &self.dir)).unwrap_or_default();
        for file in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let ours = file_generation(&file.file_name().to_string_lossy()).is_some();
            if ours && !named.contains(&file.path()) {
                // If this fails, the next publisher tries again.
                let _ = fs::remove_file(file.path());
                clear_folder(&file.path());
            }
        }
    }
}

/// Marks a memory as stale. If its file was moved, a query for the new path also finds the memory.
fn mark_stale(document: &mut Document, staleness: Staleness) {
    let paths = &mut document.record.paths;
    if let Some(target) = &staleness.target
        && !paths.contains(target)
        && paths.len() < REPEATED_MAX
    {
        paths.push(target.clone());
    }
    document.entry.flags |= FLAG_STALE;
    document.record.staleness = Some(staleness);
}

/// Returns the files that a manifest names: its segments and its journal.
pub(super) fn files(manifest: &Manifest, dir: &Path) -> BTreeSet<PathBuf> {
    let segments = manifest.segments.iter().map(|segment| segment.path(dir));
    segments.chain([manifest.journal_path(dir)]).collect()
}

/// Runs one step of the work that publishing postponed: merges segments of passages, replaces the table's vectors by
/// available ones of the transformer, or builds the graph of a large segment. Returns whether there was a step to run.
/// The caller repeats the call until it returns false.
///
/// # Errors
/// If the index in `dir` cannot be read or written.
pub fn settle(
    dir: &Path,
    vectors: Option<&dyn Vectors>,
    graphs: Option<&dyn Graphs>,
    now: Timestamp,
) -> Result<bool> {
    if read_manifest(dir)?.is_none() {
        return Ok(false);
    }
    let maker = passages::Maker { dir, vectors, graphs };
    let step = rewrite_passages(&maker, now, |maker, segments| maker.settled(segments))?;
    Ok(!matches!(step, TurnStep::Nothing))
}

/// Outcome of a step that changes only passages.
enum TurnStep {
    /// No step was due.
    Nothing,
    /// The step was published.
    Done,
    /// Another process has published since, so the step must be repeated.
    Again,
}

/// Publishes a generation with the segments of passages that `make` returns. Its argument is the present segments.
fn rewrite_passages(
    maker: &passages::Maker<'_>,
    now: Timestamp,
    make: impl Fn(&passages::Maker<'_>, Vec<SegmentRef>) -> Result<Vec<SettlePart>>,
) -> Result<TurnStep> {
    let dir = maker.dir;
    let before = read_manifest(dir)?.ok_or_else(|| format::damaged(dir, "there is no index"))?;
    let segments = passage_segments(Some(&before));
    let parts = match make(maker, segments) {
        Ok(parts) => parts,
        // Another process has published, and has removed files that this process was reading.
        Err(_) if read_manifest(dir)?.is_some_and(|now| now.generation != before.generation) => {
            return Ok(TurnStep::Again);
        }
        Err(error) => return Err(error),
    };
    if passages::are_kept(&parts, &passage_segments(Some(&before))) {
        return Ok(TurnStep::Nothing);
    }
    let _lock = lock::exclusive(dir)?;
    let publisher = Publisher::of(dir);
    let old = read_manifest(dir)?.filter(|old| old.generation == before.generation);
    // Another process has published.
    let Some(old) = old else { return Ok(TurnStep::Again) };
    let mut generation = publisher.next_generation(Some(&old));
    let segments = publisher.write_passages(parts, &mut generation, &mut Vec::new())?;
    publish_passages(dir, old, segments, now)?;
    Ok(TurnStep::Done)
}

/// Publishes the generation after `old` with other segments of passages. The caller must hold the writers' lock.
pub(super) fn publish_passages(
    dir: &Path,
    old: Manifest,
    mut segments: Vec<SegmentRef>,
    now: Timestamp,
) -> Result<()> {
    let publisher = Publisher::of(dir);
    let generation = publisher.next_generation(Some(&old));
    segments.extend(kept_memories(&old).map(|(memories, _)| memories));
    let manifest = Manifest { generation, published: now, segments, ..old };
    publisher.write_manifest(&manifest)?;
    publisher.remove_unnamed(Some(&manifest));
    Ok(())
}

/// Returns whether a step of [`settle`] is due, other than better vectors.
///
/// # Errors
/// If the manifest in `dir` cannot be read.
pub fn is_unsettled(dir: &Path, graphs: Option<&dyn Graphs>) -> Result<bool> {
    let segments = passage_segments(read_manifest(dir)?.as_ref());
    let lacks_graph = |graphs| Ok(passages::without_graph(dir, &segments, graphs)?.is_some());
    Ok(passages::are_unsettled(&segments) || graphs.map_or(Ok(false), lacks_graph)?)
}

/// Reader of the memories in the present index, in the order of their ids.
struct Present {
    segment: Segment,
    next: u32,
}

impl Present {
    /// Opens the present index. Returns `None` if it has no memories with vectors of this space.
    fn open(dir: &Path, space: Space) -> Option<Self> {
        let (reference, _) = kept_memories(&read_manifest(dir).ok()??)?;
        let segment = Segment::open(dir, &reference).ok()?;
        (segment.vector_head().ok()??.space == space).then_some(Self { segment, next: 0 })
    }

    /// Returns the vector of a memory if its indexed text is equal. Ids must ascend from call to call.
    fn vector(&mut self, id: MemoryId, text: &str) -> Option<Embedded> {
        while self.next < self.segment.docs() {
            let entry = self.segment.entry(self.next).ok()?;
            if entry.id > id {
                return None;
            }
            self.next += 1;
            if entry.id == id {
                let same = self.segment.record(&entry).ok()?.embedding_text() == text;
                return self.segment.vector(self.next - 1).ok()?.filter(|_| same);
            }
        }
        None
    }
}

/// Returns the generation in the name of a segment or journal; `None` for other files.
fn file_generation(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".seg").or_else(|| name.strip_suffix(".log"))?;
    let (_, number) = stem.rsplit_once('-')?;
    u64::from_str_radix(number, 16).ok()
}

/// Returns the documents of the memories that are recalled, in the order of their ids.
fn documents(root: &Path, memories: &[Stored], said: &BTreeSet<MemoryId>) -> Vec<Document> {
    let mut documents: Vec<Document> = memories
        .iter()
        .filter(|stored| match stored.memory.status {
            Status::Active | Status::Held => true,
            Status::Rejected | Status::Archived => false,
        })
        .map(|stored| document(stored, root))
        .collect();
    documents.sort_by(|a, b| {
        a.entry.id.cmp(&b.entry.id).then_with(|| a.record.file.cmp(&b.record.file))
    });
    // A person may have copied a file; the file with the first path is used.
    documents.dedup_by(|later, first| later.entry.id == first.entry.id);
    for document in &mut documents {
        if said.contains(&document.entry.id) {
            document.entry.flags |= FLAG_SAID;
        }
    }
    documents
}

/// Marks superseded memories and sets their successors. The successor is the memory that the file names, if it exists,
/// or else the memory whose file names this one. Withheld memories must be marked before, because they are not returned
/// and therefore supersede nothing. A memory from the repository does not supersede memories of this machine. A pending
/// memory supersedes only pending memories. Expired memories supersede nothing and are removed.
fn name_successors(documents: &mut Vec<Document>, now: Timestamp) {
    // If there are several successors, the youngest is set, which has the highest id.
    let those = |is: fn(&Document) -> bool| -> BTreeSet<MemoryId> {
        documents.iter().filter(|it| is(it)).map(|document| document.entry.id).collect()
    };
    let pulled = those(|document| document.record.from_repository);
    let drafts = those(|document| document.entry.has(FLAG_DRAFT));
    let mut named: BTreeMap<MemoryId, MemoryId> = documents
        .iter()
        .filter(|newer| !newer.entry.has(FLAG_HELD))
        .flat_map(|newer| newer.record.supersedes.iter().map(|&older| (older, newer.entry.id)))
        .filter(|(older, newer)| older != newer)
        .filter(|(older, newer)| !pulled.contains(newer) || pulled.contains(older))
        .filter(|(older, newer)| !drafts.contains(newer) || drafts.contains(older))
        .collect();
    for (older, newer) in displaced(documents) {
        let is_given = !drafts.contains(&newer) || drafts.contains(&older);
        if is_given {
            named.entry(older).or_insert(newer);
        }
    }
    let known: BTreeSet<MemoryId> = documents.iter().map(|document| document.entry.id).collect();
    let successor = |document: &Document| {
        let own = document.record.superseded_by;
        let named = named.get(&document.entry.id).copied();
        Some((document.entry.id, own.filter(|own| known.contains(own)).or(named).or(own)?))
    };
    let next: BTreeMap<MemoryId, MemoryId> = documents.iter().filter_map(successor).collect();
    let expired: BTreeSet<MemoryId> = expired(documents, now).collect();
    for document in documents.iter_mut() {
        let current = succession::current(&next, &expired, document.entry.id);
        document.record.superseded_by = current;
        match current {
            Some(_) => document.entry.flags |= FLAG_SUPERSEDED,
            None => document.entry.flags &= !FLAG_SUPERSEDED,
        }
    }
    documents.retain(|document| !expired.contains(&document.entry.id));
}

/// Returns the older memories of undecided pairs that a newer memory replaces, each with the youngest newer one.
fn displaced(documents: &[Document]) -> BTreeMap<MemoryId, MemoryId> {
    let by_id: BTreeMap<MemoryId, &Document> =
        documents.iter().map(|document| (document.entry.id, document)).collect();
    let pairs = documents.iter().flat_map(|one| {
        let others = one.record.differs_from.iter().filter_map(|id| by_id.get(id));
        others.map(move |&other| match is_newer(&one.entry, (&other.entry, &other.record)) {
            true => (other, one),
            false => (one, other),
        })
    });
    let given = pairs.filter(|(older, newer)| {
        !newer.entry.has(FLAG_HELD) && newer.record.displaces(&older.record)
    });
    given.map(|(older, newer)| (older.entry.id, newer.entry.id)).collect()
}

/// Returns the ids of expired documents.
fn expired(documents: &[Document], now: Timestamp) -> impl Iterator<Item = MemoryId> {
    let expired = documents.iter().filter(move |document| document.record.is_expired(now));
    expired.map(|document| document.entry.id)
}

/// Collects passages. If several have the same session and number, the last one is kept.
pub(super) fn collect_passages(passages: &mut dyn Iterator<Item = Passage>) -> Vec<Passage> {
    let mut passages: Vec<(MemoryId, Passage)> =
        passages.map(|passage| (passage.id(), passage)).collect();
    passages.reverse();
    passages.sort_by_key(|(id, _)| *id);
    passages.dedup_by_key(|(id, _)| *id);
    passages.into_iter().map(|(_, passage)| passage).collect()
}

pub(super) fn passage_segments(old: Option<&Manifest>) -> Vec<SegmentRef> {
    let segments = old.map(|old| old.segments.clone()).unwrap_or_default();
    segments.into_iter().filter(|segment| segment.collection == Collection::Passages).collect()
}

/// Returns the segment of memories in a manifest, and the gate.
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
        passages: docs(Collection::Passages),
        gate: manifest.gate,
    }
}

/// Removes an empty folder at the path of a file. A folder with contents is not removed, so writing the file then
/// returns an error.
pub(super) fn clear_folder(path: &Path) {
    let _ = fs::remove_dir(path);
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = private_options();
    let mut file = options.create(true).truncate(true).write(true).open(path).at(path)?;
    file.write_all(bytes).at(path)?;
    file.sync_all().at(path)
}

/// Syncs the folder, so that a rename survives a power failure. If syncing fails, the old generation may reappear,
/// which is harmless.
fn sync_dir(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}
