//! Trust: whether a memory may be given, and with which label.
//!
//! This machine's ledger knows by content hash what was derived, written or released here. Every other file in
//! a committed memory folder is *from the repository*: it is labelled so wherever it is given, never told as a
//! wish of the user, and with `pulled = "reviewed"` not given until it is released.
//!
//! Apart from that, whatever looks like an order to the model is in *quarantine*, wherever it comes from. A release by
//! a person stands by the text's hash in a private file of the project, so that a repository cannot release what it
//! brings, and an edited text is judged again.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::OnceLock;

use crate::error::{At, Error, Result};
use crate::fs::disk::private_options;
use crate::identity::Identity;
use crate::index::document::Document;
use crate::index::record::{FLAG_HELD, Record};
use crate::layout::ProjectDir;
use crate::ledger::{Ledger, Lookup, Texts, hashes};
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::settings::{Pulled, Settings};
use crate::store::{Store, Stored, lock};
use crate::suspicion::{self, Suspicion, judged_text, of_record};

/// Bytes of the file of orders that were let out: some 60,000.
const RELEASED_BYTES_MAX: u64 = 2 << 20;

/// Characters of a mark, of four bits: whoever writes both texts must not find two that have the same.
const MARK_CHARS: usize = 32;

/// The number of this way of labelling; an index of another one is made anew.
const VERSION: u32 = 1;

/// Label of a memory that this machine did not derive, write or release.
pub const LABEL: &str = "from the repository";

/// Why a memory is not given; one of the two at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// It looks like an order to the model.
    pub order: Option<Suspicion>,
    /// It is from the repository, and the user gives such ones only when they are released.
    pub unreleased: bool,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(order) = &self.order {
            write!(formatter, "{} ({})", order.reason, order.place)?;
        }
        if self.order.is_some() && self.unreleased {
            formatter.write_str("; ")?;
        }
        match self.unreleased {
            true => write!(formatter, "it is {LABEL} and not released yet"),
            false => Ok(()),
        }
    }
}

/// What is known of a memory that was saved a moment ago, looked up once for all who ask.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The memory without its secrets.
    pub redacted: Memory,
    /// Why it is held, if it is.
    pub held: Option<HeldBack>,
    /// True if this machine did not derive, write or release what its file says.
    pub from_repository: bool,
}

/// Trust in one store's memories: which are given, and with which label.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The orders that were let out, by the hash of what they say.
    released: BTreeSet<String>,
    /// Project of the ledger that knows the texts of this machine; `None` where all files are the user's own.
    home: Option<ProjectDir>,
    /// Read at the first question about a file.
    texts: OnceLock<Texts>,
    pulled: Pulled,
    /// True if the ledger is asked about single files, and not read whole.
    asks_singly: bool,
}

impl Trust {
    /// Reads what was let out of a store. Its ledger is read at the first question about a file.
    ///
    /// # Errors
    /// When the file of what was let out cannot be read.
    pub fn of(store: &Store, settings: &Settings) -> Result<Self> {
        let released = released(store.home())?;
        // Nobody else can write a private store.
        let home = store.root().map(|_| store.home().clone());
        let is_limited = match &home {
            Some(home) => Identity::read(home)?.is_some_and(|identity| identity.authors.is_some()),
            None => false,
        };
        let least = if is_limited { Pulled::Reviewed } else { Pulled::All };
        let pulled = settings.pulled.max(least);
        Ok(Self { released, home, texts: OnceLock::new(), pulled, asks_singly: false })
    }

    /// Asks the ledger about each file by itself, for who asks about few.
    #[must_use]
    pub fn asking_singly(self) -> Self {
        Self { asks_singly: true, ..self }
    }

    /// Reads the ledger whole at the first question, for who asks about many.
    #[must_use]
    pub fn asking_at_once(self) -> Self {
        Self { asks_singly: false, ..self }
    }

    /// Forgets what the ledger said, for who knows that it says more by now.
    #[must_use]
    pub fn renewed(self) -> Self {
        Self { texts: OnceLock::new(), ..self }
    }

    /// Returns whether this machine did not derive, write or release what a file says.
    pub fn is_from_repository(&self, stored: &Stored) -> bool {
        let Some(home) = &self.home else { return false };
        // Without a ledger nothing is known to be this machine's.
        if self.asks_singly {
            return !Lookup::new(home).owns(stored).unwrap_or_default();
        }
        let texts = || Ledger::open(home).map(|ledger| ledger.texts()).unwrap_or_default();
        !self.texts.get_or_init(texts).owns(stored)
    }

    /// Returns whether what is from the repository is held until it is released.
    pub fn holds_unreleased(&self) -> bool {
        self.pulled == Pulled::Reviewed
    }

    /// Returns whether a file is not given because nobody released it.
    pub(crate) fn is_unreleased(&self, stored: &Stored) -> bool {
        self.holds_unreleased() && self.is_from_repository(stored)
    }

    /// Why a memory is held, if it is; `redactor` is that of its store.
    pub fn held(&self, stored: &Stored, redactor: &Redactor) -> Option<HeldBack> {
        self.judgement(stored, redactor).held
    }

    /// Judges a memory that was saved a moment ago, of which the ledger knows by now.
    pub fn judgement_now(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        self.clone().renewed().judgement(stored, redactor)
    }

    /// Judges a memory; `redactor` is that of its store.
    pub fn judgement(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        let from_repository = self.is_from_repository(stored);
        let redacted = redactor.redacted(&stored.memory);
        let record = Document::memory(&redacted, Path::new(""), 0, 0).record;
        let order = self.order(&Record { from_repository, ..record });
        let unreleased = from_repository && self.holds_unreleased();
        let held = (order.is_some() || unreleased).then_some(HeldBack { order, unreleased });
        Judgement { redacted, held, from_repository }
    }

    /// Returns whether a memory looks like an order that nobody let out. Deeds are orders only from the repository.
    pub fn is_order(&self, memory: &Memory, redactor: &Redactor, from_repository: bool) -> bool {
        self.order(&labelled(memory, redactor, from_repository)).is_some()
    }

    /// Returns whether another file with the same id or name counts rather than this one.
    pub(crate) fn gives_way(&self, stored: &Stored, redactor: &Redactor) -> bool {
        self.is_from_repository(stored) || self.is_order(&stored.memory, redactor, false)
    }

    /// Marks a document that is labelled and looks like an order; one that is held already stays so.
    pub fn judge(&self, document: &mut Document) {
        if self.order(&document.record).is_some() {
            document.entry.flags |= FLAG_HELD;
        }
    }

    fn order(&self, record: &Record) -> Option<Suspicion> {
        of_record(record).filter(|_| !self.released.contains(&hash(record)))
    }

    /// Returns a digest of the inputs of a judgement besides the memories: the rules and the releases.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(&suspicion::fingerprint());
        for hash in &self.released {
            hasher.update(hash.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// Tells a memory as it is now from what may come into its file.
    pub fn mark(stored: &Stored) -> String {
        let Stored { memory, text, .. } = stored;
        blake3::hash(format!("{} {text}", memory.id).as_bytes()).to_hex()[..MARK_CHARS].to_owned()
    }

    /// The hash of what a memory says, as an index would hold it; `redactor` is that of its store.
    pub(crate) fn says(memory: &Memory, redactor: &Redactor) -> String {
        hash(&document(memory, redactor).record)
    }
}

/// Releases memories as they are now: they count as this machine's. Memories that look like orders stay held.
///
/// # Errors
/// When the ledger cannot be written.
pub fn release(store: &Store, released: &[&Stored]) -> Result<()> {
    let _lock = lock(store.home())?;
    Ledger::open(store.home())?.own(released.iter().flat_map(|stored| hashes(stored)))
}

/// Notes that what these files say came with the repository.
///
/// # Errors
/// When the ledger cannot be written.
pub fn note_pulled(store: &Store, files: &[Stored]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let _lock = lock(store.home())?;
    Ledger::open(store.home())?.pulled(files.iter().flat_map(hashes))
}

/// Lets a memory out of quarantine as it is now, without what `redactor`, that of its store, hides.
///
/// # Errors
/// When the file cannot be written.
pub fn let_out(home: &ProjectDir, stored: &Stored, redactor: &Redactor) -> Result<()> {
    let path = home.released();
    let line = Trust::says(&stored.memory, redactor) + "\n";
    let mut options = private_options();
    let mut file = options.create(true).append(true).open(&path).at(&path)?;
    if file.metadata().at(&path)?.len() + line.len() as u64 > RELEASED_BYTES_MAX {
        // Nobody would read it: better said than forgotten.
        return Err(Error::Refused {
            path,
            message: "too much was released before; what is beyond is not read".to_owned(),
            remedy: "Remove the first lines of this file, the oldest releases.",
        });
    }
    file.write_all(line.as_bytes()).at(&path)?;
    file.sync_all().at(&path)
}

fn released(home: &ProjectDir) -> Result<BTreeSet<String>> {
    use std::io::Read;

    let path = home.released();
    let mut text = String::new();
    match fs::File::open(&path) {
        Ok(file) => file.take(RELEASED_BYTES_MAX).read_to_string(&mut text).at(&path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error).at(&path),
    };
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the document that an index would hold of a memory.
fn document(memory: &Memory, redactor: &Redactor) -> Document {
    Document::memory(&redactor.redacted(memory), Path::new(""), 0, 0)
}

fn labelled(memory: &Memory, redactor: &Redactor, from_repository: bool) -> Record {
    Record { from_repository, ..document(memory, redactor).record }
}

fn hash(record: &Record) -> String {
    let (title, body) = judged_text(record);
    let mut hasher = blake3::Hasher::new();
    hasher.update(title.as_bytes());
    hasher.update(&[0]);
    hasher.update(body.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}
