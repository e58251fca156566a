//! Test support: a store in a sealed folder, with memories of a fictitious billing project.

pub mod vectors;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use memory_store::embed::Vectors;
use memory_store::file::{MemoryFile, file_name};
use memory_store::fs::file_stamp::Stamp;
use memory_store::index::build::{self, Content, Published, Publisher, Staged};
use memory_store::index::document::Passage;
use memory_store::index::journal::Entry;
use memory_store::layout::{Tree, UserDirs};
use memory_store::memory::{PathRef, SaidBy, Scope, Source, Status};
use memory_store::recall::Recall;
use memory_store::settings::Settings;
use memory_store::store::Stored;
use memory_store::{Kind, Memory, MemoryId, ProjectId, Timestamp};
use testutils::SealedHome;

/// The present time in all tests.
pub const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// Returns the id of the memory with this number.
pub fn id(number: u8) -> MemoryId {
    MemoryId::new(Timestamp(NOW.0 - 86_400_000), [number; 10])
}

/// Returns a memory with this number.
pub fn memory(number: u8, kind: Kind, title: &str, body: &str) -> Memory {
    Memory {
        id: id(number),
        kind,
        title: title.into(),
        body: body.into(),
        scope: Scope::Project,
        created: Timestamp(NOW.0 - 86_400_000),
        occurred: None,
        valid_from: None,
        valid_until: None,
        confidence: 0.8,
        source: Source { said_by: Some(SaidBy::User), ..Source::default() },
        paths: Vec::new(),
        topic: None,
        agent: None,
        tags: Vec::new(),
        cues: Vec::new(),
        entities: Vec::new(),
        facts: Vec::new(),
        relations: Vec::new(),
        guards: Vec::new(),
        supersedes: Vec::new(),
        superseded_by: None,
        pinned: false,
        status: Status::Active,
        held_for: None,
        author: None,
        signatures: Vec::new(),
        command: None,
    }
}

/// Returns the memories of the fictitious project.
pub fn memories() -> Vec<Memory> {
    let mut importer = memory(
        1,
        Kind::Gotcha,
        "The invoice importer needs a trailing newline",
        "Without a newline at the end the importer drops the last row of the file.",
    );
    importer.paths = vec![PathRef { path: "billing/src/import.rs".into(), seen: None }];
    let mut old =
        memory(2, Kind::Fact, "The ledger service listens on port 7440", "Set in ledger.toml.");
    old.superseded_by = Some(id(3));
    let mut new = memory(
        3,
        Kind::Fact,
        "The ledger service listens on port 7441",
        "Changed because 7440 collides with the metrics agent.",
    );
    new.supersedes = vec![id(2)];
    let mut fix = memory(
        4,
        Kind::Fix,
        "money_fmt needs the macros feature",
        "`cargo build` fails with: cannot find macro `money_fmt` in this scope. Enable the feature `macros` of the crate money.",
    );
    fix.signatures = memory_store::signature::error_signature(
        "error: cannot find macro `money_fmt` in this scope",
    )
    .into_iter()
    .collect();
    vec![
        importer,
        old,
        new,
        fix,
        memory(
            5,
            Kind::Preference,
            "Never use float for money",
            "Amounts are integers of cents everywhere.",
        ),
        memory(
            6,
            Kind::Decision,
            "Reports are rendered on the server",
            "The browser took four seconds for a yearly statement.",
        ),
        memory(
            7,
            Kind::Convention,
            "Feature branches are named after the ticket",
            "For example BIL-120-retry.",
        ),
        memory(
            8,
            Kind::Command,
            "cargo test -p billing --features sandbox",
            "Passed 14 times; without the sandbox feature it charges real cards.",
        ),
        memory(
            9,
            Kind::FailedApproach,
            "Batching the reminders did not work",
            "The mail provider dropped everything after the fiftieth recipient.",
        ),
        memory(10, Kind::Task, "Remove the legacy discount table", "Waits for the audit."),
    ]
}

/// Returns the journal entry of a saved memory.
pub fn put(stored: &Stored, root: &Path) -> Entry {
    let mut document = build::document(stored, root);
    document.read();
    Entry::Put(Arc::new(document))
}

/// A sealed home with one project.
pub struct Fixture {
    _home: SealedHome,
    pub dirs: UserDirs,
    pub tree: Tree,
}

impl Fixture {
    /// Returns a project without memories.
    pub fn empty() -> Self {
        let home = SealedHome::new();
        let (dirs, root) = (home.dirs.clone(), home.path().join("work"));
        fs::create_dir_all(root.join(".throughline/memories")).unwrap();
        let tree = Tree { project: ProjectId([5; 16]), root: root.clone(), main_root: root };
        Self { _home: home, dirs, tree }
    }

    /// Returns the fictitious project with a published index.
    pub fn filled() -> Self {
        let fixture = Self::empty();
        for memory in memories() {
            fixture.write(memory);
        }
        fixture.publish();
        fixture
    }

    /// Returns the fictitious project with additional memories. Its index is published with vectors and with these
    /// names of the project.
    pub fn with(memories: impl IntoIterator<Item = Memory>, names: &[&str]) -> Self {
        let mut fixture = Self::filled();
        fixture.dirs.models = Some(vectors::assets());
        for memory in memories {
            fixture.write(memory);
        }
        let vectors = vectors::Shipped::open();
        let mut publisher = fixture.publisher(&vectors);
        publisher.names = names.iter().map(|&name| name.to_owned()).collect();
        fixture.publish_with(publisher, &fixture.list(), None);
        fixture
    }

    /// Returns the memories that a prompt recalls.
    pub fn given(&self, prompt: &str) -> Vec<MemoryId> {
        let found = self.recall().prompt(prompt, None, NOW, &|_| false);
        found.hits.iter().map(|hit| hit.id).collect()
    }

    pub fn root(&self) -> &Path {
        &self.tree.root
    }

    pub fn index(&self) -> PathBuf {
        self.dirs.tree(&self.tree.root).index
    }

    pub fn recall(&self) -> Recall {
        Recall::open(&self.dirs, &self.tree, None)
    }

    /// Opens the index. Queries then return a trace with the outcome of each candidate.
    pub fn tracing(&self) -> Recall {
        let mut recall = self.recall();
        recall.traces = true;
        recall
    }

    pub fn write(&self, memory: Memory) -> Stored {
        write(&self.root().join(".throughline/memories"), memory)
    }

    /// Returns the memories on the disk, like `Store::list`.
    pub fn list(&self) -> Vec<Stored> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.root().join(".throughline/memories"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        files.sort();
        files
            .into_iter()
            .filter_map(|path| {
                let file = MemoryFile::parse(&path, fs::read(&path).unwrap()).ok()?;
                Some(stored(path, file.memory.clone()))
            })
            .collect()
    }

    pub fn publish(&self) -> Published {
        self.publish_turns(None)
    }

    pub fn publish_turns(&self, turns: Option<Staged>) -> Published {
        let publisher = Publisher::begin(&self.index()).unwrap();
        self.publish_with(publisher, &self.list(), turns)
    }

    /// Stages turns for the next generation of the index, in addition to the present turns.
    pub fn added(&self, turns: &mut dyn Iterator<Item = Passage>) -> Option<Staged> {
        self.staged(None, false, turns)
    }

    /// Stages turns for the next generation of the index, which replace the present turns.
    pub fn replaced(&self, turns: &mut dyn Iterator<Item = Passage>) -> Option<Staged> {
        self.staged(None, true, turns)
    }

    pub fn staged(
        &self,
        vectors: Option<&dyn Vectors>,
        afresh: bool,
        turns: &mut dyn Iterator<Item = Passage>,
    ) -> Option<Staged> {
        let mut staged = Staged::begin(&self.index(), afresh).unwrap();
        staged.add(vectors, turns).unwrap();
        Some(staged)
    }

    /// Begins to publish the project's index with these vectors.
    pub fn publisher<'a>(&self, vectors: &'a dyn Vectors) -> Publisher<'a> {
        let mut publisher = Publisher::begin(&self.index()).unwrap();
        publisher.vectors = Some(vectors);
        publisher
    }

    pub fn publish_with(
        &self,
        publisher: Publisher,
        memories: &[Stored],
        turns: Option<Staged>,
    ) -> Published {
        publisher.publish(content(self.root(), memories, turns, &[])).unwrap()
    }

    pub fn publish_start(&self, numbers: &[u8]) {
        let start: Vec<MemoryId> = numbers.iter().map(|&number| id(number)).collect();
        let publisher = Publisher::begin(&self.index()).unwrap();
        publisher.publish(content(self.root(), &self.list(), None, &start)).unwrap();
    }

    pub fn publish_user(&self, memories: &[Memory]) {
        let folder = self.dirs.user_memories();
        fs::create_dir_all(&folder).unwrap();
        let stored: Vec<Stored> =
            memories.iter().map(|memory| write(&folder, memory.clone())).collect();
        let start: Vec<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let publisher = Publisher::begin(&self.dirs.user_state().index).unwrap();
        publisher.publish(content(&self.dirs.data, &stored, None, &start)).unwrap();
    }

    /// Returns the files of the index, by name.
    pub fn index_files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.index())
            .unwrap()
            .map(|file| file.unwrap())
            .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    /// Sets the same modification time for every memory file.
    pub fn set_times(&self) {
        for stored in self.list() {
            let file = fs::File::options().write(true).open(stored.path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
        }
    }
}

pub fn content<'a>(
    root: &'a Path,
    memories: &'a [Stored],
    turns: Option<Staged>,
    start: &'a [MemoryId],
) -> Content<'a> {
    // The settings are leaked because content borrows them. There is one instance per test.
    let settings: &'static Settings = Box::leak(Box::default());
    Content { root, memories, passages: turns, start, settings, now: NOW }
}

pub fn write(folder: &Path, memory: Memory) -> Stored {
    let path = folder.join(file_name(&memory));
    fs::write(&path, MemoryFile::new(memory.clone()).unwrap().text().as_bytes()).unwrap();
    stored(path, memory)
}

fn stored(path: PathBuf, memory: Memory) -> Stored {
    let stamp = Stamp::of(&path).unwrap();
    Stored { path, memory, stamp, text: String::new() }
}
