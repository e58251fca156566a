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

/// One memory, as stored in its file: YAML front matter and a Markdown body whose first heading is the title.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Id.
    pub id: MemoryId,
    /// Kind of its statement.
    pub kind: Kind,
    /// The first heading of the body: one line.
    pub title: String,
    /// The Markdown below the title.
    pub body: String,
    /// Scope.
    pub scope: Scope,
    /// Time of writing; of a derived memory, the time of its first evidence.
    pub created: Timestamp,
    /// Time of the event that it describes.
    pub occurred: Option<Timestamp>,
    /// Start of its validity.
    pub valid_from: Option<Timestamp>,
    /// End of its validity.
    pub valid_until: Option<Timestamp>,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Provenance.
    pub source: Source,
    /// Files that it is about.
    pub paths: Vec<PathRef>,
    /// Two levels, `area/topic`.
    pub topic: Option<String>,
    /// Name of the subagent that alone is given it; people see it in any case.
    pub agent: Option<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// Likely queries for it, in other words than its own. They are indexed and never shown to a model (document
    /// expansion: Nogueira et al. 2019, "doc2query").
    pub cues: Vec<String>,
    /// Names that it mentions, each in the form of an [`Entity`].
    pub entities: Vec<String>,
    /// Its statements as triples.
    pub facts: Vec<Fact>,
    /// Typed links to other memories.
    pub relations: Vec<Relation>,
    /// Memories that this one supersedes.
    pub supersedes: Vec<MemoryId>,
    /// Memory that supersedes this one.
    pub superseded_by: Option<MemoryId>,
    /// Included in every start block.
    pub pinned: bool,
    /// State in recall.
    pub status: Status,
    /// Reason why it is [`Status::Held`]; `None` for any other status, or without a recorded reason.
    pub held_for: Option<HeldFor>,
    /// Name of the writer.
    pub author: Option<String>,
    /// Of a fix: the normalised signatures of the errors that it cures (see `crate::signature`).
    pub signatures: Vec<String>,
    /// Of a command: the result of its runs.
    pub command: Option<CommandRecord>,
}

impl Memory {
    /// Returns the time of the event that it describes; of a command, the last recorded run.
    pub fn when(&self) -> Timestamp {
        let renewed = self.command.as_ref().map(|command| command.last);
        renewed.max(self.occurred).unwrap_or(self.created)
    }

    /// Returns whether its validity has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.valid_until.is_some_and(|until| until < now)
    }

    /// Returns whether its topic is the named one or below it, in any case.
    pub fn is_about_topic(&self, named: &str) -> bool {
        self.topic.as_deref().is_some_and(|topic| is_within_topic(topic, named))
    }

    /// Returns whether a review may accept it: it is held, and not superseded.
    pub fn waits(&self) -> bool {
        self.status == Status::Held && self.superseded_by.is_none()
    }

    /// Keeps it out of the repository until `throughline review` accepts it. An existing reason stays.
    pub fn hold(&mut self, reason: HeldFor) {
        self.status = Status::Held;
        self.held_for.get_or_insert(reason);
    }

    /// Permits it in the repository.
    pub fn release(&mut self) {
        self.status = Status::Active;
        self.held_for = None;
    }

    /// Returns a memory with these fields; all others have their default.
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

/// Returns whether a topic, `area/topic`, is the named one or below it, in any case.
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
    /// Everywhere in the project.
    #[default]
    Project,
    /// In every project of this user; such memories are in the user's own store.
    User,
    /// Only where [`Memory::paths`] are touched.
    Paths,
}

/// State of a memory in recall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is recalled.
    #[default]
    Active,
    /// It is recalled, but stays private until `throughline review` accepts it. Version 0.1.0 wrote `draft`.
    #[serde(alias = "draft")]
    Held,
    /// A person rejected it.
    Rejected,
    /// Archived by `forget`; `restore` reverts that.
    Archived,
}

/// Reason why a memory is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldFor {
    /// The setting `review` holds every new memory, rules found a standing wish, or a person put it back to held.
    Review,
    /// Part of its text looks like a credential.
    Credential,
    /// A proposal by another extractor, about a session whose memories a person owns.
    Proposal,
    /// It is from the repository, written by other people, and not released.
    Others,
}

impl HeldFor {
    /// The reasons, in the order in which `throughline review` lists them.
    pub const ALL: [Self; 4] = [Self::Credential, Self::Review, Self::Proposal, Self::Others];

    /// Returns the name in front matter and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Credential => "credential",
            Self::Proposal => "proposal",
            Self::Others => "others",
        }
    }

    /// Parses a [`Self::name`]. Development versions wrote `rule` for memories by rules over prose, which are pending
    /// review.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "rule" {
            return Some(Self::Review);
        }
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Returns the reason for a person, as the rest of a sentence that begins with "held because".
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
    /// The Claude Code session.
    pub session: Option<String>,
    /// The transcript records, by uuid.
    pub turns: Vec<String>,
    /// A verbatim, redacted quote of the evidence.
    pub quote: Option<String>,
    /// Author of the statement.
    pub said_by: Option<SaidBy>,
    /// Extractor: `rules/<version>`, `ollama/<model>`, `mcp`, `cli`.
    pub extractor: Option<String>,
}

impl Source {
    /// Name of the rules as an extractor.
    pub const RULES: &'static str = "rules";

    /// Returns the extractor without its version: `rules`, or a model with its provider.
    pub fn reader(&self) -> Option<&str> {
        let extractor = self.extractor.as_deref()?;
        match extractor.split_once('/') {
            Some((Self::RULES, _)) => Some(Self::RULES),
            Some(_) | None => Some(extractor),
        }
    }

    /// First version of the rules that extracts only standing wishes.
    pub const WISHES_ALONE: u32 = 15;

    /// Returns whether rules extracted it.
    pub fn is_of_rules(&self) -> bool {
        self.reader() == Some(Self::RULES)
    }

    /// Returns whether `extractor` is a version of the rules before [`Self::WISHES_ALONE`]: no later one extracts their
    /// memories again.
    pub fn is_retired(extractor: &str) -> bool {
        let Some((Self::RULES, version)) = extractor.split_once('/') else { return false };
        let number = version.split(' ').next().unwrap_or_default();
        number.parse::<u32>().is_ok_and(|number| number < Self::WISHES_ALONE)
    }

    /// Extractor of a memory that a person typed.
    pub const TYPED: &'static str = "cli";

    /// Extractor of a memory that a model saved with the tool `remember`.
    pub const NOTED: &'static str = "mcp";

    /// Returns whether it originates in a session: extracted from it, or noted by a model.
    pub fn is_learned(&self) -> bool {
        self.extractor.as_deref().is_some_and(|by| by != Self::TYPED)
    }

    /// Returns whether it was extracted from a session, rather than saved by a person or a model.
    pub fn is_of_reader(&self) -> bool {
        self.is_learned() && self.extractor.as_deref() != Some(Self::NOTED)
    }

    /// Returns whether a model noted it on its own initiative, not for the user.
    pub fn is_noted(&self) -> bool {
        self.extractor.as_deref() == Some(Self::NOTED) && self.said_by != Some(SaidBy::User)
    }

    /// Returns whether the user stated it, or wrote it by hand.
    pub fn is_users(&self) -> bool {
        matches!(self.said_by, None | Some(SaidBy::User))
    }
}

/// Author of a memory's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaidBy {
    /// The person at the keyboard.
    User,
    /// The model.
    Assistant,
    /// A tool's output.
    Tool,
}

/// A file or glob that a memory is about, relative to the repository's root, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRef {
    /// The path or glob.
    pub path: String,
    /// blake3 (first 16 hexadecimal digits) or commit of its content at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// Name of a thing that a memory mentions, with its type if known. It is written as `Redis (service)`, which versions
/// without types and people read as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The name.
    pub name: String,
    /// Its type.
    pub of_type: Option<EntityType>,
}

/// Type of a named thing. People are excluded: their names are personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntityType {
    /// A part of the project.
    Component,
    /// A process that is queried over a network.
    Service,
    /// Foreign code that the project links.
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
    /// All types.
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

    /// Returns the name in front matter.
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

    /// Parses a [`Self::name`], in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

impl Entity {
    /// Parses an entry of [`Memory::entities`]. Parentheses without a type are part of the name.
    pub fn read(text: &str) -> Self {
        let text = text.trim();
        let typed = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        let typed = typed.and_then(|(name, of_type)| {
            Some((name.trim_end(), EntityType::from_name(of_type)?)).filter(|it| !it.0.is_empty())
        });
        match typed {
            Some((name, of_type)) => Self { name: name.to_owned(), of_type: Some(of_type) },
            None => Self { name: text.to_owned(), of_type: None },
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

/// A statement with its period of validity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The subject.
    pub subject: String,
    /// The property.
    pub predicate: String,
    /// Its value.
    pub object: String,
    /// Start of validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// End of validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Its own confidence, 0 to 1; without one, that of its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
}

/// Kind of a link to a memory that probably cannot be true together with this one.
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

/// Result of running a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The normalised command line.
    pub line: String,
    /// The working directory, relative to the root (`.` is the root).
    pub directory: String,
    /// Its exit status: 0 in learned memories, which count only successful runs.
    pub exit_status: i32,
    /// Number of successful runs. In a memory, rounded down to a power of two, so that its file does not change with
    /// each run.
    pub passed: u32,
    /// First success in a session; in a memory, in the session that reached that number.
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
