//! Sources of recall: the index of a working tree and that of its user, each with its journal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::index::Index;
use crate::index::document::Document;
use crate::index::journal::{Entry as Change, KnownJournals};
use crate::index::manifest::Gate;
use crate::index::record::{Entry, FLAG_DRAFT, FLAG_HELD, FLAG_SUPERSEDED, Record, is_newer};
use crate::index::segment::Segment;
use crate::rank::start_rank::{Standing, StartGroup, worth};

use memory_store_base::error::{Error, Result};
use memory_store_base::fs::file_stamp::Stamp;
use memory_store_base::id::MemoryId;
use memory_store_base::layout::{Tree, UserDirs, memory_folder};
use memory_store_base::pulled_setting;
use memory_store_base::settings::{IndexSearch, Settings};
use memory_store_base::time::Timestamp;

/// Origin of a source and of its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// The project's memories.
    Memories,
    /// The user's own memories, which apply to all projects.
    User,
    /// Passages of sessions.
    Passages,
    /// The model's thinking in turns of sessions.
    Thinking,
}

impl Collection {
    /// Returns whether the collection consists of parts of sessions instead of memories.
    pub const fn is_of_sessions(self) -> bool {
        matches!(self, Self::Passages | Self::Thinking)
    }
}

/// Reader of the memories, which decides whether those of subagents are among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asker {
    /// A person: all memories.
    #[default]
    Person,
    /// The main conversation of a session: all memories except those of subagents.
    Session,
    /// A subagent: its own memories, and those that belong to no subagent.
    Agent(String),
}

impl Asker {
    /// Returns the model in a session, by the name of its subagent if it is one.
    pub fn of_agent(name: Option<String>) -> Self {
        name.map_or(Self::Session, Self::Agent)
    }

    /// Returns whether the reader may read a memory of this subagent.
    pub(crate) fn may_read(&self, agent: &str) -> bool {
        match self {
            Self::Person => true,
            Self::Session => false,
            Self::Agent(own) => own.eq_ignore_ascii_case(agent),
        }
    }
}

/// Place of a document: the number of its source, and its number within the source. Numbers past the end of the segment
/// continue with the loose documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub source: u8,
    pub doc: u32,
}

/// An index with its journal.
#[derive(Debug)]
pub(crate) struct IndexSource {
    pub collection: Collection,
    /// Root to which file names are relative.
    root: PathBuf,
    pub index: Option<Index>,
    /// A segment that is used without an index.
    bare: Option<Segment>,
    /// Documents of the journal.
    pub loose: Vec<Arc<Document>>,
    /// True if the user's settings permit only released memories, but the index was published without this restriction.
    holds_unreleased: bool,
    /// Ids of the segment's documents that the journal replaced or removed.
    hidden: BTreeSet<MemoryId>,
    /// Memories that documents of the journal or of files supersede, with their successors.
    superseded: BTreeMap<MemoryId, MemoryId>,
    /// The gate for injection, if it was calibrated.
    pub gate: Option<Gate>,
}

/// Number of documents in clusters that a hook compares. `scripts/bench index --passages` measures the recall for this
/// number.
const CLUSTERED_COMPARED: u32 = 1 << 13;

/// Cost limits of a query. Only stores of many thousands of documents reach them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Maximum number of documents whose vectors are compared one by one if no other index covers them, newest sources
    /// first. In all other sources, only documents found by words are compared.
    pub scanned: u32,
    /// Maximum number of documents of clustered sources whose vectors are compared, from the clusters nearest to the
    /// query. [`u32::MAX`] disables clusters.
    pub clustered: u32,
    /// Maximum number of postings that are traversed. If a query has more, its most common terms are skipped.
    pub postings: u64,
}

/// How the nearest documents of a source are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Through an index of the source alone.
    Alone(IndexSearch),
    /// By clusters, together with other sources.
    Clusters,
}

impl Effort {
    /// Limits for searching passages in a hook, because passages are numerous. `scripts/bench index --passages`
    /// measures the recall by number of comparisons.
    pub(crate) const PASSAGES: Self =
        Self { scanned: 1 << 15, clustered: CLUSTERED_COMPARED, postings: 1 << 15 };
}

impl Default for Effort {
    fn default() -> Self {
        Self { scanned: u32::MAX, clustered: u32::MAX, postings: 1 << 20 }
    }
}

/// All sources of a recall.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub list: Vec<IndexSource>,
    /// The settings that were in effect when the first index was published.
    pub settings: Settings,
    /// True if the user's settings file has changed since then.
    pub is_outdated: bool,
    /// End of the time range that is searched, if any.
    pub until: Option<Timestamp>,
    /// Cost limits of a query.
    pub effort: Effort,
    /// The first error that occurred while opening the sources.
    pub degraded: Option<String>,
    /// The first error that occurred after opening.
    pub damage: RefCell<Option<String>>,
}

impl Sources {
    /// Opens the index of a tree, or of its main tree, and the user's index.
    pub(crate) fn open(dirs: &UserDirs, tree: &Tree, known: Option<&KnownJournals>) -> Self {
        // One source is the tree's, the other the user's.
        let mut sources = Self { list: Vec::with_capacity(2), ..Self::default() };
        let mut opened = Index::open_with(&dirs.tree(&tree.root).index, known);
        let mut root = &tree.root;
        if matches!(opened, Ok(None)) && tree.main_root != tree.root {
            opened = Index::open_with(&dirs.tree(&tree.main_root).index, known);
            root = &tree.main_root;
        }
        sources.settings = settings_of(&opened);
        let has_index = matches!(opened, Ok(Some(_)));
        let project = dirs.project(tree.project);
        let folders = || vec![memory_folder(root), project.private_memories, project.drafts];
        sources.add(Collection::Memories, root, opened, folders);
        sources.limit(dirs, has_index);
        sources.add_user(dirs, known);
        sources
    }

    /// Withholds memories from the repository if the user's settings require that now, but did not when the index was
    /// published. One system call shows whether the settings file is the same; hooks do not parse it.
    fn limit(&mut self, dirs: &UserDirs, has_index: bool) {
        let config = dirs.config_file();
        let published = self.settings.pulled;
        let pulled = match Stamp::of(&config) == self.settings.config {
            true => published,
            false => {
                self.is_outdated = has_index;
                pulled_setting::pulled(&config)
            }
        };
        for source in &mut self.list {
            source.holds_unreleased = pulled > published;
        }
    }

    /// Creates sources from one segment of memories.
    pub(crate) fn of_segment(segment: Segment) -> Self {
        Self { list: vec![IndexSource::bare(Collection::Memories, segment)], ..Self::default() }
    }

    /// Creates sources from segments of passages, oldest first. If there are more segments than source numbers, the
    /// oldest are dropped.
    pub(crate) fn of_passages(segments: Vec<Segment>, settings: &Settings) -> Self {
        let too_many = segments.len().saturating_sub(usize::from(u8::MAX));
        let segments = segments.into_iter().skip(too_many);
        let list =
            segments.map(|segment| IndexSource::bare(Collection::Passages, segment)).collect();
        Self { list, settings: settings.clone(), ..Self::default() }
    }

    fn add_user(&mut self, dirs: &UserDirs, known: Option<&KnownJournals>) {
        let opened = Index::open_with(&dirs.user_state().index, known);
        self.add(Collection::User, &dirs.data, opened, || vec![dirs.user_memories()]);
    }

    /// Adds an index. If there is none, but one of `folders` contains files that an index would cover, this is noted.
    fn add(
        &mut self,
        collection: Collection,
        root: &Path,
        opened: Result<Option<Index>>,
        folders: impl FnOnce() -> Vec<PathBuf>,
    ) {
        let has_any = |folder: &PathBuf| {
            std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
        };
        let damage = match opened {
            Ok(Some(mut index)) => {
                let damage = index.damage.take().map(|error| error.to_string());
                self.list.push(IndexSource::new(collection, root, Some(index)));
                damage
            }
            Ok(None) => folders().iter().any(has_any).then(|| "there is no index yet".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        self.degraded = self.degraded.take().or(damage);
    }

    /// Returns whether any document has a vector.
    pub(crate) fn have_vectors(&self) -> bool {
        self.list.iter().any(|source| {
            let loose = source.loose.iter().any(|document| document.vector.is_some());
            loose || matches!(source.segment().map(Segment::space), Some(Ok(Some(_))))
        })
    }

    /// Returns the number of documents.
    pub(crate) fn docs(&self) -> u32 {
        self.list.iter().map(IndexSource::docs).sum()
    }

    /// Returns for each source how its vectors are searched; `None` if that would cost too much. The newest sources are
    /// last in the list.
    pub(crate) fn ways(&self) -> Vec<Option<Way>> {
        let mut left = self.effort.scanned;
        let set = self.settings.index.search;
        let way = |source: &IndexSource| {
            let is_bounded = self.effort.clustered < u32::MAX;
            let segment = source.segment().filter(|_| is_bounded);
            if set == IndexSearch::Graph && segment.is_some_and(Segment::has_graph) {
                return Some(Way::Alone(set));
            }
            if set != IndexSearch::Scan && segment.is_some_and(Segment::has_clusters) {
                return Some(Way::Clusters);
            }
            let docs = source.docs();
            let may = docs <= left;
            left = if may { left - docs } else { 0 };
            may.then_some(Way::Alone(set))
        };
        let mut ways: Vec<_> = self.list.iter().rev().map(way).collect();
        ways.reverse();
        ways
    }

    /// Returns how many of the best documents may turn out to be replaced when they are read.
    pub(crate) fn hidden(&self) -> usize {
        match self.until {
            Some(_) => self.docs() as usize,
            None => self.list.iter().map(IndexSource::hidden).sum(),
        }
    }

    /// Records a read error. The query continues without the part that cannot be read.
    pub(crate) fn note(&self, error: &Error) {
        self.note_text(|| error.to_string());
    }

    /// Records damage as text. Only the first one is reported.
    pub(crate) fn note_text(&self, text: impl FnOnce() -> String) {
        self.damage.borrow_mut().get_or_insert_with(text);
    }

    /// Returns the source of a place.
    pub(crate) fn source(&self, at: At) -> &IndexSource {
        &self.list[usize::from(at.source)]
    }

    /// Returns whether a memory is from the repository; false if its record cannot be read.
    pub(crate) fn is_from_repository(&self, at: At) -> bool {
        let record = self.entry(at).and_then(|entry| self.record(at, &entry).ok());
        record.is_some_and(|record| record.from_repository)
    }

    /// Returns whether memories from the repository are withheld in this source, whatever the index has recorded.
    pub(crate) fn holds_unreleased(&self, at: At) -> bool {
        self.source(at).holds_unreleased
    }

    /// Returns the entry at a place; `None` if the journal replaced it, it is later than the searched time, or it
    /// cannot be read.
    pub(crate) fn entry(&self, at: At) -> Option<Entry> {
        match self.source(at).entry(at.doc) {
            Ok(entry) => entry.filter(|entry| self.is_in_time(entry)),
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    /// Returns the entries at places in ascending order, each like [`entry`](Self::entry).
    pub(crate) fn entries(&self, places: &[At]) -> Vec<Option<Entry>> {
        let mut entries = Vec::with_capacity(places.len());
        for places in places.chunk_by(|a, b| a.source == b.source) {
            match self.source(places[0]).entries(places) {
                Ok(found) => entries.extend(found),
                // At least one of the entries is damaged, so each is read alone.
                Err(_) => entries.extend(places.iter().map(|&at| self.entry(at))),
            }
        }
        entries.iter_mut().for_each(|it| *it = it.filter(|entry| self.is_in_time(entry)));
        entries
    }

    fn is_in_time(&self, entry: &Entry) -> bool {
        self.until.is_none_or(|until| entry.when <= until)
    }

    /// Returns whether a document is excluded because it is later than the searched time.
    pub(crate) fn is_later(&self, at: At) -> bool {
        let entry = self.source(at).entry(at.doc).ok().flatten();
        entry.is_some_and(|entry| self.until.is_some_and(|until| entry.when > until))
    }

    /// Returns the place of the memory with this id; `None` if there is none.
    pub(crate) fn find(&self, id: MemoryId) -> Option<At> {
        self.list.iter().enumerate().find_map(|(number, source)| {
            let doc = source.find(id).unwrap_or_else(|error| {
                self.note(&error);
                None
            })?;
            Some(At { source: number as u8, doc })
        })
    }

    /// Returns the record of an entry, with its successor if there is one.
    pub(crate) fn record(&self, at: At, entry: &Entry) -> Result<Record> {
        let source = self.source(at);
        let mut record = match source.segment() {
            Some(segment) if at.doc < segment.docs() => segment.record(entry)?,
            segment => {
                let first = segment.map_or(0, Segment::docs);
                source.loose[(at.doc - first) as usize].record.clone()
            }
        };
        if let Some(&newer) = source.superseded.get(&entry.id) {
            record.superseded_by = Some(newer);
        }
        Ok(record)
    }

    /// Reads only the file path and file stamp of a record.
    pub(crate) fn record_file(&self, at: At, entry: &Entry) -> Result<Record> {
        let source = self.source(at);
        match source.segment() {
            Some(segment) if at.doc < segment.docs() => segment.record_file(entry),
            Some(_) | None => self.record(at, entry),
        }
    }

    /// Returns whether a term is a name of the project.
    pub(crate) fn is_project_name(&self, hash: u64) -> bool {
        let mut indexes = self.list.iter().filter_map(|source| source.index.as_ref());
        indexes.any(|index| index.manifest.names.binary_search(&hash).is_ok())
    }

    /// Returns the absolute path of a memory's file.
    pub(crate) fn file(&self, at: At, file: &Path) -> PathBuf {
        self.source(at).root.join(file)
    }

    /// Returns the collection that contains a document.
    pub(crate) fn collection(&self, at: At) -> Collection {
        self.source(at).collection
    }

    /// Returns the documents of the session-start block, the user's before the project's.
    pub(crate) fn start_plan(&self, now: Timestamp) -> Vec<At> {
        let mut plan = Vec::new();
        for (number, source) in self.list.iter().enumerate().rev() {
            let docs = source.start_plan(&self.settings, now).unwrap_or_else(|error| {
                self.note(&error);
                Vec::new()
            });
            plan.extend(docs.into_iter().map(|doc| At { source: number as u8, doc }));
        }
        plan
    }
}

impl IndexSource {
    fn new(collection: Collection, root: &Path, index: Option<Index>) -> Self {
        let gate = index.as_ref().map(|index| index.manifest.gate);
        let mut source = Self {
            collection,
            root: root.to_owned(),
            index,
            bare: None,
            loose: Vec::new(),
            holds_unreleased: false,
            hidden: BTreeSet::new(),
            superseded: BTreeMap::new(),
            gate,
        };
        source.take_journal();
        source
    }

    /// Creates a source from a segment without an index.
    fn bare(collection: Collection, segment: Segment) -> Self {
        Self { bare: Some(segment), ..Self::new(collection, Path::new(""), None) }
    }

    /// Converts the journal to loose documents and hidden ids.
    fn take_journal(&mut self) {
        let Some(index) = &mut self.index else { return };
        for change in std::mem::take(&mut index.journal.entries) {
            let id = match &change {
                Change::Put(document) => document.entry.id,
                Change::Remove(id) => *id,
            };
            // Most ids have only one change, and a journal may be long, so the list is searched only for repeated ids.
            if !self.hidden.insert(id) {
                self.loose.retain(|known| known.entry.id != id);
            }
            if let Change::Put(document) = change {
                self.loose.push(document);
            }
        }
        // A memory that the journal removed supersedes nothing, so this is done after all changes.
        self.loose.clone().iter().for_each(|document| self.supersede(document));
        self.mark_superseded();
    }

    /// Adds documents that are in neither the index nor the journal.
    pub(crate) fn add_unlisted(&mut self, documents: Vec<Document>) {
        let is_unlisted =
            |document: &Document| matches!(self.find(document.entry.id), Ok(None) | Err(_));
        let documents = documents.into_iter().filter(is_unlisted).collect();
        self.add_loose(documents);
    }

    fn add_loose(&mut self, documents: Vec<Document>) {
        for document in documents {
            if !self.hidden.contains(&document.entry.id) {
                self.supersede(&document);
                self.loose.push(Arc::new(document));
            }
        }
        self.mark_superseded();
    }

    fn supersede(&mut self, newer: &Document) {
        // A memory that is withheld, pending or from the repository supersedes no other.
        if newer.entry.has(FLAG_HELD | FLAG_DRAFT) || newer.record.from_repository {
            return;
        }
        let others = newer.record.supersedes.iter().filter(|&&older| older != newer.entry.id);
        self.superseded.extend(others.map(|&older| (older, newer.entry.id)));
        if newer.record.superseded_by.is_some() {
            return;
        }
        // If a user has decided, the memory's own successor, or its absence, is kept.
        for &other in &newer.record.differs_from {
            let Some((entry, record)) = self.own_record(other) else { continue };
            // The other one is later if it was stated again.
            if !is_newer(&newer.entry, (&entry, &record)) {
                let is_given =
                    !entry.has(FLAG_HELD | FLAG_DRAFT) && record.displaces(&newer.record);
                if is_given && record.superseded_by.is_none() {
                    self.superseded.entry(newer.entry.id).or_insert(other);
                }
            } else if record.superseded_by.is_none() && newer.record.displaces(&record) {
                self.superseded.entry(other).or_insert(newer.entry.id);
            }
        }
    }

    /// Returns the entry and the record of a memory in this source; `None` if it is not in this source.
    fn own_record(&self, id: MemoryId) -> Option<(Entry, Record)> {
        if let Some(document) = self.loose.iter().find(|document| document.entry.id == id) {
            return Some((document.entry, document.record.clone()));
        }
        let segment = self.segment()?;
        let docs = segment.docs_of_ids(u128::from_be_bytes(id.0), u128::MAX).ok()?;
        let entry = segment.entry(*docs.first()?).ok()?;
        Some((entry, segment.record(&entry).ok()?))
    }

    fn mark_superseded(&mut self) {
        for document in &mut self.loose {
            if self.superseded.contains_key(&document.entry.id) {
                Arc::make_mut(document).entry.flags |= FLAG_SUPERSEDED;
            }
        }
    }

    /// Returns the segment of the source, if there is one.
    pub(crate) fn segment(&self) -> Option<&Segment> {
        self.bare.as_ref().or_else(|| self.index.as_ref()?.memories.as_ref())
    }

    /// Returns the error for an invalid postings list in the segment; `None` without a segment.
    pub(crate) fn no_postings(&self) -> Option<Error> {
        self.segment().map(Segment::no_postings)
    }

    /// Returns how many documents of the segment the journal may have replaced.
    fn hidden(&self) -> usize {
        self.hidden.len()
    }

    /// Returns whether later turns have replaced a document.
    pub(crate) fn is_dead(&self, doc: u32) -> bool {
        self.segment().is_some_and(|segment| segment.is_dead(doc))
    }

    /// Returns the number of documents, including those that the journal replaced.
    pub(crate) fn docs(&self) -> u32 {
        self.segment().map_or(0, Segment::docs) + self.loose.len() as u32
    }

    /// Returns the entry of a document; `None` if the journal replaced it.
    fn entry(&self, doc: u32) -> Result<Option<Entry>> {
        let first = self.segment().map_or(0, Segment::docs);
        let entry = match self.segment() {
            Some(segment) if doc < first && segment.is_dead(doc) => return Ok(None),
            Some(segment) if doc < first => segment.entry(doc)?,
            _ => return Ok(self.loose.get((doc - first) as usize).map(|document| document.entry)),
        };
        Ok(self.in_force(entry))
    }

    /// Returns the entries at places of this source, which are in ascending order.
    fn entries(&self, places: &[At]) -> Result<Vec<Option<Entry>>> {
        let Some(segment) = self.segment() else {
            return places.iter().map(|at| self.entry(at.doc)).collect();
        };
        let stored = places.partition_point(|at| at.doc < segment.docs());
        let docs: Vec<u32> = places[..stored].iter().map(|at| at.doc).collect();
        let mut entries = Vec::with_capacity(places.len());
        for (doc, entry) in docs.iter().zip(segment.entries(&docs)?) {
            entries.push(if segment.is_dead(*doc) { None } else { self.in_force(entry) });
        }
        let loose = places[stored..].iter().map(|at| self.entry(at.doc));
        entries.extend(loose.collect::<Result<Vec<_>>>()?);
        Ok(entries)
    }

    /// Applies the journal to an entry of the segment. Returns `None` if the journal replaced it.
    fn in_force(&self, mut entry: Entry) -> Option<Entry> {
        if self.hidden.contains(&entry.id) {
            return None;
        }
        if self.superseded.contains_key(&entry.id) {
            entry.flags |= FLAG_SUPERSEDED;
        }
        Some(entry)
    }

    /// Returns the documents whose ids have these bits under `mask`, including those that the journal may have
    /// replaced.
    pub(crate) fn docs_of_ids(&self, bits: u128, mask: u128) -> Result<Vec<u32>> {
        let first = self.segment().map_or(0, Segment::docs);
        let mut docs = match self.segment() {
            Some(segment) => segment.docs_of_ids(bits, mask)?,
            None => Vec::new(),
        };
        let loose = (first..).zip(&self.loose);
        let is_meant = |id: MemoryId| u128::from_be_bytes(id.0) & mask == bits;
        docs.extend(loose.filter(|(_, it)| is_meant(it.entry.id)).map(|(doc, _)| doc));
        Ok(docs)
    }

    /// Returns the number of the document with this id; `None` if there is none.
    fn find(&self, id: MemoryId) -> Result<Option<u32>> {
        let first = self.segment().map_or(0, Segment::docs);
        if let Some(loose) = self.loose.iter().position(|document| document.entry.id == id) {
            return Ok(Some(first + loose as u32));
        }
        let Some(segment) = self.segment() else { return Ok(None) };
        Ok(segment.find(id)?.map(|(doc, _)| doc).filter(|&doc| !segment.is_dead(doc)))
    }

    /// Returns the documents of the session-start block. Those from the journal or from files are first, in the order
    /// of the block.
    fn start_plan(&self, settings: &Settings, now: Timestamp) -> Result<Vec<u32>> {
        let first = self.segment().map_or(0, Segment::docs);
        let mut loose: Vec<(StartGroup, f32, MemoryId, u32)> = (first..)
            .zip(&self.loose)
            .filter_map(|(doc, document)| {
                let standing = Standing::of_entry(&document.entry)?;
                let worth = worth(&standing, settings, now);
                Some((StartGroup::of(&standing)?, worth, document.entry.id, doc))
            })
            .collect();
        loose.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let mut plan: Vec<u32> = loose.into_iter().map(|(_, _, _, doc)| doc).collect();
        if let Some(segment) = self.segment() {
            plan.extend(segment.start()?);
        }
        Ok(plan)
    }
}

fn settings_of(opened: &Result<Option<Index>>) -> Settings {
    match opened {
        Ok(Some(index)) => index.manifest.settings.clone(),
        Ok(None) | Err(_) => Settings::default(),
    }
}
