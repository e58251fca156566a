//! The step of a sync that does the work that publishing postponed: merging segments, and computing better vectors.

use std::time::{Duration, Instant};

use anyhow::Result;
use memory_store::embed::{Space, Table};
use memory_store::index::build::{self, Graphs, Vectors as _};
use memory_store::settings::IndexSearch;
use memory_store::store::Store;

use super::context::SyncContext;
use super::custom_embedder::embed_second;
use super::heal::Distrusted;
use super::models::Models;
use super::publish::publish_memories;
use super::stage::StagedTrees;
use crate::lock::Busy;
use crate::publish::embed::{EmbeddedTexts, Embedding, waiting};
use crate::publish::hnsw::HnswGraphs;
use crate::state::State;

/// Time limit for embedding in a sync for which a person waits. The next sync embeds the rest.
const AWAITED_MAX: Duration = Duration::from_secs(20);
/// Time limit for embedding in a background sync. It is short because new turns are not processed during this time.
const BACKGROUND_MAX: Duration = Duration::from_secs(60);
/// Minimum number of turns for embedding while there is other work. Loading the transformer takes longer than embedding
/// a few turns, and an active session adds a turn in each sync.
const TURNS_FEW: usize = 16;
/// Maximum number of turns that are examined in one index. More turns cannot be embedded within the time limit.
const TURNS_MAX: usize = 10_000;

/// Returns the time limit for embedding.
pub(super) fn time_to_embed(busy: Busy) -> Duration {
    match busy {
        Busy::Leave => BACKGROUND_MAX,
        Busy::Wait(_) => AWAITED_MAX,
    }
}

/// Returns the builder of graphs over passages. Returns `None` if the settings do not enable graphs, or if a person
/// waits, because the largest segment takes a minute.
fn graphs(context: &SyncContext<'_>) -> Option<&'static dyn Graphs> {
    let options = context.options;
    let is_wanted = context.settings.index.search == IndexSearch::Graph;
    let is_background = matches!(options.busy, Busy::Leave) && !options.leaves_rest;
    (is_wanted && is_background).then_some(&HnswGraphs)
}

/// Outcome of settling.
#[derive(Debug, Default)]
pub(super) struct SettleOutcome {
    /// Whether there was anything to do.
    pub any: bool,
    /// Number of texts that the transformer embedded; `None` if it did not run.
    pub embedded: Option<usize>,
    /// Whether the transformer has more texts to embed; `None` if this was not checked.
    pub embedding_waits: Option<bool>,
    /// Number of texts that the model of the second space embedded; `None` if it was not used.
    pub second_embedded: Option<usize>,
    /// Whether the model of the second space has more texts to embed.
    pub second_waits: bool,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Settles the indexes. `has_read` is whether this run read new records. If there is an error, `settled` contains the
/// results until then.
pub(super) fn settle(
    context: &SyncContext<'_>,
    state: &State,
    has_read: bool,
    models: &mut Models,
    distrusted: &mut Distrusted,
    settled: &mut SettleOutcome,
) -> Result<()> {
    let options = context.options;
    let embedded = if options.leaves_rest {
        false
    } else {
        let made = embed(context, has_read, models, settled)?;
        if made {
            publish_memories(context, state, models, StagedTrees::default(), distrusted)?;
        }
        made
    };
    settled.any = embedded;
    let graphs = graphs(context);
    for folder in context.indexes() {
        if embedded || build::is_unsettled(&folder, graphs)? {
            models.open_embedding(context, &mut settled.warnings);
            while build::settle(&folder, models.vectors(), graphs, options.now)? {
                settled.any = true;
            }
        }
    }
    drop_turns(context, models, &mut settled.warnings)?;
    if options.leaves_rest {
        settled.second_waits = context.settings.embedder.is_some();
    } else {
        let second = embed_second(context)?;
        settled.any |= second.changed;
        settled.second_embedded = Some(second.embedded);
        settled.second_waits = second.waits;
        settled.warnings.extend(second.warning);
    }
    if (embedded || options.leaves_rest)
        && let Some(table) = Table::installed(options.dirs)
    {
        settled.embedding_waits = Some(anything_waits(context, table.space())?);
    }
    Ok(())
}

/// Removes the cache of turns if the indexes contain the vectors of all turns.
fn drop_turns(
    context: &SyncContext<'_>,
    models: &mut Models,
    warnings: &mut Vec<String>,
) -> Result<()> {
    if !Embedding::has_turns_cache(&context.home) {
        return Ok(());
    }
    models.open_embedding(context, warnings);
    if let Some(embedding) = models.embedding()
        && !anything_waits(context, embedding.space())?
    {
        embedding.drop_turns()?;
    }
    Ok(())
}

/// Embeds texts with the transformer if they only have vectors of the table. Returns whether there are new vectors to
/// publish.
fn embed(
    context: &SyncContext<'_>,
    has_read: bool,
    models: &mut Models,
    settled: &mut SettleOutcome,
) -> Result<bool> {
    let options = context.options;
    let Some(space) = Table::installed(options.dirs).map(|table| table.space()) else {
        return Ok(false);
    };
    if !anything_waits(context, space)? {
        return Ok(false);
    }
    options.progress.stage("embedding", 0);
    models.open_embedding(context, &mut settled.warnings);
    let Some(embedding) = models.embedding() else { return Ok(false) };
    let most = time_to_embed(options.busy);
    let learned = embedding.find_transformer().and_then(|()| {
        embedding.open_turns()?;
        let texts = texts(context, space, embedding)?;
        if has_read && may_wait(options.busy, &texts, embedding) {
            return Ok(None);
        }
        embedding.learn(&texts, Instant::now() + most, options.progress).map(Some)
    });
    match learned {
        Ok(embedded) => settled.embedded = embedded,
        // The published index can still be used with the vectors of the table.
        Err(error) => settled.warnings.push(format!("texts were not embedded: {error:#}")),
    }
    Ok(settled.embedded.is_some())
}

/// Returns whether embedding can wait: there are only a few turns and no memories to embed.
fn may_wait(busy: Busy, texts: &EmbeddedTexts, embedding: &Embedding) -> bool {
    let is_background = matches!(busy, Busy::Leave);
    let is_few = texts.turns.len() < TURNS_FEW;
    let has_all = || texts.memories.iter().all(|text| embedding.has_memory(text));
    is_background && is_few && has_all()
}

fn anything_waits(context: &SyncContext<'_>, space: Space) -> Result<bool> {
    for folder in context.indexes() {
        if waiting::is_waiting(&folder, space)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the texts of all memories, and of turns without a vector by the transformer.
fn texts(context: &SyncContext<'_>, space: Space, embedding: &Embedding) -> Result<EmbeddedTexts> {
    let dirs = context.dirs();
    let mut texts = EmbeddedTexts::default();
    for tree in &context.trees {
        add_memories(context, &Store::open(dirs, tree)?, &mut texts);
    }
    add_memories(context, &Store::user(dirs)?, &mut texts);
    for folder in context.indexes() {
        let made = |text: &str| embedding.has_turn(text);
        texts.turns.extend(waiting::turns(&folder, space, TURNS_MAX, &made)?);
    }
    Ok(texts)
}

/// Adds the texts of a store's memories. If several files have the same id, all are added.
fn add_memories(context: &SyncContext<'_>, store: &Store, texts: &mut EmbeddedTexts) {
    // The texts do not depend on the location of the files, so any root can be used here.
    let root = &context.options.tree.root;
    let files = store.files();
    texts
        .memories
        .extend(files.iter().map(|stored| build::document(stored, root).record.embedding_text()));
}
