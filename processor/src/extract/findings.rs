//! Findings: what the last message of a turn, or one that its writer labels, says that outlasts its session: a
//! cause, a trap, a rule, a choice with its reason. One whole paragraph, item or row each, that says why or is labelled.
//! No single sign tells them from talk, so many weak ones are added up.

use memory_store::Kind;

use super::commits::signs;
use super::draft::Draft;
use super::episode::Episode;
use super::pattern::Pattern;
use super::sets::{self, Words, word_set};
use super::unit::{self, Unit};
use super::{DraftText, SessionMiner, is_prose, words};
use crate::transcript::session::{Input, PromptBy, Step, StepKind, Turn};

/// Confidence in a paragraph that gives a reason; of eleven that gave none readers would keep one.
const SURE: f32 = 0.3;

/// Worth of a finding before its signs, and of one below which nothing is kept.
const WORTH: f32 = -0.4;
const WORTH_MIN: f32 = 0.55;

/// Gains: a text of full length, each sign of a reason, each name written as code, a negation, a head of its own,
/// work that nothing was changed after, words that say that it is worth remembering, a consequence of doing otherwise.
const LENGTH_GAIN: f32 = 1.0;
const SIGN_GAIN: f32 = 0.2;
const CODE_GAIN: f32 = 0.08;
const NOT_GAIN: f32 = 0.12;
const HEAD_GAIN: f32 = 0.12;
const LAST_GAIN: f32 = 0.2;
const SAVED_GAIN: f32 = 0.6;
const LABEL_GAIN: f32 = 0.8;
const CONSEQUENCE_GAIN: f32 = 0.45;

/// Gain of a finding for one name that two further turns mention, and for two names that one turn mentions. A
/// session is about the names that it repeats.
const AGAIN_GAIN: f32 = 0.15;
const SAME_GAIN: f32 = 0.2;

/// Losses: words to one another, a state of the hour, a heading of the day's work, a guess, an offer, the work of
/// reviewing, a list of edits, an analysis before the edit that makes it untrue, a report of what was done.
const TALK_LOSS: f32 = 0.25;
const MOMENT_LOSS: f32 = 0.6;
const PASSING_LOSS: f32 = 0.25;
const GUESS_LOSS: f32 = 0.5;
const OFFER_LOSS: f32 = 0.4;
const REVIEW_LOSS: f32 = 0.4;
const EDIT_LOSS: f32 = 0.3;
const EARLY_LOSS: f32 = 0.15;
const REPORT_LOSS: f32 = 0.45;

/// Characters of a text of full length, and of the shortest that says something.
const FULL_CHARS: usize = 450;
const CHARS_MIN: usize = 100;

/// Characters of the shortest text that counts when its writer labels what it is.
const LABELLED_CHARS_MIN: usize = 40;

/// Names written as code that count.
const CODE_MAX: usize = 4;

/// Two findings that share this much of their words are one; the later one tells how it is.
const SAME_SHARE: f32 = 0.5;

/// Returns the findings of a session. `told` is what its other memories say.
pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>], told: &[Words]) -> Vec<Draft> {
    let mut found: Vec<(Draft, Words)> = Vec::new();
    let spoken: Vec<Words> = miner.session.turns.iter().map(spoken).collect();
    for (at, episode) in episodes.iter().enumerate() {
        if episode.notes_changes() {
            continue;
        }
        let edited_after = episodes[at + 1..].iter().any(Episode::edited);
        let (mut step, mut worked) = (0, false);
        for (index, turn) in episode.turns.iter().enumerate() {
            let from = step;
            step += turn.steps.len();
            worked |= edits(&turn.steps) || turn.prompt.by == PromptBy::Machine;
            let changed =
                edited_after || episode.turns[index + 1..].iter().any(|turn| edits(&turn.steps));
            let said = texts(turn);
            let Some(&(end, ..)) = said.last() else { continue };
            let others: Vec<&Words> = (miner.session.turns.iter().zip(&spoken))
                .filter_map(|(other, names)| (other.uuid != turn.uuid).then_some(names))
                .collect();
            for (at, last, text) in said {
                let place = UnitPlace {
                    episode,
                    step: from + at + 1,
                    last,
                    worked,
                    changed,
                    others: &others,
                };
                for unit in unit::units(&miner.roots.strip(text)).iter().map(Unit::trimmed) {
                    // On the way, and where a program asks, only what its writer calls by such a name outlasts the
                    // next step.
                    if (at < end || episode.by_program) && !unit.is_labelled() {
                        continue;
                    }
                    if let Some(draft) = finding(miner, &unit, place) {
                        let words = word_set(&format!("{} {}", draft.title, draft.body));
                        found.retain(|(_, known)| sets::overlap(known, &words) < SAME_SHARE);
                        found.push((draft, words));
                    }
                }
            }
        }
    }
    // A labelled unit is surer than a commit that says the same.
    let is_new = |words: &Words| told.iter().all(|told| sets::within(words, told) < SAME_SHARE);
    found.retain(|(draft, words)| !is_prose(&draft.extractor) || is_new(words));
    found.into_iter().map(|(draft, _)| draft).collect()
}

/// The names in what a turn says.
fn spoken(turn: &Turn) -> Words {
    let prompt = (turn.prompt.by != PromptBy::Machine).then_some(turn.prompt.text.as_str());
    let texts = turn.steps.iter().filter_map(|step| match &step.what {
        StepKind::Text { text } | StepKind::Queued { text } => Some(text.as_str()),
        StepKind::Call(_) | StepKind::Thinking { .. } => None,
    });
    prompt.into_iter().chain(texts).flat_map(sets::names).collect()
}

/// The texts of a turn that ended by itself, in order, each with its step.
fn texts(turn: &Turn) -> Vec<(usize, &Step, &str)> {
    if turn.interrupted || turn.rewound {
        return Vec::new();
    }
    let steps = turn.steps.iter().enumerate();
    let texts = steps.filter_map(|(at, step)| match &step.what {
        StepKind::Text { text } => Some((at, step, text.as_str())),
        _ => None,
    });
    texts.collect()
}

/// Whether a file was changed in some steps.
fn edits(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.what {
        StepKind::Call(call) => matches!(call.input, Input::Edit { .. }) && !call.failed,
        _ => false,
    })
}

/// Where a unit was said.
#[derive(Clone, Copy)]
struct UnitPlace<'e, 'a> {
    episode: &'e Episode<'a>,
    step: usize,
    last: &'e Step,
    /// Whether files were changed before, for the same request.
    worked: bool,
    /// Whether files were changed afterwards.
    changed: bool,
    /// The names in what the other turns say.
    others: &'e [&'e Words],
}

fn finding(miner: &SessionMiner<'_>, unit: &Unit, place: UnitPlace<'_, '_>) -> Option<Draft> {
    let worth = worth(unit, place)?;
    let (title, body) = unit.told()?;
    let text = unit.text.as_str();
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
        DraftText {
            kind,
            title,
            body,
            quote: &unit.raw,
            uuid: &place.last.uuid,
            at: place.last.at,
            step: place.step,
            by_user: false,
            is_prose: !unit.is_labelled(),
            confidence: SURE,
            worth,
        },
    )
}

/// Returns the worth of a unit; `None` where it is too little.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn worth(unit: &Unit, place: UnitPlace<'_, '_>) -> Option<f32> {
    let text = unit.text.as_str();
    let chars = text.chars().count();
    let is_labelled = unit.is_labelled();
    let chars_min = if is_labelled { LABELLED_CHARS_MIN } else { CHARS_MIN };
    let signs = signs(text);
    let says_why = is_labelled || signs > 0 && words::NAMED.is_match(text);
    if chars < chars_min || !says_why || !unit::says(unit) {
        return None;
    }
    let says = |pattern: &Pattern, share: f32| if pattern.is_match(text) { share } else { 0.0 };
    let when = |holds: bool, share: f32| if holds { share } else { 0.0 };
    let names = (unit.raw.matches('`').count() / 2).min(CODE_MAX);
    let heading = format!("{} {}", unit.heading, unit.head);
    let passing = words::MOMENT.is_match(text) || words::BOOKKEEPING.is_match(text);
    let gains = LENGTH_GAIN * chars.min(FULL_CHARS) as f32 / FULL_CHARS as f32
        + SIGN_GAIN * f32::from(signs)
        + CODE_GAIN * names as f32
        + says(&words::NOT, NOT_GAIN)
        + says(&words::CONSEQUENCE, CONSEQUENCE_GAIN)
        + when(!unit.head.is_empty(), HEAD_GAIN)
        + when(!place.changed, LAST_GAIN)
        + when(words::SAVED.is_match(text), SAVED_GAIN)
        + when(is_labelled, LABEL_GAIN)
        + again(unit, place.others);
    let losses = says(&words::TALKS, TALK_LOSS)
        + when(passing, MOMENT_LOSS)
        + when(words::PASSING_HEADING.is_match(&heading), PASSING_LOSS)
        + says(&words::GUESSES, GUESS_LOSS)
        + when(words::OFFERS.is_match(text) || words::OFFERS.is_match(&heading), OFFER_LOSS)
        + says(&words::REVIEWS, REVIEW_LOSS)
        + says(&words::REPORTS, REPORT_LOSS)
        + says(&words::EDIT_NOTE, EDIT_LOSS)
        + when(!place.worked && place.changed, EARLY_LOSS);
    Some(WORTH + gains - losses).filter(|worth| *worth >= WORTH_MIN)
}

/// Returns the gain of a unit from names that other turns mention.
fn again(unit: &Unit, others: &[&Words]) -> f32 {
    let names = sets::names(&unit.raw);
    let (mut mentions, mut same) = (0, false);
    // Few names are looked up in sets of many.
    for other in others.iter().filter(|_| !names.is_empty()) {
        let shared = names.iter().filter(|name| other.contains(*name)).take(2).count();
        mentions = (mentions + u8::from(shared > 0)).min(2);
        same |= shared > 1;
        if mentions > 1 && same {
            break;
        }
    }
    let once = mentions > 1;
    f32::from(u8::from(once)) * AGAIN_GAIN + f32::from(u8::from(same)) * SAME_GAIN
}
