//! The *second space*: vectors of memories, computed by a model that the user runs, in addition to those of the
//! built-in embedder. Explicit search uses them; a hook uses them only within a deadline set by the user. They are
//! optional everywhere.
//!
//! This crate calls no model: the processor computes the vectors of memories, and an [`Ask`] returns the vector of a
//! query.

mod file;

use std::fmt::Debug;

pub(crate) use file::DIMENSIONS_MAX;
pub use file::{BYTES_MAX, Second};
pub use file::{Given, encode};

/// Source of query vectors from the model.
pub trait Ask: Debug {
    /// Returns the vector of a text. The error is a message that states the problem and its remedy.
    fn vector(&self, text: &str) -> Result<Vec<f32>, String>;
}

/// Id of a text: its truncated blake3 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash(pub [u8; 16]);

impl TextHash {
    /// Returns the id of a text.
    pub fn of(text: &str) -> Self {
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        Self(hash)
    }
}

/// A vector with any number of components. Each is stored as an integer relative to the largest one (127), because only
/// the vector's direction is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction(Vec<i8>);

impl Direction {
    /// Returns the direction of a vector; `None` if a component is not finite, if all are (nearly) zero, or if there
    /// are more than [`DIMENSIONS_MAX`] components.
    pub fn of(components: &[f32]) -> Option<Self> {
        let largest = components.iter().fold(0.0f32, |most, component| most.max(component.abs()));
        let usable =
            largest.is_normal() && components.iter().all(|component| component.is_finite());
        if !usable || components.len() > DIMENSIONS_MAX {
            return None;
        }
        let step = |component: &f32| (component / largest * 127.0).round() as i8;
        Some(Self(components.iter().map(step).collect()))
    }

    /// Returns the direction with these components; `None` if all are zero, or if there are more than
    /// [`DIMENSIONS_MAX`].
    pub fn of_components(components: Vec<i8>) -> Option<Self> {
        let usable = components.len() <= DIMENSIONS_MAX && components.iter().any(|&c| c != 0);
        usable.then_some(Self(components))
    }

    /// Returns the components of the direction.
    pub fn components(&self) -> &[i8] {
        &self.0
    }

    /// Returns the Euclidean length of the components.
    fn norm(&self) -> f32 {
        (dot(&self.0, &self.0) as f32).sqrt()
    }
}

/// Returns the dot product of two vectors over the components that both have.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_needs_one() {
        assert_eq!(Direction::of(&[]), None);
        assert_eq!(Direction::of(&[0.0, 0.0]), None);
        assert_eq!(Direction::of(&[1.0, f32::NAN]), None);
        assert_eq!(Direction::of(&[1.0, f32::INFINITY]), None);
        assert_eq!(Direction::of(&vec![1.0; DIMENSIONS_MAX + 1]), None);
        assert_eq!(Direction::of(&[0.02, -0.04]).unwrap().components(), [64, -127]);
        assert_eq!(Direction::of_components(vec![0, 0]), None);
    }
}
