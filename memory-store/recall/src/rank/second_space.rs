//! Second space: the similarity of a query to all memories by the user's own model, scaled to that of the built-in one.
//!
//! The scale of cosines differs between models and is unknown for this one. Therefore the similarity is the distance of
//! a memory's cosine from the mean, relative to that of the nearest memory, and scaled to the nearest memory by the
//! built-in model.

use std::cell::{OnceCell, RefCell};

use crate::custom_embedder::{Ask, Direction, Second};
use crate::search::sources::{At, Sources};
use memory_store_base::id::MemoryId;
use memory_store_base::layout::TreeDir;
use memory_store_base::settings::Embedder;

/// Maximum number of memories that are found only by the second space.
const NEAREST_MAX: usize = 32;

/// Source of vectors of the second space, with a cache of the last query.
#[derive(Debug)]
pub(crate) struct Asking {
    ask: Box<dyn Ask>,
    files: OnceCell<Vec<Option<Second>>>,
    /// The last text and its vector, because a recall often runs several searches for the same text.
    last: RefCell<Option<(String, Option<Direction>)>>,
    /// A problem that has not been reported yet.
    problem: RefCell<Option<String>>,
}

/// Similarities of all memories to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Likenesses {
    /// For each source, ids with similarities, in the order of ids.
    sources: Vec<Vec<(MemoryId, f32)>>,
}

impl Asking {
    /// Creates a source of vectors that calls `ask` for each new text.
    pub(crate) fn new(ask: Box<dyn Ask>) -> Self {
        let (files, last, problem) = Default::default();
        Self { ask, files, last, problem }
    }

    /// Returns the similarities of memories to a text; `None` if there are no vectors of memories, or no vector of the
    /// text.
    pub(crate) fn likenesses(&self, sources: &Sources, text: &str) -> Option<Likenesses> {
        let files = self.files.get_or_init(|| open(sources));
        if text.trim().is_empty() || files.iter().flatten().all(|file| file.count == 0) {
            return None;
        }
        let query = self.direction(text)?;
        let of_file = |file: &Option<Second>| {
            let Some(file) = file else { return Some(Vec::new()) };
            let cosines = file.cosines(&query)?;
            Some((0..).map(|at| file.id(at)).zip(cosines).collect())
        };
        let of_files: Option<Vec<Vec<_>>> = files.iter().map(of_file).collect();
        if of_files.is_none() {
            self.note(
                "the model gives vectors of another length than when memories were embedded; \
                       run `throughline sync --rebuild`",
            );
        }
        of_files.and_then(Likenesses::new)
    }

    /// Takes the problem, so that it is reported only once; `None` if there is none.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.borrow_mut().take()
    }

    fn direction(&self, text: &str) -> Option<Direction> {
        if let Some((asked, direction)) = &*self.last.borrow()
            && asked == text
        {
            return direction.clone();
        }
        let direction = match self.ask.vector(text) {
            Ok(vector) => Direction::of(&vector),
            Err(problem) => {
                self.note(&problem);
                None
            }
        };
        *self.last.borrow_mut() = Some((text.to_owned(), direction.clone()));
        direction
    }

    fn note(&self, problem: &str) {
        let told = format!("Searched without the second space: {problem}.");
        self.problem.borrow_mut().get_or_insert(told);
    }
}

/// Opens the vector files next to the indexes; `None` for each that is missing or belongs to another model.
fn open(sources: &Sources) -> Vec<Option<Second>> {
    let space = sources.settings.embedder.as_ref().map(Embedder::space);
    let files = sources.list.iter().map(|source| {
        let state = TreeDir::at(source.index.as_ref()?.dir.parent()?.to_owned());
        let file = Second::open(&state.second).unwrap_or_else(|error| {
            sources.note(&error);
            None
        });
        file.filter(|file| Some(file.model.as_str()) == space.as_deref())
    });
    files.collect()
}

impl Likenesses {
    /// Scales cosines so that the mean of all is 0 and the best one is 1. Returns `None` if all are equal.
    fn new(mut sources: Vec<Vec<(MemoryId, f32)>>) -> Option<Self> {
        let all = || sources.iter().flatten().map(|(_, cosine)| *cosine);
        let mean = all().sum::<f32>() / all().count().max(1) as f32;
        let best = all().fold(f32::NEG_INFINITY, f32::max);
        let reach = best - mean;
        if !reach.is_normal() {
            return None;
        }
        for (_, cosine) in sources.iter_mut().flatten() {
            *cosine = (*cosine - mean) / reach;
        }
        Some(Self { sources })
    }

    /// Returns the places of the memories with the highest similarities.
    pub(crate) fn best(&self, sources: &Sources) -> Vec<At> {
        let mut all: Vec<(MemoryId, f32)> = self.sources.iter().flatten().copied().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.iter().take(NEAREST_MAX).filter_map(|(id, _)| sources.find(*id)).collect()
    }

    /// Returns the similarity of a memory; `None` if it has no vector.
    pub(crate) fn of(&self, source: u8, id: MemoryId) -> Option<f32> {
        let source = self.sources.get(usize::from(source))?;
        let at = source.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(source[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store_base::time::Timestamp;

    #[test]
    fn likenesses_are_scaled_to_the_best_of_all_sources() {
        let id = |number| MemoryId::new(Timestamp(number), [0; 10]);
        let cosines = vec![vec![(id(1), 0.7), (id(2), 0.5)], vec![(id(3), 0.6), (id(4), 0.6)]];
        let likenesses = Likenesses::new(cosines).unwrap();
        let near = |a: Option<f32>, b: f32| (a.unwrap() - b).abs() < 1e-5;
        assert!(near(likenesses.of(0, id(1)), 1.0) && near(likenesses.of(0, id(2)), -1.0));
        assert!(near(likenesses.of(1, id(3)), 0.0));
        assert_eq!((likenesses.of(0, id(3)), likenesses.of(7, id(1))), (None, None));
        assert_eq!(Likenesses::new(vec![vec![(id(1), 0.7)]]), None, "nothing to compare it with");
        assert_eq!(Likenesses::new(Vec::new()), None);
    }
}
