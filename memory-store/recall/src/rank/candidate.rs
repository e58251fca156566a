//! Candidates: documents that share something with a query, and what is known of how they fit.

use crate::index::record::{Entry, FLAG_PINNED, FLAG_SUPERSEDED};
use crate::index::vectors::Near;
use crate::query::{Query, Term};
use crate::search::sources::{At, Sources};
use memory_store_base::kind::Kind;

/// A document that shares something with the query.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub at: At,
    pub entry: Entry,
    /// BM25.
    pub lexical: f32,
    /// Gain by the words of neighbouring documents of its session.
    pub beside: f32,
    /// Nearness to the query, where both have a vector.
    pub near: Option<Near>,
    /// Distinction in the second space, where that was asked and it has a vector there.
    pub likeness: Option<f32>,
    /// Lexical part of the score: BM25 with neighbours, scaled by how far the best candidate covers the query.
    pub words: f32,
    /// Weight of its meaning.
    pub trust: f32,
    /// Words, meaning, prior, and what is named directly; what it is ranked by.
    pub fused: f32,
    /// Inputs of the gate.
    pub features: Features,
    /// Result of the gate.
    pub gate: f32,
    /// Threshold of the gate.
    pub threshold: f32,
    /// Direct naming: by path, or by the signature of an error.
    pub named: Option<NamedBy>,
    /// The terms it shares, by number.
    pub shared: Vec<u16>,
}

/// Direct naming of a document by a query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NamedBy {
    /// The query and the memory are about the same file.
    Path(String),
    /// The prompt names a command that the memory warns of.
    Command(String),
    /// The memory has the error's signature.
    Signature,
    /// The memory repeats what the error says.
    Phrase,
    /// The memory's text mentions the file.
    Mention,
}

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

impl Candidate {
    /// A candidate of which nothing is known yet.
    pub(crate) fn new(at: At, entry: Entry) -> Self {
        Self {
            at,
            entry,
            lexical: 0.0,
            beside: 0.0,
            near: None,
            likeness: None,
            words: 0.0,
            trust: 0.0,
            fused: 0.0,
            features: Features::default(),
            gate: 0.0,
            threshold: f32::INFINITY,
            named: None,
            shared: Vec::new(),
        }
    }

    /// Returns whether a person pinned it.
    pub(crate) fn is_pinned(&self) -> bool {
        self.entry.has(FLAG_PINNED)
    }

    /// Returns the candidate at a place, with nothing known about how it fits; `None` for a superseded document.
    pub(crate) fn find(sources: &Sources, at: At) -> Option<Self> {
        let entry = sources.entry(at).filter(|entry| !entry.has(FLAG_SUPERSEDED))?;
        Some(Self::new(at, entry))
    }

    /// Returns whether the gate lets it through. A memory that the query names directly is its own gate.
    pub(crate) fn passes(&self) -> bool {
        self.named.is_some() || self.gate > self.threshold
    }

    /// Returns whether it warns of a command that the prompt names. That is no evidence that the store knows what the
    /// prompt is about: most plans name what every change is checked with.
    pub(crate) fn warns(&self) -> bool {
        matches!(self.named, Some(NamedBy::Command(_)))
    }

    /// Returns whether it is a digest of a session and no judged memory.
    pub(crate) fn is_digest(&self) -> bool {
        self.entry.kind == Kind::Session as u8
    }

    /// Why it was found, for people.
    pub(crate) fn why(&self, query: &Query) -> String {
        let mut words: Vec<&Term> =
            self.shared.iter().map(|&number| &query.terms[usize::from(number)]).collect();
        words.sort_by(|a, b| b.background.total_cmp(&a.background).then(a.text.cmp(&b.text)));
        // Terms of the topic that a prompt continues are known as hashes only.
        let shared = words.len();
        words.retain(|term| !term.text.is_empty());
        let topic = if words.len() < shared { ", and the prompt before" } else { "" };
        let words: Vec<&str> = words.iter().take(5).map(|term| term.text.as_str()).collect();
        let words = words.join(", ") + topic;
        match &self.named {
            Some(NamedBy::Path(path)) => format!("file {path}"),
            Some(NamedBy::Mention) => format!("mentions the file; words: {words}"),
            Some(NamedBy::Command(command)) => format!("the command `{command}`"),
            Some(NamedBy::Signature) => "the same error".to_owned(),
            Some(NamedBy::Phrase) => format!("quotes the error; words: {words}"),
            // A search by kinds, paths or times alone asks for no words, and compares no vectors.
            None if words.is_empty() && self.near.is_none() && self.likeness.is_none() => {
                "asked for by kind, file or time".to_owned()
            }
            None if words.is_empty() => "near in meaning".to_owned(),
            None => format!("words: {words}"),
        }
    }
}
