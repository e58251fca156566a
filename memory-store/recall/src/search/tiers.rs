//! Explicit search for memories, passages, or both.

use super::hit::{Hit, Recalled};
use super::memories::{NO_WORD, memories};
use super::passed_commands;
use super::reader::Recall;
use super::request::{Search, Tier};
use crate::passages;
use crate::query::expression::{self, Filter, Node};
use crate::query::shape::QueryShape;
use memory_store_base::kind::Kind;
use memory_store_base::time::Timestamp;

/// Number of hits of each tier that precede all other hits.
const FIRST_OF_TIER: usize = 5;
/// Place of a hit about a side of a comparison that the better hits do not mention.
const SIDE_PLACE: usize = 3;

/// Runs an explicit search in its tier.
pub(crate) fn search(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let mut recalled = in_tier(recall, search, now);
    recalled.shape = search.shape(now);
    if let Some(QueryShape::Comparison(sides)) = &recalled.shape {
        for side in sides {
            let of_side = Search { text: side.clone(), limit: 1, ..search.clone() };
            add_side(recall, &of_side, now, &mut recalled.hits);
        }
        recalled.hits.truncate(search.limit());
    }
    if recalled.hits.is_empty() {
        recalled.notes.retain(|note| note != NO_WORD);
    }
    recalled
}

fn in_tier(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    match search.tier {
        Tier::Memories => memories(recall, search, now),
        Tier::Passages | Tier::Thinking => passages::search::search(recall, search, now),
        Tier::Both => both(recall, search, now),
    }
}

/// Moves the best hit about one side of a comparison to the first hits, if none of them mentions it.
fn add_side(recall: &Recall, of_side: &Search, now: Timestamp, hits: &mut Vec<Hit>) {
    let mentions = |hit: &&Hit| {
        let text = format!("{} {}", hit.title, hit.text).to_lowercase();
        of_side.text.split(' ').all(|word| text.contains(word))
    };
    if hits.iter().take(FIRST_OF_TIER).any(|hit| mentions(&hit)) {
        return;
    }
    let found = in_tier(recall, of_side, now).hits;
    if let Some(hit) = found.iter().find(mentions) {
        hits.retain(|known| known.id != hit.id);
        hits.insert(hits.len().min(SIDE_PLACE), hit.clone());
    }
}

/// Returns memories and passages. A search for a tag, or for a kind that passages do not have, returns only memories.
fn both(recall: &Recall, search: &Search, now: Timestamp) -> Recalled {
    let mut recalled = memories(recall, search, now);
    if search.is_for_memories(now) {
        return recalled;
    }
    let of_passages = passages::search::search(recall, search, now);
    let mut memories = std::mem::take(&mut recalled.hits).into_iter();
    let mut passages = commands(recall, search, now).into_iter().chain(of_passages.hits);
    recalled.hits.extend(memories.by_ref().take(FIRST_OF_TIER));
    recalled.hits.extend(passages.by_ref().take(FIRST_OF_TIER));
    recalled.hits.extend(memories.chain(passages));
    recalled.hits.truncate(search.limit());
    for note in of_passages.notes {
        if !recalled.notes.contains(&note) {
            recalled.notes.push(note);
        }
    }
    recalled.degraded = recalled.degraded.or(of_passages.degraded);
    recalled
}

/// Returns the commands that succeeded in sessions and match a search; none if the search has conditions that commands
/// cannot satisfy.
fn commands(recall: &Recall, search: &Search, now: Timestamp) -> Vec<Hit> {
    let Ok(parsed) = expression::parse(&search.text, now, search.exact) else { return Vec::new() };
    let is_kind = |node: &Node| {
        let kinds = match node {
            Node::Any(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        kinds.contains(&Node::Filter(Filter::Kind(Kind::Command)))
    };
    let must = [search.filters(), parsed.must].concat();
    if parsed.operators || !must.iter().all(is_kind) || must.is_empty() && parsed.words.is_empty() {
        return Vec::new();
    }
    passed_commands::find(&recall.commands, &parsed.words, search.limit())
}
