//! Memories from the repository: this machine's ledger knows by content hash what was derived, written or released here.
//! Every other file in a committed memory folder is *from the repository*: it is labelled so wherever it is given, never
//! told as a wish of the user, and with `pulled = "reviewed"` not given until it is released.

use std::sync::OnceLock;

use crate::error::Result;
use crate::identity::Identity;
use crate::layout::ProjectDir;
use crate::ledger::{self, KnownTexts, Ledger, Lookup, hashes};
use crate::settings::{Pulled, Settings};
use crate::store::Store;
use crate::stored::{Stored, lock};

/// Origin of a store's files, as its ledger tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct FileOrigins {
    /// Project of the ledger that knows the texts of this machine; `None` where no repository has the files.
    home: Option<ProjectDir>,
    /// The ledger of the store's project, or of the user.
    ledger: Option<ProjectDir>,
    /// Read at the first question about a file.
    texts: OnceLock<KnownTexts>,
}

impl FileOrigins {
    pub(crate) fn of(store: &Store) -> Self {
        // Nobody else can write a private store.
        Self {
            home: store.root.as_deref().map(|_| store.home.clone()),
            ledger: Some(store.home.clone()),
            texts: OnceLock::new(),
        }
    }

    /// Forgets what the ledger said.
    pub(crate) fn renewed(self) -> Self {
        Self { texts: OnceLock::new(), ..self }
    }

    /// Returns the policy for what is from the repository: that of the settings, unless the project's is stricter.
    pub(crate) fn policy(&self, settings: &Settings) -> Result<Pulled> {
        let is_limited = match &self.home {
            Some(home) => Identity::read(home)?.is_some_and(|identity| identity.authors.is_some()),
            None => false,
        };
        let least = if is_limited { Pulled::Reviewed } else { Pulled::All };
        Ok(settings.pulled.max(least))
    }

    /// Returns the project whose ledger is asked about a file. Nobody else can write drafts, and they get into a ledger at
    /// the next sync.
    fn home_of(&self, stored: &Stored) -> Option<&ProjectDir> {
        self.home.as_ref().filter(|home| !stored.path.starts_with(&home.drafts))
    }

    /// Returns whether this machine did not derive, write or release what a file says.
    pub(crate) fn is_repository(&self, stored: &Stored) -> bool {
        self.home_of(stored).is_some()
            && !self.texts().owns(stored)
            && !self.texts().is_of_claude(stored)
    }

    /// Returns whether a tool call of Claude's wrote what a file says, and no person confirmed it.
    pub(crate) fn is_claudes(&self, stored: &Stored) -> bool {
        self.texts().is_of_claude(stored)
    }

    fn texts(&self) -> &KnownTexts {
        // Without a ledger nothing is known to be this machine's.
        let open = |home| Ledger::open(home).map(|ledger| ledger.texts()).unwrap_or_default();
        self.texts.get_or_init(|| self.ledger.as_ref().map(open).unwrap_or_default())
    }

    /// Returns the same without reading the whole ledger.
    pub(crate) fn is_repository_alone(&self, stored: &Stored) -> bool {
        let Some(home) = self.home_of(stored) else { return false };
        let origin = Lookup::new(home).origin(stored);
        !matches!(origin, Ok(ledger::LedgerOrigin::Own | ledger::LedgerOrigin::Claude))
    }

    /// Returns the same as [`Self::is_claudes`] without reading the whole ledger.
    pub(crate) fn is_claudes_alone(&self, stored: &Stored) -> bool {
        let origin = |home| Lookup::new(home).origin(stored).ok();
        self.ledger.as_ref().and_then(origin) == Some(ledger::LedgerOrigin::Claude)
    }
}

/// Releases memories as they are now: they count as this machine's. Memories that look like orders stay held.
///
/// # Errors
/// When the ledger cannot be written.
pub fn release(store: &Store, released: &[&Stored]) -> Result<()> {
    let _lock = lock(&store.home)?;
    Ledger::open(&store.home)?.own(released.iter().flat_map(|stored| hashes(stored)))
}

/// Lists the memory files of a store that may have come with the repository: what they say was neither written here nor
/// noted before. Drafts are private.
///
/// # Errors
/// When the ledger cannot be read.
pub fn unknown(store: &Store) -> Result<Vec<Stored>> {
    let mut files = unseen(store)?;
    files.retain(|stored| stored.path.starts_with(&store.folder));
    Ok(files)
}

/// Lists the memory files of a store whose texts nobody has noted yet, drafts among them.
///
/// # Errors
/// When the ledger cannot be read.
pub fn unseen(store: &Store) -> Result<Vec<Stored>> {
    let texts = Ledger::open(&store.home)?.texts();
    let mut files = store.files();
    files.retain(|stored| texts.origin(stored) == ledger::LedgerOrigin::Unknown);
    Ok(files)
}

/// Notes that what these files say came with the repository.
///
/// # Errors
/// When the ledger cannot be written.
pub fn note_pulled(store: &Store, files: &[Stored]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let _lock = lock(&store.home)?;
    Ledger::open(&store.home)?.pulled(files.iter().flat_map(hashes))
}
