//! Undecided pairs: memories that contradict each other, and memories that repeat each other. Both memories of a pair
//! are kept until a person decides; of two that contradict each other, the newer one is injected.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use memory_store::neighbour::{Verdict, undecided};
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;
use memory_store::{MemoryId, Timestamp};

pub use super::fact_conflicts::FactConflict;
use super::{fact_conflicts, learned};
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::Stores;
use crate::view;

/// Maximum pairs in a plain listing.
const LISTED_MAX: usize = 20;

/// Two memories of which most likely only one is needed.
pub struct UndecidedPair {
    /// The later memory.
    pub newer: Stored,
    /// The earlier memory.
    pub older: Stored,
    /// Relation of the newer memory to the older one.
    pub verdict: Verdict,
    /// Facts of the newer memory, each with the fact of the older memory that it excludes.
    pub facts: Vec<FactConflict>,
    /// Whether only facts of the two memories exclude each other, but not their statements.
    pub is_about_facts: bool,
}

/// Decision about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// Both are valid.
    Both,
    /// Only the newer memory is valid.
    Newer,
    /// Only the older memory is valid.
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
        let (newer, older) = (pair(it.newer)?, pair(it.older)?);
        let (facts, is_about_facts) = (Vec::new(), false);
        Some(UndecidedPair { newer, older, verdict: it.verdict, facts, is_about_facts })
    });
    let mut pairs: Vec<UndecidedPair> = pairs.collect();
    for (newer, older, conflict) in fact_conflicts::conflicts(&memories, stores) {
        let ids = [newer, older];
        let found = pairs.iter_mut().find(|pair| {
            let (newer, older) = (pair.newer.memory.id, pair.older.memory.id);
            ids.contains(&newer) && ids.contains(&older)
        });
        match (found, pair(newer), pair(older)) {
            (Some(found), _, _) => found.facts.push(conflict),
            (None, Some(newer), Some(older)) => pairs.push(UndecidedPair {
                newer,
                older,
                verdict: Verdict::NewerValue,
                facts: vec![conflict],
                is_about_facts: true,
            }),
            (None, _, _) => {}
        }
    }
    pairs
}

/// Settles all pairs that contain this memory: either only this memory is valid, or both are.
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
    let UndecidedPair { newer, older, .. } = pair;
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
    let has_more = !pair.facts.is_empty() && !fact_conflicts::end(stores, pair, settled, out)?;
    if pair.is_about_facts && has_more {
        return Ok(());
    }
    let drafts = stores.project.drafts()?.memories;
    let waits = drafts.iter().any(|draft| draft.memory.id == loser.memory.id);
    learned::supersede(stores, loser, waits, winner.memory.id, out)
}

/// Lists the pairs, for output without a terminal.
pub fn list(pairs: &[UndecidedPair], out: &mut dyn Write) -> Result {
    if pairs.is_empty() {
        return Ok(());
    }
    let differ = "that may contradict each other; sessions are given the newer one, labelled";
    let repeat = "of which one repeats the other";
    let facts = "with facts of which only one may be true";
    for (what, is_it) in [
        (
            differ,
            (|pair| pair.verdict.differs() && !pair.is_about_facts) as fn(&UndecidedPair) -> bool,
        ),
        (facts, |pair| pair.is_about_facts),
        (repeat, |pair| pair.verdict.repeats()),
    ] {
        let pairs: Vec<&UndecidedPair> = pairs.iter().filter(|pair| is_it(pair)).collect();
        if pairs.is_empty() {
            continue;
        }
        writeln!(out, "{} {what}:\n", count(pairs.len()))?;
        for UndecidedPair { newer, older, verdict, facts, .. } in pairs.iter().take(LISTED_MAX) {
            view::line(&newer.memory, out)?;
            view::marked_line(
                &older.memory,
                &format!(" [the newer one {} this]", verdict.words()),
                out,
            )?;
            facts.iter().try_for_each(|conflict| conflict.print(out))?;
        }
        if pairs.len() > LISTED_MAX {
            writeln!(out, "... and {} more", pairs.len() - LISTED_MAX)?;
        }
        writeln!(out)?;
    }
    Ok(writeln!(
        out,
        "`throughline review --prefer ID` lets that one replace the other side, `--both ID` keeps both sides.\n"
    )?)
}

fn count(pairs: usize) -> String {
    match pairs {
        1 => "1 pair".to_owned(),
        pairs => format!("{pairs} pairs"),
    }
}
