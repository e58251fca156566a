//! Requests for explicit search.

use crate::query::expression::{self, Filter, Node};
use crate::query::time_expression::Span;
use memory_store_base::kind::Kind;
use memory_store_base::time::Timestamp;

/// Default number of hits.
const LIMIT: usize = 10;
/// Maximum number of hits.
pub(super) const LIMIT_MAX: usize = 1000;

/// Tier of a search.
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
    /// Words, optionally with operators and filters (see the module `expression`); without words the newest are
    /// returned first.
    pub text: String,
    /// True if `-word` in the text excludes and quotes are required: false where the text may be an error message.
    pub exact: bool,
    /// Only these kinds; empty means all.
    pub kinds: Vec<Kind>,
    /// Only memories with one of these tags; empty means all.
    pub tags: Vec<String>,
    /// Only memories of one of these topics or areas; empty means all.
    pub topics: Vec<String>,
    /// Only memories about one of these files; empty means all.
    pub paths: Vec<String>,
    /// Number of hits; 0 means ten.
    pub limit: usize,
    /// Nothing older than this.
    pub since: Option<Timestamp>,
    /// Nothing newer than this.
    pub until: Option<Timestamp>,
    /// Only of this session, by the start or end of its id.
    pub session: Option<String>,
    /// Only of one of these sessions, by their ids; empty means all.
    pub sessions: Vec<String>,
    /// Searched tier.
    pub tier: Tier,
    /// True to include superseded memories.
    pub superseded: bool,
    /// True to exclude held memories: a model receives the hits.
    pub without_held: bool,
    /// Session of the request: its own passages are in its context, and are found only if [`Self::session`] names one.
    pub asked_in: Option<String>,
}

impl Search {
    /// Returns the error in the filters of the text, as a message for the user.
    pub fn problem(&self, now: Timestamp) -> Option<String> {
        expression::parse(&self.text, now, self.exact).err()
    }

    /// Returns the requested number of hits.
    pub(crate) fn limit(&self) -> usize {
        if self.limit == 0 { LIMIT } else { self.limit.min(LIMIT_MAX) }
    }

    /// Returns whether kinds, tags or topics are required that passages do not have.
    pub(super) fn is_for_memories(&self, now: Timestamp) -> bool {
        let parsed = expression::parse(&self.text, now, self.exact);
        let must = parsed.map(|parsed| parsed.must).unwrap_or_default();
        self.filters().iter().chain(&must).any(is_of_memories)
    }

    /// Returns the filters other than the text.
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

/// Kinds that are not limited to memories: an error with its cure is a passage, and the commands that passed in
/// sessions are listed.
const KINDS_OF_EVIDENCE: [Kind; 2] = [Kind::Fix, Kind::Command];
