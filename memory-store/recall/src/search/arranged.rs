//! Order of the hits of an explicit search by the shape of its question.

use std::collections::HashMap;
use std::hash::Hash;

use super::hit::Hit;
use crate::index::document::turn_in_id;
use crate::query::shape::QueryShape;
use memory_store_base::memory::SaidBy;

/// Number of hits that are ordered, whatever the limit, because the next page must continue the same order.
pub(crate) const ARRANGED: usize = 30;
/// Number of leading hits that are ordered in another way, so that no hit becomes one of the first by its time or kind
/// alone.
const LEADING: usize = 5;
/// Maximum gap of these to the best score, as a fraction of that score.
const NEAR_BEST: f32 = 0.3;
/// Number of hits of each session or kind that precede the others.
const OF_EACH: usize = 2;
/// Number of hits of each kind but wishes that precede the others if a preference is asked for.
const BESIDE_WISHES: usize = 3;

/// Returns hits, best first, in the order for a shape. No hit is removed.
pub(crate) fn arranged(mut hits: Vec<Hit>, shape: Option<&QueryShape>) -> Vec<Hit> {
    let rest = hits.split_off(hits.len().min(ARRANGED));
    let leading = leading(&hits);
    let mut hits = match shape {
        Some(QueryShape::Latest) => {
            hits[..leading].sort_by_key(|hit| std::cmp::Reverse(hit.date));
            hits
        }
        Some(QueryShape::Preference) => {
            hits[..leading].sort_by_key(|hit| !is_wish(hit));
            spread(hits, BESIDE_WISHES, |hit| (!is_wish(hit)).then_some(hit.kind))
        }
        Some(QueryShape::List) => spread(hits, OF_EACH, |hit| hit.session.clone()),
        Some(QueryShape::Recommendation) => {
            spread(hits, OF_EACH, |hit| Some((hit.kind, hit.session.clone())))
        }
        Some(QueryShape::AsOf(_) | QueryShape::Comparison(_)) | None => hits,
    };
    hits.extend(rest);
    hits
}

/// Returns the number of leading hits near the best one. Scores of passages may be negative.
fn leading(hits: &[Hit]) -> usize {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    let is_near = |hit: &&Hit| hit.score >= best - NEAR_BEST * best.abs();
    hits.iter().take(LEADING).take_while(is_near).count()
}

/// Returns whether a hit is a wish, or a passage of the user.
fn is_wish(hit: &Hit) -> bool {
    hit.kind.is_wish() || hit.collection.is_of_sessions() && hit.said_by == Some(SaidBy::User)
}

/// Moves hits after the first `most` turns or memories with the same key to the end. Hits without a key keep their
/// place.
fn spread<K: Eq + Hash>(hits: Vec<Hit>, most: usize, key: impl Fn(&Hit) -> Option<K>) -> Vec<Hit> {
    let mut seen: HashMap<K, Vec<_>> = HashMap::new();
    let (mut first, later): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(|hit| {
        let Some(key) = key(hit) else { return true };
        let (seen, turn) = (seen.entry(key).or_default(), turn_in_id(hit.id));
        if !seen.contains(&turn) {
            seen.push(turn);
        }
        seen.iter().position(|known| *known == turn).is_some_and(|rank| rank < most)
    });
    first.extend(later);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    fn hit(id: u8, kind: Kind, day: i64, score: f32, session: &str) -> Hit {
        let mut hit = Hit::of_session(MemoryId([id; 16]), kind, Timestamp(day * 86_400_000));
        hit.score = score;
        hit.session = Some(session.to_owned());
        hit
    }

    fn ids(hits: &[Hit], shape: &QueryShape) -> Vec<u8> {
        arranged(hits.to_vec(), Some(shape)).iter().map(|hit| hit.id.0[0]).collect()
    }

    #[test]
    fn each_shape_has_its_order_and_keeps_all_hits() {
        let hits = [
            hit(1, Kind::Fact, 1, 1.0, "a"),
            hit(2, Kind::Fact, 3, 0.9, "a"),
            hit(3, Kind::Fact, 2, 0.8, "a"),
            hit(4, Kind::Preference, 9, 0.75, "b"),
            hit(5, Kind::Convention, 8, 0.2, "c"),
        ];
        assert_eq!(ids(&hits, &QueryShape::Latest), [4, 2, 3, 1, 5]);
        assert_eq!(ids(&hits, &QueryShape::List), [1, 2, 4, 5, 3]);
        assert_eq!(ids(&hits, &QueryShape::Preference), [4, 1, 2, 3, 5]);
        assert_eq!(ids(&hits, &QueryShape::Recommendation), [1, 2, 4, 5, 3]);
        assert_eq!(ids(&hits, &QueryShape::AsOf(Timestamp(0))), [1, 2, 3, 4, 5]);
        let negative = [hit(1, Kind::Fact, 1, -1.0, "a"), hit(2, Kind::Fact, 2, -1.2, "b")];
        assert_eq!(ids(&negative, &QueryShape::Latest), [2, 1]);
    }
}
