//! The static part of the embedder, which sums one vector for each token.

use std::ops::ControlFlow;
use std::path::Path;

use super::header::TABLE_MAGIC;
use super::model::EmbedderModel;
use super::rows::Rows;
use super::wordpiece::each_token;
use super::{Embed, Vectors};
use crate::bytes::kernel;
use crate::bytes::{DIMENSIONS, Space, Vector};
use memory_store_base::error::Result;
use memory_store_base::layout::UserDirs;

/// Maximum number of tokens that are counted, because a long text states its subject early, and a hook has only a
/// millisecond.
pub(crate) const TOKENS_MAX: usize = 256;

/// A table of token vectors that were fitted to approximate the transformer. Each is multiplied by the weight of its
/// token: rare tokens have more weight than frequent ones ("A Simple but Tough-to-Beat Baseline for Sentence
/// Embeddings", Arora et al. 2017). It is designed for hooks: opening it reads some 30 KB, and embedding reads one row
/// for each token.
#[derive(Debug)]
pub struct Table(Rows<DIMENSIONS>);

impl Table {
    /// Opens the table of the model in `dir`.
    ///
    /// # Errors
    /// If the table is missing, damaged or of another format; recall then uses only words.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_file(&dir.join(EmbedderModel::read(dir)?.table))
    }

    /// Opens the table that was installed with the programs; `None` if it is missing or invalid.
    pub fn installed(dirs: &UserDirs) -> Option<Self> {
        Self::open(dirs.models.as_deref()?).ok()
    }

    /// Opens the file of a table.
    pub fn open_file(path: &Path) -> Result<Self> {
        Ok(Self(Rows::open(path, TABLE_MAGIC)?))
    }

    /// Opens the table of the model in `dir` and reads all of it, for embedding many texts.
    pub fn load(dir: &Path) -> Result<Self> {
        Ok(Self(Rows::load(&dir.join(EmbedderModel::read(dir)?.table), TABLE_MAGIC)?))
    }

    /// Returns the space of the table's vectors.
    pub fn space(&self) -> Space {
        self.0.header().space
    }

    /// Returns the vector of a text, computed from its first [`TOKENS_MAX`] tokens; `None` if none of them is in the
    /// table. The vector is the same on every machine.
    ///
    /// # Errors
    /// If the file cannot be read, or one of its rows is damaged.
    pub fn embed(&self, text: &str) -> Result<Option<Vector>> {
        let mut sum = [0.0f32; DIMENSIONS];
        let mut left = TOKENS_MAX;
        each_token(&self.0, text, self.0.header().cut, &mut |row| {
            kernel::add(&mut sum, row.scale, &row.values);
            count_down(&mut left)
        })?;
        Ok(Vector::of(&sum))
    }

    /// Returns the numbers of the tokens that [`Table::embed`] counts.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        let mut left = TOKENS_MAX;
        each_token(&self.0, text, self.0.header().cut, &mut |row| {
            tokens.push(row.number);
            count_down(&mut left)
        })?;
        Ok(tokens)
    }
}

impl Embed for Table {
    fn space(&self) -> Space {
        self.space()
    }

    fn embed(&self, text: &str) -> Result<Option<Vector>> {
        self.embed(text)
    }
}

impl Vectors for Table {
    fn space(&self) -> Space {
        self.space()
    }

    /// Returns the vector of a text; `None` if a row cannot be read. The text is then found only by its words.
    fn of(&self, text: &str) -> Option<(super::Encoder, Vector)> {
        Some((super::Encoder::Static, self.embed(text).ok()??))
    }
}

/// Decrements the count, and breaks when it reaches 0.
fn count_down(left: &mut usize) -> ControlFlow<()> {
    *left -= 1;
    if *left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
