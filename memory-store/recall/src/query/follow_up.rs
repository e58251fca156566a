//! Follow-up prompts that continue the previous one: "and the second?", "do the same for the importer".
//!
//! The words of such a prompt match too little, so a second query adds words of the *topic*, the subject of the
//! previous prompts. These words have less weight, and a memory that matches only them is not returned, because it was
//! already returned for the previous prompt.

use crate::query::acknowledgement::is_acknowledgement;
use crate::query::{Query, Term};
use crate::rank::candidate::Candidate;
use memory_store_base::text::rarity;

/// Maximum number of terms of a topic.
const TERMS_MAX: usize = 8;
/// Number of hexadecimal digits of a term's hash.
const TERM_DIGITS: usize = 16;
/// Maximum number of subject words of a prompt that always continues the topic.
const FEW_WORDS: usize = 2;
/// Maximum number of subject words of a prompt that continues the topic if it refers back.
const SOME_WORDS: usize = 6;
/// Weight of a topic's term relative to a prompt's term; it is a factor of the term's rarity.
const WEIGHT: f32 = 0.5;
/// Minimum fraction of the prompt's own rarity that a memory must cover.
const OWN_SHARE: f32 = 0.5;

/// First words by which a prompt is recognised as a follow-up.
const FIRST_WORDS: [&str; 6] = ["and", "also", "or", "but", "then", "now"];
/// Words by which a prompt refers back.
const BACK: [&str; 11] = [
    "same", "other", "others", "another", "one", "ones", "instead", "likewise", "too", "second",
    "third",
];

/// Topic of previous prompts without their text: hashes of their most distinctive terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topic {
    terms: Vec<u64>,
}

impl Topic {
    /// Returns the hashes of the topic's terms as hexadecimal digits, [`TERM_DIGITS`] each.
    pub fn to_hex(&self) -> String {
        let mut digits = String::with_capacity(self.terms.len() * TERM_DIGITS);
        for term in &self.terms {
            for shift in (0..TERM_DIGITS).rev() {
                digits.extend(char::from_digit((term >> (4 * shift)) as u32 & 15, 16));
            }
        }
        digits
    }

    /// Parses the output of [`Topic::to_hex`]; invalid parts are skipped.
    pub fn from_hex(digits: &str) -> Self {
        let terms = digits.as_bytes().chunks(TERM_DIGITS).take(TERMS_MAX).filter_map(|term| {
            let whole = term.len() == TERM_DIGITS && term.iter().all(u8::is_ascii_hexdigit);
            u64::from_str_radix(std::str::from_utf8(term).ok().filter(|_| whole)?, 16).ok()
        });
        Self { terms: terms.collect() }
    }

    /// Returns the topic's terms for look-up. They have no text, because their words are not stored.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> {
        let term = |&hash| Term { hash, background: rarity::idf(hash), text: String::new() };
        self.terms.iter().map(term)
    }

    /// Returns the topic after another prompt: the prompt's rarest terms, followed by those of the previous topic if
    /// the prompt continues it.
    pub(crate) fn then(&self, query: &Query) -> Self {
        let mut own: Vec<&Term> = own_terms(query).collect();
        own.sort_by(|a, b| b.background.total_cmp(&a.background).then(a.hash.cmp(&b.hash)));
        let mut terms: Vec<u64> = own.iter().take(TERMS_MAX).map(|term| term.hash).collect();
        if terms.is_empty() || goes_on(query) {
            for &term in &self.terms {
                if terms.len() < TERMS_MAX && !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        Self { terms }
    }
}

/// A prompt combined with the topic that it continues.
pub(crate) struct Followed {
    /// The prompt's query with the topic's terms added.
    pub query: Query,
    /// Rarity of each of the prompt's own terms; 0 for words of agreement.
    own: Vec<f32>,
}

impl Followed {
    /// Combines a prompt with a topic. Returns `None` if the prompt does not continue the topic or has no terms of its
    /// own.
    pub(crate) fn new(query: &Query, topic: &Topic) -> Option<Self> {
        if topic.terms.is_empty() || !goes_on(query) {
            return None;
        }
        let own: Vec<f32> = query
            .terms
            .iter()
            .map(|term| if is_acknowledgement(&term.text) { 0.0 } else { term.background })
            .collect();
        if own.iter().all(|&rarity| rarity == 0.0) {
            return None;
        }
        let mut query = query.clone();
        let known = query.terms.len();
        let new = |hash: &&u64| query.terms.iter().all(|term| term.hash != **hash);
        let terms: Vec<Term> = topic
            .terms
            .iter()
            .filter(new)
            .map(|&hash| Term { hash, background: WEIGHT * rarity::idf(hash), text: String::new() })
            .collect();
        query.terms.extend(terms);
        let paragraph = query.paragraphs.first_mut()?;
        paragraph.extend((known..query.terms.len()).filter_map(|at| u16::try_from(at).ok()));
        Some(Self { query, own })
    }

    /// Merges the candidates for the prompt alone with those for prompt and topic. Returns the latter, without those
    /// found only by the topic. Memories that pass the gate for the prompt alone are kept with that result.
    pub(crate) fn join(&self, alone: Vec<Candidate>, mut joined: Vec<Candidate>) -> Vec<Candidate> {
        joined.retain_mut(|candidate| {
            let alone = alone.iter().find(|alone| alone.at == candidate.at && alone.passes());
            if let Some(alone) = alone {
                (candidate.gate, candidate.threshold) = (alone.gate, alone.threshold);
            }
            alone.is_some() || self.is_meant(candidate)
        });
        joined
    }

    /// Returns whether a candidate covers enough of the prompt's own terms.
    fn is_meant(&self, candidate: &Candidate) -> bool {
        let own = |number: &u16| self.own.get(usize::from(*number)).copied().unwrap_or_default();
        let shared: f32 = candidate.shared.iter().map(own).sum();
        shared > 0.0 && shared >= OWN_SHARE * self.own.iter().sum::<f32>()
    }
}

/// Returns the terms of a prompt's subject. A long prompt states its subject in the first paragraph.
fn own_terms(query: &Query) -> impl Iterator<Item = &Term> {
    let terms = query.paragraphs.iter().take(1).flatten();
    let terms = terms.map(|&number| &query.terms[usize::from(number)]);
    terms.filter(|term| !is_acknowledgement(&term.text))
}

/// Returns whether a prompt continues the subject of the previous one.
fn goes_on(query: &Query) -> bool {
    if query.is_long() {
        return false;
    }
    let own = own_terms(query).take(SOME_WORDS + 1).count();
    own <= FEW_WORDS || own <= SOME_WORDS && refers_back(&query.text)
}

fn refers_back(text: &str) -> bool {
    let mut words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase);
    let Some(first) = words.next() else { return false };
    let is_back = |word: &String| BACK.contains(&word.as_str());
    if FIRST_WORDS.contains(&first.as_str()) || is_back(&first) {
        return true;
    }
    // For example "What about the importer?"
    let asks = first == "what" || first == "how";
    let mut rest = words.enumerate();
    rest.any(|(at, word)| is_back(&word) || at == 0 && asks && word == "about")
}
