//! Filters of an explicit search: whether a document satisfies all conditions.
//!
//! The index is consulted first and excludes documents without the words. Phrases and filters are then compared with
//! the document's text.

use std::sync::Arc;

use crate::index::document::Document;
use crate::index::record::Record;
use crate::index::segment::Segment;
use crate::query::expression::{Filter, Node, ScopeName};
use crate::rank::candidate::Candidate;
use crate::rank::exact;
use crate::search::hit::Hit;
use crate::search::sources::At;
use memory_store_base::error::Error;
use memory_store_base::id::is_abbreviation;
use memory_store_base::memory::is_within_topic;
use memory_store_base::text::{self, Form, term_hash};

/// A part of what is searched: a segment, and loose documents whose numbers continue after the segment's.
pub(crate) struct SearchedPart<'a> {
    pub segment: Option<&'a Segment>,
    pub loose: &'a [Arc<Document>],
}

impl SearchedPart<'_> {
    fn docs(&self) -> usize {
        self.segment.map_or(0, Segment::docs) as usize + self.loose.len()
    }
}

/// A set of documents, as one bit per document in each part.
#[derive(Clone, Debug, PartialEq)]
struct Docs(Vec<Vec<u64>>);

impl Docs {
    fn none(parts: &[SearchedPart<'_>]) -> Self {
        Self(parts.iter().map(|part| vec![0; part.docs().div_ceil(64)]).collect())
    }

    fn all(parts: &[SearchedPart<'_>]) -> Self {
        Self(parts.iter().map(|part| vec![u64::MAX; part.docs().div_ceil(64)]).collect())
    }

    fn add(&mut self, part: usize, doc: u32) {
        self.0[part][doc as usize / 64] |= 1 << (doc % 64);
    }

    fn has(&self, part: usize, doc: u32) -> bool {
        self.0[part][doc as usize / 64] >> (doc % 64) & 1 == 1
    }

    fn each(&mut self, other: &Self, join: impl Fn(u64, u64) -> u64) {
        let mine = self.0.iter_mut().flatten();
        mine.zip(other.0.iter().flatten()).for_each(|(a, &b)| *a = join(*a, b));
    }
}

/// Conditions of a search, with the documents that contain their words.
pub(crate) struct Matcher<'a> {
    must: &'a [Node],
    /// Words and phrases of `must`, each with the documents that contain all of its words.
    docs: Vec<(&'a str, Docs)>,
    /// Topics of `must`, each with the documents in it.
    topics: Vec<(&'a str, Docs)>,
    all: Docs,
}

/// Whether a condition holds, as far as known before the document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    No,
    Maybe,
    Yes,
}

impl<'a> Matcher<'a> {
    /// Looks up the words of the conditions. Read errors are passed to `note`.
    pub(crate) fn new(must: &'a [Node], parts: &[SearchedPart<'_>], note: &dyn Fn(&Error)) -> Self {
        let mut docs: Vec<(&str, Docs)> = Vec::new();
        let mut topics: Vec<(&str, Docs)> = Vec::new();
        for node in must {
            node.each_topic(&mut |topic| {
                if !topics.iter().any(|(known, _)| *known == topic) {
                    topics.push((topic, of_topic(topic, parts, note)));
                }
            });
            node.each_text(&mut |text| {
                if !docs.iter().any(|(known, _)| *known == text) {
                    docs.push((text, with_words(text, parts, note)));
                }
            });
        }
        Self { must, docs, topics, all: Docs::all(parts) }
    }

    /// Removes the candidates that no topic allows before they are scored, so that the best of a topic is compared only
    /// with others of the topic.
    pub(crate) fn narrow(&self, candidates: &mut Vec<Candidate>) {
        let of_topics: Vec<&Node> = self.must.iter().filter(|node| node.is_of_topics()).collect();
        if !of_topics.is_empty() {
            candidates.retain(|&Candidate { at: At { source, doc }, .. }| {
                let holds = |node: &&Node| self.holds(node, usize::from(source), doc, None);
                of_topics.iter().all(|node| holds(node) == Holds::Yes)
            });
        }
    }

    /// Returns whether a document may satisfy all conditions according to the index.
    pub(crate) fn may(&self, part: usize, doc: u32) -> bool {
        self.must.iter().all(|node| self.holds(node, part, doc, None) != Holds::No)
    }

    /// Returns whether a document satisfies all conditions.
    pub(crate) fn is(&self, part: usize, doc: u32, hit: &Hit) -> bool {
        let said = comparable_text(hit);
        let read = Some((hit, said.as_str()));
        self.must.iter().all(|node| self.holds(node, part, doc, read) == Holds::Yes)
    }

    /// Returns whether a hit that is returned in place of another document satisfies the filters. The words were
    /// already matched in the other document.
    pub(crate) fn allows(&self, hit: &Hit) -> bool {
        let mut filters = self.must.iter().filter(|node| node.is_filter());
        filters.all(|node| self.holds(node, 0, 0, Some((hit, ""))) == Holds::Yes)
    }

    fn holds(&self, node: &Node, part: usize, doc: u32, read: Option<(&Hit, &str)>) -> Holds {
        let has = |text: &str| {
            let known = self.docs.iter().find(|(known, _)| *known == text);
            known.map_or(&self.all, |(_, docs)| docs).has(part, doc)
        };
        let sure = |holds: bool| if holds { Holds::Yes } else { Holds::No };
        match (node, read) {
            (Node::Word(word), _) => sure(has(word)),
            (Node::Phrase(phrase), _) if !has(phrase) => Holds::No,
            (Node::Phrase(phrase), Some((_, said))) => sure(said.contains(&verbatim(phrase))),
            (Node::Filter(Filter::Topic(topic)), None) => {
                let known = self.topics.iter().find(|(known, _)| known == topic);
                sure(known.is_some_and(|(_, docs)| docs.has(part, doc)))
            }
            (Node::Filter(filter), Some((hit, _))) => sure(passes(filter, hit)),
            (Node::Phrase(_) | Node::Filter(_), None) => Holds::Maybe,
            (Node::Not(node), _) => match self.holds(node, part, doc, read) {
                Holds::No => Holds::Yes,
                Holds::Maybe => Holds::Maybe,
                Holds::Yes => Holds::No,
            },
            (Node::All(nodes), _) => {
                let mut all = Holds::Yes;
                for node in nodes {
                    match self.holds(node, part, doc, read) {
                        Holds::No => return Holds::No,
                        Holds::Maybe => all = Holds::Maybe,
                        Holds::Yes => {}
                    }
                }
                all
            }
            (Node::Any(nodes), _) => {
                let mut any = Holds::No;
                for node in nodes {
                    match self.holds(node, part, doc, read) {
                        Holds::Yes => return Holds::Yes,
                        Holds::Maybe => any = Holds::Maybe,
                        Holds::No => {}
                    }
                }
                any
            }
        }
    }
}

fn passes(filter: &Filter, hit: &Hit) -> bool {
    match filter {
        Filter::Kind(kind) => hit.kind == *kind,
        Filter::Tag(wanted) => hit.tags.iter().any(|tag| tag.eq_ignore_ascii_case(wanted)),
        Filter::Topic(wanted) => {
            hit.topic.as_deref().is_some_and(|topic| is_within_topic(topic, wanted))
        }
        Filter::Scope(wanted) => ScopeName::of(hit.scope, hit.agent.as_deref()) == *wanted,
        Filter::Path(path) => hit.paths.iter().any(|known| exact::is_about(known, path)),
        Filter::Session(start) => {
            hit.session.as_deref().is_some_and(|session| is_abbreviation(start, session))
        }
        Filter::When(span) => span.has(hit.date),
        // Events were replaced by times. An event that was not found does not restrict the search.
        Filter::Event { .. } => true,
    }
}

/// Returns all text of a hit, normalised for the comparison with phrases.
fn comparable_text(hit: &Hit) -> String {
    let mut said = verbatim(&hit.title);
    for more in [&hit.text].into_iter().chain(&hit.tags).chain(&hit.paths) {
        said.push('\n');
        said.push_str(&verbatim(more));
    }
    said
}

/// Normalises a text for the comparison of phrases: lower case, with single spaces.
fn verbatim(text: &str) -> String {
    text::folded(text).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the documents that contain every word of a text; all documents if the text has no words.
fn with_words(text: &str, parts: &[SearchedPart<'_>], note: &dyn Fn(&Error)) -> Docs {
    let mut docs = Docs::all(parts);
    // A code name matches as a whole or by all of its parts.
    let mut whole: Option<(Docs, Option<Docs>)> = None;
    let close = |docs: &mut Docs, whole: &mut Option<(Docs, Option<Docs>)>| {
        if let Some((mut name, parts)) = whole.take() {
            if let Some(parts) = parts {
                name.each(&parts, |a, b| a | b);
            }
            docs.each(&name, |a, b| a & b);
        }
    };
    for token in text::tokens(text) {
        let found = with_term(term_hash(&token.term), parts, note);
        match (token.form, &mut whole) {
            (Form::Part, Some((_, Some(known)))) => known.each(&found, |a, b| a & b),
            (Form::Part, Some((_, none))) => *none = Some(found),
            (Form::Whole, _) => {
                close(&mut docs, &mut whole);
                whole = Some((found, None));
            }
            (Form::Word | Form::Bigram | Form::Part, _) => {
                close(&mut docs, &mut whole);
                docs.each(&found, |a, b| a & b);
            }
        }
    }
    close(&mut docs, &mut whole);
    docs
}

/// Returns the documents of a topic. Their records are read, because the words of an index do not include topics: names
/// of topics would count as text.
fn of_topic(topic: &str, parts: &[SearchedPart<'_>], note: &dyn Fn(&Error)) -> Docs {
    let mut docs = Docs::none(parts);
    let is_in = |record: &Record| {
        record.topic.as_deref().is_some_and(|known| is_within_topic(known, topic))
    };
    for (number, part) in parts.iter().enumerate() {
        let first = part.segment.map_or(0, Segment::docs);
        if let Some(segment) = part.segment {
            for doc in 0..first {
                match segment.entry(doc).and_then(|entry| segment.record(&entry)) {
                    Ok(record) if is_in(&record) => docs.add(number, doc),
                    Ok(_) => {}
                    Err(error) => note(&error),
                }
            }
        }
        for (doc, document) in (first..).zip(part.loose) {
            if is_in(&document.record) {
                docs.add(number, doc);
            }
        }
    }
    docs
}

fn with_term(hash: u64, parts: &[SearchedPart<'_>], note: &dyn Fn(&Error)) -> Docs {
    let mut docs = Docs::none(parts);
    for (number, part) in parts.iter().enumerate() {
        if let Some(segment) = part.segment {
            let read = segment.term(hash).and_then(|slot| match slot {
                Some(slot) => segment.postings(&slot, |doc, _| docs.add(number, doc)),
                None => Ok(()),
            });
            read.unwrap_or_else(|error| note(&error));
        }
        let first = part.segment.map_or(0, Segment::docs);
        for (doc, document) in (first..).zip(part.loose) {
            if document.count(hash) > 0 {
                docs.add(number, doc);
            }
        }
    }
    docs
}

/// Returns whether any document contains a word.
pub(crate) fn is_indexed(word: &str, parts: &[SearchedPart<'_>], note: &dyn Fn(&Error)) -> bool {
    with_words(word, parts, note).0.iter().flatten().any(|&docs| docs != 0)
}
