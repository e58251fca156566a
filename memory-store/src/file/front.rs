//! Conversion of a memory to front matter: the program's keys, their order, and the omission of defaults.

use serde::{Serialize, Serializer};

use super::yaml::{self, Style};
use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::{
    CommandRecord, Fact, Guard, HeldFor, Memory, PathRef, Relation, SaidBy, Scope, Source, Status,
};
use crate::time::Timestamp;

/// Our keys, in the order of writing.
pub(super) const KEYS: [&str; 26] = [
    "id",
    "kind",
    "scope",
    "status",
    "held_for",
    "pinned",
    "created",
    "occurred",
    "valid_from",
    "valid_until",
    "confidence",
    "topic",
    "agent",
    "tags",
    "paths",
    "cues",
    "entities",
    "signatures",
    "command",
    "facts",
    "relations",
    "guard",
    "supersedes",
    "superseded_by",
    "author",
    "source",
];

/// Returns the program's keys inside the value of one of [`KEYS`], or inside each entry of the value.
pub(super) fn keys_inside(key: &str) -> &'static [&'static str] {
    match key {
        "source" => &["session", "turns", "said_by", "quote", "extractor"],
        "command" => &["line", "directory", "exit_status", "passed", "last"],
        "paths" => &["path", "seen"],
        "facts" => &["subject", "predicate", "object", "from", "to", "confidence"],
        "relations" => &["kind", "to"],
        "guard" => &["action", "command", "path", "content", "branch"],
        _ => &[],
    }
}

/// Returns the front matter of a memory, without fields that have their default value.
pub(super) fn write(memory: &Memory, style: Style) -> Result<String, String> {
    yaml::write(&Front(memory), style)
}

#[derive(Serialize)]
struct Front<'a>(#[serde(with = "MemoryFront")] &'a Memory);

/// The fields of a memory in front matter, in the order of [`KEYS`].
#[derive(Serialize)]
#[serde(remote = "Memory")]
struct MemoryFront {
    id: MemoryId,
    kind: Kind,
    #[serde(skip_serializing_if = "is_default")]
    scope: Scope,
    #[serde(skip_serializing_if = "is_default")]
    status: Status,
    #[serde(skip_serializing_if = "is_default")]
    held_for: Option<HeldFor>,
    #[serde(skip_serializing_if = "is_default")]
    pinned: bool,
    created: Timestamp,
    #[serde(skip_serializing_if = "is_default")]
    occurred: Option<Timestamp>,
    #[serde(skip_serializing_if = "is_default")]
    valid_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "is_default")]
    valid_until: Option<Timestamp>,
    confidence: f32,
    #[serde(skip_serializing_if = "is_default")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "is_default", serialize_with = "paths")]
    paths: Vec<PathRef>,
    #[serde(skip_serializing_if = "is_default")]
    cues: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    entities: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    signatures: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    command: Option<CommandRecord>,
    #[serde(skip_serializing_if = "is_default")]
    facts: Vec<Fact>,
    #[serde(skip_serializing_if = "is_default")]
    relations: Vec<Relation>,
    #[serde(rename = "guard", skip_serializing_if = "is_default")]
    guards: Vec<Guard>,
    #[serde(skip_serializing_if = "is_default")]
    supersedes: Vec<MemoryId>,
    #[serde(skip_serializing_if = "is_default")]
    superseded_by: Option<MemoryId>,
    #[serde(skip_serializing_if = "is_default")]
    author: Option<String>,
    #[serde(skip_serializing_if = "is_default", with = "SourceFront")]
    source: Source,
}

#[derive(Serialize)]
#[serde(remote = "Source")]
struct SourceFront {
    #[serde(skip_serializing_if = "is_default")]
    session: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    turns: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    said_by: Option<SaidBy>,
    #[serde(skip_serializing_if = "is_default")]
    quote: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    extractor: Option<String>,
}

fn paths<S: Serializer>(paths: &[PathRef], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(PathFront))
}

/// A path, written as plain text unless it has further fields.
struct PathFront<'a>(&'a PathRef);

impl Serialize for PathFront<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.seen {
            None => serializer.serialize_str(&self.0.path),
            Some(_) => self.0.serialize(serializer),
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
