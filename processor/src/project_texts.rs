//! Texts of a project that people read and write: files that git tracks, their paths, branches and tags, and memories
//! that a person owns. If one of these contains a value, the value is not hidden in any other place without that
//! person's decision.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use memory_store::layout::{Tree, UserDirs};
use memory_store::store::Store;

use crate::git;

/// Maximum time for git's searches in one sync. After this time, all further values count as contained.
const ASKED_MAX: Duration = Duration::from_secs(60);
/// Maximum number of working trees whose files are searched.
const TREES_MAX: usize = 8;
/// Maximum number of values in one search.
const VALUES_MAX: usize = 500;

/// Place in which the texts of a project contain a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contained {
    /// No text contains the value.
    Nowhere,
    /// Only a memory that a person owns contains the value.
    Memory,
    /// A tracked file, a path or a branch contains the value, or this could not be determined.
    Project,
}

/// The texts of a project. Each kind is read when first needed.
pub struct ProjectTexts {
    dirs: UserDirs,
    trees: Vec<Tree>,
    names: OnceLock<String>,
    memories: OnceLock<String>,
    /// The result for each value, and the total time of git's searches.
    known: Mutex<(HashMap<String, Contained>, Duration)>,
}

impl ProjectTexts {
    /// Creates access to the texts of these working trees and of the user's own memories.
    pub fn new(dirs: &UserDirs, trees: &[Tree]) -> Self {
        Self {
            dirs: dirs.clone(),
            trees: trees.iter().take(TREES_MAX).cloned().collect(),
            names: OnceLock::new(),
            memories: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    /// Returns the place of each of these values, ignoring case.
    pub fn contain(&self, values: &BTreeSet<String>) -> BTreeMap<String, Contained> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (verdicts, spent) = &mut *known;
        let unknown: Vec<&str> = values
            .iter()
            .filter(|value| !verdicts.contains_key(*value))
            .map(String::as_str)
            .collect();
        for some in unknown.chunks(VALUES_MAX) {
            let began = Instant::now();
            let tracked = if *spent < ASKED_MAX { self.tracked(some) } else { None };
            *spent += began.elapsed();
            for value in some {
                verdicts.insert((*value).to_owned(), self.verdict(value, tracked.as_deref()));
            }
        }
        values.iter().filter_map(|value| Some((value.clone(), *verdicts.get(value)?))).collect()
    }

    /// Returns git's matches of these values in tracked files, in lower case; `None` if git does not answer.
    fn tracked(&self, values: &[&str]) -> Option<String> {
        let mut found = String::new();
        for tree in &self.trees {
            if git::is_repository(&tree.root) {
                found.push_str(&git::tracked_texts(&tree.root, values)?.to_lowercase());
            }
        }
        Some(found)
    }

    fn verdict(&self, value: &str, tracked: Option<&str>) -> Contained {
        let value = value.to_lowercase();
        let Some(tracked) = tracked else { return Contained::Project };
        let names = self.names.get_or_init(|| names(&self.trees));
        if tracked.contains(&value) || names.contains(&value) {
            return Contained::Project;
        }
        let memories = self.memories.get_or_init(|| self.memories());
        if memories.contains(&value) { Contained::Memory } else { Contained::Nowhere }
    }

    /// Returns the texts of the memories that a person owns, in lower case.
    fn memories(&self) -> String {
        let stores = self.trees.iter().map(|tree| (Store::open(&self.dirs, tree), Some(tree)));
        let stores = stores.chain([(Store::user(&self.dirs), None)]);
        let mut texts = String::new();
        for (store, tree) in stores {
            let committed = tree.map_or_else(Committed::default, |tree| Committed::of(&tree.root));
            let Ok(store) = store else { continue };
            for owned in store.owned(&|path| committed.has(path)).unwrap_or_default() {
                texts.push_str(&owned.file_name().unwrap_or_default().to_string_lossy());
                texts.push('\n');
                texts.push_str(&std::fs::read_to_string(&owned).unwrap_or_default());
            }
        }
        texts.to_lowercase()
    }
}

/// Returns the paths of tracked files, the names of branches and tags, and the paths of the working trees.
fn names(trees: &[Tree]) -> String {
    let mut names = String::new();
    for tree in trees {
        names.push_str(&tree.root.to_string_lossy());
        names.push('\n');
        names.push_str(&git::tracked_names(&tree.root));
    }
    names.to_lowercase()
}

/// The memory files of a working tree that git tracks.
#[derive(Debug, Default)]
pub struct Committed {
    root: PathBuf,
    paths: BTreeSet<PathBuf>,
    /// Whether git did not answer. Each memory file then counts as tracked.
    is_unclear: bool,
}

impl Committed {
    /// Queries git about a working tree.
    pub fn of(root: &Path) -> Self {
        let paths = git::is_repository(root).then(|| git::tracked_memories(root));
        let is_unclear = matches!(paths, Some(None));
        Self { root: root.to_owned(), paths: paths.flatten().unwrap_or_default(), is_unclear }
    }

    /// Returns whether git tracks a memory file.
    pub fn has(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root);
        below.is_ok_and(|path| self.is_unclear || self.paths.contains(path))
    }
}
