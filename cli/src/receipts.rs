//! The receipts of hooks, which record injections with their reasons and costs.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memory_store::layout::TreeDir;
use memory_store::{MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

/// Maximum bytes that are read of one day's file.
const DAY_BYTES_MAX: u64 = 32 << 20;

/// Bytes at the end of a day's file that are searched for the receipts of a session.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// Number of days that are searched for the receipts of a session; more than one, since a session may continue after
/// midnight.
const DAYS_OF_SESSION: usize = 2;

/// The receipt of one injection. A field is missing if another version of the program wrote the receipt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InjectionReceipt {
    /// Time of the injection.
    pub at: Timestamp,
    /// The hook event.
    pub event: String,
    /// Id of the Claude Code session.
    pub session: String,
    /// Id of the subagent, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Injected memories and turns.
    pub memories: Vec<GivenEntry>,
    /// Number of tokens in the text.
    pub tokens: u64,
    /// Duration of the hook in microseconds.
    pub micros: u64,
    /// Size of the text in bytes.
    pub text_bytes: usize,
}

/// An injected memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GivenEntry {
    /// The memory.
    pub id: MemoryId,
    /// Reason of the injection.
    #[serde(default)]
    pub why: String,
    /// Score of the memory in the search.
    #[serde(default)]
    pub score: f32,
    /// Start of the memory's part of the text, in bytes.
    #[serde(default)]
    pub start: usize,
    /// End of the memory's part of the text, in bytes.
    #[serde(default)]
    pub end: usize,
}

/// Reads the last receipts of a working tree, newest first.
pub fn last(
    tree: &TreeDir,
    count: usize,
    wanted: impl Fn(&InjectionReceipt) -> bool,
) -> Vec<InjectionReceipt> {
    let mut found = Vec::new();
    for file in files(tree) {
        let mut of_day: Vec<InjectionReceipt> = read(&file);
        of_day.retain(&wanted);
        found.extend(of_day.into_iter().rev());
        if found.len() >= count {
            break;
        }
    }
    found.truncate(count);
    found
}

/// Reads the receipts of one session, oldest first, for callers with little time: only the ends of the files of the
/// last days are read.
pub fn of_session(tree: &TreeDir, session: &str) -> Vec<InjectionReceipt> {
    let mut found = Vec::new();
    for file in files(tree).into_iter().take(DAYS_OF_SESSION).rev() {
        let text = tail(&file).unwrap_or_default();
        // Only lines that contain the session's id are parsed, which are few.
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
        let lines = lines.filter(|line| line.contains(session));
        found.extend(lines.filter_map(|line| serde_json::from_str::<InjectionReceipt>(line).ok()));
    }
    found.retain(|receipt| receipt.session == session);
    found
}

fn tail(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES_MAX)))?;
    let mut text = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the files with receipts, newest first, by the date in their names.
fn files(tree: &TreeDir) -> Vec<PathBuf> {
    let folder = tree.receipts("x").parent().map(Path::to_owned).unwrap_or_default();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files.reverse();
    files
}

/// A reader of new receipts.
#[derive(Debug)]
pub struct Follower {
    tree: TreeDir,
    /// The last file that was read, followed by the number of bytes read from it.
    file: PathBuf,
    read: u64,
}

impl Follower {
    /// Returns a reader that starts at the beginning of the newest day.
    pub fn new(tree: &TreeDir) -> Self {
        let file = files(tree).into_iter().next().unwrap_or_default();
        Self { tree: tree.clone(), file, read: 0 }
    }

    /// Returns the receipts written since the last call, oldest first.
    pub fn next(&mut self) -> Vec<InjectionReceipt> {
        let mut found = Vec::new();
        for file in files(&self.tree)
            .into_iter()
            .rev()
            .filter(|file| *file >= self.file)
            .collect::<Vec<_>>()
        {
            if file != self.file {
                (self.file, self.read) = (file, 0);
            }
            found.extend(self.rest());
        }
        found
    }

    /// Reads the rest of the file up to the last complete line. An unreadable file counts as empty, since it may become
    /// readable.
    fn rest(&mut self) -> Vec<InjectionReceipt> {
        let Ok(mut file) = File::open(&self.file) else { return Vec::new() };
        let len = file.metadata().map_or(0, |meta| meta.len());
        // The file is shorter than the part already read because a purge rewrote it.
        if len < self.read {
            self.read = len;
        }
        let mut text = Vec::new();
        let is_read = file
            .seek(SeekFrom::Start(self.read))
            .and_then(|_| file.take(DAY_BYTES_MAX).read_to_end(&mut text));
        let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if is_read.is_err() {
            return Vec::new();
        }
        self.read += end as u64;
        let lines = text[..end].split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

/// Reads one day's receipts, oldest first. Invalid lines are skipped.
fn read(file: &Path) -> Vec<InjectionReceipt> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    BufReader::new(file.take(DAY_BYTES_MAX))
        .split(b'\n')
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_slice(&line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str) -> String {
        format!("{{\"session\":\"{session}\"}}\n")
    }

    #[test]
    fn receipts_are_followed_over_midnight_and_in_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let tree = TreeDir::at(folder.path().to_owned());
        let day = |date: &str| tree.receipts(date);
        fs::create_dir_all(day("x").parent().unwrap()).unwrap();
        let mut follower = Follower::new(&tree);
        let mut sessions = || -> Vec<String> {
            follower.next().into_iter().map(|receipt| receipt.session).collect()
        };
        assert!(sessions().is_empty());
        fs::write(day("2026-10-01"), line("a") + "{\"session\":").unwrap();
        assert_eq!(sessions(), ["a"]);
        fs::write(day("2026-10-01"), line("a") + &line("b")).unwrap();
        fs::write(day("2026-10-02"), line("c")).unwrap();
        assert_eq!(sessions(), ["b", "c"]);
        assert!(sessions().is_empty());
        // The file is replaced by a shorter one.
        fs::write(day("2026-10-02"), "").unwrap();
        assert!(sessions().is_empty());
        fs::write(day("2026-10-02"), line("d")).unwrap();
        assert_eq!(sessions(), ["d"]);
    }
}
