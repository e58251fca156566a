//! Quality and speed of vector search in an index, by scan and by graph, for many sizes.
//!
//! `scripts/bench index --vectors FILE [--queries FILE] [--sizes N,..] [--count K] [--asked N] [--plot SVG]`. A file of
//! vectors consists of rows of 256 signed bytes, as `build_model vectors` writes them for a list of texts. Without a
//! file of queries, one row in fifty is a query and is not in the index. Each size is published like memories. A search
//! requests 32 documents, as hooks do, or `--asked` documents. The first `--count` of these are compared: recall@10 by
//! default. Every search opens its segment again, as a hook does, with a warm page cache. Recall is relative to an
//! exact comparison of all vectors; of several equally near vectors, each is correct. The plot contains the medians of
//! both ways. Reads are calls to the operating system, to open the segment and to search it.
//!
//! `--passages [--sizes N,..] [--asked N]` measures passages instead: lines of this project's own sources and
//! documents, randomly combined, with the table's vectors. A query is one line. Both ways search all segments,
//! alternately, as a search does. Recall@10 of the graph is relative to the scan.
//!
//! A million vectors need about twelve gigabytes of memory, and hours for the graph, whose nodes are inserted one after
//! another.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use memory_store::embed::{DIMENSIONS, Encoder, Space, Vector, dot};
use memory_store::fs::file_stamp::Stamp;
use memory_store::index::Index;
use memory_store::index::build::{Content, Graphs, Publisher, Vectors};
use memory_store::index::segment::Segment;
use memory_store::settings::{IndexSearch, Settings};
use memory_store::store::Stored;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use processor::publish::hnsw::HnswGraphs;

#[path = "../corpus/mod.rs"]
mod corpus;
mod passages;
mod plot;

/// Maximum difference between two ways to compute a cosine.
const ROUNDING: f32 = 1e-6;
/// Number of rows for each row that is used as a query, if there is no file of queries.
const QUERY_EVERY: usize = 50;
/// Maximum number of queries.
const QUERIES_MAX: usize = 500;
/// Number of documents that a hook requests.
const ASKED: usize = 32;
/// Number of runs of each query. The fastest run counts, because the machine has other work.
const TIMES: usize = 5;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    if options.passages {
        return passages::measure(&options);
    }
    let mut rows = read(&options.vectors)?;
    let queries: Vec<Vector> = match &options.queries {
        Some(path) => read(path)?.into_iter().take(QUERIES_MAX).collect(),
        None => {
            let is_query =
                |at: usize| at.is_multiple_of(QUERY_EVERY) && at / QUERY_EVERY < QUERIES_MAX;
            let (queries, rest): (Vec<_>, Vec<_>) =
                rows.into_iter().enumerate().partition(|&(at, _)| is_query(at));
            rows = rest.into_iter().map(|(_, row)| row).collect();
            queries.into_iter().map(|(_, row)| row).collect()
        }
    };
    let heads =
        ["vectors", "search", "recall", "us", "us p90", "reads", "KB read", "MB", "build s"];
    println!("{}", heads.map(|head| format!("{head:>8}")).join(" "));
    let mut medians = Vec::new();
    for &size in &options.sizes {
        let Some(rows) = rows.get(..size) else {
            eprintln!("there are only {} vectors", rows.len());
            break;
        };
        medians.push((size, measure(rows, &queries, &options)?));
    }
    if let Some(path) = &options.plot {
        std::fs::write(path, plot::svg(&medians)).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

struct Options {
    vectors: PathBuf,
    queries: Option<PathBuf>,
    sizes: Vec<usize>,
    count: usize,
    asked: usize,
    plot: Option<PathBuf>,
    /// Whether passages are searched instead of memories.
    passages: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            vectors: PathBuf::new(),
            queries: None,
            sizes: vec![1_000, 3_000, 10_000, 30_000, 100_000],
            count: 10,
            asked: ASKED,
            plot: None,
            passages: false,
        };
        while let Some(argument) = arguments.next() {
            // Cargo adds this argument.
            if argument == "--bench" {
                continue;
            }
            if argument == "--passages" {
                options.passages = true;
                continue;
            }
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--vectors" => options.vectors = value.into(),
                "--queries" => options.queries = Some(value.into()),
                "--sizes" => {
                    options.sizes =
                        value.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?;
                }
                "--count" => options.count = value.parse()?,
                "--asked" => options.asked = value.parse()?,
                "--plot" => options.plot = Some(value.into()),
                _ => bail!("there is no option {argument}"),
            }
        }
        Ok(options)
    }
}

fn read(path: &Path) -> Result<Vec<Vector>> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let (rows, _) = bytes.as_chunks::<DIMENSIONS>();
    Ok(rows.iter().map(|row| Vector(row.map(u8::cast_signed))).collect())
}

/// Source of vectors in which a memory's title is the number of its vector.
struct Rows<'a>(&'a [Vector]);

impl Vectors for Rows<'_> {
    fn space(&self) -> Space {
        Space([0; 16])
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        Some((Encoder::Transformer, *self.0.get(text.trim_end().parse::<usize>().ok()?)?))
    }
}

/// Prints a row for each way. Returns the median microseconds by scan and by graph.
fn measure(rows: &[Vector], queries: &[Vector], options: &Options) -> Result<[f64; 2]> {
    let count = options.count;
    let asked = options.asked.max(count);
    let folder = tempfile::tempdir()?;
    let started = Instant::now();
    publish(folder.path(), &Rows(rows), None)?;
    let without = started.elapsed();
    let bytes = size(folder.path())?;
    let started = Instant::now();
    publish(folder.path(), &Rows(rows), Some(&HnswGraphs))?;
    let build = [without, started.elapsed()];
    let bytes = [bytes, size(folder.path())?];
    let lengths: Vec<f32> = rows.iter().map(length).collect();
    // The lowest cosine of a correct result.
    let least = |query: &Vector| -> f32 {
        let own = length(query);
        let cosine = |(row, length): (&Vector, &f32)| dot(&row.0, &query.0) as f32 / (own * length);
        let mut cosines: Vec<f32> = rows.iter().zip(&lengths).map(cosine).collect();
        let last = count.min(cosines.len()) - 1;
        *cosines.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
    };
    let least: Vec<f32> = queries.iter().map(least).collect();
    let mut medians = [0.0; 2];
    for (way, search) in [IndexSearch::Scan, IndexSearch::Graph].into_iter().enumerate() {
        let (mut found, mut all) = (0, 0);
        let mut times = Vec::new();
        let mut reads = Reads::default();
        for (query, least) in queries.iter().zip(&least) {
            let mut best = Duration::MAX;
            let mut near = Vec::new();
            let before = Reads::so_far()?;
            for _ in 0..TIMES {
                let started = Instant::now();
                near = segment(folder.path())?.nearest(query, asked, search)?;
                best = best.min(started.elapsed());
            }
            reads.add(before, Reads::so_far()?);
            near.truncate(count);
            times.push(best.as_secs_f64() * 1e6);
            all += count.min(rows.len());
            found += near.iter().filter(|near| near.cosine >= least - ROUNDING).count();
        }
        times.sort_by(f64::total_cmp);
        medians[way] = times[times.len() / 2];
        println!(
            "{:>8} {:>8} {:>8.4} {:>8.0} {:>8.0} {:>8.0} {:>8.0} {:>8.1} {:>8.1}",
            rows.len(),
            if search == IndexSearch::Scan { "scan" } else { "graph" },
            found as f64 / all as f64,
            times[times.len() / 2],
            times[times.len() * 9 / 10],
            reads.calls as f64 / (queries.len() * TIMES) as f64,
            reads.bytes as f64 / 1e3 / (queries.len() * TIMES) as f64,
            bytes[way] as f64 / 1e6,
            build[way].as_secs_f64(),
        );
    }
    Ok(medians)
}

/// Number of read calls and of bytes read by a process.
#[derive(Clone, Copy, Default)]
struct Reads {
    calls: u64,
    bytes: u64,
}

impl Reads {
    /// Returns the numbers since the start of the process. The call itself reads about 100 bytes.
    fn so_far() -> Result<Self> {
        let io = std::fs::read_to_string("/proc/self/io").context("/proc/self/io")?;
        let number = |name: &str| -> Result<u64> {
            let line = io.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.with_context(|| format!("/proc/self/io has no {name}"))?.trim().parse()?)
        };
        Ok(Self { calls: number("syscr:")?, bytes: number("rchar:")? })
    }

    fn add(&mut self, before: Self, after: Self) {
        self.calls += after.calls - before.calls;
        self.bytes += after.bytes - before.bytes;
    }
}

fn length(vector: &Vector) -> f32 {
    (dot(&vector.0, &vector.0) as f32).sqrt()
}

fn publish(folder: &Path, rows: &Rows<'_>, graphs: Option<&dyn Graphs>) -> Result<()> {
    let mut publisher = Publisher::begin(folder)?;
    publisher.vectors = Some(rows);
    publisher.graphs = graphs;
    let memory = |number: usize| {
        let mut entropy = [0; 10];
        entropy[2..].copy_from_slice(&(number as u64).to_be_bytes());
        let (id, title) = (MemoryId::new(Timestamp(0), entropy), number.to_string());
        let memory = Memory::new(id, Kind::Fact, title, String::new(), Timestamp(0));
        Stored {
            path: folder.join("memory.md"),
            memory,
            stamp: Stamp::default(),
            text: String::new(),
        }
    };
    let memories: Vec<Stored> = (0..rows.0.len()).map(memory).collect();
    publisher.publish(Content {
        root: folder,
        memories: &memories,
        passages: None,
        start: &[],
        settings: &Settings::default(),
        now: Timestamp(0),
    })?;
    Ok(())
}

fn segment(folder: &Path) -> Result<Segment> {
    let index = Index::open(folder)?.context("there is no index")?;
    index.memories.context("there are no memories")
}

fn size(folder: &Path) -> Result<u64> {
    let files = std::fs::read_dir(folder)?;
    files.map(|file| Ok(file?.metadata()?.len())).sum()
}
