//! Plans: what an accepted plan lays down, however the work is then done: choices with their reason, rules,
//! edge cases. What it says of the present is false once it is carried out, and not taken.

use memory_store::Kind;

use super::commits::signs;
use super::draft::Draft;
use super::episode::Episode;
use super::unit::{self, Unit};
use super::{DraftText, SessionMiner, words};
use crate::transcript::session::{Input, StepKind};

/// Confidence in what a plan lays down.
const SURE: f32 = 0.2;

/// Worth of an item, and the gain for each sign of a reason.
const WORTH: f32 = 0.5;
const SIGN_GAIN: f32 = 0.2;

/// Words of a list that is told whole, and what it is worth more than one item.
const SECTION_WORDS_MIN: usize = 15;
const SECTION_GAIN: f32 = 0.5;

/// Memories of one plan.
const PLAN_MAX: usize = 2;

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for episode in episodes.iter().filter(|episode| !episode.by_program) {
        let turn = &episode.turns[0];
        if let Some(found) = words::PLAN_PROMPT.find(&turn.prompt.text) {
            let plan = words::PLAN_TAIL.replace(&turn.prompt.text[found.end()..], "");
            drafts.extend(of_plan(miner, episode, &plan, (&turn.uuid, turn.at, 0)));
        }
        for at in &episode.steps {
            let StepKind::Call(call) = &at.what.what else { continue };
            if let Input::Plan { plan } = &call.input
                && !call.failed
                && !call.denied
                && episode.edits_after(at.step)
            {
                drafts.extend(of_plan(miner, episode, plan, (&at.what.uuid, at.what.at, at.step)));
            }
        }
    }
    drafts
}

fn of_plan(
    miner: &SessionMiner<'_>,
    episode: &Episode<'_>,
    plan: &str,
    (uuid, at, step): (&str, memory_store::Timestamp, usize),
) -> Vec<Draft> {
    let plan = miner.roots.strip(plan);
    let name = super::episode::title_of_plan(&plan);
    let units = unit::units(&plan);
    let mut found: Vec<Draft> = sections(&units)
        .into_iter()
        .filter_map(|section| {
            let heading = section[0].heading.as_str();
            let body = section
                .iter()
                .map(|unit| format!("- {}", unit.text))
                .collect::<Vec<_>>()
                .join("\n");
            let fits = body.chars().count() + name.chars().count() <= unit::CHARS_MAX
                && body.split_whitespace().count() >= SECTION_WORDS_MIN
                && signs(&body) > 0
                && !name.is_empty();
            fits.then_some(())?;
            let said = DraftText {
                kind: Kind::Decision,
                title: format!("{name}: {heading}"),
                body,
                quote: &section[0].raw,
                uuid,
                at,
                step,
                by_user: true,
                is_prose: true,
                confidence: SURE,
                worth: WORTH + SECTION_GAIN,
            };
            miner.draft(std::slice::from_ref(episode), said)
        })
        .collect();
    let told: Vec<String> = found.iter().map(|draft| draft.body.clone()).collect();
    let mut alone: Vec<Draft> = units
        .iter()
        .filter(|unit| !told.iter().any(|told| told.contains(&unit.text)))
        .filter(|unit| lays_down(unit))
        .filter_map(|unit| {
            let (title, body) = unit.told()?;
            let body = if name.is_empty() { body } else { format!("{body}\n\nPart of: {name}") };
            let said = DraftText {
                kind: Kind::Decision,
                title,
                body: body.trim().to_owned(),
                quote: &unit.raw,
                uuid,
                at,
                step,
                by_user: true,
                is_prose: true,
                confidence: SURE,
                worth: WORTH + SIGN_GAIN * f32::from(signs(&unit.text)),
            };
            miner.draft(std::slice::from_ref(episode), said)
        })
        .collect();
    found.append(&mut alone);
    found.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    found.truncate(PLAN_MAX);
    found
}

/// The lists under headings that lay down what holds: each is told whole.
fn sections(units: &[Unit]) -> Vec<&[Unit]> {
    let lists = units.chunk_by(|a, b| a.heading == b.heading && a.item == b.item);
    let holds = |list: &&[Unit]| {
        let heading = list[0].heading.as_str();
        list[0].item
            && super::lays_down(heading)
            && !words::PASSING_HEADING.is_match(heading)
            && list
                .iter()
                .all(|unit| !words::TALKS.is_match(&unit.text) && !unit::names_machine(&unit.raw))
    };
    lists.filter(holds).collect()
}

/// Whether a unit says what holds, and not what is to be done.
fn lays_down(unit: &Unit) -> bool {
    let text = unit.text.as_str();
    let holds = super::lays_down(&unit.heading) || super::lays_down(&unit.head);
    let reasons = words::SAYS_WHY.is_match(text) && words::CHOICE.is_match(text);
    (holds || reasons)
        && signs(text) > 0
        && !words::PASSING_HEADING.is_match(&unit.heading)
        && !words::NOW.is_match(text)
        && !words::EDIT_NOTE.is_match(text)
        && !words::TALKS.is_match(text)
        && !unit::names_machine(&unit.raw)
}
