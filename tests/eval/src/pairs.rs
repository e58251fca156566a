//! Measures the similarity of two texts by which recall omits near-duplicates.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use memory_store::recall::{SAME, likeness};
use serde::{Deserialize, Serialize};

use crate::lines::Lines;
use crate::{print_to_stderr, set};

/// Writes how alike the two texts of each pair are, 0 to 1, one JSON object a line.
#[derive(Debug, Args)]
pub struct Pairs {
    /// The folder of the set: pairs.jsonl
    set: PathBuf,
    /// Where the lines go
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
}

#[derive(Deserialize)]
struct LabelledPair {
    id: String,
    a: String,
    b: String,
}

#[derive(Serialize)]
struct PairLine<'a> {
    id: &'a str,
    score: f32,
}

/// Runs the measurement.
pub fn run(args: &Pairs) -> Result<()> {
    let pairs: Vec<LabelledPair> = set::rows(&args.set.join("pairs.jsonl"))?;
    let mut lines = Lines::create(&args.run)?;
    let mut same = 0;
    for pair in &pairs {
        let score = likeness(&pair.a, &pair.b);
        same += usize::from(score >= SAME);
        lines.write(&PairLine { id: &pair.id, score })?;
    }
    lines.end()?;
    print_to_stderr(format_args!(
        "{} pairs, {same} of them the same (from {SAME} on): {}",
        pairs.len(),
        args.run.display()
    ));
    Ok(())
}
