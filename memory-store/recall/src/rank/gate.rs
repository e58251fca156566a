//! The gate: decides whether the found memories are relevant enough to return.
//!
//! Its score is absolute: it has the same meaning for every query. It is a weighted sum of few features with fixed
//! signs: the similarity of query and memory, the share of the query that the memory's words cover, the share that the
//! store covers at all, and the rarity of the second rarest shared term in technical text at large. The threshold is
//! specific to a store, because the best of many texts matches any query a little: it is set at publication, from a
//! list of prompts about foreign subjects.

use crate::index::manifest::Gate;
use crate::index::record::{FLAG_HELD, FLAG_SAID, FLAG_SIGNATURES};
use crate::query::Query;
use crate::rank::candidate::{Candidate, Features};
use crate::rank::lexical::FoundTerms;
use crate::search::sources::Sources;
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
/// Gate margin of a digest over a judged memory.
const DIGEST: f32 = 0.5;

/// Minimum share of an error that a fix of another error, or a command, must cover.
const OTHER_FIX_COVERED: f32 = 0.5;

/// Cosine assumed without a vector, typical for the covered share of the query.
const COSINE_USUAL: f32 = 0.19;
/// See [`COSINE_USUAL`].
const COSINE_COVERED: f32 = 0.19;

/// Rate of false positives of the default thresholds.
pub(crate) const USUAL_ALPHA: f32 = 0.05;
/// Version of the scoring: to be incremented with every change of a weight, a feature or the background table, which
/// invalidates stored thresholds.
pub(crate) const SCALE: u32 = 7;

/// Gate of an uncalibrated store: strict.
pub(crate) const UNCALIBRATED: Gate =
    Gate { threshold: 5.4, mean: 2.2, deviation: 1.1, alpha: USUAL_ALPHA, scale: SCALE };

impl Features {
    pub(crate) fn score(&self) -> f32 {
        let cosine = self.cosine.unwrap_or(COSINE_USUAL + COSINE_COVERED * self.covered);
        COSINE * cosine + COVERED * self.covered + KNOWN * self.known + SECOND * self.second
    }
}

/// Computes a candidate's gate features, score and threshold. In a long query the best paragraph counts.
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

/// Maximum distance below the threshold for a memory that accompanies one that opened the gate. Picked on whole
/// projects (`scripts/eval project`).
const FOLLOW_SLACK: f32 = 1.5;

/// Returns whether the query is about a subject of the store: at least one memory that may be returned passes. Foreign
/// prompts are recognised by their best score; the score does not decide which memory is the right one. `is_held`
/// excludes passing candidates; it is called last because it may read a record.
pub(crate) fn is_open(candidates: &[Candidate], is_held: &dyn Fn(&Candidate) -> bool) -> bool {
    let may_open =
        |candidate: &&Candidate| !candidate.entry.has(FLAG_SAID) && !candidate.entry.has(FLAG_HELD);
    let opens = |candidate: &&Candidate| candidate.passes() && !candidate.warns();
    let mut passing = candidates.iter().filter(may_open).filter(opens);
    passing.any(|candidate| !is_held(candidate))
}

/// Returns whether a candidate may be returned once the gate is open: rank decides among those that are not far below
/// their threshold.
pub(crate) fn follows(candidate: &Candidate) -> bool {
    candidate.passes() || candidate.gate > candidate.threshold - FOLLOW_SLACK
}

/// Distance below its threshold at which a memory is still evidence that the store covers the subject of a search: a
/// person who searches expects a result. With it, explicit search loses less than .02 of its recall@5 on two sets of
/// conversations, and returns nothing for most foreign questions (`scripts/eval retrieval SET --mode search --foreign`).
const SEARCH_EASE: f32 = 0.75;
/// Share of a search's rarity from which a memory is such evidence whatever its gate score: a search of two words is for
/// memories with these words.
const SEARCHED_COVERED: f32 = 0.5;

/// Nearness in meaning, and share of the search's rarity, that count as evidence beside less than two words in common.
const SEARCHED_COSINE: f32 = 0.3;
/// See [`SEARCHED_COSINE`].
const SEARCHED_SHARE: f32 = 0.3;

/// Returns whether a memory is evidence that the store covers the subject of an explicit search.
pub(crate) fn answers(candidate: &Candidate) -> bool {
    let Features { cosine, covered, second, .. } = candidate.features;
    // One word in common may be chance, and the threshold of a small store is low.
    let has_evidence = second > 0.0
        || covered >= SEARCHED_SHARE
        || cosine.is_some_and(|cosine| cosine >= SEARCHED_COSINE);
    candidate.named.is_some()
        || has_evidence && candidate.gate > candidate.threshold - SEARCH_EASE
        || covered >= SEARCHED_COVERED
}

/// Threshold reduction for a prompt: people working on a project mention its subjects more often than the foreign
/// prompts from which the threshold is made. Chosen so that at most one foreign prompt in twelve opens the gate, over
/// all sets of `scripts/fit-gate` together and two projects (`scripts/eval project`).
pub(crate) const PROMPT_EASE: f32 = 0.3;

/// Threshold reduction for help with an error, because it occurred in this very project. Picked by hand with
/// `scripts/eval project`; fixes of other errors are still held.
pub(crate) const ERROR_EASE: f32 = 0.6;

/// Lowers the thresholds by an amount.
pub(crate) fn ease(candidates: &mut [Candidate], by: f32) {
    for candidate in candidates {
        candidate.threshold -= by;
    }
}

/// Minimum cosine for which a fix of one error is returned for another with different wording. By this table's vectors,
/// fixes of two real projects are as near as .54 to errors of the other one, and as .63 to errors of their own that
/// they do not fix.
const NEAR_CURE: f32 = 0.66;

/// Opens the gate for fixes and warnings of an error very near this one in meaning.
pub(crate) fn open_for_near_cures(candidates: &mut [Candidate]) {
    for candidate in candidates {
        let is_near = candidate.features.cosine.is_some_and(|cosine| cosine >= NEAR_CURE);
        if is_near && candidate.entry.kind_of().is_some_and(Kind::is_of_failure) {
            candidate.threshold = candidate.threshold.min(0.0);
        }
    }
}

/// Closes the gate for fixes of other errors and for commands, unless their words cover much of this error: a wrong fix
/// is worse than none, and errors of one command have many words in common.
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

/// Adds the features shared by a paragraph's terms and a memory; `None` if the paragraph has no terms.
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

/// Returns the threshold for the best of several paragraphs, each of which adds a chance of a false positive. Since
/// they belong to one prompt, they count as the square root of their number. The tail of the background scores is
/// assumed to be normal.
fn threshold(gate: &Gate, paragraphs: usize) -> f32 {
    if paragraphs <= 1 {
        return gate.threshold;
    }
    let alpha = gate.alpha.clamp(1e-4, 0.5);
    let rarer = quantile(alpha / (paragraphs as f32).sqrt()) - quantile(alpha);
    gate.threshold + rarer * gate.deviation
}

/// The point of a standard normal that the share `tail` exceeds (Abramowitz and Stegun 26.2.23).
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
