//! The archive: the redacted turns of each session, kept because Claude Code deletes its
//! transcripts after a month.
//!
//! One compressed file per session and subagent: a header line, then one [`Record`] a line. The
//! header holds the watermarks, how far each transcript was read, so that one rename commits the
//! records and the watermark together; a run that is killed at any moment has either read a piece
//! or not. Sessions that rest are moved into packs ([`pack`]), which hold the same lines.

pub mod pack;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder, read::GzDecoder, write::GzEncoder};
use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use serde::{Deserialize, Serialize};

use crate::private_files::{create_private, modified_ns, remove_if_there};
use crate::transcript::name::TranscriptName;
use crate::transcript::parts::{self, Growth};
use crate::transcript::record::Record;
use pack::{Member, Pack, Unpacked};

/// The version of the format, in the header of each file: 1 of a session that is not cut, which older versions of this
/// program read, too, and 2 of one in parts.
pub const FORMAT: u32 = 2;

/// The end of the name of an archive file.
const SUFFIX: &str = ".jsonl.gz";

/// The end of the name of one that was put aside.
const ASIDE: &str = ".damaged";

/// The beginning of the name of one that is being written.
const WRITING: &str = ".writing-";

/// The most that one archive file may hold, uncompressed. A month of work has some ten megabytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// How much is done to make a file small. A session is written again whole whenever it went on.
const LEVEL: u32 = 3;

/// Bytes of a header line.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Bytes at the head of a transcript by which it is recognised.
pub const IDENTITY_BYTES_MAX: u64 = 4 << 10;

/// How far one transcript was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watermark {
    /// The transcript.
    pub path: PathBuf,
    /// Bytes read: the end of a complete line.
    pub offset: u64,
    /// Bytes at its head that `head` was taken of.
    pub head_bytes: u64,
    /// A hash of its head: another file under the same name is read from its beginning.
    pub head: String,
}

/// The first line of an archive file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The session.
    pub session: String,
    /// The subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it came from a folder that the user named, so that all its turns count, wherever
    /// they were recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_folder: bool,
    /// Hash of the ignored paths that were left out when the session was read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ignored: String,
    /// The number of this part of the session; 0 of the one that goes on.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// How many parts are closed, in the one that goes on. Files with a higher number were left by a killed run.
    #[serde(skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// How far the part that goes on has grown.
    pub growth: Growth,
    /// The transcripts it was read from, by path.
    pub sources: Vec<Watermark>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Header {
    /// The name of the file without its ending.
    pub fn name(&self) -> String {
        parts::name(&file_name(&self.session, self.agent.as_deref()), self.part)
    }

    /// The lowest version of the format that tells all of it.
    pub fn needed_format(&self) -> u32 {
        if self.part == 0 && self.parts == 0 { 1 } else { FORMAT }
    }
}

/// An archive file in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFile {
    /// Its header.
    pub header: Header,
    /// Its records, in the order they were read.
    pub records: Vec<Record>,
}

/// An archive file on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name without the ending: unique in the archive.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its length in bytes.
    pub len: u64,
    /// When it was written, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl Entry {
    /// Whether it has a file of its own, and lies in no pack.
    pub fn has_own_file(&self) -> bool {
        self.path.to_string_lossy().ends_with(SUFFIX)
    }
}

/// The archive of one project.
#[derive(Clone, Debug)]
pub struct Archive {
    folder: PathBuf,
    /// Packs that were looked at: they never change.
    packs: Arc<Mutex<BTreeMap<PathBuf, Arc<Pack>>>>,
}

impl Archive {
    /// Opens the archive of a project; a missing one is empty.
    pub fn open(home: &ProjectDir) -> Self {
        Self { folder: home.archive(), packs: Arc::default() }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of its files, in no order.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names: BTreeSet<String> =
            self.listing()?.into_iter().map(|(name, _)| name).collect();
        for pack in self.packs() {
            names.extend(pack.members.iter().map(|member| member.name.clone()));
        }
        Ok(names.into_iter().collect())
    }

    /// Its files, by name.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (name, entry) in self.listing()? {
            let metadata = entry.metadata().with_context(|| entry.path().display().to_string())?;
            entries.push(Entry {
                name,
                path: entry.path(),
                len: metadata.len(),
                modified_ns: modified_ns(&metadata),
            });
        }
        let mut known: BTreeSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        for pack in self.packs() {
            let members = pack.members.iter().filter(|member| known.insert(member.name.clone()));
            entries.extend(members.map(|member| packed_entry(&pack, member)));
        }
        entries.sort();
        Ok(entries)
    }

    fn listing(&self) -> Result<Vec<(String, DirEntry)>> {
        let listing = match fs::read_dir(&self.folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| self.folder.display().to_string()),
        };
        let mut named = Vec::new();
        for entry in listing {
            let entry = entry.with_context(|| self.folder.display().to_string())?;
            let name = entry.file_name();
            if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) {
                named.push((name.to_owned(), entry));
            }
        }
        Ok(named)
    }

    /// One file, which must be there.
    pub fn entry(&self, name: &str) -> Result<Entry> {
        let path = self.own_path(name);
        if let Some((pack, member)) = self.packed(name) {
            return Ok(packed_entry(&pack, &member));
        }
        let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
        Ok(Entry {
            name: name.to_owned(),
            path,
            len: metadata.len(),
            modified_ns: modified_ns(&metadata),
        })
    }

    /// Where the turns of a session are kept.
    pub fn path(&self, name: &str) -> PathBuf {
        self.packed(name).map_or_else(|| self.own_path(name), |(pack, _)| pack.path.clone())
    }

    /// The file of a session that lies in no pack.
    fn own_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{SUFFIX}"))
    }

    /// The packs that can be read.
    fn packs(&self) -> Vec<Arc<Pack>> {
        let paths = pack::all(&self.folder);
        let Ok(mut known) = self.packs.lock() else { return Vec::new() };
        known.retain(|path, _| paths.contains(path));
        for path in paths {
            if !known.contains_key(&path)
                && let Ok(pack) = Pack::read(&path)
            {
                known.insert(path, Arc::new(pack));
            }
        }
        known.values().cloned().collect()
    }

    /// The pack of a session that has no file of its own.
    fn packed(&self, name: &str) -> Option<(Arc<Pack>, Member)> {
        if fs::symlink_metadata(self.own_path(name)).is_ok() {
            return None;
        }
        self.in_pack(name)
    }

    fn in_pack(&self, name: &str) -> Option<(Arc<Pack>, Member)> {
        self.packs().into_iter().find_map(|pack| {
            let member = pack.member(name)?.clone();
            Some((pack, member))
        })
    }

    /// Opens the lines of a session; `None` when nothing of it is kept.
    fn open_session(&self, name: &str) -> Result<Option<(PathBuf, Box<dyn BufRead>)>> {
        let own = self.own_path(name);
        if let Some(reader) = open(&own)? {
            return Ok(Some((own, Box::new(reader))));
        }
        if let Some((pack, _)) = self.in_pack(name) {
            match pack.session(name) {
                Ok(session) => {
                    let reader = Box::new(io::Cursor::new(session.lines));
                    return Ok(Some((pack.path.clone(), reader)));
                }
                Err(error) if pack.path.exists() => return Err(told(error, &pack.path)),
                Err(_) => {}
            }
        }
        // A pack may have been taken apart meanwhile.
        Ok(open(&own)?.map(|reader| (own, Box::new(reader) as Box<dyn BufRead>)))
    }

    /// Reads a session; `None` when nothing of it is kept.
    pub fn load(&self, name: &str) -> Result<Option<SessionFile>> {
        let Some((path, mut reader)) = self.open_session(name)? else { return Ok(None) };
        let header = read_header(&mut reader).map_err(|error| told(error, &path))?;
        let mut records = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).map_err(|error| told(error.into(), &path))? == 0 {
                return Ok(Some(SessionFile { header, records }));
            }
            // A record of a later version of this program is left out, not fatal.
            if let Ok(record) = serde_json::from_str(&line) {
                records.push(record);
            }
        }
    }

    /// Compares the file of a session with its checksum, without a look at its records.
    pub fn check(&self, name: &str) -> Result<()> {
        let Some((path, mut reader)) = self.open_session(name)? else { return Ok(()) };
        let read =
            read_header(&mut reader).and_then(|_| Ok(io::copy(&mut reader, &mut io::sink())?));
        read.map(drop).map_err(|error| told(error, &path))
    }

    /// The files that were put aside because they were damaged, with the names of their sessions.
    pub fn aside(&self) -> Vec<(String, PathBuf)> {
        let listing = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut aside: Vec<(String, PathBuf)> = listing
            .filter_map(|file| {
                let name = file.file_name();
                let name = name.to_str()?.strip_suffix(ASIDE)?;
                // A suffix after the name numbers several files of one session.
                let name = name.split_once(".jsonl").map_or(name, |(name, _)| name);
                Some((name.to_owned(), file.path()))
            })
            .collect();
        aside.sort();
        aside
    }

    /// Reads only the header.
    pub fn header(&self, name: &str) -> Result<Option<Header>> {
        if let Some((pack, member)) = self.packed(name) {
            let header = read_header(&mut member.header.as_bytes());
            return header.map(Some).map_err(|error| told(error, &pack.path));
        }
        let Some((path, mut reader)) = self.open_session(name)? else { return Ok(None) };
        read_header(&mut reader).map(Some).map_err(|error| told(error, &path))
    }

    /// Replaces the file of a session, all at once.
    pub fn store(&self, file: &SessionFile) -> Result<Entry> {
        let name = file.header.name();
        let path = self.own_path(&name);
        create_private(&self.folder)?;
        let mut temporary = self.temporary()?;
        write(&mut temporary, file).with_context(|| path.display().to_string())?;
        temporary.as_file().sync_all().with_context(|| path.display().to_string())?;
        temporary.persist(&path).with_context(|| path.display().to_string())?;
        sync_folder(&self.folder);
        // What a pack says of it may be what was to go.
        self.take_out(&name)?;
        let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
        Ok(Entry { name, path, len: metadata.len(), modified_ns: modified_ns(&metadata) })
    }

    /// Removes the file of a session; whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.take_out(name)?;
        remove_if_there(&self.own_path(name))
    }

    fn temporary(&self) -> Result<tempfile::NamedTempFile> {
        tempfile::Builder::new()
            .prefix(WRITING)
            .tempfile_in(&self.folder)
            .with_context(|| self.folder.display().to_string())
    }

    /// Moves sessions that rest into one pack. Only for the one that holds the lock. One that cannot be read, or is
    /// packed, is left as it is.
    pub fn pack(&self, names: &[String]) -> Result<()> {
        let mut sessions = Vec::new();
        for name in names {
            let path = self.own_path(name);
            let Some(mut reader) = open(&path)? else { continue };
            let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
            let mut lines = Vec::new();
            if reader.read_to_end(&mut lines).is_err() || lines.len() as u64 == FILE_BYTES_MAX {
                continue;
            }
            let header = lines.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let member = Member {
                name: name.clone(),
                header: String::from_utf8_lossy(header).into_owned(),
                bytes: lines.len() as u64,
                hash: pack::hash(&lines),
                len: metadata.len(),
                modified_ns: modified_ns(&metadata),
            };
            sessions.push(Unpacked { member, lines });
        }
        if sessions.is_empty() {
            return Ok(());
        }
        Pack::write(&self.folder, &sessions)?;
        for session in &sessions {
            remove_if_there(&self.own_path(&session.member.name))?;
        }
        sync_folder(&self.folder);
        Ok(())
    }

    /// Takes the pack of a session apart, if it lies in one: every session of it gets its own file again.
    fn take_out(&self, name: &str) -> Result<()> {
        match self.in_pack(name) {
            Some((pack, _)) => self.take_apart(&pack).map(drop),
            None => Ok(()),
        }
    }

    /// Gives the sessions of a pack their own files again, and removes the pack. Says which of them cannot be read; then the
    /// pack stays.
    fn take_apart(&self, pack: &Pack) -> Result<Vec<String>> {
        let mut unreadable = Vec::new();
        for (session, member) in pack.sessions().zip(&pack.members) {
            let path = self.own_path(&member.name);
            if fs::symlink_metadata(&path).is_ok() {
                continue;
            }
            match session {
                Ok(session) => self.write_out(&path, &session)?,
                Err(_) => unreadable.push(member.name.clone()),
            }
        }
        sync_folder(&self.folder);
        if unreadable.is_empty() {
            remove_if_there(&pack.path)?;
        }
        Ok(unreadable)
    }

    /// Writes the file that a session was in before it was packed.
    fn write_out(&self, path: &Path, session: &Unpacked) -> Result<()> {
        let context = || path.display().to_string();
        let mut temporary = self.temporary()?;
        let write = |file: &mut File| -> io::Result<()> {
            let mut gzip = compressor(io::BufWriter::new(&mut *file));
            gzip.write_all(&session.lines)?;
            gzip.finish()?.flush()?;
            let seconds = session.member.modified_ns.max(0);
            let since = std::time::Duration::from_nanos(u64::try_from(seconds).unwrap_or_default());
            // It is the file that it was, to those who look at its time.
            file.set_modified(std::time::UNIX_EPOCH + since)?;
            file.sync_all()
        };
        write(temporary.as_file_mut()).with_context(context)?;
        temporary.persist(path).with_context(context)?;
        Ok(())
    }

    /// Puts a damaged file aside (see [`is_damaged`]), so that what its transcript still holds can be read again.
    /// One that was put aside before stays: it may hold more.
    pub fn put_aside(&self, name: &str) -> Result<PathBuf> {
        let mut path = self.own_path(name);
        if let Some((pack, _)) = self.packed(name) {
            // Those before the damage have their own files again.
            self.take_apart(&pack)?;
            path.clone_from(&pack.path);
        }
        // A part comes back with the session that it is of.
        let (name, _) = parts::of_name(name);
        let numbered = (2..).map(|number| format!("{name}.jsonl.{number}{ASIDE}"));
        let mut names = [format!("{name}.jsonl{ASIDE}")].into_iter().chain(numbered);
        let is_free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let aside = names.find_map(|name| Some(self.folder.join(name)).filter(is_free));
        let aside = aside.unwrap_or_else(|| path.with_extension("damaged"));
        if !path.exists() {
            // It lay in a pack that was put aside for another of its sessions.
            return Ok(aside);
        }
        fs::rename(&path, &aside).with_context(|| path.display().to_string())?;
        Ok(aside)
    }

    /// Removes what killed runs left half-written. Only for the one that holds the lock.
    pub fn sweep(&self) {
        // A pack some of whose sessions have files of their own was written, or taken apart, by a killed run.
        for pack in self.packs() {
            let has_file =
                |member: &Member| fs::symlink_metadata(self.own_path(&member.name)).is_ok();
            if pack.members.iter().any(has_file) {
                // What cannot be done now is done by a later run.
                drop(self.take_apart(&pack));
            }
        }
        let Ok(listing) = fs::read_dir(&self.folder) else { return };
        for entry in listing.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(WRITING.as_bytes()) {
                // A file that cannot be removed now is removed by a later run.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The name of the archive file of a session. Ids from outside name a file only when they are
/// plain; others are hashed.
pub fn file_name(session: &str, agent: Option<&str>) -> String {
    /// Characters of an id that may name a file.
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

/// The name of the archive file of a transcript.
pub fn name_of(transcript: &TranscriptName) -> String {
    file_name(&transcript.session, transcript.agent.as_deref())
}

fn open(path: &Path) -> Result<Option<BufReader<io::Take<GzDecoder<File>>>>> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::new(GzDecoder::new(file).take(FILE_BYTES_MAX)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

fn read_header(reader: &mut impl BufRead) -> Result<Header> {
    let mut line = String::new();
    reader.take(HEADER_BYTES_MAX).read_line(&mut line)?;
    // Before the rest: a later format may have other fields.
    let FormatVersion { format } = serde_json::from_str(&line)?;
    if format > FORMAT {
        bail!(
            "it has format {format}, this program reads up to {FORMAT}; install the newer version that wrote it"
        );
    }
    Ok(serde_json::from_str(&line)?)
}

/// The one field of a header that every format has.
#[derive(Deserialize)]
struct FormatVersion {
    #[serde(default)]
    format: u32,
}

/// Error for an archived session whose file is or may be whole but cannot be read: it has another format, or
/// the disk cannot be read now.
#[derive(Debug, thiserror::Error)]
#[error("{}: this archived session cannot be read", .0.display())]
struct Unreadable(PathBuf);

/// An archived session whose file holds something else than was written.
#[derive(Debug, thiserror::Error)]
#[error("{}: this archived session is damaged", .0.display())]
struct DamagedArchive(PathBuf);

fn told(error: anyhow::Error, path: &Path) -> anyhow::Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    let damaged = match error.downcast_ref::<io::Error>() {
        // The decompressor's errors for bytes that it did not write, and the error for invalid UTF-8.
        Some(error) => matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof),
        None => error.is::<serde_json::Error>(),
    };
    let path = path.to_owned();
    if damaged { error.context(DamagedArchive(path)) } else { error.context(Unreadable(path)) }
}

/// Whether an archived session could not be read because its file is damaged. Any other file must
/// stay where it is: a later run, or a later version of this program, can read it.
pub fn is_damaged(error: &anyhow::Error) -> bool {
    error.is::<DamagedArchive>()
}

fn write(out: &mut impl Write, file: &SessionFile) -> Result<()> {
    let mut gzip = compressor(io::BufWriter::new(out));
    let header = Header { format: file.header.needed_format(), ..file.header.clone() };
    serde_json::to_writer(&mut gzip, &header)?;
    gzip.write_all(b"\n")?;
    for record in &file.records {
        serde_json::to_writer(&mut gzip, record)?;
        gzip.write_all(b"\n")?;
    }
    gzip.finish()?.flush()?;
    Ok(())
}

fn compressor<W: Write>(out: W) -> GzEncoder<W> {
    // Without a time and a name in it, the same turns give the same bytes.
    GzBuilder::new().mtime(0).write(out, Compression::new(LEVEL))
}

fn packed_entry(pack: &Pack, member: &Member) -> Entry {
    Entry {
        name: member.name.clone(),
        path: pack.path.clone(),
        len: member.len,
        modified_ns: member.modified_ns,
    }
}

/// Makes a rename last. A file system that cannot do it is as good as it gets.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// A hash of the head of a transcript, for its watermark.
pub fn head_hash(file: &mut File, bytes: u64) -> io::Result<String> {
    use std::io::Seek;
    file.seek(io::SeekFrom::Start(0))?;
    let mut head = Vec::new();
    file.take(bytes).read_to_end(&mut head)?;
    Ok(blake3::hash(&head).to_hex()[..32].to_owned())
}

/// The times of the first and the last record that has one.
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
            header: Header { format: 1, session: "s-1".into(), ..Header::default() },
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
        let archive = Archive::open(&ProjectDir(home.path().join("p")));
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
    fn a_damaged_file_is_an_error_that_names_it() {
        let home = tempfile::tempdir().unwrap();
        let archive = Archive::open(&ProjectDir(home.path().to_owned()));
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
        let archive = Archive::open(&ProjectDir(home.path().to_owned()));
        let path = archive.store(&sample()).unwrap().path;
        let mut later = GzBuilder::new().write(Vec::new(), Compression::default());
        later.write_all(b"{\"format\":3,\"session\":{\"id\":1},\"sources\":{}}\n").unwrap();
        fs::write(&path, later.finish().unwrap()).unwrap();
        let error = archive.load("s-1").unwrap_err();
        assert!(!is_damaged(&error) && format!("{error:#}").contains("install"), "{error:#}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = archive.load("s-1").unwrap_err();
        assert!(!is_damaged(&error) && format!("{error:#}").contains("s-1.jsonl.gz"), "{error:#}");
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

    /// An archive of some sessions, each with the same text and one of its own.
    fn archive_of(home: &Path, names: &[&str]) -> Archive {
        let archive = Archive::open(&ProjectDir(home.join("p")));
        for name in names {
            let mut file = sample();
            file.header.session = (*name).to_owned();
            let text = format!("{} {name}", "what all of them say ".repeat(40));
            file.records[0].what = RecordWhat::Text { message: "m".into(), text };
            archive.store(&file).unwrap();
        }
        archive
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_packed_is_read_and_taken_out_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let archive = archive_of(home.path(), &["a", "b", "c"]);
        let all = |archive: &Archive| {
            let names = archive.names().unwrap();
            let mut files: Vec<_> =
                names.iter().map(|name| archive.load(name).unwrap().unwrap()).collect();
            files.sort_by(|a, b| a.header.session.cmp(&b.header.session));
            files
        };
        let identity = |archive: &Archive| -> Vec<(String, u64, i128)> {
            let entries = archive.entries().unwrap().into_iter();
            entries.map(|entry| (entry.name, entry.len, entry.modified_ns)).collect()
        };
        let (before, entries) = (all(&archive), identity(&archive));
        archive.pack(&owned(&["a", "b"])).unwrap();
        assert!(!archive.own_path("a").exists() && archive.own_path("c").exists());
        assert_eq!((all(&archive), identity(&archive)), (before.clone(), entries.clone()));
        assert_eq!(archive.header("b").unwrap().as_ref(), Some(&before[1].header));
        archive.check("a").unwrap();
        assert!(archive.path("a").to_string_lossy().ends_with(pack::SUFFIX));
        let text = |path: &Path| {
            let mut text = String::new();
            let file = crate::upkeep::audit::files::open(path).unwrap();
            file.unwrap().read_to_string(&mut text).unwrap();
            text
        };
        assert!(text(&archive.path("a")).contains("say  b"));

        // Nothing of a session that changes, or goes, is left in a pack.
        let mut changed = before[0].clone();
        changed.records[0].uuid = "u2".into();
        archive.store(&changed).unwrap();
        assert!(pack::all(archive.folder()).is_empty());
        assert_eq!(all(&archive), [changed, before[1].clone(), before[2].clone()]);
        assert_eq!(identity(&archive)[1..], entries[1..]);
        archive.pack(&owned(&["a", "b", "c"])).unwrap();
        assert!(archive.remove("b").unwrap() && !archive.remove("b").unwrap());
        assert_eq!(archive.names().unwrap(), ["a", "c"]);
        assert!(pack::all(archive.folder()).is_empty());
    }

    #[test]
    fn a_kill_while_packing_or_unpacking_costs_only_work() {
        let home = tempfile::tempdir().unwrap();
        let archive = archive_of(home.path(), &["a", "b"]);
        let before = ["a", "b"].map(|name| archive.load(name).unwrap());
        let bytes = fs::read(archive.own_path("b")).unwrap();
        archive.pack(&owned(&["a", "b"])).unwrap();
        // One of the files is there, beside the pack.
        fs::write(archive.own_path("b"), bytes).unwrap();
        assert_eq!(archive.names().unwrap(), ["a", "b"]);
        archive.sweep();
        assert!(pack::all(archive.folder()).is_empty());
        assert_eq!(["a", "b"].map(|name| archive.load(name).unwrap()), before);
    }

    #[test]
    fn a_damaged_pack_keeps_what_stands_before_the_damage() {
        let home = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c"];
        let archive = archive_of(home.path(), &names);
        // Random text makes blocks of their own.
        let mut state = 7_u64;
        for name in names {
            let mut file = archive.load(name).unwrap().unwrap();
            let mut noise = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("{state:x}")
            };
            let text = (0..20_000).map(|_| noise()).collect();
            file.records[0].what = RecordWhat::Text { message: "m".into(), text };
            archive.store(&file).unwrap();
        }
        let first = archive.load("a").unwrap();
        archive.pack(&owned(&names)).unwrap();
        let path = archive.path("c");
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes.len() - 1_000;
        bytes[at] ^= 0x55;
        fs::write(&path, bytes).unwrap();
        let error = archive.load("c").unwrap_err();
        assert!(is_damaged(&error), "{error:#}");
        let aside = archive.put_aside("c").unwrap();
        assert!(aside.to_string_lossy().ends_with("c.jsonl.damaged"));
        assert_eq!(archive.load("a").unwrap(), first);
        assert!(archive.load("b").unwrap().is_some());
        assert_eq!(archive.load("c").unwrap(), None);
        assert_eq!(archive.aside().len(), 1);
    }
}
