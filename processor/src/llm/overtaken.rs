//! The fourth question to a model: which drafts of earlier sessions the work of a session made invalid.
//!
//! Relations connect drafts. Work that fixes, finishes or removes something may have no draft, but is visible in a
//! commit, a written file or the session's record. An answer about a draft counts only if the draft was sent together
//! with the work.

use std::collections::BTreeSet;

use memory_store::embed::Vector;
use memory_store::{Kind, ProjectId, Timestamp};

use super::answer::{Verdict, verdicts};
use super::relations::{is_too_much, written};
use super::{LanguageModel, ModelFault, ask};
use crate::consolidate::near::{ComparedText, near_commits};
use crate::consolidate::touched::{TouchedNotes, Work, WorkBatch, shown};
use crate::consolidate::{Relations, memory_id};
use crate::extract::Landed;
use crate::extract::draft::Draft;

/// Version of the question. If it changes, the question is sent again.
const QUESTION: u32 = 2;
/// Maximum number of drafts in one answer.
const OVERTAKEN_MAX: usize = 24;
/// Reasons why a draft is invalid. An answer with another reason is ignored, because it misunderstood the question.
const REASONS: [&str; 6] = ["finished", "fixed", "reverted", "replaced", "removed", "wrong"];

impl LanguageModel {
    /// Asks the model which drafts the work of later sessions made invalid, and adds these to `relations`. Drafts and
    /// works are ordered by time. Without an answer no draft is added, and the reason is added to `report`.
    pub fn overtaken(
        &mut self,
        project: ProjectId,
        drafts: &[&Draft],
        works: &[Work],
        embed: &dyn Fn(&str) -> Option<Vector>,
        relations: &mut Relations,
        report: &mut Vec<String>,
    ) {
        let drafts: Vec<&Draft> = drafts.iter().copied().filter(|draft| can_end(draft)).collect();
        let mut near = near(&drafts, works, embed).into_iter();
        let touched = TouchedNotes::new(&drafts);
        let mut over: BTreeSet<usize> = BTreeSet::new();
        for (place, work) in works.iter().enumerate() {
            let near: Vec<Vec<usize>> = near.by_ref().take(work.commits.len()).collect();
            let is_over = |note: usize| over.contains(&note);
            for batch in touched.batches((place, work), &near, &is_over, self.room.overtaken_notes)
            {
                match self.ended(work, &batch, &drafts) {
                    Ok(verdicts) => {
                        for (note, at) in believed(work, &batch, &verdicts) {
                            over.insert(note);
                            let name = memory_id(project, drafts[note]);
                            let last = relations.overtaken.entry(name).or_default();
                            *last = at.max(*last);
                        }
                    }
                    Err(fault) => {
                        self.unanswered(
                            &fault,
                            "Notes that it overtook are kept.",
                            relations,
                            report,
                        );
                    }
                }
            }
        }
    }

    fn ended(
        &mut self,
        work: &Work,
        batch: &WorkBatch,
        drafts: &[&Draft],
    ) -> Result<Vec<Verdict>, ModelFault> {
        let landed = shown(work, batch, self.room.work_chars);
        let notes: String =
            (1..).zip(&batch.notes).map(|(number, &at)| written('E', number, drafts[at])).collect();
        let key = format!("overtaken {QUESTION}\n{landed}\n{notes}");
        let question = |texts: &[String], note: &str| ask::overtaken(&texts[0], &texts[1], note);
        let read = |answer: &str| verdicts(answer, "overtaken", OVERTAKEN_MAX);
        self.asked(&key, &[&landed, &notes], question, read)
    }
}

/// Returns the drafts that are similar to each commit of all works, in the order of the works.
fn near(
    drafts: &[&Draft],
    works: &[Work],
    embed: &dyn Fn(&str) -> Option<Vector>,
) -> Vec<Vec<usize>> {
    let noted: Vec<ComparedText<'_>> =
        drafts.iter().map(|draft| ComparedText::draft(draft, embed)).collect();
    let commits: Vec<&Landed> = works.iter().flat_map(|work| &work.commits).collect();
    let landed: Vec<ComparedText<'_>> =
        commits.iter().map(|commit| ComparedText::commit(commit, embed)).collect();
    near_commits(&landed, &noted)
}

/// Returns whether a session's work may make a draft invalid. Wishes and commands stay valid.
fn can_end(draft: &Draft) -> bool {
    !draft.kind.is_wish() && draft.kind != Kind::Command
}

/// Returns the verdicts that are accepted: indexes of drafts, and the times at which they were overtaken. A verdict
/// must name a draft that was sent, and a later commit or the record.
fn believed(work: &Work, batch: &WorkBatch, verdicts: &[Verdict]) -> Vec<(usize, Timestamp)> {
    let number =
        |name: &str, letter: char| -> Option<usize> { name.strip_prefix(letter)?.parse().ok() };
    let at = |by: &str| match number(by, 'N')? {
        0 => Some(work.at),
        commit => Some(work.commits[*batch.commits.get(commit - 1)?].at),
    };
    let mut believed: Vec<(usize, Timestamp)> = verdicts
        .iter()
        .filter(|verdict| REASONS.contains(&verdict.why.as_str()))
        .filter_map(|verdict| {
            let note = *batch.notes.get(number(&verdict.note, 'E')?.checked_sub(1)?)?;
            Some((note, at(&verdict.by)?))
        })
        .collect();
    believed.sort_unstable();
    believed.dedup_by_key(|(note, _)| *note);
    if is_too_much(believed.len(), batch.notes.len()) { Vec::new() } else { believed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(note: &str, by: &str) -> Verdict {
        let [note, by, why] = [note, by, "fixed"].map(str::to_owned);
        Verdict { note, by, why, ..Verdict::default() }
    }

    #[test]
    fn only_notes_that_were_shown_are_overtaken_and_each_once() {
        let commit = |at| Landed { at: Timestamp(at), ..Landed::default() };
        let record = crate::extract::session_record::SessionRecord {
            commits: vec![commit(1), commit(2), commit(3)],
            last: Timestamp(9),
            ..Default::default()
        };
        let work = Work::of(&record).unwrap();
        let batch = WorkBatch {
            work: 0,
            commits: vec![0, 2],
            files: vec![],
            decisions: vec![],
            notes: vec![4, 5, 6, 7],
        };
        let odd = Verdict { why: "boring".to_owned(), ..verdict("E3", "N1") };
        let answer = [
            verdict("E1", "N1"),
            verdict("E1", "N1"),
            verdict("E2", "N2"),
            verdict("E9", "N1"),
            verdict("D3", "N2"),
            verdict("E3", "N3"),
            odd,
            verdict("E4", "N0"),
            verdict("E0", "N0"),
        ];
        let at = Timestamp;
        assert_eq!(believed(&work, &batch, &answer), [(4, at(1)), (5, at(3)), (7, at(9))]);
        // An answer that declares nearly all drafts invalid is ignored, because it misunderstood the question.
        let all =
            [verdict("E1", "N1"), verdict("E2", "N1"), verdict("E3", "N2"), verdict("E4", "N2")];
        assert_eq!(believed(&work, &batch, &all), []);
    }
}
