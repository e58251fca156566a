//! The manifest: the files of the index, the settings in effect and the gate's threshold. It is small; every hook reads
//! it completely. It is replaced by a rename.

use std::path::{Path, PathBuf};

use super::format::{Cursor, MAJOR, MANIFEST_MAGIC, MINOR, check_major, checksum, damaged, fits};
use memory_store_base::error::Result;
use memory_store_base::fs::file_stamp::Stamp;
use memory_store_base::settings::Settings;
use memory_store_base::time::Timestamp;

/// File name of the manifest in an index.
pub const FILE_NAME: &str = "MANIFEST";

/// Maximum length of a manifest in bytes.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// First version that contains the file stamp of the user's settings file.
const CONFIG_VERSION: (u16, u16) = (1, 4);

/// First version that contains the project's names.
const NAMES_VERSION: (u16, u16) = (2, 1);

/// First version that contains a gate for passages. Earlier versions had turns, which are skipped.
const PASSAGES_VERSION: (u16, u16) = (3, 0);

/// First version whose passages are clustered, and whose long lists of postings are outside the buckets of terms.
/// Passages of earlier versions are skipped.
const CLUSTERED_VERSION: (u16, u16) = (3, 2);

/// Number of the collection of turns in manifests before [`PASSAGES_VERSION`].
const TURNS: u8 = 2;

/// Maximum number of segments.
const SEGMENTS_MAX: u32 = 1024;

/// The default settings as JSON. Most manifests contain them, so this text is compared before parsing.
const DEFAULTS: &str = concat!(
    r#"{"start_tokens":300,"prompt_tokens":600,"prompt_memories":5,"tool_tokens":260,"#,
    r#""tool_memories":3,"alpha":0.05,"due_minutes":5,"notice":"first","#,
    r#""review":false,"retention_days":365,"archive_bytes_max":2147483648,"#,
    r#""ignore_paths":[],"kinds":[],"half_life_days":{},"index":{"search":"auto"},"llm":null}"#,
);

/// Returns settings as they are stored in an index.
fn text_of(settings: &Settings) -> serde_json::Result<String> {
    serde_json::to_string(settings)
}

/// Kind of the documents in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Collection {
    /// Memories.
    Memories = 1,
    /// Passages of sessions, verbatim and redacted. Number 2 was used for whole turns.
    Passages = 3,
}

impl Collection {
    pub(super) fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Memories),
            3 => Some(Self::Passages),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Memories => "memories",
            Self::Passages => "passages",
        }
    }
}

/// A segment of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRef {
    /// Kind of the segment's documents.
    pub collection: Collection,
    /// Generation that wrote the segment; it is part of the file name.
    pub generation: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of documents.
    pub docs: u32,
    /// Documents that later segments replaced, in ascending order.
    pub dead: Vec<u32>,
}

impl SegmentRef {
    /// Returns the path of the segment's file.
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}-{:016x}.seg", self.collection.name(), self.generation))
    }
}

/// The gate of this store, which is calibrated when the index is published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Score that a memory must exceed for a prompt with one paragraph; see `recall::gate`.
    pub threshold: f32,
    /// Mean of the best scores of background prompts.
    pub mean: f32,
    /// Standard deviation of these scores. Mean and deviation yield the thresholds for lower rates of false positives.
    pub deviation: f32,
    /// Rate of false positives for which the gate was calibrated.
    pub alpha: f32,
    /// Version of the scoring with which the gate was calibrated. Thresholds of other versions are invalid.
    pub scale: u32,
}

/// The gate for passages, which was calibrated when the index was last settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassageGate {
    /// Score that a query must exceed; see `recall::passages::gate`.
    pub threshold: f32,
    /// Version of the scoring with which the gate was calibrated.
    pub scale: u32,
    /// Number of passages at that time.
    pub docs: u32,
    /// Number of those passages whose vectors were computed by the transformer.
    pub transformed: u32,
}

impl PassageGate {
    /// Number of bytes in a manifest, which are all zero if there is no gate.
    const BYTES: usize = 16;

    fn encode(gate: Option<Self>) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        if let Some(Self { threshold, scale, docs, transformed }) = gate {
            bytes[..4].copy_from_slice(&threshold.to_le_bytes());
            bytes[4..8].copy_from_slice(&scale.to_le_bytes());
            bytes[8..12].copy_from_slice(&docs.to_le_bytes());
            bytes[12..].copy_from_slice(&transformed.to_le_bytes());
        }
        bytes
    }

    fn decode(cursor: &mut Cursor<'_>) -> Option<Option<Self>> {
        let gate = Self {
            threshold: cursor.f32()?,
            scale: cursor.u32()?,
            docs: cursor.u32()?,
            transformed: cursor.u32()?,
        };
        Some(Some(gate).filter(|gate| gate.scale > 0))
    }
}

/// Contents of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Generation number, which is incremented with each published manifest.
    pub generation: u64,
    /// Time of publication.
    pub published: Timestamp,
    /// Generation that started the journal; it is part of the file name.
    pub journal: u64,
    /// Number of bytes at the start of the journal that the segments already contain.
    pub journal_start: u64,
    /// Digest of the data from which the segments were made: the first 16 bytes of a blake3 hash.
    pub digest: [u8; 16],
    /// The gate for memories.
    pub gate: Gate,
    /// The segments, oldest first.
    pub segments: Vec<SegmentRef>,
    /// The settings in effect when the index was published.
    pub settings: Settings,
    /// Hashes of the project's names in ascending order; see `recall::project_name`.
    pub names: Vec<u64>,
    /// The gate for passages; `None` if it is not calibrated yet.
    pub passage_gate: Option<PassageGate>,
}

impl Manifest {
    /// Returns the path of the journal's file.
    pub fn journal_path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("journal-{:016x}.log", self.journal))
    }

    /// Returns whether a segment's file is missing or has another length.
    pub(crate) fn lacks_segments(&self, dir: &Path) -> bool {
        let length =
            |segment: &SegmentRef| std::fs::metadata(segment.path(dir)).map(|file| file.len());
        self.segments
            .iter()
            .any(|segment| !length(segment).is_ok_and(|length| length == segment.bytes))
    }

    /// Returns the contents of the manifest's file.
    ///
    /// # Errors
    /// A message that names the limit of readers that is exceeded: the number of segments, or of bytes.
    pub fn encode(&self) -> std::result::Result<Vec<u8>, String> {
        let settings = text_of(&self.settings).map_err(|error| error.to_string())?.into_bytes();
        if self.segments.len() > SEGMENTS_MAX as usize {
            return Err(format!("{} segments, and {SEGMENTS_MAX} may be", self.segments.len()));
        }
        let mut out = Vec::with_capacity(256 + settings.len());
        out.extend_from_slice(&MANIFEST_MAGIC);
        out.extend_from_slice(&MAJOR.to_le_bytes());
        out.extend_from_slice(&MINOR.to_le_bytes());
        out.extend_from_slice(&(self.segments.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.published.0.to_le_bytes());
        out.extend_from_slice(&self.journal.to_le_bytes());
        out.extend_from_slice(&self.journal_start.to_le_bytes());
        out.extend_from_slice(&self.digest);
        let gate = self.gate;
        for number in [gate.threshold, gate.mean, gate.deviation, gate.alpha] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&gate.scale.to_le_bytes());
        for segment in &self.segments {
            out.extend_from_slice(&[segment.collection as u8, 0, 0, 0]);
            out.extend_from_slice(&segment.docs.to_le_bytes());
            out.extend_from_slice(&segment.generation.to_le_bytes());
            out.extend_from_slice(&segment.bytes.to_le_bytes());
            out.extend_from_slice(&(segment.dead.len() as u32).to_le_bytes());
            segment.dead.iter().for_each(|doc| out.extend_from_slice(&doc.to_le_bytes()));
        }
        out.extend_from_slice(&(settings.len() as u32).to_le_bytes());
        out.extend_from_slice(&settings);
        let config = self.settings.config.unwrap_or(NO_FILE);
        out.extend_from_slice(&config.bytes.to_le_bytes());
        out.extend_from_slice(&config.modified_ns.to_le_bytes());
        out.extend_from_slice(&(self.names.len() as u32).to_le_bytes());
        self.names.iter().for_each(|name| out.extend_from_slice(&name.to_le_bytes()));
        out.extend_from_slice(&PassageGate::encode(self.passage_gate));
        let check = checksum(&out);
        out.extend_from_slice(&check.to_le_bytes());
        if out.len() > BYTES_MAX {
            return Err(format!("{} bytes, and {BYTES_MAX} may be", out.len()));
        }
        Ok(out)
    }

    /// Decodes the contents of the file `path`; error messages contain the path.
    pub fn decode(path: &Path, bytes: &[u8]) -> Result<Self> {
        let Some((body, check)) = bytes.split_last_chunk::<4>() else {
            return Err(damaged(path, "the manifest is cut off"));
        };
        let mut head = Cursor(body);
        if head.array() != Some(MANIFEST_MAGIC) {
            return Err(damaged(path, "this is no manifest"));
        }
        // The version is checked before the checksum, because later versions may have another layout.
        let major = head.u16().unwrap_or(0);
        check_major(path, major)?;
        if !fits(body, u32::from_le_bytes(*check)) {
            return Err(damaged(path, "the manifest's checksum does not fit"));
        }
        Self::fields(major, head).ok_or_else(|| damaged(path, "the manifest makes no sense"))
    }

    fn fields(major: u16, mut cursor: Cursor<'_>) -> Option<Self> {
        let version = (major, cursor.u16()?);
        let count = cursor.u32().filter(|&count| count <= SEGMENTS_MAX)?;
        let generation = cursor.u64()?;
        let published = Timestamp(cursor.i64()?);
        let (journal, journal_start) = (cursor.u64()?, cursor.u64()?);
        let digest = cursor.array()?;
        let gate = Gate {
            threshold: cursor.f32()?,
            mean: cursor.f32()?,
            deviation: cursor.f32()?,
            alpha: cursor.f32()?,
            scale: cursor.u32()?,
        };
        let passed_over = match version {
            version if version < PASSAGES_VERSION => Some(TURNS),
            version if version < CLUSTERED_VERSION => Some(Collection::Passages as u8),
            _ => None,
        };
        let segments: Vec<Option<SegmentRef>> =
            (0..count).map(|_| segment(&mut cursor, passed_over)).collect::<Option<_>>()?;
        let segments = segments.into_iter().flatten().collect();
        let length = usize::try_from(cursor.u32()?).ok()?;
        let mut settings: Settings = match cursor.take(length)? {
            defaults if defaults == DEFAULTS.as_bytes() => Settings::default(),
            settings => serde_json::from_slice(settings).ok()?,
        };
        // Manifests of older versions end here.
        if version >= CONFIG_VERSION {
            settings.config = Some(config(&mut cursor)?).filter(|&config| config != NO_FILE);
        }
        let names = if version >= NAMES_VERSION { names(&mut cursor)? } else { Vec::new() };
        let passage_gate =
            if version >= PASSAGES_VERSION { PassageGate::decode(&mut cursor)? } else { None };
        Some(Self {
            generation,
            published,
            journal,
            journal_start,
            digest,
            gate,
            segments,
            settings,
            names,
            passage_gate,
        })
    }
}

/// File stamp in place of a missing settings file.
const NO_FILE: Stamp = Stamp { bytes: 0, modified_ns: 0 };

/// Reads the file stamp of the user's settings file.
fn config(cursor: &mut Cursor<'_>) -> Option<Stamp> {
    Some(Stamp { bytes: cursor.u64()?, modified_ns: cursor.i64()? })
}

/// Reads the hashes of the project's names.
fn names(cursor: &mut Cursor<'_>) -> Option<Vec<u64>> {
    let count = usize::try_from(cursor.u32()?).ok()?;
    let bytes = cursor.take(count.checked_mul(8)?)?;
    Some(bytes.chunks_exact(8).filter_map(|name| Cursor(name).u64()).collect())
}

/// Reads a segment. Returns `Some(None)` for the collection `passed_over`, which is skipped.
fn segment(cursor: &mut Cursor<'_>, passed_over: Option<u8>) -> Option<Option<SegmentRef>> {
    let [collection, ..] = cursor.array::<4>()?;
    let docs = cursor.u32()?;
    let (generation, bytes) = (cursor.u64()?, cursor.u64()?);
    let dead_count = usize::try_from(cursor.u32()?).ok()?;
    let dead = cursor.take(dead_count.checked_mul(4)?)?;
    let dead = dead.chunks_exact(4).filter_map(|doc| Cursor(doc).u32()).collect();
    if passed_over == Some(collection) {
        return Some(None);
    }
    let collection = Collection::from_number(collection)?;
    Some(Some(SegmentRef { collection, generation, bytes, docs, dead }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            generation: 7,
            published: Timestamp(1_790_000_000_000),
            journal: 6,
            journal_start: 40,
            digest: [4; 16],
            gate: Gate { threshold: 1.5, mean: 0.5, deviation: 0.25, alpha: 0.05, scale: 1 },
            segments: vec![SegmentRef {
                collection: Collection::Passages,
                generation: 3,
                bytes: 900,
                docs: 12,
                dead: vec![1, 5],
            }],
            settings: Settings { due_minutes: 9, ..Settings::default() },
            names: vec![17, 1 << 40],
            passage_gate: Some(PassageGate { threshold: 0.5, scale: 1, docs: 12, transformed: 0 }),
        }
    }

    #[test]
    fn it_is_read_back_and_every_flipped_bit_is_noticed() {
        let path = Path::new(FILE_NAME);
        let bytes = manifest().encode().unwrap();
        assert_eq!(Manifest::decode(path, &bytes).unwrap(), manifest());
        let plain = Manifest { settings: Settings::default(), ..manifest() };
        assert_eq!(Manifest::decode(path, &plain.encode().unwrap()).unwrap(), plain);
        let config = Some(Stamp { bytes: 20, modified_ns: 1_790_000_000_000_000_001 });
        let read = Manifest { settings: Settings { config, ..manifest().settings }, ..manifest() };
        assert_eq!(Manifest::decode(path, &read.encode().unwrap()).unwrap(), read);
        let defaults = text_of(&plain.settings).unwrap();
        assert_eq!(DEFAULTS, defaults, "a changed default is to be changed there, too");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            assert!(Manifest::decode(path, &flipped).is_err(), "byte {at}");
            assert!(Manifest::decode(path, &bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn the_fields_at_the_end_depend_on_the_version() {
        let path = Path::new(FILE_NAME);
        let config = Some(Stamp { bytes: 20, modified_ns: 1 });
        let settings = Settings { config, ..manifest().settings };
        let with = Manifest { settings, ..manifest() };
        assert_eq!(with.encode().unwrap().len(), manifest().encode().unwrap().len());
        // The manifest is encoded as by another version, with `more` bytes added at its end or, if negative, removed.
        let of_version = |(major, minor): (u16, u16), more: isize| {
            let mut bytes = with.encode().unwrap();
            bytes[8..10].copy_from_slice(&major.to_le_bytes());
            bytes[10..12].copy_from_slice(&minor.to_le_bytes());
            bytes.truncate(bytes.len() - 4);
            bytes.resize(bytes.len().saturating_add_signed(more), 7);
            let check = checksum(&bytes);
            bytes.extend_from_slice(&check.to_le_bytes());
            Manifest::decode(path, &bytes).map(|it| (it.settings.config, it.names))
        };
        let (settings, names) = (config, with.names.clone());
        // These bytes are a count, two names of eight bytes each, and the gate for passages.
        let gate_bytes = PassageGate::BYTES as isize;
        let name_bytes = 4 + 16 + gate_bytes;
        for version in [(2, 0), CONFIG_VERSION] {
            assert_eq!(of_version(version, -name_bytes).unwrap(), (settings, vec![]));
            assert!(of_version(version, -name_bytes - 16).is_err(), "it is never missing");
        }
        let all = (settings, names);
        assert_eq!(of_version((MAJOR, MINOR), 0).unwrap(), all);
        assert!(of_version((MAJOR, MINOR), -8).is_err(), "as many as it says");
        assert_eq!(of_version((MAJOR, MINOR + 1), 16).unwrap(), all, "what is appended is skipped");
        assert_eq!(of_version((1, 3), -name_bytes - 16).unwrap(), (None, vec![]));
        let other = of_version((1, 3), 0).unwrap();
        assert_eq!(other, (None, vec![]), "what stood there was something else");
    }

    #[test]
    fn another_version_is_reported_in_the_error() {
        let mut bytes = manifest().encode().unwrap();
        for other in [0, 4] {
            bytes[8] = other;
            let error = Manifest::decode(Path::new("x/MANIFEST"), &bytes).unwrap_err().to_string();
            assert!(error.contains(&format!("format version {other}, expected 3")), "{error}");
        }
    }
}
