//! The third question to a model: which earlier drafts of a session are still valid after the session has continued.
//!
//! An unchanged window is sent only once, together with the end of its session at that time. The cache records this end
//! for each answer. If the end has changed, the drafts from these answers are sent with the new end, all in one
//! question. Therefore the questions depend only on the session and the cache, not on a clock.

use std::collections::BTreeSet;

use memory_store::Kind;

use super::answer::{Verdict, verdicts};
use super::relations::{is_too_much, written};
use super::window::{SessionWindow, cut_middle};
use super::{LanguageModel, ModelFault, ask};
use crate::extract::draft::Draft;

/// Maximum number of drafts in the question. The most important are sent; all others stay unchanged.
const DRAFTS_MAX: usize = 32;
/// Maximum number of characters of one draft.
const DRAFT_CHARS_MAX: usize = 360;
/// Offset that is added to the ordinal of a draft whose kind changes, so that its id is unique.
const ORDINAL_SHIFT: u32 = 1_000;

/// Reason why a draft is no longer valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndReason {
    /// The draft's subject is completed, fixed, retracted, replaced or wrong, so the draft is no longer useful.
    Overtaken,
    /// The draft was tried and rejected. This is worth keeping.
    Rejected,
}

impl LanguageModel {
    /// Returns whether the model answered about a window with another end of the session.
    pub(super) fn saw_another_end(&self, window: &SessionWindow, ending: &str) -> bool {
        let seen = self.cache.end(&self.provider.name(), &window.text());
        seen.as_deref() != Some(&*end_hash(ending))
    }

    /// Records the end of the session with which the model answered about a window.
    pub(super) fn note_end(&self, window: &SessionWindow, ending: &str) {
        // If this fails, the answer counts as based on another end, which costs one question.
        let name = self.provider.name();
        drop(self.cache.put_end(&name, &window.text(), &end_hash(ending)));
    }

    /// Removes drafts of a session that are no longer valid at its end. A rejected attempt becomes a failed approach.
    /// `earlier` contains the indexes of the drafts whose answers are based on another end.
    ///
    /// # Errors
    /// If there is no answer. All drafts are kept then.
    pub(super) fn check(
        &mut self,
        drafts: &mut Vec<Draft>,
        earlier: &[usize],
        ending: &str,
    ) -> Result<(), ModelFault> {
        let shown = shown(drafts, earlier);
        if shown.is_empty() || ending.is_empty() {
            return Ok(());
        }
        let notes: String = (1..)
            .zip(&shown)
            .map(|(number, &at)| {
                cut_middle(&written('D', number, &drafts[at]), DRAFT_CHARS_MAX) + "\n"
            })
            .collect();
        let key = format!("standing\n{ending}\n{notes}");
        let question = |texts: &[String], note: &str| ask::standing(&texts[1], &texts[0], note);
        let read = |answer: &str| verdicts(answer, "overtaken", DRAFTS_MAX);
        let fallen = self.asked(&key, &[ending, &notes], question, read)?;
        apply(drafts, &believed(&shown, &fallen));
        Ok(())
    }
}

/// Returns the indexes of the drafts that are sent, in their order.
fn shown(drafts: &[Draft], earlier: &[usize]) -> Vec<usize> {
    let importance = |at: usize| drafts[at].importance.unwrap_or_default();
    let mut shown = earlier.to_vec();
    shown.sort_by(|&a, &b| importance(b).total_cmp(&importance(a)).then(a.cmp(&b)));
    shown.truncate(DRAFTS_MAX);
    shown.sort_unstable();
    shown
}

/// Returns the verdicts that are accepted, by the indexes of the drafts.
fn believed(shown: &[usize], fallen: &[Verdict]) -> Vec<(usize, EndReason)> {
    let mut known = BTreeSet::new();
    let believed: Vec<(usize, EndReason)> = fallen
        .iter()
        .filter_map(|Verdict { note, why, .. }| {
            let number: usize = note.strip_prefix('D')?.parse().ok()?;
            let at = *shown.get(number.checked_sub(1)?)?;
            let why = match why.as_str() {
                "finished" | "fixed" | "reverted" | "replaced" | "wrong" => EndReason::Overtaken,
                "rejected" => EndReason::Rejected,
                _ => return None,
            };
            known.insert(at).then_some((at, why))
        })
        .collect();
    if is_too_much(believed.len(), shown.len()) { Vec::new() } else { believed }
}

fn apply(drafts: &mut Vec<Draft>, fallen: &[(usize, EndReason)]) {
    let mut gone = BTreeSet::new();
    for &(at, why) in fallen {
        let draft = &mut drafts[at];
        match (why, draft.kind) {
            // A failed approach already reports the rejection.
            (EndReason::Rejected, Kind::FailedApproach) => {}
            (
                EndReason::Rejected,
                Kind::Decision | Kind::Convention | Kind::Procedure | Kind::Fix | Kind::Fact,
            ) => {
                draft.kind = Kind::FailedApproach;
                draft.title = format!("Tried and rejected: {}", draft.title);
                draft.ordinal += ORDINAL_SHIFT;
            }
            (EndReason::Overtaken | EndReason::Rejected, _) => drop(gone.insert(at)),
        }
    }
    let mut place = 0..;
    drafts.retain(|_| place.next().is_some_and(|at| !gone.contains(&at)));
}

fn end_hash(ending: &str) -> String {
    blake3::hash(ending.as_bytes()).to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::draft;

    fn ended_note(note: &str, why: &str) -> Verdict {
        Verdict { note: note.to_owned(), why: why.to_owned(), ..Verdict::default() }
    }

    #[test]
    fn only_drafts_that_were_shown_fall_and_each_once() {
        let answer = [
            ended_note("D2", "fixed"),
            ended_note("D2", "rejected"),
            ended_note("D9", "fixed"),
            ended_note("E1", "fixed"),
            ended_note("D1", "boring"),
            ended_note("D0", "wrong"),
        ];
        assert_eq!(believed(&[3, 5, 6, 7], &answer), [(5, EndReason::Overtaken)]);
        // An answer that removes nearly all drafts is ignored, because it misunderstood the question.
        let all = ["D1", "D2", "D3", "D4"].map(|note| ended_note(note, "wrong"));
        assert_eq!(believed(&[3, 5, 6, 7], &all), []);
        assert_eq!(believed(&[3, 5, 6, 7], &all[..3]).len(), 3);
    }

    #[test]
    fn a_rejected_decision_is_marked_as_rejected_and_the_rest_is_removed() {
        let mut drafts = vec![
            draft("a", 1, Kind::Decision, "Keep carts in Redis", "It is fast."),
            draft("a", 2, Kind::Task, "Write the docs", ""),
            draft("a", 3, Kind::FailedApproach, "A cron job lost runs", ""),
            draft("a", 4, Kind::Task, "Rename the importer", ""),
        ];
        let overtaken = [
            (1, EndReason::Overtaken),
            (0, EndReason::Rejected),
            (2, EndReason::Rejected),
            (3, EndReason::Rejected),
        ];
        apply(&mut drafts, &overtaken);
        let titles: Vec<(Kind, &str)> =
            drafts.iter().map(|draft| (draft.kind, draft.title.as_str())).collect();
        let expected = [
            (Kind::FailedApproach, "Tried and rejected: Keep carts in Redis"),
            (Kind::FailedApproach, "A cron job lost runs"),
        ];
        assert_eq!(titles, expected);
    }

    #[test]
    fn the_most_important_are_shown_in_their_order() {
        let drafts: Vec<Draft> = (0..50i64)
            .map(|n| {
                let importance = if n < 20 { 0.2 } else { 0.9 };
                let title = format!("Note {n}");
                Draft { importance: Some(importance), ..draft("a", n, Kind::Fact, &title, "") }
            })
            .collect();
        let shown = shown(&drafts, &(0..50).collect::<Vec<_>>());
        assert_eq!(shown, (0..2).chain(20..50).collect::<Vec<_>>());
    }
}
