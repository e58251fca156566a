//! Measures whole projects: processes sessions one after another, and runs the real hooks for the queries of a gold
//! file.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use memory_store::Timestamp;
use serde::Serialize;

use crate::ask::{self, Answer};
use crate::gold::{Gold, Query};
use crate::lines::Lines;
use crate::machine::Machine;
use crate::passages;
use crate::print_to_stderr;
use crate::sealed::Sealed;
use crate::stage::Stage;

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
    /// Write what ranks and gates passages, for `scripts/fit-passages`
    #[arg(long, value_name = "FILE")]
    passages: Option<PathBuf>,
    /// Keep the temporary home, and say where it is
    #[arg(long)]
    keep: bool,
}

/// One line of the output.
#[derive(Serialize)]
#[serde(untagged)]
enum RunLine<'a> {
    /// The answer to a query.
    Answer { query: &'a str, injected: &'a [String], text: &'a str },
    /// The answer to a prompt that a person wrote.
    Real { real: &'a str, gold: bool, injected: &'a [String], text: &'a str },
    /// A memory that is stored at the end.
    Memory { memory: String, text: String, session: Option<String> },
}

/// Runs the measurement.
pub fn run(args: &Project, machine: &Machine) -> Result<()> {
    let start = Instant::now();
    let gold = Gold::read(&args.gold)?;
    let mut lines = Lines::create(&args.run)?;
    let mut features = args.passages.as_deref().map(Lines::create).transpose()?;
    let mut spoken = Spoken::default();
    let stage = Stage::open(&gold)?;
    let sealed = Sealed::new(machine, &stage, args.llm)?;
    for session in &gold.sessions {
        let now = session.last;
        sealed.sync(&stage.put(&sealed.stage_dir(&session.id), &session.id)?, now)?;
        let asked = gold.queries.iter().filter(|query| query.after_session == session.id);
        for query in asked {
            answer(&mut lines, &sealed, query, now)?;
            passages::write(features.as_mut(), &sealed, "query", query, now)?;
        }
        for prompt in gold.real.iter().filter(|prompt| prompt.after_session == session.id) {
            spoken.take(prompt, &real(&mut lines, &sealed, prompt, now)?);
            passages::write(features.as_mut(), &sealed, "real", prompt, now)?;
        }
    }
    let end = gold.sessions.last().map(|session| session.last).unwrap_or_default();
    // Queries after a session that is not in the list are run at the end, like the negatives.
    let known = |query: &Query| gold.sessions.iter().any(|known| known.id == query.after_session);
    for query in gold.queries.iter().filter(|query| !known(query)).chain(&gold.negatives) {
        answer(&mut lines, &sealed, query, end)?;
        passages::write(features.as_mut(), &sealed, "negative", query, end)?;
    }
    if features.is_some() {
        passages::background().try_for_each(|prompt| {
            passages::write(features.as_mut(), &sealed, "background", &prompt, end)
        })?;
    }
    features.map(Lines::end).transpose()?;
    let stored = memories(&mut lines, &sealed)?;
    lines.end()?;
    if args.keep {
        print_to_stderr(format_args!("kept in {}", sealed.keep().display()));
    }
    if !gold.real.is_empty() {
        print_to_stderr(spoken);
    }
    print_to_stderr(format_args!(
        "{} sessions, {} memories, {} queries in {:.1} s: {}",
        gold.sessions.len(),
        stored,
        gold.queries.len() + gold.negatives.len(),
        start.elapsed().as_secs_f64(),
        args.run.display()
    ));
    Ok(())
}

/// Counts of answers to prompts as people wrote them.
#[derive(Default)]
struct Spoken {
    /// For prompts without a query in the gold file: their number, the number with an answer, and the number with
    /// passages.
    others: [usize; 3],
    /// The same numbers for prompts from which a query was derived.
    gold: [usize; 3],
}

impl Spoken {
    fn take(&mut self, prompt: &Query, answer: &Answer) {
        let counts = if prompt.is_gold { &mut self.gold } else { &mut self.others };
        counts[0] += 1;
        counts[1] += usize::from(!answer.text.is_empty());
        counts[2] += usize::from(answer.text.contains(QUOTATIONS));
    }
}

/// Heading of the passages in an injection.
const QUOTATIONS: &str = "Quotations from earlier sessions";

impl Display for Spoken {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { others: [asked, spoke, quoted], gold } = self;
        write!(
            formatter,
            "real prompts: {spoke} of {asked} brought something, {quoted} passages; of {} that queries were taken from {}, {}",
            gold[0], gold[1], gold[2]
        )
    }
}

fn real(lines: &mut Lines<'_>, sealed: &Sealed, prompt: &Query, now: Timestamp) -> Result<Answer> {
    let answer = ask::ask(sealed, prompt, now)?;
    lines.write(&RunLine::Real {
        real: &prompt.id,
        gold: prompt.is_gold,
        injected: &answer.pieces,
        text: &answer.text,
    })?;
    Ok(answer)
}

fn answer(lines: &mut Lines<'_>, sealed: &Sealed, query: &Query, now: Timestamp) -> Result<()> {
    let answer = ask::ask(sealed, query, now)?;
    lines.write(&RunLine::Answer { query: &query.id, injected: &answer.pieces, text: &answer.text })
}

/// Writes all stored memories; returns how many there are.
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
