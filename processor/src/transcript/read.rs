//! Reads transcripts into sessions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};
use std::path::Path;

use memory_store::Timestamp;
use memory_store::fs::lines::{Line, Lines};
use memory_store::time::HOUR_MS;

use super::SOURCE;
use super::assemble::{Assembly, assemble};
use super::parts::{Growth, PART_BYTES};
use super::record::{Record, RecordWhat};
use super::redact::Redact;
use super::session::Session;
use super::source::LineOutcome;

/// Maximum number of records of one session. A session of a month of work has about ten thousand.
pub const RECORDS_MAX: usize = 500_000;

/// Counts of lines and records that were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Number of complete lines.
    pub lines: u64,
    /// Number of lines that exceed the maximum length.
    pub too_long: u64,
    /// Number of lines that could not be read completely.
    pub damaged: u64,
    /// Number of records above the maximum.
    pub dropped: u64,
}

/// Maximum number of milliseconds by which a record may be in the future.
const AHEAD_MS_MAX: i64 = HOUR_MS;

/// Times with which the times of records are compared.
#[derive(Clone, Copy, Debug)]
pub struct FileTimes {
    /// The current time.
    pub now: Timestamp,
    /// Time of the last write to the transcript.
    pub modified: Timestamp,
}

/// Collects the records of one session.
pub struct SessionBuilder<'r> {
    redact: &'r dyn Redact,
    records: Vec<Record>,
    seen: HashSet<(u128, u32)>,
    /// Keys of the records in closed parts.
    closed: HashSet<(u128, u32)>,
    growth: Growth,
    part_bytes: u64,
    /// For each rank, the index of the last title with this rank.
    titles: HashMap<u8, usize>,
    counts: ReadCounts,
    line: Vec<Record>,
}

impl<'r> SessionBuilder<'r> {
    /// Creates a builder without records.
    pub fn new(redact: &'r dyn Redact) -> Self {
        Self::resume(Vec::new(), redact)
    }

    /// Creates a builder that continues a session with these records.
    pub fn resume(records: Vec<Record>, redact: &'r dyn Redact) -> Self {
        let mut builder = Self {
            redact,
            records: Vec::new(),
            seen: HashSet::new(),
            closed: HashSet::new(),
            growth: Growth::default(),
            part_bytes: PART_BYTES,
            titles: HashMap::new(),
            counts: ReadCounts::default(),
            line: Vec::new(),
        };
        builder.go_on(records, Growth::default());
        builder
    }

    /// Sets the minimum size in bytes of the parts of a long session.
    pub fn in_parts_of(mut self, bytes: u64) -> Self {
        self.part_bytes = bytes;
        self
    }

    /// Replaces the records, after a part was closed.
    pub fn go_on(&mut self, records: Vec<Record>, growth: Growth) {
        self.seen = records.iter().map(key).collect();
        self.titles = records
            .iter()
            .enumerate()
            .filter_map(|(at, record)| Some((rank_of_title(record)?, at)))
            .collect();
        (self.records, self.growth) = (records, growth);
    }

    /// Marks the records of a closed part as seen, so that they are not added again.
    pub fn know(&mut self, records: &[Record]) {
        self.closed.extend(records.iter().map(key));
    }

    /// Removes and returns the records so far, and the state of their part.
    pub fn take(&mut self) -> (Vec<Record>, Growth) {
        (std::mem::take(&mut self.records), std::mem::take(&mut self.growth))
    }

    /// Adds the records of one line.
    pub fn line(&mut self, line: &[u8]) {
        self.counts.lines += 1;
        let mut records = std::mem::take(&mut self.line);
        if SOURCE.convert(line, self.redact, &mut records) == LineOutcome::Damaged {
            self.counts.damaged += 1;
        }
        for record in records.drain(..) {
            self.record(record);
        }
        self.line = records;
    }

    /// Adds all complete lines of `reader`. Returns their length in bytes.
    pub fn read(&mut self, reader: impl BufRead) -> io::Result<u64> {
        let mut lines = super::lines(reader);
        while let Some(line) = lines.next_line()? {
            self.add(&line);
        }
        Ok(lines.consumed)
    }

    /// Adds complete lines until a part is full. Returns whether one is.
    pub fn read_part(&mut self, lines: &mut Lines<impl BufRead>) -> io::Result<bool> {
        while let Some(line) = lines.next_line()? {
            self.add(&line);
            if self.growth.is_full(self.part_bytes) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn add(&mut self, line: &Line<'_>) {
        match line {
            Line::Whole(line) => self.line(line),
            Line::TooLong => self.counts.too_long += 1,
        }
    }

    /// Sets plausible times: a record without a time gets the time of a neighbour or of the file, and no time is in the
    /// future.
    pub fn settle_times(&mut self, times: FileTimes) {
        let file = times.modified.min(times.now);
        let latest = Timestamp(times.now.0.saturating_add(AHEAD_MS_MAX));
        let is_timed =
            |record: &Record| !matches!(record.what, RecordWhat::Link | RecordWhat::Title { .. });
        let mut records: Vec<&mut Record> =
            self.records.iter_mut().filter(|record| is_timed(record)).collect();
        for record in records.iter_mut().filter(|record| record.at > latest) {
            record.at = file;
        }
        let first = records.iter().map(|record| record.at).find(|at| *at != Timestamp::default());
        let mut before = first.unwrap_or(file);
        for record in records {
            if record.at == Timestamp::default() {
                record.at = before;
            }
            before = record.at;
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// Returns the records so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the records.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Returns the session assembled from the records so far, and the subagents that were written into its transcript.
    pub fn sessions(&self, id: &str, agent: Option<&str>) -> Vec<Session> {
        assemble(id, agent, &self.records, &Assembly::ALONE)
    }

    fn record(&mut self, record: Record) {
        let rank = rank_of_title(&record);
        match rank {
            // Titles are written repeatedly; the last one counts.
            Some(rank) => {
                if let Some(&at) = self.titles.get(&rank) {
                    self.records[at] = record;
                    return;
                }
            }
            None if self.closed.contains(&key(&record)) => return,
            None if !self.seen.insert(key(&record)) => return,
            None => {}
        }
        if self.records.len() < RECORDS_MAX {
            self.titles.extend(rank.map(|rank| (rank, self.records.len())));
            self.growth.add(&record, self.part_bytes);
            self.records.push(record);
        } else {
            self.counts.dropped += 1;
        }
    }
}

/// Returns the rank of a title of the whole conversation.
fn rank_of_title(record: &Record) -> Option<u8> {
    match &record.what {
        RecordWhat::Title { rank, leaf, .. } if leaf.is_empty() => Some(*rank),
        _ => None,
    }
}

/// Returns the key of a record, which is equal for copies: the uuid of the line, and the index of the record in the
/// line.
fn key(record: &Record) -> (u128, u32) {
    (uuid_key(&record.uuid), record.part)
}

/// Returns a 128-bit hash of a uuid.
pub fn uuid_key(uuid: &str) -> u128 {
    let hash = blake3::hash(uuid.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}

/// Reads all transcripts below `folder`, each independently. It is for tests and measurements; a sync uses the archive.
pub fn read_folder(folder: &Path, redact: &dyn Redact) -> io::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(io::Error::from)?;
        let Some(name) = SOURCE.name(entry.path()) else { continue };
        let mut builder = SessionBuilder::new(redact);
        builder.read(io::BufReader::new(std::fs::File::open(entry.path())?))?;
        sessions.extend(builder.sessions(&name.session, name.agent.as_deref()));
    }
    Ok(sessions)
}

impl Redact for memory_store::redact::Redactor {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Self::redact(self, text)
    }

    fn withhold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.without_suspects(text, "")
    }

    fn redact_together(&self, texts: &mut [&mut String]) {
        Self::redact_together(self, texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store::redact::{RedactOptions, Redactor};

    #[test]
    fn the_last_title_of_each_rank_is_kept_in_its_place() {
        let redact = Redactor::new(&RedactOptions::default());
        let line = |kind: &str, key: &str, title: &str| {
            format!("{{\"type\":\"{kind}\",\"{key}\":\"{title}\",\"sessionId\":\"s\"}}")
        };
        let lines: Vec<String> = (0..6)
            .flat_map(|n| {
                let n = n.to_string();
                [line("ai-title", "aiTitle", &n), line("custom-title", "customTitle", &n)]
            })
            .collect();
        let read = |records: Vec<Record>, lines: &[String]| {
            let mut builder = SessionBuilder::resume(records, &redact);
            lines.iter().for_each(|line| builder.line(line.as_bytes()));
            builder.into_records()
        };
        let whole = read(Vec::new(), &lines);
        let titles: Vec<(u8, &str)> = whole
            .iter()
            .filter_map(|record| match &record.what {
                RecordWhat::Title { rank, text, .. } => Some((*rank, text.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(titles, [(1, "5"), (2, "5")]);
        for cut in 0..=lines.len() {
            let (first, rest) = lines.split_at(cut);
            assert_eq!(read(read(Vec::new(), first), rest), whole, "{cut}");
        }
    }
}
