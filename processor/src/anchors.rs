//! Anchors: the content of each memory's files when the memory was learned, and the names in its text that occurred in
//! the working tree at that time. Publishing compares the anchors with the present working tree and so detects *stale*
//! memories: their files were rewritten, moved or removed since, or a name no longer occurs.
//!
//! Anchors are stored in the project's private folder and never in a memory file: anchors depend on the time of a sync,
//! and the files of derived memories must not (ARCHITECTURE.md, 4). If anchors are lost, past contents are no longer
//! known. A new memory is anchored at the current content of its files. A memory that was learned long ago is anchored
//! at the commit of that time if git has it, else at the first content that is read. When a person or a session
//! confirms a memory, it is anchored again. If a name no longer occurs, only a person can confirm the memory.

pub(crate) mod code_names;
mod files;
mod relied;
mod sketch;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use anyhow::Result;
use memory_store::index::document::is_glob;
use memory_store::layout::{ProjectDir, STORE_DIR, TreeDir};
use memory_store::memory::Status;
use memory_store::passed_commands::PassedCommand;
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::staleness::{Change, Staleness};
use memory_store::store::Stored;
use memory_store::time::DAY_MS;
use memory_store::uses::{self, Uses};
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::collect::ignore::Ignore;
use crate::git::blobs::{self, Blob};
use crate::private_files::{read_json, write_json};
use crate::state::State;
use files::{Absent, FILE_BYTES_MAX, Files, Now};
use relied::EndedSessions;
use sketch::{ContentHash, Sketch, SketchedContent};
use words::{FoundWords, NamePlace, words_then};

/// Version of the stored data. It must be changed whenever their meaning changes.
const VERSION: u32 = 1;
/// Maximum number of files that are examined for one working tree. Files of the newest memories come first.
const PATHS_MAX: usize = 2000;
/// Maximum number of past file versions that are requested from git at once. The next publication requests the others.
const PAST_MAX: usize = 500;
/// Maximum number of different names that are searched in one working tree. Names in the newest memories come first.
const NAMES_MAX: usize = 10_000;
/// Maximum number of past commits that are searched for names at once. The next publication searches the others.
const PAST_COMMITS_MAX: usize = 16;
/// Maximum age of a memory that is anchored at the current content of its files.
const RECENT_MS: i64 = DAY_MS;
/// Milliseconds after a statement within which a session usually commits its changes.
const COMMITTED_MS: i64 = 2 * 60 * 60 * 1000;

/// The anchors of one project, as stored between runs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AnchorsFile {
    version: u32,
    /// Sketches of file contents. Each is stored once, because several memories may be about the same file.
    contents: BTreeMap<ContentHash, Sketch>,
    memories: BTreeMap<MemoryId, Anchor>,
}

/// Contents of a memory's files, and places of its names, at one time.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Anchor {
    /// Time when the memory was learned, or last confirmed.
    at: Timestamp,
    /// The content of each file, by path; `None` if neither git nor the disk had the file.
    files: BTreeMap<String, Option<ContentHash>>,
    /// The place of each name.
    #[serde(default)]
    names: BTreeMap<String, NamePlace>,
}

/// A memory, and the files and names that determine whether it is stale.
struct Subject<'a> {
    id: MemoryId,
    /// Time when the memory was learned, or last confirmed by a person.
    at: Timestamp,
    /// The paths, each with the first characters of the hash that the memory's own file states, if any.
    paths: Vec<(&'a str, Option<&'a str>)>,
    /// The names in the memory's text.
    names: Vec<String>,
}

/// The anchors of one project, used while its trees are published.
pub struct Anchors {
    home: ProjectDir,
    kept: AnchorsFile,
    reviewed: Reviewed,
    sessions: EndedSessions,
    ignore: Ignore,
    listed: BTreeSet<MemoryId>,
    now: Timestamp,
}

impl Anchors {
    /// Reads the anchors of a project.
    ///
    /// # Errors
    /// If `ignore_paths` in the settings cannot be read, because the files that it names must not be read.
    pub fn open(
        home: &ProjectDir,
        settings: &Settings,
        state: &State,
        now: Timestamp,
    ) -> Result<Self> {
        let ignore = Ignore::new(&settings.ignore_paths)?;
        let kept = read_json::<AnchorsFile>(&home.anchors).filter(|kept| kept.version == VERSION);
        Ok(Self {
            kept: kept.unwrap_or(AnchorsFile { version: VERSION, ..AnchorsFile::default() }),
            reviewed: Reviewed::read(home),
            sessions: relied::sessions(state, now),
            home: home.clone(),
            ignore,
            listed: BTreeSet::new(),
            now,
        })
    }

    /// Returns the stale memories of a working tree, and anchors new memories.
    pub fn compare(
        &mut self,
        tree: &TreeDir,
        root: &Path,
        memories: &[Stored],
    ) -> BTreeMap<MemoryId, Staleness> {
        self.listed.extend(memories.iter().map(|stored| stored.memory.id));
        let ignore = std::mem::replace(&mut self.ignore, Ignore::none());
        let mut files = Files::open(root, &ignore, tree.compared.clone());
        let subjects = self.subjects(memories);
        files.look(subjects.iter().flat_map(|subject| &subject.paths).map(|(path, _)| *path));
        let names = subjects.iter().flat_map(|subject| &subject.names);
        let words = files.words(&names.map(String::as_str).collect());
        self.anchor(root, &subjects, &mut files);
        self.anchor_names(root, &subjects, &words);
        let mut stale = self.judge(&subjects, &mut files, &words);
        for id in self.confirm(tree, &stale, &subjects, &mut files) {
            stale.remove(&id);
        }
        // If the cache cannot be written, the next run compares the files again.
        drop(files.write());
        self.ignore = ignore;
        stale
    }

    /// Counts the use of memories by the sessions of a working tree, and stores it for display.
    pub fn uses(&self, tree: &TreeDir, memories: &[Stored]) -> Uses {
        let commands = PassedCommand::read_all(&self.home.commands);
        let known = uses::read(tree);
        let uses = relied::count(tree, &self.sessions, memories, &commands, &known, self.now);
        // If the file cannot be written, only times of earlier uses are lost.
        drop(uses::write(tree, &uses));
        uses
    }

    /// Writes the anchors of the existing memories.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let AnchorsFile { contents, memories, .. } = &mut self.kept;
        memories.retain(|id, _| self.listed.contains(id));
        let used: BTreeSet<&ContentHash> =
            memories.values().flat_map(|anchor| anchor.files.values().flatten()).collect();
        contents.retain(|hash, _| used.contains(hash));
        write_json(&self.home.anchors, &self.kept)
    }

    /// Returns the memories whose files or names matter, the newest first, up to the limits.
    fn subjects<'a>(&self, memories: &'a [Stored]) -> Vec<Subject<'a>> {
        let matters = memories.iter().map(|stored| &stored.memory).filter(|memory| depends(memory));
        let mut subjects: Vec<Subject<'_>> = matters
            .map(|memory| Subject {
                id: memory.id,
                at: Some(memory.when())
                    .max(self.reviewed.confirmed.get(&memory.id).copied())
                    .unwrap_or_default(),
                paths: memory
                    .paths
                    .iter()
                    .filter(|path| is_a_file_here(&path.path))
                    .map(|path| (path.path.as_str(), path.seen.as_deref()))
                    .collect(),
                names: names_of(memory),
            })
            .filter(|subject| !subject.paths.is_empty() || !subject.names.is_empty())
            .collect();
        subjects.sort_by_key(|subject| (Reverse(subject.at), subject.id));
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        let mut names: BTreeSet<String> = BTreeSet::new();
        for subject in &mut subjects {
            if paths.len() + subject.paths.len() > PATHS_MAX {
                subject.paths.clear();
            }
            if names.len() + subject.names.len() > NAMES_MAX {
                subject.names.clear();
            }
            paths.extend(subject.paths.iter().map(|(path, _)| *path));
            names.extend(subject.names.iter().cloned());
        }
        subjects
    }

    /// Anchors memories whose files have no anchor, or that were learned again or confirmed since.
    fn anchor(&mut self, root: &Path, subjects: &[Subject<'_>], files: &mut Files<'_>) {
        let mut past: Vec<(MemoryId, &str, Timestamp)> = Vec::new();
        for subject in subjects {
            let known = self.kept.memories.entry(subject.id).or_default();
            if known.at < subject.at {
                *known = Anchor { at: subject.at, ..Anchor::default() };
            }
            known.files.retain(|path, _| subject.paths.iter().any(|(of, _)| of == path));
            let is_recent = self.now.0 - subject.at.0 < RECENT_MS;
            for &(path, seen) in &subject.paths {
                let is = match files.now(path) {
                    Now::Content(hash) => Some(hash.clone()),
                    Now::Missing | Now::Unknown => None,
                };
                let is_as_seen = is
                    .as_ref()
                    .zip(seen)
                    .is_some_and(|(is, seen)| !seen.is_empty() && is.starts_with(seen));
                match self.kept.memories[&subject.id].files.get(path) {
                    Some(Some(_)) => {}
                    None if !is_recent && !is_as_seen => past.push((subject.id, path, subject.at)),
                    Some(None) | None => self.set_to_now(subject.id, path, files),
                }
            }
        }
        past.truncate(PAST_MAX);
        self.anchor_in_the_past(root, &past, files);
    }

    /// Anchors a memory at the current content of its file, if there is one.
    fn set_to_now(&mut self, id: MemoryId, path: &str, files: &mut Files<'_>) {
        if let Some(content) = files.content(path) {
            self.set(id, path, content);
        }
    }

    fn set(&mut self, id: MemoryId, path: &str, content: &SketchedContent) {
        self.kept.contents.entry(content.hash.clone()).or_insert_with(|| content.sketch());
        let anchor = self.kept.memories.entry(id).or_default();
        anchor.files.insert(path.to_owned(), Some(content.hash.clone()));
    }

    /// Anchors memories at the contents of files when they were learned, if git has them.
    fn anchor_in_the_past(
        &mut self,
        root: &Path,
        past: &[(MemoryId, &str, Timestamp)],
        files: &mut Files<'_>,
    ) {
        if past.is_empty() {
            return;
        }
        let commits = blobs::commits(root);
        let (known, unknown): (Vec<_>, Vec<_>) = past
            .iter()
            .map(|&(id, path, at)| (id, path, commit_at(&commits, at)))
            .partition(|(.., commit)| commit.is_some());
        let wanted: Vec<(String, String)> = known
            .iter()
            .filter_map(|&(_, path, commit)| Some((commit?.to_owned(), path.to_owned())))
            .collect();
        let asked = (!wanted.is_empty()).then(|| blobs::contents(root, &wanted, FILE_BYTES_MAX));
        let blobs = asked.flatten().unwrap_or_else(|| vec![Blob::Missing; known.len()]);
        let known = known.into_iter().zip(blobs);
        let unknown = unknown.into_iter().map(|of| (of, Blob::Missing));
        for ((id, path, _), blob) in known.chain(unknown) {
            let content = match &blob {
                Blob::Content(bytes) => SketchedContent::of(bytes),
                Blob::Later => continue,
                Blob::Missing | Blob::TooLarge => None,
            };
            let anchor = self.kept.memories.entry(id).or_default();
            anchor.files.insert(path.to_owned(), None);
            match content {
                Some(content) => self.set(id, path, &content),
                None => self.set_to_now(id, path, files),
            }
        }
    }

    /// Records the places of names that have not been searched yet, or were not found before.
    fn anchor_names(&mut self, root: &Path, subjects: &[Subject<'_>], words: &FoundWords) {
        let mut past: Vec<(MemoryId, &str, Timestamp)> = Vec::new();
        for subject in subjects {
            let Some(anchor) = self.kept.memories.get_mut(&subject.id) else { continue };
            anchor.names.retain(|name, _| subject.names.contains(name));
            let age_ms = self.now.0 - subject.at.0;
            for name in &subject.names {
                let Some(is) = words.seen(name) else { continue };
                match anchor.names.get(name) {
                    Some(NamePlace::Nowhere) | None if is != NamePlace::Nowhere => {
                        anchor.names.insert(name.clone(), is);
                    }
                    None if age_ms >= RECENT_MS => past.push((subject.id, name, subject.at)),
                    // The name was removed by the session in which the memory was learned.
                    Some(NamePlace::Text | NamePlace::Path(_))
                        if is == NamePlace::Nowhere && age_ms < COMMITTED_MS =>
                    {
                        anchor.names.insert(name.clone(), is);
                    }
                    None => drop(anchor.names.insert(name.clone(), is)),
                    Some(_) => {}
                }
            }
        }
        self.anchor_names_in_the_past(root, &past);
    }

    /// Records the places of names when their memories were learned, if git has them.
    fn anchor_names_in_the_past(&mut self, root: &Path, past: &[(MemoryId, &str, Timestamp)]) {
        if past.is_empty() {
            return;
        }
        let commits = blobs::commits(root);
        let mut of_commits: BTreeMap<Option<&str>, Vec<(MemoryId, &str)>> = BTreeMap::new();
        for &(id, name, at) in past {
            let commit = commit_at(&commits, at);
            let is_known = of_commits.contains_key(&commit);
            if is_known || commit.is_none() || of_commits.len() < PAST_COMMITS_MAX {
                of_commits.entry(commit).or_default().push((id, name));
            }
        }
        let asked: Vec<&str> = of_commits.keys().copied().flatten().collect();
        let names = of_commits.values().flatten().map(|(_, name)| *name).collect();
        let Some(mut words) = words_then(root, &asked, &names) else { return };
        let mut words = words.drain(..);
        for (commit, of) in of_commits {
            let words = commit.and_then(|_| words.next()).unwrap_or_default();
            for (id, name) in of {
                // If git does not report a place for the name, the name counts as missing at that time.
                let seen = words.seen(name).unwrap_or(NamePlace::Nowhere);
                let anchor = self.kept.memories.entry(id).or_default();
                anchor.names.insert(name.to_owned(), seen);
            }
        }
    }

    /// Returns, by memory, the names that occurred earlier and that neither the working tree nor HEAD contains now.
    /// They are in the order of the text, each with its earlier path.
    fn lost_names<'a>(
        &self,
        subjects: &'a [Subject<'_>],
        files: &Files<'_>,
        words: &FoundWords,
    ) -> BTreeMap<MemoryId, Vec<(&'a str, Option<String>)>> {
        let mut lost: BTreeMap<MemoryId, Vec<(&str, Option<String>)>> = BTreeMap::new();
        for subject in subjects {
            let Some(anchor) = self.kept.memories.get(&subject.id) else { continue };
            for name in &subject.names {
                let path = match anchor.names.get(name) {
                    Some(NamePlace::Path(path)) => Some(path.clone()),
                    Some(NamePlace::Text) => None,
                    Some(NamePlace::Nowhere) | None => continue,
                };
                if words.seen(name) == Some(NamePlace::Nowhere) {
                    lost.entry(subject.id).or_default().push((name, path));
                }
            }
        }
        let names: BTreeSet<&str> = lost.values().flatten().map(|(name, _)| *name).collect();
        if names.is_empty() {
            return lost;
        }
        let Some(committed) = files.committed(&names) else { return BTreeMap::new() };
        lost.values_mut().for_each(|names| names.retain(|(name, _)| !committed.contains(*name)));
        lost
    }

    /// Returns the stale memories: at least half of a memory's files have changed, or a name no longer occurs.
    fn judge(
        &self,
        subjects: &[Subject<'_>],
        files: &mut Files<'_>,
        words: &FoundWords,
    ) -> BTreeMap<MemoryId, Staleness> {
        let anchored = |subject: &Subject<'_>| {
            let anchor = self.kept.memories.get(&subject.id);
            let files = anchor.into_iter().flat_map(|anchor| &anchor.files);
            files
                .filter_map(|(path, hash)| Some((path.as_str(), hash.as_ref()?)))
                .collect::<Vec<(&str, &ContentHash)>>()
        };
        let mut missing: BTreeMap<&str, Timestamp> = BTreeMap::new();
        let found: Vec<(&Subject<'_>, Vec<(&str, &ContentHash)>)> =
            subjects.iter().map(|subject| (subject, anchored(subject))).collect();
        for (subject, anchored) in &found {
            for (path, _) in anchored {
                if *files.now(path) == Now::Missing {
                    // The commit that moved the file may be a little older than the memory.
                    let at = Timestamp(subject.at.0.saturating_sub(DAY_MS));
                    let known = missing.entry(path).or_insert(at);
                    *known = at.min(*known);
                }
            }
        }
        let lost = self.lost_names(subjects, files, words);
        for subject in subjects {
            let paths = lost.get(&subject.id).into_iter().flatten();
            for path in paths.filter_map(|(_, path)| path.as_deref()) {
                let at = Timestamp(subject.at.0.saturating_sub(DAY_MS));
                let known = missing.entry(path).or_insert(at);
                *known = at.min(*known);
            }
        }
        let absent = files.absent(&missing);
        let mut stale = BTreeMap::new();
        for (subject, anchored) in found {
            let of_file = |&(path, hash): &(&str, &ContentHash)| {
                let (change, target) = match files.now(path) {
                    Now::Content(now) if now == hash => return None,
                    Now::Content(_) => {
                        let sketch = self.kept.contents.get(hash)?;
                        let is = files.is_rewritten(path, hash, sketch)?;
                        is.then_some((Change::Rewritten, None))?
                    }
                    Now::Missing => match absent.get(path)? {
                        Absent::Undecided => return None,
                        Absent::Moved(target) => (Change::Moved, Some(target.clone())),
                        Absent::Gone => (Change::Gone, None),
                    },
                    Now::Unknown => return None,
                };
                Some(Staleness { change, name: path.to_owned(), target })
            };
            let count = anchored.len();
            let changed: Vec<Staleness> = anchored.iter().filter_map(of_file).collect();
            if changed.len() * 2 >= count
                && let Some(worst) =
                    changed.into_iter().min_by_key(|changed| Reverse(changed.change))
            {
                stale.insert(subject.id, worst);
            }
            let mut names = lost.get(&subject.id).into_iter().flatten();
            // A name that is the path of a moved file is not lost.
            let gone = names.find(|(_, path)| {
                let path = path.as_ref().and_then(|path| absent.get(path));
                matches!(path, None | Some(Absent::Gone))
            });
            let is_worse = stale.get(&subject.id).is_none_or(|is| is.change < Change::NameGone);
            if let Some((name, _)) = gone.filter(|_| is_worse) {
                stale.insert(subject.id, Staleness::without((*name).to_owned()));
            }
        }
        stale
    }

    /// Anchors stale memories again if a session relied on them with success. Returns these memories.
    fn confirm(
        &mut self,
        tree: &TreeDir,
        stale: &BTreeMap<MemoryId, Staleness>,
        subjects: &[Subject<'_>],
        files: &mut Files<'_>,
    ) -> Vec<MemoryId> {
        let subjects: Vec<&Subject<'_>> =
            subjects.iter().filter(|subject| may_be_confirmed(stale.get(&subject.id))).collect();
        let paths = |subject: &&Subject<'_>| {
            let target = stale.get(&subject.id).and_then(|stale| stale.target.clone());
            let paths = subject.paths.iter().map(|(path, _)| (*path).to_owned()).chain(target);
            (subject.id, paths.collect())
        };
        let memories: BTreeMap<MemoryId, BTreeSet<String>> = subjects.iter().map(paths).collect();
        let modified = |path: &str| files.modified(path);
        let confirmed = relied::confirmed(tree, &self.sessions, &memories, &modified, self.now);
        let mut done = Vec::new();
        for subject in subjects {
            let Some(&at) = confirmed.get(&subject.id) else { continue };
            let anchor = self.kept.memories.entry(subject.id).or_default();
            if at <= anchor.at {
                continue;
            }
            // A removed file has no content for later comparisons.
            let gone = subject.paths.iter().map(|(path, _)| ((*path).to_owned(), None));
            (anchor.at, anchor.files) = (at, gone.collect());
            for (path, _) in &subject.paths {
                self.set_to_now(subject.id, path, files);
            }
            done.push(subject.id);
        }
        done
    }
}

/// Returns the newest commit that can contain the changes of a session at this time; `None` if there is none. `commits`
/// are sorted newest first.
fn commit_at(commits: &[(Timestamp, String)], at: Timestamp) -> Option<&str> {
    let until = Timestamp(at.0.saturating_add(COMMITTED_MS));
    let found = commits.iter().find(|(committed, _)| *committed <= until);
    found.map(|(_, commit)| commit.as_str())
}

/// Whether a session that relied on a memory may confirm it. If a name no longer occurs, it may not, because editing a
/// file does not restore the name.
fn may_be_confirmed(staleness: Option<&Staleness>) -> bool {
    staleness.is_some_and(|staleness| staleness.change != Change::NameGone)
}

/// Whether changes of files and names can make a memory untrue. A wish stays valid, and the results of a session stay
/// facts about the past.
fn depends(memory: &Memory) -> bool {
    matches!(memory.status, Status::Active | Status::Held)
        && memory.superseded_by.is_none()
        && !matches!(memory.kind, Kind::Preference | Kind::Session)
}

/// Returns the names that a memory depends on. The names of a failed approach do not count: its code is often removed,
/// and the memory remains true.
fn names_of(memory: &Memory) -> Vec<String> {
    match memory.kind {
        Kind::FailedApproach => Vec::new(),
        _ => code_names::of(memory),
    }
}

/// Whether a path may name a file inside the working tree that is neither a file of this program nor of git.
fn is_a_file_here(path: &str) -> bool {
    let mut steps = Path::new(path).components();
    let is_inside = steps.all(|step| match step {
        Component::Normal(name) => name != STORE_DIR && name != ".git",
        _ => false,
    });
    is_inside && !path.is_empty() && !is_glob(path) && !path.contains(['\n', '\0'])
}

#[cfg(test)]
mod tests;
