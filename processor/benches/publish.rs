//! Cost of publishing a small addition to a large index.
//!
//! `scripts/bench publish [--turns N] [--memories N] [--rounds N] [--texts N]`. The turns are lines of this project's
//! own sources and documents, combined differently for each turn. The vectors are those of the installed table, or of
//! the folder in `THROUGHLINE_MODELS`. A round adds ten turns and then does the postponed work, like a sync; then it
//! changes one memory and does the same. At the end, the vectors of the transformer are measured: the number of texts
//! that it embeds in a second, and the cost of adding their vectors. Times are the processor time of the process over
//! all threads, so that other work of the machine does not count.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod corpus;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use memory_store::embed::{Encoder, Space, Table, Transformer, Vector};
use memory_store::fs::file_stamp::Stamp;
use memory_store::index::build::{Content, Publisher, Staged, Vectors, settle};
use memory_store::index::document::Passage;
use memory_store::index::{Index, segment::Segment};
use memory_store::settings::Settings;
use memory_store::store::Stored;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use processor::publish::hnsw::HnswGraphs;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use corpus::{Corpus, root};

/// Number of turns of a session.
const SESSION: u32 = 40;
/// Number of turns that a sync adds.
const ADDED: u32 = 10;
/// Number of lines of a turn, which have about 60 words.
const TURN_LINES: usize = 8;
/// Number of turns that are staged together.
const PORTION: usize = 1 << 16;

/// Number of threads for embedding, the same as in a sync.
const THREADS: usize = 2;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let models = match std::env::var_os("THROUGHLINE_MODELS") {
        Some(models) => PathBuf::from(models),
        None => root().join("memory-store/assets"),
    };
    let made = Made { table: Table::load(&models)?, is_better: false };
    let corpus = Corpus::read()?;
    let folder = tempfile::tempdir()?;
    let mut store = Store { folder: folder.path().to_owned(), made, memories: Vec::new() };
    store.memories = (0..options.memories).map(|number| store.memory(&corpus, number, 0)).collect();

    let turns = &mut (0..options.turns).map(|number| corpus.passage(number, SESSION, TURN_LINES));
    let first = measured(|| store.publish(Some(store.stage(true, turns)?)))?;
    let megabytes = size(folder.path())? as f64 / 1e6;
    println!(
        "{} turns, {} memories: {megabytes:.0} MB, made in {:.1} s",
        options.turns,
        options.memories,
        first.1 / 1e3
    );

    let (mut added, mut settled, mut changed, mut idle) =
        (Times::default(), Times::default(), Times::default(), Times::default());
    for round in 0..options.rounds {
        let start = (options.turns / SESSION + 1 + round) * SESSION;
        let turns =
            &mut (start..start + ADDED).map(|number| corpus.passage(number, SESSION, TURN_LINES));
        let published = measured(|| store.publish(Some(store.stage(false, turns)?)))?;
        if !published.0 {
            bail!("nothing was published");
        }
        added.0.push(published.1);
        settled.0.push(measured(|| store.settle())?.1);
        idle.0.push(measured(|| store.publish(None))?.1);
        let number = round * 7 % options.memories.max(1);
        if options.memories > 0 {
            store.memories[number as usize] = store.memory(&corpus, number, round + 1);
            changed.0.push(measured(|| store.publish(None))?.1);
        }
    }
    println!("{:<34} {:>8} {:>8}", "ms of the processor", "median", "most");
    added.print("ten turns more");
    settled.print("what that put off");
    idle.print("nothing new");
    changed.print("one memory changed");

    let texts: Vec<String> =
        (0..options.texts).map(|number| corpus.passage(number, SESSION, TURN_LINES).text).collect();
    let transformer = Transformer::open(&models)?;
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let embed = |text: &String| Ok(transformer.embed(text)?.is_some());
    let embed_all = || pool.install(|| texts.par_iter().map(embed).collect::<Result<Vec<bool>>>());
    let (_, millis) = measured(embed_all)?;
    let rate = f64::from(options.texts) * THREADS as f64 * 1e3 / millis;
    println!("transformer: {rate:.0} texts a second on {THREADS} processors");

    // The cost of writing if all turns get better vectors.
    store.made.is_better = true;
    let segments = store.turns()?.len();
    let ((), millis) = measured(|| store.settle())?;
    println!("better vectors into all {segments} segments of turns: {:.1} s", millis / 1e3);
    Ok(())
}

struct Options {
    turns: u32,
    memories: u32,
    rounds: u32,
    texts: u32,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { turns: 1_000_000, memories: 1000, rounds: 30, texts: 400 };
        while let Some(argument) = arguments.next() {
            // Cargo adds this argument.
            if argument == "--bench" {
                continue;
            }
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            let field = match argument.as_str() {
                "--turns" => &mut options.turns,
                "--memories" => &mut options.memories,
                "--rounds" => &mut options.rounds,
                "--texts" => &mut options.texts,
                _ => bail!("there is no option {argument}"),
            };
            *field = value.parse()?;
        }
        Ok(options)
    }
}

/// Durations in milliseconds, one for each repetition.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn print(mut self, what: &str) {
        self.0.sort_by(f64::total_cmp);
        if let (Some(median), Some(most)) = (self.0.get(self.0.len() / 2), self.0.last()) {
            println!("{what:<34} {median:>8.1} {most:>8.1}");
        }
    }
}

/// Returns the result of some work and its processor time in milliseconds, over all threads.
fn measured<T>(what: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let before = processor_time();
    let done = what()?;
    Ok((done, processor_time() - before))
}

fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system writes a time into a valid variable.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Vectors of the table. If `is_better` is true, they are declared as vectors of the transformer.
struct Made {
    table: Table,
    is_better: bool,
}

impl Vectors for Made {
    fn space(&self) -> Space {
        memory_store::embed::Embed::space(&self.table)
    }

    fn of(&self, text: &str) -> Option<(Encoder, Vector)> {
        self.best(text).or_else(|| self.table.of(text))
    }

    fn best(&self, text: &str) -> Option<(Encoder, Vector)> {
        let (_, vector) = self.is_better.then(|| self.table.of(text))??;
        Some((Encoder::Transformer, vector))
    }
}

/// An index, with its input.
struct Store {
    folder: PathBuf,
    made: Made,
    memories: Vec<Stored>,
}

impl Store {
    fn memory(&self, corpus: &Corpus, number: u32, version: u32) -> Stored {
        let mut entropy = [0; 10];
        entropy[6..].copy_from_slice(&number.to_be_bytes());
        let id = MemoryId::new(Timestamp(i64::from(number)), entropy);
        let seed = u64::from(number) | u64::from(version + 1) << 40;
        let (title, body) = (corpus.text(seed, 1), corpus.text(seed | 1 << 60, 4));
        let memory = Memory::new(id, Kind::Fact, title, body, Timestamp(0));
        Stored {
            path: self.folder.join("memory.md"),
            memory,
            stamp: Stamp::default(),
            text: String::new(),
        }
    }

    /// Stages turns in portions, as a sync does.
    fn stage(&self, afresh: bool, turns: &mut dyn Iterator<Item = Passage>) -> Result<Staged> {
        let mut staged = Staged::begin(&self.folder, afresh)?;
        loop {
            let portion: Vec<Passage> = turns.take(PORTION).collect();
            if portion.is_empty() {
                return Ok(staged);
            }
            staged.add(Some(&self.made), &mut portion.into_iter())?;
        }
    }

    fn publish(&self, turns: Option<Staged>) -> Result<bool> {
        let mut publisher = Publisher::begin(&self.folder)?;
        publisher.vectors = Some(&self.made);
        publisher.graphs = Some(&HnswGraphs);
        let published = publisher.publish(Content {
            root: &self.folder,
            memories: &self.memories,
            passages: turns,
            start: &[],
            settings: &Settings::default(),
            now: Timestamp(0),
        })?;
        Ok(published.changed)
    }

    fn settle(&self) -> Result<()> {
        while settle(&self.folder, Some(&self.made), None, Timestamp(0))? {}
        Ok(())
    }

    fn turns(&self) -> Result<Vec<Segment>> {
        let index = Index::open(&self.folder)?.context("there is no index")?;
        Ok(index.passages().0)
    }
}

fn size(folder: &Path) -> Result<u64> {
    let files = std::fs::read_dir(folder)?;
    files.map(|file| Ok(file?.metadata()?.len())).sum()
}
