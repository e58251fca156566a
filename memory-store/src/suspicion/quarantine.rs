//! Quarantine: what is kept, labelled and shown in `review`, and not given to a session. It holds what looks
//! like an order to the model, and what others committed where the user does not take theirs unseen.
//!
//! What a person let out stands by its hash in a private file of the project, so that a repository cannot
//! release what it brings, and what was edited is judged again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Serialize};

use super::{Suspicion, VERSION, judged_text, of_record};
use crate::error::{At, Error, Result};
use crate::file::{FILE_BYTES_MAX, MemoryFile};
use crate::identity::Identity;
use crate::index::document::Document;
use crate::index::record::{FLAG_HELD, FLAG_PINNED, Record};
use crate::layout::{ProjectDir, STORE_DIR};
use crate::ledger::{Ledger, text_hash};
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::settings::{Pulled, Settings};
use crate::store::{
    MEMORIES_DIR, Privacy, Stored, private_options, read_bounded, read_if_there, remove, replace,
};

/// Bytes of the file of releases: some 60,000 releases.
const RELEASED_BYTES_MAX: u64 = 2 << 20;

/// Bytes of the file of what is withheld and judged: more than all files take that a store may have. For who
/// reads it, of a project with more nothing is judged.
const WITHHELD_BYTES_MAX: usize = 128 << 20;

/// Characters of a mark, of four bits: whoever writes both texts must not find two that have the same.
const MARK_CHARS: usize = 32;

/// Characters of an author that are kept.
const AUTHOR_CHARS_MAX: usize = 100;

/// What others committed and is not given, by file, id and what an index holds of it (see [`Quarantine::key`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withholding {
    withheld: BTreeMap<String, Withheld>,
    /// The keys of all files that were judged, where anything may be withheld.
    judged: Option<BTreeSet<String>>,
}

impl Withholding {
    /// Nothing is withheld, whatever is there.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, where these files were judged: any other committed one came since, and is withheld until
    /// somebody asked git whose it is.
    #[must_use]
    pub fn of_judged(self, judged: BTreeSet<String>) -> Self {
        Self { judged: Some(judged), ..self }
    }

    /// Whether no file can be withheld.
    pub fn is_empty(&self) -> bool {
        self.withheld.is_empty() && self.judged.is_none()
    }

    /// Adds what is withheld, and was judged, in another working tree.
    pub fn add(&mut self, other: &Self) {
        let more = other.withheld.iter();
        self.withheld.extend(more.map(|(key, withheld)| (key.clone(), withheld.clone())));
        if let Some(judged) = &other.judged {
            self.judged.get_or_insert_default().extend(judged.iter().cloned());
        }
    }

    /// Why a file is withheld that has this key. What waits aside is written by programs of ours alone, and what
    /// came there since the judgement is theirs.
    fn of(&self, key: &str, file: &Path, released: &BTreeSet<String>) -> Option<Withheld> {
        let withheld = self.of_all(key, released)?;
        (!withheld.is_unjudged() || name_in_store(file).is_some()).then_some(withheld)
    }

    /// The same for who had everything judged, what waits aside too: what is not known then is withheld,
    /// wherever it lies.
    fn of_all(&self, key: &str, released: &BTreeSet<String>) -> Option<Withheld> {
        if let Some(withheld) = self.withheld.get(key) {
            return Some(withheld).filter(|it| !released.contains(&it.file)).cloned();
        }
        let is_judged = self.judged.as_ref()?.contains(key);
        (!is_judged).then(|| Withheld::new("", None, Why::Unjudged))
    }
}

impl FromIterator<(String, Withheld)> for Withholding {
    fn from_iter<I: IntoIterator<Item = (String, Withheld)>>(withheld: I) -> Self {
        Self { withheld: withheld.into_iter().collect(), judged: None }
    }
}

/// What a [`Withholding`] is on the disk. A file of an older version has none of this: by it nothing is judged.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct WithholdingWire {
    withheld: BTreeMap<String, Withheld>,
    /// The keys of what was judged and is given.
    judged: BTreeSet<String>,
}

impl WithholdingWire {
    fn of(withholding: &Withholding) -> Self {
        let Withholding { withheld, judged } = withholding.clone();
        let mut judged = judged.unwrap_or_default();
        judged.retain(|key| !withheld.contains_key(key));
        Self { withheld, judged }
    }

    /// What is written; nobody would read more than `bytes_max`, and what is not judged is withheld as well.
    fn bytes(&self, bytes_max: usize) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        if bytes.len() >= bytes_max {
            bytes = serde_json::to_vec(&Self::default())?;
        }
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// A memory that others committed and that the user does not take unseen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The hash of its file (see [`crate::ledger::text_hash`]): what a release is for.
    pub file: String,
    /// The address in the commit that brought it; `None` when git does not tell.
    pub author: Option<String>,
    /// Why it is withheld.
    pub why: Why,
}

impl Withheld {
    /// Whether nobody asked git about it.
    fn is_unjudged(&self) -> bool {
        self.file.is_empty() && self.why == Why::Unjudged
    }

    /// One that a commit of `author` brought.
    pub fn new(file: &str, author: Option<&str>, why: Why) -> Self {
        let author = author.map(|author| author.chars().take(AUTHOR_CHARS_MAX).collect());
        Self { file: file.to_owned(), author, why }
    }
}

/// Why a memory of somebody else is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Its author is not among those who are trusted.
    Author,
    /// Its commit has no good signature of somebody who is trusted.
    Signature,
    /// Whatever others commit waits for a review.
    Review,
    /// It came after the others were judged.
    Unjudged,
}

impl fmt::Display for Withheld {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(author) = &self.author else {
            if self.why == Why::Unjudged {
                return formatter.write_str("it came a moment ago, and the next sync judges it");
            }
            return formatter.write_str("git does not tell who committed it");
        };
        match self.why {
            Why::Author => write!(formatter, "{author} committed it, who is not trusted here"),
            Why::Signature => {
                write!(
                    formatter,
                    "{author} committed it, without a good signature of a trusted author"
                )
            }
            Why::Review => write!(formatter, "{author} committed it, and you have not reviewed it"),
            Why::Unjudged => {
                write!(formatter, "{author} committed it, and its signature is not checked yet")
            }
        }
    }
}

/// Why a memory is not given; one of the two at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// It looks like an order to the model.
    pub order: Option<Suspicion>,
    /// Others committed it.
    pub withheld: Option<Withheld>,
}

impl HeldBack {
    /// Why, in words that nobody else chose: for a model, which is not to read what a commit calls its author.
    pub fn reason(&self) -> String {
        match &self.order {
            Some(order) => format!("{} ({})", order.reason, order.place),
            None => {
                "somebody else committed it, and the user takes it only after a look".to_owned()
            }
        }
    }
}

impl fmt::Display for HeldBack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(order) = &self.order {
            write!(formatter, "{} ({})", order.reason, order.place)?;
        }
        if self.order.is_some() && self.withheld.is_some() {
            formatter.write_str("; ")?;
        }
        self.withheld.as_ref().map_or(Ok(()), |withheld| withheld.fmt(formatter))
    }
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The user's, or of somebody whose memories are given.
    Users,
    /// Of others, and nobody let it out.
    Others,
    /// It came after the others were judged.
    Unknown,
}

/// What of one store is held.
#[derive(Clone, Debug)]
pub struct Quarantine {
    released: BTreeSet<String>,
    withheld: Arc<Lookup>,
    written: Written,
}

/// What is withheld, looked up at the first question about a file. Shared: one judgement serves every index that is
/// published by it.
type Lookup = LazyLock<Arc<Withholding>, Box<dyn FnOnce() -> Arc<Withholding> + Send>>;

impl Default for Quarantine {
    fn default() -> Self {
        let nothing = Arc::new(LazyLock::new(Box::new(Arc::default) as Box<_>));
        Self { released: BTreeSet::new(), withheld: nothing, written: Written::default() }
    }
}

/// The hashes of the texts that programs of ours wrote, and did not make of others, read where one is found that
/// nobody judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Written {
    home: Option<ProjectDir>,
    texts: OnceLock<BTreeSet<String>>,
}

impl Written {
    /// Whether a memory's file is as a program of ours wrote it.
    fn contains(&self, stored: &Stored) -> bool {
        let Some(home) = &self.home else { return false };
        let texts = self.texts.get_or_init(|| {
            let Ok(ledger) = Ledger::open(home) else { return BTreeSet::new() };
            let origins = ledger.origins();
            let written = ledger.written().into_iter().filter(|text| !origins.contains_key(text));
            written.map(str::to_owned).collect()
        });
        let Ok((bytes, _)) = read_bounded(&stored.path, FILE_BYTES_MAX) else { return false };
        // By now it may be another text than the one that is asked about.
        let file = MemoryFile::parse(&stored.path, bytes);
        file.is_ok_and(|file| {
            file.memory == stored.memory && texts.contains(&text_hash(file.text()))
        })
    }
}

impl Quarantine {
    /// Reads what was let out, and what the last sync withheld and judged: where these `settings` or what was
    /// said of the project limit what is given, what came since is withheld.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(home: &ProjectDir, settings: &Settings) -> Result<Self> {
        if settings.pulled == Pulled::All && !has_authors(home)? {
            // What the last sync withheld is let go by what the user says now.
            return Self::releases(home);
        }
        let withheld = last_withheld(home)?;
        // A limit may be one that no sync knows of yet.
        let withheld = withheld.unwrap_or_else(|| Withholding::new().of_judged(BTreeSet::new()));
        Ok(Self::releases(home)?.withholding(Arc::new(withheld)))
    }

    /// The same where nobody judged yet by what the user says now, which is stricter: withheld is what was, and what
    /// no program of ours wrote.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn unjudged(home: &ProjectDir) -> Result<Self> {
        let withheld = last_withheld(home)?.unwrap_or_default().of_judged(BTreeSet::new());
        Ok(Self::releases(home)?.withholding(Arc::new(withheld)))
    }

    /// Reads what was let out, for who knows what is withheld.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn releases(home: &ProjectDir) -> Result<Self> {
        use std::io::Read;

        let path = home.released();
        let mut text = String::new();
        match fs::File::open(&path) {
            Ok(file) => file.take(RELEASED_BYTES_MAX).read_to_string(&mut text).at(&path)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error).at(&path),
        };
        let written = Written { home: Some(home.clone()), ..Written::default() };
        let released = text.lines().map(str::to_owned).collect();
        Ok(Self { released, written, ..Self::default() })
    }

    /// The same releases, where this is withheld.
    #[must_use]
    pub fn withholding(self, withheld: Arc<Withholding>) -> Self {
        self.withholding_when_asked(|| withheld)
    }

    /// The same releases, where this is asked at the first question about a file; for some there is none.
    #[must_use]
    pub fn withholding_when_asked(
        self,
        ask: impl FnOnce() -> Arc<Withholding> + Send + 'static,
    ) -> Self {
        Self { withheld: Arc::new(LazyLock::new(Box::new(ask))), ..self }
    }

    /// Writes what is withheld in a project; `None`: nothing ever is, so that readers without an index need
    /// not hold back what nobody has looked at.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn withhold(home: &ProjectDir, withheld: Option<&Withholding>) -> Result<()> {
        let path = home.withheld();
        let Some(withheld) = withheld else { return remove(&path) };
        let bytes = WithholdingWire::of(withheld)
            .bytes(WITHHELD_BYTES_MAX)
            .map_err(|error| Error::Settings { path: path.clone(), message: error.to_string() })?;
        match fs::read(&path) {
            Ok(before) if before == bytes => Ok(()),
            Ok(_) | Err(_) => replace(&path, &bytes, Privacy::Private),
        }
    }

    /// Lets a memory out as it is now, whatever holds it, without what `redactor`, that of its store,
    /// hides.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn release(&self, home: &ProjectDir, stored: &Stored, redactor: &Redactor) -> Result<()> {
        let says = Self::says(&stored.memory, redactor);
        let key = Self::key(stored, redactor);
        let withheld = self.withheld.withheld.get(&key);
        let file = withheld.map(|withheld| withheld.file.clone());
        Self::let_out(home, std::iter::once(says).chain(file))
    }

    /// Tells a memory as it is now from what may come into its file, by all that holding it depends on.
    pub fn mark(&self, stored: &Stored, redactor: &Redactor) -> String {
        let key = Self::key(stored, redactor);
        let file = self.withheld.withheld.get(&key).map_or("", |withheld| &withheld.file);
        blake3::hash(format!("{key} {file}").as_bytes()).to_hex()[..MARK_CHARS].to_owned()
    }

    /// Lets out what is withheld as it is now; what looks like an order stays held.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn accept(home: &ProjectDir, withheld: &Withheld) -> Result<()> {
        Self::let_out(home, std::iter::once(withheld.file.clone()))
    }

    fn let_out(home: &ProjectDir, hashes: impl Iterator<Item = String>) -> Result<()> {
        let path = home.released();
        // What came since the judgement has no hash yet: nobody can have looked at it.
        let lines: String =
            hashes.filter(|hash| !hash.is_empty()).map(|hash| hash + "\n").collect();
        let mut options = private_options();
        let mut file = options.create(true).append(true).open(&path).at(&path)?;
        if file.metadata().at(&path)?.len() + lines.len() as u64 > RELEASED_BYTES_MAX {
            // Nobody would read it: better said than forgotten.
            return Err(Error::Refused {
                path,
                message: "too much was released before; what is beyond is not read".to_owned(),
                remedy: "Remove the first lines of this file, the oldest releases.",
            });
        }
        file.write_all(lines.as_bytes()).at(&path)?;
        file.sync_all().at(&path)
    }

    /// Why a memory is held, if it is; `redactor` is that of its store.
    pub fn held(&self, stored: &Stored, redactor: &Redactor) -> Option<HeldBack> {
        let document = document(&stored.memory, redactor);
        let order = self.order(&document.record, &hash(&document.record));
        let withheld = self.withheld_file(stored, &document);
        (order.is_some() || withheld.is_some()).then_some(HeldBack { order, withheld })
    }

    /// Whether others committed it, and it is not given for that.
    pub fn withholds(&self, stored: &Stored, redactor: &Redactor) -> bool {
        self.whose(stored, redactor) != Whose::Users
    }

    /// Whose a memory's file is, as far as that decides whether it is given.
    pub(crate) fn whose(&self, stored: &Stored, redactor: &Redactor) -> Whose {
        if self.withheld.is_empty() {
            return Whose::Users;
        }
        match self.withheld_file(stored, &document(&stored.memory, redactor)) {
            None => Whose::Users,
            Some(withheld) if withheld.is_unjudged() => Whose::Unknown,
            Some(_) => Whose::Others,
        }
    }

    /// Why a file is withheld. What a program of ours wrote since the judgement is the user's own.
    fn withheld_file(&self, stored: &Stored, document: &Document) -> Option<Withheld> {
        let key = key(document, &stored.path);
        let withheld = self.withheld.of(&key, &stored.path, &self.released)?;
        let is_written = withheld.is_unjudged() && self.written.contains(stored);
        (!is_written).then_some(withheld)
    }

    fn order(&self, record: &Record, says: &str) -> Option<Suspicion> {
        of_record(record).filter(|_| !self.released.contains(says))
    }

    /// Marks a document that is to be held; one that is held already stays so.
    pub fn judge(&self, document: &mut Document) {
        let record = &document.record;
        let says = hash(record);
        let key = key(document, &record.file);
        let withheld = || self.withheld.of_all(&key, &self.released);
        if self.order(record, &says).is_some() || withheld().is_some() {
            document.entry.flags |= FLAG_HELD;
        }
    }

    /// What judging depends on besides the memories: the rules, what was released and what is withheld.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(include_bytes!("rules.txt"));
        let Withholding { withheld, judged } = &***self.withheld;
        hasher.update(&[u8::from(judged.is_some())]);
        let withheld = withheld.iter().flat_map(|(says, withheld)| [says, &withheld.file]);
        for hash in self.released.iter().chain(withheld).chain(judged.iter().flatten()) {
            hasher.update(hash.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// What a memory is withheld by: its file, its id, and what it says. A copy that somebody else committed,
    /// under the same id even, withholds itself alone.
    pub fn key(stored: &Stored, redactor: &Redactor) -> String {
        key(&document(&stored.memory, redactor), &stored.path)
    }

    /// The hash of what a memory says, as an index would hold it; `redactor` is that of its store.
    pub fn says(memory: &Memory, redactor: &Redactor) -> String {
        hash(&document(memory, redactor).record)
    }
}

/// What the last sync withheld and judged; `None` where it limited nothing.
fn last_withheld(home: &ProjectDir) -> Result<Option<Withholding>> {
    let path = home.withheld();
    let Some(bytes) = read_if_there(&path, WITHHELD_BYTES_MAX)? else { return Ok(None) };
    let wire = serde_json::from_slice(&bytes).map_err(|error| Error::Settings {
        path,
        message: format!("{error}; `throughline sync --rebuild` writes it anew"),
    })?;
    let WithholdingWire { withheld, judged } = wire;
    Ok(Some(Withholding { withheld, judged: Some(judged) }))
}

/// Whether it was said of a project whose commits are taken.
fn has_authors(home: &ProjectDir) -> Result<bool> {
    Ok(Identity::read(home)?.is_some_and(|identity| identity.authors.is_some()))
}

/// What an index would hold of a memory.
fn document(memory: &Memory, redactor: &Redactor) -> Document {
    Document::memory(&redactor.redacted(memory), Path::new(""), 0, 0)
}

/// What tells a file that was judged from another text in its place: id, name, and all that an index would hold
/// of it, front matter too. An index may know by itself what replaces a memory, so that does not count.
///
/// Names are of any length and others chose them: of a file its hash stands there. One that waits aside is told
/// from different places on, and has its mere name: of a file of the store it says where it is, too, so that none
/// there can be taken for one aside.
fn key(document: &Document, file: &Path) -> String {
    let Document { entry, record, .. } = document;
    let file_less = Record {
        file: PathBuf::new(),
        modified_ns: 0,
        file_bytes: 0,
        superseded_by: None,
        ..record.clone()
    };
    let mut holds = vec![entry.kind, entry.confidence, u8::from(entry.has(FLAG_PINNED))];
    file_less.encode(&mut holds);
    let name = match name_in_store(file) {
        // No mere name begins with a separator.
        Some(name) => [b"/", name.as_os_str().as_encoded_bytes()].concat(),
        None => file.file_name().unwrap_or_default().as_encoded_bytes().to_vec(),
    };
    let (holds, name) = (blake3::hash(&holds), blake3::hash(&name));
    format!("{} {} {}", entry.id, &holds.to_hex()[..32], &name.to_hex()[..32])
}

/// The name of a file below the committed folder of memories, from wherever its path begins: an index tells it
/// from the working tree's root on, a store whole. A file elsewhere, which nobody commits, has none.
fn name_in_store(file: &Path) -> Option<&Path> {
    let mut parts = file.components();
    let mut name = None;
    while let Some(part) = parts.next() {
        let mut rest = parts.clone();
        let is_store = part == Component::Normal(STORE_DIR.as_ref())
            && rest.next() == Some(Component::Normal(MEMORIES_DIR.as_ref()));
        if is_store {
            name = Some(rest.as_path());
        }
    }
    name
}

fn hash(record: &Record) -> String {
    let (title, body) = judged_text(record);
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes());
    hasher.update(&[0]);
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_any_tree_was_judged_is_withheld() {
        let judged = |key: &str| Withholding::new().of_judged(BTreeSet::from([key.to_owned()]));
        let mut withholding = Withholding::new();
        withholding.add(&judged("a"));
        withholding.add(&judged("b"));
        withholding.add(&Withholding::new());
        let why = |key: &str| {
            let file = Path::new("/work/.throughline/memories/one.md");
            withholding.of(key, file, &BTreeSet::new()).map(|withheld| withheld.why)
        };
        assert_eq!(["a", "b", "c"].map(why), [None, None, Some(Why::Unjudged)]);
    }

    #[test]
    fn what_waits_aside_is_told_from_its_namesake_in_the_store() {
        let id = crate::MemoryId::new(crate::Timestamp(0), [1; 10]);
        let memory = Memory::new(id, crate::Kind::Fact, "One", "Text.", crate::Timestamp(0));
        let document = document(&memory, &Redactor::default());
        let [store, aside] =
            ["/work/.throughline/memories/one.md", "/drafts/one.md"].map(Path::new);
        let (theirs, mine) = (key(&document, store), key(&document, aside));
        assert_eq!(theirs, key(&document, Path::new(".throughline/memories/one.md")));
        let why = |withholding: &Withholding, key: &str, file: &Path| {
            withholding.of(key, file, &BTreeSet::new()).map(|withheld| withheld.why)
        };
        let withheld = Withheld::new("0", None, Why::Author);
        let judged = Withholding::from_iter([(theirs.clone(), withheld.clone())])
            .of_judged(BTreeSet::from([theirs.clone(), mine.clone()]));
        assert_eq!(why(&judged, &theirs, store), Some(Why::Author));
        assert_eq!(why(&judged, &mine, aside), None);
        // In an older file of what is withheld either had the mere name: it lets out nothing.
        let older = Withholding::new().of_judged(BTreeSet::from([mine.clone()]));
        assert_eq!(why(&older, &theirs, store), Some(Why::Unjudged));
        let older = Withholding::from_iter([(mine.clone(), withheld)]).of_judged(BTreeSet::new());
        assert_eq!(why(&older, &mine, aside), Some(Why::Author));
    }

    #[test]
    fn of_more_than_is_read_nothing_is_judged() {
        let withheld = Withheld::new("0", None, Why::Author);
        let withholding: Withholding = [("a".to_owned(), withheld)].into_iter().collect();
        let judged = ["a", "b"].map(str::to_owned);
        let wire = WithholdingWire::of(&withholding.of_judged(BTreeSet::from(judged)));
        let read = |bytes_max: usize| {
            let bytes = wire.bytes(bytes_max).unwrap();
            let wire: WithholdingWire = serde_json::from_slice(&bytes).unwrap();
            (wire.withheld.into_keys().collect(), wire.judged.into_iter().collect())
        };
        let keys = |key: &str| vec![key.to_owned()];
        assert_eq!(read(1_000), (keys("a"), keys("b")));
        assert_eq!(read(50), (Vec::new(), Vec::new()));
    }
}
