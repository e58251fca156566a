//! Whether there is anything to do: what a sync depends on, in one short text.

use memory_store::identity;
use memory_store::layout::Tree;
use memory_store::store::Store;
use memory_store::trust::Trust;

use super::Run;
use crate::file_listing_stamp;
use crate::git;
use crate::publish::claude_md::Known;

impl Run<'_> {
    /// Returns the fingerprint of everything that the published result depends on, and of the result as far
    /// as a look at the folders shows it. While it stays, there is nothing to do.
    pub(super) fn fingerprint(&self) -> String {
        let around = self.fingerprint_around(&self.fingerprint_of_trees());
        // As good as none: the next run looks again.
        if around.is_empty() { around } else { around + &self.fingerprint_of_sessions() }
    }

    /// The part of it that tells of the sessions.
    pub(super) fn fingerprint_of_sessions(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let sessions = self.state.sessions.iter();
        let sessions = sessions.flat_map(|(name, session)| [name, &session.content]);
        for part in sessions.chain(&self.expired.names()) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The part that tells of everything else, with which it begins; empty when nobody knows.
    pub(super) fn fingerprint_around(&self, trees: &str) -> String {
        // Somebody changed memories or git moved them since they were looked at.
        let has_moved = self.written_to.as_ref().is_some_and(|written_to| written_to != trees);
        if self.names_wait || has_moved {
            return String::new();
        }
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(crate::extract::EXTRACTOR);
        add(env!("CARGO_PKG_VERSION"));
        add(&memory_store::text::VERSION.to_string());
        add(&serde_json::to_string(&self.settings).unwrap_or_default());
        add(&format!("{:?}", self.settings.config));
        // Where memories lie may change without any of them changing.
        let mode = identity::mode(self.options.dirs, self.options.tree.project);
        add(&format!("{:?}", mode.ok()));
        add(trees);
        for tree in &self.trees {
            let state = self.options.dirs.tree(&tree.root);
            add(if self.thinks(tree) { "thinking" } else { "" });
            for index in [state.index(), state.thinking()] {
                add(&file_listing_stamp::of_file(&index.join("MANIFEST")));
            }
            Known::of_tree(self.options.dirs, tree).texts().for_each(&mut add);
        }
        // A file that was put aside is not a memory, but a killed `forget` leaves something there that is to
        // be swept.
        for folder in [
            self.home.private_memories(),
            self.home.drafts(),
            self.home.archived_memories(),
            self.options.dirs.user_memories(),
        ] {
            add(&file_listing_stamp::of_folder(&folder));
        }
        add(&file_listing_stamp::of_file(&self.home.ledger()));
        let dirs = self.options.dirs;
        for store in [Store::open(dirs, self.options.tree), Store::user(dirs)] {
            // Of releases that cannot be read, publishing says so.
            let trust = store.and_then(|store| Trust::of(&store, &self.settings)).ok();
            let holds = trust.as_ref().is_some_and(Trust::holds_unreleased);
            hasher.update(&[u8::from(holds)]);
            hasher.update(&trust.map(|trust| trust.fingerprint()).unwrap_or_default());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Returns the fingerprint of the working trees, as far as a look at the folders and git show them.
    pub(super) fn fingerprint_of_trees(&self) -> String {
        let of_tree = |tree: &Tree| {
            let folder = file_listing_stamp::of_folder(&tree.store().join("memories"));
            format!("{}\n{}\n{folder}", tree.root.display(), git::position(&tree.root))
        };
        self.trees.iter().map(of_tree).collect::<Vec<_>>().join("\n")
    }
}
