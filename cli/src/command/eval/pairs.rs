//! `throughline eval pairs`: how alike two texts are, as recall sees it when it leaves out what says
//! the same.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;
use memory_store::recall::{SAME, likeness};
use serde::{Deserialize, Serialize};

use super::set;
use crate::failure::{At as _, Failure, Result};

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

/// Runs the command.
pub fn run(args: &Pairs) -> Result {
    let pairs: Vec<LabelledPair> = set::rows(&args.set.join("pairs.jsonl"))?;
    let mut file = BufWriter::new(File::create(&args.run).at(&args.run)?);
    let mut same = 0;
    for pair in &pairs {
        let score = likeness(&pair.a, &pair.b);
        same += usize::from(score >= SAME);
        let line = serde_json::to_string(&PairLine { id: &pair.id, score })
            .map_err(|error| Failure::new(format!("{}: {error}", args.run.display())))?;
        writeln!(file, "{line}").at(&args.run)?;
    }
    file.flush().at(&args.run)?;
    super::say(format_args!(
        "{} pairs, {same} of them the same (from {SAME} on): {}",
        pairs.len(),
        args.run.display()
    ));
    Ok(())
}
