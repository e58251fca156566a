//! Sources of recall: the index of a tree and that of its user, each with its journal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::index::Index;
use crate::index::document::Document;
use crate::index::journal::{Entry as Change, KnownJournals};
use crate::index::manifest::Gate;
use crate::index::record::{Entry, FLAG_DRAFT, FLAG_HELD, FLAG_SUPERSEDED, Record};
use crate::index::segment::Segment;
use crate::rank::start_rank::{Standing, StartGroup, worth};

use memory_store_base::error::{Error, Result};
use memory_store_base::fs::file_stamp::Stamp;
use memory_store_base::id::MemoryId;
use memory_store_base::layout::{Tree, UserDirs, memory_folder};
use memory_store_base::pulled_setting;
use memory_store_base::settings::{IndexSearch, Settings};
use memory_store_base::time::Timestamp;

/// Collection of a source and its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// The project's memories.
    Memories,
    /// The user's own memories, which apply to every project.
    User,
    /// Passages of sessions.
    Passages,
    /// The model's thinking in turns of sessions.
    Thinking,
}

/// Place of a document: the number of its source, and its place there. Places past the end of the segment count through
/// the loose documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub source: u8,
    pub doc: u32,
}

/// One index with its journal.
#[derive(Debug)]
pub(crate) struct IndexSource {
    pub collection: Collection,
    /// Files are named relative to this.
    root: PathBuf,
    pub index: Option<Index>,
    /// A segment of memories without an index around it.
    bare: Option<Segment>,
    /// Documents of the journal.
    pub loose: Vec<Arc<Document>>,
    /// True if the user gives only what is released, which this was not published by.
    holds_unreleased: bool,
    /// Documents of the segment that the journal replaced or removed.
    hidden: BTreeSet<MemoryId>,
    /// Superseded memories by documents of the journal or of the files, with their successors.
    superseded: BTreeMap<MemoryId, MemoryId>,
    /// The gate for unasked answers, if it was ever calibrated.
    pub gate: Option<Gate>,
}

/// Documents of clusters that a hook compares: `scripts/bench index --passages` measures what it finds with how many.
const CLUSTERED_COMPARED: u32 = 1 << 13;

/// Bounds of what a query costs. Only stores of many thousand documents reach them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Documents whose vectors are compared one by one where nothing else finds the nearest: those of the newest
    /// sources. Of others the vectors of those are compared that words bring.
    pub scanned: u32,
    /// Documents of sources with clusters whose vectors are compared: those of the clusters that are most like the
    /// query. Where it is [`u32::MAX`], clusters are passed by.
    pub clustered: u32,
    /// Postings that are walked through; of a query with more, the most common terms are passed over, too.
    pub postings: u64,
}

/// Way in which the nearest documents of a source are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By itself.
    Alone(IndexSearch),
    /// In clusters, together with other sources.
    Clusters,
}

impl Effort {
    /// Effort of a hook in passages, which are many. `scripts/bench index --passages` measures what is found with how many
    /// compared.
    pub(crate) const PASSAGES: Self =
        Self { scanned: 1 << 15, clustered: CLUSTERED_COMPARED, postings: 1 << 15 };
}

impl Default for Effort {
    fn default() -> Self {
        Self { scanned: u32::MAX, clustered: u32::MAX, postings: 1 << 20 }
    }
}

/// All that recall looks through.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub list: Vec<IndexSource>,
    /// The settings in effect when the first index was published.
    pub settings: Settings,
    /// True if the user's settings file has changed since then.
    pub is_outdated: bool,
    /// End of the time that is searched.
    pub until: Option<Timestamp>,
    /// What a query may cost.
    pub effort: Effort,
    /// The first error of opening it.
    pub degraded: Option<String>,
    /// The first error since.
    pub damage: RefCell<Option<String>>,
}

impl Sources {
    /// Opens the index of a tree, or of its main tree, and the user's.
    pub(crate) fn open(dirs: &UserDirs, tree: &Tree, known: Option<&KnownJournals>) -> Self {
        // The tree's and the user's.
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

    /// Holds what is from the repository where the user's settings require that, and did not when the index was published.
    /// One call shows that the settings are the same; a reader parses none.
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

    /// Looks through one segment of memories.
    pub(crate) fn of_segment(segment: Segment) -> Self {
        Self { list: vec![IndexSource::bare(Collection::Memories, segment)], ..Self::default() }
    }

    /// Looks through segments of passages, the oldest first: the newest, as far as places can be told
    /// apart.
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

    /// Adds an index. Where there is none although one of `folders` has something that one would hold, that is noted.
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

    /// Returns whether any memory has a vector.
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

    /// Returns for each source how its vectors are searched; `None` where that would cost too much. The newest come
    /// last.
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

    /// Returns how many of the best documents may turn out not to be there when they are looked at.
    pub(crate) fn hidden(&self) -> usize {
        match self.until {
            Some(_) => self.docs() as usize,
            None => self.list.iter().map(IndexSource::hidden).sum(),
        }
    }

    /// Notes that something could not be read and goes on without it.
    pub(crate) fn note(&self, error: &Error) {
        self.note_text(|| error.to_string());
    }

    /// Notes damage as text; only the first note is told.
    pub(crate) fn note_text(&self, text: impl FnOnce() -> String) {
        self.damage.borrow_mut().get_or_insert_with(text);
    }

    /// The source at a place.
    pub(crate) fn source(&self, at: At) -> &IndexSource {
        &self.list[usize::from(at.source)]
    }

    /// Returns whether a memory came with the repository, as far as its record can be read.
    pub(crate) fn is_from_repository(&self, at: At) -> bool {
        let record = self.entry(at).and_then(|entry| self.record(at, &entry).ok());
        record.is_some_and(|record| record.from_repository)
    }

    /// Returns whether what is from the repository is held there, whatever the index says.
    pub(crate) fn holds_unreleased(&self, at: At) -> bool {
        self.source(at).holds_unreleased
    }

    /// The entry at a place, unless the journal replaced it, it is too new, or it cannot be read.
    pub(crate) fn entry(&self, at: At) -> Option<Entry> {
        match self.source(at).entry(at.doc) {
            Ok(entry) => entry.filter(|entry| self.is_in_time(entry)),
            Err(error) => {
                self.note(&error);
                None
            }
        }
    }

    /// The entries at places, which are in rising order, as [`entry`](Self::entry) gives them.
    pub(crate) fn entries(&self, places: &[At]) -> Vec<Option<Entry>> {
        let mut entries = Vec::with_capacity(places.len());
        for places in places.chunk_by(|a, b| a.source == b.source) {
            match self.source(places[0]).entries(places) {
                Ok(found) => entries.extend(found),
                // One of them is damaged.
                Err(_) => entries.extend(places.iter().map(|&at| self.entry(at))),
            }
        }
        entries.iter_mut().for_each(|it| *it = it.filter(|entry| self.is_in_time(entry)));
        entries
    }

    fn is_in_time(&self, entry: &Entry) -> bool {
        self.until.is_none_or(|until| entry.when <= until)
    }

    /// Returns whether what lies there is left out because it is too new.
    pub(crate) fn is_later(&self, at: At) -> bool {
        let entry = self.source(at).entry(at.doc).ok().flatten();
        entry.is_some_and(|entry| self.until.is_some_and(|until| entry.when > until))
    }

    /// Returns where the memory with this id lies.
    pub(crate) fn find(&self, id: MemoryId) -> Option<At> {
        self.list.iter().enumerate().find_map(|(number, source)| {
            let doc = source.find(id).unwrap_or_else(|error| {
                self.note(&error);
                None
            })?;
            Some(At { source: number as u8, doc })
        })
    }

    /// The record of an entry, which names its successor if it has one.
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

    /// Reads of a record its file alone, and how that was when it was read.
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

    /// The absolute path of a memory's file.
    pub(crate) fn file(&self, at: At, file: &Path) -> PathBuf {
        self.source(at).root.join(file)
    }

    /// Returns the origin of a document.
    pub(crate) fn collection(&self, at: At) -> Collection {
        self.source(at).collection
    }

    /// The documents of the session-start block: the user's first, then the project's.
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

    /// A segment without an index around it.
    fn bare(collection: Collection, segment: Segment) -> Self {
        Self { bare: Some(segment), ..Self::new(collection, Path::new(""), None) }
    }

    /// Turns the journal into loose documents and hidden ids.
    fn take_journal(&mut self) {
        let Some(index) = &mut self.index else { return };
        for change in std::mem::take(&mut index.journal.entries) {
            let id = match &change {
                Change::Put(document) => document.entry.id,
                Change::Remove(id) => *id,
            };
            // Of most ids there is one change, and a journal may be long: nothing is looked for then.
            if !self.hidden.insert(id) {
                self.loose.retain(|known| known.entry.id != id);
            }
            if let Change::Put(document) = change {
                self.loose.push(document);
            }
        }
        // One that is gone by the end of the journal replaces nothing.
        self.loose.clone().iter().for_each(|document| self.supersede(document));
        self.mark_superseded();
    }

    /// Adds documents that neither index nor journal has.
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
        // A withheld memory or a draft replaces no other, nor does one from the repository.
        if newer.entry.has(FLAG_HELD | FLAG_DRAFT) || newer.record.from_repository {
            return;
        }
        let others = newer.record.supersedes.iter().filter(|&&older| older != newer.entry.id);
        self.superseded.extend(others.map(|&older| (older, newer.entry.id)));
        if newer.record.superseded_by.is_some() {
            return;
        }
        // One that a person decided about has its own successor, or none.
        for &older in &newer.record.differs_from {
            let record = self.own_record(older);
            let is_open = |record: &Record| record.superseded_by.is_none();
            if record.is_some_and(|record| is_open(&record) && newer.record.displaces(&record)) {
                self.superseded.entry(older).or_insert(newer.entry.id);
            }
        }
    }

    /// Returns what this source has of a memory.
    fn own_record(&self, id: MemoryId) -> Option<Record> {
        if let Some(document) = self.loose.iter().find(|document| document.entry.id == id) {
            return Some(document.record.clone());
        }
        let segment = self.segment()?;
        let docs = segment.docs_of_ids(u128::from_be_bytes(id.0), u128::MAX).ok()?;
        segment.record(&segment.entry(*docs.first()?).ok()?).ok()
    }

    fn mark_superseded(&mut self) {
        for document in &mut self.loose {
            if self.superseded.contains_key(&document.entry.id) {
                Arc::make_mut(document).entry.flags |= FLAG_SUPERSEDED;
            }
        }
    }

    /// The segment of memories.
    pub(crate) fn segment(&self) -> Option<&Segment> {
        self.bare.as_ref().or_else(|| self.index.as_ref()?.memories.as_ref())
    }

    /// Returns the error for a senseless list of the segment's documents.
    pub(crate) fn no_postings(&self) -> Option<Error> {
        self.segment().map(Segment::no_postings)
    }

    /// Returns how many documents of the segment the journal may have replaced.
    fn hidden(&self) -> usize {
        self.hidden.len()
    }

    /// Returns whether later turns replaced a document.
    pub(crate) fn is_dead(&self, doc: u32) -> bool {
        self.segment().is_some_and(|segment| segment.is_dead(doc))
    }

    /// Returns the number of documents, those that the journal replaced counted.
    pub(crate) fn docs(&self) -> u32 {
        self.segment().map_or(0, Segment::docs) + self.loose.len() as u32
    }

    /// The entry at a place; `None` when the journal replaced it.
    fn entry(&self, doc: u32) -> Result<Option<Entry>> {
        let first = self.segment().map_or(0, Segment::docs);
        let entry = match self.segment() {
            Some(segment) if doc < first && segment.is_dead(doc) => return Ok(None),
            Some(segment) if doc < first => segment.entry(doc)?,
            _ => return Ok(self.loose.get((doc - first) as usize).map(|document| document.entry)),
        };
        Ok(self.in_force(entry))
    }

    /// The entries at places of this source, which are in rising order.
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

    /// The entry of a document of the segment as the journal leaves it; `None` when that replaced it.
    fn in_force(&self, mut entry: Entry) -> Option<Entry> {
        if self.hidden.contains(&entry.id) {
            return None;
        }
        if self.superseded.contains_key(&entry.id) {
            entry.flags |= FLAG_SUPERSEDED;
        }
        Some(entry)
    }

    /// Returns the places of documents whose ids have these bits; the journal may have replaced them.
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

    /// The place of the document with this id.
    fn find(&self, id: MemoryId) -> Result<Option<u32>> {
        let first = self.segment().map_or(0, Segment::docs);
        if let Some(loose) = self.loose.iter().position(|document| document.entry.id == id) {
            return Ok(Some(first + loose as u32));
        }
        let Some(segment) = self.segment() else { return Ok(None) };
        Ok(segment.find(id)?.map(|(doc, _)| doc).filter(|&doc| !segment.is_dead(doc)))
    }

    /// The documents of the session-start block. Documents that the journal or the files add come first, in the order
    /// of such a block's purpose.
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
