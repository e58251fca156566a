//! The gate: decides whether the memories that were found are relevant enough to be returned.
//!
//! The gate's score is absolute, so it has the same meaning for every query. It is a weighted sum of few features with
//! fixed signs: the similarity of query and memory, the share of the query that the memory's words cover, the share
//! that the store covers at all, and the rarity of the second rarest shared term in technical text. The threshold is
//! specific to a store, because the best of many texts matches any query a little. It is set when the index is
//! published, with a list of prompts about foreign subjects.

use crate::index::manifest::Gate;
use crate::index::record::{FLAG_HELD, FLAG_SAID, FLAG_SIGNATURES};
use crate::query::Query;
use crate::rank::candidate::{Candidate, Features};
use crate::rank::lexical::FoundTerms;
use crate::search::sources::Sources;
use memory_store_base::kind::Kind;
use memory_store_base::text::rarity;

/// Weight of a feature. The weights and the usual thresholds were fitted on questions with known answers, and on the
/// same questions in other stores (`scripts/fit-gate --fit`). A search that starts from these weights ends at 3.28,
/// 3.5, 2.66 and .17, which keep .906 of the same answers instead of .892. They were not adopted, because the
/// improvement has never been shown on a store outside the training data.
const COSINE: f32 = 4.5;
/// See [`COSINE`].
const COVERED: f32 = 3.5;
/// See [`COSINE`].
const KNOWN: f32 = 1.6;
/// See [`COSINE`].
const SECOND: f32 = 1.1;
/// Amount by which a digest's gate score is reduced, compared with other memories.
const DIGEST: f32 = 0.5;

/// Minimum share of an error that must be covered by a fix of another error or by a command.
const OTHER_FIX_COVERED: f32 = 0.5;

/// Cosine assumed for a memory without a vector that covers nothing of the query.
const COSINE_USUAL: f32 = 0.19;
/// Increase of that cosine with the share of the query that the memory covers.
const COSINE_COVERED: f32 = 0.19;

/// Rate of false positives for which the default thresholds were determined.
pub(crate) const USUAL_ALPHA: f32 = 0.05;
/// Version of the scoring, to be incremented with every change of a weight, a feature or the background table. A change
/// invalidates stored thresholds.
pub(crate) const SCALE: u32 = 7;

/// Gate of a store that is not calibrated. It is strict.
pub(crate) const UNCALIBRATED: Gate =
    Gate { threshold: 5.4, mean: 2.2, deviation: 1.1, alpha: USUAL_ALPHA, scale: SCALE };

impl Features {
    pub(crate) fn score(&self) -> f32 {
        let cosine = self.cosine.unwrap_or(COSINE_USUAL + COSINE_COVERED * self.covered);
        COSINE * cosine + COVERED * self.covered + KNOWN * self.known + SECOND * self.second
    }
}

/// Computes the gate features, score and threshold of a candidate. For a long query, the best paragraph counts.
pub(crate) fn judge(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
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

/// Maximum distance below the threshold for a memory that is returned with one that opened the gate. Chosen on whole
/// projects (`scripts/eval project`).
const FOLLOW_SLACK: f32 = 1.5;

/// Returns whether the query is about a subject of the store, because at least one memory that may be returned passes.
/// Foreign prompts are recognised by their best score, but the score does not decide which memory is the right one.
/// `is_held` excludes withheld candidates. It is called last, because it may read a record.
pub(crate) fn is_open(candidates: &[Candidate], is_held: &dyn Fn(&Candidate) -> bool) -> bool {
    let may_open =
        |candidate: &&Candidate| !candidate.entry.has(FLAG_SAID) && !candidate.entry.has(FLAG_HELD);
    let opens = |candidate: &&Candidate| candidate.passes() && !candidate.warns();
    let mut passing = candidates.iter().filter(may_open).filter(opens);
    passing.any(|candidate| !is_held(candidate))
}

/// Returns whether a candidate may be returned when the gate is open: its score is not far below the threshold. Among
/// such candidates, the rank decides.
pub(crate) fn follows(candidate: &Candidate) -> bool {
    candidate.passes() || candidate.gate > candidate.threshold - FOLLOW_SLACK
}

/// Distance below the threshold at which a memory is still evidence that the store covers the subject of a search,
/// because a person who searches expects a result. With this distance, explicit search loses less than .02 of its
/// recall@5 on two sets of conversations, and returns nothing for most foreign questions (`scripts/eval retrieval SET
/// --mode search --foreign`).
const SEARCH_EASE: f32 = 0.75;
/// Share of a search's rarity from which on a memory is such evidence, whatever its gate score: a search for two words
/// is for memories with these words.
const SEARCHED_COVERED: f32 = 0.5;

/// Minimum cosine at which a memory with fewer than two words in common with the search counts as evidence.
const SEARCHED_COSINE: f32 = 0.3;
/// Minimum share of the search's rarity at which such a memory counts as evidence.
const SEARCHED_SHARE: f32 = 0.3;

/// Returns whether a memory is evidence that the store covers the subject of an explicit search.
pub(crate) fn answers(candidate: &Candidate) -> bool {
    let Features { cosine, covered, second, .. } = candidate.features;
    // One word in common may be chance, and the threshold of a small store is low, so more evidence is required.
    let has_evidence = second > 0.0
        || covered >= SEARCHED_SHARE
        || cosine.is_some_and(|cosine| cosine >= SEARCHED_COSINE);
    candidate.named.is_some()
        || has_evidence && candidate.gate > candidate.threshold - SEARCH_EASE
        || covered >= SEARCHED_COVERED
}

/// Amount by which the threshold is reduced for a prompt, because people working on a project mention its subjects more
/// often than the foreign prompts that determine the threshold. Chosen so that at most one in twelve foreign prompts
/// opens the gate, over all sets of `scripts/fit-gate` and two projects (`scripts/eval project`).
pub(crate) const PROMPT_EASE: f32 = 0.3;

/// Amount by which the threshold is reduced for an error, because the error occurred in this project. Chosen by hand
/// with `scripts/eval project`. Fixes of other errors are still excluded.
pub(crate) const ERROR_EASE: f32 = 0.6;

/// Lowers the thresholds of candidates by this amount.
pub(crate) fn ease(candidates: &mut [Candidate], by: f32) {
    for candidate in candidates {
        candidate.threshold -= by;
    }
}

/// Minimum cosine at which a fix is returned for an error with different wording. By the vectors of this token table,
/// fixes of two real projects have cosines up to .54 with errors of the other project, and up to .63 with errors of
/// their own project that they do not fix.
const NEAR_CURE: f32 = 0.66;

/// Opens the gate for fixes of, and warnings about, errors that are very similar to this one in meaning.
pub(crate) fn open_for_near_cures(candidates: &mut [Candidate]) {
    for candidate in candidates {
        let is_near = candidate.features.cosine.is_some_and(|cosine| cosine >= NEAR_CURE);
        if is_near && candidate.entry.kind_of().is_some_and(Kind::is_of_failure) {
            candidate.threshold = candidate.threshold.min(0.0);
        }
    }
}

/// Closes the gate for fixes of other errors and for commands, unless their words cover much of this error. A wrong fix
/// is worse than none, and errors of the same command have many words in common.
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

/// Returns `common` with the features that depend on the terms shared by a paragraph and a memory; `None` if the
/// paragraph has no counted terms.
fn shared(
    query: &Query,
    found: &FoundTerms<'_>,
    paragraph: &[u16],
    shared: &[u16],
    common: Features,
) -> Option<Features> {
    let (mut covered, mut all) = (0.0, 0.0);
    let (mut rarest, mut second) = (0.0f32, 0.0f32);
    for &number in paragraph {
        if found.uncounted[usize::from(number)] {
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

/// Returns the threshold for the best of several paragraphs, each of which adds a chance of a false positive. Because
/// the paragraphs belong to one prompt, they count as the square root of their number. The tail of the background
/// scores is assumed to be normal.
fn threshold(gate: &Gate, paragraphs: usize) -> f32 {
    if paragraphs <= 1 {
        return gate.threshold;
    }
    let alpha = gate.alpha.clamp(1e-4, 0.5);
    let rarer = quantile(alpha / (paragraphs as f32).sqrt()) - quantile(alpha);
    gate.threshold + rarer * gate.deviation
}

/// Returns the value that a standard normal variable exceeds with probability `tail` (Abramowitz and Stegun 26.2.23).
fn quantile(tail: f32) -> f32 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    let below = 1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t;
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::document::Document;
    use crate::index::record::Record;
    use crate::rank::candidate::NamedBy;
    use crate::search::sources::At;
    use memory_store_base::id::MemoryId;
    use memory_store_base::time::Timestamp;

    #[test]
    fn the_normal_quantile_is_right() {
        for (tail, point) in [(0.5, 0.0), (0.05, 1.645), (0.01, 2.326), (0.001, 3.090)] {
            assert!((quantile(tail) - point).abs() < 2e-3, "{tail}: {}", quantile(tail));
        }
    }

    #[test]
    fn a_command_in_a_prompt_does_not_open_the_gate() {
        let record = Record { title: "`npm run test` is slow".to_owned(), ..Record::default() };
        let id = MemoryId::new(Timestamp(0), [0; 10]);
        let document = Document::of_record(id, Kind::Gotcha, 0.9, false, Timestamp(0), record);
        let mut candidates = [Candidate::new(At { source: 0, doc: 0 }, document.entry)];
        for (named, opens) in [
            (NamedBy::Command("npm run test".to_owned()), false),
            (NamedBy::Path("src/a.rs".to_owned()), true),
        ] {
            candidates[0].named = Some(named);
            assert_eq!(is_open(&candidates, &|_| false), opens);
        }
    }

    #[test]
    fn more_paragraphs_ask_for_more() {
        let gate = Gate { threshold: 5.0, mean: 3.0, deviation: 1.0, alpha: 0.05, scale: SCALE };
        assert_eq!(threshold(&gate, 1), 5.0);
        assert!(threshold(&gate, 2) > 5.0);
        assert!(threshold(&gate, 10) < threshold(&gate, 40));
    }
}
