//! Marks: the length of each transcript at the last scan. They are used to find the projects of new records.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memory_store::ProjectId;
use memory_store::layout::{Tree, UserDirs};

use crate::collect::discover;
use crate::private_files::modified_ns;

/// Maximum number of bytes at the end of the new part that are searched for working directories.
const NEW_BYTES_MAX: u64 = 1 << 20;
/// Number of bytes at the beginning of a transcript that are searched if the new part contains no working directory.
const HEAD_BYTES_MAX: u64 = 128 << 10;

/// Marks of transcripts. A mark consists of a few numbers; the key is a hash of the path.
#[derive(Debug, Default)]
pub struct TranscriptMarks(HashMap<u64, TranscriptMark>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TranscriptMark {
    len: u64,
    modified_ns: i128,
}

impl TranscriptMarks {
    /// Sets the marks of all transcripts to their current state.
    pub fn note_all(&mut self, folder: &Path) {
        let found = discover::transcripts_in(folder).unwrap_or_default();
        self.0 = found
            .transcripts
            .iter()
            .map(|transcript| {
                let mark =
                    TranscriptMark { len: transcript.len, modified_ns: transcript.modified_ns };
                (key(&transcript.path), mark)
            })
            .collect();
    }

    /// Scans all transcripts. Returns the projects of those that changed.
    pub fn rescan(&mut self, dirs: &UserDirs, folder: &Path) -> BTreeSet<ProjectId> {
        let before = std::mem::take(&mut self.0);
        let found = discover::transcripts_in(folder).unwrap_or_default();
        let mut projects = BTreeSet::new();
        for transcript in found.transcripts {
            let key = key(&transcript.path);
            let mark = TranscriptMark { len: transcript.len, modified_ns: transcript.modified_ns };
            let was = before.get(&key).copied();
            if was != Some(mark) {
                projects.extend(projects_of(dirs, &transcript.path, was.unwrap_or_default().len));
            }
            self.0.insert(key, mark);
        }
        projects
    }

    /// Examines these transcripts. Returns the projects of those that changed.
    pub fn look_at(&mut self, dirs: &UserDirs, paths: &BTreeSet<PathBuf>) -> BTreeSet<ProjectId> {
        let mut projects = BTreeSet::new();
        for path in paths {
            let Some(file) = path.symlink_metadata().ok().filter(Metadata::is_file) else {
                self.0.remove(&key(path));
                continue;
            };
            let mark = TranscriptMark { len: file.len(), modified_ns: modified_ns(&file) };
            let was = self.0.insert(key(path), mark);
            if was != Some(mark) {
                projects.extend(projects_of(dirs, path, was.unwrap_or_default().len));
            }
        }
        projects
    }
}

fn key(path: &Path) -> u64 {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// Returns the trusted projects of the records after byte `from`.
fn projects_of(dirs: &UserDirs, path: &Path, from: u64) -> BTreeSet<ProjectId> {
    let cwds = match new_cwds(path, from) {
        Ok(cwds) if cwds.is_empty() => cwds_in(path, 0, HEAD_BYTES_MAX),
        cwds => cwds,
    };
    // A transcript that is missing or unreadable now is examined when it changes again.
    let cwds = cwds.unwrap_or_default();
    let project = |cwd: &String| {
        let cwd = Path::new(cwd);
        cwd.is_absolute().then(|| Tree::find(dirs, cwd)).flatten().map(|tree| tree.project)
    };
    cwds.iter().filter_map(project).collect()
}

fn new_cwds(path: &Path, from: u64) -> io::Result<BTreeSet<String>> {
    let len = path.metadata()?.len();
    // A shorter file is a different file, so it is read from the beginning.
    let from = if from > len { 0 } else { from };
    cwds_in(path, from.max(len.saturating_sub(NEW_BYTES_MAX)), NEW_BYTES_MAX)
}

fn cwds_in(path: &Path, from: u64, bytes: u64) -> io::Result<BTreeSet<String>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut lines = crate::transcript::lines(BufReader::new(file.take(bytes)));
    let mut cwds = BTreeSet::new();
    while let Some(line) = lines.next_whole()? {
        cwds.extend(crate::transcript::place(line).map(|place| place.cwd));
    }
    Ok(cwds)
}
