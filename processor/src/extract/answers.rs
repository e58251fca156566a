//! Answers: what the user chose when Claude asked. A question that names its subject, with the answer, is a
//! choice; one about how to go on is none.

use memory_store::Kind;

use super::clean::{capital, plain};
use super::draft::Draft;
use super::episode::Episode;
use super::{DraftText, SessionMiner, unit, words};
use crate::transcript::session::Input;

/// Characters of a question with its answer, and of the options that were not chosen.
const CHOICE_CHARS_MAX: usize = 260;
const OPTIONS_CHARS_MAX: usize = 320;

/// Words of a question that names its subject.
const WORDS_MIN: usize = 5;

/// Text that stands in place of an answer that was a secret.
const HIDDEN: &str = "[redacted:answer]";

/// Confidence in a choice, and what it is worth.
const SURE: f32 = 0.3;
const WORTH: f32 = 1.1;

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for episode in episodes.iter().filter(|episode| !episode.by_program) {
        for (at, call) in episode.calls() {
            let Input::Question { asked } = &call.input else { continue };
            if call.failed || call.denied {
                continue;
            }
            let uuid = call.result_uuid.as_deref().unwrap_or(&at.what.uuid);
            // A redacted answer, left over from a requested secret, is not a choice.
            let told = |answer: &str| !answer.trim().is_empty() && !answer.contains(HIDDEN);
            for (question, answer) in asked.iter().filter(|(_, answer)| told(answer)) {
                let (question, options) = question.split_once('\n').unwrap_or((question, ""));
                let question = plain(question);
                let answer = plain(&words::RECOMMENDED.replace_all(answer, ""));
                if words::GOES_ON_HOW.is_match(&question)
                    || question.split_whitespace().count() < WORDS_MIN
                    || !words::NAMED
                        .is_match(&format!("{} {answer}", question.trim_end_matches('?')))
                {
                    continue;
                }
                let title = format!("{}: {answer}", question.trim_end_matches(['?', '.', ' ']));
                if title.chars().count() > CHOICE_CHARS_MAX || unit::names_machine(&title) {
                    continue;
                }
                let said = DraftText {
                    kind: Kind::Decision,
                    title: capital(&title),
                    body: others(options, &answer),
                    quote: &answer,
                    uuid,
                    at: at.what.at,
                    step: at.step,
                    by_user: true,
                    is_prose: true,
                    confidence: SURE,
                    worth: WORTH,
                };
                drafts.extend(miner.draft(std::slice::from_ref(episode), said));
            }
        }
    }
    drafts
}

/// The options that were offered and not chosen, where they fit.
fn others(options: &str, answer: &str) -> String {
    let told: Vec<String> = options
        .lines()
        .map(|line| plain(line.trim_start_matches(['-', '*', ' ', '•'])))
        .filter(|option| {
            !option.is_empty()
                && !option.starts_with(answer)
                && !answer.starts_with(option.as_str())
        })
        .collect();
    let told = format!("The user chose this when asked. Not chosen: {}", told.join("; "));
    if told.chars().count() <= OPTIONS_CHARS_MAX && told.len() > answer.len() {
        told
    } else {
        "The user chose this when asked.".to_owned()
    }
}
