//! Calibration of the gate: a store's own threshold, determined with prompts about foreign subjects.

use crate::embed::Vectors;
use crate::index::manifest::Gate;
use crate::index::segment::Segment;
use crate::query::Query;
use crate::rank::background_prompts::{PROMPTS, asked, exceeded_by, kinds};
use crate::rank::gate::{SCALE, UNCALIBRATED, USUAL_ALPHA};
use crate::rank::score;
use crate::search::sources::Sources;
use memory_store_base::settings::Settings;
use memory_store_base::time::Timestamp;

/// Prior for the gate, from other stores. Only few prompts determine a store's own threshold, so that threshold is
/// shrunk towards the prior.
struct Usual {
    /// Threshold for a rate of [`USUAL_ALPHA`] and a store of [`USUAL_DOCS`] memories.
    threshold: f32,
    /// Weight of the prior in a store's threshold, 0 to 1.
    share: f32,
}

/// The prior for each kind of prompts, in the order of the list.
const USUAL: [Usual; 2] =
    [Usual { threshold: 3.8, share: 0.3 }, Usual { threshold: 5.4, share: 0.5 }];
/// Slope of the usual threshold over the logarithm of the rate of false positives.
const USUAL_SLOPE: f32 = 0.7;
/// Number of memories in the stores that were measured. With fewer memories, the best score is lower.
const USUAL_DOCS: u32 = 300;
/// Slope of the threshold over the logarithm of the number of memories, for stores smaller than that. `scripts/fit-gate
/// --fit` prints .43 and .49 for the two kinds of prompts, after memories were removed. The words of removed memories
/// are still known there, so the constant is slightly larger.
const DOCS_SLOPE: f32 = 0.5;

/// Returns a store's own threshold, shrunk towards the usual one for its number of memories.
fn drawn(own: f32, usual: &Usual, docs: u32, alpha: f32) -> f32 {
    let fewer = docs.clamp(1, USUAL_DOCS) as f32 / USUAL_DOCS as f32;
    let threshold = usual.threshold + DOCS_SLOPE * fewer.ln()
        - USUAL_SLOPE * (alpha.max(1e-4) / USUAL_ALPHA).ln();
    own + usual.share * (threshold - own)
}

/// Returns a digest of this build's gate rules. If it changes, stores are recalibrated.
pub fn fingerprint() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&SCALE.to_le_bytes());
    hasher.update(&crate::passages::gate::SCALE.to_le_bytes());
    hasher.update(PROMPTS.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Runs the background prompts on a store as a hook would, and returns the gate of the store. For each kind of prompts,
/// its threshold is the score that a fraction `settings.alpha` of the prompts exceeds, shrunk towards the usual one for
/// stores of this size. The kind with the highest threshold is used.
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

/// Returns the gate that results from the scores of one kind of prompts.
fn gate_of(scores: Vec<f32>, usual: &Usual, docs: u32, alpha: f32) -> Gate {
    let count = scores.len().max(1) as f32;
    let mean = scores.iter().sum::<f32>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / count;
    let own = exceeded_by(scores, alpha).unwrap_or_default();
    let threshold = drawn(own, usual, docs, alpha);
    Gate { threshold, mean, deviation: variance.sqrt(), alpha, scale: SCALE }
}

/// Returns the highest gate score of a memory for a prompt; 0 if no memory matches.
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
