//! Prompts that go on where the one before ended: "and the second?", "do the same for the importer".
//!
//! They say too little to find anything by themselves, so they are asked once more with words of the
//! *topic*, what the prompts before were about. These words count for less, and alone they find
//! nothing: what the prompt before matched, it was answered with.

use crate::query::acknowledgement::is_acknowledgement;
use crate::query::{Query, Term};
use crate::rank::candidate::Candidate;
use memory_store_base::text::rarity;

/// Terms of a topic.
const TERMS_MAX: usize = 8;
/// Hexadecimal digits of a term.
const TERM_DIGITS: usize = 16;
/// A prompt with at most so many words of its own goes on with the topic, whatever it says.
const FEW_WORDS: usize = 2;
/// A prompt with at most so many does where it refers back.
const SOME_WORDS: usize = 6;
/// Weight of a term of the topic beside one of the prompt: it is taken to be as common as if it were so much less rare.
const WEIGHT: f32 = 0.5;
/// The share of a prompt's own information that a memory must have.
const OWN_SHARE: f32 = 0.5;

/// First words of a follow-up.
const FIRST_WORDS: [&str; 6] = ["and", "also", "or", "but", "then", "now"];
/// Words with which a prompt refers back.
const BACK: [&str; 11] = [
    "same", "other", "others", "another", "one", "ones", "instead", "likewise", "too", "second",
    "third",
];

/// Topic of prompts without their text: hashes of their most telling terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topic {
    terms: Vec<u64>,
}

impl Topic {
    /// Its terms in hexadecimal digits, [`TERM_DIGITS`] each.
    pub fn to_hex(&self) -> String {
        let mut digits = String::with_capacity(self.terms.len() * TERM_DIGITS);
        for term in &self.terms {
            for shift in (0..TERM_DIGITS).rev() {
                digits.extend(char::from_digit((term >> (4 * shift)) as u32 & 15, 16));
            }
        }
        digits
    }

    /// Reads what [`Topic::to_hex`] wrote; what is none of it is left out.
    pub fn from_hex(digits: &str) -> Self {
        let terms = digits.as_bytes().chunks(TERM_DIGITS).take(TERMS_MAX).filter_map(|term| {
            let whole = term.len() == TERM_DIGITS && term.iter().all(u8::is_ascii_hexdigit);
            u64::from_str_radix(std::str::from_utf8(term).ok().filter(|_| whole)?, 16).ok()
        });
        Self { terms: terms.collect() }
    }

    /// Its terms, to be looked up. Their words are not kept.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Term> {
        let term = |&hash| Term { hash, background: rarity::idf(hash), text: String::new() };
        self.terms.iter().map(term)
    }

    /// The topic after a further prompt: the rarest terms of it, and behind them those of the topic
    /// before, where it goes on with that.
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

/// A prompt with the topic that it goes on with.
pub(crate) struct Followed {
    /// The query.
    pub query: Query,
    /// Rarity of each of the prompt's own terms; of others, 0.
    own: Vec<f32>,
}

impl Followed {
    /// Joins a prompt and a topic; `None` when the prompt stands by itself, or says nothing of its
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

    /// Takes the candidates of the prompt alone and of prompt and topic together: these are what counts, but those that
    /// only the topic found. Memories that pass the gate for the prompt alone still do.
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

    /// Returns whether a candidate has enough of what the prompt itself says.
    fn is_meant(&self, candidate: &Candidate) -> bool {
        let own = |number: &u16| self.own.get(usize::from(*number)).copied().unwrap_or_default();
        let shared: f32 = candidate.shared.iter().map(own).sum();
        shared > 0.0 && shared >= OWN_SHARE * self.own.iter().sum::<f32>()
    }
}

/// The terms that say what a prompt is about. A long one says it at its beginning.
fn own_terms(query: &Query) -> impl Iterator<Item = &Term> {
    let terms = query.paragraphs.iter().take(1).flatten();
    let terms = terms.map(|&number| &query.terms[usize::from(number)]);
    terms.filter(|term| !is_acknowledgement(&term.text))
}

/// Returns whether a prompt goes on with what the one before was about.
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
    // "What about the importer?"
    let asks = first == "what" || first == "how";
    let mut rest = words.enumerate();
    rest.any(|(at, word)| is_back(&word) || at == 0 && asks && word == "about")
}
