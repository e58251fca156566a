//! Calibration of the gate: a store's own threshold, from prompts about foreign subjects.

use crate::embed::Vectors;
use crate::index::manifest::Gate;
use crate::index::segment::Segment;
use crate::query::Query;
use crate::rank::background::{PROMPTS, asked, exceeded_by, kinds};
use crate::rank::gate::{SCALE, UNCALIBRATED, USUAL_ALPHA};
use crate::rank::score;
use crate::search::sources::Sources;
use memory_store_base::settings::Settings;
use memory_store_base::time::Timestamp;

/// Prior of the gate from other stores. Few of the prompts determine a store's own threshold, so it is shrunk towards
/// the prior.
struct Usual {
    /// The threshold for [`USUAL_ALPHA`] and [`USUAL_DOCS`].
    threshold: f32,
    /// Weight of this prior in a store's threshold, 0 to 1.
    share: f32,
}

/// By kind of prompts, in the order of the list.
const USUAL: [Usual; 2] =
    [Usual { threshold: 3.8, share: 0.3 }, Usual { threshold: 5.4, share: 0.5 }];
/// Slope of the usual threshold over the logarithm of the rate of false positives.
const USUAL_SLOPE: f32 = 0.7;
/// Number of memories of the stores that were measured: with fewer memories the best score is lower.
const USUAL_DOCS: u32 = 300;
/// Slope of the threshold over the logarithm of a store's number of memories, below that number.
/// `scripts/fit-gate --fit` prints .43 and .49, by kind of prompts, for removed memories; the words of removed memories
/// are still known there, so it is a little more.
const DOCS_SLOPE: f32 = 0.5;

/// Shrinks a store's own threshold towards the usual one for its number of memories.
fn drawn(own: f32, usual: &Usual, docs: u32, alpha: f32) -> f32 {
    let fewer = docs.clamp(1, USUAL_DOCS) as f32 / USUAL_DOCS as f32;
    let threshold = usual.threshold + DOCS_SLOPE * fewer.ln()
        - USUAL_SLOPE * (alpha.max(1e-4) / USUAL_ALPHA).ln();
    own + usual.share * (threshold - own)
}

/// Returns a digest of this build's gate rules; after a change, stores are recalibrated.
pub fn fingerprint() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&SCALE.to_le_bytes());
    hasher.update(&crate::passages::gate::SCALE.to_le_bytes());
    hasher.update(PROMPTS.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Runs the background prompts on a store, as a hook would, and returns its gate: the score that the share
/// `settings.alpha` of them exceeds, shrunk towards the usual one for stores of its size, from the kind of prompts with
/// the highest threshold.
pub fn calibrate(segment: Segment, settings: &Settings, vectors: Option<&dyn Vectors>) -> Gate {
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

/// Returns the gate of a store from the scores of one kind of prompts.
fn gate_of(scores: Vec<f32>, usual: &Usual, docs: u32, alpha: f32) -> Gate {
    let count = scores.len().max(1) as f32;
    let mean = scores.iter().sum::<f32>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / count;
    let own = exceeded_by(scores, alpha).unwrap_or_default();
    let threshold = drawn(own, usual, docs, alpha);
    Gate { threshold, mean, deviation: variance.sqrt(), alpha, scale: SCALE }
}

/// Returns the score of the best memory for a prompt; 0 if none shares a word with it.
fn best(sources: &Sources, query: &Query) -> f32 {
    let candidates = score::candidates(sources, query, Timestamp(0));
    candidates.iter().map(|candidate| candidate.gate).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
