//! Neighbours: the drafts of a session beside the earlier ones that are near them, in portions that a
//! model can be asked about.
//!
//! Sessions are taken in the order of their time and each is compared with what was before it. So a
//! portion stays as it is when later sessions come, and is asked about once.

use std::collections::BTreeSet;

use memory_store::embed::Vector;

use crate::extract::draft::Draft;
use crate::extract::{overlap, word_set};

/// Drafts of the session in one portion.
pub const NEW_MAX: usize = 8;
/// Earlier drafts in one portion.
pub const EARLIER_MAX: usize = 12;
/// Neighbours of one draft.
const NEAR_MAX: usize = 4;
/// Earlier drafts that one is compared with, the latest ones.
const COMPARED_MAX: usize = 4_000;
/// Likeness from which two drafts may say the same, replace or contradict one another. Words that both
/// have and cosines are both between 0 and 1; these are what pairs of different notes seldom reach.
const WORDS_MIN: f32 = 0.3;
/// See [`WORDS_MIN`].
const COSINE_MIN: f32 = 0.5;

/// A draft with all that likeness is told by.
#[derive(Debug)]
pub struct Noted<'a> {
    /// The draft.
    pub draft: &'a Draft,
    words: BTreeSet<String>,
    vector: Option<Vector>,
}

impl<'a> Noted<'a> {
    /// Notes a draft. `embed` gives the vector of a text, where there is an embedder.
    pub fn new(draft: &'a Draft, embed: &dyn Fn(&str) -> Option<Vector>) -> Self {
        let text = format!("{}\n{}", draft.title, draft.body);
        Self { draft, words: word_set(&text), vector: embed(&text) }
    }

    /// Returns how alike two drafts are, above 1 where they are neighbours.
    pub fn likeness(&self, other: &Self) -> f32 {
        let words = overlap(&self.words, &other.words) / WORDS_MIN;
        match (&self.vector, &other.vector) {
            (Some(one), Some(another)) => words.max(one.cosine(another) / COSINE_MIN),
            _ => words,
        }
    }
}

/// Drafts to be asked about, by their places in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// Drafts of one session.
    pub new: Vec<usize>,
    /// Earlier ones near them.
    pub earlier: Vec<usize>,
    /// Pairs that are neighbours; nothing is believed of others.
    pub near: BTreeSet<(usize, usize)>,
}

/// Cuts drafts, which are in the order of their time, into portions. A draft without neighbours is in
/// none.
pub fn portions(noted: &[Noted<'_>]) -> Vec<Portion> {
    let mut portions = Vec::new();
    let mut from = 0;
    while from < noted.len() {
        let session = &noted[from].draft.session;
        let of = noted[from..].iter().take_while(|noted| noted.draft.session == *session).count();
        let mut open = Portion::default();
        for at in from..from + of {
            let near = neighbours(noted, from, at);
            if near.is_empty() {
                continue;
            }
            let earlier: Vec<usize> = near.iter().copied().filter(|&near| near < from).collect();
            let added = earlier.iter().filter(|near| !open.earlier.contains(near)).count();
            if open.new.len() >= NEW_MAX || open.earlier.len() + added > EARLIER_MAX {
                portions.push(std::mem::take(&mut open));
            }
            for near in near {
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

/// The places of the drafts before `at` that are nearest to it, in its session or before `from`.
fn neighbours(noted: &[Noted<'_>], from: usize, at: usize) -> Vec<usize> {
    let first = from.saturating_sub(COMPARED_MAX);
    let mut near: Vec<(f32, usize)> = (first..at)
        .map(|other| (noted[at].likeness(&noted[other]), other))
        .filter(|(likeness, _)| *likeness >= 1.0)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    near.truncate(NEAR_MAX);
    near.into_iter().map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::draft;
    use super::*;
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
        let noted: Vec<Noted<'_>> =
            drafts.iter().map(|draft| Noted::new(draft, &|_| None)).collect();
        let all = portions(&noted);
        let before = portions(&noted[..30]);
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
    fn drafts_without_neighbours_are_not_asked_about() {
        let drafts = [
            draft("a", 1, Kind::Decision, "Keep carts in the database", ""),
            draft("b", 2, Kind::Gotcha, "The nightly job needs a free gigabyte", ""),
        ];
        let noted: Vec<Noted<'_>> =
            drafts.iter().map(|draft| Noted::new(draft, &|_| None)).collect();
        assert_eq!(portions(&noted), []);
        let one = Vector::of(&[1.0; memory_store::embed::DIMENSIONS]);
        let noted: Vec<Noted<'_>> =
            drafts.iter().map(|draft| Noted::new(draft, &|_| one)).collect();
        assert_eq!(portions(&noted).len(), 1);
    }
}
