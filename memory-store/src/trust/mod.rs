//! Trust: whether recall may return a memory, and with which label.
//!
//! [`Trust::decide`] decides from three facts: whether the memory resembles an instruction to the model (module
//! [`suspicion`]), whether a person released its text from quarantine (`quarantine.rs`), and whether its text is *from
//! the repository* under a policy that requires a release (`pulled.rs`). The callers are:
//!
//! - [`Trust::judge`] for a document of an index: publishing, and expired memories in the MCP server. Hooks, search and
//!   the MCP server use the result from the index, `FLAG_HELD`.
//! - [`Trust::judgement`] and [`Trust::judgement_now`] for a file and for the journal of an index: the commands and the
//!   MCP server.
//! - [`Trust::held_as`] for a memory with a known label: the plan of the start block, and the choice between two files.
//!
//! If the settings became stricter after an index was published, readers of the index apply them in addition
//! (`memory-store/recall/src/search/reader.rs` `holds`).

use std::fmt;

use crate::error::Result;
use crate::index::document::Document;
use crate::index::record::{FLAG_HELD, Record};
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::settings::{Pulled, Settings};
use crate::store::{Store, mark_as_claudes_note};
use crate::stored::Stored;
use crate::suspicion::{self, Suspicion, of_record};

mod pulled;
mod quarantine;

pub use pulled::{note_pulled, release, unknown, unseen};
pub(crate) use quarantine::RELEASED_BYTES_MAX;
pub use quarantine::let_out;

use pulled::FileOrigins;
use quarantine::{Releases, document, document_of};

/// Length of a mark in hexadecimal characters. Marks must resist collisions, because an attacker may write both texts.
const MARK_CHARS: usize = 32;

/// Version of the rules of judgement. An index with another version is rebuilt.
const VERSION: u32 = 1;

/// Label of a memory that this machine did not derive, write or release.
pub const LABEL: &str = "from the repository";

/// Reason why a memory is withheld; at least one field is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// Set if the memory resembles an instruction to the model.
    pub order: Option<Suspicion>,
    /// True if the memory is from the repository and the policy requires a release.
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

/// Judgement of a memory file.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The memory without its secrets.
    pub redacted: Memory,
    /// Reason why the memory is withheld, if any.
    pub held: Option<HeldBack>,
    /// True if the memory's text was not derived, written or released on this machine.
    pub from_repository: bool,
}

/// Trust in one store's memories: which memories are returned, and with which label.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    releases: Releases,
    origin: FileOrigins,
    pulled: Pulled,
    /// True if each file is looked up in the ledger separately instead of reading the whole ledger, which is faster for
    /// a few files.
    pub asks_singly: bool,
}

impl Trust {
    /// Reads the releases of a store. The store's ledger is read at the first query about a file.
    ///
    /// # Errors
    /// If the file of releases cannot be read.
    pub fn of(store: &Store, settings: &Settings) -> Result<Self> {
        let origin = FileOrigins::of(store);
        let pulled = origin.policy(settings)?;
        Ok(Self { releases: Releases::read(&store.home)?, origin, pulled, asks_singly: false })
    }

    /// Drops the cached ledger so that the next query reads it again.
    #[must_use]
    pub(crate) fn renewed(self) -> Self {
        Self { origin: self.origin.renewed(), ..self }
    }

    /// Returns whether a file's text was not derived, written or released on this machine.
    pub fn is_from_repository(&self, stored: &Stored) -> bool {
        match self.asks_singly {
            true => self.origin.is_repository_alone(stored),
            false => self.origin.is_repository(stored),
        }
    }

    /// Returns whether one of Claude's tool calls wrote a file's text and no person confirmed it.
    pub fn is_claudes(&self, stored: &Stored) -> bool {
        match self.asks_singly {
            true => self.origin.is_claudes_alone(stored),
            false => self.origin.is_claudes(stored),
        }
    }

    /// Returns whether memories from the repository are withheld until they are released.
    pub fn holds_unreleased(&self) -> bool {
        self.pulled == Pulled::Reviewed
    }

    /// Returns the reason to withhold a memory, if any. Descriptions of actions count as instructions only in memories
    /// from the repository.
    fn decide(&self, record: &Record) -> Option<HeldBack> {
        let order = of_record(record).filter(|_| !self.releases.have(record));
        let unreleased = record.from_repository && self.holds_unreleased();
        (order.is_some() || unreleased).then_some(HeldBack { order, unreleased })
    }

    /// Judges a memory that was just saved, after reading the ledger again.
    pub fn judgement_now(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        self.clone().renewed().judgement(stored, redactor)
    }

    /// Judges a memory; `redactor` is the redactor of its store.
    pub fn judgement(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        let from_repository = self.is_from_repository(stored);
        let mut redacted = redactor.redacted(&stored.memory);
        if self.is_claudes(stored) {
            mark_as_claudes_note(&mut redacted);
        }
        let held = self.decide(&Record { from_repository, ..document_of(&redacted).record });
        Judgement { redacted, held, from_repository }
    }

    /// Returns the reason to withhold a memory with a given label, if any; `redactor` is the redactor of its store.
    pub fn held_as(
        &self,
        memory: &Memory,
        redactor: &Redactor,
        from_repository: bool,
    ) -> Option<HeldBack> {
        self.decide(&Record { from_repository, ..document(memory, redactor).record })
    }

    /// Marks a labelled document as withheld if [`Trust::decide`] gives a reason. A mark is never removed.
    pub fn judge(&self, document: &mut Document) {
        if self.decide(&document.record).is_some() {
            document.entry.flags |= FLAG_HELD;
        }
    }

    /// Returns whether a file is withheld because it is not released. The result does not depend on the file's text.
    pub(crate) fn is_unreleased(&self, stored: &Stored) -> bool {
        self.holds_unreleased() && self.is_from_repository(stored)
    }

    /// Returns whether another file with the same id or name takes precedence over this one.
    pub fn gives_way(&self, stored: &Stored, redactor: &Redactor) -> bool {
        self.is_from_repository(stored)
            || self.is_claudes(stored)
            || self.held_as(&stored.memory, redactor, false).is_some()
    }

    /// Returns a digest of all inputs of a judgement except the memories: the rules, the releases and the policy.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(&suspicion::fingerprint());
        self.releases.update(&mut hasher);
        if self.holds_unreleased() {
            hasher.update(b"reviewed");
        }
        *hasher.finalize().as_bytes()
    }

    /// Returns a digest of a memory's id and present text, which changes when its file changes.
    pub fn mark(stored: &Stored) -> String {
        let Stored { memory, text, .. } = stored;
        blake3::hash(format!("{} {text}", memory.id).as_bytes()).to_hex()[..MARK_CHARS].to_owned()
    }
}
