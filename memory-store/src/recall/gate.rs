//! The gate: whether what was found is worth saying.
//!
//! Its score is absolute: it means the same for every query. A few features with fixed signs, over
//! the terms that query and memory share: how much they say together, what share of the query they
//! are, and how rare the two rarest are in technical text at large; how near the two are in meaning;
//! and how sure we are of the memory. The threshold is another matter: the best of many texts
//! matches anything a little, so each store has its own, set when it is published, from a list of
//! prompts about other things.

use super::background;
use super::lexical::Found;
use super::query::Query;
use super::score::Candidate;
use super::sources::Sources;
use crate::index::manifest::Gate;

/// How much each feature of the shared words counts.
struct Weights {
    /// The share of the query that the memory covers.
    covered: f32,
    /// The information that is shared.
    mass: f32,
    /// The rarity of the rarest shared term.
    rarest: f32,
    /// The rarity of the second.
    second: f32,
}

/// For what words alone say; the store's own threshold is for these.
const BY_WORDS: Weights = Weights { covered: 2.5, mass: 0.5, rarest: 2.0, second: 2.5 };
/// For what words and meaning say together; these must reach the floor, however sure we are of the
/// memory.
const BY_MEANING: Weights = Weights { covered: 3.5, mass: 0.0, rarest: 0.0, second: 1.5 };
/// How much the cosine counts there.
const MEANING: f32 = 6.0;
/// How much the share of the query counts there that the store knows at all.
const KNOWN: f32 = 2.0;
/// The score by meaning that [`FLOOR_ALPHA`] of questions about other things exceed, whatever the
/// store: fitted on questions asked of other people's stores.
const FLOOR: f32 = 6.6;
/// See [`FLOOR`].
const FLOOR_ALPHA: f32 = 0.05;
/// Weight of confidence.
const CONFIDENCE: f32 = 2.0;
/// What a digest of a session must have more than a judged memory.
const DIGEST: f32 = 1.0;

/// The number of this way of scoring by words: to be raised with every change of a weight, a
/// feature or the background table, so that no threshold of another way is believed.
const SCALE: u32 = 4;

/// The gate of a store that was never calibrated: rather silent.
const UNCALIBRATED: Gate =
    Gate { threshold: 7.5, mean: 5.0, deviation: 1.3, alpha: 0.05, scale: SCALE };

/// What the gate goes by: each means the same for every query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Features {
    /// The cosine of query and memory, where both have a vector.
    pub cosine: Option<f32>,
    /// How near the memory is to everything near it.
    pub hub: f32,
    /// The share of the query's rarity at large that the memory's words cover, 0 to 1.
    pub covered: f32,
    /// The share of the score that a memory could have at most by its words, 0 to 1.
    pub share: f32,
    /// The information that is shared: the sum of the rarities, the lesser of here and at large.
    pub mass: f32,
    /// The rarity at large of the rarest shared term, 0 to 1.
    pub rarest: f32,
    /// The rarity of the second.
    pub second: f32,
    /// The share of the query's rarity that the store knows at all, 0 to 1.
    pub known: f32,
    /// How sure we are of the memory, 0 to 1.
    pub confidence: f32,
    /// How many terms the query has.
    pub terms: usize,
}

/// Gives a candidate what the gate sees of it, and what it asks for: by words, or by meaning where
/// that tells more. Words are calibrated for each store and know its jargon; meaning finds what was
/// said in other words.
pub fn judge(sources: &Sources, query: &Query, found: &Found<'_>, candidate: &mut Candidate) {
    let gate = sources.source(candidate.at).gate.filter(|gate| gate.scale == SCALE);
    let gate = gate.unwrap_or(UNCALIBRATED);
    let paragraphs = query.paragraphs.iter();
    let matches: Vec<Match> = paragraphs
        .filter_map(|paragraph| Match::of(query, found, paragraph, &candidate.shared))
        .collect();
    if let Some(best) =
        matches.iter().max_by(|a, b| a.score(&BY_MEANING).total_cmp(&b.score(&BY_MEANING)))
    {
        candidate.features = Features {
            cosine: candidate.near.map(|near| near.cosine),
            hub: candidate.near.map_or(0.0, |near| near.hub),
            covered: best.covered,
            share: found.covered(query, candidate.lexical),
            mass: best.mass,
            rarest: best.rarest,
            second: best.second,
            known: found.known,
            confidence: candidate.entry.confidence(),
            terms: query.terms.len(),
        };
    }
    let best = |weights: &Weights| {
        matches.iter().map(|matched| matched.score(weights)).fold(0.0, f32::max)
    };
    let digest = if candidate.is_digest() { DIGEST } else { 0.0 };
    let by_words = best(&BY_WORDS) + CONFIDENCE * candidate.entry.confidence() - digest;
    let asked = threshold(&gate, query.paragraphs.len());
    (candidate.gate, candidate.threshold) = (by_words, asked);
    if let Some(near) = candidate.near {
        let by_meaning = best(&BY_MEANING) + MEANING * near.cosine + KNOWN * found.known - digest;
        let floor = floor(gate.alpha / query.paragraphs.len().max(1) as f32);
        if by_meaning - floor > by_words - asked {
            (candidate.gate, candidate.threshold) = (by_meaning, floor);
        }
    }
}

/// The floor for another share of false fires: its logarithm is about level with the score.
fn floor(alpha: f32) -> f32 {
    FLOOR - (alpha.max(1e-4) / FLOOR_ALPHA).ln()
}

/// What one paragraph's terms and a memory share.
struct Match {
    /// The information that is shared.
    mass: f32,
    /// The share of the paragraph that is covered.
    covered: f32,
    /// The rarity of the rarest shared term and of the second, 0 to 1.
    rarest: f32,
    second: f32,
}

impl Match {
    /// Compares a paragraph with the terms that a memory shares; `None` when it has no terms to go
    /// by.
    fn of(query: &Query, found: &Found<'_>, paragraph: &[u16], shared: &[u16]) -> Option<Self> {
        let (mut mass, mut covered, mut all) = (0.0, 0.0, 0.0);
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
            mass += background.min(found.idf[usize::from(number)]);
            if background > rarest {
                second = rarest;
                rarest = background;
            } else {
                second = second.max(background);
            }
        }
        let most = background::IDF_MAX;
        (all > 0.0).then(|| Self {
            mass,
            covered: covered / all,
            rarest: rarest / most,
            second: second / most,
        })
    }

    fn score(&self, weights: &Weights) -> f32 {
        weights.mass * self.mass.ln_1p()
            + weights.covered * self.covered
            + weights.rarest * self.rarest
            + weights.second * self.second
    }
}

/// The threshold for the best of several paragraphs: each has its chance of a false fire, so each
/// gets a share of it. The background scores are taken as normal in their tail.
fn threshold(gate: &Gate, paragraphs: usize) -> f32 {
    if paragraphs <= 1 {
        return gate.threshold;
    }
    let alpha = (gate.alpha / paragraphs as f32).clamp(1e-6, 0.5);
    gate.threshold.max(gate.mean + quantile(alpha) * gate.deviation)
}

/// The point of a standard normal that the share `tail` exceeds (Abramowitz and Stegun 26.2.23).
fn quantile(tail: f32) -> f32 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    t - above / below
}

/// Prompts of coding talk about everything and nothing, one a line.
#[cfg(feature = "write")]
const PROMPTS: &str = include_str!("../../assets/background-prompts.txt");

/// What the gates of this build depend on, besides the store: a change makes a new one due.
#[cfg(feature = "write")]
pub fn fingerprint() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&SCALE.to_le_bytes());
    hasher.update(PROMPTS.as_bytes());
    *hasher.finalize().as_bytes()
}

/// The prompts about other things that every store is asked when it is published.
#[cfg(feature = "write")]
pub fn background_prompts() -> impl Iterator<Item = &'static str> {
    PROMPTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Asks a store the background prompts, and returns the gate that lets only the share
/// `settings.alpha` of them through.
#[cfg(feature = "write")]
pub fn calibrate(
    segment: crate::index::segment::Segment,
    settings: &crate::settings::Settings,
) -> Gate {
    let sources = Sources::of_segment(segment);
    let mut scores: Vec<f32> =
        background_prompts().map(|prompt| best(&sources, &Query::prompt(prompt))).collect();
    scores.sort_by(f32::total_cmp);
    let alpha = settings.alpha.clamp(0.0, 0.5);
    let count = scores.len() as f32;
    let at = ((count * (1.0 - alpha)).ceil() as usize).clamp(1, scores.len()) - 1;
    let mean = scores.iter().sum::<f32>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / count;
    Gate { threshold: scores[at], mean, deviation: variance.sqrt(), alpha, scale: SCALE }
}

/// The score of the best memory for a prompt; 0 when nothing shares a word with it.
#[cfg(feature = "write")]
fn best(sources: &Sources, query: &Query) -> f32 {
    let candidates = super::score::candidates(sources, query, crate::time::Timestamp(0));
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
    fn more_paragraphs_ask_for_more() {
        let gate = Gate { threshold: 5.0, mean: 3.0, deviation: 1.0, alpha: 0.05, scale: SCALE };
        assert_eq!(threshold(&gate, 1), 5.0);
        assert!(threshold(&gate, 10) < threshold(&gate, 40));
    }
}
