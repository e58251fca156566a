//! Vectors and graphs for tests: vectors of the shipped table, and graphs of nearest neighbours for any number of
//! vectors.

use std::path::{Path, PathBuf};

use memory_store::embed::{Encoder, Space, Table, Vector};
use memory_store::index::build::{Graphs, Vectors};

/// Number of neighbours of a vector in a graph.
const NEIGHBOURS: usize = 16;

/// Returns the folder of the embedder's files. Tests of other packages include this file as well.
pub fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets")
}

/// Vectors of the shipped table.
pub struct Shipped(Table);

impl Shipped {
    pub fn open() -> Self {
        Self(Table::open(&assets()).unwrap())
    }
}

impl Vectors for Shipped {
    fn space(&self) -> Space {
        self.0.space()
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        Some((Encoder::Static, self.0.embed(text).unwrap()?))
    }
}

/// Builds a graph of nearest neighbours for any number of vectors.
pub struct Nearest;

impl Graphs for Nearest {
    fn vectors_min(&self) -> usize {
        1
    }

    fn link(&self, vectors: &[&Vector]) -> Vec<Vec<u32>> {
        let neighbours = |vector: &&Vector| {
            let mut all: Vec<u32> = (0..vectors.len() as u32).collect();
            all.retain(|&other| !std::ptr::eq(vectors[other as usize], *vector));
            let cosine = |other: &u32| vectors[*other as usize].cosine(vector);
            all.sort_by(|a, b| cosine(b).total_cmp(&cosine(a)).then(a.cmp(b)));
            all.truncate(NEIGHBOURS);
            all
        };
        vectors.iter().map(neighbours).collect()
    }
}
