//! Measures whether the program joins pairs of names as their labels require.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use memory_store::embed::Table;
use memory_store::knowledge::entities::{Similarity, compare};
use memory_store::settings::KnowledgeSettings;

/// Prints precision and recall of joined names, and the pairs that are judged otherwise than they are labelled.
#[derive(Debug, Args)]
pub struct NamePairs {
    /// File with a pair in each line: name, name, `same` or `different`, separated by tabs
    file: PathBuf,
    /// Folder of the embedder's files
    #[arg(long, value_name = "DIR", default_value = "memory-store/assets")]
    models: PathBuf,
}

/// Runs the measurement with the default settings.
pub fn run(args: &NamePairs) -> Result<()> {
    let text = fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    let settings = KnowledgeSettings::default();
    let table = Table::load(&args.models)?;
    let by = Similarity { settings: &settings, embed: &|name| table.embed(name).ok().flatten() };
    let mut out = io::stdout().lock();
    let (mut right, mut wrong, mut missed) = (0_u32, 0_u32, 0_u32);
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[one, other, label, ..] = fields.as_slice() else {
            bail!("{}:{}: expected three fields", args.file.display(), number + 1);
        };
        let joined = compare(one, other, by);
        match (joined, label) {
            (Some(_), "same") => right += 1,
            (Some(stage), "different") => {
                wrong += 1;
                writeln!(out, "joined by {stage:?}: {one} | {other}")?;
            }
            (None, "same") => {
                missed += 1;
                writeln!(out, "not joined: {one} | {other}")?;
            }
            _ => {}
        }
    }
    let share = |of: u32| f64::from(right) / f64::from((right + of).max(1));
    writeln!(out, "precision {:.3}, recall {:.3}", share(wrong), share(missed))?;
    Ok(())
}
