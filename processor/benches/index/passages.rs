//! Search in passages by scan, by graph, and in clusters with several numbers of compared passages.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::embed::{Encoder, Space, Table, Vector};
use memory_store::index::Index;
use memory_store::index::build::{
    Content, Publisher, SEGMENT_PASSAGES_MAX, Staged, Vectors, settle,
};
use memory_store::index::clusters::nearest_in_clusters;
use memory_store::index::document::Passage;
use memory_store::index::segment::Segment;
use memory_store::settings::{IndexSearch, Settings};
use processor::publish::hnsw::HnswGraphs;

use super::corpus::{Corpus, root};
use super::{Options, Reads, TIMES, size};

/// Number of passages of a session.
const SESSION: u32 = 160;
/// Number of lines of a passage, which have about 300 characters.
const LINES: usize = 4;
/// Number of queries.
const QUERIES: u64 = 200;
/// Number of documents for which recall is computed.
const COUNT: usize = 10;
/// Numbers of compared passages for the search in clusters.
const COMPARED: [u32; 5] = [2048, 4096, 8192, 16_384, 32_768];

/// The table's vectors, declared as the transformer's, because only these are in graphs.
struct Upgraded(Table);

impl Vectors for Upgraded {
    fn space(&self) -> Space {
        memory_store::embed::Embed::space(&self.0)
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        Some((Encoder::Transformer, self.0.embed(text).ok()??))
    }
}

/// Prints a row for each way and size.
pub fn measure(options: &Options) -> Result<()> {
    let vectors = Upgraded(Table::load(&root().join("memory-store/assets"))?);
    let corpus = Corpus::read()?;
    let queries: Vec<Vector> = (0..QUERIES)
        .filter_map(|number| vectors.of(&corpus.text(number | 1 << 50, 1)))
        .map(|(_, vector)| vector)
        .collect();
    let heads = [
        "passages", "segments", "search", "recall", "us", "us p90", "reads", "KB read", "B each",
        "build s",
    ];
    println!("{}", heads.map(|head| format!("{head:>8}")).join(" "));
    for &size in &options.sizes {
        row(&vectors, &corpus, &queries, u32::try_from(size)?, options.asked.max(COUNT))?;
    }
    Ok(())
}

fn row(
    vectors: &Upgraded,
    corpus: &Corpus,
    queries: &[Vector],
    passages: u32,
    asked: usize,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    publish(
        folder.path(),
        vectors,
        &mut (0..passages).map(|number| corpus.passage(number, SESSION, LINES)),
    )?;
    let without = size(folder.path())?;
    let started = Instant::now();
    while settle(folder.path(), Some(vectors), Some(&HnswGraphs), Timestamp(0))? {}
    let build_s = started.elapsed().as_secs_f64();
    let graph_bytes = (size(folder.path())? - without) as f64 / f64::from(passages);
    let ways = [Way::Alone(IndexSearch::Scan), Way::Alone(IndexSearch::Graph)];
    let ways = ways.into_iter().chain(COMPARED.map(Way::Clusters));
    let mut samples: Vec<Samples> = ways.map(Samples::of).collect();
    for query in queries {
        // The ways are measured alternately, so that other work of the machine affects all of them equally.
        let mut all = None;
        for samples in &mut samples {
            let near = samples.ask(folder.path(), query, asked)?;
            samples.found += all.get_or_insert_with(|| near.clone()).intersection(&near).count();
        }
    }
    for samples in &mut samples {
        samples.times.sort_by(f64::total_cmp);
        let times = &samples.times;
        let is_graph = samples.way == Way::Alone(IndexSearch::Graph);
        println!(
            "{passages:>8} {:>8} {:>8} {:>8.3} {:>8.0} {:>8.0} {:>8.0} {:>8.0} {:>8.1} {:>8.1}",
            samples.segments,
            samples.way.name(),
            samples.found as f64 / (queries.len() * COUNT) as f64,
            times[times.len() / 2],
            times[times.len() * 9 / 10],
            samples.reads.calls as f64 / (times.len() * TIMES) as f64,
            samples.reads.bytes as f64 / 1e3 / (times.len() * TIMES) as f64,
            if is_graph { graph_bytes } else { 0.0 },
            if is_graph { build_s } else { 0.0 },
        );
    }
    Ok(())
}

/// Method of searching.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Searches each segment separately.
    Alone(IndexSearch),
    /// Searches all segments in clusters, and compares this number of passages.
    Clusters(u32),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Alone(IndexSearch::Scan) => "scan".to_owned(),
            Self::Alone(_) => "graph".to_owned(),
            Self::Clusters(compared) => format!("{compared}"),
        }
    }
}

/// Measurements of one way to search.
struct Samples {
    way: Way,
    found: usize,
    times: Vec<f64>,
    reads: Reads,
    segments: usize,
}

impl Samples {
    fn of(way: Way) -> Self {
        Self { way, found: 0, times: Vec::new(), reads: Reads::default(), segments: 0 }
    }

    /// Returns the nearest passages, by segment and number.
    fn ask(
        &mut self,
        folder: &Path,
        query: &Vector,
        asked: usize,
    ) -> Result<BTreeSet<(usize, u32)>> {
        let mut near = Vec::new();
        let mut best = Duration::MAX;
        let before = Reads::so_far()?;
        for _ in 0..TIMES {
            let started = Instant::now();
            near.clear();
            let segments = segments(folder)?;
            let mut found = Vec::new();
            match self.way {
                Way::Alone(search) => {
                    for (place, segment) in segments.iter().enumerate() {
                        let near = segment.nearest(query, asked, search)?;
                        found.extend(near.into_iter().map(|near| (place, near)));
                    }
                }
                Way::Clusters(compared) => {
                    let segments: Vec<&Segment> = segments.iter().collect();
                    found = nearest_in_clusters(&segments, query, compared, asked)?;
                }
            }
            near.extend(found.into_iter().map(|(place, near)| (near.cosine, place, near.doc)));
            best = best.min(started.elapsed());
            self.segments = segments.len();
        }
        self.reads.add(before, Reads::so_far()?);
        self.times.push(best.as_secs_f64() * 1e6);
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        Ok(near.into_iter().take(COUNT).map(|(_, place, doc)| (place, doc)).collect())
    }
}

fn segments(folder: &Path) -> Result<Vec<Segment>> {
    let index = Index::open(folder)?.context("there is no index")?;
    Ok(index.passages().0)
}

fn publish(
    folder: &Path,
    vectors: &Upgraded,
    passages: &mut dyn Iterator<Item = Passage>,
) -> Result<()> {
    let mut staged = Staged::begin(folder, true)?;
    loop {
        let portion: Vec<Passage> = passages.take(SEGMENT_PASSAGES_MAX as usize).collect();
        if portion.is_empty() {
            break;
        }
        staged.add(Some(vectors), &mut portion.into_iter())?;
    }
    let mut publisher = Publisher::begin(folder)?;
    publisher.vectors = Some(vectors);
    publisher.publish(Content {
        root: folder,
        memories: &[],
        passages: Some(staged),
        start: &[],
        settings: &Settings::default(),
        now: Timestamp(0),
    })?;
    Ok(())
}
