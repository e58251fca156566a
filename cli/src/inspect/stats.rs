//! The numbers of `throughline status --stats`: memories learned, injections and costs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use memory_store::counts::Standing;
use memory_store::memory::Memory;
use memory_store::store::Listing;
use memory_store::{MemoryId, Timestamp};
use processor::extract::session_record::SessionRecord;
use processor::llm::usage::{self, Spent};
use serde::Serialize;

use crate::command::{blame, log};
use crate::failure::Result;
use crate::receipts::{self, InjectionReceipt};
use crate::sessions::PastSessions;
use crate::stores::Stores;
use crate::view::style::{QUIET, paint};
use crate::view::{self, clock, labelled as line, plural};
use crate::world::World;

/// Maximum number of sessions whose outcomes are examined; the latest sessions are used.
const SESSIONS_MAX: usize = 100;
/// Maximum months shown.
const MONTHS_MAX: usize = 12;
/// Columns of a bar.
const BAR_COLUMNS: usize = 30;

/// Numbers about a project.
#[derive(Serialize)]
pub struct Numbers {
    /// Active memories of the project and of the user.
    pub memories: usize,
    /// Memories of the user, which apply to all projects.
    pub user_memories: usize,
    by_kind: BTreeMap<&'static str, usize>,
    /// Number of existing memories by the month in which they were learned, in the user's time zone.
    by_month: BTreeMap<String, usize>,
    /// Memories that were superseded.
    pub replaced: usize,
    /// Expired memories.
    pub expired: usize,
    /// Memories with a tombstone.
    pub forgotten: usize,
    /// Injections into sessions.
    pub injections: Injections,
    /// Durations of hooks by event.
    pub hooks: BTreeMap<String, Latency>,
    /// Costs by provider and model, over all projects.
    models: BTreeMap<String, Spent>,
    /// Outcomes by memory, for reports.
    #[serde(skip)]
    pub by_memory: BTreeMap<MemoryId, Outcomes>,
}

/// Injections into sessions.
#[derive(Default, Serialize)]
pub struct Injections {
    /// Number of injections.
    pub count: usize,
    /// Time of the first injection.
    pub since: Option<Timestamp>,
    /// Number of sessions with an injection.
    pub sessions: usize,
    /// Total number of injected tokens.
    pub tokens: u64,
    /// Later actions in the sessions with injections.
    pub outcome: Outcomes,
}

/// Numbers of injections by the later actions of the session. The memory is not necessarily the cause of an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Number of injections of a memory into an archived session.
    pub given: usize,
    /// Injections after which the session read or edited a file that the memory names, or ran its command.
    pub followed: usize,
    /// Injections after which the session did neither.
    pub not_followed: usize,
    /// Injections of memories that name neither a file nor a command, or that no longer exist.
    pub unclear: usize,
}

/// Durations of hooks, in microseconds.
#[derive(Serialize)]
pub struct Latency {
    /// Number of measured injections.
    pub count: usize,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The maximum.
    pub max: u64,
}

/// Reads the memories of both stores and all receipts, and computes the numbers.
pub fn numbers(stores: &Stores) -> Result<Numbers> {
    let (project, user) = (stores.project.list()?, stores.user.list()?);
    let given = receipts::last(&stores.state(), usize::MAX, |_| true);
    numbers_of(&project, &user, &given, stores)
}

/// Computes the numbers from both stores and the receipts.
pub fn numbers_of(
    project: &Listing,
    user: &Listing,
    given: &[InjectionReceipt],
    stores: &Stores,
) -> Result<Numbers> {
    let counts = stores.counts(project, user, stores.world.now);
    let all: Vec<&Memory> =
        project.memories.iter().chain(&user.memories).map(|stored| &stored.memory).collect();
    let current = all.iter().filter(|memory| Standing::of(memory, stores.world.now).is_current());
    let (mut by_kind, mut by_month) = (BTreeMap::new(), BTreeMap::new());
    for memory in current {
        *by_kind.entry(memory.kind.name()).or_default() += 1;
        let day = clock::date(memory.created);
        let month = day.get(..7).unwrap_or(&day).to_owned();
        *by_month.entry(month).or_default() += 1;
    }
    let by_id: BTreeMap<MemoryId, &Memory> =
        all.iter().map(|memory| (memory.id, *memory)).collect();
    let mut models: BTreeMap<String, Spent> = BTreeMap::new();
    for spent in usage::spent(&usage::ledger(&stores.world.dirs)) {
        let sum = models.entry(spent.provider.clone()).or_default();
        sum.provider.clone_from(&spent.provider);
        sum.questions += spent.questions;
        sum.failed += spent.failed;
        sum.usage.tokens_in += spent.usage.tokens_in;
        sum.usage.tokens_out += spent.usage.tokens_out;
        sum.usage.millis += spent.usage.millis;
        if let Some(usd) = spent.usage.usd {
            *sum.usage.usd.get_or_insert_default() += usd;
        }
    }
    let by_memory = outcomes(given, &by_id, stores);
    Ok(Numbers {
        memories: counts.current(),
        user_memories: counts.user_memories,
        by_kind,
        by_month,
        replaced: counts.replaced,
        expired: counts.expired,
        forgotten: stores.tombstones()?.len(),
        hooks: latencies(given),
        injections: injections(given, by_memory.values()),
        models,
        by_memory,
    })
}

fn latencies(receipts: &[InjectionReceipt]) -> BTreeMap<String, Latency> {
    let mut by_event: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for receipt in receipts {
        by_event.entry(&receipt.event).or_default().push(receipt.micros);
    }
    by_event
        .into_iter()
        .filter_map(|(event, mut micros)| {
            micros.sort_unstable();
            let latency = Latency {
                count: micros.len(),
                p50: percentile(&micros, 50)?,
                p90: percentile(&micros, 90)?,
                p99: percentile(&micros, 99)?,
                max: *micros.last()?,
            };
            Some((event.to_owned(), latency))
        })
        .collect()
}

/// Returns the percentile by the nearest-rank method: the least value that is not smaller than `percent` percent of the
/// values.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn injections<'a>(
    receipts: &[InjectionReceipt],
    outcomes: impl Iterator<Item = &'a Outcomes>,
) -> Injections {
    let mut outcome = Outcomes::default();
    for of_memory in outcomes {
        outcome.given += of_memory.given;
        outcome.followed += of_memory.followed;
        outcome.not_followed += of_memory.not_followed;
        outcome.unclear += of_memory.unclear;
    }
    Injections {
        count: receipts.len(),
        since: receipts.last().map(|receipt| receipt.at),
        sessions: receipts.iter().map(|receipt| &receipt.session).collect::<BTreeSet<_>>().len(),
        tokens: receipts.iter().map(|receipt| receipt.tokens).sum(),
        outcome,
    }
}

/// Returns the outcomes of injections in the last sessions, by memory.
fn outcomes(
    receipts: &[InjectionReceipt],
    memories: &BTreeMap<MemoryId, &Memory>,
    stores: &Stores,
) -> BTreeMap<MemoryId, Outcomes> {
    let mut by_session: BTreeMap<&str, Vec<&InjectionReceipt>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for receipt in receipts {
        let of_session = by_session.entry(&receipt.session).or_default();
        if of_session.is_empty() {
            order.push(&receipt.session);
        }
        of_session.push(receipt);
    }
    let sessions = PastSessions::open(stores);
    let records: BTreeMap<&str, &SessionRecord> =
        sessions.iter().map(|(session, record)| (session.session.as_str(), record)).collect();
    let mut outcomes: BTreeMap<MemoryId, Outcomes> = BTreeMap::new();
    for session in order.iter().take(SESSIONS_MAX) {
        let Some(record) = records.get(session) else { continue };
        for receipt in by_session.get(session).into_iter().flatten() {
            for given in &receipt.memories {
                // Receipts also contain passages, which have no memory.
                let Some(memory) = memories.get(&given.id) else { continue };
                let followed = follows(memory, receipt.at, record);
                let outcome = outcomes.entry(given.id).or_default();
                outcome.given += 1;
                match followed {
                    Some(true) => outcome.followed += 1,
                    Some(false) => outcome.not_followed += 1,
                    None => outcome.unclear += 1,
                }
            }
        }
    }
    outcomes
}

/// Returns whether a session later used the files or the command of a memory; `None` if that cannot be determined.
fn follows(memory: &Memory, given: Timestamp, record: &SessionRecord) -> Option<bool> {
    let command = memory.command.as_ref().map(|command| command.line.as_str());
    if memory.paths.is_empty() && command.is_none() {
        return None;
    }
    let is_about = |path: &str| memory.paths.iter().any(|named| blame::names(&named.path, path));
    let mut files = record.files.iter().filter(|file| file.last >= given);
    let runs = record.commands.iter().chain(&record.failing);
    let mut runs = runs.filter(|run| run.last >= given);
    let is_run = |line: &str| command.is_some_and(|it| line.contains(it));
    Some(files.any(|file| is_about(&file.path)) || runs.any(|run| is_run(&run.line)))
}

/// Prints the numbers.
pub fn show(numbers: &Numbers, world: &World, out: &mut dyn Write) -> Result {
    let most = numbers.by_month.values().max().copied().unwrap_or_default().max(1);
    let months = numbers.by_month.len().saturating_sub(MONTHS_MAX);
    for (number, (month, count)) in numbers.by_month.iter().skip(months).enumerate() {
        let label = if number == 0 { "Learned" } else { "" };
        let bar = "#".repeat((count * BAR_COLUMNS).div_ceil(most));
        line(label, &format!("{month}  {bar} {count}"), out)?;
    }
    let Injections { count, since, sessions, tokens, outcome } = &numbers.injections;
    if *count == 0 {
        return models(numbers, out);
    }
    let since = since.map(|since| format!(" {}", clock::since(since, world.now)));
    let each = tokens.checked_div(*count as u64).map(|each| format!(", {each} each"));
    line(
        "Injected",
        &format!(
            "{} to {}{}, {tokens} tokens{}",
            plural(*count, "injection"),
            plural(*sessions, "session"),
            since.unwrap_or_default(),
            each.unwrap_or_default()
        ),
        out,
    )?;
    if outcome.given > 0 {
        let Outcomes { given, followed, not_followed, unclear } = outcome;
        line(
            "Followed",
            &format!(
                "{followed} of {given} memories: the session touched their file or ran their command"
            ),
            out,
        )?;
        line(
            "",
            &format!("{not_followed}: it did neither; {unclear}: they name no file or command"),
            out,
        )?;
    }
    if !numbers.hooks.is_empty() {
        let head = "            count     p50     p90     p99 slowest, in ms";
        line("Hooks", &paint(QUIET, head), out)?;
    }
    for (event, latency) in &numbers.hooks {
        let ms = |micros: u64| format!("{:>7.1}", micros as f64 / 1e3);
        let Latency { count, p50, p90, p99, max } = latency;
        let event = view::plain(log::occasion(event));
        let row =
            format!("{event:<10} {count:>6} {} {} {} {}", ms(*p50), ms(*p90), ms(*p99), ms(*max));
        line("", &row, out)?;
    }
    models(numbers, out)
}

fn models(numbers: &Numbers, out: &mut dyn Write) -> Result {
    if numbers.models.is_empty() {
        return line("Models", "none was asked", out);
    }
    for (number, (provider, spent)) in numbers.models.iter().enumerate() {
        let label = if number == 0 { "Models" } else { "" };
        let usd = spent.usage.usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
        let questions = plural(spent.questions as usize, "question");
        let (tokens, provider) = (spent.usage.tokens(), view::plain(provider));
        line(label, &format!("{provider}: {questions}, {tokens} tokens{usd}, all projects"), out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!([50, 90, 99].map(|it| percentile(&hundred, it)), [Some(50), Some(90), Some(99)]);
        assert_eq!([50, 90, 99].map(|it| percentile(&[3, 7], it)), [Some(3), Some(7), Some(7)]);
        assert_eq!(percentile(&[], 50), None);
    }
}
