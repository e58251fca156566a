//! The two stores of a command: the project's and the user's.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use memory_store::counts::MemoryCounts;
use memory_store::guards;
use memory_store::id::{SHORT_ID_CHARS, abbreviated};
use memory_store::identity::Identity;
use memory_store::index::journal::{self, Change};
use memory_store::layout::{Tree, TreeDir};
use memory_store::ledger::Tombstone;
use memory_store::memory::{Memory, Scope};
use memory_store::recall::{Collection, Judged, Recall};
use memory_store::redact::Redactor;
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::settings_file;
use memory_store::store::{By, Listing, SHORT_ID_CHARS_MIN, Store, Stored};
use memory_store::trust::{HeldBack, Trust};
use memory_store::{Error, MemoryId, Timestamp};

use crate::failure::{Failure, Result, after_saving};
use crate::inspect::migrations;
use crate::view::changes::line;
use crate::view::plain;
use crate::world::World;

/// Maximum memories that a message about an ambiguous id names.
const CANDIDATES_MAX: usize = 10;

/// The project's store and the user's store.
pub struct Stores {
    /// Environment of the command.
    pub world: World,
    /// The working tree.
    pub tree: Tree,
    /// Memories of the project.
    pub project: Store,
    /// Memories of the user, for all projects.
    pub user: Store,
    /// The settings in effect.
    pub settings: Settings,
}

/// A withheld memory file.
pub struct HeldFile {
    /// The file.
    pub stored: Stored,
    /// Reason why the file is withheld.
    pub why: HeldBack,
    /// The argument of `throughline review --release` that releases the current text of the file.
    pub release: String,
}

/// Returns whether the index contains exactly this file with the same origin, as judged when the index was written.
fn is_given(stored: &Stored, judged: &Judged, from_repository: bool) -> bool {
    judged.gives(&stored.path, stored.stamp, from_repository)
}

impl HeldFile {
    /// Returns the file with the reason if its store withholds it.
    fn of(stored: Stored, trust: &Trust, redactor: &Redactor) -> Option<Self> {
        let why = trust.judgement(&stored, redactor).held?;
        let release = format!("{}@{}", stored.memory.id.short(), Trust::mark(&stored));
        Some(Self { stored, why, release })
    }
}

impl Stores {
    /// Opens both stores. Fails if the working tree is not trusted.
    pub fn open(world: &World) -> Result<Self> {
        Self::at(world, world.tree()?)
    }

    /// Opens both stores of a trusted working tree.
    pub fn at(world: &World, tree: Tree) -> Result<Self> {
        let project = Store::open(&world.dirs, &tree)?;
        let (settings, _) = settings_file::load(&world.dirs, Some(&tree));
        let user = Store::user(&world.dirs)?;
        let mut stores = Self { world: world.clone(), tree, project, user, settings };
        stores.project = stores.judged(&stores.project)?;
        stores.user = stores.judged(&stores.user)?;
        Ok(stores)
    }

    /// Returns the folder of the working tree's state.
    pub fn state(&self) -> TreeDir {
        self.world.dirs.tree(&self.tree.root)
    }

    /// Opens the index of the working tree.
    pub fn recall(&self) -> Recall {
        Recall::open(&self.world.dirs, &self.tree, None)
    }

    /// Returns the redactor for writing to one of the stores, after migrating the stores to the formats of this
    /// program.
    ///
    /// # Errors
    /// Returns an error if a later version of the program wrote the stores, or if [`Store::redactor_for_writing`]
    /// fails.
    pub fn redactor_for_writing(&self, store: &Store) -> Result<Redactor> {
        migrations::before_write(&self.world, &self.tree)?;
        Ok(store.redactor_for_writing(&self.settings)?)
    }

    fn judged(&self, store: &Store) -> Result<Store> {
        Ok(store.clone().judged(self.trust(store)?, &self.settings))
    }

    /// Adds the change of a memory to the journal, from which the next hook reads it. The file must already be written.
    pub fn note(&self, of: &Stored, change: Change<'_>) -> Result {
        self.note_in(self.store_of(of), change)
    }

    /// Adds a change of a memory in the given store to the journal, from which the next hook reads it.
    pub fn note_in(&self, store: &Store, change: Change<'_>) -> Result {
        let is_users = store.folder == self.user.folder;
        let scope = if is_users { Scope::User } else { Scope::Project };
        after_saving(journal::note(&self.world.dirs, &self.tree, scope, change))?;
        self.update_guards()
    }

    /// Writes the files of guards again if there are any: a changed memory may have had a guard.
    fn update_guards(&self) -> Result {
        let files = [self.state().guards, self.world.dirs.user_state().guards];
        if files.iter().any(|file| file.exists()) { self.publish_guards() } else { Ok(()) }
    }

    /// Writes the files in which hooks look for guards, for this working tree and the user. The next sync writes those of
    /// other working trees.
    pub fn publish_guards(&self) -> Result {
        for (store, tree) in
            [(&self.project, self.state()), (&self.user, self.world.dirs.user_state())]
        {
            let (trust, reviewed) = (self.trust(store)?, Reviewed::read(&store.home));
            guards::publish(&store.list()?.memories, &trust, &reviewed, &tree, self.world.now)?;
        }
        Ok(())
    }

    /// Judges a memory that was just saved in one of the stores, and adds it to the journal, from which the next hook
    /// reads it. Returns the reason if the memory is withheld.
    pub fn note_saved(
        &self,
        store: &Store,
        saved: &Stored,
        redactor: &Redactor,
    ) -> Result<Option<HeldBack>> {
        let judgement = self.trust(store)?.judgement(saved, redactor);
        self.note(saved, Change::Saved(saved, &judgement))?;
        Ok(judgement.held)
    }

    /// Changes the file of a memory as a person decided, and adds it to the journal. Returns the changed memory.
    pub fn edit(&self, stored: &Stored, change: impl FnOnce(&mut Memory)) -> Result<Stored> {
        let store = self.store_of(stored);
        let redactor = self.redactor_for_writing(store)?;
        let saved =
            store.edit_at(&stored.path, stored.memory.id, By::Person, &redactor, change)?.stored;
        self.note_saved(store, &saved, &redactor)?;
        Ok(saved)
    }

    /// Returns the trust state of a store, with the present releases.
    pub fn trust(&self, store: &Store) -> Result<Trust> {
        Ok(Trust::of(store, &self.settings)?)
    }

    /// Finds memories in both stores, including archived ones, by their ids or the last characters of their ids. If the
    /// indexes do not contain all of the memories, all files are read once.
    pub fn find_all(&self, ids: &[String]) -> Result<Vec<Stored>> {
        if let Some(found) = self.find_indexed(ids) {
            return Ok(found);
        }
        let all = self.list()?;
        let mut stored = Vec::new();
        for id in ids {
            let found = match all.find(id) {
                Err(Error::NotFound { found: 0, .. }) => {
                    self.archived()?.find(id).or_else(|_| all.find(id))
                }
                found => found,
            };
            match found {
                Ok(found) => stored.push(found),
                Err(error) => return Err(self.not_found(all, error)?),
            }
        }
        Ok(stored)
    }

    /// Finds memories whose files have not changed since they were indexed; `None` if one of them is not found.
    fn find_indexed(&self, ids: &[String]) -> Option<Vec<Stored>> {
        let collections = [Collection::Memories, Collection::User];
        let files = self.recall().files(&collections, usize::MAX)?;
        Store::find_indexed(&[&self.project, &self.user], ids, &files)
    }

    /// Finds a memory in one of the stores by its id or the last characters of the id.
    pub fn find(&self, id: &str) -> Result<(&Store, Stored)> {
        let all = self.list()?;
        match all.find(id) {
            Ok(stored) => Ok((self.store_of(&stored), stored)),
            Err(error) => Err(self.not_found(all, error)?),
        }
    }

    /// Finds a memory, or an archived memory if the id matches no other. Returns whether it is archived.
    pub fn find_or_archived(&self, id: &str) -> Result<(&Store, Stored, bool)> {
        // An ambiguous id must not select an archived memory.
        if !matches!(self.list()?.find(id), Err(Error::NotFound { found: 0, .. })) {
            return self.find(id).map(|(store, stored)| (store, stored, false));
        }
        let mut found = Vec::new();
        for store in self.both() {
            found.extend(store.archived()?.find(id).ok().map(|stored| (store, stored, true)));
        }
        match (found.pop(), found.pop()) {
            (Some(found), None) => Ok(found),
            _ => self.find(id).map(|(store, stored)| (store, stored, false)),
        }
    }

    /// Returns the failure of a search for an id in a list; that of a file if only an invalid file has the id.
    fn not_found(&self, all: Listing, error: Error) -> Result<Failure> {
        let Error::NotFound { id, found } = &error else { return Ok(error.into()) };
        let failure = self.unclear(id, *found)?;
        let broken = if *found == 0 { broken(all, id) } else { None };
        Ok(broken.map_or(failure, Failure::from))
    }

    /// Returns the failure for an id that identifies no memory or several. The message names the memories, or the
    /// minimum length of an id.
    pub fn unclear(&self, id: &str, found: usize) -> Result<Failure> {
        let failure = Failure::from(Error::NotFound { id: id.to_owned(), found });
        let typed = id.trim().to_ascii_lowercase();
        if typed.len() < SHORT_ID_CHARS_MIN {
            return Ok(Failure { message: format!("`{id}` is too short for an id"), ..failure }
                .hint(format!(
                    "Give at least the last {SHORT_ID_CHARS_MIN} characters; `throughline list` shows the ids."
                )));
        }
        if found == 0 {
            return Ok(failure);
        }
        let all = joined(self.list()?, self.archived()?).memories;
        let fitting: BTreeMap<String, &str> =
            abbreviated(&typed, all.iter().map(|stored| (stored.memory.id, &stored.memory)))
                .into_iter()
                .map(|memory| (memory.id.to_string(), memory.title.as_str()))
                .collect();
        let is_end = fitting.keys().all(|whole| whole.ends_with(&typed));
        let how = if is_end { "ends in" } else { "begins with" };
        // Only as many characters are printed as are needed to distinguish the memories.
        let ends = |count: usize| -> BTreeSet<&str> {
            fitting
                .keys()
                .filter_map(|whole| whole.get(whole.len().saturating_sub(count)..))
                .collect()
        };
        let least = if is_end { typed.len().max(SHORT_ID_CHARS) } else { SHORT_ID_CHARS };
        let count = (least..).find(|count| ends(*count).len() >= fitting.len()).unwrap_or(least);
        let named = fitting.iter().take(CANDIDATES_MAX).map(|(whole, title)| {
            let end = whole.get(whole.len().saturating_sub(count)..).unwrap_or(whole);
            format!("{end} \"{}\"", line(title))
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let message = format!("{found} memories have an id that {how} {id}: {}", plain(&named));
        Ok(Failure { message, ..failure })
    }

    /// Reads all memory files of both stores once, and their state in the indexes.
    pub fn survey(&self) -> Result<StoreSurvey<'_>> {
        let (project, trust) = (self.project.list()?, self.trust(&self.project)?);
        let pulled = project.files().filter(|stored| trust.is_from_repository(stored));
        let pulled = pulled.map(|stored| stored.path.clone().into_os_string()).collect();
        let judged = self.recall().judged();
        let (user, user_trust) = (self.user.list()?, self.trust(&self.user)?);
        Ok(StoreSurvey { stores: self, project, user, trust, user_trust, judged, pulled })
    }

    /// Returns the withheld memory files with the reasons, ordered by id. A file is included even if it does not count
    /// because another file has the same id.
    pub fn held(&self) -> Result<Vec<HeldFile>> {
        self.survey()?.held()
    }

    /// Returns the withheld file of a memory, or `None` if it is not withheld.
    pub fn held_as(&self, stored: &Stored) -> Result<Option<HeldFile>> {
        let store = self.store_of(stored);
        let (trust, redactor) = (self.trust(store)?, store.redactor(&self.settings));
        Ok(HeldFile::of(stored.clone(), &trust, &redactor))
    }

    /// Returns the memories from the repository, ordered by id, except those that resemble an instruction.
    pub fn unreleased(&self) -> Result<Vec<Stored>> {
        self.survey()?.unreleased()
    }

    /// Returns a function that decides whether a memory is from the repository.
    pub fn labels(&self) -> Result<impl Fn(&Stored) -> bool> {
        let (project, user) = (self.trust(&self.project)?, self.trust(&self.user)?);
        let users = self.user.folder.clone();
        Ok(move |stored: &Stored| match stored.path.starts_with(&users) {
            true => user.is_from_repository(stored),
            false => project.is_from_repository(stored),
        })
    }

    /// Returns the files that count, one for each id.
    pub fn counting(&self) -> Result<BTreeSet<PathBuf>> {
        Ok(self.list()?.memories.into_iter().map(|stored| stored.path).collect())
    }

    /// Returns the scope of the index that contains a memory. It depends on the folder, since any file may contain
    /// `scope: user`.
    pub fn scope_of(&self, stored: &Stored) -> Scope {
        match stored.path.starts_with(&self.user.folder) {
            true => Scope::User,
            false => Scope::Project,
        }
    }

    /// Returns the store that contains a memory.
    pub fn store_of(&self, stored: &Stored) -> &Store {
        if stored.path.starts_with(&self.user.folder) { &self.user } else { &self.project }
    }

    /// Returns the paths of withheld files.
    pub fn held_files(&self) -> Result<BTreeSet<PathBuf>> {
        Ok(self.held()?.into_iter().map(|held| held.stored.path).collect())
    }

    /// Removes withheld memories from a list.
    pub fn without_held(&self, mut memories: Vec<Stored>) -> Result<Vec<Stored>> {
        let held = self.held_files()?;
        memories.retain(|stored| !held.contains(&stored.path));
        Ok(memories)
    }

    /// Counts the memories of both stores from their listings.
    pub fn counts(&self, project: &Listing, user: &Listing, now: Timestamp) -> MemoryCounts {
        let is_committed = self.project.root.is_some();
        MemoryCounts::of(&project.memories, is_committed, &user.memories, now)
    }

    /// Counts the memories that exist only in the folders of other working trees of the project, compared with `here`,
    /// the listing of this working tree.
    pub fn elsewhere(&self, here: &Listing) -> usize {
        if self.project.root.is_none() {
            return 0;
        }
        let ids = |listing: &Listing| -> BTreeSet<MemoryId> {
            listing.memories.iter().map(|stored| stored.memory.id).collect()
        };
        let identity = Identity::read(&self.project.home).ok().flatten().into_iter();
        let roots = identity.flat_map(|it| [it.paths, it.worktrees].concat());
        // The path of a recorded working tree may now contain another, untrusted folder.
        let is_tree = |root: &PathBuf| {
            *root != self.tree.root
                && Tree::find(&self.world.dirs, root)
                    .is_some_and(|tree| tree.root == *root && tree.project == self.tree.project)
        };
        let others = roots.filter(is_tree).map(|root| self.project.at(&root));
        let there = others.flat_map(|store| ids(&store.list().unwrap_or_default()));
        there.collect::<BTreeSet<_>>().difference(&ids(here)).count()
    }

    /// Returns the project's store and the user's own.
    pub const fn both(&self) -> [&Store; 2] {
        [&self.project, &self.user]
    }

    /// Returns the tombstones of both stores: the memories that are not learned again.
    pub fn tombstones(&self) -> Result<Vec<Tombstone>> {
        let mut tombstones = self.project.tombstones()?;
        tombstones.extend(self.user.tombstones()?);
        Ok(tombstones)
    }

    /// Lists the archived memories of both stores.
    pub fn archived(&self) -> Result<Listing> {
        Ok(joined(self.project.archived()?, self.user.archived()?))
    }

    /// Lists both stores.
    pub fn list(&self) -> Result<Listing> {
        Ok(joined(self.project.list()?, self.user.list()?))
    }
}

/// A snapshot of both stores.
pub struct StoreSurvey<'a> {
    stores: &'a Stores,
    /// The project's files.
    pub project: Listing,
    /// The user's files.
    pub user: Listing,
    /// The trust state of the project's store.
    trust: Trust,
    user_trust: Trust,
    judged: Judged,
    /// Paths of the project's files that are from the repository, as listed; they are `OsString` because comparing
    /// `Path` values is slower, component by component.
    pulled: HashSet<OsString>,
}

impl StoreSurvey<'_> {
    /// Returns whether a memory is from the repository.
    pub fn is_pulled(&self, stored: &Stored) -> bool {
        self.pulled.contains(stored.path.as_os_str())
    }

    /// Returns the withheld memory files with the reasons, ordered by id. A file is included even if it does not count
    /// because another file has the same id. Files that an index contains as active are not judged a second time.
    pub fn held(&self) -> Result<Vec<HeldFile>> {
        let mut held = Vec::new();
        for (store, listing, trust) in [
            (&self.stores.project, &self.project, &self.trust),
            (&self.stores.user, &self.user, &self.user_trust),
        ] {
            let redactor = LazyCell::new(|| store.redactor(&self.stores.settings));
            let unclear = listing.files().filter(|stored| {
                let is_pulled = self.is_pulled(stored);
                is_pulled && trust.holds_unreleased() || !is_given(stored, &self.judged, is_pulled)
            });
            held.extend(
                unclear.filter_map(|stored| HeldFile::of(stored.clone(), trust, &redactor)),
            );
        }
        held.sort_by(|HeldFile { stored: a, .. }, HeldFile { stored: b, .. }| {
            (a.memory.id, &a.path).cmp(&(b.memory.id, &b.path))
        });
        Ok(held)
    }

    /// Returns the memories from the repository, ordered by id, except those that resemble an instruction.
    pub fn unreleased(&self) -> Result<Vec<Stored>> {
        let mut files: Vec<Stored> = self.of_others().cloned().collect();
        files.sort_by(|a, b| (a.memory.id, &a.path).cmp(&(b.memory.id, &b.path)));
        Ok(files)
    }

    /// Counts the unreleased memories.
    pub fn unreleased_count(&self) -> usize {
        self.of_others().count()
    }

    fn of_others(&self) -> impl Iterator<Item = &Stored> {
        let (store, trust) = (&self.stores.project, &self.trust);
        let redactor = LazyCell::new(|| store.redactor(&self.stores.settings));
        let is_order = move |stored: &Stored| {
            !is_given(stored, &self.judged, true)
                && trust
                    .held_as(&stored.memory, &redactor, true)
                    .is_some_and(|held| held.order.is_some())
        };
        let pulled = self.project.files().filter(|stored| self.is_pulled(stored));
        pulled.filter(move |stored| !is_order(stored))
    }

    /// Returns the memories of both stores.
    pub fn listing(self) -> Listing {
        joined(self.project, self.user)
    }
}

fn joined(mut all: Listing, other: Listing) -> Listing {
    all.memories.extend(other.memories);
    all.broken.extend(other.broken);
    all.repeats.extend(other.repeats);
    all
}

/// Returns the error of an invalid file whose name ends with this id.
fn broken(listing: Listing, id: &str) -> Option<Error> {
    let id = id.trim().to_ascii_lowercase();
    let end = id.get(id.len().saturating_sub(SHORT_ID_CHARS)..)?;
    if end.len() < SHORT_ID_CHARS_MIN {
        return None;
    }
    let is_its = |error: &Error| {
        let (Error::Memory { path, .. } | Error::Io { path, .. } | Error::Refused { path, .. }) =
            error
        else {
            return false;
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_ascii_lowercase());
        stem.is_some_and(|stem| stem.ends_with(end))
    };
    listing.broken.into_iter().find(is_its)
}
