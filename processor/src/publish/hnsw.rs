//! Builds the graphs for searches in the index with `hnsw_rs`.
//!
//! The crate's own files are not used: loading them takes seconds, and a damaged file makes the crate end the process.
//! Vectors are inserted one after another, so that equal vectors result in equal graphs.

use hnsw_rs::prelude::{Distance, Hnsw};
use memory_store::embed::{DIMENSIONS, Vector};
use memory_store::index::build::Graphs;

/// Maximum number of neighbours of a node above the lowest layer. In the lowest layer, the maximum is twice as large.
const NEIGHBOURS: usize = 16;
/// Number of nodes examined to find the neighbours of a new node.
const BREADTH: usize = 120;
/// Maximum number of layers of a graph, defined by the crate.
const LAYERS_MAX: usize = 16;

/// Links vectors into graphs with `hnsw_rs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HnswGraphs;

impl Graphs for HnswGraphs {
    fn link(&self, vectors: &[&Vector]) -> Vec<Vec<u32>> {
        link(vectors)
    }
}

/// Distance of vectors: one minus the cosine, in the scale of the vectors and never negative. All vectors have about
/// the same length.
struct Angle;

/// Maximum dot product of a vector with itself. It includes a margin for vectors that rounding made longer.
const SQUARE_MAX: i32 = 230_000;

impl Distance<i8> for Angle {
    fn eval(&self, a: &[i8], b: &[i8]) -> f32 {
        let (Some(a), Some(b)) = (a.first_chunk::<DIMENSIONS>(), b.first_chunk::<DIMENSIONS>())
        else {
            return SQUARE_MAX as f32;
        };
        (SQUARE_MAX - memory_store::embed::dot(a, b)).max(0) as f32
    }
}

fn link(vectors: &[&Vector]) -> Vec<Vec<u32>> {
    let mut hnsw = Hnsw::<i8, Angle>::new(NEIGHBOURS, vectors.len(), LAYERS_MAX, BREADTH, Angle);
    // Without this setting, all neighbours of a node in a dense group are in the same group, so a search cannot leave
    // the group.
    hnsw.set_keeping_pruned(true);
    for (number, vector) in vectors.iter().enumerate() {
        hnsw.insert((&vector.0, number));
    }
    let mut links = vec![Vec::new(); vectors.len()];
    let points = hnsw.get_point_indexation();
    for layer in 0..=usize::from(points.get_max_level_observed()) {
        // The iterator returns the points whose highest layer is `layer`.
        for point in points.get_layer_iterator(layer) {
            // The lowest layer contains all nodes. A search with seeds needs only the lists of this layer.
            let mut lists = point.get_neighborhood_id();
            let near = lists.first_mut().map(std::mem::take).unwrap_or_default();
            links[point.get_origin_id()] = near.iter().map(|near| near.d_id as u32).collect();
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(count: u32) -> Vec<Vector> {
        let noise = |seed: u32, at: usize| {
            let mut mixed = (u64::from(seed) << 20 | at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            ((mixed ^ mixed >> 31) >> 40) as f32 / (1u64 << 24) as f32 - 0.5
        };
        (0..count)
            .map(|number| {
                let component = |at| noise(number / 20, at) + noise(number | 1 << 20, at);
                Vector::of(&std::array::from_fn(component)).unwrap()
            })
            .collect()
    }

    #[test]
    fn the_same_vectors_give_the_same_graph() {
        let vectors = vectors(400);
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let links = HnswGraphs.link(&vectors);
        assert_eq!(links, HnswGraphs.link(&vectors));
        assert_eq!(links.len(), 400);
    }

    #[test]
    fn neighbours_are_near() {
        let vectors = vectors(400);
        let links = link(&vectors.iter().collect::<Vec<_>>());
        for (number, list) in links.iter().enumerate() {
            assert!(list.len() <= 2 * NEIGHBOURS);
            assert!(list.iter().any(|&other| other as usize / 20 == number / 20), "{number}");
        }
    }

    #[test]
    fn nothing_and_one_vector_are_graphs_too() {
        assert_eq!(link(&[]), Vec::<Vec<u32>>::new());
        assert_eq!(link(&[&vectors(1)[0]]), [Vec::<u32>::new()]);
    }

    #[test]
    fn the_distance_is_never_below_zero() {
        let vector = Vector([127; DIMENSIONS]);
        assert_eq!(Angle.eval(&vector.0, &vector.0), 0.0);
        assert!(Angle.eval(&vector.0, &[-127; DIMENSIONS]) > 0.0);
    }
}
