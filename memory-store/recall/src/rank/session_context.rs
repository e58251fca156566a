//! Neighbours of a document in its session. Neighbouring documents mostly have the same subject, and often only one of
//! them names it.

use crate::index::record::Entry;
use crate::rank::candidate::Candidate;
use crate::search::sources::At;

/// Weights of a neighbouring document's words by its distance: for the previous and the next document, and for those
/// beyond them. They were fitted like those in `score.rs`.
const BESIDE: [f32; 2] = [0.32, 0.16];

/// Adds to each candidate a share of its neighbours' lexical scores. A neighbour that is not a candidate has too little
/// in common with the query to count.
pub(crate) fn add(candidates: &mut [Candidate]) {
    let mut known: Vec<(At, f32)> =
        candidates.iter().map(|candidate| (candidate.at, candidate.lexical)).collect();
    known.sort_unstable_by_key(|&(at, _)| at);
    let score =
        |at: At| known.binary_search_by_key(&at, |&(at, _)| at).map_or(0.0, |place| known[place].1);
    for candidate in candidates {
        let At { source, doc } = candidate.at;
        candidate.beside = share(&candidate.entry, doc, |doc| score(At { source, doc }));
    }
}

/// Returns the share of its neighbours' scores that a document gets. Only neighbours in the same session count.
fn share(entry: &Entry, doc: u32, score: impl Fn(u32) -> f32) -> f32 {
    let near = |count: u8| (1u32..).zip(BESIDE).take(usize::from(count));
    let before = near(entry.before).map(|(steps, weight)| (doc.checked_sub(steps), weight));
    let after = near(entry.after).map(|(steps, weight)| (doc.checked_add(steps), weight));
    before.chain(after).map(|(doc, weight)| weight * doc.map_or(0.0, &score)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::document::Document;
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use crate::query::Query;
    use crate::rank::score;
    use crate::search::sources::Sources;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::time::Timestamp;

    /// Returns for each document its lexical score and the gain from its neighbours.
    fn scores(said: &[(&str, &str)]) -> Vec<(f32, f32)> {
        let document = |(number, (session, title)): (i64, &(&str, &str))| {
            let session = Some((*session).to_owned()).filter(|session| !session.is_empty());
            let record = Record { title: (*title).to_owned(), session, ..Record::default() };
            let id = MemoryId::new(Timestamp(number), [0; 10]);
            Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record)
        };
        let documents: Vec<Document> = (0..).zip(said).map(document).collect();
        let bytes = testing::segment_bytes(&documents);
        let docs = documents.len() as u32;
        let segment = testing::open(Collection::Memories, bytes, docs, &[]).unwrap();
        let query = Query::search("copper basket");
        let sources = Sources::of_segment(segment);
        let mut found = score::candidates(&sources, &query, Timestamp(0));
        found.sort_by_key(|candidate| candidate.at);
        found.iter().map(|candidate| (candidate.lexical, candidate.beside)).collect()
    }

    #[test]
    fn words_count_for_what_stands_beside_them_in_the_session() {
        let of = scores(&[
            ("one", "copper anchor"),
            ("one", "basket falcon"),
            ("one", "copper garnet"),
            ("two", "basket island"),
            ("", "copper jasper"),
            ("", "copper kettle"),
        ]);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-5;
        assert!(close(of[0].1, BESIDE[0] * of[1].0 + BESIDE[1] * of[2].0), "{of:?}");
        assert!(close(of[1].1, BESIDE[0] * (of[0].0 + of[2].0)), "{of:?}");
        assert_eq!([of[3].1, of[4].1, of[5].1], [0.0; 3], "other sessions, and none");
    }
}
