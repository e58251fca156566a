//! The transformer of the embedder: a model of the BERT family (Devlin et al. 2018), namely all-MiniLM-L6-v2 with int8
//! weights. The table approximates its vectors.
//!
//! It takes some 0.2 ms for each token, so it is used for memories and turns in the background and for the queries of
//! explicit search, but never in a hook.
//!
//! **Identical results on every machine.** Products of weights and activations are summed as integers, which is exact.
//! All other computations use only sums, products, quotients and square roots of 32-bit floats. The code determines
//! their order, which no compiler changes. Exponentials are approximated by polynomials instead of calling a library.
//! Therefore the portable code, AVX2 and NEON return the same bits.

mod forward;
mod kernel;
mod math;
mod weights;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::Embed;
use super::header::{TRANSFORMER_MAGIC, damaged};
use super::model::EmbedderModel;
use super::rows::{EmbeddingRow, Rows};
use super::wordpiece::{WordPieces, each_token, hash};
use crate::bytes::checksum;
use crate::bytes::{DIMENSIONS, Space, Vector};
pub use kernel::Path as CodePath;
use memory_store_base::error::Result;
pub use weights::{HEAD, INNER, Layer, Linear, Norm, POSITIONS, Projection, WIDTH, Weights};

/// Maximum number of tokens of a text, including the special tokens at its start and end.
pub const TOKENS_MAX: usize = POSITIONS;

/// An opened transformer. It may be shared by several threads.
#[derive(Debug)]
pub struct Transformer {
    rows: Rows<WIDTH>,
    weights: Weights,
    first: EmbeddingRow<WIDTH>,
    last: EmbeddingRow<WIDTH>,
    /// Code path that is used; all code paths return the same results.
    pub path: CodePath,
}

impl Transformer {
    /// Opens the transformer of the model in `dir`.
    ///
    /// # Errors
    /// If the transformer is missing, damaged or of another format.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_file(&dir.join(EmbedderModel::read(dir)?.transformer))
    }

    /// Opens the file of a transformer by mapping it, so that all processes share its memory.
    pub fn open_file(path: &Path) -> Result<Self> {
        let rows = Rows::map(path, TRANSFORMER_MAGIC)?;
        let weights = rows.weights();
        if checksum(&weights) != rows.header().weights_checksum {
            return Err(damaged(path, "the checksum of its weights does not fit"));
        }
        let weights =
            Weights::decode(&weights).ok_or_else(|| damaged(path, "its weights make no sense"))?;
        let special = |piece| {
            let row = rows.find(hash(piece))?;
            row.ok_or_else(|| damaged(path, format!("its vocabulary lacks {piece}")))
        };
        let (first, last) = (special("[CLS]")?, special("[SEP]")?);
        Ok(Self { rows, weights, first, last, path: CodePath::fastest() })
    }

    /// Returns the space of the transformer's vectors.
    pub fn space(&self) -> Space {
        self.rows.header().space
    }

    /// Returns the vector of a text, made from its first [`TOKENS_MAX`] tokens; `None` if the text has no tokens. The
    /// vector is the same on every machine.
    ///
    /// # Errors
    /// If a row of the file is damaged.
    pub fn embed(&self, text: &str) -> Result<Option<Vector>> {
        let rows = self.text_rows(text)?;
        if rows.len() < 3 {
            return Ok(None);
        }
        let pooled = forward::pooled(self.path, &self.weights, &rows);
        let mut components = [0.0; DIMENSIONS];
        self.weights.projection.apply(&pooled, &mut components);
        Ok(Vector::of(&components))
    }

    /// Returns the transformer's own vector of a text, of length one. It is not yet centred and projected to the space
    /// that is shared with the table.
    pub fn pooled(&self, text: &str) -> Result<[f32; WIDTH]> {
        Ok(forward::pooled(self.path, &self.weights, &self.text_rows(text)?))
    }

    /// Returns the numbers of the tokens that [`Transformer::embed`] uses.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.text_rows(text)?.iter().map(|row| row.number).collect())
    }

    /// Returns the rows of a text's tokens, with those of the special tokens at start and end.
    fn text_rows(&self, text: &str) -> Result<Vec<EmbeddingRow<WIDTH>>> {
        let mut rows = vec![self.first.clone()];
        each_token(&self.rows, text, self.rows.header().cut, &mut |row| {
            rows.push(row);
            if rows.len() + 1 == TOKENS_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        rows.push(self.last.clone());
        Ok(rows)
    }
}

impl Embed for Arc<Transformer> {
    fn space(&self) -> Space {
        self.as_ref().space()
    }

    fn embed(&self, text: &str) -> Result<Option<Vector>> {
        self.as_ref().embed(text)
    }
}

impl Embed for Transformer {
    fn space(&self) -> Space {
        self.space()
    }

    fn embed(&self, text: &str) -> Result<Option<Vector>> {
        self.embed(text)
    }
}
