//! Search for the nearest vectors of a source, in its segment and its journal.

use crate::embed::{Space, Vector};
use crate::index::clusters::nearest_in_clusters;
use crate::index::hub;
use crate::index::segment::Segment;
use crate::index::vectors::{Embedded, Near, nearest};
use crate::search::sources::{IndexSource, Sources, Way};
use memory_store_base::error::Error;
use memory_store_base::settings::IndexSearch;

/// One in this many documents is compared in small clusterings. `scripts/bench index --passages` measures the recall.
const CLUSTERED_SHARE: u32 = 4;

/// A query's vector and its space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probe {
    /// Space of the vector.
    pub space: Space,
    /// The vector.
    pub vector: Vector,
}

/// Similarities of a source's vectors to a query.
#[derive(Debug, Default)]
pub(crate) struct Nearest {
    /// The nearest documents, nearest first. Documents that the journal replaced are included, as in the candidates by
    /// words.
    pub best: Vec<Near>,
    /// All documents of the segment in order, if all of them were compared.
    all: Option<Vec<Near>>,
}

/// Returns for each source the `count` documents whose vectors are nearest to the query's, among those that the cost
/// limits allow to compare. Sources with clusters share one limit.
pub(crate) fn of_all(sources: &Sources, probe: &Probe, count: usize) -> Vec<Nearest> {
    let ways = sources.ways();
    let alone = |(source, way): (&IndexSource, &Option<Way>)| match way {
        Some(Way::Alone(search)) => source.nearest(sources, probe, count, *search),
        Some(Way::Clusters) | None => Nearest::default(),
    };
    let mut all: Vec<Nearest> = sources.list.iter().zip(&ways).map(alone).collect();
    let segments = (0..).zip(&sources.list).zip(&ways).filter_map(|((place, source), way)| {
        let segment = (*way == Some(Way::Clusters)).then(|| source.comparable(sources, probe));
        Some((place, segment??))
    });
    let (places, segments): (Vec<usize>, Vec<&Segment>) = segments.unzip();
    let docs: u32 = segments.iter().map(|segment| segment.docs()).sum();
    let compared = sources.effort.clustered.min(docs / CLUSTERED_SHARE);
    match nearest_in_clusters(&segments, &probe.vector, compared, count) {
        Ok(found) => found.into_iter().for_each(|(at, near)| all[places[at]].best.push(near)),
        // A segment is damaged, so each is searched alone, and damaged ones are skipped.
        Err(error) => {
            sources.note(&error);
            for place in places {
                let source = &sources.list[place];
                all[place] = source.nearest(sources, probe, count, IndexSearch::Scan);
            }
        }
    }
    all
}

impl IndexSource {
    /// Returns the `count` documents whose vectors are nearest to the query's.
    pub(crate) fn nearest(
        &self,
        sources: &Sources,
        probe: &Probe,
        count: usize,
        search: IndexSearch,
    ) -> Nearest {
        let keep = count.saturating_add(sources.hidden());
        let (mut best, mut all) = (Vec::new(), None);
        if let Some(segment) = self.comparable(sources, probe) {
            let mut find = |search| {
                all = segment.nearness(&probe.vector, search)?;
                match &all {
                    Some(all) => Ok(nearest(all, keep)),
                    None => segment.nearest(&probe.vector, keep, search),
                }
            };
            let noted = |error: Error| sources.note(&error);
            let found = match find(search).map_err(noted) {
                // If the graph is damaged, all vectors are compared.
                Err(()) if search == IndexSearch::Graph => find(IndexSearch::Scan).map_err(noted),
                found => found,
            };
            best = found.unwrap_or_default();
        }
        if !self.loose.is_empty() {
            let first = self.segment().map_or(0, Segment::docs);
            let loose = (first..).zip(&self.loose);
            best.extend(
                loose.filter_map(|(doc, document)| {
                    loose_near(probe, doc, document.vector.as_ref()?)
                }),
            );
            best = nearest(&best, keep);
        }
        Nearest { best, all }
    }

    /// Returns the cosines of some documents, taken from `known` where possible; `None` for a document without a vector
    /// in the query's space.
    pub(crate) fn cosines(
        &self,
        sources: &Sources,
        probe: &Probe,
        known: &Nearest,
        docs: &[u32],
    ) -> Vec<Option<Near>> {
        let first = self.segment().map_or(0, Segment::docs);
        let stored: Vec<u32> = match known.all {
            Some(_) => Vec::new(),
            None => docs.iter().copied().filter(|&doc| doc < first).collect(),
        };
        let segment = self.comparable(sources, probe);
        let mut stored = segment.map_or_else(Vec::new, |segment| {
            let cosines = |docs: &[u32]| segment.cosines(&probe.vector, docs);
            cosines(&stored).unwrap_or_else(|_| {
                // At least one of the vectors is damaged, so each is read alone.
                let each = |doc: &u32| cosines(&[*doc]).map_err(|error| sources.note(&error));
                stored.iter().flat_map(|doc| each(doc).unwrap_or(vec![None])).collect()
            })
        });
        stored.reverse();
        let mut look_up = |&doc: &u32| {
            if let Some(loose) = doc.checked_sub(first) {
                return loose_near(probe, doc, self.loose.get(loose as usize)?.vector.as_ref()?);
            }
            match &known.all {
                Some(all) => Some(all[all.binary_search_by_key(&doc, |near| near.doc).ok()?]),
                None => stored.pop().flatten(),
            }
        };
        docs.iter().map(&mut look_up).collect()
    }

    /// Returns the segment if its vectors are in the query's space; otherwise `None`.
    fn comparable(&self, sources: &Sources, probe: &Probe) -> Option<&Segment> {
        let segment = self.segment()?;
        let space = segment.space().map_err(|error| sources.note(&error)).ok()?;
        (space? == probe.space).then_some(segment)
    }
}

fn loose_near(probe: &Probe, doc: u32, embedded: &Embedded) -> Option<Near> {
    let cosine = || probe.vector.cosine(&embedded.vector);
    (embedded.space == probe.space).then(|| Near {
        doc,
        cosine: cosine(),
        encoder: embedded.encoder,
        hub: hub::USUAL,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::{DIMENSIONS, Encoder};
    use crate::index::document::Document;
    use crate::index::manifest::Collection;
    use crate::index::record::Record;
    use crate::index::testing;
    use memory_store_base::id::MemoryId;
    use memory_store_base::kind::Kind;
    use memory_store_base::settings::Settings;
    use memory_store_base::time::Timestamp;

    const SPACE: Space = Space([1; 16]);

    fn vector(angle: f32) -> Vector {
        let mut components = [0.0; DIMENSIONS];
        // The components are similar in size, so that none is clipped.
        for (at, component) in components.iter_mut().enumerate() {
            *component = if at % 2 == 0 { angle.cos() } else { angle.sin() };
        }
        Vector::of(&components).unwrap()
    }

    fn document(number: u8, angle: f32, space: Space) -> Document {
        let id = MemoryId::new(Timestamp(i64::from(number)), [0; 10]);
        let record = Record::default();
        let document = Document::of_record(id, Kind::Fact, 0.5, false, Timestamp(0), record);
        let embedded = Embedded { space, encoder: Encoder::Static, vector: vector(angle) };
        Document { vector: Some(embedded), ..document }
    }

    fn sources() -> Sources {
        let written: Vec<Document> =
            (0..4).map(|number| document(number, 0.1 * f32::from(number), SPACE)).collect();
        let bytes = testing::segment_bytes(&written);
        let docs = written.len() as u32;
        let segment = testing::open(Collection::Memories, bytes, docs, &[]).unwrap();
        let mut sources = Sources::of_segment(segment);
        let loose = &mut sources.list[0].loose;
        loose.push(document(8, 0.15, SPACE).into());
        loose.push(document(9, 0.15, Space([2; 16])).into());
        sources
    }

    #[test]
    fn segment_and_journal_are_one() {
        let sources = sources();
        let probe = Probe { space: SPACE, vector: vector(0.16) };
        let found = sources.list[0].nearest(&sources, &probe, 3, IndexSearch::Auto);
        let near = &found.best;
        assert_eq!(near.iter().map(|near| near.doc).collect::<Vec<_>>(), [4, 2, 1]);
        for known in [&found, &Nearest::default()] {
            let cosines = sources.list[0].cosines(&sources, &probe, known, &[2, 4, 5, 99]);
            assert_eq!(cosines[..2], [Some(near[1]), Some(near[0])]);
            assert_eq!(cosines[2..], [None, None]);
        }
        assert_eq!(*sources.damage.borrow(), None);
    }

    #[test]
    fn a_damaged_graph_is_passed_by_with_a_note() {
        const DOCS: u32 = 300;
        let nearest = |bytes: Vec<u8>, search| {
            let segment = testing::open(Collection::Passages, bytes, DOCS, &[]).unwrap();
            let sources = Sources::of_passages(vec![segment], &Settings::default());
            let space = sources.list[0].segment().unwrap().space().unwrap().unwrap();
            let probe = Probe { space, vector: vector(0.1) };
            let best = sources.list[0].nearest(&sources, &probe, 3, search).best;
            let damage = sources.damage.take();
            (best, damage)
        };
        let sound = crate::index::links::tests::bytes(DOCS, 8);
        let (scanned, _) = nearest(sound.clone(), IndexSearch::Scan);
        let section = testing::open(Collection::Passages, sound.clone(), DOCS, &[]).unwrap();
        let mut damaged = sound;
        let links = section.place_of_links();
        damaged[links].fill(7);
        let (found, damage) = nearest(damaged, IndexSearch::Graph);
        assert_eq!(found, scanned);
        assert!(damage.unwrap().contains("neighbours"));
    }

    #[test]
    fn another_space_is_not_compared() {
        let sources = sources();
        let probe = Probe { space: Space([5; 16]), vector: vector(0.1) };
        let found = sources.list[0].nearest(&sources, &probe, 3, IndexSearch::Auto);
        assert!(found.best.is_empty());
        assert_eq!(sources.list[0].cosines(&sources, &probe, &found, &[0, 4]), [None, None]);
    }
}
