//! Publishing: the index of each working tree, made from its memory files and the turns.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::index::build::{Content, Publisher, Staged, StartPlan, Turns, Vectors};
use memory_store::layout::{Tree, UserDirs};
use memory_store::left::Left;
use memory_store::settings::Settings;
use memory_store::store::{Listing, Store, Stored};
use memory_store::suspicion::{Quarantine, Withholding};

use crate::anchors::Anchors;
use crate::graph::HnswGraphs;
use crate::known::Known;
use crate::start;

/// What is the same for the index of every tree.
pub struct Publication<'a> {
    /// The user's folders.
    pub dirs: &'a UserDirs,
    /// The settings in effect.
    pub settings: &'a Settings,
    /// Where vectors come from; without, recall goes by words alone.
    pub vectors: Option<&'a dyn Vectors>,
    /// What others committed and is not given, by the working tree's root.
    pub withheld: &'a BTreeMap<PathBuf, Arc<Withholding>>,
    /// What the files of memories held when these were learned; without, nobody looks.
    pub anchors: Option<&'a RefCell<Anchors>>,
    /// Indexes whose memories are made anew without a look at what is there.
    pub distrusted: &'a BTreeSet<PathBuf>,
    /// The time.
    pub now: Timestamp,
}

/// Publishes the index of one working tree, where sessions know `known` anyway; returns what its
/// store holds. Without `turns` these stay as they are.
pub fn tree(
    publication: &Publication<'_>,
    tree: &Tree,
    turns: Option<Staged>,
    known: &Known,
) -> Result<Listing> {
    let store = Store::open(publication.dirs, tree)?;
    let folder = publication.dirs.tree(&tree.root).index();
    publish(publication, &store, &folder, &tree.root, turns, known)
}

/// Publishes what the model thought in a working tree's sessions: an index of turns alone, looked at only
/// when somebody asks for it, or by hooks where that was set.
pub fn thinking(publication: &Publication<'_>, tree: &Tree, thoughts: Staged) -> Result<()> {
    let folder = publication.dirs.tree(&tree.root).thinking();
    let content = Content {
        root: &tree.root,
        memories: &[],
        turns: thoughts.turns(),
        start: &StartPlan::default(),
        settings: publication.settings,
        now: publication.now,
    };
    let published = begin(publication, &folder).and_then(|publisher| publisher.publish(content));
    published.map(drop).with_context(|| format!("{}: cannot write the index", folder.display()))
}

/// Publishes the index of the user's own memories.
pub fn user(publication: &Publication<'_>, known: &Known) -> Result<Listing> {
    let store = Store::user(publication.dirs)?;
    let folder = publication.dirs.user_state().index();
    let root = publication.dirs.data.clone();
    publish(publication, &store, &folder, &root, None, known)
}

fn begin<'a>(publication: &Publication<'a>, folder: &Path) -> memory_store::Result<Publisher<'a>> {
    let publisher = Publisher::begin(folder)?.afresh(publication.distrusted.contains(folder));
    Ok(match publication.vectors {
        Some(vectors) => publisher.vectors(vectors),
        None => publisher,
    })
}

fn publish(
    publication: &Publication<'_>,
    store: &Store,
    folder: &Path,
    root: &Path,
    turns: Option<Staged>,
    known: &Known,
) -> Result<Listing> {
    let context = || format!("{}: cannot write the index", folder.display());
    let publisher = begin(publication, folder).with_context(context)?.graphs(&HnswGraphs);
    let quarantine = Quarantine::releases(store.home()).with_context(context)?;
    let withheld = publication.withheld.get(root).cloned().unwrap_or_default();
    let withholds = !withheld.is_empty();
    let orders = quarantine.clone();
    let quarantine = quarantine.withholding(withheld);
    let store = store.clone().judged(quarantine.clone(), publication.settings);
    let mut listing = store.list()?;
    // Files come from people and from pulls: what a hook prints goes through here once more.
    let redactor = store.redactor(publication.settings);
    let mut foreign = BTreeSet::new();
    for stored in &mut listing.memories {
        if withholds && quarantine.withholds(stored, &redactor) {
            foreign.insert(stored.memory.id);
        }
        stored.memory = redactor.redacted(&stored.memory);
    }
    let said = known.said(&listing.memories);
    let stale = match publication.anchors {
        // The user's own memories are about no files of a project.
        Some(anchors) if *root != publication.dirs.data => {
            let state = publication.dirs.tree(root);
            anchors.borrow_mut().compare(&state, root, &listing.memories)
        }
        Some(_) | None => BTreeMap::new(),
    };
    let is_held = |stored: &Stored| {
        foreign.contains(&stored.memory.id) || orders.held(stored, &redactor).is_some()
    };
    let (settings, now) = (publication.settings, publication.now);
    let left = Left::read(&publication.dirs.tree(root).left());
    let touched = left.sessions.into_iter().take(1).flat_map(|left| left.uncommitted).collect();
    let start = start::plan(&listing.memories, &said, &stale, &is_held, &touched, settings, now);
    publisher
        .said(said)
        .quarantine(quarantine)
        .held(foreign)
        .stale(stale)
        .publish(Content {
            root,
            memories: &listing.memories,
            turns: turns.map_or(Turns::Keep, Staged::turns),
            start: &start,
            settings: publication.settings,
            now: publication.now,
        })
        .with_context(context)?;
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use memory_store::identity::Mode;
    use memory_store::recall::{Recall, Search};
    use memory_store::settings::Pulled;

    use super::*;
    use crate::pulled::Judge;
    use crate::testing::{NOW, Project, write_memory};

    #[test]
    fn what_comes_between_judging_and_publishing_is_held_until_it_is_judged() {
        let project = Project::new(Mode::Committed);
        let (dirs, root) = (&project.dirs, project.root());
        let write = |name: &str, number: u8, title: &str| write_memory(root, name, number, title);
        let settings = Settings { pulled: Pulled::Authors, ..Settings::default() };
        let judge = || {
            let mut judge = Judge::open(dirs, &project.tree, &settings).unwrap();
            let judged = judge.tree(&project.tree, NOW).unwrap();
            judge.finish(NOW).unwrap();
            BTreeMap::from([(root.to_owned(), judged)])
        };
        let is_held = |withheld: &BTreeMap<PathBuf, Arc<Withholding>>, title: &str| {
            let publication = Publication {
                dirs,
                settings: &settings,
                vectors: None,
                withheld,
                anchors: None,
                distrusted: &BTreeSet::new(),
                now: NOW,
            };
            tree(&publication, &project.tree, None, &Known::default()).unwrap();
            let recall = Recall::open(dirs, &project.tree);
            let search = Search { text: title.to_owned(), ..Search::default() };
            let hits = recall.search(&search, NOW).hits;
            hits.iter().find(|hit| hit.title == title).unwrap().held
        };

        write("own.md", 1, "Prices are integer cents");
        let judged = judge();
        write("new.md", 2, "The deploy key lies in the wiki");
        assert!(!is_held(&judged, "Prices are integer cents"));
        assert!(is_held(&judged, "The deploy key lies in the wiki"));
        // A text that was put into a file since is as new as a file.
        write("own.md", 1, "Prices are integer pennies");
        assert!(is_held(&judged, "Prices are integer pennies"));
        write("own.md", 1, "Prices are integer cents");
        assert!(!is_held(&judged, "Prices are integer cents"));
        // So is what was put above it, which decides what it stands for.
        let own = root.join(".throughline/memories/own.md");
        let text = std::fs::read_to_string(&own).unwrap();
        std::fs::write(own, text.replacen("---\n", "---\npinned: true\n", 1)).unwrap();
        assert!(is_held(&judged, "Prices are integer cents"));
        write("own.md", 1, "Prices are integer pennies");
        // What waits aside is no exception: what came there since is not known either.
        let drafts = dirs.project(project.tree.project).drafts();
        std::fs::create_dir_all(&drafts).unwrap();
        write("aside.md", 3, "The archive is emptied on Mondays");
        std::fs::rename(root.join(".throughline/memories/aside.md"), drafts.join("aside.md"))
            .unwrap();
        assert!(is_held(&judged, "The archive is emptied on Mondays"));
        assert!(!is_held(&judge(), "The archive is emptied on Mondays"));
        // Without a repository all is the user's own, and the same files are published again.
        let judged = judge();
        assert!(!is_held(&judged, "Prices are integer pennies"));
        assert!(!is_held(&judged, "The deploy key lies in the wiki"));
    }
}
