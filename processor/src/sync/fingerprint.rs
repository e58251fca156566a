//! Whether there is anything to do: what a sync depends on, in one short text.

use memory_store::identity;
use memory_store::layout::Tree;
use memory_store::store::Store;
use memory_store::trust::Trust;

use super::context::SyncContext;
use crate::file_listing_stamp;
use crate::git;
use crate::publish::claude_md::GivenTexts;
use crate::state::State;

/// State of everything around the sessions when memories were written, or when nothing was to be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    /// Fingerprint of the working trees; empty when git was at work, `None` before anything was looked at. The next run
    /// looks again for changes that git brings later.
    pub trees: Option<String>,
    /// True if memories wait because names could not be looked for in them.
    pub names_wait: bool,
    /// True if all is as the last run left it.
    pub stays: bool,
}

/// Compares everything with what the last run left; says whether the sessions are the same, too.
pub(super) fn compare(context: &SyncContext<'_>, state: &State) -> (Around, bool) {
    let trees = of_trees(context);
    let around = around(context, &trees);
    let published = state.published.strip_prefix(&around).filter(|_| !around.is_empty());
    let is_same = published.is_some_and(|published| published == of_sessions(context, state));
    let stays = published.is_some();
    (Around { trees: Some(trees), names_wait: false, stays }, is_same)
}

/// Returns the fingerprint of everything that the published result depends on, and of the result as far
/// as a look at the folders shows it. While it stays, there is nothing to do.
pub(super) fn fingerprint(context: &SyncContext<'_>, state: &State, seen: &Around) -> String {
    let trees = of_trees(context);
    // Somebody changed memories or git moved them since they were looked at.
    let has_moved = seen.trees.as_ref().is_some_and(|seen| *seen != trees);
    if seen.names_wait || has_moved {
        // As good as none: the next run looks again.
        return String::new();
    }
    around(context, &trees) + &of_sessions(context, state)
}

/// Returns the part of the fingerprint that tells of the sessions.
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

/// Returns the part that tells of everything else, with which it begins.
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
    // Where memories lie may change without any of them changing.
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
    // A file that was put aside is not a memory, but a killed `forget` leaves something there that is to
    // be swept.
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
    // A person may have decided about a value that memories contain.
    add(&file_listing_stamp::of_file(&context.home.known_secrets));
    let dirs = context.dirs();
    for store in [Store::open(dirs, context.options.tree), Store::user(dirs)] {
        // Of releases that cannot be read, publishing says so.
        let trust = store.and_then(|store| Trust::of(&store, &context.settings)).ok();
        hasher.update(&trust.map(|trust| trust.fingerprint()).unwrap_or_default());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the fingerprint of the working trees, as far as a look at the folders and git show them.
pub(super) fn of_trees(context: &SyncContext<'_>) -> String {
    let of_tree = |tree: &Tree| {
        let folder = file_listing_stamp::of_folder(&tree.store().join("memories"));
        format!("{}\n{}\n{folder}", tree.root.display(), git::position(&tree.root))
    };
    context.trees.iter().map(of_tree).collect::<Vec<_>>().join("\n")
}
