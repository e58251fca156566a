//! Answers: what the user chose when Claude asked.

use memory_store::Kind;

use super::clean::{capital, cut, headline, plain};
use super::draft::Draft;
use super::episode::Statement;
use super::pool::{self, Pool, TEXT_CHARS_MAX, join};
use super::prose::Sentence;
use super::score::Channel;
use super::{Miner, Said, TITLE_CHARS_MAX};
use crate::transcript::session::Input;

/// Characters of a question and of an answer.
const QUESTION_CHARS_MAX: usize = 200;
const ANSWER_CHARS_MAX: usize = 160;

pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Vec<Draft> {
    let episode = pool.episode;
    let mut drafts = Vec::new();
    if episode.by_program {
        return drafts;
    }
    for (at, call) in episode.calls() {
        let Input::Question { asked } = &call.input else { continue };
        if call.failed || call.denied {
            continue;
        }
        for (question, answer) in asked.iter().filter(|(_, answer)| !answer.trim().is_empty()) {
            let (asked, options) = question.split_once('\n').unwrap_or((question, ""));
            let asked = cut(&plain(asked), QUESTION_CHARS_MAX);
            let answer = cut(&plain(answer), ANSWER_CHARS_MAX);
            let statement = Statement {
                sentence: Sentence {
                    text: answer.clone(),
                    raw: answer.clone(),
                    heading: String::new(),
                    list: false,
                    block: 0,
                    code: false,
                },
                channel: Channel::User,
                uuid: call.result_uuid.clone().unwrap_or_else(|| at.what.uuid.clone()),
                at: at.what.at,
                step: at.step,
                order: 0,
                score: 1.0,
                transient: false,
            };
            let whole = format!("{}: {answer}", asked.trim_end_matches(['?', '.', ' ']));
            let (title, rest) = headline(&capital(&whole), TITLE_CHARS_MAX);
            let mut parts = vec![rest, "The user chose this when asked".to_owned()];
            let others = others(options, &answer);
            if !others.is_empty() {
                parts.push(format!("Not chosen: {others}"));
            }
            pool::situate(&mut parts, "Decided while working on", episode.name(), TEXT_CHARS_MAX);
            let said = Said {
                kind: Kind::Decision,
                title,
                body: join(&parts),
                evidence: vec![&statement],
                confidence: 0.9,
                worth: 1.8,
            };
            drafts.extend(miner.draft(episode, said));
        }
    }
    drafts
}

/// The options that were offered and not chosen.
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
    cut(&told.join("; "), QUESTION_CHARS_MAX)
}
