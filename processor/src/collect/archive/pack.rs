//! A pack: the texts of several sessions in one file, compressed together. FORMAT.md defines its bytes.
//!
//! Sessions of one project have much text in common, so they are smaller if they are compressed together. Before each
//! text, a line contains the session's name, so a pack can be read up to the first damage without its index. The index
//! at the end makes listing the content fast.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use anyhow::{Result, bail};
use lzma_rust2::{Lzma2Options, Lzma2Reader, Lzma2Writer, LzmaOptions};
use serde::{Deserialize, Serialize};

/// First bytes of a pack.
pub const MAGIC: [u8; 8] = *b"TLPACK\0\0";

/// The version of the format, stored in the index.
const FORMAT: u32 = 1;

/// Maximum total size in bytes of the texts in one pack. To read a session, all sessions before it are decompressed,
/// and damage may destroy all sessions after it. A larger pack would save space, but damage would destroy more.
pub const TEXT_BYTES_MAX: u64 = 24 << 20;

/// Maximum number of sessions in one pack, which limits the size of its index.
const SESSIONS_MAX: usize = 2_048;

/// Maximum size in bytes of a pack's index, and of the lines before its texts.
const INDEX_BYTES_MAX: u64 = 1 << 20;

/// Maximum size of a pack's file in bytes.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Distance in bytes within which the compressor finds repetitions: the whole text.
const WINDOW_BYTES: u32 = TEXT_BYTES_MAX as u32;

/// Compression level.
const LEVEL: u32 = 6;

/// Length of a repetition in bytes at which the search for a longer one ends: the maximum of the format.
const NICE_BYTES: u32 = 273;

/// Number of bytes that are decompressed per call. Up to this many bytes before a damage may be lost.
const READ_AT_ONCE: usize = 4 << 10;

/// Size of a hash in bytes.
const HASH_BYTES: usize = 16;

/// Size in bytes of the end of a pack: the hash of the index, and its length.
const TRAILER_BYTES: u64 = HASH_BYTES as u64 + 4;

/// A session in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackMember {
    /// The name of the session's former file without the extension.
    pub name: String,
    /// Size of the text in bytes.
    bytes: usize,
    /// A hash of the text.
    hash: String,
    /// The length of the former file in bytes.
    pub file_bytes: u64,
    /// The time when that file was written, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// The index at the end of a pack.
#[derive(Serialize, Deserialize)]
struct PackIndex {
    format: u32,
    sessions: Vec<PackMember>,
}

/// First bytes of an index.
const INDEX_BEGIN: &[u8] = b"{\"format\":";

/// The field of an index that every format has.
#[derive(Deserialize)]
struct PackFormat {
    format: u32,
}

/// A pack in memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SessionPack {
    /// The sessions, each with the range of its text.
    members: Vec<(PackMember, Range<usize>)>,
    text: Vec<u8>,
    /// After reading: whether all texts are intact, even if the index is damaged.
    is_whole: bool,
}

impl SessionPack {
    /// Returns whether the pack contains no session.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns whether all texts of a pack that was read are present and intact.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Adds a session with the length and the modification time of its file.
    pub fn add(&mut self, name: &str, text: &[u8], (file_bytes, modified_ns): (u64, i128)) {
        let (bytes, hash) = (text.len(), hash(text));
        let member = PackMember { name: name.to_owned(), bytes, hash, file_bytes, modified_ns };
        let at = self.text.len();
        self.text.extend_from_slice(text);
        self.members.push((member, at..at + bytes));
    }

    /// Returns the number of bytes of text that can still be added.
    pub fn room(&self) -> u64 {
        match self.members.len() {
            SESSIONS_MAX.. => 0,
            _ => TEXT_BYTES_MAX.saturating_sub(self.text.len() as u64),
        }
    }

    /// Returns the sessions with their texts.
    pub fn texts(&self) -> impl Iterator<Item = (&PackMember, &[u8])> {
        self.members.iter().map(|(member, range)| (member, &self.text[range.clone()]))
    }

    /// Writes the pack. Returns its name, which is a hash of its index.
    pub fn write(&self, out: &mut impl Write) -> Result<String> {
        out.write_all(&MAGIC)?;
        let mut options = LzmaOptions::with_preset(LEVEL);
        (options.dict_size, options.nice_len) = (WINDOW_BYTES, NICE_BYTES);
        let options = Lzma2Options { lzma_options: options, ..Lzma2Options::default() };
        let mut writer = Lzma2Writer::new(&mut *out, options);
        for (member, text) in self.texts() {
            serde_json::to_writer(&mut writer, member)?;
            writer.write_all(b"\n")?;
            writer.write_all(text)?;
        }
        writer.finish()?;
        let sessions = self.members.iter().map(|(member, _)| member.clone()).collect();
        let index = serde_json::to_vec(&PackIndex { format: FORMAT, sessions })?;
        out.write_all(&index)?;
        out.write_all(&blake3::hash(&index).as_bytes()[..HASH_BYTES])?;
        out.write_all(&u32::try_from(index.len())?.to_le_bytes())?;
        out.flush()?;
        Ok(hash(&index))
    }

    /// Reads a pack up to the first damage, and returns the sessions with intact texts. Also returns whether these are
    /// all sessions of the pack and the index is intact.
    pub fn read(mut file: File) -> Result<(Self, bool)> {
        let index = match read_index(&mut file) {
            Err(error) if !is_damage(&error) => return Err(error),
            index => index.ok(),
        };
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        let mut pack = Self::walk(bytes.get(MAGIC.len()..).unwrap_or_default());
        let members = || pack.members.iter().map(|(member, _)| member);
        let agrees = index.as_ref().map(|index| index.iter().eq(members()));
        let is_sound = bytes.starts_with(&MAGIC) && agrees == Some(true);
        pack.is_whole &= agrees != Some(false);
        Ok((pack, is_sound))
    }

    fn walk(compressed: &[u8]) -> Self {
        let reader = Lzma2Reader::new(compressed, WINDOW_BYTES, None);
        let mut reader = reader.take(TEXT_BYTES_MAX + INDEX_BYTES_MAX);
        let (mut text, mut piece) = (Vec::new(), [0; READ_AT_ONCE]);
        // A truncated text has another length or hash, so it is detected.
        let ended = loop {
            match reader.read(&mut piece) {
                Ok(0) => break true,
                Ok(len) => text.extend_from_slice(&piece[..len]),
                Err(_) => break false,
            }
        };
        // If damage ended the texts, no index follows.
        let ended = ended && reader.get_ref().inner().starts_with(INDEX_BEGIN);
        let mut all_fit = true;
        let (mut members, mut at) = (Vec::new(), 0);
        while let Some(end) = memchr::memchr(b'\n', &text[at..]) {
            let Ok(member) = serde_json::from_slice::<PackMember>(&text[at..at + end]) else {
                break;
            };
            let start = at + end + 1;
            let Some(range) = start.checked_add(member.bytes).map(|end| start..end) else { break };
            let Some(found) = text.get(range.clone()) else { break };
            at = range.end;
            if hash(found) == member.hash && is_plain(&member.name) {
                members.push((member, range));
            } else {
                all_fit = false;
            }
        }
        let is_whole = ended && all_fit && at == text.len();
        Self { members, text, is_whole }
    }
}

/// Reads only the index of a pack.
///
/// # Errors
/// An error for which [`is_damage`] is true, if the index differs from what was written.
pub fn read_index(file: &mut File) -> Result<Vec<PackMember>> {
    let len = file.metadata()?.len();
    let Some(at) = len.checked_sub(TRAILER_BYTES) else { return Err(damage("it is too short")) };
    let mut trailer = [0; TRAILER_BYTES as usize];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut trailer)?;
    let (sum, index_len) = trailer.split_at(HASH_BYTES);
    let index_len = u64::from(u32::from_le_bytes(index_len.try_into()?));
    let Some(at) = at.checked_sub(index_len).filter(|_| index_len <= INDEX_BYTES_MAX) else {
        return Err(damage("this is no pack"));
    };
    file.seek(SeekFrom::Start(at))?;
    let mut index = Vec::new();
    file.take(index_len).read_to_end(&mut index)?;
    if blake3::hash(&index).as_bytes()[..HASH_BYTES] != *sum {
        return Err(damage("its index has another checksum"));
    }
    let PackFormat { format } = serde_json::from_slice(&index)?;
    if format > FORMAT {
        bail!(
            "it has format {format}, this program reads up to {FORMAT}; install the newer version that wrote it"
        );
    }
    let sessions = serde_json::from_slice::<PackIndex>(&index)?.sessions;
    match sessions.iter().all(|member| is_plain(&member.name)) {
        true => Ok(sessions),
        false => Err(damage("a session in it has a name that names no file")),
    }
}

/// Returns whether a name has the form of [`super::file_name`], so that it cannot be a path into another folder.
pub fn is_plain(name: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.~".contains(&byte);
    name.bytes().all(fits) && name.bytes().any(|byte| byte != b'.')
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex()[..2 * HASH_BYTES].to_owned()
}

/// Returns an error about bytes that differ from the bytes that were written.
pub fn damage(what: &'static str) -> anyhow::Error {
    io::Error::new(ErrorKind::InvalidData, what).into()
}

/// Returns whether an error is about bytes that differ from the bytes that were written.
fn is_damage(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<io::Error>() {
        Some(error) => matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof),
        None => error.is::<serde_json::Error>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (SessionPack, Vec<u8>) {
        let mut pack = SessionPack::default();
        for name in ["a", "b.c", "d~00001"] {
            let text =
                format!("{{\"session\":\"{name}\"}}\nthe {name} of it, and the rest of it\n");
            pack.add(name, text.as_bytes(), (7, 1 << 70));
        }
        let mut bytes = Vec::new();
        pack.write(&mut bytes).unwrap();
        (pack, bytes)
    }

    fn read(bytes: &[u8]) -> Result<(SessionPack, bool)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        SessionPack::read(file)
    }

    /// Asserts that each session is read as written or not at all, and that a missing session is detected. Returns the
    /// number of sessions read.
    fn assert_known(pack: &SessionPack, damaged: &[u8]) -> usize {
        let (read, is_sound) = read(damaged).unwrap();
        let all: Vec<_> = pack.texts().collect();
        assert!(read.texts().all(|text| all.contains(&text)));
        assert!(!is_sound || read.texts().eq(pack.texts()));
        read.texts().count()
    }

    #[test]
    fn a_flipped_bit_is_noticed_or_changes_nothing() {
        let (pack, sound) = sample();
        let (whole, is_sound) = read(&sound).unwrap();
        assert!(is_sound && whole.texts().eq(pack.texts()));
        let index = u32::from_le_bytes(*sound.last_chunk().unwrap()) as usize;
        let texts = MAGIC.len()..sound.len() - index - TRAILER_BYTES as usize;
        for bit in 0..sound.len() * 8 {
            let mut damaged = sound.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let found = assert_known(&pack, &damaged);
            // All texts are readable without the index, and without the first bytes.
            assert!(texts.contains(&(bit / 8)) || found == 3, "bit {bit}: {found}");
            let (read, _) = read(&damaged).unwrap();
            assert!(!read.is_whole() || found == 3, "bit {bit}: {found}");
        }
    }

    #[test]
    fn a_pack_that_is_cut_off_gives_what_is_left() {
        let (pack, sound) = sample();
        for len in 0..sound.len() {
            let found = assert_known(&pack, &sound[..len]);
            let (read, _) = read(&sound[..len]).unwrap();
            assert!(!read.is_whole() || found == 3, "{len}: {found}");
        }
        assert!(read(&sound[..sound.len() - 1]).unwrap().0.is_whole());
    }

    #[test]
    fn a_pack_of_many_short_sessions_with_long_names_is_read() {
        let (mut pack, mut number) = (SessionPack::default(), 0);
        while pack.room() > 0 {
            let name = format!("{number:064}.{number:064}~00001");
            pack.add(&name, b"{}\n", (u64::MAX, i128::MAX));
            number += 1;
        }
        let mut bytes = Vec::new();
        pack.write(&mut bytes).unwrap();
        let (read, is_sound) = read(&bytes).unwrap();
        assert!(is_sound && number == SESSIONS_MAX && read.texts().eq(pack.texts()));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for name in ["../x", "..", "", "a/b", "A", "a\0"] {
            let mut pack = SessionPack::default();
            pack.add(name, b"{}\n", (0, 0));
            let mut bytes = Vec::new();
            pack.write(&mut bytes).unwrap();
            let (read, is_sound) = read(&bytes).unwrap();
            assert!(read.is_empty() && !is_sound, "{name}");
        }
    }
}
