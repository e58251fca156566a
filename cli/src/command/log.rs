//! `throughline log`: the last injections, one line each.

use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use memory_store::id::is_abbreviation;
use memory_store::short_session;
use processor::programs;

use super::why;
use crate::failure::Result;
use crate::receipts::{self, Follower, InjectionReceipt};
use crate::stores::Stores;
use crate::typed::DateRange;
use crate::view::given::GivenItems;
use crate::view::style::{NAME, QUIET, paint};
use crate::view::{self, clock, plain, wrap};
use crate::world::World;

/// Columns of the time and of the event.
const TIME_COLUMNS: usize = 15;
const EVENT_COLUMNS: usize = 7;

/// Interval of checks for new receipts.
const FOLLOW_EVERY: Duration = Duration::from_millis(250);

/// List recent injections into sessions
///
/// `throughline why` explains the injections.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Maximum number of injections
    #[arg(long, short = 'n', default_value_t = 20, value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    /// Only injections in this session
    #[arg(long, value_name = "ID", add = crate::complete::sessions())]
    session: Option<String>,
    #[command(flatten)]
    when: DateRange,
    /// Keep printing new injections until Ctrl-C is pressed
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Print JSON; with --follow, one object per line
    #[arg(long)]
    json: bool,
}

/// A receipt with the titles of the injected items.
pub struct LogEntry<'a> {
    receipt: &'a InjectionReceipt,
    /// Titles of memories, and names and first lines of passages, in the order of injection.
    pub titles: Vec<&'a str>,
}

/// Runs the command.
pub fn run(args: &LogArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let when = args.when.span(world.now)?;
    let wanted = |receipt: &InjectionReceipt| {
        when.has(receipt.at)
            && args.session.as_ref().is_none_or(|start| is_abbreviation(start, &receipt.session))
    };
    if args.follow {
        return follow(args, wanted, &stores, out);
    }
    let found = receipts::last(&stores.state(), args.limit, wanted);
    let items = GivenItems::of(&stores, &found)?;
    if args.json {
        let receipts = found.iter().map(|receipt| why::as_json(receipt, &items));
        view::json(&receipts.collect::<Vec<_>>(), out)?;
    } else {
        for receipt in &found {
            let entry = LogEntry::of(receipt, &items);
            writeln!(out, "{}", entry.line(clock::ago(receipt.at, world.now), wrap::room()))?;
        }
    }
    out.flush()?;
    let is_search = args.session.is_some() || args.when.is_given();
    why::found(&found, args.session.as_deref(), is_search)
}

/// Prints the last receipts of the newest day, oldest first, and then each new receipt. Ends when the output is closed.
fn follow(
    args: &LogArgs,
    wanted: impl Fn(&InjectionReceipt) -> bool,
    stores: &Stores,
    out: &mut dyn Write,
) -> Result {
    let mut follower = Follower::new(&stores.state());
    let mut is_first = true;
    while programs::has_reader() {
        let mut new = follower.next();
        new.retain(&wanted);
        if is_first {
            new.drain(..new.len().saturating_sub(args.limit));
        }
        is_first = false;
        if !new.is_empty() {
            let items = GivenItems::of(stores, &new)?;
            for receipt in &new {
                let line = match args.json {
                    true => why::as_json(receipt, &items).to_string(),
                    false => {
                        LogEntry::of(receipt, &items).line(clock::second(receipt.at), wrap::room())
                    }
                };
                writeln!(out, "{line}")?;
            }
            out.flush()?;
        }
        thread::sleep(FOLLOW_EVERY);
    }
    Ok(())
}

/// Returns the name of an event as shown to people.
pub fn occasion(event: &str) -> &str {
    match event {
        "SessionStart" => "start",
        "UserPromptSubmit" => "prompt",
        "PostToolUse" => "file",
        "PostToolUseFailure" => "error",
        "SubagentStart" => "agent",
        other => other,
    }
}

impl<'a> LogEntry<'a> {
    /// Looks up the titles of the items in a receipt.
    pub fn of(receipt: &'a InjectionReceipt, items: &'a GivenItems) -> Self {
        let given = receipt.memories.iter();
        Self { receipt, titles: given.map(|given| items.title(given.id)).collect() }
    }

    /// Returns a line of at most `columns` columns that begins with the time `at`.
    pub fn line(&self, at: String, columns: usize) -> String {
        let Self { receipt, titles } = self;
        let at = format!("{at:<TIME_COLUMNS$}");
        let event = format!("{:<EVENT_COLUMNS$}", plain(occasion(&receipt.event)));
        let cost = format!("{:>4} tokens", receipt.tokens);
        let what = match titles.as_slice() {
            [] => "where the work was left".to_owned(),
            [title] => (*title).to_owned(),
            [title, rest @ ..] => format!("{title} (+{})", rest.len()),
        };
        let session = plain(short_session(&receipt.session));
        let before = at.len() + event.len() + cost.len() + session.len() + 8;
        let what = wrap::cut(&plain(&what), columns.saturating_sub(before));
        format!(
            "{}  {event}  {}  {}  {what}",
            paint(QUIET, at),
            paint(NAME, session),
            paint(QUIET, cost)
        )
    }
}
