//! The gate for passages: decides for each query whether the project's passages are related to it.
//!
//! For a prompt without a known subject, passages are noise, and most prompts of a project are of that kind: "commit
//! this" shares words with hundreds of passages. Therefore the gate judges the query as a whole: by the overlap of the
//! best passages with the query, by their distance from the other passages, and by the information in the query. It
//! uses no word list, only the rarity of words in technical text in general and in this index.

use std::collections::BTreeMap;

use super::rank::{RANKED_MAX, RankedPassage};
use super::rarity::Rarity;
use crate::embed::Vectors;
use crate::index::document::{SESSION_BYTES, turn_in_id};
use crate::index::manifest::PassageGate;
use crate::index::segment::Segment;
use crate::query::Query;
use crate::rank::background_prompts::{asked, background_prompts, exceeded_by};
use crate::rank::lexical::FoundTerms;
use crate::search::sources::{Effort, Sources};
use memory_store_base::settings::Settings;
use memory_store_base::text::rarity::IDF_MAX;
use memory_store_base::time::Timestamp;

/// Number of features.
pub const FEATURES: usize = 12;

/// A feature: its name, its weight, and the mean and deviation by which it is scaled.
struct Feature {
    name: &'static str,
    weight: f32,
    mean: f32,
    deviation: f32,
}

const fn feature(name: &'static str, weight: f32, mean: f32, deviation: f32) -> Feature {
    Feature { name, weight, mean, deviation }
}

/// The features in order, with the parameters fitted by `scripts/fit-passages`.
const TABLE: [Feature; FEATURES] = [
    feature("near", 0.50, 0.313, 0.155),
    feature("covered", 0.25, 0.434, 0.291),
    feature("words", -0.31, 0.198, 0.164),
    feature("best", 0.25, 1.571, 0.434),
    feature("lead", 0.21, 0.659, 0.302),
    feature("lead_median", 0.31, 0.757, 0.302),
    feature("rarity", 0.12, 3.597, 1.177),
    feature("length", 0.21, 2.023, 1.054),
    feature("unknown", -0.41, 0.257, 0.277),
    feature("rarest", 0.41, 0.740, 0.276),
    feature("spread", 0.04, 0.153, 0.049),
    feature("gathered", 0.66, 0.497, 0.233),
];

/// Index of the feature with the share of the query's rarity that the best passage covers.
pub(crate) const COVERED: usize = 1;
/// Indices of the features that are computed from vectors.
const NEAR: usize = 0;
const SPREAD: usize = 10;
/// Indices of the features that compare the best passage with the others, and of the one with the share of a single
/// session.
const LEAD: usize = 4;
const LEAD_MEDIAN: usize = 5;
const SESSION_SHARE: usize = 11;

/// Threshold of an index that is not calibrated. It is strict.
const UNCALIBRATED: f32 = 1.0;
/// Amount by which a project's threshold exceeds the score that few of the background prompts reach, because the
/// project's own prompts without a known subject have higher scores than background prompts. It is the lowest value
/// with which at most 2 of 25 foreign prompts pass in both projects of `scripts/fit-passages`. Up to this value no
/// query was lost.
const MARGIN: f32 = 0.4;

/// Version of the scoring, to be incremented with every change of a weight or a feature.
pub(crate) const SCALE: u32 = 2;

/// Rank of the last passage that counts as leading.
const LEADING: usize = 20;
/// Number of passages that may be returned, whose similarity is averaged.
const FIRST: usize = 3;
/// Number of best passages that are counted by session. If one session was about the subject, many of them are from
/// that session.
const GATHERED: usize = 10;
/// Number of passages whose similarity is compared with that of all.
const NEAREST: usize = 5;

/// The gate's judgement of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassageJudgement {
    /// The features, in the order of [`names`](Self::names).
    pub features: [f32; FEATURES],
    /// Weighted sum of the features.
    pub score: f32,
}

impl PassageJudgement {
    /// Names of the features.
    pub fn names() -> [&'static str; FEATURES] {
        TABLE.each_ref().map(|feature| feature.name)
    }

    fn of(features: [f32; FEATURES]) -> Self {
        let scaled = features
            .iter()
            .zip(&TABLE)
            .map(|(value, feature)| feature.weight * (value - feature.mean) / feature.deviation);
        Self { features, score: scaled.sum() }
    }
}

/// Returns the threshold of an index; the default if the index is not calibrated.
pub(crate) fn threshold(gate: Option<PassageGate>) -> f32 {
    let gate = gate.filter(|gate| gate.scale == SCALE);
    gate.map_or(UNCALIBRATED, |gate| gate.threshold)
}

/// Judges a query by the passages that were ranked for it, best first.
pub(crate) fn judge(
    query: &Query,
    found: &FoundTerms<'_>,
    passages: &[RankedPassage],
) -> PassageJudgement {
    let Some(best) = passages.first() else { return PassageJudgement::default() };
    let rarity = Rarity::new(query, found);
    let covered = passages.iter().map(|passage| rarity.share(&passage.candidate.shared));
    let shared = passages.iter().flat_map(|passage| rarity.counted(&passage.candidate.shared));
    let rarest = shared.map(|number| rarity.of(number)).fold(0.0, f32::max);
    let score_at =
        |place: usize| passages.get(place).or(passages.last()).map_or(0.0, |it| it.score);
    let mut cosines: Vec<f32> = passages.iter().filter_map(|passage| passage.cosine).collect();
    cosines.sort_by(|a, b| b.total_cmp(a));
    let mean = |some: &[f32]| some.iter().sum::<f32>() / some.len().max(1) as f32;
    let first = passages.iter().take(FIRST).filter_map(|passage| passage.cosine);
    let first: Vec<f32> = first.collect();
    // Without vectors, these features are unknown and get their mean value, which is neutral.
    let near = if first.is_empty() { TABLE[NEAR].mean } else { mean(&first) };
    let spread = match cosines.is_empty() {
        true => TABLE[SPREAD].mean,
        false => mean(&cosines[..cosines.len().min(NEAREST)]) - mean(&cosines),
    };
    // Few passages do not reveal how far the best ones are ahead, or whether they match by chance.
    let (lead, lead_median, gathered) = match passages.len() < GATHERED {
        true => (TABLE[LEAD].mean, TABLE[LEAD_MEDIAN].mean, TABLE[SESSION_SHARE].mean),
        false => (
            best.score - score_at(LEADING - 1),
            best.score - score_at(passages.len().min(RANKED_MAX) / 2),
            gathered(passages),
        ),
    };
    let count = rarity.terms().count();
    let absent = rarity.terms().filter(|&number| found.absent[number]).count();
    PassageJudgement::of([
        near,
        covered.fold(0.0, f32::max),
        passages.iter().map(|passage| passage.words).fold(0.0, f32::max),
        best.score,
        lead,
        lead_median,
        (1.0 + rarity.terms().map(|number| rarity.of(number)).sum::<f32>()).ln(),
        (1.0 + count as f32).ln(),
        absent as f32 / count.max(1) as f32,
        rarest / IDF_MAX,
        spread,
        gathered,
    ])
}

/// Returns the highest share of a single session among the first passages. A known subject was discussed in few
/// sessions, while chance matches are spread over all sessions.
fn gathered(passages: &[RankedPassage]) -> f32 {
    let mut counts: BTreeMap<[u8; SESSION_BYTES], usize> = BTreeMap::new();
    for passage in passages.iter().take(GATHERED) {
        *counts.entry(turn_in_id(passage.id()).0).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default() as f32 / GATHERED as f32
}

/// The gate is recalibrated when one in this many passages is new, or has a vector by another encoder.
const RECALIBRATED_SHARE: u32 = 4;

/// Returns the gate for the passages in these segments: `known` if it is still valid, otherwise a new one. `None` if
/// there are no passages.
pub fn calibrated(
    segments: Vec<Segment>,
    known: Option<PassageGate>,
    settings: &Settings,
    vectors: Option<&dyn Vectors>,
) -> Option<PassageGate> {
    let docs = segments.iter().map(|segment| segment.docs() - segment.dead() as u32).sum::<u32>();
    let heads = segments.iter().filter_map(|segment| segment.vector_head().ok().flatten());
    let transformed = heads.map(|head| head.transformed).sum();
    let is_near = |a: u32, b: u32| a.abs_diff(b) * RECALIBRATED_SHARE <= docs;
    let is_good = |gate: &PassageGate| {
        gate.scale == SCALE && is_near(gate.docs, docs) && is_near(gate.transformed, transformed)
    };
    if docs == 0 {
        return None;
    }
    known.filter(is_good).or_else(|| {
        let threshold = calibrate(segments, settings, vectors);
        Some(PassageGate { threshold, scale: SCALE, docs, transformed })
    })
}

/// Runs the background prompts on an index as a hook would. Returns the index's threshold, which is [`MARGIN`] above
/// the score that a fraction `settings.alpha` of the prompts exceeds.
fn calibrate(segments: Vec<Segment>, settings: &Settings, vectors: Option<&dyn Vectors>) -> f32 {
    let effort = Effort::PASSAGES;
    let sources = Sources { effort, ..Sources::of_passages(segments, settings) };
    let score = |prompt: &str| {
        let query = asked(prompt, vectors);
        super::rank::rank(&sources, &query, Timestamp(0), &|_| true).judgement.score
    };
    let scores = background_prompts().map(score).collect();
    let own = exceeded_by(scores, settings.alpha.clamp(0.0, 0.5));
    own.map_or(UNCALIBRATED, |own| own + MARGIN)
}
