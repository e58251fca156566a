//! Trust: whether a memory may be given, and with which label.
//!
//! [`Trust::decide`] is the one decision. It goes by three things: the memory looks like an order to the model (module
//! [`suspicion`]), a person released that text from quarantine (`quarantine.rs`), and the text is *from the repository*
//! under a policy that gives only what was released (`pulled.rs`). Its callers:
//!
//! - [`Trust::judge`] for a document that comes into an index: publishing, and expired memories in the MCP server. Hooks,
//!   search and the MCP server go by its mark in the index, `FLAG_HELD`.
//! - [`Trust::judgement`] and [`Trust::judgement_now`] for a file and the journal of an index: the commands and the MCP
//!   server.
//! - [`Trust::held_as`] for a memory whose label is known: the plan of a session's start, and which of two files counts.
//!
//! A reader of an index adds settings that are stricter by now (`memory-store/recall/src/search/reader.rs` `holds`).

use std::fmt;

use crate::error::Result;
use crate::index::document::Document;
use crate::index::record::{FLAG_HELD, Record};
use crate::memory::Memory;
use crate::redact::Redactor;
use crate::settings::{Pulled, Settings};
use crate::store::{Store, tell_as_note};
use crate::stored::Stored;
use crate::suspicion::{self, Suspicion, of_record};

mod pulled;
mod quarantine;

pub use pulled::{note_pulled, release, unknown, unseen};
pub(crate) use quarantine::RELEASED_BYTES_MAX;
pub use quarantine::let_out;

use pulled::FileOrigins;
use quarantine::{Releases, document, document_of};

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

/// Judgement of a memory file, made once for all who ask.
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
    releases: Releases,
    origin: FileOrigins,
    pulled: Pulled,
    /// True if the ledger is asked about each file by itself, for who asks about few.
    pub asks_singly: bool,
}

impl Trust {
    /// Reads what was let out of a store. Its ledger is read at the first question about a file.
    ///
    /// # Errors
    /// When the file of what was let out cannot be read.
    pub fn of(store: &Store, settings: &Settings) -> Result<Self> {
        let origin = FileOrigins::of(store);
        let pulled = origin.policy(settings)?;
        Ok(Self { releases: Releases::read(&store.home)?, origin, pulled, asks_singly: false })
    }

    /// Forgets what the ledger said, for who knows that it says more by now.
    #[must_use]
    pub(crate) fn renewed(self) -> Self {
        Self { origin: self.origin.renewed(), ..self }
    }

    /// Returns whether this machine did not derive, write or release what a file says.
    pub fn is_from_repository(&self, stored: &Stored) -> bool {
        match self.asks_singly {
            true => self.origin.is_repository_alone(stored),
            false => self.origin.is_repository(stored),
        }
    }

    /// Returns whether a tool call of Claude's wrote what a file says, and no person confirmed it.
    pub fn is_claudes(&self, stored: &Stored) -> bool {
        match self.asks_singly {
            true => self.origin.is_claudes_alone(stored),
            false => self.origin.is_claudes(stored),
        }
    }

    /// Returns whether what is from the repository is held until it is released.
    pub fn holds_unreleased(&self) -> bool {
        self.pulled == Pulled::Reviewed
    }

    /// Decides whether a memory may be given: returns why not. Deeds are orders only from the repository.
    fn decide(&self, record: &Record) -> Option<HeldBack> {
        let order = of_record(record).filter(|_| !self.releases.have(record));
        let unreleased = record.from_repository && self.holds_unreleased();
        (order.is_some() || unreleased).then_some(HeldBack { order, unreleased })
    }

    /// Judges a memory that was saved a moment ago, of which the ledger knows by now.
    pub fn judgement_now(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        self.clone().renewed().judgement(stored, redactor)
    }

    /// Judges a memory; `redactor` is that of its store.
    pub fn judgement(&self, stored: &Stored, redactor: &Redactor) -> Judgement {
        let from_repository = self.is_from_repository(stored);
        let mut redacted = redactor.redacted(&stored.memory);
        if self.is_claudes(stored) {
            tell_as_note(&mut redacted);
        }
        let held = self.decide(&Record { from_repository, ..document_of(&redacted).record });
        Judgement { redacted, held, from_repository }
    }

    /// Returns why a memory is held, if it is, with the label that the caller knows; `redactor` is that of its store.
    pub fn held_as(
        &self,
        memory: &Memory,
        redactor: &Redactor,
        from_repository: bool,
    ) -> Option<HeldBack> {
        self.decide(&Record { from_repository, ..document(memory, redactor).record })
    }

    /// Marks a document that has its label and is held; one that is held already stays so.
    pub fn judge(&self, document: &mut Document) {
        if self.decide(&document.record).is_some() {
            document.entry.flags |= FLAG_HELD;
        }
    }

    /// Returns whether a file is not given because nobody released it, whatever it says.
    pub(crate) fn is_unreleased(&self, stored: &Stored) -> bool {
        self.holds_unreleased() && self.is_from_repository(stored)
    }

    /// Returns whether another file with the same id or name counts rather than this one.
    pub fn gives_way(&self, stored: &Stored, redactor: &Redactor) -> bool {
        self.is_from_repository(stored)
            || self.is_claudes(stored)
            || self.held_as(&stored.memory, redactor, false).is_some()
    }

    /// Returns a digest of the inputs of a judgement besides the memories: the rules, the releases and the policy.
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

    /// Tells a memory as it is now from what may come into its file.
    pub fn mark(stored: &Stored) -> String {
        let Stored { memory, text, .. } = stored;
        blake3::hash(format!("{} {text}", memory.id).as_bytes()).to_hex()[..MARK_CHARS].to_owned()
    }
}
