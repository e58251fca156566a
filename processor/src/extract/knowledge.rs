//! Knowledge files: what people and agents wrote down in the session for those who come later. That such a
//! file exists and where is a memory; so are the units of one that a session's start does not read anyway. A
//! later edit that takes a unit out takes its memory back.

use std::collections::BTreeMap;

use memory_store::Kind;

use super::commits::signs;
use super::draft::{Draft, Effect};
use super::episode::Episode;
use super::unit::{self, Unit};
use super::{DraftText, SessionMiner, words};
use crate::transcript::session::Input;

/// Confidence in a unit, and in the existence of a file.
const UNIT_SURE: f32 = 0.75;
const FILE_SURE: f32 = 0.15;

/// Worth of a unit, above that of a commit, for readers would keep nearly all of them; the gain for each sign of a
/// reason; and the worth of the existence of a file.
const WORTH: f32 = 1.4;
const SIGN_GAIN: f32 = 0.3;
const FILE_WORTH: f32 = 0.9;

/// Units of one session.
const UNITS_MAX: usize = 12;

/// Headings of a new file that are told.
const HEADINGS_MAX: usize = 6;

/// Where a unit was written.
#[derive(Clone, Debug)]
struct UnitSource<'e, 'a> {
    unit: Unit,
    path: String,
    episode: &'e Episode<'a>,
    uuid: &'e str,
    at: memory_store::Timestamp,
    step: usize,
}

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let mut written: Vec<UnitSource<'_, '_>> = Vec::new();
    let mut removed: Vec<UnitSource<'_, '_>> = Vec::new();
    let mut files: BTreeMap<String, Draft> = BTreeMap::new();
    for episode in episodes {
        for (at, call) in episode.calls() {
            let Input::Edit { path, old, new } = &call.input else { continue };
            let Some(path) = miner.roots.relative(path) else { continue };
            if call.failed || call.denied || !words::KNOWLEDGE.is_match(&path) {
                continue;
            }
            let place = |unit| UnitSource {
                unit,
                path: path.clone(),
                episode,
                uuid: &at.what.uuid,
                at: at.what.at,
                step: at.step,
            };
            if old.is_empty() && !words::READ_AT_START.is_match(&path) {
                files.extend(
                    file(miner, place(Unit::default()), new).map(|file| (path.clone(), file)),
                );
            }
            let new = unit::units(&miner.roots.strip(new));
            let old = unit::units(&miner.roots.strip(old));
            let says =
                |units: &[Unit], unit: &Unit| units.iter().any(|known| known.text == unit.text);
            let gone = |unit: &Unit| says(&old, unit) && !says(&new, unit);
            written.retain(|known| known.path != path || !gone(&known.unit));
            removed.extend(old.iter().filter(|unit| gone(unit)).cloned().map(&place));
            let fresh = new.iter().filter(|unit| !says(&old, unit)).cloned().map(&place);
            written.extend(fresh.filter(|_| !words::READ_AT_START.is_match(&path)));
        }
    }
    let mut drafts: Vec<Draft> =
        written.iter().filter_map(|written| told(miner, written)).collect();
    drafts.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    drafts.truncate(UNITS_MAX);
    drafts.extend(files.into_values());
    let taken_back = removed.iter().filter_map(|removed| told(miner, removed));
    drafts.extend(taken_back.map(|draft| match draft.effect {
        Effect::Confirms { key } => Draft { effect: Effect::Refutes { key }, ..draft },
        _ => draft,
    }));
    drafts
}

/// A unit of a file as a memory.
fn told(miner: &SessionMiner<'_>, written: &UnitSource<'_, '_>) -> Option<Draft> {
    let unit = &written.unit;
    let (title, body) = unit.told()?;
    if signs(&unit.text) == 0 || unit::names_machine(&unit.raw) || unit.raw.contains(CUT_MARK) {
        return None;
    }
    let kind = if words::RULES.is_match(&title) && !words::FAILS.is_match(&title) {
        Kind::Convention
    } else {
        Kind::Gotcha
    };
    let key = format!("knowledge {} {title}", written.path);
    let body = format!("{body}\n\nWritten in {}", written.path);
    let said = DraftText {
        kind,
        title,
        body: body.trim().to_owned(),
        quote: &unit.raw,
        uuid: written.uuid,
        at: written.at,
        step: written.step,
        by_user: false,
        is_prose: false,
        confidence: UNIT_SURE,
        worth: WORTH + SIGN_GAIN * f32::from(signs(&unit.text)),
    };
    let draft = miner.draft(std::slice::from_ref(written.episode), said)?;
    Some(Draft { paths: vec![written.path.clone()], effect: Effect::Confirms { key }, ..draft })
}

/// Mark that an archive puts where it left something out.
const CUT_MARK: char = '…';

/// The existence of a file, with its headings.
fn file(miner: &SessionMiner<'_>, place: UnitSource<'_, '_>, text: &str) -> Option<Draft> {
    let mut headings: Vec<String> = Vec::new();
    for block in super::prose::blocks(text) {
        if let super::prose::Block::Heading(heading) = block {
            headings.push(super::plain(&heading));
        }
    }
    let (title, rest) = headings.split_first()?;
    let body = match rest {
        [] => String::new(),
        rest => format!("It has: {}.", rest[..rest.len().min(HEADINGS_MAX)].join("; ")),
    };
    let said = DraftText {
        kind: Kind::Fact,
        title: format!("`{}` holds what was written down on: {title}", place.path),
        body,
        quote: text.lines().find(|line| !line.trim().is_empty())?,
        uuid: place.uuid,
        at: place.at,
        step: place.step,
        by_user: false,
        is_prose: false,
        confidence: FILE_SURE,
        worth: FILE_WORTH,
    };
    let draft = miner.draft(std::slice::from_ref(place.episode), said)?;
    let effect = Effect::Confirms { key: format!("knowledge file {}", place.path) };
    Some(Draft { paths: vec![place.path], effect, ..draft })
}
