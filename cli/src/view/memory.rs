//! Formats memories for people and scripts.

use std::io::Write;
use std::path::Path;

use memory_store::ledger::Tombstone;
use memory_store::memory::{
    CommandRecord, Fact, Guard, HeldFor, Memory, PathRef, Relation, Scope, Source, Status,
};
use memory_store::neighbour::CONTRADICTS;
use memory_store::recall::start_rank::Age;
use memory_store::staleness::Staleness;
use memory_store::store::Stored;
use memory_store::uses::{Experience, Use};
use memory_store::{Kind, MemoryId, Timestamp};
use serde::{Serialize, Serializer};

use super::clock;
use super::plural;
use super::printable::plain;
use super::style::{NAME, QUIET, STRONG, paint};
use crate::failure::Result;
use crate::knowledge::{FactView, StateThen};

/// A memory, as printed by `--json`.
#[derive(Serialize)]
pub struct MemoryView<'a> {
    id: MemoryId,
    short: String,
    #[serde(flatten, with = "MemoryFields")]
    memory: &'a Memory,
    file: &'a Path,
    /// Whether the memory is withheld; `throughline review --json` contains the reason.
    held: bool,
    /// Whether the memory was neither learned, written nor released on this machine.
    from_repository: bool,
    /// Evidence that the memory is stale; only available if the index was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    /// `aging` or `stale`, if the index was read and the memory is not fresh.
    #[serde(skip_serializing_if = "Option::is_none")]
    age: Option<&'static str>,
    /// Its use by sessions, if this was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    uses: Option<UseView>,
    /// Whether it was in force at the time of `--as-of`.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_force: Option<bool>,
    /// Facts of the memory that newer facts of other memories ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ended_facts: Vec<FactView>,
}

/// Use of a memory, as printed by `--json`.
#[derive(Serialize)]
struct UseView {
    given: u32,
    used: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    helped: u32,
    did_not_help: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<Timestamp>,
}

impl From<&Experience> for UseView {
    fn from(of: &Experience) -> Self {
        let (helped, did_not_help) = of.helped;
        let Use { given, used, last: last_used } = of.used;
        Self { given, used, last_used, helped, did_not_help, confirmed: of.confirmed }
    }
}

/// Describes the use of a memory in words; empty if nothing is known.
pub fn uses(of: &Experience) -> String {
    let Experience { used, helped: (yes, no), confirmed, .. } = *of;
    let dated = |word: &str, at: Option<Timestamp>| {
        at.map(|at| format!("{word} {}", clock::date(at))).unwrap_or_default()
    };
    let counted = |count: u32, words: &str| match count {
        0 => String::new(),
        count => format!("{words} {}", plural(count as usize, "time")),
    };
    let parts = [
        counted(used.given, "given"),
        counted(used.used, "used"),
        dated("last used", used.last),
        counted(yes, "helped"),
        counted(no, "did not help"),
        dated("confirmed", confirmed),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A memory that was removed and is not learned again, as printed by `--json`.
#[derive(Serialize)]
pub struct ForgottenView<'a> {
    short: String,
    #[serde(flatten)]
    tombstone: &'a Tombstone,
}

impl<'a> From<&'a Tombstone> for ForgottenView<'a> {
    fn from(tombstone: &'a Tombstone) -> Self {
        Self { short: tombstone.id.short(), tombstone }
    }
}

/// The fields of a memory that follow its id, in the order of printing.
#[derive(Serialize)]
#[serde(remote = "Memory")]
struct MemoryFields {
    kind: Kind,
    title: String,
    body: String,
    scope: Scope,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_for: Option<HeldFor>,
    pinned: bool,
    created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<Timestamp>,
    confidence: f32,
    tags: Vec<String>,
    #[serde(serialize_with = "names")]
    paths: Vec<PathRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cues: Vec<String>,
    entities: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<Fact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relations: Vec<Relation>,
    #[serde(rename = "guard", skip_serializing_if = "Vec::is_empty")]
    guards: Vec<Guard>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    supersedes: Vec<MemoryId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<MemoryId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    signatures: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<CommandRecord>,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

fn names<S: Serializer>(paths: &[PathRef], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| &path.path))
}

impl MemoryView<'_> {
    /// Sets whether the memory is from the repository.
    pub fn labelled(self, from_repository: bool) -> Self {
        Self { from_repository, ..self }
    }

    /// Adds the evidence that the memory is stale, if there is any.
    pub fn stale(self, staleness: Option<&Staleness>) -> Self {
        Self { stale: staleness.map(ToString::to_string), ..self }
    }

    /// Adds its age.
    pub fn aged(self, age: Age) -> Self {
        Self { age: (age != Age::Fresh).then(|| age.name()), ..self }
    }

    /// Adds its use by sessions.
    pub fn used(self, of: &Experience) -> Self {
        Self { uses: (*of != Experience::default()).then(|| of.into()), ..self }
    }

    /// Adds its state at a time.
    pub fn then(self, state: Option<&StateThen>) -> Self {
        let Some(StateThen { in_force, ended, .. }) = state else { return self };
        Self { in_force: *in_force, ended_facts: ended.clone(), ..self }
    }

    /// Sets whether the memory is withheld.
    pub fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }
}

impl<'a> From<&'a Stored> for MemoryView<'a> {
    fn from(stored: &'a Stored) -> Self {
        let Stored { path: file, memory, .. } = stored;
        let (id, short) = (memory.id, memory.id.short());
        Self {
            id,
            short,
            memory,
            file,
            held: false,
            from_repository: false,
            stale: None,
            age: None,
            uses: None,
            in_force: None,
            ended_facts: Vec::new(),
        }
    }
}

/// Returns the time of the event that the memory describes, or else the time of its creation.
pub fn date(memory: &Memory) -> Timestamp {
    memory.occurred.unwrap_or(memory.created)
}

/// Mark after the title of a pending memory.
pub const WAITS: &str = " [pending]";

/// Prints one line about a memory.
pub fn line(memory: &Memory, out: &mut dyn Write) -> Result {
    marked_line(memory, "", out)
}

/// Prints one line about a memory, with an additional mark.
pub fn marked_line(memory: &Memory, mark: &str, out: &mut dyn Write) -> Result {
    let mut marks = mark.to_owned();
    if memory.pinned {
        marks.push_str(" [pinned]");
    }
    match memory.status {
        Status::Active => {}
        Status::Held => marks.push_str(WAITS),
        Status::Rejected => marks.push_str(" [rejected]"),
        Status::Archived => marks.push_str(" [archived]"),
    }
    Ok(writeln!(
        out,
        "{}  {}  {:<15} {}{}",
        paint(NAME, memory.id.short()),
        paint(QUIET, clock::date(date(memory))),
        memory.kind.name(),
        plain(&memory.title),
        paint(QUIET, marks),
    )?)
}

/// Prints a whole memory.
pub fn whole(stored: &Stored, out: &mut dyn Write) -> Result {
    let memory = &stored.memory;
    writeln!(out, "{}", paint(STRONG, plain(&memory.title)))?;
    if !memory.body.trim().is_empty() {
        writeln!(out, "\n{}", plain(memory.body.trim_end()))?;
    }
    writeln!(out)?;
    let mut field = |name: &str, value: String| -> Result {
        if !value.is_empty() {
            // The lines are joined, since only the first of several would be beside the name.
            let value = value.lines().filter(|line| !line.trim().is_empty());
            let value = value.map(str::trim).collect::<Vec<_>>().join(" ");
            writeln!(out, "{} {}", paint(QUIET, format_args!("{name:<11}")), plain(&value))?;
        }
        Ok(())
    };
    field("id", format!("{} ({})", memory.id, memory.id.short()))?;
    field("kind", memory.kind.name().to_owned())?;
    field("status", status(memory))?;
    field("date", clock::time(date(memory)))?;
    field("confidence", format!("{:.2}", memory.confidence))?;
    field("topic", memory.topic.clone().unwrap_or_default())?;
    field("agent", memory.agent.clone().unwrap_or_default())?;
    field("tags", memory.tags.join(", "))?;
    field("names", memory.entities.join(", "))?;
    for fact in &memory.facts {
        field("fact", statement(fact))?;
    }
    let paths: Vec<&str> = memory.paths.iter().map(|path| path.path.as_str()).collect();
    field("paths", paths.join(", "))?;
    field("said", memory.source.quote.clone().unwrap_or_default())?;
    field("session", memory.source.session.clone().unwrap_or_default())?;
    field("learned by", memory.source.extractor.clone().unwrap_or_default())?;
    let replaces: Vec<String> = memory.supersedes.iter().map(|id| id.short()).collect();
    field("replaces", replaces.join(", "))?;
    let replaced = memory.superseded_by.map(MemoryId::short).unwrap_or_default();
    field("replaced by", replaced)?;
    let contradicts = memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
    let contradicts: Vec<String> = contradicts.map(|link| link.to.short()).collect();
    field("differs from", contradicts.join(", "))?;
    for link in memory.relations.iter().filter(|link| link.kind != CONTRADICTS) {
        field(&link.kind, link.to.short())?;
    }
    for guard in &memory.guards {
        field("guard", guard.to_string())?;
    }
    field("file", stored.path.display().to_string())
}

/// Formats a fact as one line, with its first and last day.
fn statement(fact: &Fact) -> String {
    let Fact { subject, predicate, object, from, to, confidence: _ } = fact;
    let day = |word: &str, at: Option<Timestamp>| {
        at.map(|at| format!(", {word} {}", at.date())).unwrap_or_default()
    };
    format!("{subject} | {predicate} | {object}{}{}", day("since", *from), day("until", *to))
}

fn status(memory: &Memory) -> String {
    let status = match (memory.status, memory.pinned) {
        (Status::Active, true) => "active, pinned",
        (Status::Active, false) => "active",
        (Status::Held, _) => return held(memory),
        (Status::Rejected, _) => "rejected",
        (Status::Archived, _) => "archived; `throughline restore` restores it",
    };
    status.to_owned()
}

/// Returns a sentence that explains why a memory is pending.
pub fn held(memory: &Memory) -> String {
    match memory.held_for {
        Some(reason) => format!("held, because {}", reason.because()),
        None => "held for review".to_owned(),
    }
}

/// Returns a sentence that explains why a memory may be stale.
pub fn why_stale(staleness: &Staleness) -> String {
    format!("may be true no longer: {}", plain(&staleness.to_string()))
}
