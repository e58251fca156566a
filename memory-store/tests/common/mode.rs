//! How the vectors of tests' indexes are searched. `scripts/test` runs the suites of hooks and of the
//! MCP server once as they are, with words alone, and once for each value of `THROUGHLINE_TEST_SEARCH`:
//! then stores have vectors, settings ask for `scan` or `graph`, and for a graph there is one.

use std::path::{Path, PathBuf};

use memory_store::embed::{Encoder, Space, Table, Vector};
use memory_store::index::Index;
use memory_store::index::build::{Content, Graphs, Published, Publisher, Vectors};
use memory_store::settings::{IndexSearch, IndexSettings, Settings};

/// Neighbours of a vector in a graph.
const NEIGHBOURS: usize = 16;

/// The way that this run asks for.
fn asked() -> Option<IndexSearch> {
    match std::env::var("THROUGHLINE_TEST_SEARCH").as_deref() {
        Ok("scan") => Some(IndexSearch::Scan),
        Ok("graph") => Some(IndexSearch::Graph),
        Ok(other) => panic!("THROUGHLINE_TEST_SEARCH={other}: use scan or graph"),
        Err(_) => None,
    }
}

/// The folder of the embedder's files.
fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets")
}

/// What a program needs in its environment to search that way.
pub fn variables() -> Option<(&'static str, PathBuf)> {
    asked().map(|_| ("THROUGHLINE_MODELS", models()))
}

/// Publishes the index in `dir`.
pub fn publish(dir: &Path, publisher: Publisher<'_>, content: Content<'_, '_>) -> Published {
    let Some(search) = asked() else { return publisher.publish(content).unwrap() };
    let vectors = Shipped(Table::open(&models()).unwrap());
    let settings = Settings { index: IndexSettings { search }, ..content.settings.clone() };
    let publisher = publisher.vectors(&vectors);
    let publisher = match search {
        IndexSearch::Graph => publisher.graphs(&Nearest),
        IndexSearch::Auto | IndexSearch::Scan => publisher,
    };
    let published = publisher.publish(Content { settings: &settings, ..content }).unwrap();
    let segment = Index::open(dir).unwrap().unwrap().memories.unwrap();
    assert_eq!(
        segment.space().unwrap().is_some() && segment.has_graph(),
        search == IndexSearch::Graph && published.memories > 0
    );
    published
}

struct Shipped(Table);

impl Vectors for Shipped {
    fn space(&self) -> Space {
        self.0.space()
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        Some((Encoder::Static, self.0.embed(text).unwrap()?))
    }
}

/// A graph of the nearest, however few there are.
struct Nearest;

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
