//! The store of the bench: memories, passages, and 50 memories of the user. Their vectors are from the embedder's
//! table, but marked as the transformer's, so that they are searched as if the processor had embedded them. Receipts
//! are enabled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use memory_store::embed::{Encoder, Space, Table, Vector};
use memory_store::exchange::file_pool;
use memory_store::file::{MemoryFile, file_name};
use memory_store::fs::file_stamp::Stamp;
use memory_store::index::build::{Content, Publisher, Staged, Vectors, settle};
use memory_store::index::document::Passage;
use memory_store::layout::{ProjectDir, Tree, TreeDir, UserDirs, by_path_record};
use memory_store::progress::Progress;
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored};
use memory_store::{Kind, Memory, ProjectId, Timestamp};
use processor::publish::hnsw::HnswGraphs;

use super::corpus;
use crate::bench::Result;

const PROJECT: ProjectId = ProjectId([0xbe; 16]);
const USER_MEMORIES: u64 = 50;
const START_MEMORIES: usize = 40;
/// Number of turns in one portion.
const PORTION: usize = 1 << 16;

/// File that marks a complete store. It contains the number of seconds that building the indexes took.
const BUILT: &str = "built";

/// Maximum number of hard links to one file. All memories of up to this number share one file: a hook checks only the
/// length and time of a memory's file, and creating a link takes a tenth of the time of creating a file.
const NAMES_MAX: u64 = 50_000;

/// A store in a separate home.
#[derive(Debug)]
pub struct BenchStore {
    /// The home.
    pub home: PathBuf,
    /// Removes the home when dropped, unless the home is kept.
    _temporary: Option<tempfile::TempDir>,
    /// The root of the project.
    pub root: PathBuf,
    /// Number of memories of the project.
    pub size: u64,
    /// Number of passages of the project's sessions.
    pub passages: u32,
    /// State folder of the tree.
    pub state: TreeDir,
    /// Private folder of the project.
    pub project: ProjectDir,
    /// Folders of the user.
    pub dirs: UserDirs,
    /// The working tree.
    pub tree: Tree,
    /// Seconds that building the indexes took.
    pub built_s: f64,
    now: Timestamp,
}

impl BenchStore {
    /// Opens the store of this size that an earlier run left in the folder `kept`, or builds one there.
    pub fn open_or_build(kept: &Path, size: u64, passages: u32, models: &Path) -> Result<Self> {
        fs::create_dir_all(kept)?;
        let home = kept.canonicalize()?.join(format!("{size}-memories-{passages}-passages"));
        let marker = home.join(BUILT);
        if let Ok(seconds) = fs::read_to_string(&marker) {
            let root = home.canonicalize()?.join("work");
            let dirs = user_dirs(&home)?;
            let (state, built_s, now) = (dirs.tree(&root), seconds.parse()?, now());
            let tree = Tree { project: PROJECT, root: root.clone(), main_root: root.clone() };
            let project = dirs.project(PROJECT);
            // Session files of earlier runs are removed, since memories already injected into a session are not
            // injected again.
            drop(fs::remove_dir_all(&state.sessions));
            return Ok(Self {
                home,
                _temporary: None,
                state,
                root,
                size,
                passages,
                built_s,
                now,
                project,
                dirs,
                tree,
            });
        }
        drop(fs::remove_dir_all(&home));
        fs::create_dir_all(&home)?;
        let store = Self::build_in(home, None, size, passages, models)?;
        write(&marker, store.built_s.to_string().as_bytes())?;
        Ok(store)
    }

    /// Builds a store that is removed when dropped.
    pub fn build(size: u64, passages: u32, models: &Path) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let path = home.path().to_owned();
        Self::build_in(path, Some(home), size, passages, models)
    }

    /// Creates the files and publishes the indexes, as a sync does. `models` is the folder of the embedder's files.
    fn build_in(
        home: PathBuf,
        temporary: Option<tempfile::TempDir>,
        size: u64,
        passages: u32,
        models: &Path,
    ) -> Result<Self> {
        let root = home.canonicalize()?.join("work");
        fs::create_dir_all(&root)?;
        let dirs = user_dirs(&home)?;
        let tree = Tree { project: PROJECT, root: root.clone(), main_root: root.clone() };
        write(&dirs.by_path(&root), &by_path_record(PROJECT, &root, None))?;

        let now = now();
        let project = Store::open(&dirs, &tree)?;
        let memories =
            name_files(&project.folder, (0..size).map(|n| corpus::memory(n, now, false)))?;
        let table = Table::load(models)?;
        let begin = Instant::now();
        let index = dirs.tree(&root).index;
        let mut turns = (0..passages).map(|number| corpus::turn(number, now));
        publish(&index, &root, &memories, Some(&mut turns), &table, now)?;
        while settle(&index, Some(&Upgraded(&table)), None, now)? {}
        let built_s = begin.elapsed().as_secs_f64();
        drop(memories);

        let user = Store::user(&dirs)?;
        let preferences = (0..USER_MEMORIES).map(|number| corpus::memory(number, now, true));
        let preferences = name_files(&user.folder, preferences)?;
        publish(&dirs.user_state().index, &dirs.data, &preferences, None, &table, now)?;

        let state = dirs.tree(&root);
        let project = dirs.project(PROJECT);
        Ok(Self {
            home,
            _temporary: temporary,
            state,
            root,
            size,
            passages,
            built_s,
            now,
            project,
            dirs,
            tree,
        })
    }

    /// Returns the time for which the store was built.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns one of the project's memories.
    pub fn memory(&self, number: u64) -> Memory {
        corpus::memory(number % self.size.max(1), self.now, false)
    }

    /// Leaves the state as after a run of the processor.
    pub fn catch_up(&self) -> Result<()> {
        file_pool::refill(&self.state.sessions)?;
        let inbox_bytes = fs::metadata(&self.state.inbox).map_or(0, |inbox| inbox.len());
        let progress = Progress { inbox_bytes, last_run: now(), ..Progress::default() };
        write(&self.state.progress, &serde_json::to_vec(&progress)?)
    }

    /// Marks a session as started, as the session-start hook does.
    pub fn begin(&self, session: &str) -> Result<()> {
        write(&self.state.session(session, None), b"b 0 {}\n")
    }

    /// Returns the bytes of the project's index.
    pub fn index_bytes(&self) -> Result<u64> {
        let files = fs::read_dir(&self.state.index)?;
        files.map(|file| Ok(file?.metadata()?.len())).sum()
    }

    /// Returns all files that hooks read. The files of memories are omitted, since hooks read only their length and
    /// time.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        files_below(&self.home.join(".local"))
    }
}

/// Returns the folders of a user with this home.
fn user_dirs(home: &Path) -> Result<UserDirs> {
    let home = home.to_owned();
    let dirs = UserDirs::resolve(move |name| (name == "HOME").then(|| home.clone().into()));
    dirs.ok_or_else(|| "the home has no folders".into())
}

/// Returns the files below a folder, except those of memories.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                files.push(entry.path());
            } else if entry.file_name() != "memories" {
                folders.push(entry.path());
            }
        }
    }
    Ok(files)
}

fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the one place of this program")]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, bytes)?)
}

/// Creates a file for each memory. All of them are hard links to files with the same text, length and time, which the
/// index records too.
fn name_files(folder: &Path, memories: impl Iterator<Item = Memory>) -> Result<Vec<Stored>> {
    let mut named = Vec::new();
    let mut first = PathBuf::new();
    let mut stamp = Stamp::default();
    for (number, memory) in (0..).zip(memories) {
        let path = folder.join(file_name(&memory));
        if number % NAMES_MAX == 0 {
            write(&path, MemoryFile::new(memory.clone())?.text().as_bytes())?;
            stamp = Stamp::of(&path).ok_or("a file that was written is gone")?;
            first.clone_from(&path);
        } else {
            fs::hard_link(&first, &path)?;
        }
        named.push(Stored { path, memory, stamp, text: String::new() });
    }
    Ok(named)
}

/// An embedder that marks the vectors of the table as those of the transformer.
struct Upgraded<'a>(&'a Table);

impl Vectors for Upgraded<'_> {
    fn space(&self) -> Space {
        self.0.space()
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        Some((Encoder::Transformer, self.0.embed(text).ok()??))
    }
}

/// Writes turns to the index in portions, as a sync does.
fn stage(
    index: &Path,
    vectors: &dyn Vectors,
    turns: &mut dyn Iterator<Item = Passage>,
) -> Result<Staged> {
    let mut staged = Staged::begin(index, true)?;
    loop {
        let portion: Vec<Passage> = turns.take(PORTION).collect();
        if portion.is_empty() {
            return Ok(staged);
        }
        staged.add(Some(vectors), &mut portion.into_iter())?;
    }
}

fn publish(
    index: &Path,
    root: &Path,
    memories: &[Stored],
    turns: Option<&mut dyn Iterator<Item = Passage>>,
    table: &Table,
    now: Timestamp,
) -> Result<()> {
    let wishes = memories.iter().filter(|stored| {
        matches!(stored.memory.kind, Kind::Preference | Kind::Convention | Kind::Gotcha)
    });
    let start: Vec<_> = wishes.take(START_MEMORIES).map(|stored| stored.memory.id).collect();
    let (mut publisher, vectors) = (Publisher::begin(index)?, Upgraded(table));
    publisher.vectors = Some(&vectors);
    publisher.graphs = Some(&HnswGraphs);
    let turns = turns.map(|turns| stage(index, &vectors, turns)).transpose()?;
    publisher.publish(Content {
        root,
        memories,
        passages: turns,
        start: &start,
        settings: &Settings::default(),
        now,
    })?;
    Ok(())
}
