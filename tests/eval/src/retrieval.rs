//! Writes the ranked results for the queries of a labelled set.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use memory_store::recall::{Features, Recall, Recalled, Search, Traced, background_prompts};
use memory_store::{Timestamp, settings_file};
use processor::progress;
use rayon::prelude::*;
use serde::Serialize;

use crate::lines::Lines;
use crate::machine::Machine;
use crate::print_to_stderr;
use crate::set::{self, Group, Question};
use crate::shelf::{Second, Shelf, Shelved, place};

/// Number of ids in a ranked result.
const PLACES: usize = 10;
/// Number of consecutive queries that one thread runs.
const QUERIES_AT_ONCE: usize = 64;

/// Asks the queries of a set, each within its group, and writes ranked lists of ten ids, one JSON
/// object a line.
#[derive(Debug, Args)]
pub struct Retrieval {
    /// The folder of the set: memories.jsonl and queries.jsonl
    set: PathBuf,
    /// Where the lines go
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// How it is searched
    #[arg(long, value_enum, default_value_t = Mode::Hooks)]
    mode: Mode,
    /// Keep what the transformer makes of the memories here, for the next run
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Only what would be injected: the gate, the places and the cut of a prompt
    #[arg(long)]
    gate: bool,
    /// Leave out memories that are later than the query
    #[arg(long)]
    as_of: bool,
    /// Ask each group the answerable queries of the next one: whatever passes the gate is wrong
    #[arg(long)]
    foreign: bool,
    /// Ask each group the prompts about other things that gates are calibrated with
    #[arg(long, conflicts_with = "foreign")]
    background: bool,
    /// Add the inputs of the gate for each candidate
    #[arg(long)]
    features: bool,
}

/// How a set is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// As hooks do, by words alone
    Lexical,
    /// As hooks do
    Hooks,
    /// As `throughline search` does
    Search,
    /// The same with the second space, by the model that `[embedder]` names, or nomic-embed-text
    Second,
}

/// One line of the output.
#[derive(Serialize)]
struct RetrievalLine<'a> {
    query: &'a str,
    ids: Vec<&'a str>,
    /// The scores of the ids.
    scores: Vec<f32>,
    /// Gate score of the memory that opens the gate most likely, and the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<Seen<'a>>,
}

/// Inputs of the gate for a candidate.
#[derive(Serialize)]
struct Seen<'a> {
    id: &'a str,
    fused: f32,
    cosine: Option<f32>,
    covered: f32,
    known: f32,
    second: f32,
}

impl<'a> Seen<'a> {
    fn new(group: &'a Group, traced: &Traced) -> Option<Self> {
        let Features { cosine, covered, known, second } = traced.features;
        let id = group.items.get(place(traced.id))?.id.as_str();
        Some(Self { id, fused: traced.fused, cosine, covered, known, second })
    }
}

/// A query and its time.
type TimedQuery<'a> = (&'a Question, Timestamp);

/// Runs the measurement.
pub fn run(args: &Retrieval, machine: &Machine) -> Result<()> {
    let start = Instant::now();
    let groups = set::read(&args.set)?;
    let models = machine.dirs.models.clone().filter(|_| args.mode != Mode::Lexical);
    let mut shelf = Shelf::new(models, args.cache.as_deref())?;
    let problem = Arc::new(Mutex::new(None));
    if args.mode == Mode::Second {
        let (mut settings, _) = settings_file::load(&machine.dirs, None);
        settings.embedder.get_or_insert_default();
        let (ollama_host, problem) = (machine.ollama_host.clone(), Arc::clone(&problem));
        shelf = shelf.with_second(Second { settings, ollama_host, problem });
    }
    let progress = progress::for_stderr();
    let memories: usize = groups.iter().map(|group| group.items.len()).sum();
    let mut lines = Lines::create(&args.run)?;
    let mut queries = 0;
    for (number, group) in groups.iter().enumerate() {
        let latest = group.items.iter().filter_map(|item| item.time).max();
        let now = latest.unwrap_or(machine.now);
        let shelved = shelf.put(number, &group.items, now, progress.as_ref())?;
        let background = background(number);
        let questions = if args.foreign {
            foreign(&groups, number)
        } else if args.background {
            background.iter().collect()
        } else {
            own(group)
        };
        let asked: Vec<TimedQuery<'_>> =
            questions.iter().map(|question| (*question, question.time.unwrap_or(now))).collect();
        progress.stage("asking", asked.len());
        let chunks: Vec<Vec<RetrievalLine<'_>>> = asked
            .par_chunks(QUERIES_AT_ONCE)
            .map(|asked| {
                let lines = args.lines(&shelved, group, asked);
                asked.iter().for_each(|_| progress.step());
                lines
            })
            .collect();
        chunks.iter().flatten().try_for_each(|line| lines.write(line))?;
        queries += asked.len();
    }
    if let Ok(Some(problem)) = problem.lock().as_deref() {
        bail!("the second space: {problem}");
    }
    lines.end()?;
    progress.done();
    print_to_stderr(format_args!(
        "{} groups, {memories} memories, {queries} queries in {:.1} s: {}",
        groups.len(),
        start.elapsed().as_secs_f64(),
        args.run.display()
    ));
    Ok(())
}

fn own(group: &Group) -> Vec<&Question> {
    group.questions.iter().collect()
}

/// Returns the answerable queries of the next group, which are foreign prompts for this group. The next group after the
/// last is the first.
fn foreign(groups: &[Group], number: usize) -> Vec<&Question> {
    let next = &groups[(number + 1) % groups.len()];
    next.questions.iter().filter(|question| !question.relevant.is_empty()).collect()
}

/// Returns the background prompts that calibrate the threshold, as queries of a group.
fn background(group: usize) -> Vec<Question> {
    let question = |(number, text): (usize, &str)| {
        Question::unanswerable(format!("background-{group}-{number}"), text.to_owned())
    };
    background_prompts().enumerate().map(question).collect()
}

impl Retrieval {
    /// Returns the output lines for some queries. Recall opens its files only once for all queries of the same time.
    fn lines<'a>(
        &self,
        shelved: &Shelved<'_>,
        group: &'a Group,
        asked: &[TimedQuery<'a>],
    ) -> Vec<RetrievalLine<'a>> {
        let mut recall = shelved.recall();
        recall.traces = true;
        asked
            .iter()
            .map(|&(question, now)| {
                if self.as_of {
                    recall = shelved.recall().as_of(now);
                    recall.traces = true;
                }
                self.line(group, question, &self.ask(&recall, &question.text, now))
            })
            .collect()
    }

    fn ask(&self, recall: &Recall, text: &str, now: Timestamp) -> Recalled {
        match self.mode {
            Mode::Lexical | Mode::Hooks if self.gate => recall.prompt(text, None, now, &|_| false),
            Mode::Lexical | Mode::Hooks => recall.ranked(text, now, PLACES),
            Mode::Search | Mode::Second => {
                let search = Search { text: text.to_owned(), limit: PLACES, ..Search::default() };
                recall.search(&search, now)
            }
        }
    }

    fn line<'a>(
        &self,
        group: &'a Group,
        question: &'a Question,
        recalled: &Recalled,
    ) -> RetrievalLine<'a> {
        let hits = || recalled.hits.iter().take(PLACES);
        let ids = hits().filter_map(|hit| Some(group.items.get(place(hit.id))?.id.as_str()));
        let best = recalled.trace.iter().max_by(|a, b| {
            (a.gate - a.threshold).total_cmp(&(b.gate - b.threshold)).then_with(|| b.id.cmp(&a.id))
        });
        // A memory that the query names directly has no threshold.
        let best = best.filter(|best| best.gate.is_finite() && best.threshold.is_finite());
        let traced = recalled.trace.iter().filter(|_| self.features);
        let seen = traced.filter_map(|traced| Seen::new(group, traced));
        RetrievalLine {
            query: &question.id,
            ids: ids.collect(),
            scores: hits().map(|hit| hit.score).collect(),
            gate: best.map(|best| best.gate),
            threshold: best.map(|best| best.threshold),
            candidates: seen.collect(),
        }
    }
}
