//! Explicit searches as they are asked for.

use crate::query::expression::{self, Filter, Node};
use crate::query::time_expression::Span;
use memory_store_base::kind::Kind;
use memory_store_base::time::Timestamp;

/// Hits when the caller names no limit.
const LIMIT: usize = 10;
/// Hits that may be asked for.
pub(super) const LIMIT_MAX: usize = 1000;

/// Part of what is recalled that a search looks through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Memories.
    #[default]
    Memories,
    /// Passages of sessions.
    Passages,
    /// The model's thinking in turns, as far as transcripts contain it.
    Thinking,
    /// Memories and passages: the best of each tier first.
    Both,
}

/// An explicit search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// Words, perhaps with operators and filters (see the module `expression`); without words the
    /// newest come first.
    pub text: String,
    /// True if `-word` in the text excludes and quotes demand: not where it may be an error message.
    pub exact: bool,
    /// Only these kinds; empty means all.
    pub kinds: Vec<Kind>,
    /// Only what has one of these tags; empty means all.
    pub tags: Vec<String>,
    /// Only what is about one of these files; empty means all.
    pub paths: Vec<String>,
    /// Number of hits; 0 means ten.
    pub limit: usize,
    /// Nothing older than this.
    pub since: Option<Timestamp>,
    /// Nothing newer than this.
    pub until: Option<Timestamp>,
    /// Only of this session, by the start of its id.
    pub session: Option<String>,
    /// Only of one of these sessions, by their ids; empty means all.
    pub sessions: Vec<String>,
    /// Where to search.
    pub tier: Tier,
    /// Superseded memories too.
    pub superseded: bool,
    /// Nothing that is held back: a model is to see the hits.
    pub without_held: bool,
    /// The session that asks: its own passages are in its context, and are found only if [`Self::session`] names one.
    pub asked_in: Option<String>,
}

impl Search {
    /// Returns the problem with the filters in the text, for the person who wrote it.
    pub fn problem(&self, now: Timestamp) -> Option<String> {
        expression::parse(&self.text, now, self.exact).err()
    }

    /// Returns the number of wanted hits.
    pub(crate) fn limit(&self) -> usize {
        if self.limit == 0 { LIMIT } else { self.limit.min(LIMIT_MAX) }
    }

    /// Returns whether kinds or tags are demanded that passages do not have.
    pub(super) fn is_for_memories(&self, now: Timestamp) -> bool {
        let parsed = expression::parse(&self.text, now, self.exact);
        let must = parsed.map(|parsed| parsed.must).unwrap_or_default();
        self.filters().iter().chain(&must).any(is_of_memories)
    }

    /// The filters beside the text.
    pub(super) fn filters(&self) -> Vec<Node> {
        let one_of = |filters: Vec<Filter>| {
            let nodes: Vec<Node> = filters.into_iter().map(Node::Filter).collect();
            (!nodes.is_empty()).then_some(Node::Any(nodes))
        };
        let span = Span { from: self.since, to: self.until.map(|until| Timestamp(until.0 + 1)) };
        let session =
            self.session.iter().map(|session| Node::Filter(Filter::Session(session.clone())));
        [
            one_of(self.kinds.iter().map(|&kind| Filter::Kind(kind)).collect()),
            one_of(self.tags.iter().cloned().map(Filter::Tag).collect()),
            one_of(self.paths.iter().cloned().map(Filter::Path).collect()),
            one_of(self.sessions.iter().cloned().map(Filter::Session).collect()),
            (span != Span::default()).then_some(Node::Filter(Filter::When(span))),
        ]
        .into_iter()
        .flatten()
        .chain(session)
        .collect()
    }
}

/// Returns whether a condition is about tags, and kinds that no passage is of, alone.
pub(super) fn is_of_memories(node: &Node) -> bool {
    match node {
        Node::Filter(Filter::Kind(kind)) => !KINDS_OF_EVIDENCE.contains(kind),
        Node::Filter(Filter::Tag(_)) => true,
        Node::Word(_) | Node::Phrase(_) | Node::Filter(_) => false,
        Node::Not(node) => is_of_memories(node),
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().all(is_of_memories),
    }
}

/// Kinds that are not of memories alone: an error with its cure is a passage, and the commands that passed in sessions are
/// listed.
const KINDS_OF_EVIDENCE: [Kind; 2] = [Kind::Fix, Kind::Command];
