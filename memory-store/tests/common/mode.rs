//! How the vectors of tests' indexes are searched. `scripts/test-slow` runs the suites of hooks and of the
//! MCP server once as they are, with words alone, and once for each value of `THROUGHLINE_TEST_SEARCH`:
//! then stores have vectors, settings ask for `scan` or `graph`, and for a graph there is one.

#[path = "vectors.rs"]
mod vectors;

use std::path::{Path, PathBuf};

use memory_store::index::Index;
use memory_store::index::build::{Content, Published, Publisher};
use memory_store::settings::{IndexSearch, IndexSettings, Settings};

use vectors::{Nearest, Shipped, assets};

/// The way that this run asks for.
fn asked() -> Option<IndexSearch> {
    match std::env::var("THROUGHLINE_TEST_SEARCH").as_deref() {
        Ok("scan") => Some(IndexSearch::Scan),
        Ok("graph") => Some(IndexSearch::Graph),
        Ok(other) => panic!("THROUGHLINE_TEST_SEARCH={other}: use scan or graph"),
        Err(_) => None,
    }
}

/// Returns the environment variable that a program needs to search that way.
pub fn variables() -> Option<(&'static str, PathBuf)> {
    asked().map(|_| ("THROUGHLINE_MODELS", assets()))
}

/// Publishes the index in `dir`.
pub fn publish(dir: &Path, publisher: Publisher<'_>, content: Content<'_, '_>) -> Published {
    let Some(search) = asked() else { return publisher.publish(content).unwrap() };
    let vectors = Shipped::open();
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
