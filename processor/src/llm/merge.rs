//! Putting a model's drafts and those of the rules together.
//!
//! Prose comes from the model alone where it answered: its drafts say more, and are told better, than
//! those of the rules. Rules contribute what they know better, because they see it: commands and
//! cures that passed, the signatures of errors, the files nearby.

use std::collections::BTreeSet;

use memory_store::Kind;

use super::window::Window;
use crate::extract::draft::{Draft, PATHS_MAX};
use crate::extract::{COMMAND_CURE_WORTH, overlap, word_set};

/// Words that two drafts of the same record share from which they are about the same thing.
const SAME_RECORD_SHARE: f32 = 0.3;
/// Words that a model's fix and a cure that was seen to pass share, whatever their records.
const SAME_CURE_SHARE: f32 = 0.5;
/// Worth of a cure by a change that the model does not tell of: readers found such cards to be slips of the hour. Only
/// a third session that saw it makes a memory of it (`consolidate/budget.rs`).
const UNTOLD_WORTH: f32 = -1.0;

/// Returns the drafts of a session: the model's, the rules' of windows that it did not answer, and
/// commands. A cure that the model tells of gets the signature of the error that it was seen to cure.
pub fn merge(
    rules: Vec<Draft>,
    mut proposed: Vec<Draft>,
    windows: &[Window],
    answered: &BTreeSet<usize>,
) -> Vec<Draft> {
    let is_answered = |draft: &Draft| match draft.kind {
        // A digest tells of the whole session.
        Kind::Session => !answered.is_empty(),
        _ => place(windows, draft).is_some_and(|at| answered.contains(&at)),
    };
    let sets: Vec<BTreeSet<String>> = proposed.iter().map(words).collect();
    let mut kept: Vec<Draft> = Vec::new();
    for mut draft in rules {
        if draft.command.is_some() || !is_answered(&draft) {
            kept.push(draft);
        } else if draft.signatures.is_empty() {
            lend_paths(&draft, &mut proposed, &sets);
        } else if !prove(&draft, &mut proposed, &sets) {
            // A cure by a command is about tools and the machine, and comes again.
            if draft.worth < COMMAND_CURE_WORTH {
                draft.worth = UNTOLD_WORTH;
            }
            kept.push(draft);
        }
    }
    kept.extend(proposed);
    kept
}

/// The window that shows a draft's evidence. The result of a call has a record of its own that no window
/// names: it belongs to the window that began last before it.
fn place(windows: &[Window], draft: &Draft) -> Option<usize> {
    let shows = |window: &Window| {
        window.pieces.iter().any(|piece| draft.turns.first() == Some(&piece.uuid))
    };
    let began = |window: &Window| window.pieces.first().is_some_and(|it| it.at <= draft.occurred);
    windows.iter().position(shows).or_else(|| windows.iter().rposition(began))
}

fn words(draft: &Draft) -> BTreeSet<String> {
    word_set(&format!("{} {}", draft.title, draft.body))
}

/// Adds the files of a rule's draft to those of the model that are about the same thing.
fn lend_paths(rule: &Draft, proposed: &mut [Draft], sets: &[BTreeSet<String>]) {
    let known = words(rule);
    for (draft, set) in proposed.iter_mut().zip(sets) {
        let same_record = rule.turns.iter().any(|turn| draft.turns.contains(turn));
        if same_record && overlap(&known, set) >= SAME_RECORD_SHARE {
            add_paths(draft, rule);
        }
    }
}

/// Gives a cure that was seen to pass the model's words, if the model tells of it. Nine in ten of the
/// others were slips of one session.
fn prove(rule: &Draft, proposed: &mut [Draft], sets: &[BTreeSet<String>]) -> bool {
    let known = words(rule);
    let likeness = |at: usize| {
        let draft = &proposed[at];
        let tells = matches!(draft.kind, Kind::Fix | Kind::Gotcha) && draft.signatures.is_empty();
        let same_record = rule.turns.iter().any(|turn| draft.turns.contains(turn));
        let share = overlap(&known, &sets[at]);
        let share_min = if same_record { SAME_RECORD_SHARE } else { SAME_CURE_SHARE };
        (tells && share >= share_min).then_some((at, share))
    };
    let best = (0..proposed.len()).filter_map(likeness).max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((at, _)) = best else { return false };
    let draft = &mut proposed[at];
    draft.kind = Kind::Fix;
    draft.signatures.clone_from(&rule.signatures);
    draft.effect = rule.effect.clone();
    add_paths(draft, rule);
    true
}

fn add_paths(draft: &mut Draft, rule: &Draft) {
    for path in &rule.paths {
        if draft.paths.len() < PATHS_MAX && !draft.paths.contains(path) {
            draft.paths.push(path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Timestamp;
    use memory_store::memory::{CommandRecord, SaidBy, Scope};

    use super::super::window::Piece;
    use super::*;
    use crate::extract::draft::Effect;

    fn draft(extractor: &str, uuid: &str, kind: Kind, title: &str) -> Draft {
        Draft {
            kind,
            title: title.to_owned(),
            body: String::new(),
            scope: Scope::Project,
            occurred: Timestamp(0),
            confidence: 0.6,
            session: "s".to_owned(),
            turns: vec![uuid.to_owned()],
            ordinal: 0,
            quote: String::new(),
            said_by: SaidBy::Assistant,
            paths: vec![extractor.to_owned()],
            tags: Vec::new(),
            signatures: Vec::new(),
            command: None,
            extractor: extractor.to_owned(),
            worth: 0.0,
            importance: (extractor == "model").then_some(0.6),
            standing: true,
            cues: Vec::new(),
            effect: Effect::New,
        }
    }

    fn window(uuid: &str, at: i64) -> Window {
        let piece = Piece {
            uuid: uuid.to_owned(),
            at: Timestamp(at),
            said_by: SaidBy::Assistant,
            text: String::new(),
            evidence: Vec::new(),
            passed_on: None,
            paths: Vec::new(),
            is_said: true,
        };
        Window { request: None, pieces: vec![piece] }
    }

    #[test]
    fn prose_of_the_rules_stands_for_windows_without_an_answer_only() {
        let rules = vec![
            draft("rules", "a", Kind::Decision, "Amounts are stored as integer cents"),
            draft("rules", "b", Kind::Gotcha, "The nightly job needs a free gigabyte"),
        ];
        let model =
            draft("model", "a", Kind::Decision, "Store amounts as integer cents, not floats");
        let windows = [window("a", 0), window("b", 10)];
        let first = BTreeSet::from([0]);
        let merged = merge(rules.clone(), vec![model], &windows, &first);
        let told: Vec<&str> = merged.iter().map(|draft| draft.extractor.as_str()).collect();
        assert_eq!(told, ["rules", "model"]);
        assert_eq!(merged[0].turns, ["b"]);
        assert_eq!(merged[1].paths, ["model", "rules"]);
        // An empty answer is one.
        assert_eq!(merge(rules, Vec::new(), &windows, &first).len(), 1);
    }

    #[test]
    fn what_was_seen_to_pass_is_kept_and_told_by_the_model() {
        let mut command = draft("rules", "a", Kind::Command, "make test");
        command.command = Some(CommandRecord {
            line: "make test".to_owned(),
            directory: ".".to_owned(),
            exit_status: 0,
            passed: 3,
            last: Timestamp(0),
        });
        let mut cure = draft("rules", "a", Kind::Fix, "ECONNREFUSED 8089: start the sandbox first");
        cure.signatures = vec!["econnrefused".to_owned()];
        cure.effect = Effect::Confirms { key: "k".to_owned() };
        let mut slip = cure.clone();
        slip.worth = COMMAND_CURE_WORTH - 0.1;
        slip.title = "Unknown option: run it without".to_owned();
        let told = draft(
            "model",
            "a",
            Kind::Gotcha,
            "Start the sandbox first, or ECONNREFUSED 8089 comes",
        );
        let windows = [window("a", 0)];
        let all = BTreeSet::from([0]);
        let drafts = vec![command.clone(), cure.clone(), slip];
        let mut merged = merge(drafts, vec![told.clone()], &windows, &all);
        assert_eq!(merged.len(), 3);
        assert_eq!(merged[0], command);
        let untold = merged.remove(1);
        assert_eq!((untold.worth, untold.turns), (UNTOLD_WORTH, cure.turns.clone()));
        assert_eq!((merged[1].kind, &merged[1].title), (Kind::Fix, &told.title));
        assert_eq!((&merged[1].signatures, &merged[1].effect), (&cure.signatures, &cure.effect));
        let mut by_command = cure.clone();
        by_command.worth = COMMAND_CURE_WORTH;
        let untold = merge(vec![cure.clone(), by_command], Vec::new(), &windows, &all);
        let worth: Vec<f32> = untold.iter().map(|draft| draft.worth).collect();
        assert_eq!(worth, [UNTOLD_WORTH, COMMAND_CURE_WORTH]);
        assert_eq!(merge(vec![cure.clone()], Vec::new(), &windows, &BTreeSet::new()), [cure]);
    }

    #[test]
    fn the_result_of_a_call_belongs_to_the_window_before_it() {
        let windows = [window("a", 0), window("b", 10)];
        let mut chosen = draft("rules", "result", Kind::Decision, "Amounts are integer cents");
        chosen.occurred = Timestamp(7);
        let merged = |answered: usize| {
            merge(vec![chosen.clone()], Vec::new(), &windows, &BTreeSet::from([answered])).len()
        };
        assert_eq!((merged(0), merged(1)), (0, 1));
    }
}
