//! Collecting: reads new records of the transcripts, redacts and archives them.

pub mod archive;
pub mod configurations;
pub mod discover;
pub mod expired;
pub mod forks;
pub mod ignore;
pub mod inbox;
pub mod newest;
pub mod purged;
pub mod session_list;
mod territory;
pub mod trees;
pub mod unclaimed;
mod walk;
pub mod whole_turn;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::handoff::LeftSession;
use memory_store::redact::Redactor;
use rayon::prelude::*;

use crate::collect::archive::{
    Archive, ArchiveEntry, IDENTITY_BYTES_MAX, SessionFile, SessionHeader, Watermark, head_hash,
    is_damaged, name_of, span,
};
use crate::collect::discover::{SeenTranscript, Territory, Transcript};
use crate::collect::expired::Expired;
use crate::collect::ignore::Ignore;
use crate::collect::newest::in_order;
use crate::collect::purged::Purged;
use crate::extract::Roots;
use crate::extract::session_record::SessionRecord;
use crate::handoff;
use crate::progress::ProgressReport;
use crate::secrets::{Learning, Secrets};
use crate::state::{SessionState, State};
use crate::transcript::parts;
use crate::transcript::read::{FileTimes, ReadCounts};
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::{Assembly, Redact, SessionBuilder, Speaker, assemble};

/// Maximum number of transcripts that are recorded as sources of one session.
const SOURCES_MAX: usize = 32;

/// Inputs of collecting, without the transcripts.
pub struct Collector<'a> {
    /// The archive to which records are written.
    pub archive: &'a Archive,
    /// Sessions whose turns were removed because of their age.
    pub expired: &'a Expired,
    /// Sessions and records that a person purged.
    pub purged: &'a Purged,
    /// Redactor of secrets and personal data.
    pub redactor: &'a Redactor,
    /// Known secrets, including those found during the run.
    pub secrets: &'a Secrets,
    /// Files whose content is never archived.
    pub ignore: &'a Ignore,
    /// Whether the transcripts are imported from a folder that the user named.
    pub from_folder: bool,
    /// The folders whose sessions belong to the project.
    pub territory: &'a Territory,
    /// For each session with parts, the highest number of a part.
    pub parts: &'a BTreeMap<String, u32>,
    /// Minimum size of a part in bytes.
    pub part_bytes: u64,
    /// The current time.
    pub now: Timestamp,
}

/// Result of collecting one session.
#[derive(Debug)]
pub struct Collected {
    /// The name of the session's archive file.
    pub name: String,
    /// State to store for the session; `None` if it is not archived.
    pub state: Option<SessionState>,
    /// The parts of the session that were closed, with their names and states.
    pub closed: Vec<(String, SessionState)>,
    /// Numbers of lines and records that were read.
    pub counts: ReadCounts,
}

/// Returns, for each session with a change since `seen`, its transcripts, by the name of its archive file. All
/// transcripts of the session are returned, including unchanged ones.
pub fn changed(
    transcripts: Vec<Transcript>,
    seen: &BTreeMap<PathBuf, SeenTranscript>,
    archived: &HashSet<String>,
) -> BTreeMap<String, Vec<Transcript>> {
    let mut sessions: BTreeMap<String, Vec<Transcript>> = BTreeMap::new();
    for transcript in transcripts {
        sessions.entry(name_of(&transcript.name)).or_default().push(transcript);
    }
    sessions.retain(|name, transcripts| {
        let unchanged = |transcript: &Transcript| {
            seen.get(&transcript.path).is_some_and(|seen| {
                seen.inode == transcript.inode
                    && seen.len == transcript.len
                    && seen.modified_ns == transcript.modified_ns
            })
        };
        !(archived.contains(name) && transcripts.iter().all(unchanged))
    });
    sessions
}

/// A session that was read and redacted, but is not archived yet.
#[derive(Debug)]
pub struct SessionRead {
    name: String,
    file: SessionFile,
    end: End,
    outcome: ReadOutcome,
    closed: Vec<(String, SessionState)>,
    counts: ReadCounts,
}

/// State of a session at the last record that was read.
#[derive(Clone, Debug, Default, PartialEq)]
struct End {
    /// Working directory and handoff of the session.
    left: Option<(String, LeftSession)>,
    /// Files that the session edited, with the time of the last edit.
    edited: BTreeMap<String, Timestamp>,
}

/// Decision about a session that was read.
#[derive(Clone, Copy, Debug)]
enum ReadOutcome {
    /// The session contains nothing to keep.
    Dropped,
    /// The session is already archived and unchanged.
    Known,
    /// The session must be archived.
    New,
}

impl SessionRead {
    /// Returns the working directory and the handoff of a session of a person. Returns `None` for a session of a
    /// program, and if there is no handoff. `state` contains the speakers of earlier parts.
    pub fn left(&self, state: &State) -> Option<&(String, LeftSession)> {
        let speaker = Speaker::of(&self.file.records);
        let is_persons = speaker.unwrap_or_else(|| state.speaker(&self.name)).is_person();
        self.end.left.as_ref().filter(|_| is_persons)
    }
}

impl Collector<'_> {
    /// Reads sessions in parallel. An error in one session does not affect the others.
    pub fn read(&self, sessions: &[(&String, &Vec<Transcript>)]) -> Vec<Result<SessionRead>> {
        sessions.par_iter().map(|(name, transcripts)| self.read_one(name, transcripts)).collect()
    }

    /// Archives sessions that [`Self::read`] returned.
    pub fn keep(
        &self,
        sessions: Vec<Result<SessionRead>>,
        progress: &dyn ProgressReport,
    ) -> Vec<Result<Collected>> {
        let keep = |read: Result<SessionRead>| {
            let kept = read.and_then(|read| self.keep_one(read));
            progress.step();
            kept
        };
        sessions.into_par_iter().map(keep).collect()
    }

    /// Reads and archives sessions in the given order. Only a few sessions are in memory at a time.
    pub fn collect(
        &self,
        sessions: &[(&String, &Vec<Transcript>)],
        progress: &dyn ProgressReport,
    ) -> Vec<Result<Collected>> {
        in_order(sessions, |(name, transcripts)| {
            let kept = self.read_one(name, transcripts).and_then(|read| self.keep_one(read));
            progress.step();
            kept
        })
    }

    /// Returns a redactor for the texts of a session that also hides the currently known secrets.
    fn knowing_redactor(&self, session: &str) -> Redactor {
        let mut redactor = self.redactor.clone();
        redactor.options.known = self.secrets.known().in_session(session);
        redactor
    }

    fn read_one(&self, name: &str, transcripts: &[Transcript]) -> Result<SessionRead> {
        let before = self.load(name)?;
        let known = before.header.clone();
        let mut header = self.header(&before.header, transcripts);
        let length = before.records.len();
        let learning = Learning::new(self.redactor);
        let mut builder = SessionBuilder::new(&learning).in_parts_of(self.part_bytes);
        builder.go_on(before.records, header.growth.clone());
        let mut closed = Vec::new();
        for transcript in transcripts {
            let reading = PartReading { learning: &learning, closed: &mut closed };
            let read = self.read_transcript(transcript, &mut header, &mut builder, reading);
            read.with_context(|| {
                format!("{}: cannot read this transcript", transcript.path.display())
            })?;
        }
        let counts = builder.counts();
        let (mut records, growth) = builder.take();
        header.growth = growth;
        header.format = header.needed_format(&records);
        let cleaned = self.clean(&header, &mut records, &learning)?;
        let file = SessionFile { header, records };
        let worth_keeping =
            file.records.iter().any(|record| !matches!(record.what, RecordWhat::Link));
        let outcome = if !worth_keeping && length == 0 && file.header.parts == 0 {
            ReadOutcome::Dropped
        } else if file.header == known && file.records.len() == length && !cleaned {
            ReadOutcome::Known
        } else {
            ReadOutcome::New
        };
        let redactor = self.knowing_redactor(&file.header.session);
        let end = end_of(&file, self.territory, &redactor);
        Ok(SessionRead { name: name.to_owned(), file, end, outcome, closed, counts })
    }

    /// Removes secrets from records that were read together. Returns whether a known secret was hidden.
    fn clean(
        &self,
        header: &SessionHeader,
        records: &mut Vec<Record>,
        learning: &Learning<'_>,
    ) -> Result<bool> {
        self.ignore.screen(records);
        self.purged.screen(&header.session, records);
        let session = header.session.as_str();
        // Secrets are learned twice: an edit that replaces a known secret reveals the next one.
        self.secrets.learn(session, learning, records);
        let cleaned = self.secrets.hide_answers(session, records, learning);
        self.secrets.learn(session, learning, records);
        let known = self.secrets.known().in_session(session);
        Ok(self.secrets.hide(known, records, self.redactor)? | cleaned)
    }

    /// Reads the new records of one transcript and advances its watermark. Parts that become full are archived.
    fn read_transcript(
        &self,
        transcript: &Transcript,
        header: &mut SessionHeader,
        builder: &mut SessionBuilder<'_>,
        PartReading { learning, closed }: PartReading<'_>,
    ) -> Result<()> {
        let mut file = File::open(&transcript.path)?;
        let from = resume_at(transcript, header, &mut file)?;
        let again = from == 0 && header.parts > 0;
        if again {
            self.know_parts(header, builder)?;
        }
        file.seek(SeekFrom::Start(from))?;
        let times = FileTimes { now: self.now, modified: transcript.modified() };
        let mut lines = crate::transcript::lines(BufReader::with_capacity(256 << 10, &file));
        while builder.read_part(&mut lines)? {
            builder.settle_times(times);
            closed.extend(self.close_part(header, builder, learning, again)?);
        }
        builder.settle_times(times);
        let offset = from + lines.consumed;
        note_watermark(transcript, header, offset, &mut file)
    }

    /// Makes the builder recognise the records of closed parts if a transcript is read from its beginning.
    fn know_parts(&self, header: &SessionHeader, builder: &mut SessionBuilder<'_>) -> Result<()> {
        let session = SessionHeader { part: 0, ..header.clone() }.name();
        for number in 1..=header.parts {
            // If a part cannot be read now, its records are read again. They still count once, for the session that
            // owns them.
            if let Ok(Some(file)) = self.archive.load(&parts::name(&session, number)) {
                builder.know(&file.records);
            }
        }
        Ok(())
    }

    /// Archives the full part. Until the watermark is archived as well, the part counts as the remainder of an
    /// interrupted run, and the next run writes it again.
    fn close_part(
        &self,
        header: &mut SessionHeader,
        builder: &mut SessionBuilder<'_>,
        learning: &Learning<'_>,
        again: bool,
    ) -> Result<Option<(String, SessionState)>> {
        let (mut records, mut growth) = builder.take();
        let beginning = growth.beginning();
        // Records that belong together may be on both sides of the boundary between parts.
        self.clean(header, &mut records, learning)?;
        let part = growth.close(&mut records);
        builder.go_on(records, growth);
        let Some(records) = part else { return Ok(None) };
        if again {
            // The transcript may repeat earlier records.
            builder.know(&records);
        }
        header.parts += 1;
        let mut header = SessionHeader {
            part: header.parts,
            parts: 0,
            growth: beginning,
            sources: Vec::new(),
            ..header.clone()
        };
        header.format = header.needed_format(&records);
        let file = SessionFile { header, records };
        // The secrets are saved first, because archived records are not read again.
        self.secrets.save()?;
        let redactor = self.knowing_redactor(&file.header.session);
        let mut state = state_with(&file, end_of(&file, self.territory, &redactor));
        let entry = self.archive.store_and_keep(file)?;
        (state.len, state.modified_ns) = (entry.len, entry.modified_ns);
        Ok(Some((entry.name, state)))
    }

    fn keep_one(&self, read: SessionRead) -> Result<Collected> {
        let SessionRead { name, file, end, outcome, closed, counts } = read;
        // The secrets are saved first, because archived records are not read again.
        self.secrets.save()?;
        let mut state = match outcome {
            ReadOutcome::Dropped => return Ok(Collected { name, state: None, closed, counts }),
            ReadOutcome::Known | ReadOutcome::New => state_with(&file, end),
        };
        let entry = match outcome {
            ReadOutcome::New => self.archive.store_and_keep(file)?,
            ReadOutcome::Known | ReadOutcome::Dropped => self.archive.entry(&name)?,
        };
        (state.len, state.modified_ns) = (entry.len, entry.modified_ns);
        Ok(Collected { name, state: Some(state), closed, counts })
    }

    /// Loads the archived records of a session. A damaged file is kept aside, because the transcript may still contain
    /// the records. If a file cannot be read at the moment, the session is postponed.
    fn load(&self, name: &str) -> Result<SessionFile> {
        match self.archive.load(name) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => Ok(SessionFile {
                header: self.expired.header(name).unwrap_or_default(),
                records: Vec::new(),
            }),
            Err(error) if is_damaged(&error) => {
                self.archive.put_aside(name)?;
                // The records since the last successful run, except those in a pack, are read again.
                Ok(self.archive.load(name)?.unwrap_or_default())
            }
            Err(error) => Err(error),
        }
    }

    fn header(&self, before: &SessionHeader, transcripts: &[Transcript]) -> SessionHeader {
        let mut header = before.clone();
        if let Some(transcript) = transcripts.first() {
            header.session.clone_from(&transcript.name.session);
            header.agent.clone_from(&transcript.name.agent);
        }
        if header.sources.is_empty() && header.parts == 0 {
            // The header does not contain the number of parts, so all existing parts count.
            header.parts = self.parts.get(&header.name()).copied().unwrap_or(0);
        }
        header.from_folder = header.from_folder || self.from_folder;
        header.ignored.clone_from(&self.ignore.fingerprint);
        header
    }
}

/// Data that is collected while the transcripts of a session are read.
struct PartReading<'a> {
    learning: &'a Learning<'a>,
    /// Parts that were archived during reading.
    closed: &'a mut Vec<(String, SessionState)>,
}

/// Advances the watermark of a transcript to `offset`.
fn note_watermark(
    transcript: &Transcript,
    header: &mut SessionHeader,
    offset: u64,
    file: &mut File,
) -> Result<()> {
    let head_bytes = offset.min(IDENTITY_BYTES_MAX);
    let head = head_hash(file, head_bytes)?;
    header.sources.retain(|source| source.path != transcript.path);
    header.sources.push(Watermark { path: transcript.path.clone(), offset, head_bytes, head });
    header.sources.sort_by(|a, b| a.path.cmp(&b.path));
    // If a transcript was moved many times, its oldest paths are removed.
    while header.sources.len() > SOURCES_MAX {
        match header.sources.iter().position(|source| !source.path.exists()) {
            Some(gone) => drop(header.sources.remove(gone)),
            None => break,
        }
    }
    Ok(())
}

/// Returns the offset at which reading continues: the watermark if the transcript is still the same file or was moved
/// to this path (as by `/cd`), else 0. Records that were read before are recognised by their uuid.
fn resume_at(transcript: &Transcript, header: &mut SessionHeader, file: &mut File) -> Result<u64> {
    let fits = |source: &Watermark, file: &mut File| {
        transcript.len >= source.offset
            && head_hash(file, source.head_bytes).is_ok_and(|head| head == source.head)
    };
    if let Some(source) = header.sources.iter().find(|source| source.path == transcript.path) {
        return Ok(if fits(source, file) { source.offset } else { 0 });
    }
    let moved = header
        .sources
        .iter()
        .position(|source| source.offset > 0 && !source.path.exists() && fits(source, file));
    Ok(match moved {
        Some(place) => header.sources.remove(place).offset,
        None => 0,
    })
}

/// Returns the state to store for an archived session.
pub fn state_of(
    file: &SessionFile,
    entry: &ArchiveEntry,
    territory: &Territory,
    redact: &dyn Redact,
) -> SessionState {
    let state = state_with(file, end_of(file, territory, redact));
    SessionState { len: entry.len, modified_ns: entry.modified_ns, ..state }
}

/// Returns the state to store for a session, without the fields about its archive file.
fn state_with(file: &SessionFile, End { left, edited }: End) -> SessionState {
    let (first, last) = span(&file.records).unwrap_or((Timestamp::default(), Timestamp::default()));
    let mut cwds: Vec<String> = file.records.iter().filter_map(cwd).map(str::to_owned).collect();
    cwds.sort();
    cwds.dedup();
    SessionState {
        len: 0,
        modified_ns: 0,
        content: content_hash(file),
        first,
        last,
        cwds,
        speaker: Speaker::of(&file.records),
        from_folder: file.header.from_folder,
        left,
        edited,
        mined: None,
        is_unpackable: false,
    }
}

/// Returns the end of a session. A panic in the computation results in an empty end; mining runs the same code and
/// reports the panic.
fn end_of(file: &SessionFile, territory: &Territory, redact: &dyn Redact) -> End {
    let mut end = catch_unwind(AssertUnwindSafe(|| end(file, territory))).unwrap_or_default();
    // The archive is redacted, but removing Markdown from a text may join the pieces of a secret.
    end.left = end.left.map(|(cwd, left)| (cwd, handoff::redacted(left, redact)));
    end
}

/// Computes the end of a session from its own records only: if the session is a fork, its last turn is not the last
/// turn of its parent.
fn end(file: &SessionFile, territory: &Territory) -> End {
    if file.header.agent.is_some() {
        return End::default();
    }
    let goes_on = file.header.part == 0;
    let others = Assembly { tasks: &file.header.growth.tasks, ..Assembly::ALONE };
    let session = assemble(&file.header.session, None, &file.records, &others);
    let Some(mut session) = session.into_iter().next() else { return End::default() };
    if !file.header.from_folder {
        session.turns.retain(|turn| territory.is_ours(turn));
    }
    let Some(cwd) = session.turns.last().map(|turn| turn.cwd.clone()) else {
        return End::default();
    };
    let record = SessionRecord::outline(&session, &Roots::new(territory.folders()));
    let left = goes_on.then(|| handoff::of(&record)).flatten();
    let left = left.map(|left| (cwd, left));
    let edited = record.written().map(|(path, at)| (path.to_owned(), at)).collect();
    End { left, edited }
}

fn cwd(record: &Record) -> Option<&str> {
    match &record.what {
        RecordWhat::Prompt { cwd, .. } | RecordWhat::Summary { cwd, .. } => {
            Some(cwd.as_str()).filter(|cwd| !cwd.is_empty())
        }
        _ => None,
    }
}

/// Hashes the input for mining a session: its records, and the tasks passed on from earlier parts.
fn content_hash(file: &SessionFile) -> String {
    let mut hasher = blake3::Hasher::new();
    let tasks = &file.header.growth.tasks;
    if !tasks.is_none() {
        hasher.update(&serde_json::to_vec(tasks).unwrap_or_default());
    }
    for record in &file.records {
        // Serialising a record cannot fail, because it is plain data.
        hasher.update(&serde_json::to_vec(record).unwrap_or_default());
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
