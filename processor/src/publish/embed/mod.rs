//! Computes the vectors of memories and turns.
//!
//! New texts are published immediately with vectors of the table, which take microseconds. Then the transformer embeds
//! new texts for a limited time: memories first, then the latest turns. Its vectors are stored in caches, and replace
//! those of the table in the index. A run that is killed loses the vectors of at most one portion. When the indexes
//! contain the transformer's vectors of all turns, the cache of turns is removed. If all turns are published again
//! later, their vectors are read from the existing indexes.

mod cache;
mod published;
pub(crate) mod records;
pub(crate) mod waiting;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use memory_store::custom_embedder::TextHash;
use memory_store::embed::model::{self, EmbedderModel};
use memory_store::embed::{Encoder, Space, Table, Transformer, Vector};
use memory_store::index::build::Vectors;
use memory_store::layout::{ProjectDir, UserDirs};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::private_files::remove_if_there;
use crate::progress::ProgressReport;
use cache::VectorCache;

/// File name of the cache of turns.
const TURNS: &str = "turns.cache";
/// Number of texts that are embedded between two checks of the clock.
const PORTION: usize = 32;
/// Maximum number of embedding threads. It is low because the user's programs run at the same time.
const THREADS_MAX: usize = 2;

/// Number of texts that are looked up in the table's file individually. For more texts, reading the whole table is
/// faster.
const TEXTS_FEW: usize = 64;

/// The models that embed the texts of a project.
#[derive(Debug)]
pub struct Embedding {
    models: PathBuf,
    table: Table,
    /// The table in memory, which is read after many lookups.
    whole: OnceLock<Option<Table>>,
    /// Number of texts that were looked up.
    looked_up: AtomicUsize,
    caches: PathBuf,
    memories: VectorCache,
    /// The cache of turns. It may be large, so it is opened only when turns are embedded.
    turns: Option<VectorCache>,
    /// Vectors of turns from the existing indexes, read if all turns are published again.
    published: HashMap<TextHash, Vector>,
}

/// Texts to embed.
#[derive(Clone, Debug, Default)]
pub struct EmbeddedTexts {
    /// Texts of memories.
    pub memories: Vec<String>,
    /// Texts of turns.
    pub turns: Vec<String>,
}

impl Embedding {
    /// Opens the model installed with the programs; `None` if there is none.
    pub fn open(dirs: &UserDirs, home: &ProjectDir) -> Result<Option<Self>> {
        let installed = dirs.models.as_ref().filter(|dir| dir.join(model::FILE_NAME).exists());
        let Some(models) = installed else { return Ok(None) };
        let table = Table::open(models)?;
        let memories = VectorCache::open(&home.vectors.join("memories.cache"), table.space())?;
        let (models, caches) = (models.clone(), home.vectors.clone());
        let (whole, looked_up) = (OnceLock::new(), AtomicUsize::new(0));
        let published = HashMap::new();
        Ok(Some(Self { models, table, whole, looked_up, caches, memories, turns: None, published }))
    }

    /// Returns the table for looking up one more text.
    fn table(&self) -> &Table {
        if self.looked_up.fetch_add(1, Ordering::Relaxed) < TEXTS_FEW {
            return &self.table;
        }
        let load = || {
            let whole = Table::load(&self.models).ok();
            // Another table may have been installed since.
            whole.filter(|whole| whole.space() == self.table.space())
        };
        self.whole.get_or_init(load).as_ref().unwrap_or(&self.table)
    }

    /// Checks whether the transformer exists, before texts are read for it.
    ///
    /// # Errors
    /// If the transformer does not exist.
    pub fn find_transformer(&self) -> Result<()> {
        let path = self.models.join(EmbedderModel::read(&self.models)?.transformer);
        std::fs::metadata(&path).map(drop).with_context(|| path.display().to_string())
    }

    /// Opens the cache of turns, which may be large.
    ///
    /// # Errors
    /// If the cache cannot be read or written.
    pub fn open_turns(&mut self) -> Result<()> {
        if self.turns.is_none() {
            let path = self.caches.join(TURNS);
            self.turns = Some(VectorCache::open(&path, self.table.space())?);
        }
        Ok(())
    }

    /// Reads the vectors of turns from these indexes, before all turns are published again.
    pub fn take_published(&mut self, folders: &[PathBuf]) {
        for folder in folders {
            // If a vector cannot be read, its text is embedded again.
            let _ = published::each(folder, self.table.space(), &mut |text, vector| {
                self.published.insert(text, vector);
            });
        }
    }

    /// Drops the vectors that were read from the indexes, after they are published.
    pub fn drop_published(&mut self) {
        self.published = HashMap::new();
    }

    /// Returns whether a project has a cache of turns.
    pub fn has_turns_cache(home: &ProjectDir) -> bool {
        home.vectors.join(TURNS).exists()
    }

    /// Removes the cache of turns. The indexes must contain the vectors of all turns.
    pub fn drop_turns(&mut self) -> Result<()> {
        self.turns = None;
        remove_if_there(&self.caches.join(TURNS)).map(drop)
    }

    /// Returns whether the cache has the transformer's vector of a memory's text.
    pub fn has_memory(&self, text: &str) -> bool {
        self.memories.has(text)
    }

    /// Returns whether there is a vector by the transformer of a turn's text, in the open cache of turns.
    pub fn has_turn(&self, text: &str) -> bool {
        self.turns.as_ref().is_some_and(|turns| turns.has(text))
    }

    /// Embeds new texts with the transformer, memories first, until the time limit. Returns the number of embedded
    /// texts.
    ///
    /// # Errors
    /// If the transformer cannot be read, or a cache cannot be written.
    pub fn learn(
        &mut self,
        texts: &EmbeddedTexts,
        until: Instant,
        progress: &dyn ProgressReport,
    ) -> Result<usize> {
        self.open_turns()?;
        let Some(turns) = &mut self.turns else { return Ok(0) };
        let unseen = |cache: &VectorCache, texts: &[String]| -> Vec<String> {
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

/// Returns the vectors of some texts. Texts without any words are omitted.
fn embed<'a>(
    transformer: &Transformer,
    texts: &'a [String],
    progress: &dyn ProgressReport,
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
        self.best(text).or_else(|| self.table().of(text))
    }

    fn asked(&self, text: &str) -> Option<Vector> {
        self.table().of(text).map(|(_, vector)| vector)
    }

    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        let kept = || self.memories.get(text).or_else(|| self.turns.as_ref()?.get(text));
        let published = || self.published.get(&TextHash::of(text)).copied();
        let is_known = !self.published.is_empty();
        let vector = is_known.then(published).flatten().or_else(kept)?;
        Some((Encoder::Transformer, vector))
    }
}
