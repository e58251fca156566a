//! A memory: one item of knowledge.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::kind::Kind;
use crate::time::Timestamp;

/// Maximum number of cues of a memory.
pub const CUES_MAX: usize = 4;

/// Maximum number of characters of a cue.
pub const CUE_CHARS_MAX: usize = 80;

/// One memory as stored in its file: YAML front matter, and a Markdown body whose first heading is the title.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Id of the memory.
    pub id: MemoryId,
    /// Kind of the memory.
    pub kind: Kind,
    /// Title, the first heading of the body: one line.
    pub title: String,
    /// The Markdown below the title.
    pub body: String,
    /// Where the memory applies.
    pub scope: Scope,
    /// Time of writing; for a derived memory, the time of its first evidence.
    pub created: Timestamp,
    /// Time of the event that the memory describes.
    pub occurred: Option<Timestamp>,
    /// Start of the memory's validity.
    pub valid_from: Option<Timestamp>,
    /// End of the memory's validity.
    pub valid_until: Option<Timestamp>,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Provenance.
    pub source: Source,
    /// Files that the memory is about.
    pub paths: Vec<PathRef>,
    /// Topic with two levels, `area/topic`.
    pub topic: Option<String>,
    /// Name of the only subagent that receives the memory. People can see the memory in any case.
    pub agent: Option<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// Likely queries for this memory, in other words than its text. They are indexed and never shown to a model
    /// (document expansion: Nogueira et al. 2019, "doc2query").
    pub cues: Vec<String>,
    /// Names that the memory mentions, each in the form of an [`Entity`].
    pub entities: Vec<String>,
    /// The memory's statements as triples.
    pub facts: Vec<Fact>,
    /// Typed links to other memories.
    pub relations: Vec<Relation>,
    /// Checks of tool calls that a person derived from the memory.
    pub guards: Vec<Guard>,
    /// Memories that this one supersedes.
    pub supersedes: Vec<MemoryId>,
    /// Memory that supersedes this one.
    pub superseded_by: Option<MemoryId>,
    /// True if the memory is included in every start block.
    pub pinned: bool,
    /// State in recall.
    pub status: Status,
    /// Reason why the memory is pending ([`Status::Held`]); `None` for any other status, or if no reason is recorded.
    pub held_for: Option<HeldFor>,
    /// Name of the person who wrote the memory.
    pub author: Option<String>,
    /// For a fix: the normalised signatures of the errors that it cures (see `crate::signature`).
    pub signatures: Vec<String>,
    /// For a command: the results of its runs.
    pub command: Option<CommandRecord>,
}

impl Memory {
    /// Returns the time of the event that the memory describes; for a command, that of the last recorded run.
    pub fn when(&self) -> Timestamp {
        let renewed = self.command.as_ref().map(|command| command.last);
        renewed.max(self.occurred).unwrap_or(self.created)
    }

    /// Returns whether the memory's validity has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| until < now)
    }

    /// Returns whether the memory's topic is `named` or below it, ignoring case.
    pub fn is_about_topic(&self, named: &str) -> bool {
        self.topic.as_deref().is_some_and(|topic| is_within_topic(topic, named))
    }

    /// Returns whether a review can accept the memory: it is pending, and no other memory supersedes it.
    pub fn waits(&self) -> bool {
        self.status == Status::Held && self.superseded_by.is_none()
    }

    /// Makes the memory pending, so that it stays out of the repository until `throughline review` accepts it. If it
    /// has a reason already, the reason is kept.
    pub fn hold(&mut self, reason: HeldFor) {
        self.status = Status::Held;
        self.held_for.get_or_insert(reason);
    }

    /// Ends the pending status, so that the memory may be written to the repository.
    pub fn release(&mut self) {
        self.status = Status::Active;
        self.held_for = None;
    }

    /// Returns a memory with these fields; all other fields have their default.
    pub fn new(
        id: MemoryId,
        kind: Kind,
        title: impl Into<String>,
        body: impl Into<String>,
        created: Timestamp,
    ) -> Self {
        Self {
            id,
            kind,
            title: title.into(),
            body: body.into(),
            scope: Scope::default(),
            created,
            occurred: None,
            valid_from: None,
            valid_until: None,
            confidence: 1.0,
            source: Source::default(),
            paths: Vec::new(),
            topic: None,
            agent: None,
            tags: Vec::new(),
            cues: Vec::new(),
            entities: Vec::new(),
            facts: Vec::new(),
            relations: Vec::new(),
            guards: Vec::new(),
            supersedes: Vec::new(),
            superseded_by: None,
            pinned: false,
            status: Status::default(),
            held_for: None,
            author: None,
            signatures: Vec::new(),
            command: None,
        }
    }
}

impl Memory {
    /// Returns the memories that a synthesis was made from; none for other kinds.
    pub fn made_from(&self) -> impl Iterator<Item = MemoryId> {
        let is_synthesis = self.kind == Kind::Synthesis;
        let links =
            self.relations.iter().filter(move |link| is_synthesis && link.kind == SUPPORTED);
        links.map(|link| link.to)
    }
}

/// Kind of a link from a synthesis to a memory that it was made from.
pub const SUPPORTED: &str = "supports";

/// Maximum number of characters of the name of a subagent.
const AGENT_CHARS_MAX: usize = 80;

/// Returns the name of a subagent without white space around it; `None` if the text is no name.
pub fn agent_named(text: &str) -> Option<String> {
    let name = text.trim();
    let is_name = !name.is_empty()
        && name.chars().count() <= AGENT_CHARS_MAX
        && !name.chars().any(char::is_control);
    is_name.then(|| name.to_owned())
}

/// Returns whether a topic, `area/topic`, is `named` or below it, ignoring case.
pub fn is_within_topic(topic: &str, named: &str) -> bool {
    let levels = |text: &str| -> Vec<String> {
        let levels = text.split('/').map(|level| level.trim().to_lowercase());
        levels.filter(|level| !level.is_empty()).collect()
    };
    let named = levels(named);
    !named.is_empty() && levels(topic).starts_with(&named)
}

/// Scope of a memory: where it applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The memory applies everywhere in the project.
    #[default]
    Project,
    /// The memory applies in all projects of this user. Such memories are in the user's own store.
    User,
    /// The memory applies only where [`Memory::paths`] are used.
    Paths,
}

/// State of a memory in recall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The memory is recalled.
    #[default]
    Active,
    /// Pending: the memory is recalled, but stays private until `throughline review` accepts it. Version 0.1.0 wrote
    /// `draft`.
    #[serde(alias = "draft")]
    Held,
    /// A person rejected the memory.
    Rejected,
    /// The memory was archived by `forget`; `restore` reverts this.
    Archived,
}

/// Reason why a memory is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldFor {
    /// The setting `review` makes all new memories pending, the rules found a wish, or a person made the memory pending
    /// again.
    Review,
    /// A part of the memory's text looks like a credential.
    Credential,
    /// Another extractor proposed the memory, for a session whose memories a person owns.
    Proposal,
    /// The memory is from the repository, was written by other people, and is not released.
    Others,
}

impl HeldFor {
    /// The reasons, in the order in which `throughline review` lists them.
    pub const ALL: [Self; 4] = [Self::Credential, Self::Review, Self::Proposal, Self::Others];

    /// Returns the name used in front matter and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Credential => "credential",
            Self::Proposal => "proposal",
            Self::Others => "others",
        }
    }

    /// Returns the reason with a [`Self::name`]; `None` if there is none. Development versions wrote `rule` for
    /// memories that rules extracted from prose; these are pending for review.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "rule" {
            return Some(Self::Review);
        }
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Returns the reason for display, as the rest of a sentence that begins with "held because".
    pub const fn because(self) -> &'static str {
        match self {
            Self::Review => "it waits for your review",
            Self::Credential => "it contains something that looks like a credential",
            Self::Proposal => "another reader proposes it",
            Self::Others => "it came with the repository",
        }
    }
}

/// Provenance of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Id of the Claude Code session.
    pub session: Option<String>,
    /// UUIDs of the transcript records.
    pub turns: Vec<String>,
    /// A verbatim, redacted quote of the evidence.
    pub quote: Option<String>,
    /// Author of the statement.
    pub said_by: Option<SaidBy>,
    /// Program or model that extracted or wrote the memory: `rules/<version>`, `ollama/<model>`, `mcp`, `cli`.
    pub extractor: Option<String>,
}

impl Source {
    /// Name of the rules in `extractor`.
    pub const RULES: &'static str = "rules";

    /// Returns the extractor without the rules' version: `rules`, or a model with its provider. `None` if none is
    /// recorded.
    pub fn reader(&self) -> Option<&str> {
        let extractor = self.extractor.as_deref()?;
        match extractor.split_once('/') {
            Some((Self::RULES, _)) => Some(Self::RULES),
            Some(_) | None => Some(extractor),
        }
    }

    /// First version of the rules that extracts only wishes.
    pub const WISHES_ALONE: u32 = 15;

    /// Returns whether rules extracted the memory.
    pub fn is_of_rules(&self) -> bool {
        self.reader() == Some(Self::RULES)
    }

    /// Returns whether `extractor` is a version of the rules before [`Self::WISHES_ALONE`]. Later versions do not
    /// extract the memories of these versions again.
    pub fn is_retired(extractor: &str) -> bool {
        let Some((Self::RULES, version)) = extractor.split_once('/') else { return false };
        let number = version.split(' ').next().unwrap_or_default();
        number.parse::<u32>().is_ok_and(|number| number < Self::WISHES_ALONE)
    }

    /// Extractor of a memory that a person typed.
    pub const TYPED: &'static str = "cli";

    /// Extractor of a memory that a model saved with the tool `remember`.
    pub const NOTED: &'static str = "mcp";

    /// Returns whether the memory originates in a session: it was extracted from the session, or a model saved it.
    pub fn is_learned(&self) -> bool {
        self.extractor.as_deref().is_some_and(|by| by != Self::TYPED)
    }

    /// Returns whether the memory was extracted from a session, not saved by a person or a model.
    pub fn is_of_reader(&self) -> bool {
        self.is_learned() && self.extractor.as_deref() != Some(Self::NOTED)
    }

    /// Returns whether a model saved the memory on its own initiative, not for the user.
    pub fn is_noted(&self) -> bool {
        self.extractor.as_deref() == Some(Self::NOTED) && self.said_by != Some(SaidBy::User)
    }

    /// Returns whether the user stated the memory or wrote it by hand.
    pub fn is_users(&self) -> bool {
        matches!(self.said_by, None | Some(SaidBy::User))
    }
}

/// Author of a memory's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaidBy {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The output of a tool.
    Tool,
}

/// A file or glob that a memory is about, relative to the repository's root, with `/` as separator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRef {
    /// The path or glob.
    pub path: String,
    /// Content at that time: the first 16 hexadecimal digits of its blake3 hash, or the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// Name of a thing that a memory mentions, with its type if the type is known. It is written like `Redis (service)`;
/// versions without types, and people, read this as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The name.
    pub name: String,
    /// Type of the named thing.
    pub of_type: Option<EntityType>,
}

/// Type of a named thing. There is none for people, because their names are personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntityType {
    /// A part of the project.
    Component,
    /// A process that is queried over a network.
    Service,
    /// Code of others that the project links.
    Library,
    /// A program that people or scripts run.
    Tool,
    /// A file or a folder.
    File,
    /// A function, type or variable.
    Symbol,
    /// A flag, an environment variable or a configuration key.
    Setting,
    /// An idea or a rule with its own name.
    Concept,
}

impl EntityType {
    /// All types, in the order of declaration.
    pub const ALL: [Self; 8] = [
        Self::Component,
        Self::Service,
        Self::Library,
        Self::Tool,
        Self::File,
        Self::Symbol,
        Self::Setting,
        Self::Concept,
    ];

    /// Returns the name used in front matter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Service => "service",
            Self::Library => "library",
            Self::Tool => "tool",
            Self::File => "file",
            Self::Symbol => "symbol",
            Self::Setting => "setting",
            Self::Concept => "concept",
        }
    }

    /// Returns the type with a [`Self::name`], in any case; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

impl Entity {
    /// Parses an entry of [`Memory::entities`]. Parentheses that contain no type are part of the name.
    pub fn read(text: &str) -> Self {
        let (name, of_type) = Self::split(text);
        Self { name: name.to_owned(), of_type }
    }

    /// Splits an entry of [`Memory::entities`] into name and type.
    pub fn split(text: &str) -> (&str, Option<EntityType>) {
        let text = text.trim();
        let typed = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        let typed = typed.and_then(|(name, of_type)| {
            Some((name.trim_end(), EntityType::from_name(of_type)?)).filter(|it| !it.0.is_empty())
        });
        match typed {
            Some((name, of_type)) => (name, Some(of_type)),
            None => (text, None),
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_type {
            Some(of_type) => write!(f, "{} ({})", self.name, of_type.name()),
            None => f.write_str(&self.name),
        }
    }
}

/// A statement as subject, predicate and object, with its period of validity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What the statement is about.
    pub subject: String,
    /// The property or relation.
    pub predicate: String,
    /// The value of the property.
    pub object: String,
    /// Start of the statement's validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// End of the statement's validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Confidence of the statement, 0 to 1; without it, the memory's confidence applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
}

/// Kind of link between two memories that probably cannot both be true.
pub const CONTRADICTS: &str = "contradicts";

/// Kind of a link to a memory that this one replaces; files contain it as [`Memory::supersedes`].
pub const SUPERSEDES: &str = "supersedes";

/// A typed link to another memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The kind of link, for example `explains`.
    pub kind: String,
    /// The other memory.
    pub to: MemoryId,
}

impl Relation {
    /// The kinds that programs write; people and models may use others.
    pub const KINDS: [&str; 6] =
        [SUPERSEDES, CONTRADICTS, "supports", "refines", "caused-by", "part-of"];

    /// Maximum number of characters of a kind.
    pub const KIND_CHARS_MAX: usize = 40;

    /// Returns a kind in its normal form, words in lower case joined by hyphens; `None` if the text is no kind.
    pub fn kind_named(text: &str) -> Option<String> {
        let words = text.split(|c: char| c.is_whitespace() || c == '_' || c == '-');
        let words: Vec<String> =
            words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        let kind = words.join("-");
        let is_kind = !kind.is_empty()
            && kind.chars().count() <= Self::KIND_CHARS_MAX
            && kind.chars().all(|c| c.is_alphanumeric() || c == '-');
        is_kind.then(|| if kind == "replaces" { SUPERSEDES.to_owned() } else { kind })
    }
}

/// A check of tool calls. It applies to calls that meet all of its conditions, of which at least one is present.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// Effect on a call.
    pub action: GuardAction,
    /// Pattern of a command: its program, its subcommands in order, and its options in any order, with `*` and `?`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Glob of the path of a file that is written, relative to the root, with `/` as separator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Words in the text that is written to a file, with `*` for any characters in the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Glob of the name of the checked-out branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Effect of a guard on a tool call, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardAction {
    /// The model gets the memory with the result of the call.
    Warn,
    /// The first such call of a session is denied with the memory as the reason; the same call passes when repeated.
    Pause,
    /// The user is asked for permission.
    Ask,
    /// The call is denied.
    Deny,
}

impl GuardAction {
    /// All actions, in the order of declaration.
    pub const ALL: [Self; 4] = [Self::Warn, Self::Pause, Self::Ask, Self::Deny];

    /// Returns the name used in front matter and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Pause => "pause",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the action with a [`Self::name`]; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

impl Guard {
    /// Maximum number of guards of a memory.
    pub const COUNT_MAX: usize = 20;

    /// Maximum number of bytes of a condition.
    pub const CONDITION_BYTES_MAX: usize = 200;

    /// Returns the conditions in the order of declaration, `""` for a missing one.
    pub fn conditions(&self) -> [&str; 4] {
        [&self.command, &self.path, &self.content, &self.branch]
            .map(|condition| condition.as_deref().unwrap_or_default())
    }

    /// Returns the reason why the guard is not valid; `None` if it is.
    pub fn fault(&self) -> Option<&'static str> {
        let [command, path, content, _] = self.conditions();
        if [command, path, content].iter().all(|condition| condition.is_empty()) {
            return Some("a guard needs `command`, `path` or `content`");
        }
        if !(command.is_empty() || path.is_empty() && content.is_empty()) {
            return Some("`command` is for shell commands, `path` and `content` are for edits");
        }
        let is_long = |condition: &&str| condition.len() > Self::CONDITION_BYTES_MAX;
        if self.conditions().iter().any(is_long) {
            return Some("a condition is longer than 200 bytes");
        }
        let has_control = |condition: &&str| condition.chars().any(char::is_control);
        if self.conditions().iter().any(has_control) {
            return Some("a condition contains a tab, a line break or another control character");
        }
        let first = command.split_whitespace().next().unwrap_or_default();
        if command.contains(['|', ';', '&', '<', '>', '(', ')', '$', '"', '\'', '`', '\\'])
            || first.contains('=')
        {
            return Some("`command` must be one command without quotes, variables and operators");
        }
        let is_any = !command.is_empty() && first.bytes().all(|b| matches!(b, b'*' | b'?'));
        is_any.then_some("`command` must begin with the name of a program")
    }
}

impl fmt::Display for Guard {
    /// Writes the guard as the options of `throughline guard add`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--action {}", self.action.name())?;
        for (name, value) in ["command", "path", "content", "branch"].iter().zip(self.conditions())
        {
            if !value.is_empty() {
                write!(f, " --{name} '{}'", value.replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}

/// Result of running a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The normalised command line.
    pub line: String,
    /// The working directory, relative to the root (`.` is the root).
    pub directory: String,
    /// Exit status. It is 0 in learned memories, which count only successful runs.
    pub exit_status: i32,
    /// Number of successful runs. In a memory it is rounded down to a power of two, so that the file does not change
    /// with each run.
    pub passed: u32,
    /// Time of the first success in a session; in a memory, in the session with which the count reached `passed`.
    pub last: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_relation_has_one_form() {
        for (text, kind) in [
            ("Caused by", Some("caused-by")),
            ("part_of", Some("part-of")),
            ("replaces", Some("supersedes")),
            ("gehört-zu", Some("gehört-zu")),
            ("", None),
            ("a: b", None),
        ] {
            assert_eq!(Relation::kind_named(text).as_deref(), kind, "{text}");
        }
        assert_eq!(Relation::kind_named(&"x".repeat(41)), None);
    }

    #[test]
    fn an_entity_is_read_as_it_is_written() {
        for (text, name, of_type) in [
            ("Redis (service)", "Redis", Some(EntityType::Service)),
            ("close(2) (symbol)", "close(2)", Some(EntityType::Symbol)),
            ("Redis (the old one)", "Redis (the old one)", None),
            ("(tool)", "(tool)", None),
            ("注文台帳 (component)", "注文台帳", Some(EntityType::Component)),
        ] {
            let entity = Entity { name: name.to_owned(), of_type };
            assert_eq!((Entity::read(text), entity.to_string().as_str()), (entity.clone(), text));
        }
        assert_eq!(Entity::read(" Redis (SERVICE) ").to_string(), "Redis (service)");
    }
}
