//! Effective settings: the defaults, overridden by the user's settings file and the repository's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::file_stamp::Stamp;
use crate::kind::Kind;

/// The effective settings. The processor writes them to the index's manifest, so that hooks never parse TOML. Unknown
/// keys are ignored; missing keys have their default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Maximum size of the session-start block in tokens (one token is counted as four characters).
    pub start_tokens: u32,
    /// Maximum size of the injection with a prompt, in tokens.
    pub prompt_tokens: u32,
    /// Maximum number of memories that are injected with a prompt.
    pub prompt_memories: u32,
    /// Maximum size of the injection after a tool call, in tokens.
    pub tool_tokens: u32,
    /// Maximum number of memories that are injected for a file or a failed command.
    pub tool_memories: u32,
    /// Maximum fraction of the prompts without a matching memory for which memories are injected nevertheless.
    pub alpha: f32,
    /// Minimum number of minutes between background runs that the end of a turn starts.
    pub due_minutes: u32,
    /// When a person is notified of an injection.
    pub notice: Notice,
    /// True if every new memory is pending until `throughline review` accepts it.
    pub review: bool,
    /// How memories from the repository are treated.
    #[serde(skip_serializing_if = "Pulled::is_all")]
    pub pulled: Pulled,
    /// Number of days for which archived turns are kept.
    pub retention_days: u32,
    /// Maximum size of a project's archive in bytes.
    pub archive_bytes_max: u64,
    /// Files that are never archived or mined, as globs relative to the root.
    pub ignore_paths: Vec<String>,
    /// Kinds of memories that are kept; empty means all kinds.
    pub kinds: Vec<Kind>,
    /// Half-lives in days, for the kinds whose half-life is not that of [`Kind::half_life_days`].
    pub half_life_days: BTreeMap<Kind, u32>,
    /// Settings of the index.
    pub index: IndexSettings,
    /// Redaction in addition to secrets, and exceptions.
    #[serde(skip_serializing_if = "RedactSettings::is_default")]
    pub redact: RedactSettings,
    /// Settings for names, facts and connections between memories.
    #[serde(skip_serializing_if = "KnowledgeSettings::is_default")]
    pub knowledge: KnowledgeSettings,
    /// The language model used for extraction in addition to the rules, if any.
    pub llm: Option<Llm>,
    /// The model that computes vectors of the second space, if any. It runs in Ollama.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<Embedder>,
    /// The model that finds names of people to be redacted, if any. It runs in Ollama on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<NameFinder>,
    /// True if `ignore_paths` could not be parsed, so that it is unknown which files are excluded.
    #[serde(skip)]
    pub ignores_unknown: bool,
    /// File stamp of the user's settings file when the index was published. It reveals a later change without reading
    /// the file. It is not a key of settings files.
    #[serde(skip)]
    pub config: Option<Stamp>,
}

impl Settings {
    /// Returns the half-life of the ranking weight of memories of this kind, in days since their last renewal.
    pub fn half_life_days(&self, kind: Kind) -> u32 {
        self.half_life_days.get(&kind).copied().unwrap_or_else(|| kind.half_life_days())
    }
}

/// Redaction settings as written in the file; `redact::RedactOptions` is the parsed form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedactSettings {
    /// Values that look like secrets but are harmless.
    pub harmless: Vec<String>,
    /// Regular expressions for text that is never stored.
    pub deny: Vec<String>,
    /// How each class of personal data is treated in files that only this user reads.
    pub private: BTreeMap<String, String>,
    /// How each class of personal data is treated in committed files.
    pub committed: BTreeMap<String, String>,
    /// The first invalid part, with its file and a message. The remaining settings are in effect.
    #[serde(skip)]
    pub broken: Option<(PathBuf, String)>,
}

impl RedactSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings for names, facts and connections between memories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeSettings {
    /// Minimum Jaro-Winkler similarity at which two names with the same words count as one entity.
    pub name_similarity: f64,
    /// Minimum cosine similarity of the vectors of two such names.
    pub name_cosine: f64,
    /// Minimum similarity at which two values of a fact count as the same value.
    pub same_value: f64,
    /// Maximum similarity at which two values certainly differ. For similarities in between, a person is asked.
    pub other_value: f64,
    /// Predicate groups with their words, which extend or replace the default groups.
    pub predicates: BTreeMap<String, Vec<String>>,
    /// Predicate groups that have one value at a time.
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

/// When a person is notified of an injection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// Never.
    Off,
    /// At the first injection of a session.
    #[default]
    First,
    /// At each injection.
    Each,
}

/// How memories from the repository are treated. Each variant is stricter than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pulled {
    /// All memories are returned, labelled as from the repository.
    #[default]
    All,
    /// A memory is not returned until `throughline trust` releases it. Older versions could also trust authors.
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
    /// Method of searching vectors.
    pub search: IndexSearch,
}

/// Method of searching the vectors of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexSearch {
    /// The method that is fastest for the number of vectors.
    #[default]
    Auto,
    /// Through the graph, if there is one.
    Graph,
    /// By comparison with all vectors.
    Scan,
}

/// A language model for extraction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// Name of the provider: `ollama`, `openai` or `claude`.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The endpoint. Empty means the provider's default: for Ollama `OLLAMA_HOST` or Ollama's own default, for `claude`
    /// that of Claude Code.
    #[serde(default)]
    pub host: String,
    /// Hosts other than this machine to which the user permits redacted text to be sent.
    #[serde(default)]
    pub consented_hosts: Vec<String>,
    /// Maximum time for one answer in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
    /// Environment variable that contains the key for an `openai` endpoint. The key itself is never stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_key_env: String,
    /// Context size of the model in tokens, for question and answer together, if it is less than the default of 14,336.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// Maximum number of input and output tokens per day; 0 means no limit. For the default see [`Llm::tokens_bound`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Maximum cost per day in US dollars, if the provider reports its costs; 0 means no limit.
    #[serde(default = "default_usd_per_day")]
    pub usd_per_day: f64,
    /// When a model on this machine pauses its work in the background.
    #[serde(default, skip_serializing_if = "Pause::is_auto")]
    pub pause: Pause,
}

/// When a model on this machine pauses its work in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// While the machine runs on battery, or other programs keep its processors busy.
    #[default]
    Auto,
    /// While the machine runs on battery.
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
    /// Default maximum number of tokens per day for a model that does not run on this machine.
    const TOKENS_PER_DAY: u64 = 2_000_000;

    /// Returns the maximum number of tokens per day; `None` if there is no limit. For a model on this machine there is
    /// no default limit, because it only costs time.
    pub fn tokens_bound(&self, is_local: bool) -> Option<u64> {
        let usual = if is_local { 0 } else { Self::TOKENS_PER_DAY };
        Some(self.tokens_per_day.unwrap_or(usual)).filter(|tokens| *tokens > 0)
    }

    /// Returns the maximum cost per day in US dollars; `None` if there is no limit.
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

/// A model on this machine that finds names of people in texts that are committed or sent to other machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameFinder {
    /// Name of the model in Ollama.
    pub model: String,
    /// The endpoint, which is on this machine. Empty means `OLLAMA_HOST` or Ollama's own default.
    #[serde(default)]
    pub host: String,
    /// Maximum time for one answer in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
}

/// A model that computes vectors of the second space, for explicit search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    /// Name of the provider: `ollama`.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The endpoint. Empty means `OLLAMA_HOST` or Ollama's own default.
    pub host: String,
    /// Hosts other than this machine to which the user permits redacted text to be sent.
    pub consented_hosts: Vec<String>,
    /// Maximum time in seconds for the vectors of one batch of memories.
    pub timeout_s: u32,
    /// Maximum time in milliseconds that a search waits for the vector of its query.
    pub search_ms: u32,
    /// Prefix that is put before a memory's text; by default the one that the model expects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_prefix: Option<String>,
    /// Prefix that is put before a query; by default the one that the model expects.
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
    /// Returns the name of the vector space. A different document prefix results in a different space.
    pub fn space(&self) -> String {
        match &self.document_prefix {
            Some(prefix) => format!("{} after {prefix:?}", self.model),
            None => self.model.clone(),
        }
    }

    /// Returns the input to the model for a memory.
    pub fn document(&self, text: &str) -> String {
        Self::prefixed(self.document_prefix.as_deref(), self.task("search_document: "), text)
    }

    /// Returns the input to the model for a query.
    pub fn query(&self, text: &str) -> String {
        Self::prefixed(self.query_prefix.as_deref(), self.task("search_query: "), text)
    }

    /// Returns `prefix` for the nomic-embed-text models, which require that each text begins with the name of a task
    /// (huggingface.co/nomic-ai/nomic-embed-text-v1.5, "Usage"); empty for other models.
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
