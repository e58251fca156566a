//! The step of a sync that publishes memories, and turns that are missing in the indexes.

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::Result;
use memory_store::store::Listing;

use super::context::SyncContext;
use super::heal::{Distrusted, distrust_indexes, is_damage};
use super::models::Models;
use super::stage::{PASSAGES_AT_ONCE, StagedTree, StagedTrees, Staging, StagingOutcome};
use crate::anchors::Anchors;
use crate::collect::forks::Ownership;
use crate::publish::claude_md::GivenTexts;
use crate::publish::{self, Publication};
use crate::state::State;

/// Outcome of publishing.
#[derive(Debug, Default)]
pub(super) struct PublishOutcome {
    /// Memories of each working tree, if memories were published.
    pub listings: Vec<Listing>,
    /// Sessions whose turns are missing in the indexes because they cannot be read now.
    pub unread: BTreeSet<String>,
    /// Number of indexes in which staging found damage. For these, all turns were read from the archive.
    pub healed: usize,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Publishes the memories, together with the turns that are missing in the indexes.
pub(super) fn publish(
    context: &SyncContext<'_>,
    state: &mut State,
    ownership: &Ownership,
    models: &mut Models,
    distrusted: &mut Distrusted,
) -> Result<PublishOutcome> {
    let (mut published, staged) = stage(context, state, ownership, models, distrusted)?;
    published.listings = publish_memories(context, state, models, staged, distrusted)?;
    Ok(published)
}

/// Publishes only the turns that are missing in the indexes.
pub(super) fn publish_passages(
    context: &SyncContext<'_>,
    state: &mut State,
    ownership: &Ownership,
    models: &mut Models,
    distrusted: &mut Distrusted,
) -> Result<PublishOutcome> {
    let (published, mut staged) = stage(context, state, ownership, models, distrusted)?;
    context.options.progress.stage("publishing", 0);
    for tree in &context.trees {
        let StagedTree { passages, thoughts } = staged.take(&tree.root);
        for staged in passages.into_iter().chain(thoughts) {
            staged.publish(context.options.now)?;
        }
    }
    Ok(published)
}

/// Publishes the memories and the staged passages.
pub(super) fn publish_memories(
    context: &SyncContext<'_>,
    state: &State,
    models: &Models,
    mut staged: StagedTrees,
    distrusted: &mut Distrusted,
) -> Result<Vec<Listing>> {
    let options = context.options;
    options.progress.stage("publishing", 0);
    let mut listings = Vec::new();
    let anchors = Anchors::open(&context.home, &context.settings, state, options.now).ok();
    let anchors = anchors.map(RefCell::new);
    let publication = Publication {
        dirs: options.dirs,
        settings: &context.settings,
        vectors: models.vectors(),
        anchors: anchors.as_ref(),
        distrusted,
        names: &context.names(state),
        now: options.now,
    };
    for tree in &context.trees {
        let known = GivenTexts::of_tree(options.dirs, tree);
        let StagedTree { passages, thoughts } = staged.take(&tree.root);
        listings.push(publish::tree(&publication, tree, passages, &known)?);
        if let Some(thoughts) = thoughts {
            publish::thinking(&publication, tree, thoughts)?;
        }
    }
    publish::user(&publication, &GivenTexts::of_user(options.dirs))?;
    if let Some(anchors) = anchors {
        anchors.into_inner().finish()?;
    }
    distrusted.clear();
    Ok(listings)
}

/// Stages the turns that are missing in the indexes. If staging finds damage, all turns are staged from the archive,
/// because the check of headers does not detect all damage.
fn stage(
    context: &SyncContext<'_>,
    state: &mut State,
    ownership: &Ownership,
    models: &mut Models,
    distrusted: &mut Distrusted,
) -> Result<(PublishOutcome, StagedTrees)> {
    let mut published = PublishOutcome::default();
    models.open_embedding(context, &mut published.warnings);
    take_published(context, state, models);
    let vectors = models.vectors();
    let mut outcome = Staging { context, state, ownership, vectors }.stage(PASSAGES_AT_ONCE);
    if outcome.as_ref().is_err_and(is_damage) && !state.all_turns {
        published.healed += 1;
        distrust_indexes(context, state, distrusted);
        take_published(context, state, models);
        let vectors = models.vectors();
        outcome = Staging { context, state, ownership, vectors }.stage(PASSAGES_AT_ONCE);
    }
    if let Some(embedding) = models.embedding() {
        embedding.drop_published();
    }
    let StagingOutcome { staged, unread, warnings } = outcome?;
    published.unread = unread;
    published.warnings.extend(warnings);
    Ok((published, staged))
}

/// Reads the vectors of turns from the indexes if all turns are published again.
fn take_published(context: &SyncContext<'_>, state: &State, models: &mut Models) {
    if state.all_turns
        && let Some(embedding) = models.embedding()
    {
        embedding.take_published(&context.indexes());
    }
}
