//! The two stores a command sees: the project's, and the user's own.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use memory_store::Error;
use memory_store::identity::Identity;
use memory_store::layout::Tree;
use memory_store::memory::Scope;
use memory_store::recall::Recall;
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::settings_file;
use memory_store::store::{Listing, Store, Stored};
use memory_store::suspicion::{HeldBack, Quarantine, Withholding};
use processor::pulled::Limits;

use crate::failure::{Failure, Result};
use crate::world::World;

/// The project's store and the user's own.
pub struct Stores {
    /// The working tree.
    pub tree: Tree,
    /// Its memories.
    pub project: Store,
    /// The memories for every project.
    pub user: Store,
    /// The settings in effect.
    pub settings: Settings,
    withheld: Arc<Withheld>,
}

/// A memory file that is held back.
pub struct Held {
    /// The file.
    pub stored: Stored,
    /// Why it is held.
    pub why: HeldBack,
    /// What `throughline review --release` takes for letting it out as it is now.
    pub release: String,
}

impl Held {
    /// The file, if it is held by what is known of its store.
    fn of(stored: Stored, quarantine: &Quarantine, redactor: &Redactor) -> Option<Self> {
        let why = quarantine.held(&stored, redactor)?;
        let mark = quarantine.mark(&stored, redactor);
        let release = format!("{}@{mark}", stored.memory.id.short());
        Some(Self { stored, why, release })
    }
}

/// What others committed and is not given, as git tells it now and not when it was synced. Asked at the first
/// question: most commands have none.
type Withheld =
    LazyLock<Result<Arc<Withholding>>, Box<dyn FnOnce() -> Result<Arc<Withholding>> + Send>>;

impl Stores {
    /// Opens both stores; a failure when nobody vouched for the working tree.
    pub fn open(world: &World) -> Result<Self> {
        Self::at(world, world.tree()?)
    }

    /// Opens both stores for a working tree that somebody vouched for.
    pub fn at(world: &World, tree: Tree) -> Result<Self> {
        let project = Store::open(&world.dirs, &tree)?;
        let (settings, _) = settings_file::load(&world.dirs, Some(&tree));
        let (dirs, now, asked) = (world.dirs.clone(), world.now, (tree.clone(), settings.clone()));
        let ask = move || {
            let (tree, settings) = asked;
            Ok(processor::pulled::withheld(&dirs, &tree, &settings, now)?)
        };
        let withheld = Arc::new(Withheld::new(Box::new(ask)));
        let user = Store::user(&world.dirs)?;
        let mut stores = Self { tree, project, user, settings, withheld };
        stores.project = stores.judged(&stores.project)?;
        stores.user = stores.judged(&stores.user)?;
        Ok(stores)
    }

    fn judged(&self, store: &Store) -> Result<Store> {
        Ok(store.clone().judged(self.quarantine(store)?, &self.settings))
    }

    /// Finds a memory in either store by its id, or the last characters of it.
    pub fn find(&self, id: &str) -> Result<(&Store, Stored)> {
        self.find_with(id, Store::find)
    }

    /// The same, or where no memory is meant one that was put aside; whether it was.
    pub fn find_or_archived(&self, id: &str) -> Result<(&Store, Stored, bool)> {
        let is_unknown =
            |store: &Store| matches!(store.find(id), Err(Error::NotFound { found: 0, .. }));
        match self.find(id) {
            Ok((store, stored)) => Ok((store, stored, false)),
            // Of several, or one that cannot be read, nobody meant another.
            Err(missing) if !is_unknown(&self.project) || !is_unknown(&self.user) => Err(missing),
            Err(missing) => {
                let (store, stored) =
                    self.find_with(id, Store::find_archived).map_err(|_| missing)?;
                Ok((store, stored, true))
            }
        }
    }

    fn find_with(
        &self,
        id: &str,
        find: impl Fn(&Store, &str) -> memory_store::Result<Stored>,
    ) -> Result<(&Store, Stored)> {
        let (project, user) = (find(&self.project, id), find(&self.user, id));
        match (project, user) {
            (Ok(found), Err(Error::NotFound { found: 0, .. })) => Ok((&self.project, found)),
            (Err(Error::NotFound { found: 0, .. }), Ok(found)) => Ok((&self.user, found)),
            (Ok(_), Ok(_)) => Err(ambiguous(id, 2)),
            (
                Err(Error::NotFound { found: project, .. }),
                Err(Error::NotFound { found: user, .. }),
            ) => Err(ambiguous(id, project + user)),
            (Ok(_), Err(Error::NotFound { found, .. }))
            | (Err(Error::NotFound { found, .. }), Ok(_)) => Err(ambiguous(id, found + 1)),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    /// The memory files that are held back, and why, by id; those too whose id is that of one that counts.
    pub fn held(&self) -> Result<Vec<Held>> {
        // That nobody can tell who committed what is said here, where it was asked for.
        (**self.withheld).clone()?;
        self.held_by(|store| self.quarantine(store))
    }

    /// Whether of what others commit not everything is given.
    pub fn are_limited(&self) -> Result<bool> {
        Ok(Limits::read(self.project.home(), &self.settings)?.hold())
    }

    /// How many memories are held back, by what the last sync found of others' commits: git is not asked, but where
    /// the user says something else since, which nobody judged by yet.
    pub fn held_count(&self, recall: &Recall) -> Result<usize> {
        if recall.is_outdated()
            && recall.settings().pulled != self.settings.pulled
            && let Ok(held) = self.held()
        {
            return Ok(held.len());
        }
        let quarantine = |store: &Store| Ok(Quarantine::read(store.home(), &self.settings)?);
        Ok(self.held_by(quarantine)?.len())
    }

    fn held_by(&self, quarantine: impl Fn(&Store) -> Result<Quarantine>) -> Result<Vec<Held>> {
        let mut held = Vec::new();
        for store in [&self.project, &self.user] {
            let (quarantine, redactor) = (quarantine(store)?, store.redactor(&self.settings));
            let files = store.files().into_iter();
            held.extend(files.filter_map(|stored| Held::of(stored, &quarantine, &redactor)));
        }
        held.sort_by(|Held { stored: a, .. }, Held { stored: b, .. }| {
            (a.memory.id, &a.path).cmp(&(b.memory.id, &b.path))
        });
        Ok(held)
    }

    /// What is held in one of the stores, by what is released now.
    pub fn quarantine(&self, store: &Store) -> Result<Quarantine> {
        let quarantine = Quarantine::releases(store.home())?;
        match store.root() {
            None => Ok(quarantine),
            Some(_) => {
                let withheld = self.withheld.clone();
                // Where git cannot be asked, all that may be somebody else's is withheld.
                let all = || Arc::new(Withholding::new().of_judged(BTreeSet::new()));
                let ask = move || (**withheld).clone().unwrap_or_else(|_| all());
                Ok(quarantine.withholding_when_asked(ask))
            }
        }
    }

    /// Whether of what others commit only what is signed is taken.
    pub fn takes_only_signed(&self) -> Result<bool> {
        let identity = Identity::read(self.project.home())?;
        Ok(identity.and_then(|identity| identity.authors).is_some_and(|authors| authors.signed))
    }

    /// The same of one memory, if it is held back.
    pub fn held_as(&self, stored: &Stored) -> Result<Option<Held>> {
        let store = self.store_of(stored);
        let (quarantine, redactor) = (self.quarantine(store)?, store.redactor(&self.settings));
        Ok(Held::of(stored.clone(), &quarantine, &redactor))
    }

    /// The files that count, each of all with its id.
    pub fn counting(&self) -> Result<BTreeSet<PathBuf>> {
        Ok(self.list()?.memories.into_iter().map(|stored| stored.path).collect())
    }

    /// Whose index has a memory: its file may say `scope: user` wherever it lies.
    pub fn scope_of(&self, stored: &Stored) -> Scope {
        match stored.path.starts_with(self.user.folder()) {
            true => Scope::User,
            false => Scope::Project,
        }
    }

    /// The store that a memory is in.
    pub fn store_of(&self, stored: &Stored) -> &Store {
        if stored.path.starts_with(self.user.folder()) { &self.user } else { &self.project }
    }

    /// The files of what is held back.
    pub fn held_files(&self) -> Result<BTreeSet<PathBuf>> {
        Ok(self.held()?.into_iter().map(|held| held.stored.path).collect())
    }

    /// Leaves out what is held back.
    pub fn without_held(&self, mut memories: Vec<Stored>) -> Result<Vec<Stored>> {
        let held = self.held_files()?;
        memories.retain(|stored| !held.contains(&stored.path));
        Ok(memories)
    }

    /// Lists both stores.
    pub fn list(&self) -> Result<Listing> {
        let (mut all, user) = (self.project.list()?, self.user.list()?);
        all.memories.extend(user.memories);
        all.broken.extend(user.broken);
        Ok(all)
    }
}

fn ambiguous(id: &str, found: usize) -> Failure {
    Error::NotFound { id: id.to_owned(), found }.into()
}
