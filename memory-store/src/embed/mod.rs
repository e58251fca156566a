//! The embedding space that memories, turns and prompts share.

mod vector;

pub use vector::{DIMENSIONS, Encoder, Space, Vector};
