//! Vectors of the embedding space, and their similarity.

use super::kernel;

/// Number of components of a vector.
pub const DIMENSIONS: usize = 256;

/// Number of quantisation steps for a component of 1. Unit vectors of this space have components of about `1 /
/// sqrt(DIMENSIONS)`; components larger than four and a half times that are clipped.
const SCALE: f32 = 127.0 * 16.0 / 4.5;

/// Id of an embedding space. Vectors of different spaces are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space(pub [u8; 16]);

/// A unit vector with [`DIMENSIONS`] components, each multiplied by a common scale, rounded, and clipped at ±127.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector(pub [i8; DIMENSIONS]);

/// The part of the embedder that computed a vector. Both parts compute vectors of the same space, but vectors of the
/// table are closer to one another than those of the transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoder {
    /// The table, with one vector for each token.
    Static = 1,
    /// The transformer, which the table approximates.
    Transformer = 2,
}

impl Encoder {
    /// Returns the encoder with this number; `None` if there is none.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Static),
            2 => Some(Self::Transformer),
            _ => None,
        }
    }
}

/// Returns the dot product of two vectors' components.
pub fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    kernel::dot(a, b)
}

impl Vector {
    /// Returns a vector scaled to length one; `None` if it has no direction.
    pub fn of(components: &[f32; DIMENSIONS]) -> Option<Self> {
        let norm = components.iter().map(|component| component * component).sum::<f32>().sqrt();
        if !norm.is_normal() {
            return None;
        }
        let step = |component: f32| (component / norm * SCALE).round().clamp(-127.0, 127.0) as i8;
        Some(Self(components.map(step)))
    }

    /// Returns the dot product of the quantised components.
    pub(crate) fn dot(&self, other: &Self) -> i32 {
        dot(&self.0, &other.0)
    }

    /// Returns the cosine of the angle between two vectors, -1 to 1; 0 if one of them is zero.
    pub fn cosine(&self, other: &Self) -> f32 {
        let norms = (self.dot(self) as f32).sqrt() * (other.dot(other) as f32).sqrt();
        if norms == 0.0 { 0.0 } else { self.dot(other) as f32 / norms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_survives_rounding() {
        let mut a = [0.0; DIMENSIONS];
        let mut b = [0.0; DIMENSIONS];
        for at in 0..DIMENSIONS {
            a[at] = (at as f32 * 0.37).sin();
            b[at] = (at as f32 * 0.37 + 0.5).sin();
        }
        let exact = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>()
            / (a.iter().map(|a| a * a).sum::<f32>() * b.iter().map(|b| b * b).sum::<f32>()).sqrt();
        let (a, b) = (Vector::of(&a).unwrap(), Vector::of(&b).unwrap());
        assert!((a.cosine(&b) - exact).abs() < 0.01, "{} {exact}", a.cosine(&b));
        assert!((a.cosine(&a) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn no_direction_is_no_vector() {
        assert_eq!(Vector::of(&[0.0; DIMENSIONS]), None);
        assert_eq!(Vector::of(&[f32::NAN; DIMENSIONS]), None);
    }
}
