//! Requests for explicit search.

use crate::query::expression::{self, Filter, Node};
use crate::query::shape::QueryShape;
use crate::query::time_expression::Span;
use memory_store_base::kind::Kind;
use memory_store_base::time::Timestamp;

/// Default number of hits.
const LIMIT: usize = 10;
/// Default number of hits for a question that asks for a list.
const LIST_LIMIT: usize = 30;
/// Maximum number of hits.
pub(super) const LIMIT_MAX: usize = 1000;

/// What a search covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Memories.
    #[default]
    Memories,
    /// Passages of sessions.
    Passages,
    /// The model's thinking in turns, as far as transcripts contain it.
    Thinking,
    /// Memories and passages, with the best of each first.
    Both,
}

/// An explicit search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Search {
    /// Words, optionally with operators and filters (see the module `expression`). Without words, the newest documents
    /// are returned first.
    pub text: String,
    /// True if `-word` in the text excludes documents and quotations are required; false if the text may be an error
    /// message.
    pub exact: bool,
    /// Only memories of one of these kinds; empty means all kinds.
    pub kinds: Vec<Kind>,
    /// Only memories with one of these tags; empty means all memories.
    pub tags: Vec<String>,
    /// Only memories of one of these topics or areas; empty means all.
    pub topics: Vec<String>,
    /// Only memories about one of these files; empty means all.
    pub paths: Vec<String>,
    /// Maximum number of hits; 0 means ten.
    pub limit: usize,
    /// Only documents of this time or later.
    pub since: Option<Timestamp>,
    /// Only documents of this time or earlier.
    pub until: Option<Timestamp>,
    /// Only documents of this session, given by the start or end of its id.
    pub session: Option<String>,
    /// Only documents of one of these sessions, given by their ids; empty means all sessions.
    pub sessions: Vec<String>,
    /// What is searched.
    pub tier: Tier,
    /// True if superseded memories are included.
    pub superseded: bool,
    /// True if withheld memories are excluded, because a model receives the hits.
    pub without_held: bool,
    /// Session in which the search was requested. The session's own passages are already in its context, so they are
    /// found only if [`Self::session`] is set.
    pub asked_in: Option<String>,
}

impl Search {
    /// Returns the error in the filters of the text, as a message for the user; `None` if they are valid.
    pub fn problem(&self, now: Timestamp) -> Option<String> {
        expression::parse(&self.text, now, self.exact).err()
    }

    /// Returns the maximum number of hits, with the default and the upper limit applied.
    pub(crate) fn limit(&self) -> usize {
        match self.limit {
            0 if self.shape(Timestamp(0)) == Some(QueryShape::List) => LIST_LIMIT,
            0 => LIMIT,
            limit => limit.min(LIMIT_MAX),
        }
    }

    /// Returns the shape of the question.
    pub(crate) fn shape(&self, now: Timestamp) -> Option<QueryShape> {
        QueryShape::of(&self.text, now)
    }

    /// Returns whether kinds, tags or topics are required that passages do not have.
    pub(super) fn is_for_memories(&self, now: Timestamp) -> bool {
        let parsed = expression::parse(&self.text, now, self.exact);
        let must = parsed.map(|parsed| parsed.must).unwrap_or_default();
        self.filters().iter().chain(&must).any(is_of_memories)
    }

    /// Returns the filters that are not part of the text.
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
            one_of(self.topics.iter().cloned().map(Filter::Topic).collect()),
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

/// Returns whether a condition contains only tags, topics, scopes, and kinds that passages do not have.
pub(super) fn is_of_memories(node: &Node) -> bool {
    match node {
        Node::Filter(Filter::Kind(kind)) => !KINDS_OF_EVIDENCE.contains(kind),
        Node::Filter(Filter::Tag(_) | Filter::Topic(_) | Filter::Scope(_)) => true,
        Node::Word(_) | Node::Phrase(_) | Node::Filter(_) => false,
        Node::Not(node) => is_of_memories(node),
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().all(is_of_memories),
    }
}

/// Kinds of documents other than memories: an error with its cure may be a passage, and commands that succeeded in
/// sessions are listed.
const KINDS_OF_EVIDENCE: [Kind; 2] = [Kind::Fix, Kind::Command];
