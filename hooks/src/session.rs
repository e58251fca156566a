//! Session file: an append-only file that records the injections of a session or a subagent.
//!
//! There is only one file per session, because creating a file takes longer than all other work of a hook. The hooks of
//! a session run in parallel, one for each tool call, without a lock. Each appends its records in one write and reads
//! the file back. The first *claim* of an item in the file wins, so all readers agree which hook may inject the item.
//!
//! A record is a line. Its first letter is its type. The claimant is a hexadecimal number that differs between
//! concurrent hooks.
//!
//! ```text
//! b <claimant> <JSON>     the session-start block; marks the session as started
//! c <claimant> <id>       a claim of a memory, its id in hexadecimal digits
//! g <JSON>                a memory that was injected, for repetition after a compaction
//! n <claimant>            a claim of the notice to the person
//! p <bytes> | resumed     the next prompt must inject the changes since the block
//! t <claimant>            a claim of that injection
//! w <claimant> <hash>     a paused tool call: its guard and its target
//! a <JSON>                the text that was injected after a compaction
//! q <digits>              the topic of the last prompts, as hashes of words
//! x                       /clear: all lines above are void
//! ```
//!
//! Other lines, such as a line that a full disk truncated, are skipped.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write as _};
use std::ops::Range;
use std::path::PathBuf;

use memory_store_base::MemoryId;
use memory_store_base::layout::SESSION_BYTES_MAX;
use memory_store_recall::Topic;
use serde::{Deserialize, Serialize};

use crate::append;

/// A session file and its contents as last read.
#[derive(Debug)]
pub struct HookSession {
    path: PathBuf,
    /// Number that identifies this hook's claims.
    number: u64,
    /// `number` as hexadecimal digits, as in the file.
    claimant: String,
    /// True if the next claim of memories also claims the notice to the person.
    wants_notice: bool,
    /// Records to be written with the next write, because other hooks do not need them earlier.
    waiting: String,
    file: Option<File>,
    text: String,
    /// Byte ranges of the lines after the last `x`.
    lines: Vec<Range<usize>>,
}

/// The session-start block of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GivenBlock {
    /// Text of the block.
    pub text: String,
    /// The memories in the text.
    pub ids: Vec<MemoryId>,
    /// The session whose handoff the text contains, and the time at which that session was last active.
    pub left: String,
    /// True if SessionStart printed the block. A block that was injected with a prompt is not printed again, because it
    /// is part of other text.
    pub printed: bool,
}

/// A memory that was injected in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenMemory {
    /// Id of the memory.
    pub id: MemoryId,
    /// Text of the memory as injected.
    pub text: String,
}

/// Reason to inject changes with the next prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingChanges {
    /// The handoff was not ready in time for the block. It is ready when the processor has read this many bytes of the
    /// inbox.
    Late(u64),
    /// An old session was resumed.
    Resumed,
}

impl HookSession {
    /// Reads the file of a session. Without a file, the result is empty.
    pub fn read(path: PathBuf, number: u64) -> io::Result<Self> {
        let claimant = format!("{number:016x}");
        let (waiting, file, text, lines) = Default::default();
        let mut session =
            Self { path, number, claimant, wants_notice: false, waiting, file, text, lines };
        match OpenOptions::new().read(true).append(true).open(&session.path) {
            Ok(file) => session.file = Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(session),
            // A file without write permission can still be read.
            Err(_) => session.file = Some(File::open(&session.path)?),
        }
        session.load()?;
        Ok(session)
    }

    /// Returns whether a memory was injected or claimed in this session.
    pub fn has(&self, id: MemoryId) -> bool {
        let id = hex(id);
        self.claims("c").any(|(_, claimed)| claimed == id)
    }

    /// Claims memories. Returns for each whether this hook's claim is the first.
    pub fn claim(&mut self, ids: &[MemoryId]) -> io::Result<Vec<bool>> {
        let mut records = String::new();
        self.put_claims(&mut records, ids);
        self.append(records)?;
        Ok(ids.iter().map(|&id| self.is_first("c", &hex(id))).collect())
    }

    /// Claims memories as [`HookSession::claim`] does, and stores their texts, which are injected again after a
    /// compaction.
    pub fn give(&mut self, given: &[GivenMemory]) -> io::Result<Vec<bool>> {
        let mut records = String::new();
        for memory in given {
            self.put_claims(&mut records, &[memory.id]);
            put_json(&mut records, "g", memory)?;
        }
        self.put_notice(&mut records);
        self.append(records)?;
        Ok(given.iter().map(|memory| self.is_first("c", &hex(memory.id))).collect())
    }

    /// Makes the next claim of memories also claim the notice to the person, unless a hook has already claimed it. This
    /// saves the write of [`HookSession::claim_notice`]. The first claim of a memory in a session claims both.
    pub fn want_notice(&mut self) {
        self.wants_notice = true;
    }

    /// Claims the notice to the person. Returns whether this hook's claim is the first.
    pub fn claim_notice(&mut self) -> io::Result<bool> {
        if self.claims("n").next().is_some() {
            return Ok(self.is_first("n", ""));
        }
        self.append(format!("n {}\n", self.claimant))?;
        Ok(self.is_first("n", ""))
    }

    /// Records that a call was paused; `key` is a hash of its guard and its target. Returns `false` if the same call was
    /// paused before, so that it passes now.
    pub fn pause(&mut self, key: u64) -> io::Result<bool> {
        let key = format!("{key:016x}");
        if self.claims("w").any(|(_, paused)| paused == key) {
            return Ok(false);
        }
        self.append(format!("w {} {key}\n", self.claimant))?;
        Ok(true)
    }

    /// Returns whether the session has a start block, even an empty one.
    pub fn is_started(&self) -> bool {
        self.claims("b").next().is_some()
    }

    /// Marks the session as started, with a block that may be empty. Returns `false` if another hook did so first.
    pub fn begin(&mut self, block: &GivenBlock) -> io::Result<bool> {
        if self.is_started() {
            return Ok(false);
        }
        self.append_block(block)?;
        Ok(self.claims("b").next().is_some_and(|(first, _)| first == self.claimant))
    }

    /// Stores a further block, with the changes since the first one.
    pub fn append_block(&mut self, block: &GivenBlock) -> io::Result<()> {
        let mut records = String::new();
        put_json(&mut records, &format!("b {}", self.claimant), block)?;
        self.put_claims(&mut records, &block.ids);
        // An empty block is not shown, so it needs no notice.
        if !block.text.is_empty() {
            self.put_notice(&mut records);
        }
        self.append(records)
    }

    /// Returns the blocks of the session, oldest first.
    pub fn blocks(&self) -> Vec<GivenBlock> {
        self.claims("b").filter_map(|(_, json)| serde_json::from_str(json).ok()).collect()
    }

    /// Returns the last text that SessionStart printed; `None` if it printed none.
    pub fn printed(&self) -> Option<String> {
        let again = self.records("a").last().and_then(|json| serde_json::from_str(json).ok());
        again.or_else(|| {
            let first = self.blocks().into_iter().next()?;
            first.printed.then_some(first.text)
        })
    }

    /// Stores the text that was injected after a compaction.
    pub fn append_again(&mut self, text: &str) -> io::Result<()> {
        let mut records = String::new();
        put_json(&mut records, "a", text)?;
        self.append(records)
    }

    /// Returns the memories that were injected, oldest first.
    pub fn given(&self) -> Vec<GivenMemory> {
        self.records("g").filter_map(|json| serde_json::from_str(json).ok()).collect()
    }

    /// Makes the next prompt inject the changes since the start block.
    pub fn expect_changes(&mut self, pending: PendingChanges) -> io::Result<()> {
        self.append(match pending {
            PendingChanges::Late(awaited) => format!("p {awaited}\n"),
            PendingChanges::Resumed => "p resumed\n".to_owned(),
        })
    }

    /// Returns the reason for which the next prompt must inject changes; `None` if there is none, or if a hook has
    /// claimed that injection.
    pub fn pending(&self) -> Option<PendingChanges> {
        let mut lines = self.since_pending();
        let reason = record(lines.next()?, "p")?;
        let pending = reason.parse().map_or(PendingChanges::Resumed, PendingChanges::Late);
        lines.all(|line| record(line, "t").is_none()).then_some(pending)
    }

    /// Claims the injection of pending changes. Returns `false` if another hook has claimed it, or if no changes are
    /// pending.
    pub fn take_pending(&mut self) -> io::Result<bool> {
        if self.pending().is_none() {
            return Ok(false);
        }
        self.append(format!("t {}\n", self.claimant))?;
        let first = self.since_pending().find_map(|line| record(line, "t"));
        Ok(first == Some(self.claimant.as_str()))
    }

    /// Returns the topic of the prompts so far.
    pub fn topic(&self) -> Topic {
        self.records("q").last().map(Topic::from_hex).unwrap_or_default()
    }

    /// Stores the topic of the prompts together with the next write to the file.
    pub fn keep_topic(&mut self, topic: &Topic) {
        if *topic != Topic::default() && *topic != self.topic() {
            self.waiting.extend(["q ", topic.to_hex().as_str(), "\n"]);
        }
    }

    /// Writes the waiting records if the file exists. They contain no claim, so the file is not read back.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut records = std::mem::take(&mut self.waiting);
        match &self.file {
            Some(_) if !records.is_empty() => self.write(&mut records).map(drop),
            _ => Ok(()),
        }
    }

    /// Returns the lines from the last `p` on, including it; none if there is no `p`.
    fn since_pending(&self) -> impl Iterator<Item = &str> {
        let last = self.lines().enumerate().filter(|(_, line)| record(line, "p").is_some()).last();
        let from = last.map_or(usize::MAX, |(number, _)| number);
        self.lines().skip(from)
    }

    /// Discards all records after `/clear`.
    pub fn clear(&mut self) -> io::Result<()> {
        if self.text.is_empty() { Ok(()) } else { self.append("x\n".to_owned()) }
    }

    /// Copies the records of the session from which this one was forked.
    pub fn inherit(&mut self, parent: &Self) -> io::Result<()> {
        let records: String = parent.lines().flat_map(|line| [line, "\n"]).collect();
        self.append(records)
    }

    fn put_claims(&self, records: &mut String, ids: &[MemoryId]) {
        for &id in ids {
            // Writing to a string cannot fail.
            let _ = writeln!(records, "c {} {}", self.claimant, hex(id));
        }
    }

    /// Adds a claim of the notice if one is wanted and no hook has claimed the notice.
    fn put_notice(&mut self, records: &mut String) {
        if std::mem::take(&mut self.wants_notice) && self.claims("n").next().is_none() {
            records.extend(["n ", self.claimant.as_str(), "\n"]);
        }
    }

    /// Returns whether this hook's claim of an item is the first in the file.
    fn is_first(&self, tag: &str, thing: &str) -> bool {
        self.claims(tag)
            .find(|(_, claimed)| *claimed == thing)
            .is_some_and(|(claimant, _)| claimant == self.claimant)
    }

    /// Returns the records of a type that have a claimant: for each, its claimant and the rest of the line.
    fn claims(&self, tag: &str) -> impl Iterator<Item = (&str, &str)> {
        self.records(tag).map(|rest| rest.split_once(' ').unwrap_or((rest, "")))
    }

    fn records(&self, tag: &str) -> impl Iterator<Item = &str> {
        self.lines().filter_map(move |line| record(line, tag))
    }

    /// Returns the lines after the last `x`.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| self.text.get(line.clone()))
    }

    /// Appends records in one write, and reads what other hooks have written in the meantime.
    fn append(&mut self, mut records: String) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        records.insert_str(0, &std::mem::take(&mut self.waiting));
        let file = self.write(&mut records)?;
        // Usually no other hook has written since, so the contents of the file are known and need not be read.
        if file.metadata()?.len() == (self.text.len() + records.len()) as u64 {
            let known = self.text.len();
            if known == 0 {
                self.text = records;
            } else {
                self.text.push_str(&records);
            }
            self.find_lines(known);
            return Ok(());
        }
        self.load()
    }

    /// Appends records in one write. Returns the file.
    fn write(&mut self, records: &mut String) -> io::Result<&File> {
        if self.text.len() + records.len() > SESSION_BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
        // If a full disk truncated the last record, the new record must start on a new line.
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            records.insert(0, '\n');
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(append::open_new(&self.path, self.number)?),
        };
        if file.write(records.as_bytes())? < records.len() {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(file)
    }

    fn load(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let bytes_len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        file.seek(SeekFrom::Start(0))?;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        bytes.reserve(bytes_len.min(2 * SESSION_BYTES_MAX) + 1);
        file.take(2 * SESSION_BYTES_MAX as u64).read_to_end(&mut bytes)?;
        self.text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.lines.clear();
        self.find_lines(0);
        Ok(())
    }

    /// Adds the lines after a byte offset to `lines`.
    fn find_lines(&mut self, from: usize) {
        let mut start = from;
        while let Some(rest) = self.text.as_bytes().get(start..).filter(|rest| !rest.is_empty()) {
            let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            if self.text.get(start..end) == Some("x") {
                self.lines.clear();
            } else {
                self.lines.push(start..end);
            }
            start = end + 1;
        }
    }
}

/// Appends a record with a value as JSON.
fn put_json(records: &mut String, tag: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let json = serde_json::to_string(value).map_err(io::Error::other)?;
    records.extend([tag, " ", json.as_str(), "\n"]);
    Ok(())
}

/// Returns the rest of a line that has this tag; `None` for other lines.
fn record<'a>(line: &'a str, tag: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(tag)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
}

fn hex(id: MemoryId) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    id.0.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: MemoryId = MemoryId([1; 16]);
    const B: MemoryId = MemoryId([0xb2; 16]);

    fn session(folder: &tempfile::TempDir, name: &str, claimant: u64) -> HookSession {
        HookSession::read(folder.path().join("sessions").join(name), claimant).unwrap()
    }

    #[test]
    fn the_first_claim_wins() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (session(&folder, "s", 1), session(&folder, "s", 2));
        assert_eq!(one.claim(&[A]).unwrap(), [true]);
        assert_eq!(two.claim(&[B, A]).unwrap(), [true, false]);
        assert_eq!((one.claim_notice().unwrap(), two.claim_notice().unwrap()), (true, false));
        let later = session(&folder, "s", 3);
        assert!(later.has(A) && later.has(B) && !later.has(MemoryId([3; 16])));
        assert!(!later.is_started());
    }

    #[test]
    fn the_notice_is_claimed_with_the_memories() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (session(&folder, "s", 1), session(&folder, "s", 2));
        let given = [GivenMemory { id: A, text: "a memory".into() }];
        one.want_notice();
        two.want_notice();
        assert_eq!(
            (one.give(&given).unwrap(), two.give(&given).unwrap()),
            (vec![true], vec![false])
        );
        assert_eq!((one.claim_notice().unwrap(), two.claim_notice().unwrap()), (true, false));
        let mut later = session(&folder, "s", 3);
        later.want_notice();
        later.append_block(&GivenBlock { text: "t".into(), ..GivenBlock::default() }).unwrap();
        assert!(!later.claim_notice().unwrap());
        assert_eq!(later.claims("n").count(), 2);

        let mut silent = session(&folder, "other", 4);
        silent.want_notice();
        silent.begin(&GivenBlock::default()).unwrap();
        assert_eq!(silent.claims("n").count(), 0, "nothing is shown yet");
    }

    #[test]
    fn a_session_begins_once() {
        let folder = tempfile::tempdir().unwrap();
        let block =
            GivenBlock { text: "a\nblock".into(), ids: vec![A], left: "l".into(), printed: true };
        let (mut one, mut two) = (session(&folder, "s", 1), session(&folder, "s", 2));
        assert!(one.begin(&block).unwrap());
        assert!(!two.begin(&GivenBlock::default()).unwrap(), "although it read the file before");
        assert!(one.has(A) && one.is_started());
        assert_eq!(one.printed().unwrap(), "a\nblock");
        one.append_again("again").unwrap();
        assert_eq!(one.printed().unwrap(), "again");
        assert_eq!(session(&folder, "s", 3).blocks()[0], block);
    }

    #[test]
    fn what_changed_is_brought_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = session(&folder, "s", 1);
        assert_eq!((one.pending(), one.take_pending().unwrap()), (None, false));
        one.expect_changes(PendingChanges::Late(70)).unwrap();
        let (mut two, mut three) = (session(&folder, "s", 2), session(&folder, "s", 3));
        assert_eq!(two.pending(), Some(PendingChanges::Late(70)));
        assert!(two.take_pending().unwrap());
        assert!(!three.take_pending().unwrap(), "although it read the file before");
        assert_eq!(session(&folder, "s", 4).pending(), None);
        two.expect_changes(PendingChanges::Resumed).unwrap();
        assert_eq!(session(&folder, "s", 5).pending(), Some(PendingChanges::Resumed));
    }

    #[test]
    fn the_last_topic_counts_and_waits_for_another_write() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (Topic::from_hex(&"1".repeat(16)), Topic::from_hex(&"2".repeat(32)));
        let mut one = session(&folder, "s", 1);
        one.keep_topic(&first);
        one.flush().unwrap();
        assert!(!folder.path().join("sessions/s").exists(), "no file is made for it");
        one.keep_topic(&first);
        assert_eq!(one.claim(&[A]).unwrap(), [true]);
        let mut two = session(&folder, "s", 2);
        assert_eq!(two.topic(), first);
        two.keep_topic(&second);
        two.flush().unwrap();
        let mut three = session(&folder, "s", 3);
        assert_eq!(three.topic(), second);
        three.keep_topic(&second);
        three.flush().unwrap();
        assert_eq!(three.records("q").count(), 2, "it is known");
        assert_eq!(two.claim(&[A, B]).unwrap(), [false, true]);
        two.clear().unwrap();
        assert_eq!(session(&folder, "s", 4).topic(), Topic::default());
    }

    #[test]
    fn a_half_written_record_does_not_spoil_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = session(&folder, "s", 1);
        one.claim(&[A]).unwrap();
        let file = OpenOptions::new().append(true).open(folder.path().join("sessions/s"));
        file.unwrap().write_all(b"c 00000000000").unwrap();
        let before = std::fs::read(folder.path().join("sessions/s")).unwrap();
        let mut two = session(&folder, "s", 2);
        assert!(two.has(A));
        let after = std::fs::read(folder.path().join("sessions/s")).unwrap();
        assert_eq!(after, before, "who only reads repairs nothing: somebody may be writing");
        assert_eq!(two.claim(&[A, B]).unwrap(), [false, true]);
    }

    #[test]
    fn a_copy_has_what_its_parent_had_and_a_clear_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut parent = session(&folder, "parent", 1);
        parent
            .begin(&GivenBlock { printed: true, text: "t".into(), ..GivenBlock::default() })
            .unwrap();
        let given = [GivenMemory { id: A, text: "a memory".into() }];
        assert_eq!(parent.give(&given).unwrap(), [true]);
        let mut child = session(&folder, "child", 2);
        child.inherit(&parent).unwrap();
        assert_eq!((child.printed().as_deref(), child.given()), (Some("t"), given.to_vec()));
        child.clear().unwrap();
        assert_eq!((child.is_started(), child.has(A), child.given()), (false, false, vec![]));
        assert!(parent.has(A));
    }

    #[test]
    fn of_many_at_once_exactly_one_wins_each() {
        let folder = tempfile::tempdir().unwrap();
        let wins = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..12)
                .map(|claimant| {
                    let folder = &folder;
                    scope.spawn(move || {
                        let mut session = session(folder, "s", claimant);
                        let one = |id: u8| session.claim(&[MemoryId([id; 16])]).unwrap()[0];
                        (0..40).map(one).collect::<Vec<_>>()
                    })
                })
                .collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect::<Vec<_>>()
        });
        for id in 0..40 {
            assert_eq!(wins.iter().filter(|won| won[id]).count(), 1, "{id}");
        }
    }
}
