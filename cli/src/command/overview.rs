//! `throughline` without a command: one screen about this project.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use memory_store::counts::{MemoryCounts, Standing};
use memory_store::memory::Memory;
use memory_store::{Kind, MemoryId, Timestamp};
use serde::Serialize;

use super::given::{GONE, GivenItems};
use super::receipts::{self, Receipt};
use super::review;
use super::review::Counts;
use super::status::{self, Summary};
use super::stores::Stores;
use super::view::{self, plain, plural};
use super::visit::Visit;
use crate::clock;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::style::{CARE, GOOD, NAME, QUIET, STRONG, paint};
use crate::world::World;
use crate::wrap;

/// Memories that are named as learned; all are counted.
const LEARNED_MAX: usize = 4;
/// Injections that are told.
const GIVEN_MAX: usize = 3;
/// Columns before the text of a line.
const LABEL_COLUMNS: usize = 12;
/// Columns of a time.
const TIME_COLUMNS: usize = 16;

/// One screen about a project.
#[derive(Serialize)]
struct Overview {
    set_up: bool,
    root: PathBuf,
    mode: &'static str,
    /// Memories of the project that are in force.
    memories: usize,
    #[serde(flatten)]
    counts: MemoryCounts,
    /// The last time that a person looked; without one all is new.
    since: Option<Timestamp>,
    /// Memories that came since.
    learned: Vec<Named>,
    review: Counts,
    injections: Vec<Injection>,
    last_sync: Option<Timestamp>,
    problems: Vec<String>,
    /// A command to try.
    next: &'static str,
    #[serde(skip)]
    next_means: &'static str,
}

/// A memory by its title.
#[derive(Serialize)]
struct Named {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: String,
}

/// An injection, and the titles of what was given.
#[derive(Serialize)]
struct Injection {
    at: Timestamp,
    event: String,
    session: String,
    tokens: u64,
    /// Of the memories that are still there.
    titles: Vec<String>,
    memories: usize,
}

/// The overview of a folder that is not set up.
#[derive(Serialize)]
struct Outside<'a> {
    set_up: bool,
    message: &'a str,
    hint: Option<&'a str>,
}

/// Runs it.
pub fn run(json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tree = match world.tree() {
        Ok(tree) => tree,
        Err(failure) if failure.code == exit::NOT_SET_UP => return outside(&failure, json, out),
        Err(failure) => return Err(failure),
    };
    let stores = Stores::at(world, tree)?;
    let summary = status::summarise(world, &stores)?;
    let last = Visit::last(world, &stores.tree);
    let mut standing = stores.list()?.memories;
    standing.retain(|stored| is_standing(&stored.memory, world.now));
    standing
        .sort_by_key(|stored| (std::cmp::Reverse(view::date(&stored.memory)), stored.memory.id));
    let ids: BTreeSet<MemoryId> = standing.iter().map(|stored| stored.memory.id).collect();
    let is_new = |id| last.as_ref().is_none_or(|last| !last.ids.contains(&id));
    let learned = standing.iter().filter(|stored| is_new(stored.memory.id)).map(|stored| Named {
        id: stored.memory.id,
        short: stored.memory.id.short(),
        kind: stored.memory.kind,
        title: stored.memory.title.clone(),
    });
    let review = review::counts(world, &stores)?;
    let problems = summary.problems();
    let (next, next_means) = next(&summary, &problems, &review);
    let overview = Overview {
        set_up: true,
        learned: learned.collect(),
        since: last.as_ref().map(|last| last.at),
        injections: injections(world, &stores)?,
        root: summary.root,
        mode: summary.mode,
        memories: summary.memories,
        counts: summary.counts,
        last_sync: summary.last_sync,
        review,
        problems,
        next,
        next_means,
    };
    if json {
        return view::json(&overview, out);
    }
    show(&overview, world, out)?;
    Visit::note(last.as_ref(), ids, world, &stores.tree);
    Ok(())
}

fn is_standing(memory: &Memory, now: Timestamp) -> bool {
    Standing::of(memory, now) == Standing::InForce
}

/// Says in three lines what to do.
fn outside(failure: &Failure, json: bool, out: &mut dyn Write) -> Result {
    if json {
        let (message, hint) = (&*failure.message, failure.hint.as_deref());
        view::json(&Outside { set_up: false, message, hint }, out)?;
    } else {
        writeln!(out, "{}.", failure.message)?;
        writeln!(out, "{}", failure.hint.as_deref().unwrap_or("Run `throughline init`."))?;
        writeln!(out, "{}", paint(QUIET, "`throughline --help` lists all commands."))?;
    }
    out.flush()?;
    Err(Failure::silent(exit::NOT_SET_UP))
}

fn injections(world: &World, stores: &Stores) -> Result<Vec<Injection>> {
    let receipts = receipts::last(&world.dirs.tree(&stores.tree.root), GIVEN_MAX, |_| true);
    let items = GivenItems::of(stores, world, &receipts)?;
    let title = |id| items.known_title(id).map(str::to_owned);
    Ok(receipts
        .into_iter()
        .map(|receipt: Receipt| Injection {
            titles: receipt.memories.iter().filter_map(|given| title(given.id)).collect(),
            memories: receipt.memories.len(),
            at: receipt.at,
            event: receipt.event,
            session: receipt.session,
            tokens: receipt.tokens,
        })
        .collect())
}

/// The command that helps most now, and what for.
fn next(summary: &Summary, problems: &[String], review: &Counts) -> (&'static str, &'static str) {
    if summary.off_by_variable {
        return ("unset THROUGHLINE", "end the silence of this environment");
    }
    if summary.off {
        return ("throughline on", "end the silence");
    }
    if summary.last_sync.is_none() {
        return ("throughline sync", "read the sessions that are there");
    }
    if !problems.is_empty() {
        return ("throughline doctor", "check every part, each with a remedy");
    }
    if review.waiting + review.stale + review.contradictions + review.held + review.new > 0 {
        return ("throughline review", "look at them, one key each");
    }
    if summary.memories == 0 {
        return ("throughline add \"we deploy with X\"", "tell it something, or work as usual");
    }
    ("throughline search \"words\"", "find what was learned")
}

fn show(overview: &Overview, world: &World, out: &mut dyn Write) -> Result {
    let root = view::folder(&overview.root, &world.home);
    let counts = &overview.counts;
    let kept = match (overview.mode, counts.held) {
        ("private", _) => "private".to_owned(),
        (_, 0) => "committed with the project".to_owned(),
        (_, held) => format!("committed with the project but for {held} held"),
    };
    let memories = plural(overview.memories, "memory");
    writeln!(out, "{}  {}\n", paint(STRONG, root), paint(QUIET, format!("{memories}, {kept}")))?;
    let kinds: Vec<String> = Kind::ALL
        .into_iter()
        .filter_map(|kind| Some(kind.counted(*counts.by_kind.get(kind.name())?)))
        .collect();
    let known = if kinds.is_empty() { "nothing yet".to_owned() } else { kinds.join(", ") };
    let yours = match counts.user_memories {
        0 => String::new(),
        count => format!("; {count} of yours for every project"),
    };
    line("Known", &format!("{known}{yours}"), out)?;
    learned(overview, world, out)?;
    line("Review", &to_review(&overview.review), out)?;
    given(overview, world, out)?;
    health(overview, world, out)?;
    writeln!(out)?;
    let command = paint(NAME, overview.next);
    line("Next", &format!("{command}  {}", paint(QUIET, overview.next_means)), out)
}

fn line(label: &str, text: &str, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "{}  {text}",
        paint(QUIET, format_args!("{label:<width$}", width = LABEL_COLUMNS - 2))
    )?;
    Ok(())
}

fn learned(overview: &Overview, world: &World, out: &mut dyn Write) -> Result {
    let since = match overview.since {
        Some(since) => clock::since(since, world.now),
        None => "so far".to_owned(),
    };
    let count = overview.learned.len();
    if count == 0 {
        return line("Learned", &format!("nothing {since}"), out);
    }
    line("Learned", &format!("{count} {since}"), out)?;
    let shown = &overview.learned[..count.min(LEARNED_MAX)];
    let widest = shown.iter().map(|named| named.kind.name().len()).max().unwrap_or_default();
    let room = wrap::room().saturating_sub(LABEL_COLUMNS + widest + 4);
    for named in shown {
        let title = wrap::cut(&plain(&named.title), room.saturating_sub(named.short.len()));
        let id = paint(NAME, &named.short);
        let kind = paint(QUIET, format_args!("{:<widest$}", named.kind.name()));
        line("", &format!("{id}  {kind}  {title}"), out)?;
    }
    if count > LEARNED_MAX {
        let more = format!("and {} more: `throughline list`", count - LEARNED_MAX);
        line("", &paint(QUIET, more), out)?;
    }
    Ok(())
}

fn to_review(counts: &Counts) -> String {
    let parts = [
        (counts.waiting, format!("{} pending", counts.waiting)),
        (counts.new, format!("{} not looked at yet", counts.new)),
        (counts.stale, format!("{} may be true no longer", counts.stale)),
        (counts.contradictions, plural(counts.contradictions, "undecided pair")),
        (counts.held, format!("{} held back", counts.held)),
        (counts.secrets, format!("{} with a known secret", counts.secrets)),
        (counts.by_claude, format!("{} by Claude", plural(counts.by_claude, "change"))),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    if parts.is_empty() { "nothing to review".to_owned() } else { parts.join(", ") }
}

fn given(overview: &Overview, world: &World, out: &mut dyn Write) -> Result {
    if overview.injections.is_empty() {
        return line("Given", "nothing to a session yet", out);
    }
    let room = wrap::room().saturating_sub(LABEL_COLUMNS);
    for (number, injection) in overview.injections.iter().enumerate() {
        let label = if number == 0 { "Given" } else { "" };
        let at = format!("{:<TIME_COLUMNS$}", clock::ago(injection.at, world.now));
        let tokens = plural(usize::try_from(injection.tokens).unwrap_or(usize::MAX), "token");
        let (titles, count) = (&injection.titles, injection.titles.len());
        let what = match titles.first() {
            None if injection.memories > 0 => GONE.to_owned(),
            None => "where the work was left".to_owned(),
            Some(title) if count == 1 => title.clone(),
            Some(title) => format!("{count}: {title}"),
        };
        let left = room.saturating_sub(at.len() + tokens.len() + 5);
        let what = wrap::cut(&plain(&what), left);
        let tokens = paint(QUIET, format_args!("({tokens})"));
        line(label, &format!("{}  {what} {tokens}", paint(QUIET, at)), out)?;
    }
    Ok(())
}

fn health(overview: &Overview, world: &World, out: &mut dyn Write) -> Result {
    let Some(first) = overview.problems.first() else {
        let last = match overview.last_sync {
            Some(at) => format!("last sync {}", clock::ago(at, world.now)),
            None => "no sync yet".to_owned(),
        };
        return line("Health", &format!("{}, {last}", paint(GOOD, "good")), out);
    };
    let more = match overview.problems.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more)"),
    };
    let room = wrap::room().saturating_sub(LABEL_COLUMNS + 2 + more.len());
    let problem = wrap::cut(&plain(first), room);
    line("Health", &format!("{} {problem}{more}", paint(CARE, "!")), out)
}
