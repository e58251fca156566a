//! Gives memories and turns their vectors.
//!
//! What is new is published at once with the vectors of the table, which cost microseconds. Then
//! the transformer works through what it has not seen, for a bounded time, memories first and then
//! the latest turns; what it made is kept in caches, and published in place of the table's. A run
//! that is killed loses the texts of one portion.

mod cache;
pub(crate) mod records;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use memory_store::embed::{Encoder, Space, Table, Transformer, Vector, model};
use memory_store::index::build::Vectors;
use memory_store::layout::{ProjectDir, UserDirs};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::progress::Progress;
use cache::Cache;

/// Texts that are embedded between two looks at the clock.
const PORTION: usize = 32;
/// Threads that embed: it is background work, and the user's programs run beside it.
const THREADS_MAX: usize = 2;

/// What the texts of a project are embedded with.
#[derive(Debug)]
pub struct Embedding {
    models: PathBuf,
    table: Table,
    caches: PathBuf,
    memories: Cache,
    /// Opened when turns are embedded: it may be large.
    turns: Option<Cache>,
}

/// Texts to embed.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// Those of memories.
    pub memories: Vec<String>,
    /// Those of turns.
    pub turns: Vec<String>,
}

impl Embedding {
    /// Opens the model that came with the programs; `None` when none did. To embed `many` texts, the table
    /// is read as a whole, which takes as long as to look up some thousands of words.
    pub fn open(dirs: &UserDirs, home: &ProjectDir, many: bool) -> Result<Option<Self>> {
        let installed = dirs.models.as_ref().filter(|dir| dir.join(model::FILE_NAME).exists());
        let Some(models) = installed else { return Ok(None) };
        let table = if many { Table::load(models)? } else { Table::open(models)? };
        let memories = Cache::open(&home.vectors().join("memories.cache"), table.space())?;
        let (models, caches) = (models.clone(), home.vectors());
        Ok(Some(Self { models, table, caches, memories, turns: None }))
    }

    /// Opens what is known of turns, which may be much.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open_turns(&mut self) -> Result<()> {
        if self.turns.is_none() {
            let path = self.caches.join("turns.cache");
            self.turns = Some(Cache::open(&path, self.table.space())?);
        }
        Ok(())
    }

    /// Whether the transformer has embedded the text of a turn, as far as what is known was opened.
    pub fn has_turn(&self, text: &str) -> bool {
        self.turns.as_ref().is_some_and(|turns| turns.has(text))
    }

    /// Lets the transformer embed the texts that it has not seen, memories first, until the time
    /// is over. Says how many it embedded.
    ///
    /// # Errors
    /// When the transformer cannot be read, or a cache not written.
    pub fn learn(
        &mut self,
        texts: &Texts,
        until: Instant,
        progress: &dyn Progress,
    ) -> Result<usize> {
        self.open_turns()?;
        let Some(turns) = &mut self.turns else { return Ok(0) };
        let unseen = |cache: &Cache, texts: &[String]| -> Vec<String> {
            let mut unseen: Vec<String> =
                texts.iter().filter(|text| !cache.has(text)).cloned().collect();
            let mut known = std::collections::HashSet::new();
            unseen.retain(|text| known.insert(text.clone()));
            unseen
        };
        let of_memories = unseen(&self.memories, &texts.memories);
        let of_turns = unseen(turns, &texts.turns);
        let steps = of_memories.len() + of_turns.len();
        if steps == 0 {
            return Ok(0);
        }
        progress.stage("embedding", steps);
        let transformer = Transformer::open(&self.models)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.min(THREADS_MAX))
            .build()
            .context("threads to embed with")?;
        let mut done = 0;
        for (cache, texts) in [(&mut self.memories, of_memories), (turns, of_turns)] {
            for portion in texts.chunks(PORTION) {
                if Instant::now() >= until {
                    return Ok(done);
                }
                let made = pool.install(|| embed(&transformer, portion, progress))?;
                cache.add(&made)?;
                done += made.len();
            }
        }
        Ok(done)
    }
}

/// The vectors of some texts, those without any words left out.
fn embed<'a>(
    transformer: &Transformer,
    texts: &'a [String],
    progress: &dyn Progress,
) -> Result<Vec<(&'a str, Vector)>> {
    let made = texts.par_iter().map(|text| {
        let vector = transformer.embed(text)?;
        progress.step();
        Ok(vector.map(|vector| (text.as_str(), vector)))
    });
    made.filter_map(Result::transpose).collect()
}

impl Vectors for Embedding {
    fn space(&self) -> Space {
        self.table.space()
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.best(text).or_else(|| self.table.of(text))
    }

    fn asked(&self, text: &str) -> Option<Vector> {
        self.table.of(text).map(|(_, vector)| vector)
    }

    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        let vector = self.memories.get(text).or_else(|| self.turns.as_ref()?.get(text))?;
        Some((Encoder::Transformer, vector))
    }
}
