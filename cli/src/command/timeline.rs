//! `throughline timeline`: shows the events of each day, open items, and handoffs.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use memory_store::handoff::Handoff;
use memory_store::ledger::Reason;
use memory_store::store::Stored;
use memory_store::{Kind, MemoryId, Timestamp, short_session};
use processor::extract::session_record::RejectedCall;
use processor::handoff::FORGOTTEN_DAYS;
use processor::session_records::{self, OpenItem, OpenKind, open_items};
use processor::transcript::Speaker;
use serde::Serialize;

use super::timeline_of;
use crate::failure::{Failure, Result};
use crate::sessions::{PastSession, PastSessions, SessionFilter, on_branch};
use crate::stores::Stores;
use crate::typed::DateRange;
use crate::view::style::{BAD, CARE, GOOD, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, plain, plural, wrap};
use crate::world::World;

/// Number of days shown by default.
const DAYS_SHOWN: usize = 7;
/// Number of events about a name shown by default.
const EVENTS_SHOWN: usize = 70;
/// Number of handoffs shown by default.
const HANDOFFS_SHOWN: usize = 3;

/// Show sessions and changes to memories by day
#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// Show the history of this name, such as Redis, instead of days
    #[arg(conflicts_with_all = ["open", "by", "handoff", "since", "until"])]
    name: Option<String>,
    /// Maximum number of days, or of sessions with --handoff, or of events with NAME
    /// [default: 7, 3 or 70]
    #[arg(long, short = 'n', value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: Option<usize>,
    /// List open questions, open tasks and failing commands, newest first
    #[arg(long, conflicts_with_all = ["limit", "by"])]
    open: bool,
    /// Print the state of the work after the latest sessions, as Markdown
    #[arg(long, conflicts_with_all = ["open", "by"])]
    handoff: bool,
    #[command(flatten)]
    sessions: SessionFilter,
    #[command(flatten)]
    when: DateRange,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Events of a day in the user's time zone.
#[derive(Default, Serialize)]
struct Day {
    day: String,
    sessions: Vec<ListedSession>,
    learned: Vec<MemoryChange>,
    replaced: Vec<MemoryChange>,
    forgotten: Vec<MemoryChange>,
}

/// A session, with the tool calls that the user rejected.
#[derive(Clone, Serialize)]
struct ListedSession {
    #[serde(flatten)]
    session: PastSession,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rejected: Vec<RejectedCall>,
}

/// A memory that was learned, changed or removed.
#[derive(Clone, Serialize)]
struct MemoryChange {
    at: Timestamp,
    id: MemoryId,
    short: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    title: String,
    /// Id of the memory that superseded this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<MemoryId>,
    /// Reason of the removal.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

impl MemoryChange {
    fn of(stored: &Stored, at: Timestamp) -> Self {
        let memory = &stored.memory;
        let (id, short, title) = (memory.id, memory.id.short(), memory.title.clone());
        Self { at, id, short, title, kind: Some(memory.kind), superseded_by: None, reason: None }
    }
}

/// Runs the command.
pub fn run(args: &TimelineArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    if let Some(name) = &args.name {
        let limit = args.limit.unwrap_or(EVENTS_SHOWN);
        return timeline_of::run(name, limit, args.json, &stores, out);
    }
    if args.open {
        return open(args, &stores, out);
    }
    if args.handoff {
        return handoff(args, &stores, out);
    }
    let days = days(args, &stores)?;
    if args.json {
        view::json(&days, out)?;
        return args.found(days.is_empty(), out);
    }
    if days.is_empty() {
        view::remark(match (args.when.is_given(), args.sessions.is_given()) {
            (true, false) => "Nothing happened in this time.",
            (true, true) => "Nothing happened in this time in such sessions.",
            (false, true) => "Nothing happened in such sessions.",
            (false, false) => {
                "Nothing happened here yet; `throughline sync` says where sessions are looked for."
            }
        });
    }
    days.iter().enumerate().try_for_each(|(number, day)| {
        if number > 0 {
            writeln!(out)?;
        }
        show(day, out)
    })?;
    args.found(days.is_empty(), out)
}

impl TimelineArgs {
    /// Fails like a search without results if the command is a search and its result is empty.
    fn found(&self, is_empty: bool, out: &mut dyn Write) -> Result {
        out.flush()?;
        Failure::of_empty(is_empty && (self.when.is_given() || self.sessions.is_given()))
    }
}

/// Lists the open items of sessions.
fn open(args: &TimelineArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let mut open =
        open_items(&session_records::read(&stores.world.dirs.project(stores.tree.project)));
    let when = args.when.span(stores.world.now)?;
    open.retain(|item| when.has(item.at));
    if args.json {
        view::json(&open, out)?;
        return args.found(open.is_empty(), out);
    }
    if open.is_empty() {
        let when = if args.when.is_given() { " in this time" } else { "" };
        view::remark(format_args!(
            "No session left a question, a task or a failing command open{when}."
        ));
    }
    for OpenItem { kind, text, session, at, branch } in &open {
        let kind = match kind {
            OpenKind::Question => "question",
            OpenKind::Task => "task",
            OpenKind::Failing => "failing",
        };
        let id = plain(short_session(session));
        let at = clock::date(*at);
        let branch = on_branch(branch);
        let room = wrap::room().saturating_sub(at.len() + id.len() + OPEN_COLUMNS + 6);
        let text = wrap::cut(&format!("{branch}{}", plain(text)), room);
        let kind = format!("{kind:<OPEN_COLUMNS$}");
        writeln!(out, "{}  {}  {}  {text}", paint(QUIET, at), paint(NAME, id), paint(CARE, kind))?;
    }
    args.found(open.is_empty(), out)
}

/// Prints the handoffs of the last sessions.
fn handoff(args: &TimelineArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let mut left = Handoff::read(&stores.state().handoff);
    let when = args.when.span(stores.world.now)?;
    left.sessions.retain(|session| when.has(session.last));
    left.sessions.truncate(args.limit.unwrap_or(HANDOFFS_SHOWN));
    if args.json {
        view::json(&left, out)?;
        return args.found(left.sessions.is_empty(), out);
    }
    if left.sessions.is_empty() {
        view::remark(format_args!(
            "No session of the last {FORGOTTEN_DAYS} days changed or left anything open here. `throughline sync` reads \
             new transcripts, `throughline timeline` shows all sessions."
        ));
    }
    left.sessions.iter().try_for_each(|session| view::handoff::show(session, out))?;
    args.found(left.sessions.is_empty(), out)
}

/// Columns of the kind of an open item.
const OPEN_COLUMNS: usize = 8;

fn days(args: &TimelineArgs, stores: &Stores) -> Result<Vec<Day>> {
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    let when = args.when.span(stores.world.now)?;
    let mut on = |at: Timestamp, add: &mut dyn FnMut(&mut Day)| {
        if !when.has(at) {
            return;
        }
        let day = clock::date(at);
        add(days.entry(day.clone()).or_insert_with(|| Day { day, ..Day::default() }));
    };
    let sessions = PastSessions::open(stores);
    for (session, record) in sessions.iter().filter(|(session, _)| args.sessions.keeps(session)) {
        let rejected = &record.rejected;
        let listed = ListedSession { session: session.clone(), rejected: rejected.clone() };
        on(session.last, &mut |day| day.sessions.push(listed.clone()));
    }
    // A memory without a session was added by a person. Only a person can forget such a memory.
    let speaker = |stored: &Stored| {
        let session = stored.memory.source.session.as_deref().and_then(|id| sessions.of(id));
        session.map_or(Speaker::Person, |session| session.speaker)
    };
    let is_kept = |stored: &&Stored| args.sessions.keeps_speaker(speaker(stored));
    let listing = stores.list()?;
    view::warn_broken(&listing.broken);
    let find = |id: MemoryId| listing.memories.iter().find(|stored| stored.memory.id == id);
    for stored in listing.memories.iter().filter(is_kept) {
        let at = stored.memory.created;
        on(at, &mut |day| day.learned.push(MemoryChange::of(stored, at)));
        if let Some(newer) = stored.memory.superseded_by.and_then(find) {
            // The older memory was replaced when the newer one was created, but not before its own creation.
            let at = newer.memory.created.max(at);
            let superseded_by = Some(newer.memory.id);
            on(at, &mut |day| {
                day.replaced.push(MemoryChange { superseded_by, ..MemoryChange::of(stored, at) })
            });
        }
    }
    let tombstones = stores.tombstones()?.into_iter();
    for gone in tombstones.filter(|_| args.sessions.keeps_speaker(Speaker::Person)) {
        let (at, id, reason) = (gone.at, gone.id, Some(gone.reason));
        let (short, title) = (id.short(), gone.title);
        let change = MemoryChange { at, id, short, title, kind: None, superseded_by: None, reason };
        on(at, &mut |day| day.forgotten.push(change.clone()));
    }
    let mut days: Vec<Day> =
        days.into_values().rev().take(args.limit.unwrap_or(DAYS_SHOWN)).collect();
    for day in &mut days {
        for changes in [&mut day.learned, &mut day.replaced, &mut day.forgotten] {
            changes.sort_by_key(|change| (change.at, change.id));
        }
    }
    Ok(days)
}

fn show(day: &Day, out: &mut dyn Write) -> Result {
    let counts = [
        (day.sessions.len(), plural(day.sessions.len(), "session")),
        (day.learned.len(), format!("{} learned", day.learned.len())),
        (day.replaced.len(), format!("{} replaced", day.replaced.len())),
        (day.forgotten.len(), format!("{} forgotten", day.forgotten.len())),
    ];
    let counts = view::counted(counts);
    writeln!(out, "{}  {}", paint(STRONG, &day.day), paint(QUIET, counts))?;
    for ListedSession { session, rejected } in &day.sessions {
        let id = plain(short_session(&session.session));
        let branch = on_branch(&session.branch);
        let room = wrap::room().saturating_sub(id.len() + 6);
        let wish = wrap::cut(&format!("{branch}{}", plain(&session.subject())), room);
        writeln!(out, "  > {}  {wish}", paint(NAME, id))?;
        for RejectedCall { tool, what } in rejected {
            let call = format!("rejected: {} {}", plain(tool), plain(what));
            writeln!(
                out,
                "      {}",
                paint(QUIET, wrap::cut(&call, wrap::room().saturating_sub(6)))
            )?;
        }
    }
    let changes = [
        (&day.learned, paint(GOOD, "+")),
        (&day.replaced, paint(CARE, "~")),
        (&day.forgotten, paint(BAD, "-")),
    ];
    for (changes, sign) in changes {
        for change in changes {
            let kind = change.kind.map(|kind| format!("{}: ", kind.name())).unwrap_or_default();
            let by =
                change.superseded_by.map(|by| format!(" (by {})", by.short())).unwrap_or_default();
            let room = wrap::room().saturating_sub(change.short.len() + by.len() + 6);
            let title = wrap::cut(&format!("{kind}{}", plain(&change.title)), room);
            writeln!(out, "  {sign} {}  {title}{}", paint(NAME, &change.short), paint(QUIET, by))?;
        }
    }
    Ok(())
}
