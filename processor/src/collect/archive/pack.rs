//! A pack: the texts of several sessions in one file, compressed together. FORMAT.md has its bytes.
//!
//! Sessions of one project repeat one another. A window over many of them finds that, which one over each alone does
//! not.

use std::io::{self, Read, Write};

use anyhow::{Result, bail};
use lzma_rust2::{Lzma2Options, Lzma2Reader, Lzma2Writer, LzmaOptions};
use serde::{Deserialize, Serialize};

/// How a pack begins.
pub const MAGIC: [u8; 8] = *b"TLPACK\0\0";

/// The version of the format.
const VERSION: u32 = 1;

/// Bytes of the texts of one pack. To read a session is to decompress those before it: a tenth of a second at most.
pub const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Bytes of the file of a pack.
const FILE_BYTES_MAX: u64 = 32 << 20;

/// Bytes back in the text in which repetitions are found: all of it.
const WINDOW_BYTES: u32 = TEXT_BYTES_MAX as u32;

/// How much is done to make a pack small.
const LEVEL: u32 = 6;

/// Offset of the length of the index, of its checksum and of the index.
const LEN_AT: usize = MAGIC.len() + size_of::<u32>();
const SUM_AT: usize = LEN_AT + size_of::<u32>();
const SUM_BYTES: usize = 16;
const INDEX_AT: usize = SUM_AT + SUM_BYTES;

/// A session in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The name of its file without the ending.
    pub name: String,
    /// Bytes of its text.
    bytes: u64,
    /// Bytes that it took as a file of its own, by which it counts.
    pub file_bytes: u64,
    /// A hash of its text.
    hash: String,
}

/// A pack in memory.
#[derive(Debug, Default)]
pub struct Pack {
    /// Its sessions, in the order of their texts.
    pub members: Vec<Member>,
    text: Vec<u8>,
}

impl Pack {
    /// Adds a session.
    pub fn add(&mut self, name: &str, file_bytes: u64, text: &[u8]) {
        let (bytes, hash) = (text.len() as u64, hash(text));
        self.members.push(Member { name: name.to_owned(), bytes, file_bytes, hash });
        self.text.extend_from_slice(text);
    }

    /// Bytes of text for which there is room.
    pub fn room(&self) -> u64 {
        TEXT_BYTES_MAX.saturating_sub(self.text.len() as u64)
    }

    /// Writes it; returns the name by which its sessions know it, a hash of what is in it.
    pub fn write(&self, out: &mut impl Write) -> Result<String> {
        let index = serde_json::to_vec(&self.members)?;
        let sum = blake3::hash(&index);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&u32::try_from(index.len())?.to_le_bytes())?;
        out.write_all(&sum.as_bytes()[..SUM_BYTES])?;
        out.write_all(&index)?;
        let mut options = LzmaOptions::with_preset(LEVEL);
        options.dict_size = WINDOW_BYTES;
        let options = Lzma2Options { lzma_options: options, ..Lzma2Options::default() };
        let mut writer = Lzma2Writer::new(out, options);
        writer.write_all(&self.text)?;
        writer.finish()?.flush()?;
        Ok(sum.to_hex()[..2 * SUM_BYTES].to_owned())
    }

    /// Reads a pack as far as it goes: of one that is damaged, the texts before the damage are sound.
    ///
    /// # Errors
    /// With invalid data when nothing can be told of it.
    pub fn read(reader: impl Read) -> Result<Self> {
        let mut bytes = Vec::new();
        reader.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        let mut rest = &bytes[..];
        let members = read_members(&mut rest)?;
        let mut text = Vec::new();
        // What was read until an error is in the text.
        let _ =
            Lzma2Reader::new(rest, WINDOW_BYTES, None).take(TEXT_BYTES_MAX).read_to_end(&mut text);
        Ok(Self { members, text })
    }

    /// Whether all of it is as it was written.
    pub fn is_whole(&self) -> bool {
        self.members.iter().all(|member| self.text_of(&member.name).is_some())
    }

    /// Returns the text of a session; `None` when it is not in here or not as it was written.
    pub fn text_of(&self, name: &str) -> Option<&[u8]> {
        let mut from = 0_usize;
        for member in &self.members {
            let to = from.checked_add(usize::try_from(member.bytes).ok()?)?;
            if member.name == name {
                return self.text.get(from..to).filter(|text| hash(text) == member.hash);
            }
            from = to;
        }
        None
    }

    /// Returns all texts.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }
}

/// Reads what is in a pack, and no text.
pub fn read_members(reader: &mut impl Read) -> Result<Vec<Member>> {
    let mut head = [0; INDEX_AT];
    reader.read_exact(&mut head)?;
    let number = |at: usize| {
        let bytes = head[at..].first_chunk().copied().unwrap_or_default();
        u32::from_le_bytes(bytes)
    };
    if !head.starts_with(&MAGIC) {
        return Err(damaged("this is no pack"));
    }
    let version = number(MAGIC.len());
    if version > VERSION {
        bail!(
            "it has version {version}, this program reads up to {VERSION}; install the newer version that wrote it"
        );
    }
    let mut index = Vec::new();
    reader.take(u64::from(number(LEN_AT))).read_to_end(&mut index)?;
    if blake3::hash(&index).as_bytes()[..SUM_BYTES] != head[SUM_AT..INDEX_AT] {
        return Err(damaged("its index has another checksum"));
    }
    Ok(serde_json::from_slice(&index)?)
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex()[..32].to_owned()
}

/// Returns an error for bytes that are not what was written.
pub fn damaged(what: &'static str) -> anyhow::Error {
    io::Error::new(io::ErrorKind::InvalidData, what).into()
}
