//! `throughline why`: explains the injections into a session.

use std::io::Write;

use clap::Args;
use memory_store::id::is_abbreviation;
use memory_store::short_session;
use serde_json::{Value, json};

use self::reasons::InjectionOccasion;
use self::trace::{TraceDetail, Trial};
use crate::failure::{Failure, Result};
use crate::receipts::{self, InjectionReceipt};
use crate::stores::Stores;
use crate::view::given::GivenItems;
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, passage, plain};
use crate::world::World;

pub mod memory;
pub mod reasons;
pub mod trace;

/// Reports on stderr that there was no injection, in general or in the given session. If the command is a search, fails
/// like a search without results.
pub fn found(receipts: &[InjectionReceipt], session: Option<&str>, is_search: bool) -> Result {
    if !receipts.is_empty() {
        return Ok(());
    }
    view::remark(match session {
        Some(session) => format!(
            "Nothing was given to a session {}. `throughline log` lists the sessions.",
            plain(session)
        ),
        None if is_search => "Nothing was given to Claude in this time.".to_owned(),
        None => "Nothing was given to Claude in this project yet. `throughline why \"a prompt\"` shows what that would \
                 bring."
            .to_owned(),
    });
    Failure::of_empty(is_search)
}

/// Explain why memories were or were not injected
///
/// Without arguments, prints the last injections with their reasons. With a prompt, prints what it would inject. With
/// an id, prints when that memory was injected.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// Prompt to try, or id of a memory [default: explain the latest injections]
    query: Vec<String>,
    /// Treat QUERY as the path of a file that Claude reads or edits
    #[arg(long, requires = "query", conflicts_with = "error")]
    file: bool,
    /// Treat QUERY as the output of a failed command
    #[arg(long, requires = "query")]
    error: bool,
    /// Maximum number of injections; with QUERY, of memories that were not injected
    #[arg(long, short = 'n', default_value_t = 5, value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    /// Only injections in this session
    #[arg(long, value_name = "ID", add = crate::complete::sessions())]
    session: Option<String>,
    /// Print scores with their components, and the thresholds of the gate
    #[arg(long)]
    scores: bool,
    /// Print JSON, including scores
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &WhyArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let trial = match (args.file, args.error) {
        (true, _) => Trial::File,
        (_, true) => Trial::Error,
        (false, false) => Trial::Prompt,
    };
    let detail = TraceDetail { others: args.limit, scores: args.scores };
    if let (Trial::Prompt, [id]) = (trial, args.query.as_slice())
        && let Ok((_, stored)) = stores.find(id)
    {
        return memory::run(&stored, detail, args.json, &stores, out);
    }
    if !args.query.is_empty() {
        return trace::run(&args.query.join(" "), trial, detail, args.json, &stores, out);
    }
    let wanted = |receipt: &InjectionReceipt| {
        args.session.as_ref().is_none_or(|start| is_abbreviation(start, &receipt.session))
    };
    let found = receipts::last(&stores.state(), args.limit, wanted);
    let items = GivenItems::of(&stores, &found)?;
    if args.json {
        let receipts: Vec<Value> = found.iter().map(|receipt| as_json(receipt, &items)).collect();
        view::json(&receipts, out)?;
        out.flush()?;
    }
    self::found(&found, args.session.as_deref(), args.session.is_some())?;
    if args.json || found.is_empty() {
        return Ok(());
    }
    found.iter().try_for_each(|receipt| show(receipt, &items, args.scores, out))?;
    let mut given = found.iter().flat_map(|receipt| &receipt.memories);
    if let Some(hit) = given.find_map(|given| items.passage(given.id)) {
        let open = format!("`throughline show {}` prints a whole turn.", passage::name(hit));
        writeln!(out, "{}", paint(QUIET, plain(&open)))?;
    }
    Ok(writeln!(
        out,
        "{}",
        paint(
            QUIET,
            "`throughline why \"a prompt\"` tries a prompt, and says why it brings no more."
        )
    )?)
}

/// Returns a receipt with the short id, kind and title of each memory, and the text, speaker and position of each
/// passage.
pub fn as_json(receipt: &InjectionReceipt, items: &GivenItems) -> Value {
    let mut value = json!(receipt);
    let given = value["memories"].as_array_mut().into_iter().flatten();
    for (value, given) in given.zip(&receipt.memories) {
        match items.passage(given.id) {
            Some(hit) => {
                value["short"] = json!(passage::name(hit));
                value["kind"] = json!(hit.kind);
                value["session"] = json!(hit.session);
                value["turn"] = json!(hit.turn + 1);
                value["at"] = json!(hit.date);
                value["said_by"] = json!(hit.said_by);
                value["text"] = json!(hit.text);
            }
            None => {
                value["short"] = json!(given.id.short());
                value["kind"] = json!(items.kind(given.id));
                value["title"] = json!(items.known_title(given.id));
            }
        }
    }
    value
}

/// Columns before an item.
const INDENT: usize = 2;

/// Prints an injection and its reasons.
pub fn show(
    receipt: &InjectionReceipt,
    items: &GivenItems,
    scores: bool,
    out: &mut dyn Write,
) -> Result {
    let occasion = InjectionOccasion::of_event(&receipt.event);
    let what = items.counted(receipt);
    // Requests of some MCP clients contain no session id.
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
        let title = items.title(given.id);
        match items.passage(given.id) {
            Some(hit) => passage::show(hit, INDENT, out)?,
            None => writeln!(out, "  {}  {}", paint(NAME, given.id.short()), plain(title))?,
        }
        // An item that was requested by its name or kind has no score.
        let score = match scores && given.score > 0.0 {
            true => paint(QUIET, format_args!(" (score {:.2})", given.score)),
            false => String::new(),
        };
        let why = reasons::given(&given.why, occasion, title);
        writeln!(out, "          {}{score}", plain(&why))?;
    }
    Ok(())
}
