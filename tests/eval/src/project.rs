//! Whole projects: sessions one after another, and what the real hooks give for the queries of a gold file.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use memory_store::Timestamp;
use serde::Serialize;

use crate::ask;
use crate::gold::{Gold, Query};
use crate::lines::Lines;
use crate::machine::Machine;
use crate::sealed::Sealed;
use crate::stage::Stage;
use crate::tell;

/// Processes a project's sessions one after another, asks the gold file's queries, and writes what
/// was stored and what would be injected, one JSON object a line.
#[derive(Debug, Args)]
pub struct Project {
    /// The gold file
    gold: PathBuf,
    /// Where the lines go
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// Extract with the LLM of your settings, too
    #[arg(long)]
    llm: bool,
    /// Keep the temporary home, and say where it is
    #[arg(long)]
    keep: bool,
}

/// One line of the run.
#[derive(Serialize)]
#[serde(untagged)]
enum RunLine<'a> {
    /// Answer to a query.
    Answer { query: &'a str, injected: &'a [String], text: &'a str },
    /// Memory that is stored at the end.
    Memory { memory: String, text: String, session: Option<String> },
}

/// Runs the measurement.
pub fn run(args: &Project, machine: &Machine) -> Result<()> {
    let start = Instant::now();
    let gold = Gold::read(&args.gold)?;
    let mut lines = Lines::create(&args.run)?;
    let stage = Stage::open(&gold)?;
    let sealed = Sealed::new(machine, &stage, args.llm)?;
    for session in &gold.sessions {
        let now = session.last;
        sealed.sync(&stage.put(&sealed.stage_dir(&session.id), &session.id)?, now)?;
        let asked = gold.queries.iter().filter(|query| query.after_session == session.id);
        asked.into_iter().try_for_each(|query| answer(&mut lines, &sealed, query, now))?;
    }
    let end = gold.sessions.last().map(|session| session.last).unwrap_or_default();
    // Queries after a session that is not in the list are asked at the end, like negatives.
    let known = |query: &Query| gold.sessions.iter().any(|known| known.id == query.after_session);
    for query in gold.queries.iter().filter(|query| !known(query)).chain(&gold.negatives) {
        answer(&mut lines, &sealed, query, end)?;
    }
    let stored = memories(&mut lines, &sealed)?;
    lines.end()?;
    if args.keep {
        tell(format_args!("kept in {}", sealed.keep().display()));
    }
    tell(format_args!(
        "{} sessions, {} memories, {} queries in {:.1} s: {}",
        gold.sessions.len(),
        stored,
        gold.queries.len() + gold.negatives.len(),
        start.elapsed().as_secs_f64(),
        args.run.display()
    ));
    Ok(())
}

fn answer(lines: &mut Lines<'_>, sealed: &Sealed, query: &Query, now: Timestamp) -> Result<()> {
    let answer = ask::ask(sealed, query, now)?;
    lines.write(&RunLine::Answer { query: &query.id, injected: &answer.pieces, text: &answer.text })
}

/// Writes all memories that are stored; returns how many.
fn memories(lines: &mut Lines<'_>, sealed: &Sealed) -> Result<usize> {
    let stored = sealed.memories()?;
    for memory in &stored {
        let text = format!("{}\n\n{}", memory.title, memory.body);
        lines.write(&RunLine::Memory {
            memory: memory.id.to_string(),
            text: text.trim_end().to_owned(),
            session: memory.source.session.clone(),
        })?;
    }
    Ok(stored.len())
}
