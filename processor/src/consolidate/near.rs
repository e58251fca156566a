//! Neighbours: the drafts of a session together with similar earlier drafts, grouped in portions for questions to a
//! model.
//!
//! Sessions are processed in the order of time, and each is compared only with earlier ones. Therefore later sessions
//! do not change a portion, and each portion is sent to a model only once.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use memory_store::Timestamp;
use memory_store::embed::Vector;
use memory_store::neighbour::{COSINE_MIN, SHARE_WORDS_MIN, TITLES_MIN, WORDS_MIN, Words};
use rayon::prelude::*;

use crate::extract::Landed;
use crate::extract::draft::Draft;

/// Maximum number of the session's drafts in one portion.
pub const NEW_MAX: usize = 8;
/// Maximum number of earlier drafts in one portion.
pub const EARLIER_MAX: usize = 16;
/// Maximum number of neighbours of one draft.
pub const NEAR_MAX: usize = 6;
/// Minimum likeness between a draft and a commit in a question, relative to the minimum for two drafts. It is lower,
/// because a commit message describes the work and a draft the lesson from it.
const COMMIT_LIKENESS_MIN: f32 = 0.8;
/// Maximum number of earlier drafts that are compared. The latest are used.
const COMPARED_MAX: usize = 4_000;

/// A draft or a commit, prepared for comparison.
#[derive(Debug)]
pub struct ComparedText<'a> {
    session: &'a str,
    at: Timestamp,
    words: Words,
    title: Words,
    vector: Option<Vector>,
}

impl<'a> ComparedText<'a> {
    /// Prepares a draft. `embed` returns the vector of a text, if there is an embedder.
    pub fn draft(draft: &'a Draft, embed: &dyn Fn(&str) -> Option<Vector>) -> Self {
        Self::new(&draft.session, draft.occurred, (&draft.title, &draft.body), embed)
    }

    /// Prepares a commit.
    pub fn commit(commit: &'a Landed, embed: &dyn Fn(&str) -> Option<Vector>) -> Self {
        Self::new(&commit.session, commit.at, (&commit.subject, &commit.body), embed)
    }

    fn new(
        session: &'a str,
        at: Timestamp,
        (title, body): (&str, &str),
        embed: &dyn Fn(&str) -> Option<Vector>,
    ) -> Self {
        let text = format!("{title}\n{body}");
        let (words, title) = (Words::of(&text), Words::of(title));
        Self { session, at, words, title, vector: embed(&text) }
    }

    /// Returns the likeness of two texts with `shared` common words. Values of at least 1 mean neighbours.
    fn likeness(&self, other: &Self, shared: usize) -> f32 {
        let words = self.words.overlap_of(&other.words, || shared) / WORDS_MIN;
        // The common words of the titles are included in the common words of the texts.
        let words = if shared < SHARE_WORDS_MIN {
            words
        } else {
            words.max(self.title.overlap(&other.title) / TITLES_MIN)
        };
        match (&self.vector, &other.vector) {
            (Some(one), Some(another)) => words.max(one.cosine(another) / COSINE_MIN),
            _ => words,
        }
    }
}

/// Drafts of one question, by their indexes in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// Drafts of the session.
    pub new: Vec<usize>,
    /// Earlier drafts similar to these.
    pub earlier: Vec<usize>,
    /// Pairs of neighbours. Relations between other pairs are rejected.
    pub near: BTreeSet<(usize, usize)>,
}

/// Groups drafts into portions. The drafts must be ordered by time. A draft without neighbours is in no portion. `most`
/// contains the maximum numbers of new and of earlier drafts in a portion.
pub fn portions(noted: &[ComparedText<'_>], most: (usize, usize)) -> Vec<Portion> {
    let nearest = nearest(noted);
    let mut portions = Vec::new();
    let mut from = 0;
    while from < noted.len() {
        let session = noted[from].session;
        let of = noted[from..].iter().take_while(|noted| noted.session == session).count();
        let mut open = Portion::default();
        for (at, near) in nearest.iter().enumerate().skip(from).take(of) {
            if near.is_empty() {
                continue;
            }
            let earlier: Vec<usize> = near.iter().copied().filter(|&near| near < from).collect();
            let added = earlier.iter().filter(|near| !open.earlier.contains(near)).count();
            if open.new.len() >= most.0 || open.earlier.len() + added > most.1 {
                portions.push(std::mem::take(&mut open));
            }
            for &near in near {
                open.near.insert((at, near));
                let list = if near < from { &mut open.earlier } else { &mut open.new };
                if !list.contains(&near) {
                    list.push(near);
                }
            }
            if !open.new.contains(&at) {
                open.new.push(at);
            }
        }
        if !open.new.is_empty() {
            portions.push(open);
        }
        from += of;
    }
    for portion in &mut portions {
        portion.new.sort_unstable();
        portion.earlier.sort_unstable();
    }
    portions
}

/// Returns, for each commit, the drafts of earlier sessions near it, the nearest first. `noted` is ordered by time.
pub fn near_commits(commits: &[ComparedText<'_>], noted: &[ComparedText<'_>]) -> Vec<Vec<usize>> {
    let places = places(noted);
    let near = |commit: &ComparedText<'_>| {
        let end = noted.partition_point(|note| note.at < commit.at);
        let range = end.saturating_sub(COMPARED_MAX)..end;
        let mut near = neighbours(commit, noted, &places, range, COMMIT_LIKENESS_MIN);
        near.retain(|&note| noted[note].session != commit.session);
        near
    };
    commits.par_iter().map(near).collect()
}

/// Returns the neighbours of each draft (see [`neighbours`]).
fn nearest(noted: &[ComparedText<'_>]) -> Vec<Vec<usize>> {
    let mut starts: Vec<usize> = Vec::with_capacity(noted.len());
    for (at, one) in noted.iter().enumerate() {
        let goes_on = at > 0 && noted[at - 1].session == one.session;
        starts.push(if goes_on { starts[at - 1] } else { at });
    }
    let places = places(noted);
    let neighbours = |(at, &from): (usize, &usize)| {
        let first = from.saturating_sub(COMPARED_MAX);
        neighbours(&noted[at], noted, &places, first..at, 1.0)
    };
    starts.par_iter().enumerate().map(neighbours).collect()
}

/// Returns, for each word, the indexes of the drafts that contain it. With this index, drafts with common words are
/// found without comparing all pairs.
fn places(noted: &[ComparedText<'_>]) -> HashMap<u64, Vec<usize>> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, one) in noted.iter().enumerate() {
        one.words.hashes().iter().for_each(|word| places.entry(*word).or_default().push(at));
    }
    places
}

/// Returns the indexes in a range of `noted` that are nearest to `one`, the nearest first, if their likeness is at
/// least `least`. `places` contains the indexes for each word.
fn neighbours(
    one: &ComparedText<'_>,
    noted: &[ComparedText<'_>],
    places: &HashMap<u64, Vec<usize>>,
    range: Range<usize>,
    least: f32,
) -> Vec<usize> {
    let first = range.start;
    let mut shared = vec![0; range.len()];
    for places in one.words.hashes().iter().filter_map(|word| places.get(word)) {
        let start = places.partition_point(|&other| other < first);
        let before = places[start..].iter().take_while(|&&other| other < range.end);
        before.for_each(|other| shared[other - first] += 1);
    }
    let mut near: Vec<(f32, usize)> = range
        .map(|other| (one.likeness(&noted[other], shared[other - first]), other))
        .filter(|(likeness, _)| *likeness >= least)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    near.truncate(NEAR_MAX);
    near.into_iter().map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::draft;
    use super::*;
    use crate::extract::{overlap, word_set};
    use memory_store::Kind;

    #[test]
    fn a_portion_stays_when_later_sessions_come() {
        let subjects = ["cents", "labels", "retries"];
        let drafts: Vec<Draft> = (0..40)
            .map(|n| {
                let subject = subjects[n % 3];
                let session = format!("s{:02}", n / 10);
                let title = format!("Store {subject} as whole numbers, case {n}");
                draft(&session, i64::try_from(n).unwrap(), Kind::Decision, &title, "")
            })
            .collect();
        let noted: Vec<ComparedText<'_>> =
            drafts.iter().map(|draft| ComparedText::draft(draft, &|_| None)).collect();
        let most = (NEW_MAX, EARLIER_MAX);
        let all = portions(&noted, most);
        let before = portions(&noted[..30], most);
        assert_eq!(all[..before.len()], before);
        assert!(all.len() > before.len());
        for portion in &all {
            assert!(
                portion.new.len() <= NEW_MAX + NEAR_MAX && portion.earlier.len() <= EARLIER_MAX
            );
            assert!(portion.near.iter().all(|(one, other)| other < one));
        }
    }

    #[test]
    fn neighbours_are_those_that_comparing_all_words_finds() {
        let drafts: Vec<Draft> = (0..90)
            .map(|n| {
                let title = match n % 10 {
                    0 => "Use tabs".to_owned(),
                    _ => format!("Keep subject{} and part{} of case{n} whole", n % 7, n % 4),
                };
                let session = format!("s{:02}", n / 6);
                draft(&session, i64::from(n), Kind::Decision, &title, &format!("As thing{}", n % 5))
            })
            .collect();
        let noted: Vec<ComparedText<'_>> =
            drafts.iter().map(|draft| ComparedText::draft(draft, &|_| None)).collect();
        let words = |at: usize| word_set(&format!("{}\n{}", drafts[at].title, drafts[at].body));
        let title = |at: usize| word_set(&drafts[at].title);
        for (at, found) in nearest(&noted).iter().enumerate() {
            let likeness = |other: usize| {
                let titles = overlap(&title(at), &title(other)) / TITLES_MIN;
                titles.max(overlap(&words(at), &words(other)) / WORDS_MIN)
            };
            let mut all: Vec<usize> = (0..at).filter(|&other| likeness(other) >= 1.0).collect();
            all.sort_by(|&a, &b| likeness(b).total_cmp(&likeness(a)).then(b.cmp(&a)));
            all.truncate(NEAR_MAX);
            assert_eq!(*found, all, "{at}");
        }
    }

    #[test]
    fn drafts_without_neighbours_are_not_asked_about() {
        let drafts = [
            draft("a", 1, Kind::Decision, "Keep carts in the database", ""),
            draft("b", 2, Kind::Gotcha, "The nightly job needs a free gigabyte", ""),
        ];
        let noted: Vec<ComparedText<'_>> =
            drafts.iter().map(|draft| ComparedText::draft(draft, &|_| None)).collect();
        assert_eq!(portions(&noted, (NEW_MAX, EARLIER_MAX)), []);
        let one = Vector::of(&[1.0; memory_store::embed::DIMENSIONS]);
        let noted: Vec<ComparedText<'_>> =
            drafts.iter().map(|draft| ComparedText::draft(draft, &|_| one)).collect();
        assert_eq!(portions(&noted, (NEW_MAX, EARLIER_MAX)).len(), 1);
    }
}
