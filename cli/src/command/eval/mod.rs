//! `throughline eval`: measures what is remembered and recalled, on transcripts with a gold file or
//! on the user's own history. Everything runs in a temporary home; with a gold file nothing of the
//! user's is read, and nothing of it is changed in any case.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::failure::{At as _, Failure, Result};
use crate::world::World;

mod ask;
mod gold;
pub mod own;
mod pairs;
mod retrieval;
mod sealed;
mod set;
mod shelf;
mod stage;
mod terms;

use gold::{Gold, Query};
use sealed::{Choices, Sealed};
use stage::Stage;

/// Measures what is remembered and recalled.
#[derive(Debug, Args)]
pub struct Eval {
    #[command(subcommand)]
    what: EvalKind,
}

#[derive(Debug, Subcommand)]
enum EvalKind {
    Project(Project),
    #[command(name = "self")]
    Own(own::Own),
    Retrieval(retrieval::Retrieval),
    Pairs(pairs::Pairs),
    Terms(terms::Terms),
}

/// Processes a project's sessions one after another, asks the gold file's queries, and writes what
/// was stored and what would be injected, one JSON object a line.
#[derive(Debug, Args)]
struct Project {
    /// The gold file
    gold: PathBuf,
    /// Where the lines go
    #[arg(long, value_name = "FILE")]
    run: PathBuf,
    /// Aim at this many stored memories
    #[arg(long, value_name = "COUNT", conflicts_with = "memories_per_session")]
    limit: Option<u32>,
    /// How many memories a session of average length leaves
    #[arg(long, value_name = "COUNT")]
    memories_per_session: Option<f32>,
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

/// Runs the command.
pub fn run(args: &Eval, world: &World, out: &mut dyn Write) -> Result {
    match &args.what {
        EvalKind::Project(args) => project(args, world),
        EvalKind::Own(args) => own::run(args, world, out),
        EvalKind::Retrieval(args) => retrieval::run(args, world),
        EvalKind::Pairs(args) => pairs::run(args),
        EvalKind::Terms(args) => terms::run(args, world),
    }
}

fn project(args: &Project, world: &World) -> Result {
    let start = Instant::now();
    let gold = Gold::read(&args.gold)?;
    let file = File::create(&args.run).at(&args.run)?;
    let mut lines = Lines { file: BufWriter::new(file), path: &args.run };
    let stage = Stage::open(&gold)?;
    let sealed = Sealed::new(world, &stage, &args.choices(&gold))?;
    for session in &gold.sessions {
        let now = session.last;
        sealed.sync(&stage.put(&sealed.stage_dir(&session.id), &session.id)?, now)?;
        let asked = gold.queries.iter().filter(|query| query.after_session == session.id);
        asked.into_iter().try_for_each(|query| lines.answer(&sealed, query, now))?;
    }
    let end = gold.sessions.last().map(|session| session.last).unwrap_or_default();
    // Queries after a session that is not in the list are asked at the end, like negatives.
    let known = |query: &Query| gold.sessions.iter().any(|known| known.id == query.after_session);
    for query in gold.queries.iter().filter(|query| !known(query)).chain(&gold.negatives) {
        lines.answer(&sealed, query, end)?;
    }
    let stored = lines.memories(&sealed)?;
    lines.file.flush().at(&args.run)?;
    if args.keep {
        say(format_args!("kept in {}", sealed.keep().display()));
    }
    say(format_args!(
        "{} sessions, {} memories, {} queries in {:.1} s: {}",
        gold.sessions.len(),
        stored,
        gold.queries.len() + gold.negatives.len(),
        start.elapsed().as_secs_f64(),
        args.run.display()
    ));
    Ok(())
}

/// Progress goes to stderr: stdout stays free for whatever scores the run.
fn say(text: std::fmt::Arguments<'_>) {
    // Nothing can be done about a closed stderr.
    let _ = writeln!(anstream::stderr(), "{text}");
}

impl Project {
    fn choices(&self, gold: &Gold) -> Choices {
        let sessions = gold.sessions.len().max(1) as f32;
        let of_limit = self.limit.map(|count| count as f32 / sessions);
        Choices { memories_per_session: self.memories_per_session.or(of_limit), llm: self.llm }
    }
}

struct Lines<'a> {
    file: BufWriter<File>,
    path: &'a std::path::Path,
}

impl Lines<'_> {
    fn answer(&mut self, sealed: &Sealed, query: &Query, now: memory_store::Timestamp) -> Result {
        let answer = ask::ask(sealed, query, now)?;
        let line =
            RunLine::Answer { query: &query.id, injected: &answer.pieces, text: &answer.text };
        self.write(&line)
    }

    fn memories(&mut self, sealed: &Sealed) -> Result<usize> {
        let stored = sealed.memories()?;
        for memory in &stored {
            let text = format!("{}\n\n{}", memory.title, memory.body);
            self.write(&RunLine::Memory {
                memory: memory.id.to_string(),
                text: text.trim_end().to_owned(),
                session: memory.source.session.clone(),
            })?;
        }
        Ok(stored.len())
    }

    fn write(&mut self, line: &RunLine<'_>) -> Result {
        let text = serde_json::to_string(line)
            .map_err(|error| Failure::new(format!("{}: {error}", self.path.display())))?;
        writeln!(self.file, "{text}").at(self.path)
    }
}
