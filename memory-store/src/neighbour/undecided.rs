//! Undecided pairs: memories that contradict or repeat each other, until a person decides about them.
//!
//! Some of these pairs are linked in memory files. The other pairs are found by comparing the memories of people and
//! Claude with all other memories. The comparison is necessary because imports and edits by hand write no link.
//! Consolidation compares memories extracted from sessions, and asks a model if a model is available.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{CONTRADICTS, Statement, Verdict, judge};
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::{Memory, Status};
use crate::reviewed::Reviewed;
use crate::time::Timestamp;

/// Maximum number of memories of people and Claude that are compared; the latest are selected.
const COMPARED_MAX: usize = 2_000;
/// If this many titles contain a word, the word is not used to find pairs. Without this limit, titles that follow one
/// pattern would all be compared with each other.
const COMMON_FROM: usize = 64;

/// A pair of memories that no person has decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The later memory.
    pub newer: MemoryId,
    /// The earlier memory.
    pub older: MemoryId,
    /// Relation of the newer memory to the older one; never [`Verdict::Near`].
    pub verdict: Verdict,
    /// True if recall returns the newer memory instead of the older one. A memory that the user stated remains in force
    /// even if a note by Claude contradicts it.
    pub displaces: bool,
}

/// Returns the undecided pairs of a store, in the order of their ids.
pub fn undecided<'m>(
    memories: impl IntoIterator<Item = &'m Memory>,
    reviewed: &Reviewed,
    now: Timestamp,
) -> Vec<Undecided> {
    let mut current: Vec<&Memory> = memories.into_iter().collect();
    let all: BTreeSet<MemoryId> = current.iter().map(|memory| memory.id).collect();
    let replaced: BTreeSet<MemoryId> =
        current.iter().flat_map(|memory| memory.supersedes.iter().copied()).collect();
    current.retain(|memory| {
        matches!(memory.status, Status::Active | Status::Held)
            && memory.superseded_by.is_none()
            // It repeats the memories that it was made from.
            && memory.kind != Kind::Synthesis
            && !replaced.contains(&memory.id)
            && !memory.is_expired(now)
    });
    current.sort_by_key(|memory| (memory.when(), memory.id));
    current.dedup_by_key(|memory| memory.id);
    let places: BTreeMap<MemoryId, usize> =
        current.iter().enumerate().map(|(at, memory)| (memory.id, at)).collect();
    // If two memories have equal times, the memory with the link is the later one.
    let later = |one: usize, other: usize| {
        let is_later = current[one].when() >= current[other].when();
        if is_later { (one, other) } else { (other, one) }
    };
    let mut found: BTreeMap<(usize, usize), Option<Verdict>> = BTreeMap::new();
    for (at, memory) in current.iter().enumerate() {
        let links = memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
        for &other in links.filter_map(|link| places.get(&link.to)).filter(|other| **other != at) {
            let (newer, older) = later(at, other);
            // Of two that name each other and have equal times, the later one is that with the higher id.
            found.remove(&(older, newer));
            found.insert((newer, older), None);
        }
    }
    for (one, other) in reviewed.differing() {
        if let (Some(&one), Some(&other)) = (places.get(&one), places.get(&other)) {
            found.insert(later(one.max(other), one.min(other)), None);
        }
    }
    let statements: Vec<Statement> =
        current.iter().map(|memory| Statement::from(*memory)).collect();
    for (newer, older) in alike(&current, &statements) {
        let is_linked = found.contains_key(&(newer, older)) || found.contains_key(&(older, newer));
        let judged = || judge(&statements[newer], &statements[older]);
        let verdict = (!is_linked).then(judged).flatten();
        if let Some(verdict) = verdict.filter(|verdict| *verdict != Verdict::Near) {
            found.insert((newer, older), Some(verdict));
        }
    }
    let pairs = found.into_iter().filter_map(|((newer, older), verdict)| {
        let linked = || judge(&statements[newer], &statements[older]).filter(|it| it.differs());
        let verdict = verdict.or_else(linked).unwrap_or(Verdict::Contradiction);
        let (newer, older) = (current[newer], current[older]);
        let displaces = verdict.differs()
            && newer.agent == older.agent
            && (is_users(newer) || !is_users(older));
        (!reviewed.hold_both(newer.id, older.id)).then_some(Undecided {
            newer: newer.id,
            older: older.id,
            verdict,
            displaces,
        })
    });
    // A link may refer to a memory in another store, such as the user's own.
    let verdict = Verdict::Contradiction;
    let elsewhere = current.iter().flat_map(|memory| {
        let (all, newer) = (&all, memory.id);
        let links = memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
        let links = links
            .filter(move |link| !all.contains(&link.to) && !reviewed.hold_both(newer, link.to));
        links.map(move |link| Undecided { newer, older: link.to, verdict, displaces: false })
    });
    pairs.chain(elsewhere).collect()
}

/// Returns the pairs of memories whose titles have at least half of the words of the shorter title in common. At least
/// one memory of each pair is by a person or Claude.
fn alike(current: &[&Memory], statements: &[Statement]) -> BTreeSet<(usize, usize)> {
    let words: Vec<BTreeSet<u64>> =
        statements.iter().map(|statement| statement.clauses().title_keys().collect()).collect();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, words) in words.iter().enumerate() {
        words.iter().for_each(|word| places.entry(*word).or_default().push(at));
    }
    // Consolidation has already compared extracted memories with other extracted memories.
    let written = (0..current.len()).rev().filter(|&at| !current[at].source.is_of_reader());
    let mut pairs = BTreeSet::new();
    for at in written.take(COMPARED_MAX) {
        let places = words[at].iter().filter_map(|word| places.get(word));
        let others: BTreeSet<usize> =
            places.filter(|places| places.len() <= COMMON_FROM).flatten().copied().collect();
        let near = others.into_iter().filter(|&other| {
            let shared = words[at].intersection(&words[other]).count();
            // Memories for different subagents are not compared.
            other != at
                && current[at].agent == current[other].agent
                && shared * 2 >= words[at].len().min(words[other].len())
        });
        pairs.extend(near.map(|other| (at.max(other), at.min(other))));
    }
    pairs
}

fn is_users(memory: &Memory) -> bool {
    memory.source.is_users() && !memory.source.is_noted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use crate::memory::Source;
    use crate::memory::{Relation, SaidBy};

    fn memory(number: u8, title: &str) -> Memory {
        let at = Timestamp(i64::from(number) * 1_000);
        Memory::new(MemoryId::new(at, [number; 10]), Kind::Fact, title, "", at)
    }

    fn pairs(memories: &[Memory], reviewed: &Reviewed) -> Vec<(u8, u8, Verdict, bool)> {
        let number = |id: MemoryId| id.0[15];
        let undecided = undecided(memories, reviewed, Timestamp(100_000));
        undecided
            .iter()
            .map(|pair| (number(pair.newer), number(pair.older), pair.verdict, pair.displaces))
            .collect()
    }

    #[test]
    fn pairs_are_found_without_links_and_only_until_somebody_decides() {
        let mut memories = [
            memory(3, "Releases go out on Fridays"),
            memory(1, "Each release goes out on a Thursday"),
            memory(2, "The parser is slow"),
        ];
        let found = vec![(3, 1, Verdict::NewerValue, true)];
        let nobody = Reviewed::default();
        assert_eq!(pairs(&memories, &nobody), found);
        let mut both = Reviewed::default();
        both.note_both(memories[0].id, memories[1].id);
        assert_eq!(pairs(&memories, &both), []);
        memories[0].supersedes = vec![memories[1].id];
        assert_eq!(pairs(&memories, &nobody), []);
    }

    #[test]
    fn a_memory_of_a_subagent_hides_none_of_others() {
        let mut memories =
            [memory(1, "Releases go out on Thursdays"), memory(2, "Releases go out on Fridays")];
        memories[1].agent = Some("reviewer".to_owned());
        assert_eq!(pairs(&memories, &Reviewed::default()), []);
        let to = memories[0].id;
        memories[1].relations = vec![Relation { kind: CONTRADICTS.into(), to }];
        let found = pairs(&memories, &Reviewed::default());
        assert_eq!(found, [(2, 1, Verdict::NewerValue, false)]);
    }

    #[test]
    fn titles_of_one_pattern_are_not_all_compared() {
        let title = |number: u8| memory(number, &format!("Part {number} of the parser is kept"));
        let mut memories: Vec<Memory> = (0..=COMMON_FROM as u8).map(title).collect();
        memories.push(memory(100, "Releases go out on Thursdays"));
        memories.push(memory(101, "Releases go out on Fridays"));
        let found = pairs(&memories, &Reviewed::default());
        assert_eq!(found, [(101, 100, Verdict::NewerValue, true)]);
    }

    #[test]
    fn what_sessions_were_read_for_is_linked_or_not_at_all() {
        let mut memories =
            [memory(1, "Releases go out on Thursdays"), memory(2, "Releases go out on Fridays")];
        for memory in &mut memories {
            memory.source.extractor = Some("ollama/a".into());
        }
        assert_eq!(pairs(&memories, &Reviewed::default()), []);
        // The later memory is the newer one, even if the earlier file contains the link.
        let to = memories[1].id;
        memories[0].relations = vec![Relation { kind: CONTRADICTS.into(), to }];
        assert_eq!(pairs(&memories, &Reviewed::default()), [(2, 1, Verdict::NewerValue, true)]);
        // Two of one time that link each other are one pair.
        memories[1].created = memories[0].created;
        let to = memories[0].id;
        memories[1].relations = vec![Relation { kind: CONTRADICTS.into(), to }];
        assert_eq!(pairs(&memories, &Reviewed::default()), [(2, 1, Verdict::NewerValue, true)]);
        memories[1].relations.clear();
        memories[0].source.extractor = None;
        memories[0].relations.clear();
        assert_eq!(pairs(&memories, &Reviewed::default()).len(), 1);
    }

    #[test]
    fn a_note_by_claude_leaves_the_users_statement_in_force() {
        let mut memories =
            [memory(1, "Releases go out on Thursdays"), memory(2, "Releases go out on Fridays")];
        memories[1].source.extractor = Some(Source::NOTED.into());
        memories[1].source.said_by = Some(SaidBy::Assistant);
        let found = pairs(&memories, &Reviewed::default());
        assert_eq!(found, [(2, 1, Verdict::NewerValue, false)]);
    }
}
