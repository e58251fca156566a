//! Hub values: the mean similarity of a memory to its nearest neighbours.
//!
//! Some vectors are near to every query, because they are in a dense region: *hubs*. The mean cosine of a memory with
//! its nearest neighbours measures how much of its similarity to a query results from this. Subtracting that mean is
//! one half of cross-domain similarity local scaling (Conneau et al., "Word translation without parallel data", 2018).

use crate::bytes::kernel;
use crate::embed::Vector;

/// Hub value of a memory without known neighbours, such as one in the journal. It is about that of a memory in a
/// curated store.
pub(crate) const USUAL: f32 = 0.5;

/// Number of nearest neighbours that are averaged.
const NEAREST: usize = 10;
/// Maximum number of memories with which all others are compared. If there are more, an even sample is used, so that
/// the cost of publishing is proportional to the number of memories.
const SAMPLE_MAX: usize = 1024;

/// Returns the hub value that a byte represents.
pub(crate) fn of_byte(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

/// Returns for each memory the mean cosine with its nearest neighbours, in 255ths; negative means are 0.
pub(crate) fn bytes(vectors: &[Option<&Vector>]) -> Vec<u8> {
    let every = vectors.len().div_ceil(SAMPLE_MAX).max(1);
    let length = |of: &Vector| (kernel::dot(&of.0, &of.0) as f32).sqrt();
    let sample: Vec<(usize, &Vector, f32)> = vectors
        .iter()
        .enumerate()
        .step_by(every)
        .filter_map(|(at, vector)| vector.map(|vector| (at, vector, length(vector))))
        .collect();
    let mut cosines = Vec::with_capacity(sample.len());
    let hub = |(at, vector): (usize, &Option<&Vector>)| {
        let Some(vector) = vector else { return 0 };
        let own = length(vector);
        cosines.clear();
        cosines.extend(sample.iter().filter(|(other, ..)| *other != at).map(
            |(_, other, length)| kernel::dot(&vector.0, &other.0) as f32 / (own * length).max(1.0),
        ));
        if cosines.is_empty() {
            return (USUAL * 255.0) as u8;
        }
        if cosines.len() > NEAREST {
            cosines.select_nth_unstable_by(NEAREST - 1, |a: &f32, b| b.total_cmp(a));
            cosines.truncate(NEAREST);
        }
        // The order is fixed, so that equal stores have equal bytes.
        cosines.sort_unstable_by(f32::total_cmp);
        let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
        (mean.clamp(0.0, 1.0) * 255.0).round() as u8
    };
    vectors.iter().enumerate().map(hub).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::DIMENSIONS;

    fn vector(components: impl Fn(usize) -> f32) -> Vector {
        Vector::of(&std::array::from_fn(components)).unwrap()
    }

    /// Returns one of 16 axes for each number.
    fn axis(number: usize) -> Vector {
        vector(|at| f32::from(u8::from(at / 16 == number)))
    }

    #[test]
    fn what_lies_amid_others_is_a_hub() {
        let mut all: Vec<Vector> = (0..12).map(axis).collect();
        all.push(vector(|at| f32::from(u8::from(at < 12 * DIMENSIONS / 16))));
        let hubs = bytes(&all.iter().map(Some).collect::<Vec<_>>());
        assert!(hubs[..12].iter().all(|&hub| hub < hubs[12]), "{hubs:?}");
        assert!((of_byte(hubs[12]) - 1.0 / 12f32.sqrt()).abs() < 0.02);
    }

    #[test]
    fn a_memory_alone_is_as_usual_and_one_without_a_vector_nothing() {
        let one = axis(1);
        let hubs = bytes(&[Some(&one), None]);
        assert!((of_byte(hubs[0]) - USUAL).abs() < 0.01);
        assert_eq!(hubs[1], 0);
    }
}
