//! Effective settings: the defaults, overridden by the user's file and the repository's file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::file_stamp::Stamp;
use crate::kind::Kind;

/// The effective settings. The processor compiles them into the index's manifest, so that a hook never parses TOML.
/// Unknown keys are ignored, missing ones have their default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Budget of the session-start block, in tokens (a token is counted as four characters).
    pub start_tokens: u32,
    /// Budget of the injection with a prompt, in tokens.
    pub prompt_tokens: u32,
    /// Maximum number of memories for a prompt.
    pub prompt_memories: u32,
    /// Budget of the injection after a tool call, in tokens.
    pub tool_tokens: u32,
    /// Maximum number of memories for a touched file or a failed command.
    pub tool_memories: u32,
    /// Permitted share of prompts that get an injection although no memory answers them.
    pub alpha: f32,
    /// Minutes between two background runs that are started at the end of a turn.
    pub due_minutes: u32,
    /// Notice to a person about an injection.
    pub notice: Notice,
    /// True if every new memory is held until `throughline review` accepts it.
    pub review: bool,
    /// Rule for memories from the repository.
    #[serde(skip_serializing_if = "Pulled::is_all")]
    pub pulled: Pulled,
    /// Days that archived turns are kept.
    pub retention_days: u32,
    /// Maximum size of the archive of one project.
    pub archive_bytes_max: u64,
    /// Files that are never archived or mined, as globs relative to the root.
    pub ignore_paths: Vec<String>,
    /// The kinds to keep; empty means all.
    pub kinds: Vec<Kind>,
    /// Half-lives in days that differ from those of [`Kind::half_life_days`].
    pub half_life_days: BTreeMap<Kind, u32>,
    /// Settings of the index.
    pub index: IndexSettings,
    /// Redaction besides secrets, and exceptions from it.
    #[serde(skip_serializing_if = "RedactSettings::is_default")]
    pub redact: RedactSettings,
    /// Names, facts and connections.
    #[serde(skip_serializing_if = "KnowledgeSettings::is_default")]
    pub knowledge: KnowledgeSettings,
    /// The language model for extraction besides the rules, if any.
    pub llm: Option<Llm>,
    /// The model for vectors of a second space, if any; it runs in Ollama.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<Embedder>,
    /// The model that finds names of people to be redacted, if any; it runs in Ollama on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<NameFinder>,
    /// True if `ignore_paths` could not be parsed, so that the excluded files are unknown.
    #[serde(skip)]
    pub ignores_unknown: bool,
    /// Stamp of the user's settings file when the index was published, to detect a later change without reading it. It
    /// is not a key of settings files.
    #[serde(skip)]
    pub config: Option<Stamp>,
}

impl Settings {
    /// Returns the half-life of the ranking weight of memories of this kind, in days since their last renewal.
    pub fn half_life_days(&self, kind: Kind) -> u32 {
        self.half_life_days.get(&kind).copied().unwrap_or_else(|| kind.half_life_days())
    }
}

/// Settings of redaction in the notation of the file; `redact::RedactOptions` is the parsed form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedactSettings {
    /// Values that resemble secrets but are none.
    pub harmless: Vec<String>,
    /// Regular expressions for text that is never stored.
    pub deny: Vec<String>,
    /// Policies for classes of personal data in files that only this user reads.
    pub private: BTreeMap<String, String>,
    /// Policies for classes of personal data in committed files.
    pub committed: BTreeMap<String, String>,
    /// The first invalid part, with its file. The rest is in effect.
    #[serde(skip)]
    pub broken: Option<(PathBuf, String)>,
}

impl RedactSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings of names, facts and connections between memories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeSettings {
    /// Minimum Jaro-Winkler similarity of two names with the same words to be one entity.
    pub name_similarity: f64,
    /// Minimum cosine of two such names.
    pub name_cosine: f64,
    /// Minimum similarity of two values of a fact to be the same value.
    pub same_value: f64,
    /// Maximum similarity of two values that certainly differ; a person is asked about those in between.
    pub other_value: f64,
    /// Groups of predicates with their words, besides or in place of the default groups.
    pub predicates: BTreeMap<String, Vec<String>>,
    /// Groups with one value at a time.
    pub one_value: Vec<String>,
}

impl KnowledgeSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for KnowledgeSettings {
    fn default() -> Self {
        let single = [
            "default",
            "deployed_with",
            "format",
            "language",
            "licence",
            "limit",
            "located_in",
            "named",
            "owned_by",
            "port",
            "replaced_by",
            "runs_on",
            "schedule",
            "status",
            "stored_in",
            "value",
            "version",
        ];
        Self {
            name_similarity: 0.85,
            name_cosine: 0.92,
            same_value: 0.95,
            other_value: 0.85,
            predicates: BTreeMap::new(),
            one_value: single.map(str::to_owned).to_vec(),
        }
    }
}

/// Notice to a person about an injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// Never.
    Off,
    /// The first time in a session.
    #[default]
    First,
    /// Each time.
    Each,
}

/// Rule for memories from the repository; each variant is stricter than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pulled {
    /// All are returned, with their label.
    #[default]
    All,
    /// None is returned until `throughline trust` releases it. Older versions could trust authors.
    #[serde(alias = "authors")]
    Reviewed,
}

impl Pulled {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// Settings of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexSettings {
    /// Search of vectors.
    pub search: IndexSearch,
}

/// Search of vectors in an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexSearch {
    /// The fastest way for their number.
    #[default]
    Auto,
    /// By the graph, if there is one.
    Graph,
    /// By comparison with all of them.
    Scan,
}

/// A language model for extraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// The provider: `ollama`, `openai` or `claude`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The endpoint; empty means the provider's default: `OLLAMA_HOST` or the default of Ollama, or that of Claude
    /// Code.
    #[serde(default)]
    pub host: String,
    /// Hosts other than this machine to which the user permits sending redacted text.
    #[serde(default)]
    pub consented_hosts: Vec<String>,
    /// Timeout of one answer in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
    /// The environment variable with the key of an `openai` endpoint; never the key itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_key_env: String,
    /// Context size of the model in tokens, for question and answer, if it is less than the usual 14,336.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// Maximum number of tokens per day, input and output; 0 means no limit. By default see [`Llm::tokens_bound`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Maximum cost per day in US dollars, if the provider reports costs; 0 means no limit.
    #[serde(default = "default_usd_per_day")]
    pub usd_per_day: f64,
    /// Reasons to pause a model on this machine in the background.
    #[serde(default, skip_serializing_if = "Pause::is_auto")]
    pub pause: Pause,
}

/// Reasons to pause a model on this machine in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// The machine runs on battery, or other programs keep its processors busy.
    #[default]
    Auto,
    /// The machine runs on battery.
    Battery,
    /// None.
    Never,
}

impl Pause {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

impl Llm {
    /// Default maximum of tokens per day for a model that is not on this machine.
    const TOKENS_PER_DAY: u64 = 2_000_000;

    /// Returns the maximum number of tokens per day; `None` without a limit. A model on this machine has no default
    /// limit, because it costs only time.
    pub fn tokens_bound(&self, is_local: bool) -> Option<u64> {
        let usual = if is_local { 0 } else { Self::TOKENS_PER_DAY };
        Some(self.tokens_per_day.unwrap_or(usual)).filter(|tokens| *tokens > 0)
    }

    /// Returns the maximum cost per day in US dollars; `None` without a limit.
    pub fn usd_bound(&self) -> Option<f64> {
        Some(self.usd_per_day).filter(|usd| *usd > 0.0)
    }
}

impl Default for Llm {
    fn default() -> Self {
        Self {
            provider: "ollama".to_owned(),
            model: String::new(),
            host: String::new(),
            consented_hosts: Vec::new(),
            timeout_s: default_timeout_s(),
            api_key_env: String::new(),
            context: None,
            tokens_per_day: None,
            usd_per_day: default_usd_per_day(),
            pause: Pause::default(),
        }
    }
}

/// A model on this machine that finds the names of people in text that is committed or sent to other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameFinder {
    /// The model's name in Ollama.
    pub model: String,
    /// The endpoint, on this machine; empty means `OLLAMA_HOST`, or the default of Ollama.
    #[serde(default)]
    pub host: String,
    /// Timeout of one answer in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
}

/// A model for vectors of a second space, for explicit search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    /// The provider: `ollama`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The endpoint; empty means `OLLAMA_HOST`, or the default of Ollama.
    pub host: String,
    /// Hosts other than this machine to which the user permits sending redacted text.
    pub consented_hosts: Vec<String>,
    /// Timeout in seconds for the vectors of some memories.
    pub timeout_s: u32,
    /// Timeout in milliseconds of a search for the vector of its query.
    pub search_ms: u32,
    /// Prefix of a memory's text; by default the usual one of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_prefix: Option<String>,
    /// Prefix of a query; by default the usual one of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_prefix: Option<String>,
}

impl Default for Embedder {
    fn default() -> Self {
        Self {
            provider: "ollama".to_owned(),
            model: "nomic-embed-text".to_owned(),
            host: String::new(),
            consented_hosts: Vec::new(),
            timeout_s: 60,
            search_ms: 2_000,
            document_prefix: None,
            query_prefix: None,
        }
    }
}

impl Embedder {
    /// Returns the name of the space: texts with another prefix have vectors in another space.
    pub fn space(&self) -> String {
        match &self.document_prefix {
            Some(prefix) => format!("{} after {prefix:?}", self.model),
            None => self.model.clone(),
        }
    }

    /// Returns the model's input for a memory.
    pub fn document(&self, text: &str) -> String {
        Self::prefixed(self.document_prefix.as_deref(), self.task("search_document: "), text)
    }

    /// Returns the model's input for a query.
    pub fn query(&self, text: &str) -> String {
        Self::prefixed(self.query_prefix.as_deref(), self.task("search_query: "), text)
    }

    /// Returns a prefix for the nomic-embed-text models, which require texts that begin with the name of a task
    /// (huggingface.co/nomic-ai/nomic-embed-text-v1.5, "Usage"); other models get none.
    fn task(&self, prefix: &'static str) -> &'static str {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        if name.starts_with("nomic-embed-text") { prefix } else { "" }
    }

    fn prefixed(set: Option<&str>, usual: &str, text: &str) -> String {
        format!("{}{text}", set.unwrap_or(usual))
    }
}

fn default_timeout_s() -> u32 {
    120
}

fn default_usd_per_day() -> f64 {
    1.0
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            start_tokens: 300,
            prompt_tokens: 600,
            prompt_memories: 5,
            tool_tokens: 260,
            tool_memories: 3,
            alpha: 0.05,
            due_minutes: 5,
            notice: Notice::First,
            review: false,
            pulled: Pulled::All,
            retention_days: 365,
            archive_bytes_max: 2 << 30,
            ignore_paths: Vec::new(),
            kinds: Vec::new(),
            half_life_days: BTreeMap::new(),
            index: IndexSettings::default(),
            redact: RedactSettings::default(),
            knowledge: KnowledgeSettings::default(),
            llm: None,
            embedder: None,
            names: None,
            ignores_unknown: false,
            config: None,
        }
    }
}
