//! Merges a model's drafts with findings of rules: explicit wishes that the model did not find, and signatures of cured
//! errors.

use std::collections::BTreeSet;

use memory_store::Kind;

use crate::extract::draft::{Draft, PATHS_MAX};
use crate::extract::session_record::Cure;
use crate::extract::{overlap, word_set};

/// Minimum share of common words from which two drafts from the same record are about the same thing.
const SAME_RECORD_SHARE: f32 = 0.3;
/// Minimum share of common words from which a model's fix and an observed cure from different records are about the
/// same thing.
const SAME_CURE_SHARE: f32 = 0.5;

/// Returns the drafts of a session: the model's drafts, and wishes that these do not include. The signature of a cured
/// error is added to the fix for it.
pub fn merge(wishes: Vec<Draft>, cures: &[Cure], mut proposed: Vec<Draft>) -> Vec<Draft> {
    let sets: Vec<BTreeSet<String>> = proposed.iter().map(words).collect();
    let is_told = |wish: &Draft| {
        let known = words(wish);
        let mut told = proposed.iter().zip(&sets);
        told.any(|(draft, set)| {
            draft.turns.first() == wish.turns.first() && overlap(&known, set) >= SAME_RECORD_SHARE
        })
    };
    let mut kept: Vec<Draft> = wishes.into_iter().filter(|wish| !is_told(wish)).collect();
    cures.iter().for_each(|cure| prove(cure, &mut proposed, &sets));
    kept.extend(proposed);
    kept
}

fn words(draft: &Draft) -> BTreeSet<String> {
    word_set(&format!("{} {}", draft.title, draft.body))
}

/// Adds the signature of the error and the files of a cure to the corresponding fix by the model.
fn prove(cure: &Cure, proposed: &mut [Draft], sets: &[BTreeSet<String>]) {
    let Some(signature) = &cure.signature else { return };
    let known = word_set(&format!("{} {} {}", cure.call, cure.error, cure.cure));
    let likeness = |at: usize| {
        let draft = &proposed[at];
        let tells = matches!(draft.kind, Kind::Fix | Kind::Gotcha) && draft.signatures.is_empty();
        let same_record = cure.turns.iter().any(|turn| draft.turns.contains(turn));
        let share = overlap(&known, &sets[at]);
        let share_min = if same_record { SAME_RECORD_SHARE } else { SAME_CURE_SHARE };
        (tells && share >= share_min).then_some((at, share))
    };
    let best = (0..proposed.len()).filter_map(likeness).max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((at, _)) = best else { return };
    let draft = &mut proposed[at];
    draft.kind = Kind::Fix;
    draft.signatures = vec![signature.clone()];
    for path in &cure.paths {
        if draft.paths.len() < PATHS_MAX && !draft.paths.contains(path) {
            draft.paths.push(path.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Timestamp;
    use memory_store::memory::{SaidBy, Scope};

    use super::*;

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
            extractor: extractor.to_owned(),
            worth: 0.0,
            importance: (extractor == "model").then_some(0.6),
            standing: true,
            cues: Vec::new(),
            entities: Vec::new(),
            facts: Vec::new(),
            topic: None,
        }
    }

    #[test]
    fn a_wish_stays_unless_a_draft_of_the_model_covers_it() {
        let title = "From now on store amounts as integer cents";
        let wishes = vec![
            draft("rules", "a", Kind::Preference, title),
            draft("rules", "b", Kind::Preference, "Remember that the nightly job needs a gigabyte"),
        ];
        let model = draft("model", "a", Kind::Preference, "Store amounts as integer cents");
        let merged = merge(wishes, &[], vec![model]);
        let told: Vec<(&str, &str)> =
            merged.iter().map(|it| (it.extractor.as_str(), it.turns[0].as_str())).collect();
        assert_eq!(told, [("rules", "b"), ("model", "a")]);
    }

    #[test]
    fn a_fix_of_the_model_gets_the_signature_of_the_error_that_was_cured() {
        let cure = Cure {
            turns: vec!["a".to_owned(), "c".to_owned()],
            call: "`make test`".to_owned(),
            error: "ECONNREFUSED 8089".to_owned(),
            signature: Some("econnrefused".to_owned()),
            cure: "Cured by `make sandbox`; then it passed.".to_owned(),
            paths: vec!["Makefile".to_owned()],
            ..Cure::default()
        };
        let title = "Start the sandbox before make test, or ECONNREFUSED 8089 comes";
        let told = draft("model", "a", Kind::Gotcha, title);
        let other = draft("model", "a", Kind::Decision, title);
        let merged = merge(Vec::new(), &[cure], vec![other.clone(), told]);
        assert_eq!(merged[0], other);
        assert_eq!(
            (merged[1].kind, &merged[1].signatures[..]),
            (Kind::Fix, &["econnrefused".to_owned()][..])
        );
        assert_eq!(merged[1].paths, ["model", "Makefile"]);
    }
}
