//! Ranking of passages for a prompt by words, meaning, length, age and shared files.
//!
//! For a hook, passages that must not be returned are removed first. Recent text of the same session, and an earlier
//! prompt in the same words, match better than all others, and would open the gate for the passages after them.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::gate::{self, PassageJudgement};
use super::rarity::Rarity;
use crate::index::record::FLAG_HELD;
use crate::query::Query;
use crate::rank::candidate::Candidate;
use crate::rank::lexical::FoundTerms;
use crate::rank::near_duplicates::{SAME, share_in};
use crate::rank::{exact, score};
use crate::search::sources::{At, Sources};
use memory_store_base::id::MemoryId;
use memory_store_base::time::{DAY_MS, Timestamp};

/// Maximum number of ranked passages. The gate compares the best one with their median.
pub(crate) const RANKED_MAX: usize = 60;
/// Maximum number of passages that are scored to find those, because a session may contain many about its own subject.
const FOUND_MAX: usize = 2 * RANKED_MAX;
/// Number of best passages that are checked for repetition of the query.
const ECHOES_MAX: usize = 12;
/// Minimum share of the query's rarity that a passage must cover to be read and checked for repetition.
const ECHO_SHARE_MIN: f32 = 0.7;

/// Weight of a passage's words relative to those of the passage with the best words. All weights are relative to the
/// share of the words' maximum score, which has weight 1. They were fitted by `scripts/fit-passages`.
const BEST_WORDS: f32 = 0.7;
/// Weight of similarity in meaning; see [`BEST_WORDS`].
const MEANING: f32 = 1.7;
/// Weight of the logarithm of a passage's length, up to [`LONG_BYTES`]; see [`BEST_WORDS`].
const LENGTH: f32 = 0.35;
/// Weight of freshness, which halves every [`HALF_LIFE_DAYS`]; see [`BEST_WORDS`].
const FRESHNESS: f32 = 0.3;
/// Weight of a file that query and passage both name; see [`BEST_WORDS`]. It was set by hand, because few prompts of
/// the training sets name a file.
const FILE: f32 = 0.1;

/// Cosine assumed for a passage without a vector: about that of the passage nearest to a prompt.
const USUAL_COSINE: f32 = 0.4;
/// Number of bytes from which a passage counts as long.
const LONG_BYTES: f32 = 400.0;
/// Number of days in which freshness halves.
const HALF_LIFE_DAYS: f32 = 30.0;

/// A ranked passage.
#[derive(Clone, Debug)]
pub struct RankedPassage {
    /// Document and entry of the passage.
    pub(crate) candidate: Candidate,
    /// Score for ranking.
    pub score: f32,
    /// Fraction of the maximum score of the words.
    pub words: f32,
    /// Cosine similarity, if query and passage both have a vector.
    pub cosine: Option<f32>,
    /// Length of the passage's record in bytes.
    pub bytes: u32,
    /// Days since the passage's turn.
    pub age_days: f32,
    /// True if the passage is about a file that the query names.
    pub names_file: bool,
}

/// Returns the part of the score that depends on a passage's length.
fn length_gain(bytes: u32) -> f32 {
    LENGTH * (bytes as f32 / LONG_BYTES).clamp(0.05, 1.0).ln()
}

impl RankedPassage {
    /// Returns the score without the part for length, because an answer with many passages has room for short ones.
    pub(crate) fn score_at_any_length(&self) -> f32 {
        self.score - length_gain(self.bytes)
    }

    /// Returns why the passage matches a query: a file, words, or otherwise the meaning.
    pub(crate) fn why(&self, query: &Query) -> String {
        match query.paths.first().filter(|_| self.names_file) {
            Some(path) => format!("file {path}"),
            None => self.candidate.why(query),
        }
    }

    /// Returns the id of the passage.
    pub(crate) fn id(&self) -> MemoryId {
        self.candidate.entry.id
    }
}

/// Passages for a query, best first, with the gate's judgement.
#[derive(Clone, Debug, Default)]
pub struct RankedPassages {
    /// The passages.
    pub passages: Vec<RankedPassage>,
    /// For each term of the query, whether it is counted; terms that many passages contain are not.
    pub(crate) counted: Vec<bool>,
    /// The gate's judgement of the query.
    pub judgement: PassageJudgement,
    /// Ids and scores of the passages that may not be returned to a hook.
    pub(crate) left_out: Vec<(MemoryId, f32)>,
}

/// Ranks the passages that share words with a query or are similar in meaning, for a hook. Only passages that
/// `may_be_given` and that add something to the query are ranked.
pub(crate) fn rank(
    sources: &Sources,
    query: &Query,
    now: Timestamp,
    may_be_given: &dyn Fn(MemoryId) -> bool,
) -> RankedPassages {
    if query.terms.is_empty() || sources.docs() == 0 {
        return RankedPassages::default();
    }
    let found = FoundTerms::look_up(sources, &query.terms);
    let mut candidates = score::find(sources, query, &found, FOUND_MAX);
    candidates.retain(|it| !it.entry.has(FLAG_HELD));
    let all = ordered(sources, query, &found, candidates, now);
    let (mut passages, left_out): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|passage| may_be_given(passage.id()));
    remove_echoes(sources, query, &found, &mut passages);
    passages.truncate(RANKED_MAX);
    let left_out = left_out.iter().map(|passage| (passage.id(), passage.score)).collect();
    RankedPassages { left_out, ..judged(query, &found, passages) }
}

/// Ranks candidates for a query whose terms have been looked up.
pub(crate) fn rank_candidates(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    candidates: Vec<Candidate>,
    now: Timestamp,
) -> RankedPassages {
    judged(query, found, ordered(sources, query, found, candidates, now))
}

fn judged(query: &Query, found: &FoundTerms<'_>, passages: Vec<RankedPassage>) -> RankedPassages {
    let judgement = gate::judge(query, found, &passages);
    let counted = found.uncounted.iter().map(|uncounted| !uncounted).collect();
    RankedPassages { passages, counted, judgement, left_out: Vec::new() }
}

/// Scores and sorts candidates.
fn ordered(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    candidates: Vec<Candidate>,
    now: Timestamp,
) -> Vec<RankedPassage> {
    let most = found.most(query);
    let best_words = candidates.iter().map(|it| it.lexical).fold(0.0, f32::max);
    let paths = query.paths.iter();
    let named: BTreeSet<At> = paths.flat_map(|path| exact::named_by(sources, path)).collect();
    let of = |candidate: Candidate| {
        let words = if most > 0.0 { candidate.lexical / most } else { 0.0 };
        let beside_best = if best_words > 0.0 { candidate.lexical / best_words } else { 0.0 };
        let cosine = candidate.near.map(|near| near.cosine);
        let bytes = candidate.entry.length;
        let age_days = (now.0 - candidate.entry.when.0).max(0) as f32 / DAY_MS as f32;
        let names_file = named.contains(&candidate.at);
        let fresh = (-age_days / HALF_LIFE_DAYS).exp2();
        let file = if names_file { FILE } else { 0.0 };
        let score = words
            + BEST_WORDS * beside_best
            + MEANING * cosine.unwrap_or(USUAL_COSINE)
            + length_gain(bytes)
            + FRESHNESS * fresh
            + file;
        RankedPassage { candidate, score, words, cosine, bytes, age_days, names_file }
    };
    let mut passages: Vec<RankedPassage> = candidates.into_iter().map(of).collect();
    passages.sort_by(order);
    passages
}

/// Removes those of the best passages that repeat the query. They must be read; few cover most of the query's rarity.
fn remove_echoes(
    sources: &Sources,
    query: &Query,
    found: &FoundTerms<'_>,
    passages: &mut Vec<RankedPassage>,
) {
    let rarity = Rarity::new(query, found);
    let mut place = 0;
    passages.retain(|passage| {
        place += 1;
        place > ECHOES_MAX
            || rarity.share(&passage.candidate.shared) < ECHO_SHARE_MIN
            || !sources
                .record(passage.candidate.at, &passage.candidate.entry)
                .is_ok_and(|record| is_echo(&record.text, &query.text))
    });
}

/// Returns whether a passage adds nothing to a prompt, because the prompt already contains nearly all of its words.
pub(super) fn is_echo(passage: &str, prompt: &str) -> bool {
    share_in(passage, prompt) >= SAME
}

/// Orders passages by score, and those with equal scores by id, so that the order is deterministic.
fn order(a: &RankedPassage, b: &RankedPassage) -> Ordering {
    b.score.total_cmp(&a.score).then(a.id().cmp(&b.id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::testing;
    use crate::search::sources::{Effort, Way};
    use memory_store_base::settings::{IndexSearch, IndexSettings, Settings};

    fn sources(segments: &[&[&str]]) -> Sources {
        let open = |texts: &&[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            testing::open_passages(testing::passages(&texts), texts.len() as u32).unwrap()
        };
        Sources::of_passages(segments.iter().map(open).collect(), &Settings::default())
    }

    #[test]
    fn of_two_that_share_as_much_the_longer_one_comes_first_in_every_script() {
        let short = "The quagga gateway is slow.";
        let long = "The quagga gateway is slow, for its table is read again for every row that is imported.";
        let sources =
            sources(&[&[short, long, "Nothing of it.", "検索機能を修正した。", "別の話です。"]]);
        let best = |text: &str| {
            let ranked = rank(&sources, &Query::prompt(text), Timestamp(0), &|_| true);
            ranked.passages.iter().map(|passage| passage.candidate.at.doc).collect::<Vec<_>>()
        };
        assert_eq!(best("what about the quagga gateway"), [1, 0]);
        assert_eq!(best("検索機能はどう修正したか")[0], 3);
    }

    #[test]
    fn what_covers_a_query_is_judged_higher_than_what_shares_a_common_word() {
        let sources =
            sources(&[&["The quagga gateway listens on port 7391.", "Commit the file again."]]);
        let judged =
            |text: &str| rank(&sources, &Query::prompt(text), Timestamp(0), &|_| true).judgement;
        let (known, other) = (judged("quagga gateway port"), judged("rename the file handle"));
        assert!(known.score > other.score, "{known:?}, {other:?}");
        assert!(known.features.iter().all(|feature| feature.is_finite()));
        assert_eq!(judged("giraffe").score, PassageJudgement::default().score);
    }

    const ALONE: Option<Way> = Some(Way::Alone(IndexSearch::Auto));

    #[test]
    fn what_may_not_be_given_does_not_open_the_gate() {
        let own = "The quagga gateway listens on port 7391 in the eastern rack.";
        let other = "The port of the harbour is on a map of the old town.";
        let texts: [&[&str]; 2] = [&[own, other, "Nothing of it."], &[other, "Nothing of it."]];
        let [both, without] = texts.map(|texts| sources(&[texts]));
        let query = Query::prompt("which port of the quagga gateway");
        let ranked =
            |sources, may: &dyn Fn(MemoryId) -> bool| rank(sources, &query, Timestamp(0), may);
        let first = ranked(&both, &|_| true).passages[0].id();
        let kept = ranked(&both, &|id| id != first);
        assert!(kept.passages.iter().all(|passage| passage.id() != first));
        let scores = [ranked(&both, &|_| true), kept, ranked(&without, &|_| true)];
        let [open, kept, without] = scores.map(|ranked| ranked.judgement.features);
        assert!(kept[gate::COVERED] < open[gate::COVERED] / 2.0, "{kept:?}, {open:?}");
        assert!(
            (kept[gate::COVERED] - without[gate::COVERED]).abs() < 0.3,
            "{kept:?}, {without:?}"
        );
    }

    #[test]
    fn an_earlier_prompt_in_the_same_words_is_not_ranked_but_one_with_its_answer_is() {
        let prompt = "Why is the quagga gateway slow on the eastern rack?";
        let answer = "Its table is read again for every row that the nightly importer writes.";
        let answered = format!("{prompt}\nClaude: {answer}");
        let again = prompt.replace("Why is", "So why is");
        let sources = sources(&[&[prompt, &answered, &again, "Nothing of it."]]);
        let ranked = rank(&sources, &Query::prompt(prompt), Timestamp(0), &|_| true);
        let docs: Vec<u32> = ranked.passages.iter().map(|it| it.candidate.at.doc).collect();
        assert_eq!(docs[0], 1);
        assert!(!docs.contains(&0) && !docs.contains(&2), "{docs:?}");
    }

    #[test]
    fn a_hook_compares_vectors_of_the_newest_segments() {
        let one = "A passage.";
        let all = sources(&[&[one, one, one], &[one, one], &[one; 4]]);
        assert_eq!(all.ways(), [ALONE; 3]);
        let effort = Effort { scanned: 6, ..Effort::default() };
        assert_eq!(Sources { effort, ..all }.ways(), [None, ALONE, ALONE]);
    }

    fn ways(bytes: &[u8], docs: u32, effort: Effort, search: IndexSearch) -> Vec<Option<Way>> {
        let open = |_| testing::open_passages(bytes.to_vec(), docs).unwrap();
        let index = IndexSettings { search };
        let settings = Settings { index, ..Settings::default() };
        let sources = Sources::of_passages((0..2).map(open).collect(), &settings);
        Sources { effort, ..sources }.ways()
    }

    #[test]
    fn a_hook_looks_into_the_clusters_of_large_segments() {
        const DOCS: u32 = 5000;
        let bytes = crate::index::clusters::tests::bytes(DOCS);
        let ways = |effort, search| ways(&bytes, DOCS, effort, search);
        let (auto, scan) = (IndexSearch::Auto, IndexSearch::Scan);
        assert_eq!(ways(Effort::PASSAGES, auto), [Some(Way::Clusters); 2]);
        assert_eq!(ways(Effort::PASSAGES, scan), [Some(Way::Alone(scan)); 2]);
        assert_eq!(ways(Effort::default(), auto), [ALONE; 2], "an explicit search finds all");
    }

    #[test]
    fn a_hook_searches_a_graph_where_the_settings_ask_for_it() {
        const DOCS: u32 = 300;
        let bytes = crate::index::links::tests::bytes(DOCS, 8);
        let ways = |search| ways(&bytes, DOCS, Effort::PASSAGES, search);
        assert_eq!(ways(IndexSearch::Graph), [Some(Way::Alone(IndexSearch::Graph)); 2]);
        assert_eq!(ways(IndexSearch::Auto), [ALONE; 2]);
    }
}
