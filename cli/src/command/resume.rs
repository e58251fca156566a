//! `throughline resume`: finds a past session by its text and continues it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use clap::Args;
use memory_store::fs::process;
use memory_store::recall::{Hit, Search, Tier};
use memory_store::text::excerpt;
use memory_store::{Timestamp, short_session};
use serde::Serialize;

use super::search::incomplete;
use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::sessions::{PastSession, PastSessions, SessionFilter};
use crate::setup::claude::client;
use crate::setup::installation;
use crate::stores::Stores;
use crate::view::changes::line;
use crate::view::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, plain, plural, wrap};
use crate::world::World;

/// Maximum turns that the search returns; their sessions are listed.
const TURNS_MAX: usize = 200;
/// Columns before the text of a session.
const INDENT: usize = 4;

/// Find a past session and resume it
///
/// Searches the content and titles of sessions, and prints the command that resumes each match. At a terminal, asks
/// which session to resume. WORDS may contain the filters of `search`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Words to find in sessions [default: list the latest sessions]
    words: Vec<String>,
    /// Resume the best match, or the match with this number
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_missing_value = "1", allow_negative_numbers = true, value_parser = crate::typed::count)]
    run: Option<usize>,
    /// Maximum number of sessions
    #[arg(long, short = 'n', default_value_t = 5, value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    #[command(flatten)]
    sessions: SessionFilter,
    /// Print JSON
    #[arg(long, conflicts_with = "run")]
    json: bool,
}

/// A session that was found.
#[derive(Serialize)]
struct FoundSession {
    #[serde(flatten)]
    session: PastSession,
    /// Number of the session's turns that match.
    turns: usize,
    /// Number of the best matching turn, counted from 1, followed by the matching text in it.
    turn: u32,
    text: String,
    /// Time of the best matching turn.
    at: Timestamp,
    /// Command that resumes the session; `None` if its transcript no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// Runs the command.
pub fn run(args: &ResumeArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let words = args.words.join(" ");
    // The search must return enough results for the number in `--run`.
    let limit = args.limit.max(args.run.unwrap_or_default());
    let (found, damage) = find(&words, &args.sessions, limit, &stores)?;
    if let Some(number) = args.run {
        return match found.get(number - 1) {
            Some(found) => start(&found.session, world, out),
            None => Err(nothing(number, found.len())),
        };
    }
    if args.json {
        view::json(&found, out)?;
    } else {
        show(&found, world, out)?;
    }
    if let Some(damage) = damage {
        return Err(incomplete(&damage));
    }
    Failure::of_empty(found.is_empty())?;
    if args.json || !world.interactive || !world.is_seen {
        return Ok(());
    }
    out.flush()?;
    match pick(found.len())? {
        Some(number) => start(&found[number - 1].session, world, out),
        None => Ok(()),
    }
}

fn nothing(number: usize, count: usize) -> Failure {
    match count {
        0 => Failure::new("no session was found")
            .hint("Try fewer or other words, or `throughline sync` to read the latest sessions."),
        count => {
            Failure::new(format!("there is no number {number}, only {}", plural(count, "session")))
        }
    }
}

/// Finds the sessions with the best matching turns, best session first.
fn find(
    words: &str,
    filter: &SessionFilter,
    limit: usize,
    stores: &Stores,
) -> Result<(Vec<FoundSession>, Option<String>)> {
    let search = Search {
        text: words.to_owned(),
        exact: true,
        tier: Tier::Passages,
        limit: TURNS_MAX,
        ..Search::default()
    };
    if let Some(problem) = search.problem(stores.world.now) {
        return Err(Failure::new(problem).code(exit::USAGE));
    }
    let recall = stores.world.with_second(&stores.tree, stores.recall());
    let recalled = recall.search(&search, stores.world.now);
    let mut best: Vec<(Hit, BTreeSet<u32>)> = Vec::new();
    for hit in recalled.hits {
        let turn = hit.turn;
        match best.iter_mut().find(|(known, _)| known.session == hit.session) {
            Some((_, turns)) => drop(turns.insert(turn)),
            None => best.push((hit, BTreeSet::from([turn]))),
        }
    }
    let sessions = PastSessions::open(stores);
    let found = best.into_iter().filter_map(|(hit, turns)| {
        let session = sessions.of(hit.session.as_deref()?)?;
        if !filter.keeps(session) {
            return None;
        }
        let command = session.is_resumable.then(|| command(session, &stores.world.cwd));
        let text = excerpt(&line(&hit.text), words, TEXT_CHARS_MAX);
        let (turn, at) = (hit.turn + 1, hit.date);
        let session = session.clone();
        Some(FoundSession { session, turns: turns.len(), turn, text, at, command })
    });
    Ok((found.take(limit).collect(), recalled.degraded))
}

/// Maximum characters of the matching text.
const TEXT_CHARS_MAX: usize = 200;

/// Returns the shell command that resumes a session; the command is run in the folder `here`.
pub fn command(session: &PastSession, here: &Path) -> String {
    let resume = format!("claude --resume {}", session.session);
    if session.folder == here || session.folder.as_os_str().is_empty() {
        return resume;
    }
    format!("cd {} && {resume}", installation::word(&session.folder.to_string_lossy()))
}

fn show(found: &[FoundSession], world: &World, out: &mut dyn Write) -> Result {
    if found.is_empty() {
        view::remark(
            "No session was found; `throughline sync` says where sessions are looked for.",
        );
        return Ok(());
    }
    let room = wrap::room().saturating_sub(INDENT);
    for (number, found) in found.iter().enumerate() {
        let session = &found.session;
        let branch = match session.branch.as_str() {
            "" => String::new(),
            branch => format!(" on {}", plain(branch)),
        };
        writeln!(
            out,
            "{}  {}{branch}, {} {}",
            paint(STRONG, format_args!("{:>2}", number + 1)),
            clock::ago(session.last, world.now),
            plural(session.prompts, "prompt"),
            paint(QUIET, format_args!("({})", plain(short_session(&session.session)))),
        )?;
        let wish = wrap::cut(&plain(&session.subject()), room);
        if !wish.is_empty() {
            writeln!(out, "{:INDENT$}{wish}", "")?;
        }
        // The list already contains the text of the first turn.
        if found.turn > 1 {
            let text = format!("turn {}: {}", found.turn, found.text);
            writeln!(out, "{:INDENT$}{}", "", paint(QUIET, wrap::cut(&text, room)))?;
        }
        match &found.command {
            Some(command) => writeln!(out, "{:INDENT$}{}", "", paint(NAME, plain(command)))?,
            None => writeln!(
                out,
                "{:INDENT$}{}",
                "",
                paint(CARE, "its transcript is gone, so Claude Code cannot resume it")
            )?,
        }
    }
    Ok(())
}

/// Columns for a number that the user types after a colon.
const NUMBER_COLUMNS: usize = 6;

/// Asks for the number of a session; `None` if the user chooses none.
fn pick(count: usize) -> Result<Option<usize>> {
    let question = format!("Resume which one? 1 to {count}, empty for none");
    let chosen = ask::line(&question, NUMBER_COLUMNS, |typed| match typed.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(()),
        Err(_) if typed.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err(format!("write a number from 1 to {count}")),
    })?;
    Ok(chosen.parse().ok())
}

/// Replaces this process by Claude Code, which resumes the session in the session's folder.
fn start(session: &PastSession, world: &World, out: &mut dyn Write) -> Result {
    let id = short_session(&session.session);
    if !session.is_resumable {
        return Err(Failure::new(format!("the transcript of session {id} is gone")).hint(format!(
            "`throughline search --turns session:{id}` shows what was said in it."
        )));
    }
    if !session.folder.is_dir() {
        let folder = session.folder.display();
        return Err(Failure::new(format!("the folder of session {id} is gone: {folder}"))
            .code(exit::NOT_FOUND));
    }
    let Some(program) = client::find(world) else {
        return Err(Failure::new("`claude` is not in PATH")
            .hint(format!("Once it is: {}", command(session, &world.cwd))));
    };
    out.flush()?;
    let mut command = Command::new(&program);
    command.args(["--resume", &session.session]).current_dir(&session.folder);
    let error = process::replace_with(&mut command);
    Err(Failure::new(format!("{}: {error}", program.display())))
}
