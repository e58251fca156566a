//! Undecided pairs: memories that contradict each other, of which the newer one is injected, and memories that repeat
//! each other. All are kept until a person decides.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use memory_store::neighbour::{Verdict, undecided};
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;
use memory_store::{MemoryId, Timestamp};

use super::learned;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::Stores;
use crate::view;

/// Maximum pairs of a plain listing.
const LISTED_MAX: usize = 20;

/// Two memories of which most likely only one is needed.
pub struct UndecidedPair {
    /// The later one.
    pub newer: Stored,
    /// The earlier one.
    pub older: Stored,
    /// Relation of the newer one to the older one.
    pub verdict: Verdict,
}

/// Decision about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// Both are valid.
    Both,
    /// Only the newer one is valid.
    Newer,
    /// Only the older one is valid.
    Older,
}

/// Returns the undecided pairs, without withheld memories.
pub fn pairs(stores: &Stores, held: &BTreeSet<MemoryId>) -> Result<Vec<UndecidedPair>> {
    Ok(pairs_among(&stores.list()?.memories, stores, held, stores.world.now))
}

/// Finds undecided pairs among memories that were already read.
pub fn pairs_among(
    all: &[Stored],
    stores: &Stores,
    held: &BTreeSet<MemoryId>,
    now: Timestamp,
) -> Vec<UndecidedPair> {
    let reviewed = Reviewed::read(&stores.project.home);
    let counting = all.iter().filter(|stored| !held.contains(&stored.memory.id));
    let memories: BTreeMap<MemoryId, &Stored> =
        counting.map(|stored| (stored.memory.id, stored)).collect();
    let pairs = undecided(memories.values().map(|stored| &stored.memory), &reviewed, now);
    let pair = |id: MemoryId| memories.get(&id).map(|&stored| stored.clone());
    let pairs = pairs.into_iter().filter_map(|it| {
        Some(UndecidedPair { newer: pair(it.newer)?, older: pair(it.older)?, verdict: it.verdict })
    });
    pairs.collect()
}

/// Settles all pairs with this memory: either only it is valid, or both are.
pub fn settle_all(
    stores: &Stores,
    id: MemoryId,
    both: bool,
    held: &BTreeSet<MemoryId>,
    out: &mut dyn Write,
) -> Result {
    let mut pairs = pairs(stores, held)?;
    pairs.retain(|pair| pair.newer.memory.id == id || pair.older.memory.id == id);
    if pairs.is_empty() {
        return Err(Failure::new(format!("no pair with {} is undecided", id.short())));
    }
    for pair in &pairs {
        let settled = match (both, pair.newer.memory.id == id) {
            (true, _) => PairVerdict::Both,
            (false, true) => PairVerdict::Newer,
            (false, false) => PairVerdict::Older,
        };
        settle(stores, pair, settled, out)?;
    }
    Ok(())
}

/// Settles one pair.
pub fn settle(
    stores: &Stores,
    pair: &UndecidedPair,
    settled: PairVerdict,
    out: &mut dyn Write,
) -> Result {
    let UndecidedPair { newer, older, verdict: _ } = pair;
    let (winner, loser) = match settled {
        PairVerdict::Newer => (newer, older),
        PairVerdict::Older => (older, newer),
        PairVerdict::Both => {
            let (one, other) = (newer.memory.id, older.memory.id);
            learned::note(&stores.project, |reviewed| reviewed.note_both(one, other))?;
            for stored in [newer, older] {
                neighbours::refresh(stores, stored)?;
            }
            writeln!(out, "Both hold.")?;
            return Ok(());
        }
    };
    let drafts = stores.project.drafts()?.memories;
    let waits = drafts.iter().any(|draft| draft.memory.id == loser.memory.id);
    learned::supersede(stores, loser, waits, winner.memory.id, out)
}

/// Lists the pairs, for use without a terminal.
pub fn list(pairs: &[UndecidedPair], out: &mut dyn Write) -> Result {
    if pairs.is_empty() {
        return Ok(());
    }
    let differ = "that may contradict each other; sessions are given the newer one, labelled";
    let repeat = "of which one repeats the other";
    for (what, repeats) in [(differ, false), (repeat, true)] {
        let is_it = |pair: &&UndecidedPair| pair.verdict.repeats() == repeats;
        let pairs: Vec<&UndecidedPair> = pairs.iter().filter(is_it).collect();
        if pairs.is_empty() {
            continue;
        }
        writeln!(out, "{} {what}:\n", count(pairs.len()))?;
        for UndecidedPair { newer, older, verdict } in pairs.iter().take(LISTED_MAX) {
            view::line(&newer.memory, out)?;
            view::marked_line(
                &older.memory,
                &format!(" [the newer one {} this]", verdict.words()),
                out,
            )?;
        }
        if pairs.len() > LISTED_MAX {
            writeln!(out, "... and {} more", pairs.len() - LISTED_MAX)?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "`throughline review --prefer ID` lets that one replace the other side, `--both ID` keeps both sides.\n"
    )?;
    Ok(())
}

fn count(pairs: usize) -> String {
    match pairs {
        1 => "1 pair".to_owned(),
        pairs => format!("{pairs} pairs"),
    }
}
