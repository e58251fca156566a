//! `throughline why`: what was put in front of the model, and why.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use memory_store::recall::Recall;
use memory_store::{MemoryId, short_session};

use super::reasons::{self, Occasion};
use super::receipts::{self, Receipt};
use super::stores::Stores;
use super::trace::{self, Detail, Trial};
use super::view::{self, plain};
use crate::clock;
use crate::failure::Result;
use crate::style::{NAME, QUIET, STRONG, paint};
use crate::world::World;

/// Answers where no session was given anything, or none whose id begins like `session`.
pub fn nothing(session: Option<&str>) -> String {
    match session {
        Some(session) => format!(
            "Nothing was given to a session whose id begins with {}. `throughline log` shows which ones there are.",
            plain(session)
        ),
        None => "Nothing was given to Claude in this project yet. `throughline why \"a prompt\"` shows what that would \
                 bring."
            .to_owned(),
    }
}

/// Explains why memories were given to Claude, or were not.
///
/// Without arguments, the last injections with their reasons. With a prompt, what it would bring, and why not more. With
/// the id of a memory, when it was given, and how it did at the last prompts.
#[derive(Debug, Args)]
pub struct Why {
    /// A prompt to try, or the id of a memory
    query: Vec<String>,
    /// Take the text as the path of a file that Claude reads or edits
    #[arg(long, requires = "query", conflicts_with = "error")]
    file: bool,
    /// Take the text as the output of a command that failed
    #[arg(long, requires = "query")]
    error: bool,
    /// How many injections, or memories that the text would not bring
    #[arg(long, short = 'n', default_value_t = 5, value_name = "COUNT", value_parser = super::count)]
    limit: usize,
    /// Only of the Claude Code session whose id begins like this
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Show the scores, too: what each is the sum of, and what the gate needed
    #[arg(long)]
    scores: bool,
    /// Print JSON, which has the scores
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Why, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let trial = match (args.file, args.error) {
        (true, _) => Trial::File,
        (_, true) => Trial::Error,
        (false, false) => Trial::Prompt,
    };
    if let (Trial::Prompt, [id]) = (trial, args.query.as_slice())
        && let Ok((_, stored)) = stores.find(id)
    {
        let detail = Detail { others: args.limit, scores: args.scores };
        return super::why_memory::run(&stored, detail, args.json, world, &stores, out);
    }
    if !args.query.is_empty() {
        return trace::run(
            &args.query.join(" "),
            trial,
            Detail { others: args.limit, scores: args.scores },
            args.json,
            world,
            &stores,
            out,
        );
    }
    let wanted = |receipt: &Receipt| {
        args.session.as_ref().is_none_or(|start| receipt.session.starts_with(start.as_str()))
    };
    let found = receipts::last(&world.dirs.tree(&stores.tree.root), args.limit, wanted);
    if args.json {
        return view::json(&found, out);
    }
    if found.is_empty() {
        return Ok(writeln!(out, "{}", nothing(args.session.as_deref()))?);
    }
    let titles = titles(&stores, world, &found)?;
    found.iter().try_for_each(|receipt| show(receipt, &titles, args.scores, out))?;
    writeln!(
        out,
        "{}",
        paint(
            QUIET,
            "`throughline why \"a prompt\"` tries a prompt, and says why it brings no more."
        )
    )?;
    Ok(())
}

/// Prints an injection with the reasons.
pub fn show(
    receipt: &Receipt,
    titles: &HashMap<MemoryId, String>,
    scores: bool,
    out: &mut dyn Write,
) -> Result {
    let occasion = Occasion::of_event(&receipt.event);
    let what = match receipt.memories.len() {
        0 => "where the work was left".to_owned(),
        count => view::plural(count, "memory"),
    };
    // Not every client of the MCP server has a session.
    let session = match plain(short_session(&receipt.session)) {
        session if session.is_empty() => String::new(),
        session => format!("session {session}, "),
    };
    let agent = if receipt.agent.is_some() { "in a subagent, " } else { "" };
    let took = match scores {
        true => format!(", {:.1} ms", receipt.micros as f64 / 1e3),
        false => String::new(),
    };
    writeln!(
        out,
        "{}  {} {}",
        clock::time(receipt.at),
        paint(STRONG, format_args!("Claude got {what} {}", occasion.when())),
        paint(
            QUIET,
            format_args!(
                "({session}{agent}{}{took})",
                view::plural(usize::try_from(receipt.tokens).unwrap_or(usize::MAX), "token"),
            )
        )
    )?;
    for given in &receipt.memories {
        let title = titles.get(&given.id).map_or(GONE, String::as_str);
        writeln!(out, "  {}  {}", paint(NAME, given.id.short()), plain(title))?;
        // An item that was asked for by its name or kind has no score.
        let score = match scores && given.score > 0.0 {
            true => paint(QUIET, format_args!(" (score {:.2})", given.score)),
            false => String::new(),
        };
        writeln!(out, "          {}{score}", plain(&reasons::given(&given.why, occasion, title)))?;
    }
    Ok(())
}

/// Stands for the title of a memory that is gone.
pub const GONE: &str = "(gone since)";

/// Returns the titles of the memories, and of the turns that were given.
pub fn titles(
    stores: &Stores,
    world: &World,
    receipts: &[Receipt],
) -> Result<HashMap<MemoryId, String>> {
    let memories = stores.list()?.memories.into_iter();
    let mut titles: HashMap<MemoryId, String> =
        memories.map(|stored| (stored.memory.id, stored.memory.title)).collect();
    add_turns(&mut titles, &Recall::open(&world.dirs, &stores.tree, None), receipts);
    Ok(titles)
}

/// Adds what turns that were given are called.
pub fn add_turns(titles: &mut HashMap<MemoryId, String>, recall: &Recall, receipts: &[Receipt]) {
    for given in receipts.iter().flat_map(|receipt| &receipt.memories) {
        if !titles.contains_key(&given.id)
            && let Some(turn) = recall.passage(given.id)
        {
            let session = turn.session.unwrap_or_default();
            let session = short_session(&session);
            titles.insert(given.id, format!("turn {} of session {session}", turn.turn + 1));
        }
    }
}
