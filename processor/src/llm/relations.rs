//! The second question to a model: relations of the drafts of a session to one another and to similar earlier drafts.
//!
//! The question is about equality and truth. Importance is not part of it, because a model judges importance best when
//! it writes a draft. Relations between drafts that are not similar are rejected.

use std::collections::HashMap;

use memory_store::MemoryId;
use memory_store::embed::Vector;

use super::answer::{Verdict, verdicts};
use super::{LanguageModel, ModelFault, ask};
use crate::consolidate::near::{ComparedText, Portion, portions};
use crate::consolidate::{DraftRelation, Relations};
use crate::extract::draft::Draft;
use memory_store::text::folded_title;

/// Version of the question. If it changes, the question is sent again. New kinds of links do not need a new version,
/// because earlier answers stay correct without them.
const QUESTION: u32 = 3;
/// Maximum number of relations read from one answer.
const RELATIONS_MAX: usize = 24;
/// Maximum share of the notes of a question that an answer may merge or replace. If an answer exceeds it, the model
/// probably misunderstood the question, and the answer is ignored.
const TOLD_SHARE_MAX: f32 = 0.75;
/// Minimum number of notes for which [`TOLD_SHARE_MAX`] applies.
const TOLD_MIN: usize = 4;

impl LanguageModel {
    /// Asks the model about the relations of drafts. The drafts are sorted by time; `name` returns the id that a
    /// draft's memory would have. For drafts of an unanswered question the rules decide, and the reason is added to
    /// `report`.
    pub fn relations(
        &mut self,
        name: &dyn Fn(&Draft) -> MemoryId,
        drafts: &[&Draft],
        embed: &dyn Fn(&str) -> Option<Vector>,
        report: &mut Vec<String>,
    ) -> Relations {
        // The question belongs to no single session, so its cost is recorded for the project.
        self.session.clear();
        let mut relations = Relations::default();
        let (drafts, repeats) = repeats(drafts);
        let repeats =
            repeats.iter().map(|(again, first)| ((name(again), name(first)), DraftRelation::Same));
        relations.told.extend(repeats);
        let noted: Vec<ComparedText<'_>> =
            drafts.iter().map(|draft| ComparedText::draft(draft, embed)).collect();
        for portion in portions(&noted, self.room.notes) {
            let name = |at: usize| name(drafts[at]);
            match self.request_relations(&portion, &drafts) {
                Ok(told) => {
                    relations.asked.extend(portion.new.iter().map(|&at| name(at)));
                    for (note, other, relation) in believed(&portion, &told) {
                        relations.told.insert((name(note), name(other)), relation);
                    }
                }
                Err(fault) => self.unanswered(
                    &fault,
                    "Words tell what says the same.",
                    &mut relations,
                    report,
                ),
            }
        }
        relations
    }

    /// Counts an unanswered question, and reports the reason and the fallback in `instead`.
    pub(super) fn unanswered(
        &self,
        fault: &ModelFault,
        instead: &str,
        relations: &mut Relations,
        report: &mut Vec<String>,
    ) {
        if matches!(fault, ModelFault::Later) {
            relations.missing += 1;
            relations.later += 1;
            return;
        }
        relations.missing += usize::from(!fault.is_settled());
        let line = format!("{}: {fault}. {instead}", self.name());
        if !report.contains(&line) {
            report.push(line);
        }
    }

    fn request_relations(
        &mut self,
        portion: &Portion,
        drafts: &[&Draft],
    ) -> Result<Vec<Verdict>, ModelFault> {
        let list = |letter: char, places: &[usize]| -> String {
            (1..).zip(places).map(|(number, &at)| written(letter, number, drafts[at])).collect()
        };
        let (new, earlier) = (list('N', &portion.new), list('E', &portion.earlier));
        let key = format!("relations {QUESTION}\n{new}\n{earlier}");
        let question = |texts: &[String], note: &str| ask::relations(&texts[0], &texts[1], note);
        let read = |answer: &str| verdicts(answer, "relations", RELATIONS_MAX);
        self.asked(&key, &[&new, &earlier], question, read)
    }
}

/// Minimum number of words of a title that is a statement. A shorter title only names a subject.
const TELLING_WORDS_MIN: usize = 4;

/// Separates drafts whose title repeats that of an earlier draft of the same kind. Each of these is paired with the
/// earlier draft. The same failure can occur in many sessions, and twenty notes about it would leave no room for other
/// notes.
fn repeats<'d>(drafts: &[&'d Draft]) -> (Vec<&'d Draft>, Vec<(&'d Draft, &'d Draft)>) {
    let (mut first, mut repeats) = (HashMap::new(), Vec::new());
    let mut own = drafts.to_vec();
    own.retain(|draft| {
        let title = folded_title(&draft.title);
        if title.split(' ').count() < TELLING_WORDS_MIN {
            return true;
        }
        let known = *first.entry((draft.kind, title)).or_insert(*draft);
        let is_own = std::ptr::eq(known, *draft);
        if !is_own {
            repeats.push((*draft, known));
        }
        is_own
    });
    (own, repeats)
}

/// Returns a draft in the notation of a question, with a name such as `N2`.
pub(super) fn written(letter: char, number: usize, draft: &Draft) -> String {
    let Draft { kind, title, body, occurred, .. } = draft;
    let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let day = occurred.date();
    format!("{letter}{number} [{}, {day}] {title}\n   {body}\n", kind.name())
}

/// The relations that can be believed, by the places of the drafts.
fn believed(portion: &Portion, told: &[Verdict]) -> Vec<(usize, usize, DraftRelation)> {
    let place = |name: &str| -> Option<usize> {
        let (list, number) = match name.split_at_checked(1)? {
            ("N", number) => (&portion.new, number),
            ("E", number) => (&portion.earlier, number),
            _ => return None,
        };
        list.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied()
    };
    let mut believed: Vec<(usize, usize, DraftRelation)> = Vec::new();
    for Verdict { note, other, relation, .. } in told {
        let (Some(note), Some(other)) = (place(note), place(other)) else { continue };
        let near = portion.near.contains(&(note, other)) || portion.near.contains(&(other, note));
        let mut known = DraftRelation::ALL.into_iter();
        let Some(relation) = known.find(|known| known.name() == relation) else { continue };
        // Drafts are sorted by time, and an earlier draft cannot replace a later one.
        let backwards =
            matches!(relation, DraftRelation::Replaces | DraftRelation::Finishes) && note < other;
        if near && note != other && !backwards {
            believed.push((note, other, relation));
        }
    }
    let mut gone: Vec<usize> = believed
        .iter()
        .filter(|(.., relation)| {
            !matches!(relation, DraftRelation::NewerValue | DraftRelation::Contradicts)
                && !relation.is_link()
        })
        .map(
            |(note, other, relation)| {
                if *relation == DraftRelation::Within { *note } else { *other }
            },
        )
        .collect();
    gone.sort_unstable();
    gone.dedup();
    let notes = portion.new.len() + portion.earlier.len();
    if is_too_much(gone.len(), notes) { Vec::new() } else { believed }
}

/// Whether an answer removes so many of the drafts that the model probably misunderstood the question.
pub(super) fn is_too_much(gone: usize, shown: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = gone as f32 / shown as f32;
    shown >= TOLD_MIN && share > TOLD_SHARE_MAX
}

#[cfg(test)]
mod tests {
    use memory_store::Kind;

    use super::*;
    use crate::consolidate::tests::draft;

    fn relation_of(note: &str, other: &str, relation: &str) -> Verdict {
        let [note, other, relation] = [note, other, relation].map(str::to_owned);
        Verdict { note, other, relation, ..Verdict::default() }
    }

    #[test]
    fn only_neighbours_are_related_and_nothing_is_replaced_by_what_was_before() {
        let near = [(7, 2), (8, 7), (8, 3)].into();
        let portion = Portion { new: vec![7, 8, 9], earlier: vec![2, 3, 4], near };
        let answer = [
            relation_of("N1", "E1", "replaces"),
            relation_of("N2", "N1", "same"),
            relation_of("N1", "N2", "replaces"),
            relation_of("N3", "E3", "same"),
            relation_of("N2", "E9", "same"),
            relation_of("N2", "E2", "refines"),
            relation_of("N1", "E3", "supports"),
            relation_of("N2", "E2", "disagrees"),
            relation_of("E2", "N2", "contradicts"),
            relation_of("E1", "N1", "within"),
            relation_of("X", "", "same"),
        ];
        let expected = [
            (7, 2, DraftRelation::Replaces),
            (8, 7, DraftRelation::Same),
            (8, 3, DraftRelation::Refines),
            (3, 8, DraftRelation::Contradicts),
            (2, 7, DraftRelation::Within),
        ];
        assert_eq!(believed(&portion, &answer), expected);
    }

    #[test]
    fn the_same_title_is_asked_about_once() {
        let draft = |session: &str, at, kind, title: &str| draft(session, at, kind, title, "");
        let drafts = [
            draft("a", 1, Kind::Fix, "`just lint` fails with \"unknown recipe\""),
            draft("b", 2, Kind::Fix, "`just lint` fails with \"Unknown recipe\"."),
            draft("b", 3, Kind::Task, "`just lint` fails with \"unknown recipe\""),
            draft("a", 4, Kind::Fact, "Release steps"),
            draft("b", 5, Kind::Fact, "Release steps"),
        ];
        let drafts: Vec<&Draft> = drafts.iter().collect();
        let (own, repeats) = repeats(&drafts);
        let at = |drafts: &[&Draft]| drafts.iter().map(|it| it.occurred.0).collect::<Vec<_>>();
        assert_eq!(at(&own), [1, 3, 4, 5]);
        assert_eq!(repeats.len(), 1);
        assert_eq!(at(&[repeats[0].0, repeats[0].1]), [2, 1]);
    }

    #[test]
    fn an_answer_that_throws_all_away_is_not_believed() {
        let near = [(1, 0), (2, 0), (3, 0), (2, 1), (3, 2), (3, 1)].into();
        let portion = Portion { new: vec![0, 1, 2, 3], earlier: Vec::new(), near };
        let same = |other: &str| relation_of("N1", other, "same");
        assert_eq!(believed(&portion, &[same("N2"), same("N3"), same("N4")]).len(), 3);
        let all = [same("N2"), same("N3"), same("N4"), relation_of("N2", "N1", "same")];
        assert_eq!(believed(&portion, &all), []);
    }
}
