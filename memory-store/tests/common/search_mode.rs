//! Search modes as a parameter of tests. The tests of hooks and of the MCP server include this file as well.

#[path = "vectors.rs"]
mod vectors;

use std::path::{Path, PathBuf};

use memory_store::embed::Vectors;
use memory_store::index::Index;
use memory_store::index::build::{Content, Published, Publisher, Staged};
use memory_store::index::document::Passage;
use memory_store::settings::{IndexSearch, IndexSettings, Settings};

use vectors::{Nearest, Shipped, assets};

/// Search mode of an index in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// Only by words: the index has no vectors.
    Words,
    /// By words and by a scan of all vectors.
    Scan,
    /// By words and by a graph of vectors.
    Graph,
}

/// Generates three tests from each function, one for each search mode: `NAME::words`, `NAME::scan`, `NAME::graph`.
macro_rules! in_each_search_mode {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            use super::SearchMode;

            #[test]
            fn words() {
                super::$test(SearchMode::Words);
            }

            #[test]
            fn scan() {
                super::$test(SearchMode::Scan);
            }

            #[test]
            fn graph() {
                super::$test(SearchMode::Graph);
            }
        }
    )+};
}
pub(crate) use in_each_search_mode;

impl SearchMode {
    /// Returns the setting for this mode; `None` if the index has no vectors.
    fn setting(self) -> Option<IndexSearch> {
        match self {
            Self::Words => None,
            Self::Scan => Some(IndexSearch::Scan),
            Self::Graph => Some(IndexSearch::Graph),
        }
    }

    /// Returns the environment variable that a program needs for this mode.
    pub fn variables(self) -> Option<(&'static str, PathBuf)> {
        self.setting().map(|_| ("THROUGHLINE_MODELS", assets()))
    }

    /// Stages turns for the next generation of the index in `dir`, with the data for this mode. The turns are added to
    /// the present turns or, if `afresh`, replace them.
    pub fn stage(
        self,
        dir: &Path,
        afresh: bool,
        turns: impl IntoIterator<Item = Passage>,
    ) -> Option<Staged> {
        let vectors = self.setting().map(|_| Shipped::open());
        let vectors = vectors.as_ref().map(|vectors| -> &dyn Vectors { vectors });
        let mut staged = Staged::begin(dir, afresh).unwrap();
        staged.add(vectors, &mut turns.into_iter()).unwrap();
        Some(staged)
    }

    /// Publishes the index in `dir`, with the data for this mode.
    pub fn publish(self, dir: &Path, publisher: Publisher<'_>, content: Content<'_>) -> Published {
        let Some(search) = self.setting() else { return publisher.publish(content).unwrap() };
        let vectors = Shipped::open();
        let settings = Settings { index: IndexSettings { search }, ..content.settings.clone() };
        // A new binding is necessary because its borrows have a different lifetime.
        let mut publisher = publisher;
        publisher.vectors = Some(&vectors);
        if self == Self::Graph {
            publisher.graphs = Some(&Nearest);
        }
        let published = publisher.publish(Content { settings: &settings, ..content }).unwrap();
        let segment = Index::open(dir).unwrap().unwrap().memories.unwrap();
        assert_eq!(
            segment.vector_head().unwrap().is_some() && segment.has_graph(),
            self == Self::Graph && published.memories > 0
        );
        published
    }
}
