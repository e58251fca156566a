//! Inputs of ranking, for fitting its numbers (`scripts/fit-recall`).

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use memory_store::embed::{Embed, Table, Transformer, Vector};
use memory_store::recall::Query;
use processor::progress;
use serde::Serialize;

use crate::lines::Lines;
use crate::machine::Machine;
use crate::set;
use crate::shelf::{Shelf, place};

/// Writes the inputs of ranking for a set: the terms, neighbouring words and vectors of its
/// memories and then of its queries, one JSON object a line.
#[derive(Debug, Args)]
pub struct Terms {
    /// The folder of the set: memories.jsonl and queries.jsonl
    set: PathBuf,
    /// Where the lines go
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Keep what the transformer makes of the memories here, for the next run
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// A memory. Terms and pairs are hashes.
#[derive(Serialize)]
struct Memory<'a> {
    group: usize,
    id: &'a str,
    /// Each term with its frequency.
    terms: &'a [(u64, u32)],
    pairs: &'a [u32],
    vector: Option<Vec<i8>>,
    /// Source session.
    session: Option<&'a str>,
}

/// A query.
#[derive(Serialize)]
struct TermsQuery<'a> {
    group: usize,
    id: &'a str,
    relevant: &'a [String],
    /// Each term with its rarity in technical text.
    terms: Vec<(u64, f32)>,
    paragraphs: &'a [Vec<u16>],
    pairs: Vec<u32>,
    table: Option<Vec<i8>>,
    transformer: Option<Vec<i8>>,
}

/// Runs the measurement.
pub fn run(args: &Terms, machine: &Machine) -> Result<()> {
    let models = machine.dirs.models.clone().unwrap_or_default();
    let (table, transformer) = (Table::open(&models)?, Transformer::open(&models)?);
    let mut shelf = Shelf::new(Some(models), args.cache.as_deref())?;
    let mut lines = Lines::create(&args.out)?;
    let progress = progress::for_stderr();
    for (number, group) in set::read(&args.set)?.iter().enumerate() {
        let documents = shelf.documents(number, &group.items, progress.as_ref())?;
        for document in &documents {
            let id = group.items.get(place(document.entry.id)).map_or("", |item| &item.id);
            let line = Memory {
                group: number,
                id,
                terms: &document.terms,
                pairs: &document.pairs,
                vector: document.vector.map(|embedded| components(embedded.vector)),
                session: document.record.session.as_deref(),
            };
            lines.write(&line)?;
        }
        for question in &group.questions {
            let query = Query::prompt(&question.text);
            let vector = |embedder: &dyn Embed| -> Result<_> {
                Ok(embedder.embed(&query.text)?.map(components))
            };
            let line = TermsQuery {
                group: number,
                id: &question.id,
                relevant: &question.relevant,
                terms: query.terms.iter().map(|term| (term.hash, term.background)).collect(),
                paragraphs: &query.paragraphs,
                pairs: query.pairs.iter().map(|pair| pair.hash).collect(),
                table: vector(&table)?,
                transformer: vector(&transformer)?,
            };
            lines.write(&line)?;
        }
    }
    progress.done();
    lines.end()
}

fn components(vector: Vector) -> Vec<i8> {
    vector.0.to_vec()
}
