//! Receipts that hooks left: what was injected, why, and what it cost.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use memory_store::layout::TreeDir;
use memory_store::{MemoryId, Timestamp};
use serde::{Deserialize, Serialize};

/// Bytes of one day's file that are read.
const DAY_BYTES_MAX: u64 = 32 << 20;

/// Bytes of the end of a day's file in which one session is looked for.
const TAIL_BYTES_MAX: u64 = 1 << 20;

/// Days on which one session is looked for: it may have gone over midnight.
const DAYS_OF_SESSION: usize = 2;

/// One injection, as its line says it. Fields that are missing were written by another version.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// When.
    pub at: Timestamp,
    /// The hook event.
    pub event: String,
    /// The Claude Code session.
    pub session: String,
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Memories and turns that were given.
    pub memories: Vec<Given>,
    /// Tokens of the text.
    pub tokens: u64,
    /// Microseconds that the hook took.
    pub micros: u64,
    /// Bytes of the text.
    pub text_bytes: usize,
}

/// A memory that was given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Given {
    /// The memory.
    pub id: MemoryId,
    /// Why.
    #[serde(default)]
    pub why: String,
    /// Its score.
    #[serde(default)]
    pub score: f32,
    /// Where its piece starts in the text, in bytes.
    #[serde(default)]
    pub start: usize,
    /// Where it ends.
    #[serde(default)]
    pub end: usize,
}

/// Reads the last receipts of a working tree, newest first.
pub fn last(tree: &TreeDir, count: usize, wanted: impl Fn(&Receipt) -> bool) -> Vec<Receipt> {
    let mut found = Vec::new();
    for file in files(tree) {
        let mut of_day: Vec<Receipt> = read(&file);
        of_day.retain(&wanted);
        found.extend(of_day.into_iter().rev());
        if found.len() >= count {
            break;
        }
    }
    found.truncate(count);
    found
}

/// Reads the receipts of one session, oldest first, from the last days alone and the ends of their files: for who may
/// not wait.
pub fn of_session(tree: &TreeDir, session: &str) -> Vec<Receipt> {
    let mut found = Vec::new();
    for file in files(tree).into_iter().take(DAYS_OF_SESSION).rev() {
        let text = tail(&file).unwrap_or_default();
        // Few lines are this session's, and only those are parsed.
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
        let lines = lines.filter(|line| line.contains(session));
        found.extend(lines.filter_map(|line| serde_json::from_str::<Receipt>(line).ok()));
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

/// The files with receipts, newest first: they are named by date.
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

/// Reads one day's receipts, oldest first. Lines that make no sense are left out.
fn read(file: &Path) -> Vec<Receipt> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    BufReader::new(file.take(DAY_BYTES_MAX))
        .split(b'\n')
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_slice(&line).ok())
        .collect()
}
