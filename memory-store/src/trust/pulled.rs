//! Memories from the repository. The ledger contains the hashes of all texts that were derived, written or released on
//! this machine. Every other file in a committed memory folder is *from the repository*. It is always returned with a
//! label, and never presented as a wish of the user. With `pulled = "reviewed"` it is withheld until it is released.

use std::sync::OnceLock;

use crate::error::Result;
use crate::identity::Identity;
use crate::layout::ProjectDir;
use crate::ledger::{self, KnownTexts, Ledger, Lookup, hashes};
use crate::settings::{Pulled, Settings};
use crate::store::Store;
use crate::stored::{Stored, lock};

/// Origins of a store's files according to its ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct FileOrigins {
    /// Project whose ledger lists the texts of this machine; `None` if the store is private.
    home: Option<ProjectDir>,
    /// The ledger of the store's project, or of the user.
    ledger: Option<ProjectDir>,
    /// Texts of the ledger, read at the first query about a file.
    texts: OnceLock<KnownTexts>,
}

impl FileOrigins {
    pub(crate) fn of(store: &Store) -> Self {
        // Only this user can write a private store, so its files are not from the repository.
        Self {
            home: store.root.as_deref().map(|_| store.home.clone()),
            ledger: Some(store.home.clone()),
            texts: OnceLock::new(),
        }
    }

    /// Drops the cached ledger.
    pub(crate) fn renewed(self) -> Self {
        Self { texts: OnceLock::new(), ..self }
    }

    /// Returns the policy for memories from the repository: the policy in the settings or, if stricter, the project's.
    pub(crate) fn policy(&self, settings: &Settings) -> Result<Pulled> {
        let is_limited = match &self.home {
            Some(home) => Identity::read(home)?.is_some_and(|identity| identity.authors.is_some()),
            None => false,
        };
        let least = if is_limited { Pulled::Reviewed } else { Pulled::All };
        Ok(settings.pulled.max(least))
    }

    /// Returns the project whose ledger lists a file. Returns `None` for drafts, because only this user can write them
    /// and the ledger lists them only after the next sync.
    fn home_of(&self, stored: &Stored) -> Option<&ProjectDir> {
        self.home.as_ref().filter(|home| !stored.path.starts_with(&home.drafts))
    }

    /// Returns whether a file's text was not derived, written or released on this machine.
    pub(crate) fn is_repository(&self, stored: &Stored) -> bool {
        self.home_of(stored).is_some()
            && !self.texts().owns(stored)
            && !self.texts().is_of_claude(stored)
    }

    /// Returns whether one of Claude's tool calls wrote a file's text and no person confirmed it.
    pub(crate) fn is_claudes(&self, stored: &Stored) -> bool {
        self.texts().is_of_claude(stored)
    }

    fn texts(&self) -> &KnownTexts {
        // If the ledger cannot be read, no text counts as a text of this machine.
        let open = |home| Ledger::open(home).map(|ledger| ledger.texts()).unwrap_or_default();
        self.texts.get_or_init(|| self.ledger.as_ref().map(open).unwrap_or_default())
    }

    /// Like [`Self::is_repository`], without reading the whole ledger.
    pub(crate) fn is_repository_alone(&self, stored: &Stored) -> bool {
        let Some(home) = self.home_of(stored) else { return false };
        let origin = Lookup::new(home).origin(stored);
        !matches!(origin, Ok(ledger::LedgerOrigin::Own | ledger::LedgerOrigin::Claude))
    }

    /// Like [`Self::is_claudes`], without reading the whole ledger.
    pub(crate) fn is_claudes_alone(&self, stored: &Stored) -> bool {
        let origin = |home| Lookup::new(home).origin(stored).ok();
        self.ledger.as_ref().and_then(origin) == Some(ledger::LedgerOrigin::Claude)
    }
}

/// Releases the present texts of memories. They then count as texts of this machine. Memories that resemble
/// instructions remain withheld.
///
/// # Errors
/// If the ledger cannot be written.
pub fn release(store: &Store, released: &[&Stored]) -> Result<()> {
    let _lock = lock(&store.home)?;
    Ledger::open(&store.home)?.own(released.iter().flat_map(|stored| hashes(stored)))
}

/// Lists the memory files of a store that may be from the repository: their texts were not written on this machine and
/// not recorded before. Drafts are private and therefore omitted.
///
/// # Errors
/// If the ledger cannot be read.
pub fn unknown(store: &Store) -> Result<Vec<Stored>> {
    let mut files = unseen(store)?;
    files.retain(|stored| stored.path.starts_with(&store.folder));
    Ok(files)
}

/// Lists the memory files of a store whose texts are not recorded yet, including drafts.
///
/// # Errors
/// If the ledger cannot be read.
pub fn unseen(store: &Store) -> Result<Vec<Stored>> {
    let texts = Ledger::open(&store.home)?.texts();
    let mut files = store.files();
    files.retain(|stored| texts.origin(stored) == ledger::LedgerOrigin::Unknown);
    Ok(files)
}

/// Records that the texts of these files are from the repository.
///
/// # Errors
/// If the ledger cannot be written.
pub fn note_pulled(store: &Store, files: &[Stored]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let _lock = lock(&store.home)?;
    Ledger::open(&store.home)?.pulled(files.iter().flat_map(hashes))
}
