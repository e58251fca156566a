//! The fourth question: which notes of earlier sessions the commits of a session overtook.
//!
//! Relations are told between notes. That something was mended, finished or taken out leaves no note behind: the
//! commit says it. What is said of a note and a commit that are not near each other is not believed.

use memory_store::embed::Vector;
use memory_store::{Kind, ProjectId};

use super::answer::{HasTexts, NoJson, text, values};
use super::relations::{is_too_much, written};
use super::{Fault, Model, ask};
use crate::consolidate::near::{Compared, Portion, commit_portions};
use crate::consolidate::{Relations, memory_id};
use crate::extract::Landed;
use crate::extract::draft::Draft;

/// Notes of one answer.
const OVERTAKEN_MAX: usize = 24;

/// A note that a commit overtook, as a model told it, by the names in the question.
#[derive(Clone, Debug, PartialEq)]
struct Overtaken {
    note: String,
    by: String,
    how: String,
}

impl HasTexts for Overtaken {
    fn has(&self, is_it: &dyn Fn(&str) -> bool) -> bool {
        is_it(&self.how)
    }
}

impl Model {
    /// Asks which drafts the commits of later sessions overtook, both in the order of their time, and adds them to
    /// `relations`. A question without an answer overtakes nothing; why it has none is added to `report`.
    pub fn overtaken(
        &mut self,
        project: ProjectId,
        drafts: &[&Draft],
        commits: &[&Landed],
        embed: &dyn Fn(&str) -> Option<Vector>,
        relations: &mut Relations,
        report: &mut Vec<String>,
    ) {
        let drafts: Vec<&Draft> = drafts.iter().copied().filter(|draft| can_end(draft)).collect();
        let noted: Vec<Compared<'_>> =
            drafts.iter().map(|draft| Compared::draft(draft, embed)).collect();
        let landed: Vec<Compared<'_>> =
            commits.iter().map(|commit| Compared::commit(commit, embed)).collect();
        for portion in commit_portions(&landed, &noted, self.room.notes) {
            match self.ended(&portion, &drafts, commits) {
                Ok(told) => {
                    for (note, by) in believed(&portion, &told) {
                        let name = memory_id(project, drafts[note]);
                        let at = relations.overtaken.entry(name).or_default();
                        *at = commits[by].at.max(*at);
                    }
                }
                Err(fault) => {
                    self.unanswered(&fault, "What commits overtook stands.", relations, report)
                }
            }
        }
    }

    fn ended(
        &mut self,
        portion: &Portion,
        drafts: &[&Draft],
        commits: &[&Landed],
    ) -> Result<Vec<Overtaken>, Fault> {
        let made: String =
            (1..).zip(&portion.new).map(|(number, &at)| line(number, commits[at])).collect();
        let notes: String = (1..)
            .zip(&portion.earlier)
            .map(|(number, &at)| written('E', number, drafts[at]))
            .collect();
        let key = format!("overtaken\n{made}\n{notes}");
        let question = |texts: &[String], note: &str| ask::overtaken(&texts[0], &texts[1], note);
        self.asked(&key, &[&made, &notes], question, read)
    }
}

/// Whether a commit may overtake it: rules and wishes of people hold until people take them back.
fn can_end(draft: &Draft) -> bool {
    !draft.kind.is_wish() && draft.kind != Kind::Command
}

fn line(number: usize, commit: &Landed) -> String {
    let body = commit.body.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("N{number} [{}] {}\n   {body}\n", commit.at.date(), commit.subject)
}

fn read(answer: &str) -> Result<Vec<Overtaken>, NoJson> {
    let overtaken = values(answer, "overtaken")?;
    let overtaken = overtaken.iter().map(|value| Overtaken {
        note: text(value, "note"),
        by: text(value, "by"),
        how: text(value, "how"),
    });
    Ok(overtaken.take(OVERTAKEN_MAX).collect())
}

/// Returns the verdicts that can be believed: places of the note and of the commit.
fn believed(portion: &Portion, told: &[Overtaken]) -> Vec<(usize, usize)> {
    let place = |list: &[usize], name: &str, letter: char| -> Option<usize> {
        let number: usize = name.strip_prefix(letter)?.parse().ok()?;
        list.get(number.checked_sub(1)?).copied()
    };
    let mut believed: Vec<(usize, usize)> = told
        .iter()
        .filter_map(|Overtaken { note, by, how: _ }| {
            let (note, by) = (place(&portion.earlier, note, 'E')?, place(&portion.new, by, 'N')?);
            portion.near.contains(&(by, note)).then_some((note, by))
        })
        .collect();
    believed.sort_unstable();
    believed.dedup_by_key(|(note, _)| *note);
    if is_too_much(believed.len(), portion.earlier.len()) { Vec::new() } else { believed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(note: &str, by: &str) -> Overtaken {
        Overtaken { note: note.to_owned(), by: by.to_owned(), how: String::new() }
    }

    #[test]
    fn only_notes_near_the_commit_are_overtaken_and_each_once() {
        let near = [(0, 4), (0, 5), (1, 6), (1, 7)].into();
        let portion = Portion { new: vec![0, 1], earlier: vec![4, 5, 6, 7], near };
        let answer = [
            told("E1", "N1"),
            told("E1", "N1"),
            told("E2", "N2"),
            told("E9", "N1"),
            told("D3", "N2"),
            told("E4", "N2"),
            told("E0", "N0"),
        ];
        assert_eq!(believed(&portion, &answer), [(4, 0), (7, 1)]);
        // An answer that leaves nearly nothing has not understood the question.
        let all = [told("E1", "N1"), told("E2", "N1"), told("E3", "N2"), told("E4", "N2")];
        assert_eq!(believed(&portion, &all), []);
    }

    #[test]
    fn an_answer_to_another_question_is_none() {
        assert_eq!(read(r#"{"relations": []}"#), Err(NoJson));
        let answer =
            r#"{"overtaken": [{"note": " E1", "by": "N2", "why": "removed", "how": "x"}]}"#;
        let expected = Overtaken { note: "E1".into(), by: "N2".into(), how: "x".into() };
        assert_eq!(read(answer), Ok(vec![expected]));
    }
}
