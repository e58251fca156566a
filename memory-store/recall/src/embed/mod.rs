//! The embedding space shared by memories, turns and prompts.
//!
//! There are two encoders: a [`Table`] with one vector for each token, which is fast enough for hooks, and the
//! [`Transformer`] that the table approximates, for embedding in the background. `FORMAT.md` describes their files.

pub mod build;
mod header;
pub mod model;
mod piece;
mod rows;
mod shared;
mod table;
pub mod transformer;
pub mod wordpiece;

pub use crate::bytes::{DIMENSIONS, Encoder, Space, Vector, dot};
pub use shared::SharedTransformer;
pub use table::Table;
pub use transformer::Transformer;

use memory_store_base::error::Result;

/// Encoder for queries.
pub trait Embed: std::fmt::Debug {
    /// Returns the space of the encoder's vectors.
    fn space(&self) -> Space;

    /// Returns the vector of a text; `None` if the text has no known tokens.
    fn embed(&self, text: &str) -> Result<Option<Vector>>;
}

/// Source of vectors of texts.
pub trait Vectors {
    /// Returns the space of the vectors.
    fn space(&self) -> Space;

    /// Returns the best vector of a text that is available without delay, and its encoder: the transformer's vector if
    /// it is cached, otherwise the table's. `None` if the text has no words.
    fn of(&self, text: &str) -> Option<(Encoder, Vector)>;

    /// Returns the vector of a query as a hook computes it, by the table.
    fn asked(&self, text: &str) -> Option<Vector> {
        self.of(text).map(|(_, vector)| vector)
    }

    /// Returns the transformer's vector of a text; `None` if it is not cached.
    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.of(text).filter(|&(encoder, _)| encoder == Encoder::Transformer)
    }
}
