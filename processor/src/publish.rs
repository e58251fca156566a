//! Publishing: the index of each working tree, built from its memory files and the passages of its sessions.

pub mod claude_md;
pub mod custom_embedder;
pub mod embed;
pub mod hnsw;
pub mod start_plan;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::embed::Table;
use memory_store::fs::file_stamp::Stamp;
use memory_store::guards;
use memory_store::handoff::Handoff;
use memory_store::index::Index;
use memory_store::index::build::{Content, Publisher, Staged, Vectors};
use memory_store::layout::{Tree, UserDirs};
use memory_store::neighbour::{Undecided, undecided};
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::settings_file;
use memory_store::staleness::Staleness;
use memory_store::store::{Listing, Store, Stored};
use memory_store::trust::Trust;
use memory_store::{MemoryId, Timestamp};

use crate::anchors::Anchors;
use crate::llm::is_current_reader;
use crate::publish::claude_md::GivenTexts;
use crate::publish::hnsw::HnswGraphs;

/// Inputs of publishing that are shared by the indexes of all trees.
pub struct Publication<'a> {
    /// The user's folders.
    pub dirs: &'a UserDirs,
    /// The settings in effect.
    pub settings: &'a Settings,
    /// Source of vectors; `None` if recall uses only words.
    pub vectors: Option<&'a dyn Vectors>,
    /// Anchors of the memories; `None` if staleness is not checked.
    pub anchors: Option<&'a RefCell<Anchors>>,
    /// Indexes that are damaged. Their memories are published without reading the existing index.
    pub distrusted: &'a BTreeSet<PathBuf>,
    /// Names of the project.
    pub names: &'a BTreeSet<String>,
    /// The current time.
    pub now: Timestamp,
}

/// Publishes the index of one working tree. `known` are texts that its sessions receive in another way. Without
/// `passages`, the existing passages are kept. Returns the memories of the store.
pub fn tree(
    publication: &Publication<'_>,
    tree: &Tree,
    passages: Option<Staged>,
    known: &GivenTexts,
) -> Result<Listing> {
    let store = Store::open(publication.dirs, tree)?;
    let folder = publication.dirs.tree(&tree.root).index;
    publish(publication, &store, &folder, &tree.root, passages, known)
}

/// Publishes the model's thinking in the sessions of a working tree. The index contains only passages. It is used for
/// explicit search, and for hooks only if the settings enable this.
pub fn thinking(publication: &Publication<'_>, tree: &Tree, thoughts: Staged) -> Result<()> {
    let folder = publication.dirs.tree(&tree.root).thinking;
    let content = Content {
        root: &tree.root,
        memories: &[],
        passages: Some(thoughts),
        start: &[],
        settings: publication.settings,
        now: publication.now,
    };
    let published = begin(publication, &folder).and_then(|publisher| publisher.publish(content));
    published.map(drop).with_context(|| format!("{}: cannot write the index", folder.display()))
}

/// Publishes the index of the user's own memories.
pub fn user(publication: &Publication<'_>, known: &GivenTexts) -> Result<Listing> {
    let store = Store::user(publication.dirs)?;
    let folder = publication.dirs.user_state().index;
    let root = publication.dirs.data.clone();
    publish(publication, &store, &folder, &root, None, known)
}

/// Publishes the memories of a working tree, and the user's own memories, if they have no index yet. The index contains
/// words, and vectors of the token table if it is installed. The next sync adds the rest.
///
/// # Errors
/// If files cannot be read, or the index cannot be written.
pub fn missing(dirs: &UserDirs, tree: &Tree, now: Timestamp) -> Result<()> {
    let is_missing = |folder: &Path| !matches!(Index::open(folder), Ok(Some(_)));
    // The stamp is taken before the settings are read, so that later readers detect a change of the file between the
    // two.
    let config = Stamp::of(&dirs.config_file());
    let settings = Settings { config, ..settings_file::load(dirs, Some(tree)).0 };
    let table = Table::installed(dirs);
    let name = tree.main_root.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let publication = Publication {
        dirs,
        settings: &settings,
        vectors: table.as_ref().map(|table| table as &dyn Vectors),
        anchors: None,
        distrusted: &BTreeSet::new(),
        names: &name.into_iter().collect(),
        now,
    };
    if [&tree.root, &tree.main_root].into_iter().all(|root| is_missing(&dirs.tree(root).index)) {
        self::tree(&publication, tree, None, &GivenTexts::of_tree(dirs, tree))?;
    }
    if is_missing(&dirs.user_state().index) {
        user(&publication, &GivenTexts::of_user(dirs))?;
    }
    Ok(())
}

fn begin<'a>(publication: &Publication<'a>, folder: &Path) -> memory_store::Result<Publisher<'a>> {
    let mut publisher = Publisher::begin(folder)?;
    publisher.afresh = publication.distrusted.contains(folder);
    publisher.vectors = publication.vectors;
    Ok(publisher)
}

fn publish(
    publication: &Publication<'_>,
    store: &Store,
    folder: &Path,
    root: &Path,
    passages: Option<Staged>,
    known: &GivenTexts,
) -> Result<Listing> {
    let context = || format!("{}: cannot write the index", folder.display());
    let mut publisher = begin(publication, folder).with_context(context)?;
    publisher.graphs = Some(&HnswGraphs);
    let trust = Trust::of(store, publication.settings).with_context(context)?;
    let store = store.clone().judged(trust.clone(), publication.settings);
    let mut listing = store.list()?;
    // People may have written the files, or git may have pulled them. Therefore everything that a hook prints is
    // redacted here again.
    let redactor = store.redactor(publication.settings);
    let reviewed = Reviewed::read(&store.home);
    let state = match *root == publication.dirs.data {
        true => publication.dirs.user_state(),
        false => publication.dirs.tree(root),
    };
    // In the form that the user accepted, which redaction may change.
    guards::publish(&listing.memories, &trust, &reviewed, &state, publication.now)?;
    let mut pulled = BTreeSet::new();
    for stored in &mut listing.memories {
        if trust.is_from_repository(stored) {
            pulled.insert(stored.memory.id);
        }
        stored.memory = redactor.redacted(&stored.memory);
    }
    let said = known.contained_memories(&listing.memories);
    let (mut stale, uses) = match publication.anchors {
        // The user's own memories do not depend on files of a project.
        Some(anchors) if *root != publication.dirs.data => {
            let (state, mut anchors) = (publication.dirs.tree(root), anchors.borrow_mut());
            let stale = anchors.compare(&state, root, &listing.memories);
            (stale, anchors.uses(&state, &listing.memories))
        }
        Some(_) | None => Default::default(),
    };
    // Another reader may have worded the same content differently. Only for memories of the current reader is it
    // certain that a later session made them invalid.
    let unfound = store.unfound().with_context(context)?;
    for stored in listing.memories.iter().filter(|it| unfound.contains(&it.memory.id)) {
        if is_current_reader(&stored.memory, publication.settings) {
            stale.entry(stored.memory.id).or_insert_with(Staleness::unfound);
        }
    }
    let is_held = |stored: &Stored| {
        let from_repository = pulled.contains(&stored.memory.id);
        trust.held_as(&stored.memory, &redactor, from_repository).is_some()
    };
    let (settings, now) = (publication.settings, publication.now);
    let left = Handoff::read(&publication.dirs.tree(root).handoff);
    let last = left.sessions.into_iter().take(1);
    let touched = last.flat_map(|left| left.uncommitted.into_iter().chain(left.files)).collect();
    let pairs = undecided(listing.memories.iter().map(|it| &it.memory), &reviewed, now);
    // A memory from the repository changes only the rank of others from the repository.
    let may_change =
        |pair: &Undecided| !pulled.contains(&pair.newer) || pulled.contains(&pair.older);
    let displaced: BTreeSet<MemoryId> = pairs
        .iter()
        .filter(|pair| pair.displaces && may_change(pair))
        .map(|pair| pair.older)
        .collect();
    let contradicted: BTreeSet<MemoryId> = pairs
        .iter()
        .filter(|pair| pair.verdict.differs() && may_change(pair))
        .map(|pair| pair.older)
        .collect();
    let renewals: BTreeMap<MemoryId, (f32, Option<Timestamp>)> = listing
        .memories
        .iter()
        .map(|Stored { memory, .. }| {
            let used = uses.get(&memory.id).copied().unwrap_or_default();
            let contradicted = contradicted.contains(&memory.id);
            let known = reviewed.experience(memory.id, used, contradicted);
            (memory.id, (known.confidence(memory), known.renewed()))
        })
        .collect();
    let start = start_plan::plan(
        &listing.memories,
        &start_plan::MemoryStates {
            said: &said,
            stale: &stale,
            pulled: &pulled,
            displaced: &displaced,
            renewals: &renewals,
            is_held: &is_held,
        },
        &touched,
        settings,
        now,
    );
    (publisher.said, publisher.trust) = (said, trust);
    let mut differs: BTreeMap<MemoryId, Vec<MemoryId>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.verdict.differs()) {
        differs.entry(pair.newer).or_default().push(pair.older);
    }
    publisher.differs = Some(differs);
    (publisher.from_repository, publisher.stale) = (pulled, stale);
    publisher.renewals = renewals;
    if *root != publication.dirs.data {
        publisher.names = publication.names.clone();
    }
    let content = Content {
        root,
        memories: &listing.memories,
        passages,
        start: &start,
        settings: publication.settings,
        now: publication.now,
    };
    publisher.publish(content).with_context(context)?;
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use memory_store::identity::Mode;
    use memory_store::recall::{Hit, Recall, Search};
    use memory_store::settings::Pulled;
    use memory_store::trust;

    use super::*;
    use crate::for_tests::{NOW, Project, write_memory};

    #[test]
    fn what_nobody_wrote_or_released_here_is_labelled_and_held_where_the_user_wants_that() {
        let project = Project::new(Mode::Committed);
        let (dirs, root) = (&project.dirs, project.root());
        let publish = |pulled: Pulled| {
            let settings = &Settings { pulled, ..Settings::default() };
            let publication = Publication {
                dirs,
                settings,
                vectors: None,
                anchors: None,
                distrusted: &BTreeSet::new(),
                names: &BTreeSet::new(),
                now: NOW,
            };
            tree(&publication, &project.tree, None, &GivenTexts::default()).unwrap();
            let recall = Recall::open(dirs, &project.tree, None);
            let labels = |hit: &Hit| (hit.title.clone(), hit.from_repository, hit.held);
            let search = Search { text: "deploy key wiki".to_owned(), ..Search::default() };
            let mut found: Vec<_> = recall.search(&search, NOW).hits.iter().map(labels).collect();
            found.sort();
            let started = recall.start(NOW, 1000).hits;
            (found, started.into_iter().map(|hit| hit.title).collect::<Vec<_>>())
        };
        let (key, wiki) = ("The deploy key is in the vault", "The wiki has the key");
        write_memory(root, "one.md", 1, key);
        write_memory(root, "two.md", 2, wiki);
        let store = Store::open(dirs, &project.tree).unwrap();
        let files = store.list().unwrap().memories;
        let one = files.iter().find(|stored| stored.memory.title == key).unwrap();
        trust::release(&store, &[one]).unwrap();
        let told = |pulled: bool, held: bool| {
            vec![(key.to_owned(), false, false), (wiki.to_owned(), pulled, held)]
        };
        assert_eq!(
            publish(Pulled::All),
            (told(true, false), vec![key.to_owned(), wiki.to_owned()])
        );
        assert_eq!(publish(Pulled::Reviewed), (told(true, true), vec![key.to_owned()]));
        // The front matter counts as well, because it can change the effect of a memory.
        let path = root.join(".throughline/memories/one.md");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("---\n", "---\npinned: true\n", 1)).unwrap();
        assert!(publish(Pulled::All).0.iter().all(|(_, pulled, held)| *pulled && !held));
        std::fs::write(&path, text).unwrap();
        assert_eq!(publish(Pulled::All).0, told(true, false));
    }
}
