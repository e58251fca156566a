//! The embedding space shared by memories, turns and prompts.
//!
//! It has two encoders: a [`Table`] of one vector for each token, which is fast enough for hooks,
//! and the [`Transformer`] that it imitates, for embedding in the background. `FORMAT.md` describes
//! their files.

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

/// Encoder of queries.
pub trait Embed: std::fmt::Debug {
    /// Returns the space of its vectors.
    fn space(&self) -> Space;

    /// Returns the vector of a text; `None` if it has no known tokens.
    fn embed(&self, text: &str) -> Result<Option<Vector>>;
}

/// Source of vectors of texts.
pub trait Vectors {
    /// Returns the space of its vectors.
    fn space(&self) -> Space;

    /// Returns the best vector of a text that is available at once: the transformer's if it is
    /// cached, otherwise the table's; `None` if the text has no words.
    fn of(&self, text: &str) -> Option<(Encoder, Vector)>;

    /// Returns the vector of a query as in a hook: the table's.
    fn asked(&self, text: &str) -> Option<Vector> {
        self.of(text).map(|(_, vector)| vector)
    }

    /// Returns the transformer's vector of a text, if it is cached.
    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.of(text).filter(|&(encoder, _)| encoder == Encoder::Transformer)
    }
}
