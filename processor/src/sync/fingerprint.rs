//! Determines by a hash of all inputs of a sync whether the sync has anything to do.

use memory_store::identity;
use memory_store::layout::Tree;
use memory_store::store::Store;
use memory_store::trust::Trust;

use super::context::SyncContext;
use crate::file_listing_stamp;
use crate::git;
use crate::publish::claude_md::GivenTexts;
use crate::state::State;

/// State of all inputs except sessions, before memories were written or when none had to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Fingerprint of the working trees; empty if git was running, `None` before they were examined. It is compared at
    /// the end of the run to detect changes in between.
    pub trees: Option<String>,
    /// Whether memories are pending because the search for names in them was incomplete.
    pub names_wait: bool,
    /// Whether nothing has changed since the last run.
    pub stays: bool,
}

/// Compares all inputs with the state after the last run. Returns the result, and whether the sessions are unchanged as
/// well.
pub(super) fn compare(context: &SyncContext<'_>, state: &State) -> (Around, bool) {
    let trees = of_trees(context);
    let around = around(context, &trees);
    let published = state.published.strip_prefix(&around).filter(|_| !around.is_empty());
    let is_same = published.is_some_and(|published| published == of_sessions(context, state));
    let stays = published.is_some();
    (Around { trees: Some(trees), names_wait: false, stays }, is_same)
}

/// Returns the fingerprint of all inputs of the published result, and of the result as far as a scan of the folders
/// detects changes of it. If the fingerprint is unchanged, a sync has nothing to do.
pub(super) fn fingerprint(context: &SyncContext<'_>, state: &State, seen: &Around) -> String {
    let trees = of_trees(context);
    // A person or git changed memories after they were read.
    let has_moved = seen.trees.as_ref().is_some_and(|seen| *seen != trees);
    if seen.names_wait || has_moved {
        // The empty fingerprint never matches, so the next run compares again.
        return String::new();
    }
    around(context, &trees) + &of_sessions(context, state)
}

/// Returns the part of the fingerprint for the sessions.
fn of_sessions(context: &SyncContext<'_>, state: &State) -> String {
    let mut hasher = blake3::Hasher::new();
    let sessions = state.sessions.iter();
    let sessions = sessions.flat_map(|(name, session)| [name, &session.content]);
    for part in sessions.chain(&context.sessions.expired.names()) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the part of the fingerprint for all inputs except sessions.
fn around(context: &SyncContext<'_>, trees: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    };
    add(crate::extract::EXTRACTOR);
    add(env!("CARGO_PKG_VERSION"));
    add(&memory_store::text::VERSION.to_string());
    add(&serde_json::to_string(&context.settings).unwrap_or_default());
    add(&format!("{:?}", context.settings.config));
    // The folder of memories may change although no memory changes.
    let mode = identity::mode(context.dirs(), context.options.tree.project);
    add(&format!("{:?}", mode.ok()));
    add(trees);
    for tree in &context.trees {
        let state = context.dirs().tree(&tree.root);
        add(if context.thinks(tree) { "thinking" } else { "" });
        for index in [state.index, state.thinking] {
            add(&file_listing_stamp::of_file(&index.join("MANIFEST")));
        }
        GivenTexts::of_tree(context.dirs(), tree).texts().for_each(&mut add);
    }
    // Files kept aside are not memories. These folders are included because a killed `forget` may have left a file that
    // must be removed.
    for folder in [
        &context.home.private_memories,
        &context.home.left_out,
        &context.home.drafts,
        &context.home.archived_memories,
        &context.dirs().user_memories(),
    ] {
        add(&file_listing_stamp::of_folder(folder));
    }
    add(&file_listing_stamp::of_file(&context.home.ledger));
    // A person or a model may have reported about a memory's use.
    add(&file_listing_stamp::of_file(&context.home.reviewed));
    // A person may have decided about a value in memories.
    add(&file_listing_stamp::of_file(&context.home.known_secrets));
    let dirs = context.dirs();
    for store in [Store::open(dirs, context.options.tree), Store::user(dirs)] {
        // Unreadable releases do not matter here, because publishing reports them.
        let trust = store.and_then(|store| Trust::of(&store, &context.settings)).ok();
        hasher.update(&trust.map(|trust| trust.fingerprint()).unwrap_or_default());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the fingerprint of the working trees, from a scan of their folders and from git.
pub(super) fn of_trees(context: &SyncContext<'_>) -> String {
    let of_tree = |tree: &Tree| {
        let folder = file_listing_stamp::of_folder(&tree.store().join("memories"));
        format!("{}\n{}\n{folder}", tree.root.display(), git::position(&tree.root))
    };
    context.trees.iter().map(of_tree).collect::<Vec<_>>().join("\n")
}
