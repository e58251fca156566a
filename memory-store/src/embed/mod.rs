//! The embedding space that memories, turns and prompts share.
//!
//! There are two ways into it: a [`Table`] of one vector for each token, which a hook can afford,
//! and the [`Transformer`] that it imitates, for what is embedded in the background. `FORMAT.md`
//! describes their files.

#[cfg(feature = "write")]
pub mod build;
mod header;
#[cfg(feature = "write")]
mod map;
pub mod model;
mod rows;
#[cfg(feature = "write")]
mod shared;
mod table;
#[cfg(feature = "write")]
pub mod transformer;
mod vector;
pub mod wordpiece;

#[cfg(feature = "write")]
pub use shared::SharedTransformer;
pub use table::Table;
#[cfg(feature = "write")]
pub use transformer::Transformer;
pub use vector::{DIMENSIONS, Encoder, Space, Vector, dot};

use crate::error::Result;

/// Turns what is asked into a vector.
pub trait Embed: std::fmt::Debug {
    /// The space of its vectors.
    fn space(&self) -> Space;

    /// The vector of a text; `None` when there is nothing in it to go by.
    fn embed(&self, text: &str) -> Result<Option<Vector>>;
}
