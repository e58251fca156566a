//! Putting a model's drafts and those of the rules together.
//!
//! Prose comes from the model alone where it answered: its drafts say more, and are told better, than
//! those of the rules. Rules contribute what they know better, because they see it: commands and
//! cures that passed, the signatures of errors, the files nearby.

use std::collections::BTreeSet;

use memory_store::Kind;

use super::window::Window;
use crate::extract::draft::Draft;
use crate::extract::{overlap, word_set};

/// Words that two drafts of the same record share from which they are about the same thing.
const SAME_RECORD_SHARE: f32 = 0.3;
/// Words that a model's fix and a cure that was seen to pass share, whatever their records.
const SAME_CURE_SHARE: f32 = 0.5;
/// Paths of one draft.
const PATHS_MAX: usize = 8;

/// Returns the drafts of a session: the model's, the rules' of windows that it did not answer, and
/// commands. A cure that the model tells of gets the signature of the error that it was seen to cure.
pub fn merge(rules: Vec<Draft>, mut proposed: Vec<Draft>, answered: &[&Window]) -> Vec<Draft> {
    let records: BTreeSet<&str> = answered
        .iter()
        .flat_map(|window| &window.pieces)
        .map(|piece| piece.uuid.as_str())
        .collect();
    let is_answered = |draft: &Draft| {
        draft.kind == Kind::Session && !answered.is_empty()
            || draft.turns.iter().any(|turn| records.contains(turn.as_str()))
    };
    let sets: Vec<BTreeSet<String>> = proposed.iter().map(words).collect();
    let mut kept: Vec<Draft> = Vec::new();
    for draft in rules {
        if draft.command.is_some() || !is_answered(&draft) {
            kept.push(draft);
        } else if draft.signatures.is_empty() {
            lend_paths(&draft, &mut proposed, &sets);
        } else {
            prove(&draft, &mut proposed, &sets);
        }
    }
    kept.extend(proposed);
    kept
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

/// Gives a cure that was seen to pass the model's words. One that the model does not tell of was a slip:
/// of cures that rules find in tool calls, nine in ten are.
fn prove(rule: &Draft, proposed: &mut [Draft], sets: &[BTreeSet<String>]) {
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
    let Some((at, _)) = best else { return };
    let draft = &mut proposed[at];
    draft.kind = Kind::Fix;
    draft.signatures.clone_from(&rule.signatures);
    draft.effect = rule.effect.clone();
    add_paths(draft, rule);
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

    fn window(uuid: &str) -> Window {
        let piece = Piece {
            uuid: uuid.to_owned(),
            at: Timestamp(0),
            said_by: SaidBy::Assistant,
            text: String::new(),
            evidence: Vec::new(),
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
        let answered = window("a");
        let merged = merge(rules.clone(), vec![model], &[&answered]);
        let told: Vec<&str> = merged.iter().map(|draft| draft.extractor.as_str()).collect();
        assert_eq!(told, ["rules", "model"]);
        assert_eq!(merged[0].turns, ["b"]);
        assert_eq!(merged[1].paths, ["model", "rules"]);
        // An empty answer is one.
        assert_eq!(merge(rules, Vec::new(), &[&answered]).len(), 1);
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
        slip.title = "Unknown option: run it without".to_owned();
        let told = draft(
            "model",
            "a",
            Kind::Gotcha,
            "Start the sandbox first, or ECONNREFUSED 8089 comes",
        );
        let answered = window("a");
        let merged =
            merge(vec![command.clone(), cure.clone(), slip], vec![told.clone()], &[&answered]);
        assert_eq!(merged.len(), 2);
        assert_eq!(merged[0], command);
        assert_eq!((merged[1].kind, &merged[1].title), (Kind::Fix, &told.title));
        assert_eq!((&merged[1].signatures, &merged[1].effect), (&cure.signatures, &cure.effect));
        assert_eq!(merge(vec![cure.clone()], Vec::new(), &[&answered]), []);
        assert_eq!(merge(vec![cure.clone()], Vec::new(), &[]), [cure]);
    }
}
