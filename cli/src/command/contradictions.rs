//! Memories that contradict each other: both are kept and given until a person says which one holds.

use std::collections::BTreeSet;
use std::io::Write;

use memory_store::MemoryId;
use memory_store::neighbour::CONTRADICTS;
use memory_store::reviewed::Reviewed;
use memory_store::store::Stored;

use super::learned;
use super::stores::Stores;
use super::view;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Pairs of a plain listing.
const LISTED_MAX: usize = 20;

/// Two memories of which most likely only one holds.
pub struct Pair {
    /// The memory that was seen to contradict the other, mostly the later one.
    pub newer: Stored,
    /// The memory that it contradicts.
    pub older: Stored,
}

/// Says which side of a pair holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Both do.
    Both,
    /// The newer one alone.
    Newer,
    /// The older one alone.
    Older,
}

/// Returns the pairs that nobody settled yet. What is held back is not among them.
pub fn pairs(stores: &Stores, held: &BTreeSet<MemoryId>) -> Result<Vec<Pair>> {
    Ok(pairs_among(&stores.list()?.memories, stores, held))
}

/// Finds them among memories that were read already.
pub fn pairs_among(all: &[Stored], stores: &Stores, held: &BTreeSet<MemoryId>) -> Vec<Pair> {
    let reviewed = Reviewed::read(&stores.project.home);
    let counts = |stored: &&Stored| {
        stored.memory.superseded_by.is_none() && !held.contains(&stored.memory.id)
    };
    let memories: Vec<&Stored> = all.iter().filter(counts).collect();
    let find = |id: MemoryId| memories.iter().find(|stored| stored.memory.id == id);
    let (mut pairs, mut known) = (Vec::new(), BTreeSet::new());
    for &newer in &memories {
        let links = newer.memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
        for &older in links.filter_map(|link| find(link.to)) {
            let ids = (newer.memory.id, older.memory.id);
            if !reviewed.hold_both(ids.0, ids.1)
                && known.insert((ids.0.min(ids.1), ids.0.max(ids.1)))
            {
                pairs.push(Pair { newer: newer.clone(), older: older.clone() });
            }
        }
    }
    pairs
}

/// Settles all pairs that have this memory on one side: it alone holds, or both do.
pub fn settle_all(
    world: &World,
    stores: &Stores,
    id: MemoryId,
    both: bool,
    held: &BTreeSet<MemoryId>,
    out: &mut dyn Write,
) -> Result {
    let mut pairs = pairs(stores, held)?;
    pairs.retain(|pair| pair.newer.memory.id == id || pair.older.memory.id == id);
    if pairs.is_empty() {
        return Err(Failure::new(format!("nothing is known to contradict {}", id.short())));
    }
    for pair in &pairs {
        let settled = match (both, pair.newer.memory.id == id) {
            (true, _) => Settled::Both,
            (false, true) => Settled::Newer,
            (false, false) => Settled::Older,
        };
        settle(world, stores, pair, settled, out)?;
    }
    Ok(())
}

/// Settles one pair.
pub fn settle(
    world: &World,
    stores: &Stores,
    pair: &Pair,
    settled: Settled,
    out: &mut dyn Write,
) -> Result {
    let Pair { newer, older } = pair;
    let (winner, loser) = match settled {
        Settled::Newer => (newer, older),
        Settled::Older => (older, newer),
        Settled::Both => {
            let (one, other) = (newer.memory.id, older.memory.id);
            learned::note(&stores.project, |reviewed| reviewed.note_both(one, other))?;
            writeln!(out, "Both hold.")?;
            return Ok(());
        }
    };
    let drafts = stores.project.drafts()?.memories;
    let waits = drafts.iter().any(|draft| draft.memory.id == loser.memory.id);
    learned::supersede(world, stores, loser, waits, winner.memory.id, out)
}

/// Lists the pairs for those who cannot be asked.
pub fn list(pairs: &[Pair], out: &mut dyn Write) -> Result {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} that may contradict each other; both sides are given:\n", count(pairs))?;
    for Pair { newer, older } in pairs.iter().take(LISTED_MAX) {
        view::line(&newer.memory, out)?;
        view::marked_line(&older.memory, " [the other side]", out)?;
    }
    if pairs.len() > LISTED_MAX {
        writeln!(out, "... and {} more", pairs.len() - LISTED_MAX)?;
    }
    writeln!(
        out,
        "\n`throughline review --prefer ID` lets that one replace what it contradicts, `--both ID` keeps both sides.\n"
    )?;
    Ok(())
}

fn count(pairs: &[Pair]) -> String {
    match pairs.len() {
        1 => "1 pair".to_owned(),
        pairs => format!("{pairs} pairs"),
    }
}
