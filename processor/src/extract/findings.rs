//! Findings: what a final message says that outlasts its session: a cause, a trap, a rule, a choice with its
//! reason. One whole paragraph, item or row each, told after the work it is about.

use memory_store::Kind;

use super::commits::signs;
use super::draft::Draft;
use super::episode::Episode;
use super::sets::{self, Words, word_set};
use super::unit::{self, Unit};
use super::{Miner, Said, words};
use crate::transcript::session::{Input, PromptBy, Step, Turn, What};

/// Confidence in a paragraph with a head of its own, and in one without.
const HEADED_SURE: f32 = 0.5;
const PLAIN_SURE: f32 = 0.4;

/// What a finding is worth; what a head and each further sign of a reason add.
const WORTH: f32 = 0.4;
const HEAD_GAIN: f32 = 0.4;
const SIGN_GAIN: f32 = 0.25;

/// Two findings that share this much of their words are one; the later one tells how it is.
const SAME_SHARE: f32 = 0.5;

/// Returns the findings of a session. `told` is what its other memories say.
pub fn mine(miner: &Miner<'_>, episodes: &[Episode<'_>], told: &[Words]) -> Vec<Draft> {
    let mut found: Vec<(Draft, Words)> = Vec::new();
    for (at, episode) in episodes.iter().enumerate() {
        if episode.by_program || episode.notes_changes() {
            continue;
        }
        let edited_later = episodes[at + 1..].iter().any(Episode::edited);
        let (mut step, mut worked) = (0, false);
        for turn in episode.turns {
            let from = step;
            step += turn.steps.len();
            worked |= edits(&turn.steps) || turn.prompt.by == PromptBy::Machine;
            let Some((index, last, text)) = last_text(turn) else { continue };
            for unit in unit::units(&miner.roots.strip(text)) {
                // What is said before the work is an analysis, and true until then.
                if !worked && edited_later && !words::RULES.is_match(&unit.text) {
                    continue;
                }
                let place = Place { episode, step: from + index + 1, last };
                if let Some(draft) = finding(miner, &unit, place) {
                    let words = word_set(&format!("{} {}", draft.title, draft.body));
                    found.retain(|(_, known)| sets::overlap(known, &words) < SAME_SHARE);
                    found.push((draft, words));
                }
            }
        }
    }
    found.retain(|(_, words)| told.iter().all(|told| sets::within(words, told) < SAME_SHARE));
    found.into_iter().map(|(draft, _)| draft).collect()
}

/// The last text of a turn that ended by itself.
fn last_text(turn: &Turn) -> Option<(usize, &Step, &str)> {
    let said = turn.steps.iter().enumerate().rev();
    let mut texts = said.filter_map(|(at, step)| match &step.what {
        What::Text { text } => Some((at, step, text.as_str())),
        _ => None,
    });
    texts.next().filter(|_| !turn.interrupted && !turn.rewound)
}

/// Whether a file was changed in some steps.
fn edits(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.what {
        What::Call(call) => matches!(call.input, Input::Edit { .. }) && !call.failed,
        _ => false,
    })
}

/// Where a unit was said.
#[derive(Clone, Copy)]
struct Place<'e, 'a> {
    episode: &'e Episode<'a>,
    step: usize,
    last: &'e Step,
}

fn finding(miner: &Miner<'_>, unit: &Unit, place: Place<'_, '_>) -> Option<Draft> {
    let text = unit.text.as_str();
    let signs = signs(text);
    let headed = !unit.head.is_empty();
    if signs < if headed { 1 } else { SIGNS_MIN }
        || words::EDIT_NOTE.is_match(text)
        || words::GUESSES.is_match(text)
        || !unit::lasts(unit)
    {
        return None;
    }
    let (title, body) = unit.told()?;
    let kind = if words::TRIED.is_match(text) && !words::NAMES_FIX.is_match(text) {
        Kind::FailedApproach
    } else if words::CHOICE.is_match(text) && words::SAYS_WHY.is_match(text) {
        Kind::Decision
    } else if [&words::CAUSE, &words::SURPRISE].iter().any(|says| says.is_match(text)) {
        Kind::Gotcha
    } else {
        Kind::Fact
    };
    miner.draft(
        std::slice::from_ref(place.episode),
        Said {
            kind,
            title,
            body,
            quote: &unit.raw,
            uuid: &place.last.uuid,
            at: place.last.at,
            step: place.step,
            by_user: false,
            confidence: if headed { HEADED_SURE } else { PLAIN_SURE },
            worth: WORTH + SIGN_GAIN * f32::from(signs) + if headed { HEAD_GAIN } else { 0.0 },
        },
    )
}

/// Signs of a reason that a finding without a head of its own has at least.
const SIGNS_MIN: u8 = 2;
