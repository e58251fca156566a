//! The part of a sync that gives what was published better vectors.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use memory_store::embed::{Space, Table};
use memory_store::index::build::{self, Vectors};
use memory_store::index::waiting;
use memory_store::store::Store;

use super::Run;
use super::stage::StagedTrees;
use crate::lock::Busy;
use crate::publish::embed::{Embedding, Texts};

/// How long a sync that somebody waits for embeds. What is left is done by the next one.
const AWAITED_MAX: Duration = Duration::from_secs(20);
/// How long a sync in the background does. New turns wait for it.
const BACKGROUND_MAX: Duration = Duration::from_secs(60);
/// Turns that wait for the transformer until there are so many, or nothing else is to be done: to read it takes longer
/// than to embed some of them, and a session that goes on has a turn each time.
const TURNS_FEW: usize = 16;
/// Turns of one index that are looked at; more are not embedded in that time.
const TURNS_MAX: usize = 10_000;

/// How long a sync embeds that does this when another one is at work.
pub(super) fn time_to_embed(busy: Busy) -> Duration {
    match busy {
        Busy::Leave => BACKGROUND_MAX,
        Busy::Wait(_) => AWAITED_MAX,
    }
}

impl Run<'_> {
    /// Does what was put off so that what is new could be published at once. Says whether there was
    /// anything to do.
    pub(super) fn settle(&mut self) -> Result<bool> {
        let embedded = if self.options.leaves_rest { false } else { self.embed()? };
        let mut any = embedded;
        for folder in self.indexes() {
            if embedded || build::is_unsettled(&folder)? {
                self.open_embedding();
                let vectors = self.embedding.as_ref().and_then(Option::as_ref);
                let vectors = vectors.map(|vectors| vectors as &dyn Vectors);
                while build::settle(&folder, vectors, self.options.now)? {
                    any = true;
                }
            }
        }
        if self.options.leaves_rest {
            self.report.second_waits = self.settings.embedder.is_some();
        } else {
            any |= self.embed_second()?;
        }
        if (embedded || self.options.leaves_rest)
            && let Some(table) = Table::installed(self.options.dirs)
        {
            self.report.embedding_waits = self.anything_waits(table.space())?;
        }
        Ok(any)
    }

    /// Lets the transformer work on what the indexes have of the table only, and publishes what it
    /// made of memories. Says whether there was anything to do.
    fn embed(&mut self) -> Result<bool> {
        let dirs = self.options.dirs;
        let Some(space) = Table::installed(dirs).map(|table| table.space()) else {
            return Ok(false);
        };
        if !self.anything_waits(space)? {
            return Ok(false);
        }
        self.options.progress.stage("embedding", 0);
        self.open_embedding();
        let Some(Some(mut embedding)) = self.embedding.take() else { return Ok(false) };
        let most = time_to_embed(self.options.busy);
        let learned = embedding.find_transformer().and_then(|()| {
            embedding.open_turns()?;
            let texts = self.texts(space, &embedding)?;
            if self.may_wait(&texts, &embedding) {
                return Ok(None);
            }
            embedding.learn(&texts, Instant::now() + most, self.options.progress).map(Some)
        });
        self.embedding = Some(Some(embedding));
        match learned {
            Ok(None) => return Ok(false),
            Ok(Some(embedded)) => self.report.embedded = embedded,
            // The published index serves; the table made its vectors.
            Err(error) => {
                self.report.warnings.push(format!("texts were not embedded: {error:#}"));
                return Ok(false);
            }
        }
        self.publish_with(StagedTrees::default())?;
        Ok(true)
    }

    /// Whether there are few turns to embed, no memories, and other things were done: the table's vectors serve.
    fn may_wait(&self, texts: &Texts, embedding: &Embedding) -> bool {
        let is_background = matches!(self.options.busy, Busy::Leave);
        let is_few = texts.turns.len() < TURNS_FEW;
        let has_all = || texts.memories.iter().all(|text| embedding.has_memory(text));
        is_background && self.report.sessions_read > 0 && is_few && has_all()
    }

    /// Looks for the embedder's files, once.
    pub(super) fn open_embedding(&mut self) {
        if self.embedding.is_none() {
            let opened = Embedding::open(self.options.dirs, &self.home);
            let opened = opened.unwrap_or_else(|error| {
                self.report.warnings.push(format!("recall goes by words alone: {error:#}"));
                None
            });
            self.embedding = Some(opened);
        }
    }

    fn anything_waits(&self, space: Space) -> Result<bool> {
        for folder in self.indexes() {
            if waiting::is_waiting(&folder, space)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The indexes that a sync publishes.
    pub(super) fn indexes(&self) -> Vec<PathBuf> {
        let dirs = self.options.dirs;
        let states = || self.trees.iter().map(|tree| dirs.tree(&tree.root));
        // Thinking comes last: few ask for it.
        let thinking = self.trees.iter().filter(|tree| self.thinks(tree));
        let thoughts = thinking.map(|tree| dirs.tree(&tree.root).thinking());
        let told = states().map(|state| state.index()).chain([dirs.user_state().index()]);
        told.chain(thoughts).collect()
    }

    /// The texts of all memories and of turns that wait.
    fn texts(&self, space: Space, embedding: &Embedding) -> Result<Texts> {
        let dirs = self.options.dirs;
        let mut texts = Texts::default();
        for tree in &self.trees {
            self.add_memories(&Store::open(dirs, tree)?, &mut texts);
        }
        self.add_memories(&Store::user(dirs)?, &mut texts);
        for folder in self.indexes() {
            let made = |text: &str| embedding.has_turn(text);
            texts.turns.extend(waiting::turns(&folder, space, TURNS_MAX, &made)?);
        }
        Ok(texts)
    }

    /// Adds what a store says, whichever of several files with one id counts.
    fn add_memories(&self, store: &Store, texts: &mut Texts) {
        // Where the files lie is no part of the text.
        let root = &self.options.tree.root;
        let files = store.files();
        texts
            .memories
            .extend(files.iter().map(|stored| build::document(stored, root).embedding_text()));
    }
}
