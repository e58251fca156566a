//! Merging a model's drafts with those of the rules: the same thing is kept once.

use std::collections::BTreeSet;

use super::window::Window;
use crate::extract::draft::Draft;
use crate::extract::{overlap, word_set};

/// Shared words from which two drafts say the same thing.
const SAME_SHARE: f32 = 0.65;
/// The same, when both rest on the same record.
const SAME_RECORD_SHARE: f32 = 0.45;
/// What a draft of a model is worth when there is none of the rules to compare it with.
const WORTH_DEFAULT: f32 = 1.0;

/// Returns the drafts of the rules and of the model. Where both say the same thing, the rule's
/// draft stays what it is (its id rests on it), and takes the model's words when these are shown
/// at least as well by the evidence.
pub fn merge(mut drafts: Vec<Draft>, proposed: Vec<Draft>, windows: &[Window]) -> Vec<Draft> {
    let worth = upper_quartile(&drafts);
    let mut sets: Vec<BTreeSet<String>> = drafts.iter().map(words).collect();
    for mut draft in proposed {
        draft.worth = worth;
        let set = words(&draft);
        let same = (0..drafts.len())
            .map(|at| (at, likeness(&drafts[at], &sets[at], &draft, &set)))
            .filter(|(_, likeness)| *likeness > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        match same {
            Some((at, _)) => {
                unite(&mut drafts[at], draft, windows);
                sets[at] = words(&drafts[at]);
            }
            None => {
                drafts.push(draft);
                sets.push(set);
            }
        }
    }
    drafts
}

fn words(draft: &Draft) -> BTreeSet<String> {
    word_set(&format!("{} {}", draft.title, draft.body))
}

/// How much two drafts say the same; 0 when they do not.
fn likeness(
    known: &Draft,
    known_words: &BTreeSet<String>,
    new: &Draft,
    new_words: &BTreeSet<String>,
) -> f32 {
    let same_record = known.turns.iter().any(|turn| new.turns.contains(turn));
    let share_min = match (known.kind == new.kind, same_record) {
        (true, true) => SAME_RECORD_SHARE,
        (true, false) | (false, true) => SAME_SHARE,
        (false, false) => return 0.0,
    };
    let share = overlap(known_words, new_words);
    if share >= share_min { share } else { 0.0 }
}

fn unite(known: &mut Draft, new: Draft, windows: &[Window]) {
    let records: Vec<&String> = known.turns.iter().chain(&new.turns).collect();
    let evidence = evidence_words(windows, &records);
    let is_better = known.command.is_none()
        && known.kind == new.kind
        && grounding(&new, &evidence) >= grounding(known, &evidence);
    if is_better {
        known.title = new.title;
        known.body = new.body;
        known.extractor = new.extractor;
    }
    known.confidence = known.confidence.max(new.confidence);
    known.worth = known.worth.max(new.worth);
    add(&mut known.paths, new.paths);
    add(&mut known.tags, new.tags);
}

fn add(known: &mut Vec<String>, new: Vec<String>) {
    const ITEMS_MAX: usize = 12;
    for item in new {
        if known.len() < ITEMS_MAX && !known.contains(&item) {
            known.push(item);
        }
    }
}

/// The words of these records.
fn evidence_words(windows: &[Window], records: &[&String]) -> BTreeSet<String> {
    let pieces = windows.iter().flat_map(|window| &window.pieces);
    let said = pieces.filter(|piece| records.contains(&&piece.uuid));
    said.flat_map(|piece| word_set(&piece.evidence.join(" "))).collect()
}

/// The share of a draft's words that stand in the evidence.
fn grounding(draft: &Draft, evidence: &BTreeSet<String>) -> f32 {
    let words = words(draft);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = words.intersection(evidence).count() as f32 / words.len().max(1) as f32;
    share
}

/// A model that quotes its evidence is better than most rules.
fn upper_quartile(drafts: &[Draft]) -> f32 {
    let mut worths: Vec<f32> = drafts.iter().map(|draft| draft.worth).collect();
    worths.sort_by(f32::total_cmp);
    worths.get(worths.len() * 3 / 4).copied().unwrap_or(WORTH_DEFAULT)
}

#[cfg(test)]
mod tests {
    use memory_store::memory::{SaidBy, Scope};
    use memory_store::{Kind, Timestamp};

    use super::super::window::Piece;
    use super::*;
    use crate::extract::draft::Effect;

    fn draft(extractor: &str, uuid: &str, title: &str, worth: f32) -> Draft {
        Draft {
            kind: Kind::Decision,
            title: title.to_owned(),
            body: String::new(),
            scope: Scope::Project,
            occurred: Timestamp(0),
            confidence: 0.5,
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
            worth,
            importance: None,
            standing: false,
            cues: Vec::new(),
            effect: Effect::New,
        }
    }

    fn windows() -> Vec<Window> {
        let text = "We store amounts as integer cents, because floats lose pennies in sums";
        let piece = Piece {
            uuid: "a".to_owned(),
            at: Timestamp(0),
            said_by: SaidBy::Assistant,
            text: text.to_owned(),
            evidence: vec![text.to_owned()],
            paths: Vec::new(),
        };
        vec![Window { request: None, pieces: vec![piece] }]
    }

    #[test]
    fn the_same_thing_is_kept_once_with_the_better_words() {
        let rule =
            draft("rules", "a", "Going forward store amounts integer cents maybe later", 2.0);
        let model =
            draft("ollama", "a", "Store amounts as integer cents: floats lose pennies", 0.0);
        let merged = merge(vec![rule.clone()], vec![model.clone()], &windows());
        assert_eq!(merged.len(), 1);
        assert_eq!((&merged[0].title, merged[0].ordinal), (&model.title, rule.ordinal));
        assert_eq!(merged[0].extractor, "ollama");
        assert_eq!(merged[0].paths, ["rules", "ollama"]);

        let invented =
            draft("ollama", "a", "Store amounts integer cents for regulators abroad", 0.0);
        let merged = merge(vec![rule.clone()], vec![invented], &windows());
        assert_eq!((merged.len(), merged[0].extractor.as_str()), (1, "ollama"));
        let grounded =
            draft("rules", "a", "We store amounts as integer cents because floats lose", 2.0);
        let invented =
            draft("ollama", "a", "Store amounts integer cents for regulators abroad", 0.0);
        let merged = merge(vec![grounded], vec![invented], &windows());
        assert_eq!((merged.len(), merged[0].extractor.as_str()), (1, "rules"));
    }

    #[test]
    fn other_things_stand_beside() {
        let rule = draft("rules", "a", "Amounts are stored as integer cents", 2.0);
        let model = draft("ollama", "b", "The nightly job runs on the small machine", 0.0);
        let merged = merge(vec![rule], vec![model], &windows());
        assert_eq!(merged.len(), 2);
        assert!(merged[1].worth >= 2.0);
        assert_eq!(merge(Vec::new(), Vec::new(), &[]), []);
    }
}
