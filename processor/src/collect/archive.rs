//! The archive: the redacted turns of each session, kept because Claude Code deletes its transcripts after a month.
//!
//! Each session and subagent has one compressed file: a header line, then one [`Record`] per line. The header contains
//! the watermarks, which are the positions up to which each transcript was read. One rename commits records and
//! watermarks together. Therefore a run that is killed at any moment has either archived a piece completely or not at
//! all. Inactive sessions are stored in packs instead.

mod pack;
mod packing;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use memory_store::Timestamp;
use memory_store::fs::disk::is_unsupported;
use memory_store::fs::open_regular::{self, Links};
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

pub use pack::MAGIC as PACK_MAGIC;
use packing::KnownPacks;
pub use packing::{PackFile, lists_pack, texts_of};

use crate::private_files::{create_private, modified_ns, remove_if_there};
use crate::transcript::name::TranscriptName;
use crate::transcript::parts::{self, Growth};
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::session::{PromptBy, Session};

/// The version of the format, stored in the header of each file: 1 for a session in one piece, which older versions of
/// this program can read, 2 for a session in parts, and 3 for a session with prompts of another agent.
pub const FORMAT: u32 = 3;

/// Name extension of an archive file.
const SUFFIX: &str = ".jsonl.gz";

/// Name extension of a file that was kept aside.
const ASIDE: &str = ".damaged";

/// Maximum uncompressed size in bytes of one archive file. A month of work has about ten megabytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Compression level. It is low because the whole file is rewritten when the session continues.
const LEVEL: u32 = 3;

/// Maximum total size in bytes of session records that are kept in memory for later steps of the same run. Other
/// sessions are read from disk again.
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Size in bytes of the buffer before the compressor. It is large because the compressor clears its own buffer on each
/// call.
const PACKED_AT_ONCE: usize = 64 << 10;

/// Maximum size of a header line in bytes.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Maximum number of bytes at the beginning of a transcript that are hashed to recognise the file.
pub const IDENTITY_BYTES_MAX: u64 = 4 << 10;

/// Position up to which one transcript was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watermark {
    /// Path of the transcript.
    pub path: PathBuf,
    /// Number of bytes read, up to the end of a complete line.
    pub offset: u64,
    /// Number of bytes at the beginning of the transcript that are hashed in `head`.
    pub head_bytes: u64,
    /// A hash of the beginning of the transcript. If another file has the same path, its hash differs, and the file is
    /// read from its beginning.
    pub head: String,
}

/// The first line of an archive file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionHeader {
    /// The version of the format.
    pub format: u32,
    /// Id of the session.
    pub session: String,
    /// Id of the subagent, if this is a subagent's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether the transcript was imported from a folder. All turns of such a session count, regardless of where they
    /// were recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_folder: bool,
    /// Hash of the ignored paths in effect when the session was read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ignored: String,
    /// The number of this part of the session; 0 for the open part.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// Number of closed parts, in the header of the open part. Files with a higher number are remains of a killed run.
    #[serde(skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// State of the open part: its size, and the tasks of earlier parts.
    pub growth: Growth,
    /// The transcripts from which the session was read, sorted by path.
    pub sources: Vec<Watermark>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl SessionHeader {
    /// Returns the name of the file without its extension.
    pub fn name(&self) -> String {
        parts::name(&file_name(&self.session, self.agent.as_deref()), self.part)
    }

    /// Returns the lowest version of the format that supports these records.
    pub fn needed_format(&self, records: &[Record]) -> u32 {
        let is_agents =
            |record: &Record| matches!(record.what, RecordWhat::Prompt { by: PromptBy::Agent, .. });
        match self.part == 0 && self.parts == 0 {
            _ if records.iter().any(is_agents) => FORMAT,
            true => 1,
            false => 2,
        }
    }
}

/// An archive file in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFile {
    /// The header.
    pub header: SessionHeader,
    /// The records, in the order in which they were read.
    pub records: Vec<Record>,
}

/// A session in the archive, or a file in the archive's folder. For a session in a pack, length and time are those of
/// its former file, so that packing does not affect its expiry or whether it is read again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchiveEntry {
    /// The name without the extension, which is unique in the archive.
    pub name: String,
    /// The path of the session's own file, or of the pack that contains it.
    pub path: PathBuf,
    /// The length in bytes.
    pub len: u64,
    /// Time of the last write, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl ArchiveEntry {
    fn of(name: String, path: PathBuf) -> Result<Self> {
        let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
        let (len, modified_ns) = (metadata.len(), modified_ns(&metadata));
        Ok(Self { name, path, len, modified_ns })
    }
}

/// The archive of one project.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
    kept: Arc<Mutex<KeptSessions>>,
    known_packs: Arc<Mutex<KnownPacks>>,
}

/// Sessions that one step of a run has written or assembled, so that later steps need not read them.
#[derive(Debug, Default)]
struct KeptSessions {
    /// Each session with the length of its records.
    sessions: BTreeMap<String, (KeptSession, u64)>,
    bytes: u64,
}

/// A session in memory.
#[derive(Debug)]
enum KeptSession {
    /// Records, as they were written.
    Written(Arc<SessionFile>),
    /// Turns, assembled for the set of owned records with this digest.
    Assembled(String, Vec<Session>),
}

impl KeptSessions {
    fn remove(&mut self, name: &str) -> Option<KeptSession> {
        let (session, bytes) = self.sessions.remove(name)?;
        self.bytes -= bytes;
        Some(session)
    }
}

impl Archive {
    /// Opens the archive of a project. A missing folder counts as empty.
    pub fn open(home: &ProjectDir) -> Self {
        Self { folder: home.archive.clone(), kept: Arc::default(), known_packs: Arc::default() }
    }

    /// Returns the folder of the archive.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the names of the sessions, in the order of [`Self::entries`].
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.entries()?.into_iter().map(|entry| entry.name).collect())
    }

    /// Returns the sessions: first those with separate files, sorted by name, then those in packs, grouped by pack.
    /// Reading from alternating packs would decompress each pack repeatedly.
    pub fn entries(&self) -> Result<Vec<ArchiveEntry>> {
        let mut entries = files_in(&self.folder, SUFFIX)?;
        let mut names: HashSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        for PackFile { file, members, .. } in self.packs() {
            for member in members.iter().filter(|member| names.insert(member.name.clone())) {
                entries.push(ArchiveEntry {
                    name: member.name.clone(),
                    path: file.path.clone(),
                    len: member.file_bytes,
                    modified_ns: member.modified_ns,
                });
            }
        }
        Ok(entries)
    }

    /// Returns one session, or an error if it does not exist.
    pub fn entry(&self, name: &str) -> Result<ArchiveEntry> {
        if let Some(entry) = self.own_entry(name)? {
            return Ok(entry);
        }
        let entry = self.entries()?.into_iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| self.missing(name))
    }

    /// Returns the error for a session that does not exist, or that may be in a pack that cannot be read.
    pub fn missing(&self, name: &str) -> anyhow::Error {
        let unreadable = self.unreadable_packs().into_iter().next();
        let why = unreadable.map(|(_, why)| why);
        anyhow::Error::msg(why.unwrap_or_else(|| format!("{name}: no such archived session")))
    }

    /// Returns the separate file of a session; `None` if it has none.
    fn own_entry(&self, name: &str) -> Result<Option<ArchiveEntry>> {
        match ArchiveEntry::of(name.to_owned(), self.path(name)) {
            Err(error) if is_gone(&error) => Ok(None),
            entry => entry.map(Some),
        }
    }

    /// Returns the path of a session's separate file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{SUFFIX}"))
    }

    /// Reads a session; `None` if it is not stored.
    pub fn load(&self, name: &str) -> Result<Option<SessionFile>> {
        let Some((path, mut reader)) = self.open_text(name)? else { return Ok(None) };
        let header = read_header(&mut reader).map_err(|error| classify_error(error, &path))?;
        let mut records = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).map_err(|error| classify_error(error.into(), &path))?
                == 0
            {
                return Ok(Some(SessionFile { header, records }));
            }
            // A record of a later version of this program is skipped.
            if let Ok(record) = serde_json::from_str(&line) {
                records.push(record);
            }
        }
    }

    /// Opens the text of a session in its file or pack; `None` if it is not stored. Also returns the path.
    fn open_text(&self, name: &str) -> Result<Option<(PathBuf, Box<dyn BufRead>)>> {
        // A second attempt is made, because another process may move the session to the other place between the two
        // checks.
        for _ in 0..2 {
            let path = self.path(name);
            if let Some(file) = open_file(&path)? {
                let reader = BufReader::new(GzDecoder::new(file).take(FILE_BYTES_MAX));
                return Ok(Some((path, Box::new(reader))));
            }
            if let Some((path, text)) = self.packed_text(name)? {
                return Ok(Some((path, Box::new(Cursor::new(text)))));
            }
        }
        Ok(None)
    }

    /// Returns the session kept by [`Self::store_and_keep`], or else reads it like [`Self::load`].
    pub fn load_kept(&self, name: &str) -> Result<Option<Arc<SessionFile>>> {
        if let Some((KeptSession::Written(file), _)) = self.kept().sessions.get(name) {
            return Ok(Some(Arc::clone(file)));
        }
        Ok(self.load(name)?.map(Arc::new))
    }

    /// Keeps an assembled session instead of its records, if the records are in memory. `owned` is the digest of the
    /// records that the session owns.
    pub fn keep_assembled(&self, name: &str, owned: &str, sessions: Vec<Session>) {
        if let Some((kept, _)) = self.kept().sessions.get_mut(name) {
            *kept = KeptSession::Assembled(owned.to_owned(), sessions);
        }
    }

    /// Removes and returns the sessions kept by [`Self::keep_assembled`]; `None` unless the session still owns the same
    /// records.
    pub fn take_assembled(&self, name: &str, owned: &str) -> Option<Vec<Session>> {
        let mut kept = self.kept();
        let (session, _) = kept.sessions.get(name)?;
        if matches!(session, KeptSession::Written(_)) {
            return None;
        }
        match kept.remove(name)? {
            KeptSession::Assembled(digest, sessions) if digest == owned => Some(sessions),
            KeptSession::Assembled(..) | KeptSession::Written(_) => None,
        }
    }

    /// Drops the kept sessions, because other processes may change the files.
    pub fn forget_kept(&self) {
        *self.kept() = KeptSessions::default();
        self.known_packs().read.clear();
    }

    fn kept(&self) -> MutexGuard<'_, KeptSessions> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the text of a session with its checksum, without parsing its records.
    pub fn check(&self, name: &str) -> Result<()> {
        let Some((path, mut reader)) = self.open_text(name)? else { return Ok(()) };
        let read =
            read_header(&mut reader).and_then(|_| Ok(io::copy(&mut reader, &mut io::sink())?));
        read.map(drop).map_err(|error| classify_error(error, &path))
    }

    /// Returns the damaged files that were kept aside, with the names of their sessions.
    pub fn aside(&self) -> Vec<(String, PathBuf)> {
        let listing = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut aside: Vec<(String, PathBuf)> = listing
            .filter_map(|file| {
                let name = file.file_name();
                let name = name.to_str()?.strip_suffix(ASIDE)?;
                // A suffix after the extension numbers several files of one session.
                let name = name.split_once(".jsonl").map_or(name, |(name, _)| name);
                Some((name.to_owned(), file.path()))
            })
            .collect();
        aside.sort();
        aside
    }

    /// Reads only the header of a session; `None` if it is not stored.
    pub fn header(&self, name: &str) -> Result<Option<SessionHeader>> {
        let Some((path, mut reader)) = self.open_text(name)? else { return Ok(None) };
        read_header(&mut reader).map(Some).map_err(|error| classify_error(error, &path))
    }

    /// Replaces the file of a session atomically.
    pub fn store(&self, file: &SessionFile) -> Result<ArchiveEntry> {
        Ok(self.replace(file)?.0)
    }

    /// Replaces the file of a session, and keeps the session in memory for later steps if there is room.
    pub fn store_and_keep(&self, file: SessionFile) -> Result<ArchiveEntry> {
        let (entry, bytes) = self.replace(&file)?;
        let mut kept = self.kept();
        if kept.bytes + bytes <= KEPT_BYTES_MAX {
            kept.bytes += bytes;
            let session = KeptSession::Written(Arc::new(file));
            kept.sessions.insert(entry.name.clone(), (session, bytes));
        }
        Ok(entry)
    }

    /// Replaces the file of a session. Also returns the length of its records in bytes.
    fn replace(&self, file: &SessionFile) -> Result<(ArchiveEntry, u64)> {
        let name = file.header.name();
        self.kept().remove(&name);
        let path = self.path(&name);
        create_private(&self.folder)?;
        self.take_out(&name)?;
        let mut temporary = self.temporary()?;
        let bytes = write(&mut temporary, file).with_context(|| path.display().to_string())?;
        temporary.as_file().sync_all().with_context(|| path.display().to_string())?;
        temporary.persist(&path).with_context(|| path.display().to_string())?;
        sync_folder(&self.folder);
        Ok((ArchiveEntry::of(name, path)?, bytes))
    }

    /// Removes a session. Returns whether it existed.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.kept().remove(name);
        self.take_out(name)?;
        remove_if_there(&self.path(name))
    }

    /// Moves the file of a damaged session (see [`is_damaged`]), or its pack, to a new name, so that the session can be
    /// read again from its transcript. A file that was moved earlier is not replaced, because it may contain more.
    /// Returns the new path.
    pub fn put_aside(&self, name: &str) -> Result<PathBuf> {
        self.kept().remove(name);
        if self.path(name).exists() {
            return self.put_own_aside(name);
        }
        // This writes the intact sessions to files, and renames the damaged pack.
        self.take_out(name)?.ok_or_else(|| self.missing(name))
    }

    fn put_own_aside(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        // The whole session is read again, including this part.
        let (name, _) = parts::of_name(name);
        let aside = aside_path(&self.folder, &format!("{name}.jsonl"));
        fs::rename(&path, &aside).with_context(|| path.display().to_string())?;
        Ok(aside)
    }

    /// Removes unfinished files of killed runs. Only the holder of the lock may call it.
    pub fn sweep(&self) {
        let Ok(listing) = fs::read_dir(&self.folder) else { return };
        for entry in listing.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".writing-") {
                // A file that cannot be removed now is removed by a later run.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns the name of a session's archive file. An id is used as a file name only if it has plain characters;
/// otherwise it is hashed, because ids are input from outside.
pub fn file_name(session: &str, agent: Option<&str>) -> String {
    /// Maximum number of characters of an id that is used as a file name.
    const NAME_CHARS_MAX: usize = 64;
    let plain = |id: &str| {
        !id.is_empty()
            && id.len() <= NAME_CHARS_MAX
            && id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let part = |id: &str| {
        if plain(id) {
            id.to_owned()
        } else {
            format!("h{}", &blake3::hash(id.as_bytes()).to_hex()[..32])
        }
    };
    match agent {
        None => part(session),
        Some(agent) => format!("{}.{}", part(session), part(agent)),
    }
}

/// Returns the name of the archive file for a transcript.
pub fn name_of(transcript: &TranscriptName) -> String {
    file_name(&transcript.session, transcript.agent.as_deref())
}

/// Returns the files of a folder with this extension, sorted by name.
fn files_in(folder: &Path, ending: &str) -> Result<Vec<ArchiveEntry>> {
    each_in(folder, ending)?.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the path of each file of a folder with this extension, and its entry or the error of reading its metadata.
fn each_in(folder: &Path, ending: &str) -> Result<Vec<(PathBuf, Result<ArchiveEntry>)>> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    let mut files = Vec::new();
    for file in listing {
        let file = file.with_context(|| folder.display().to_string())?;
        let name = file.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(ending)) else { continue };
        match ArchiveEntry::of(name.to_owned(), file.path()) {
            // The file was packed or unpacked since the listing.
            Err(error) if is_gone(&error) => {}
            entry => files.push((file.path(), entry)),
        }
    }
    files.sort_by(|(one, a), (other, b)| {
        let names = a.as_ref().ok().map(|entry| &entry.name);
        names.cmp(&b.as_ref().ok().map(|entry| &entry.name)).then_with(|| one.cmp(other))
    });
    Ok(files)
}

/// Returns the first unused path for a damaged file that is kept aside.
fn aside_path(folder: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|number: u32| format!("{name}.{number}{ASIDE}"));
    let names = std::iter::once(format!("{name}{ASIDE}")).chain(numbered);
    let mut paths = names.map(|name| folder.join(name));
    let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    paths.find(is_free).unwrap_or_else(|| folder.join(format!("{name}{ASIDE}")))
}

fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn open_file(path: &Path) -> Result<Option<File>> {
    match open_regular::open(path, Links::Follow) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

fn read_header(reader: &mut impl BufRead) -> Result<SessionHeader> {
    let mut line = String::new();
    reader.take(HEADER_BYTES_MAX).read_line(&mut line)?;
    // The format is checked before the other fields are parsed, because a later format may have other fields.
    let FormatVersion { format } = serde_json::from_str(&line)?;
    if format > FORMAT {
        bail!(
            "it has format {format}, this program reads up to {FORMAT}; install the newer version that wrote it"
        );
    }
    Ok(serde_json::from_str(&line)?)
}

/// The field of a header that every format has.
#[derive(Deserialize)]
struct FormatVersion {
    #[serde(default)]
    format: u32,
}

/// Error for an archived session that cannot be read, although its file may be intact: it has another format, or the
/// disk returned an error.
#[derive(Debug, thiserror::Error)]
#[error("{}: this archived session cannot be read", .0.display())]
struct UnreadableSession(PathBuf);

/// Error for an archived session whose file differs from what was written.
#[derive(Debug, thiserror::Error)]
#[error("{}: this archived session is damaged", .0.display())]
struct DamagedArchive(PathBuf);

fn classify_error(error: anyhow::Error, path: &Path) -> anyhow::Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let damaged = match error.downcast_ref::<io::Error>() {
        // The decompressor's errors for invalid data, and the error for invalid UTF-8.
        Some(error) => matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof),
        None => error.is::<serde_json::Error>(),
    };
    let path = path.to_owned();
    if damaged {
        error.context(DamagedArchive(path))
    } else {
        error.context(UnreadableSession(path))
    }
}

/// Returns whether an archived session could not be read because its file is damaged. After other errors a file must
/// not be moved, because a later run or a later version of this program may read it.
pub fn is_damaged(error: &anyhow::Error) -> bool {
    error.is::<DamagedArchive>()
}

/// Writes a file. Returns the length of its records in bytes.
fn write(out: &mut impl Write, file: &SessionFile) -> Result<u64> {
    // The header of the compressed file has no time and no name, so that equal turns result in equal bytes.
    let gzip = GzBuilder::new().mtime(0).write(out, Compression::new(LEVEL));
    let mut gzip = io::BufWriter::with_capacity(PACKED_AT_ONCE, gzip);
    let format = file.header.needed_format(&file.records);
    let header = SessionHeader { format, ..file.header.clone() };
    serde_json::to_writer(&mut gzip, &header)?;
    gzip.write_all(b"\n")?;
    let (mut line, mut bytes) = (Vec::new(), 0);
    for record in &file.records {
        line.clear();
        serde_json::to_writer(&mut line, record)?;
        line.push(b'\n');
        gzip.write_all(&line)?;
        bytes += line.len() as u64;
    }
    let gzip = gzip.into_inner().map_err(io::IntoInnerError::into_error)?;
    gzip.finish()?.flush()?;
    Ok(bytes)
}

/// Makes a rename durable if possible. Errors are ignored, because some file systems do not support it.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Makes a rename durable before the other copy is removed, so that one copy remains if the disk fails.
fn ensure_lasting(folder: &Path) -> Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems do not support this.
        Err(error) if is_unsupported(&error) => Ok(()),
        synced => synced.with_context(|| folder.display().to_string()),
    }
}

/// Returns a hash of the first `bytes` bytes of a transcript, for its watermark.
pub fn head_hash(file: &mut File, bytes: u64) -> io::Result<String> {
    use std::io::Seek;
    file.seek(io::SeekFrom::Start(0))?;
    let mut head = Vec::new();
    file.take(bytes).read_to_end(&mut head)?;
    Ok(blake3::hash(&head).to_hex()[..32].to_owned())
}

/// Returns the times of the first and the last record with a time; `None` if there is none.
pub fn span(records: &[Record]) -> Option<(Timestamp, Timestamp)> {
    let times = || records.iter().map(|record| record.at).filter(|at| *at != Timestamp::default());
    Some((times().min()?, times().max()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::record::RecordWhat;

    fn sample() -> SessionFile {
        SessionFile {
            header: SessionHeader { format: 1, session: "s-1".into(), ..SessionHeader::default() },
            records: vec![Record {
                uuid: "u1".into(),
                part: 0,
                parent: String::new(),
                at: Timestamp(1_000),
                side: false,
                what: RecordWhat::Text { message: "m".into(), text: "hello".into() },
            }],
        }
    }

    #[test]
    fn what_is_stored_is_loaded_and_the_same_turns_give_the_same_bytes() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir::at(home.path().join("p")));
        assert_eq!(archive.load("s-1").unwrap(), None);
        let entry = archive.store(&sample()).unwrap();
        assert_eq!(archive.load("s-1").unwrap(), Some(sample()));
        assert_eq!(archive.header("s-1").unwrap(), Some(sample().header));
        let first = fs::read(&entry.path).unwrap();
        archive.store(&sample()).unwrap();
        assert_eq!(first, fs::read(&entry.path).unwrap());
        assert_eq!(archive.entries().unwrap().len(), 1);
        assert!(archive.remove("s-1").unwrap() && !archive.remove("s-1").unwrap());
    }

    #[test]
    fn what_is_kept_is_what_the_file_holds() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir::at(home.path().to_owned()));
        let read =
            |archive: &Archive| archive.load_kept("s-1").unwrap().map(|file| file.records.len());
        let path = archive.store_and_keep(sample()).unwrap().path;
        let packed = fs::read(&path).unwrap();
        fs::write(&path, "no gzip at all").unwrap();
        assert_eq!(read(&archive.clone()), Some(1), "taken from memory");
        archive.forget_kept();
        assert!(archive.load_kept("s-1").is_err(), "read from disk");
        fs::write(&path, packed).unwrap();
        archive.store_and_keep(sample()).unwrap();
        archive.store(&SessionFile { records: Vec::new(), ..sample() }).unwrap();
        assert_eq!(read(&archive), Some(0), "another step replaced it");
        archive.store_and_keep(sample()).unwrap();
        archive.remove("s-1").unwrap();
        assert_eq!(read(&archive), None);
        // Sessions are read from disk if there is no room in memory.
        let mut long = sample();
        long.records[0].what =
            RecordWhat::Text { message: String::new(), text: "x".repeat(KEPT_BYTES_MAX as usize) };
        archive.store_and_keep(long).unwrap();
        assert!(archive.kept().sessions.is_empty());
        assert_eq!(read(&archive), Some(1));
    }

    #[test]
    fn an_assembled_session_takes_the_place_of_its_records() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir::at(home.path().to_owned()));
        let assembled = || vec![Session { id: "s-1".to_owned(), ..Session::default() }];
        archive.store_and_keep(sample()).unwrap();
        let bytes = archive.kept().bytes;
        assert_eq!(archive.take_assembled("s-1", ""), None, "only its records are kept");
        archive.keep_assembled("s-1", "", assembled());
        assert_eq!(archive.kept().bytes, bytes);
        assert_eq!(archive.take_assembled("s-1", ""), Some(assembled()));
        assert_eq!(archive.kept().bytes, 0);
        // An assembled session is kept only in place of its records.
        archive.keep_assembled("s-1", "", assembled());
        assert_eq!(archive.take_assembled("s-1", ""), None);
        // An assembled session is invalid once the session owns other records or was written again.
        archive.store_and_keep(sample()).unwrap();
        archive.keep_assembled("s-1", "", assembled());
        assert_eq!(archive.take_assembled("s-1", "others"), None);
        archive.store_and_keep(sample()).unwrap();
        archive.keep_assembled("s-1", "", assembled());
        archive.store(&sample()).unwrap();
        assert_eq!(archive.take_assembled("s-1", ""), None);
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir::at(home.path().to_owned()));
        let entry = archive.store(&sample()).unwrap();
        let bytes = fs::read(&entry.path).unwrap();
        let mut turned = bytes.clone();
        turned[bytes.len() / 2] ^= 0x55;
        for damage in [&bytes[..bytes.len() / 2], &bytes[..5], b"", b"no gzip at all", &turned] {
            fs::write(&entry.path, damage).unwrap();
            let error = archive.load("s-1").unwrap_err();
            assert!(is_damaged(&error), "{error:#}");
            assert!(format!("{error:#}").contains("s-1.jsonl.gz"), "{error:#}");
        }
        archive.put_aside("s-1").unwrap();
        assert_eq!(archive.load("s-1").unwrap(), None);
    }

    #[test]
    fn a_file_of_a_later_version_or_a_sick_disk_is_not_damaged() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir::at(home.path().to_owned()));
        let path = archive.store(&sample()).unwrap().path;
        let mut later = GzBuilder::new().write(Vec::new(), Compression::default());
        let header =
            format!("{{\"format\":{},\"session\":{{\"id\":1}},\"sources\":{{}}}}\n", FORMAT + 1);
        later.write_all(header.as_bytes()).unwrap();
        fs::write(&path, later.finish().unwrap()).unwrap();
        let error = archive.load("s-1").unwrap_err();
        assert!(!is_damaged(&error) && format!("{error:#}").contains("install"), "{error:#}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = archive.load("s-1").unwrap_err();
        assert!(!is_damaged(&error) && format!("{error:#}").contains("s-1.jsonl.gz"), "{error:#}");
    }

    #[test]
    fn a_folder_lasts_where_the_disk_does_not_fail() {
        let home = tempfile::tempdir().unwrap();
        ensure_lasting(home.path()).unwrap();
        #[cfg(target_os = "linux")]
        ensure_lasting(Path::new("/proc")).expect("no disk is behind it: EINVAL");
        assert!(ensure_lasting(&home.path().join("gone")).is_err());
    }

    #[test]
    fn names_from_outside_stay_in_the_folder() {
        for hostile in ["../../etc/passwd", "", "a/b", "A", &"x".repeat(100), "a\0b"] {
            let name = file_name(hostile, Some(hostile));
            assert!(!name.contains('/') && !name.contains(".."), "{name}");
        }
        assert_ne!(file_name("A", None), file_name("a", None));
        assert_eq!(file_name("s-1", Some("b2")), "s-1.b2");
    }
}
