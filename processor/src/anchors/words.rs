//! Search for texts in the files of a working tree and in their paths.
//!
//! The search skips unchanged files. Each text that was found has a file as its *witness*. A text that no file
//! contained is searched only in files that changed since. All files count that git tracks or would track. For a
//! tracked file that is missing on disk, as in a sparse checkout, the staged content is searched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use memory_store::fs::file_stamp::modified_ns;
use memory_store::layout::STORE_DIR;
use memory_store::store::open_below;
use memory_store::text::term_hash;
use serde::{Deserialize, Serialize};

use super::code_names;
use super::files::{FILE_BYTES_MAX, Files};
use crate::git::blobs::{self, Blob};

/// Maximum number of files of a working tree that are searched for names. In a larger tree every name counts as
/// present.
const FILES_MAX: usize = 20_000;
/// Maximum number of bytes that are read for one publication.
const BYTES_MAX: u64 = 128 << 20;
/// Maximum time for reading files in one publication.
const READ_TIME_MAX: Duration = Duration::from_secs(5);
/// Maximum number of requests to git for older contents.
const PORTIONS_MAX: usize = 6;
/// Number of leading bytes used to distinguish text from other content, as in git.
const TEXT_BYTES: usize = 8000;

/// Result of a search, which makes the next search faster.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Searched {
    /// The file in which each text was found.
    witnesses: BTreeMap<String, String>,
    /// Texts that are in none of the files in `stamps`.
    absent: BTreeSet<String>,
    /// One hash of path, length and time of change for each searched file.
    stamps: BTreeSet<u64>,
}

/// Place of a name at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NamePlace {
    /// The text is in no file and in no path.
    Nowhere,
    /// The text is in the content of a file, or is a part of a path.
    Text,
    /// The name is the path of this file, or the end of it.
    Path(String),
}

/// Result of a search: the texts that were found.
#[derive(Debug, Default)]
pub struct FoundWords {
    texts: BTreeSet<String>,
    /// For each text that ends the path of a file or folder: the path of that file, or of a file in that folder.
    paths: BTreeMap<String, String>,
    /// Whether all contents were searched.
    is_complete: bool,
}

impl FoundWords {
    /// Returns the place of a name; `None` if the search was incomplete and did not find it.
    pub fn seen(&self, name: &str) -> Option<NamePlace> {
        if let Some(path) = self.paths.get(name).filter(|_| code_names::may_be_path(name)) {
            return Some(NamePlace::Path(path.clone()));
        }
        let has = |text: &String| self.texts.contains(text);
        if code_names::forms(name).iter().any(|form| form.iter().all(has)) {
            return Some(NamePlace::Text);
        }
        self.is_complete.then_some(NamePlace::Nowhere)
    }

    /// Adds the texts that occur in paths.
    fn add_paths<'p>(&mut self, search: &TextSearch, paths: impl Iterator<Item = &'p str>) {
        for path in paths {
            search.each(path.as_bytes(), |text, start, end| {
                self.texts.insert(text.to_owned());
                let begins = start == 0 || path.as_bytes()[start - 1] == b'/';
                let ends = end == path.len() || path.as_bytes()[end] == b'/';
                if begins && ends && !self.paths.contains_key(text) {
                    self.paths.insert(text.to_owned(), path.to_owned());
                }
            });
        }
    }
}

/// Texts of a search, with an automaton that finds all of them in one pass.
struct TextSearch {
    texts: Vec<String>,
    matcher: AhoCorasick,
}

impl TextSearch {
    fn new(texts: Vec<String>) -> Option<Self> {
        let matcher = AhoCorasick::new(&texts).ok()?;
        Some(Self { texts, matcher })
    }

    /// Calls `found` for each occurrence of a text that begins and ends at word boundaries.
    fn each(&self, content: &[u8], mut found: impl FnMut(&str, usize, usize)) {
        for hit in self.matcher.find_overlapping_iter(content) {
            let text = &self.texts[hit.pattern().as_usize()];
            if is_whole(content, hit.start(), hit.end(), text.contains('-')) {
                found(text, hit.start(), hit.end());
            }
        }
    }

    /// Adds the texts that occur in a content. Binary content is skipped.
    fn add(&self, content: &[u8], texts: &mut BTreeSet<String>) {
        if content[..content.len().min(TEXT_BYTES)].contains(&0) {
            return;
        }
        self.each(content, |text, _, _| {
            if !texts.contains(text) {
                texts.insert(text.to_owned());
            }
        });
    }
}

/// Whether a match begins and ends at word boundaries. For a name with hyphens, a hyphen joins words.
fn is_whole(content: &[u8], start: usize, end: usize, has_hyphens: bool) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (before, after) = (&content[..start], &content[end..]);
    let joins = |near: Option<&u8>, next: Option<&u8>| match near {
        Some(b'-') => has_hyphens && next.is_some_and(is_of_word),
        near => near.is_some_and(is_of_word),
    };
    let goes_on = joins(after.first(), after.get(1));
    let went_before = joins(before.last(), before.len().checked_sub(2).map(|at| &before[at]));
    !goes_on && !went_before
}

/// A file in which names are searched.
struct NamedFile {
    path: String,
    stamp: u64,
    is_changed: bool,
}

impl Files<'_> {
    /// Searches names in the working tree. The result is empty if git does not list the files.
    pub fn words(&mut self, names: &BTreeSet<&str>) -> FoundWords {
        let texts = texts_of(names);
        if texts.is_empty() || !self.is_in_repository() {
            return FoundWords::default();
        }
        self.search(texts).unwrap_or_default()
    }

    fn search(&mut self, texts: BTreeSet<String>) -> Option<FoundWords> {
        let tracked = blobs::tracked(self.root)?;
        let untracked = blobs::untracked(self.root)?;
        let is_open = |path: &str| {
            !path.split('/').any(|step| step == STORE_DIR) && !self.ignore.covers(path)
        };
        let paths: Vec<&str> = tracked
            .iter()
            .map(|(path, _)| path.as_str())
            .chain(untracked.iter().map(String::as_str))
            .filter(|path| is_open(path))
            .collect();
        if paths.len() > FILES_MAX {
            return None;
        }
        let mut words = FoundWords { is_complete: true, ..FoundWords::default() };
        let all = TextSearch::new(texts.iter().cloned().collect())?;
        words.add_paths(&all, paths.iter().copied());
        let files = self.stamped(&paths);
        let on_disk: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        self.read_texts(&texts, &files, &mut words);
        let missing: BTreeSet<String> = texts.difference(&words.texts).cloned().collect();
        let absent =
            tracked.iter().filter(|(path, _)| is_open(path) && !on_disk.contains(path.as_str()));
        let ids = absent.map(|(_, id)| id.clone()).collect();
        let (found, is_complete) = in_blobs(self.root, &missing, ids);
        words.texts.extend(found.into_values().flatten());
        words.is_complete &= is_complete;
        Some(words)
    }

    /// Returns the regular files among the paths. Files that changed since the last search are marked.
    fn stamped(&self, paths: &[&str]) -> Vec<NamedFile> {
        let known = &self.compared.searched.stamps;
        let listed = |path: &&str| {
            let file = fs::symlink_metadata(self.root.join(path)).ok()?;
            let modified = modified_ns(&file).filter(|_| file.is_file())?;
            let stamp = term_hash(&format!("{path}\0{}\0{modified}", file.len()));
            Some(NamedFile { path: (*path).to_owned(), stamp, is_changed: !known.contains(&stamp) })
        };
        paths.iter().filter_map(listed).collect()
    }

    /// Adds the texts that files contain, and stores the witnesses.
    fn read_texts(
        &mut self,
        texts: &BTreeSet<String>,
        files: &[NamedFile],
        words: &mut FoundWords,
    ) {
        let Searched { mut witnesses, absent, .. } = std::mem::take(&mut self.compared.searched);
        let unchanged: BTreeSet<&str> =
            files.iter().filter(|file| !file.is_changed).map(|file| file.path.as_str()).collect();
        witnesses.retain(|text, path| texts.contains(text) && unchanged.contains(path.as_str()));
        let unseen = |witnesses: &BTreeMap<String, String>| -> BTreeSet<String> {
            texts.iter().filter(|text| !witnesses.contains_key(*text)).cloned().collect()
        };
        let mut reading = BoundedReading::default();
        let mut wanted = unseen(&witnesses);
        for is_changed in [true, false] {
            if !is_changed {
                // The last search did not find the texts in `absent` in these unchanged files.
                wanted = unseen(&witnesses).difference(&absent).cloned().collect();
            }
            let portion = files.iter().filter(|file| file.is_changed == is_changed);
            reading.look(self, portion, &wanted, &mut witnesses);
        }
        words.is_complete &= !reading.is_cut;
        words.texts.extend(witnesses.keys().cloned());
        let absent = if reading.is_cut { BTreeSet::new() } else { unseen(&witnesses) };
        let stamps = files.iter().map(|file| file.stamp).collect();
        self.compared.searched = Searched { witnesses, absent, stamps };
    }

    /// Returns the names that the checked-out commit contains or for which this is unclear; `None` if git does not
    /// answer.
    pub fn committed(&self, names: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
        let head = blobs::head(self.root)?;
        let mut words = words_then(self.root, &[&head], names)?;
        let words = words.pop()?;
        let is_there = |name: &&&str| !matches!(words.seen(name), Some(NamePlace::Nowhere));
        Some(names.iter().filter(is_there).map(|name| (*name).to_owned()).collect())
    }
}

/// Returns, for each of these commits, the names that its files contained; `None` if git does not answer. Only files
/// that differ from the working tree are searched.
pub fn words_then(
    root: &std::path::Path,
    commits: &[&str],
    names: &BTreeSet<&str>,
) -> Option<Vec<FoundWords>> {
    let texts = texts_of(names);
    let search = TextSearch::new(texts.iter().cloned().collect())?;
    let differing: Vec<Vec<(String, String)>> =
        commits.iter().map(|commit| blobs::differing(root, commit)).collect::<Option<_>>()?;
    let is_ours = |path: &str| !path.split('/').any(|step| step == STORE_DIR);
    let ids = differing.iter().flatten().filter(|(path, _)| is_ours(path));
    let (found, is_complete) = in_blobs(root, &texts, ids.map(|(_, id)| id.clone()).collect());
    let words = differing.into_iter().map(|files| {
        let files: Vec<_> = files.into_iter().filter(|(path, _)| is_ours(path)).collect();
        let mut words = FoundWords { is_complete, ..FoundWords::default() };
        words.add_paths(&search, files.iter().map(|(path, _)| path.as_str()));
        let texts = files.iter().filter_map(|(_, id)| found.get(id)).flatten().cloned();
        words.texts.extend(texts);
        words
    });
    Some(words.collect())
}

/// Returns the texts in each of these git blobs, and whether all blobs were searched.
fn in_blobs(
    root: &std::path::Path,
    texts: &BTreeSet<String>,
    mut ids: BTreeSet<String>,
) -> (BTreeMap<String, BTreeSet<String>>, bool) {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if texts.is_empty() {
        return (found, true);
    }
    let Some(search) = TextSearch::new(texts.iter().cloned().collect()) else {
        return (found, false);
    };
    for _ in 0..PORTIONS_MAX {
        if ids.is_empty() {
            break;
        }
        let asked: Vec<String> = ids.iter().cloned().collect();
        let Some(blobs) = blobs::named(root, &asked, FILE_BYTES_MAX) else { return (found, false) };
        for (id, blob) in asked.into_iter().zip(blobs) {
            match blob {
                Blob::Later => continue,
                Blob::Content(content) => {
                    search.add(&content, found.entry(id.clone()).or_default())
                }
                Blob::Missing | Blob::TooLarge => {}
            }
            ids.remove(&id);
        }
    }
    (found, ids.is_empty())
}

fn texts_of(names: &BTreeSet<&str>) -> BTreeSet<String> {
    names.iter().flat_map(|name| code_names::forms(name)).flatten().collect()
}

/// Counts of bytes and time while files are read for one publication.
struct BoundedReading {
    bytes: u64,
    began: Instant,
    /// Whether reading stopped at a limit.
    is_cut: bool,
}

impl Default for BoundedReading {
    fn default() -> Self {
        Self { bytes: 0, began: Instant::now(), is_cut: false }
    }
}

impl BoundedReading {
    /// Searches texts in files until each text has a witness.
    fn look<'f>(
        &mut self,
        tree: &Files<'_>,
        files: impl Iterator<Item = &'f NamedFile>,
        wanted: &BTreeSet<String>,
        witnesses: &mut BTreeMap<String, String>,
    ) {
        let missing = wanted.iter().filter(|text| !witnesses.contains_key(*text)).cloned();
        let Some(search) = TextSearch::new(missing.collect()) else {
            self.is_cut = true;
            return;
        };
        let mut missing = search.texts.len();
        for file in files {
            if missing == 0 {
                return;
            }
            // A file that cannot be opened is skipped.
            let Ok((open, metadata)) = open_below(tree.root, &tree.root.join(&file.path)) else {
                continue;
            };
            if metadata.len() > FILE_BYTES_MAX {
                continue;
            }
            self.bytes += metadata.len();
            if self.bytes > BYTES_MAX || self.began.elapsed() > READ_TIME_MAX {
                self.is_cut = true;
                return;
            }
            let mut content = Vec::new();
            if open.take(FILE_BYTES_MAX).read_to_end(&mut content).is_err() {
                continue;
            }
            let mut texts = BTreeSet::new();
            search.add(&content, &mut texts);
            let before = witnesses.len();
            for text in texts {
                witnesses.entry(text).or_insert_with(|| file.path.clone());
            }
            missing -= witnesses.len() - before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_counts_where_it_is_a_word_of_its_own() {
        let search =
            TextSearch::new(vec!["retry_all".into(), "retry-all".into(), "retry".into()]).unwrap();
        let found = |content: &str| {
            let mut texts = BTreeSet::new();
            search.add(content.as_bytes(), &mut texts);
            texts.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("x.retry_all(y)"), "retry_all");
        assert_eq!(found("no_retry_all, retry_alls, retry_all2"), "");
        assert_eq!(found("a \u{201c}retry_all\u{201d} in quotes"), "retry_all");
        assert_eq!(found("--retry-all"), "retry retry-all");
        assert_eq!(found("--no-retry-all and retry-all-now"), "retry");
        assert_eq!(found("x-retry_all"), "retry_all");
        assert_eq!(found("\0retry_all"), "");
    }
}
