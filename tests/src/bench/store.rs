//! The store of the bench: N memories, 10 N turns, 50 memories of the user, receipts on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memory_store::file::{MemoryFile, file_name};
use memory_store::index::build::{Content, Publisher, StartPlan, Turns};
use memory_store::layout::{Tree, TreeDir, UserDirs, by_path_record};
use memory_store::progress::Progress;
use memory_store::settings::Settings;
use memory_store::store::Store;
use memory_store::{Kind, Memory, ProjectId, Timestamp};

use super::corpus;
use crate::bench::Result;

const PROJECT: ProjectId = ProjectId([0xbe; 16]);
const USER_MEMORIES: u64 = 50;
const TURNS_PER_MEMORY: u32 = 10;
const START_MEMORIES: usize = 40;

/// A store in a home of its own.
#[derive(Debug)]
pub struct BenchStore {
    /// The home; it goes when this does.
    pub home: tempfile::TempDir,
    /// The root of the project.
    pub root: PathBuf,
    /// The project's memories.
    pub memories: Vec<Memory>,
    /// The state of the tree.
    pub state: TreeDir,
}

impl BenchStore {
    /// Writes the files and publishes the indexes, as a sync does.
    pub fn build(size: u64) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let root = home.path().canonicalize()?.join("work");
        fs::create_dir_all(&root)?;
        let at = home.path().to_owned();
        let dirs = UserDirs::resolve(move |name| (name == "HOME").then(|| at.clone().into()))
            .ok_or("the home has no folders")?;
        let tree = Tree { project: PROJECT, root: root.clone(), main_root: root.clone() };
        write(&dirs.by_path(&root), &by_path_record(PROJECT, &root))?;

        let now = now();
        let memories: Vec<Memory> =
            (0..size).map(|number| corpus::memory(number, now, false)).collect();
        let project = Store::open(&dirs, &tree)?;
        write_memories(project.folder(), &memories)?;
        let turns = u32::try_from(size)? * TURNS_PER_MEMORY;
        publish(&dirs.tree(&root).index(), &root, &project, turns, now)?;

        let user = Store::user(&dirs)?;
        let preferences: Vec<Memory> =
            (0..USER_MEMORIES).map(|number| corpus::memory(number, now, true)).collect();
        write_memories(user.folder(), &preferences)?;
        publish(&dirs.user_state().index(), &dirs.data, &user, 0, now)?;

        Ok(Self { home, state: dirs.tree(&root), root, memories })
    }

    /// Says that background work is done and was done just now.
    pub fn catch_up(&self) -> Result<()> {
        let inbox_bytes = fs::metadata(self.state.inbox()).map_or(0, |inbox| inbox.len());
        let progress = Progress { inbox_bytes, last_run: now(), ..Progress::default() };
        write(&self.state.progress(), &serde_json::to_vec(&progress)?)
    }

    /// Marks a session as started, as its SessionStart hook does.
    pub fn begin(&self, session: &str) -> Result<()> {
        write(&self.state.session(session, None), b"b 0 {}\n")
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(fs::write(path, bytes)?)
}

/// Writes files as a store does, but for the look for namesakes, which takes long for many.
fn write_memories(folder: &Path, memories: &[Memory]) -> Result<()> {
    for memory in memories {
        let file = MemoryFile::new(memory.clone())?;
        write(&folder.join(file_name(&file.memory)), file.bytes())?;
    }
    Ok(())
}

fn publish(index: &Path, root: &Path, store: &Store, turns: u32, now: Timestamp) -> Result<()> {
    let publisher = Publisher::begin(index)?;
    let listing = store.list()?;
    let memories = listing.memories;
    let wishes = memories.iter().filter(|stored| {
        matches!(stored.memory.kind, Kind::Preference | Kind::Convention | Kind::Gotcha)
    });
    let start = StartPlan {
        memories: wishes.take(START_MEMORIES).map(|stored| stored.memory.id).collect(),
    };
    publisher.publish(Content {
        root,
        memories: &memories,
        turns: Turns::Replace(&mut (0..turns).map(|number| corpus::turn(number, now))),
        start: &start,
        settings: &Settings::default(),
        now,
    })?;
    Ok(())
}
