//! Candidates: documents that share a feature with a query, and their scores.

use crate::index::record::{Entry, FLAG_DRAFT, FLAG_PINNED, FLAG_SUPERSEDED};
use crate::index::vectors::Near;
use crate::query::{Query, Term};
use crate::search::sources::{At, Sources};
use memory_store_base::kind::Kind;

/// A document that shares a feature with the query.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub at: At,
    pub entry: Entry,
    /// BM25 score of the words.
    pub lexical: f32,
    /// Gain from words of neighbouring documents of the same session.
    pub beside: f32,
    /// Similarity of the vectors, if query and document both have one.
    pub near: Option<Near>,
    /// Similarity in the second space, if that space is enabled and contains the document.
    pub likeness: Option<f32>,
    /// Score for words: BM25 with neighbours, scaled by the share of the query that the best candidate covers.
    pub words: f32,
    /// Weight of the similarity in meaning.
    pub trust: f32,
    /// Score for ranking, from words, meaning, prior and direct naming.
    pub fused: f32,
    /// Inputs of the gate.
    pub features: Features,
    /// The gate's score.
    pub gate: f32,
    /// Minimum value of the gate's score for this candidate to pass.
    pub threshold: f32,
    /// How the query names the document directly, if it does.
    pub named: Option<NamedBy>,
    /// Numbers of the query's terms that the document contains.
    pub shared: Vec<u16>,
}

/// How a query names a document directly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NamedBy {
    /// Query and memory are about this file.
    Path(String),
    /// The prompt names this command, about which the memory warns.
    Command(String),
    /// The memory has the error's signature.
    Signature,
    /// The memory quotes the error.
    Phrase,
    /// The memory's text mentions the file.
    Mention,
}

/// Inputs of the gate, comparable between queries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Features {
    /// Cosine of the vectors of query and memory, if both have one.
    pub cosine: Option<f32>,
    /// Fraction of the query's rarity in technical text that the memory's words cover, 0 to 1.
    pub covered: f32,
    /// Fraction of the query's rarity in technical text in words that the store contains, 0 to 1.
    pub known: f32,
    /// Rarity in technical text of the second rarest shared term, 0 to 1. One rare word in common may be chance; two
    /// show the subject.
    pub second: f32,
}

impl Candidate {
    /// Creates a candidate without scores.
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

    /// Returns whether a person pinned the memory.
    pub(crate) fn is_pinned(&self) -> bool {
        self.entry.has(FLAG_PINNED)
    }

    /// Returns the candidate at a place, without scores; `None` for a superseded document.
    pub(crate) fn find(sources: &Sources, at: At) -> Option<Self> {
        let entry = sources.entry(at).filter(|entry| !entry.has(FLAG_SUPERSEDED))?;
        Some(Self::new(at, entry))
    }

    /// Returns whether the candidate passes the gate. Memories that the query names directly always pass.
    pub(crate) fn passes(&self) -> bool {
        self.named.is_some() || self.gate > self.threshold
    }

    /// Returns whether the memory warns about a command in the prompt. This does not show that the store covers the
    /// prompt's subject, because most plans name the command that checks every change.
    pub(crate) fn warns(&self) -> bool {
        matches!(self.named, Some(NamedBy::Command(_)))
    }

    /// Returns whether the memory is the digest of a session.
    pub(crate) fn is_digest(&self) -> bool {
        self.entry.kind == Kind::Session as u8
    }

    /// Returns whether the memory is a synthesis that no person accepted. Only an explicit search returns it.
    pub(crate) fn is_proposed_synthesis(&self) -> bool {
        self.entry.kind == Kind::Synthesis as u8 && self.entry.has(FLAG_DRAFT)
    }

    /// Returns why the candidate matches, for display.
    pub(crate) fn why(&self, query: &Query) -> String {
        let mut words: Vec<&Term> =
            self.shared.iter().map(|&number| &query.terms[usize::from(number)]).collect();
        words.sort_by(|a, b| b.background.total_cmp(&a.background).then(a.text.cmp(&b.text)));
        // Of the terms of the topic that a prompt continues, only the hashes are known.
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
            // A search only by kinds, paths or times has no words and compares no vectors.
            None if words.is_empty() && self.near.is_none() && self.likeness.is_none() => {
                "asked for by kind, file or time".to_owned()
            }
            None if words.is_empty() => "near in meaning".to_owned(),
            None => format!("words: {words}"),
        }
    }
}
