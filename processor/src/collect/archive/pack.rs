//! Packs: archived sessions that rest, compressed together. Sessions of a project repeat one another, which a
//! stream of each by itself cannot use.
//!
//! A pack never changes. It is written, synced and renamed before the files of its sessions go; whoever changes one of
//! these sessions takes all of them out again first. A session that lies in a file of its own counts, whatever a
//! pack says.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// The end of the name of a pack.
pub const SUFFIX: &str = ".pack";

/// How a pack begins; the last byte is the version of its format.
pub const MAGIC: [u8; 8] = *b"TLPACK\0\x01";

/// Bytes before the table of sessions: the magic number, and the length and the hash of the table.
const HEADER_BYTES: usize = 8 + 4 + HASH_BYTES;

/// Bytes of a hash.
const HASH_BYTES: usize = 16;

/// Bytes of the table of sessions.
const TABLE_BYTES_MAX: u32 = 16 << 20;

/// Bytes that a pack may hold, unpacked.
const PACK_BYTES_MAX: u64 = 1 << 30;

/// How much is done to make a pack small.
const LEVEL: i32 = 12;

/// Bytes, as a power of two, in which a session finds what it repeats of others: all of a usual pack.
const WINDOW_LOG: u32 = 24;

/// A session in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The name of its archive file, without the ending.
    pub name: String,
    /// The first of its lines: what is asked of many sessions.
    pub header: String,
    /// Bytes of its lines.
    pub bytes: u64,
    /// A hash of them.
    pub hash: String,
    /// Length of the file that it was in before.
    pub len: u64,
    /// When that was written, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// A session that is to be packed, or was taken out.
#[derive(Debug)]
pub struct Unpacked {
    /// What the pack says of it.
    pub member: Member,
    /// Its lines.
    pub lines: Vec<u8>,
}

/// A pack and what it holds.
#[derive(Clone, Debug)]
pub struct Pack {
    /// The file.
    pub path: PathBuf,
    /// Its sessions, in their order.
    pub members: Vec<Member>,
}

/// Returns the hash of a session's lines.
pub fn hash(lines: &[u8]) -> String {
    blake3::hash(lines).to_hex()[..2 * HASH_BYTES].to_owned()
}

impl Pack {
    /// Writes sessions into a new pack of a folder, and verifies that they can be read again.
    pub fn write(folder: &Path, sessions: &[Unpacked]) -> Result<Self> {
        let members: Vec<&Member> = sessions.iter().map(|session| &session.member).collect();
        let table = serde_json::to_vec(&members)?;
        let table_hash = blake3::hash(&table);
        let path = folder.join(format!("{}{SUFFIX}", &table_hash.to_hex()[..2 * HASH_BYTES]));
        let context = || path.display().to_string();
        let mut temporary = tempfile::Builder::new()
            .prefix(super::WRITING)
            .tempfile_in(folder)
            .with_context(context)?;
        let mut write = || -> io::Result<()> {
            let mut out = io::BufWriter::new(&mut temporary);
            out.write_all(&MAGIC)?;
            out.write_all(&u32::try_from(table.len()).unwrap_or(u32::MAX).to_le_bytes())?;
            out.write_all(&table_hash.as_bytes()[..HASH_BYTES])?;
            out.write_all(&table)?;
            let mut stream = zstd::Encoder::new(out, LEVEL)?;
            stream.include_checksum(true)?;
            stream.window_log(WINDOW_LOG)?;
            stream.long_distance_matching(true)?;
            for session in sessions {
                stream.write_all(&session.lines)?;
            }
            stream.finish()?.flush()
        };
        write().with_context(context)?;
        let written = Self::read(temporary.path())?;
        ensure!(
            written.sessions().all(|session| session.is_ok())
                && written.members.len() == members.len(),
            "{}: it cannot be read again",
            path.display()
        );
        temporary.as_file().sync_all().with_context(context)?;
        temporary.persist(&path).with_context(context)?;
        super::sync_folder(folder);
        Ok(Self { path, ..written })
    }

    /// Reads what a pack holds.
    pub fn read(path: &Path) -> Result<Self> {
        let mut file = File::open(path).with_context(|| path.display().to_string())?;
        let members = read_table(&mut file).with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), members })
    }

    /// Returns what the pack says of a session.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Takes out one session.
    pub fn session(&self, name: &str) -> Result<Unpacked> {
        let mut sessions = self.sessions();
        let at = self.members.iter().position(|member| member.name == name);
        let found = at.and_then(|at| sessions.nth(at));
        found.with_context(|| format!("{}: it does not hold {name}", self.path.display()))?
    }

    /// Takes out the sessions, in their order. Behind the first that cannot be read no other one can.
    pub fn sessions(&self) -> impl Iterator<Item = Result<Unpacked>> + '_ {
        let mut stream = stream(&self.path);
        self.members.iter().map(move |member| {
            let reader =
                stream.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
            let mut lines = Vec::new();
            reader.by_ref().take(member.bytes).read_to_end(&mut lines).map_err(as_damage)?;
            if lines.len() as u64 != member.bytes || hash(&lines) != member.hash {
                return Err(damage().into());
            }
            Ok(Unpacked { member: member.clone(), lines })
        })
    }
}

/// Opens what the sessions of a pack say, one behind the other.
pub fn stream(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    read_table(&mut file)?;
    let mut decoder = zstd::Decoder::new(file)?;
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(Box::new(decoder.take(PACK_BYTES_MAX)))
}

fn read_table(file: &mut File) -> io::Result<Vec<Member>> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let (length, hash) = rest.split_at(4);
    let length = u32::from_le_bytes(length.try_into().map_err(|_| damage())?);
    if magic != MAGIC || length > TABLE_BYTES_MAX {
        return Err(damage());
    }
    let mut table = Vec::new();
    Read::by_ref(file).take(u64::from(length)).read_to_end(&mut table)?;
    if blake3::hash(&table).as_bytes()[..HASH_BYTES] != *hash {
        return Err(damage());
    }
    Ok(serde_json::from_slice(&table)?)
}

/// Returns the error for a pack that holds something else than was written.
fn damage() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "this pack of archived sessions is damaged")
}

/// The decompressor has errors of its own for bytes that it did not write.
fn as_damage(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Other {
        io::Error::new(io::ErrorKind::InvalidData, error)
    } else {
        error
    }
}

/// The packs of a folder. One whose table cannot be read counts as none here.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_pack = |path: &PathBuf| path.to_string_lossy().ends_with(SUFFIX);
    let mut paths: Vec<PathBuf> = listing.map(|entry| entry.path()).filter(is_pack).collect();
    paths.sort();
    paths
}
