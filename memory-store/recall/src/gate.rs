//! The gate: whether what was found is worth saying.
//!
//! Its score is absolute: it means the same for every query. It is a sum of few features with fixed
//! signs: how near query and memory are in meaning, what share of the query the memory's words
//! cover, what share the store knows at all, and how rare the second rarest shared term is in
//! technical text at large. The threshold is another matter: the best of many texts matches anything
//! a little, so each store has its own, set when it is published, from a list of prompts about other
//! things.

use super::lexical::Found;
use super::nearest::Probe;
use super::query::Query;
use super::score::Candidate;
use super::sources::Sources;
use crate::index::manifest::Gate;
use crate::index::record::{FLAG_HELD, FLAG_SAID, FLAG_SIGNATURES};
use memory_store_base::kind::Kind;
use memory_store_base::text::rarity;

/// Weights of the features. Fitted, as are the usual thresholds, on questions with known answers and on the same
/// questions asked of other stores (`scripts/fit-gate --fit`). Begun from these, its search ends at 3.28, 3.5,
/// 2.66 and .17, which keep .906 of the same answers instead of .892: they were left as they are, for that was
/// never shown on a store that they were not fitted on.
const COSINE: f32 = 4.5;
/// See [`COSINE`].
const COVERED: f32 = 3.5;
/// See [`COSINE`].
const KNOWN: f32 = 1.6;
/// See [`COSINE`].
const SECOND: f32 = 1.1;
/// Margin of the gate for a digest over a judged memory.
const DIGEST: f32 = 0.5;

/// The share of an error that the fix of another one, or a command, must cover.
const OTHER_FIX_COVERED: f32 = 0.5;

/// Cosine assumed without a vector, usual for so much of the query covered.
const COSINE_USUAL: f32 = 0.19;
/// See [`COSINE_USUAL`].
const COSINE_COVERED: f32 = 0.19;

/// Prior of the gate from stores in general, so that prompts of one kind do not mislead it. Few of the prompts decide a
/// store's own threshold, which is therefore drawn this way.
struct Usual {
    /// The threshold for [`USUAL_ALPHA`] and [`USUAL_DOCS`].
    threshold: f32,
    /// Share of this prior in a store's own threshold, 0 to 1.
    share: f32,
}

/// By kind of prompts, in the order of the list.
const USUAL: [Usual; 2] =
    [Usual { threshold: 3.8, share: 0.3 }, Usual { threshold: 5.4, share: 0.5 }];
/// See [`Usual`].
const USUAL_ALPHA: f32 = 0.05;
/// Slope of the usual threshold by the logarithm of the share of false fires.
const USUAL_SLOPE: f32 = 0.7;
/// Memories of the stores that were asked: the best of fewer matches anything less.
const USUAL_DOCS: u32 = 300;
/// Slope of the threshold by the logarithm of a store's number of memories, as far as it has fewer.
/// `scripts/fit-gate --fit` prints .43 and .49, by kind of prompts, of memories taken away; what is taken away still
/// makes words known there, so it is a little more.
const DOCS_SLOPE: f32 = 0.5;

/// The number of this way of scoring: to be raised with every change of a weight, a feature or the
/// background table, so that no threshold of another way is believed.
const SCALE: u32 = 6;

/// The gate of a store that was never calibrated: rather silent.
const UNCALIBRATED: Gate =
    Gate { threshold: 5.4, mean: 2.2, deviation: 1.1, alpha: USUAL_ALPHA, scale: SCALE };

/// Inputs of the gate: each means the same for every query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Features {
    /// The cosine of query and memory, where both have a vector.
    pub cosine: Option<f32>,
    /// The share of the query's rarity at large that the memory's words cover, 0 to 1.
    pub covered: f32,
    /// The share of the query's rarity that the store knows at all, 0 to 1.
    pub known: f32,
    /// The rarity at large of the second rarest term that both have, 0 to 1: one rare word in common
    /// may be chance, two are the subject.
    pub second: f32,
}

impl Features {
    fn score(&self) -> f32 {
        let cosine = self.cosine.unwrap_or(COSINE_USUAL + COSINE_COVERED * self.covered);
        COSINE * cosine + COVERED * self.covered + KNOWN * self.known + SECOND * self.second
    }
}

/// Gives a candidate what the gate sees of it, and what it asks for. In a long query the paragraph
/// counts that fits best.
pub(crate) fn judge(
    sources: &Sources,
    query: &Query,
    found: &Found<'_>,
    candidate: &mut Candidate,
) {
    let gate = sources.source(candidate.at).gate.filter(|gate| gate.scale == SCALE);
    let gate = gate.unwrap_or(UNCALIBRATED);
    let common = Features {
        cosine: candidate.near.map(|near| near.cosine),
        known: found.known,
        ..Features::default()
    };
    let paragraphs = query.paragraphs.iter();
    let seen = paragraphs
        .filter_map(|paragraph| shared(query, found, paragraph, &candidate.shared, common))
        .max_by(|a, b| a.score().total_cmp(&b.score()));
    let digest = if candidate.is_digest() { DIGEST } else { 0.0 };
    candidate.gate = seen.map_or(0.0, |seen| seen.score() - digest);
    candidate.features = seen.unwrap_or(common);
    candidate.threshold = threshold(&gate, query.paragraphs.len());
}

/// Distance below its threshold that a memory may have if it comes with another which opened the gate. Picked on whole
/// projects (`throughline eval project`).
const FOLLOW_SLACK: f32 = 1.5;

/// Returns whether a query is about what the store knows: one memory that may be given passes. Foreign prompts are told
/// apart by their best score; which of a store's memories is the right one is not. `is_held` says which of those that
/// pass is not given after all; it is asked last, for it may have to read.
pub(crate) fn is_open(candidates: &[Candidate], is_held: &dyn Fn(&Candidate) -> bool) -> bool {
    let may_open =
        |candidate: &&Candidate| !candidate.entry.has(FLAG_SAID) && !candidate.entry.has(FLAG_HELD);
    let mut passing = candidates.iter().filter(may_open).filter(|candidate| candidate.passes());
    passing.any(|candidate| !is_held(candidate))
}

/// Returns whether a candidate may be given once the gate is open: rank decides among those that are not far below
/// their threshold.
pub(crate) fn follows(candidate: &Candidate) -> bool {
    candidate.passes() || candidate.gate > candidate.threshold - FOLLOW_SLACK
}

/// Ease of the threshold for help against an error: it was met in this very project, while the threshold is made with
/// prompts about anything. Picked by hand with `eval project`; what cures another error is held all the same.
const ERROR_EASE: f32 = 0.6;

/// Opens the gate a little for an error.
pub(crate) fn ease_for_error(candidates: &mut [Candidate]) {
    for candidate in candidates {
        candidate.threshold -= ERROR_EASE;
    }
}

/// Nearness in meaning from which what cured one error is given for another that is worded differently. By this
/// table's vectors, cures of two real projects are as near as .54 to errors of the other one, and as .63 to
/// errors of their own that they do not cure.
const NEAR_CURE: f32 = 0.66;

/// Opens the gate for what cured an error, or warns of it, that is very near this one in meaning.
pub(crate) fn open_for_near_cures(candidates: &mut [Candidate]) {
    let cures = [Kind::Fix, Kind::Gotcha, Kind::FailedApproach].map(|kind| kind as u8);
    for candidate in candidates {
        let is_near = candidate.features.cosine.is_some_and(|cosine| cosine >= NEAR_CURE);
        if is_near && cures.contains(&candidate.entry.kind) {
            candidate.threshold = candidate.threshold.min(0.0);
        }
    }
}

/// Closes the gate for what cures another error or only tells of a command, unless its words cover much
/// of this one: a wrong fix is worse than none, and errors of one command have many words in common.
pub(crate) fn hold_other_fixes(candidates: &mut [Candidate]) {
    for candidate in candidates {
        let entry = &candidate.entry;
        let other = entry.has(FLAG_SIGNATURES) || entry.kind == Kind::Command as u8;
        let other = other && candidate.named.is_none();
        if other && candidate.features.covered < OTHER_FIX_COVERED {
            candidate.threshold = f32::INFINITY;
        }
    }
}

/// Adds what one paragraph's terms and a memory share; `None` when it has no terms to go by.
fn shared(
    query: &Query,
    found: &Found<'_>,
    paragraph: &[u16],
    shared: &[u16],
    common: Features,
) -> Option<Features> {
    let (mut covered, mut all) = (0.0, 0.0);
    let (mut rarest, mut second) = (0.0f32, 0.0f32);
    for &number in paragraph {
        // Which memories have what many have was not looked up.
        if found.common[usize::from(number)] {
            continue;
        }
        let background = query.terms[usize::from(number)].background;
        all += background;
        if !shared.contains(&number) {
            continue;
        }
        covered += background;
        if background > rarest {
            second = rarest;
            rarest = background;
        } else {
            second = second.max(background);
        }
    }
    (all > 0.0).then(|| Features {
        covered: covered / all,
        second: second / rarity::IDF_MAX,
        ..common
    })
}

/// The threshold for the best of several paragraphs: each has its chance of a false fire. They are of
/// one prompt, so that they count as fewer than they are: as the square root of their number. The
/// background scores are taken as normal in their tail.
fn threshold(gate: &Gate, paragraphs: usize) -> f32 {
    if paragraphs <= 1 {
        return gate.threshold;
    }
    let alpha = gate.alpha.clamp(1e-4, 0.5);
    let rarer = quantile(alpha / (paragraphs as f32).sqrt()) - quantile(alpha);
    gate.threshold + rarer * gate.deviation
}

/// A store's own threshold, drawn to what stores of so many memories in general ask for.
fn drawn(own: f32, usual: &Usual, docs: u32, alpha: f32) -> f32 {
    let fewer = docs.clamp(1, USUAL_DOCS) as f32 / USUAL_DOCS as f32;
    let threshold = usual.threshold + DOCS_SLOPE * fewer.ln()
        - USUAL_SLOPE * (alpha.max(1e-4) / USUAL_ALPHA).ln();
    own + usual.share * (threshold - own)
}

/// The point of a standard normal that the share `tail` exceeds (Abramowitz and Stegun 26.2.23).
fn quantile(tail: f32) -> f32 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    t - above / below
}

/// Prompts about everything and nothing, one a line, by kind: a line that begins with `## ` begins the
/// next one. Other lines that begin with `#` are comments.
const PROMPTS: &str = include_str!("../../assets/background-prompts.txt");

/// Returns a digest of this build's gate rules; a change makes a new gate due.
pub fn fingerprint() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&SCALE.to_le_bytes());
    hasher.update(PROMPTS.as_bytes());
    *hasher.finalize().as_bytes()
}

/// The kinds of prompts about other things that every store is asked when it is published.
fn kinds() -> impl Iterator<Item = impl Iterator<Item = &'static str>> {
    PROMPTS.split("\n## ").skip(1).map(|kind| {
        let lines = kind.lines().skip(1);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    })
}

/// The prompts about other things that every store is asked when it is published.
pub fn background_prompts() -> impl Iterator<Item = &'static str> {
    kinds().flatten()
}

/// Asks a store the background prompts, as a hook would, and returns its gate: the score that the share
/// `settings.alpha` of them exceeds, drawn to what stores of its size in general ask for, by the kind of
/// prompts that asks for most.
pub fn calibrate(
    segment: crate::index::segment::Segment,
    settings: &memory_store_base::settings::Settings,
    vectors: Option<&dyn memory_store_embed::Vectors>,
) -> Gate {
    let docs = segment.docs();
    let sources = Sources::of_segment(segment);
    let alpha = settings.alpha.clamp(0.0, 0.5);
    let gates = kinds().zip(&USUAL).map(|(prompts, usual)| {
        let scores = prompts.map(|prompt| best(&sources, &asked(prompt, vectors)));
        gate_of(scores.collect(), usual, docs, alpha)
    });
    let strictest = gates.max_by(|a, b| a.threshold.total_cmp(&b.threshold));
    strictest.unwrap_or(Gate { alpha, ..UNCALIBRATED })
}

/// A background prompt with the vector that a hook would give it.
fn asked(prompt: &str, vectors: Option<&dyn memory_store_embed::Vectors>) -> Query {
    let query = Query::prompt(prompt);
    let probe = vectors.and_then(|vectors| {
        Some(Probe { space: vectors.space(), vector: vectors.asked(&query.text)? })
    });
    Query { probe, ..query }
}

/// The gate of a store of so many memories in which prompts of a kind have these scores.
fn gate_of(mut scores: Vec<f32>, usual: &Usual, docs: u32, alpha: f32) -> Gate {
    scores.sort_by(f32::total_cmp);
    let count = scores.len().max(1) as f32;
    let at = ((count * (1.0 - alpha)).ceil() as usize).max(1) - 1;
    let own = scores.get(at).copied().unwrap_or_default();
    let mean = scores.iter().sum::<f32>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / count;
    let threshold = drawn(own, usual, docs, alpha);
    Gate { threshold, mean, deviation: variance.sqrt(), alpha, scale: SCALE }
}

/// The score of the best memory for a prompt; 0 when nothing shares a word with it.
fn best(sources: &Sources, query: &Query) -> f32 {
    let candidates =
        super::score::candidates(sources, query, memory_store_base::time::Timestamp(0));
    candidates.iter().map(|candidate| candidate.gate).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_is_right() {
        for (tail, point) in [(0.5, 0.0), (0.05, 1.645), (0.01, 2.326), (0.001, 3.090)] {
            assert!((quantile(tail) - point).abs() < 2e-3, "{tail}: {}", quantile(tail));
        }
    }

    #[test]
    fn every_kind_of_prompts_has_its_usual_threshold() {
        assert_eq!(kinds().count(), USUAL.len());
        assert!(kinds().all(|prompts| prompts.count() > 200));
    }

    #[test]
    fn a_threshold_is_drawn_to_the_usual_one_of_its_share_and_size() {
        let usual = Usual { threshold: 5.0, share: 0.25 };
        let of = |docs, alpha| drawn(3.0, &usual, docs, alpha);
        assert_eq!(of(USUAL_DOCS, USUAL_ALPHA), 3.5);
        assert_eq!(of(100_000, USUAL_ALPHA), 3.5);
        assert!(of(USUAL_DOCS, 0.2) < 3.5);
        assert!(of(30, USUAL_ALPHA) < of(60, USUAL_ALPHA));
        assert!(of(0, USUAL_ALPHA).is_finite());
    }

    #[test]
    fn more_paragraphs_ask_for_more() {
        let gate = Gate { threshold: 5.0, mean: 3.0, deviation: 1.0, alpha: 0.05, scale: SCALE };
        assert_eq!(threshold(&gate, 1), 5.0);
        assert!(threshold(&gate, 2) > 5.0);
        assert!(threshold(&gate, 10) < threshold(&gate, 40));
    }
}
