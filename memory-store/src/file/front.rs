//! From a memory to front matter: which keys are ours, in which order, and what is left out.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::yaml::{self, Style};
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::{
    CommandRecord, Fact, Memory, PathRef, Relation, SaidBy, Scope, Source, Status,
};
use crate::time::Timestamp;

/// The keys we own, in the order they are written.
pub(super) const KEYS: [&str; 23] = [
    "id",
    "kind",
    "scope",
    "status",
    "pinned",
    "created",
    "occurred",
    "valid_from",
    "valid_until",
    "confidence",
    "topic",
    "tags",
    "paths",
    "cues",
    "entities",
    "signatures",
    "command",
    "facts",
    "relations",
    "supersedes",
    "superseded_by",
    "author",
    "source",
];

/// The keys we own inside the value of one of [`KEYS`], or inside each of its entries.
pub(super) fn keys_inside(key: &str) -> &'static [&'static str] {
    match key {
        "source" => &["session", "turns", "said_by", "quote", "extractor"],
        "command" => &["line", "directory", "exit_status", "passed", "last"],
        "paths" => &["path", "seen"],
        "facts" => &["subject", "predicate", "object", "from", "to"],
        "relations" => &["kind", "to"],
        _ => &[],
    }
}

/// Writes the front matter of a memory; what has its default is left out.
pub(super) fn write(memory: &Memory, style: Style) -> Result<String, String> {
    yaml::write(&Front::of(memory), style)
}

#[derive(Serialize)]
struct Front<'a> {
    id: MemoryId,
    kind: Kind,
    #[serde(skip_serializing_if = "is_default")]
    scope: Scope,
    #[serde(skip_serializing_if = "is_default")]
    status: Status,
    #[serde(skip_serializing_if = "is_default")]
    pinned: bool,
    created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<Timestamp>,
    confidence: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathFront<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cues: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entities: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    signatures: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a CommandRecord>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    facts: &'a [Fact],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    relations: &'a [Relation],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    supersedes: &'a [MemoryId],
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<MemoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a str>,
    #[serde(skip_serializing_if = "SourceFront::is_empty")]
    source: SourceFront<'a>,
}

impl<'a> Front<'a> {
    fn of(memory: &'a Memory) -> Self {
        Self {
            id: memory.id,
            kind: memory.kind,
            scope: memory.scope,
            status: memory.status,
            pinned: memory.pinned,
            created: memory.created,
            occurred: memory.occurred,
            valid_from: memory.valid_from,
            valid_until: memory.valid_until,
            confidence: memory.confidence,
            topic: memory.topic.as_deref(),
            tags: &memory.tags,
            paths: memory.paths.iter().map(PathFront).collect(),
            cues: &memory.cues,
            entities: &memory.entities,
            signatures: &memory.signatures,
            command: memory.command.as_ref(),
            facts: &memory.facts,
            relations: &memory.relations,
            supersedes: &memory.supersedes,
            superseded_by: memory.superseded_by,
            author: memory.author.as_deref(),
            source: SourceFront::of(&memory.source),
        }
    }
}

/// A path is a plain text unless there is more to say about it.
struct PathFront<'a>(&'a PathRef);

impl Serialize for PathFront<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.seen {
            None => serializer.serialize_str(&self.0.path),
            Some(_) => self.0.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct SourceFront<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    turns: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    said_by: Option<SaidBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extractor: Option<&'a str>,
}

impl<'a> SourceFront<'a> {
    fn of(source: &'a Source) -> Self {
        Self {
            session: source.session.as_deref(),
            turns: &source.turns,
            said_by: source.said_by,
            quote: source.quote.as_deref().map(Cow::Borrowed),
            extractor: source.extractor.as_deref(),
        }
    }

    fn is_empty(&self) -> bool {
        self.session.is_none()
            && self.turns.is_empty()
            && self.said_by.is_none()
            && self.quote.is_none()
            && self.extractor.is_none()
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
