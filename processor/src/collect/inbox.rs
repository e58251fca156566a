//! The inbox: hooks append notes, and the processor stores the offset up to which it has processed them.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::exchange::note::Note;
use memory_store::handoff::Handoff;
use memory_store::layout::TreeDir;
use memory_store::progress::Progress;
use memory_store::settings::Settings;

use crate::private_files::write_json;

/// Size in bytes above which the inbox is emptied after all notes are processed.
const INBOX_BYTES_MAX: u64 = 1 << 20;

/// Minimum number of milliseconds between two records of the time of a run if nothing else changed.
const RUN_NOTED_MS: i64 = 60_000;

/// Records that a successful run processed the first `taken` bytes of the inbox. Writes nothing if the same is recorded
/// already and the last run was less than `RUN_NOTED_MS` ago.
pub fn taken_up(state: &TreeDir, taken: u64, settings: &Settings, now: Timestamp) -> Result<()> {
    let path = &state.progress;
    let before = Progress::read(path);
    let done = Progress {
        inbox_bytes: taken,
        last_run: before.last_run,
        due_minutes: Some(settings.due_minutes),
        ..Progress::default()
    };
    if done == before && now.0 - before.last_run.0 < RUN_NOTED_MS {
        return Ok(());
    }
    write_json(path, &Progress { last_run: now, ..done })?;
    if taken > INBOX_BYTES_MAX {
        empty(state, taken)?;
    }
    Ok(())
}

/// Records that a run failed. The inbox stays unchanged, so the next run processes its notes.
pub fn failed(state: &TreeDir, failure: &str, now: Timestamp) -> Result<()> {
    let path = &state.progress;
    let before = Progress::read(path);
    let same = before.failure.as_deref() == Some(failure);
    write_json(
        path,
        &Progress {
            last_run: now,
            failures: before.failures.saturating_add(1),
            failure: Some(failure.to_owned()),
            announced: before.announced && same,
            ..before
        },
    )
}

/// Empties the inbox unless hooks added notes since. The stored offset is reset first, so that new notes do not count
/// as processed. If a run is killed between the two steps, the same notes are processed again, which is harmless.
fn empty(state: &TreeDir, taken: u64) -> Result<()> {
    let inbox = &state.inbox;
    let file = fs::OpenOptions::new()
        .write(true)
        .open(inbox)
        .with_context(|| inbox.display().to_string())?;
    if file.metadata().map_or(0, |metadata| metadata.len()) != taken {
        return Ok(());
    }
    let progress = Progress { inbox_bytes: 0, ..Progress::read(&state.progress) };
    write_json(&state.progress, &progress)?;
    let left = Handoff::read(&state.handoff);
    if left.inbox_bytes > 0 {
        write_json(&state.handoff, &Handoff { inbox_bytes: 0, ..left })?;
    }
    file.set_len(0).with_context(|| inbox.display().to_string())
}

/// Returns the notes in the last `bytes` bytes of the inbox. Lines that are incomplete or cannot be read are skipped.
pub fn last_notes(state: &TreeDir, bytes: u64) -> Vec<Note> {
    let Ok(mut file) = fs::File::open(&state.inbox) else { return Vec::new() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut text = Vec::new();
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(bytes)))
        .and_then(|_| file.take(bytes).read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_counts_the_bytes_of_an_emptied_inbox_begins_again() {
        let home = tempfile::tempdir().unwrap();
        let state = TreeDir::at(home.path().to_owned());
        let length = INBOX_BYTES_MAX + 1;
        fs::File::create(&state.inbox).unwrap().set_len(length).unwrap();
        let left = Handoff { inbox_bytes: length, ..Handoff::default() };
        write_json(&state.handoff, &left).unwrap();
        taken_up(&state, length, &Settings::default(), Timestamp(1)).unwrap();
        assert_eq!(fs::metadata(&state.inbox).unwrap().len(), 0);
        assert_eq!(Progress::read(&state.progress).inbox_bytes, 0);
        assert_eq!(Handoff::read(&state.handoff).inbox_bytes, 0);
    }
}
