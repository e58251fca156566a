//! The embedding space that memories, turns and prompts share.
//!
//! There are two ways into it: a [`Table`] of one vector for each token, which a hook can afford,
//! and the [`Transformer`] that it imitates, for what is embedded in the background. `FORMAT.md`
//! describes their files.

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

/// Turns what is asked into a vector.
pub trait Embed: std::fmt::Debug {
    /// The space of its vectors.
    fn space(&self) -> Space;

    /// The vector of a text; `None` when there is nothing in it to go by.
    fn embed(&self, text: &str) -> Result<Option<Vector>>;
}

/// Gives texts their vectors.
pub trait Vectors {
    /// The space that they lie in.
    fn space(&self) -> Space;

    /// The best vector of a text that can be had at once: the transformer's when it is known
    /// already, otherwise the table's; `None` when it has no words.
    fn of(&self, text: &str) -> Option<(Encoder, Vector)>;

    /// The vector that a hook gives a text which is asked: the table's.
    fn asked(&self, text: &str) -> Option<Vector> {
        self.of(text).map(|(_, vector)| vector)
    }

    /// The transformer's vector of a text, when it is known already.
    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.of(text).filter(|&(encoder, _)| encoder == Encoder::Transformer)
    }
}
