//! Settings, as they are in effect after defaults, the user's file and the repository's file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fs::file_stamp::Stamp;
use crate::kind::Kind;

/// The settings in effect. The processor compiles them into the index's manifest, so that a hook
/// never parses TOML. Unknown keys are ignored, missing ones have their default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Budget of the session-start block, in tokens (a token is a quarter of a character count).
    pub start_tokens: u32,
    /// Budget of what accompanies a prompt, in tokens.
    pub prompt_tokens: u32,
    /// Most memories for a prompt.
    pub prompt_memories: u32,
    /// Budget of what accompanies a tool call, in tokens.
    pub tool_tokens: u32,
    /// Most memories for a touched file or a failed command.
    pub tool_memories: u32,
    /// The share of prompts that nothing in the store answers and that may still be given a memory.
    pub alpha: f32,
    /// Minutes between two background runs that a finished turn starts.
    pub due_minutes: u32,
    /// Notice to a person that something was injected.
    pub notice: Notice,
    /// Whether every new memory is held until `throughline review` accepts it.
    pub review: bool,
    /// Rule for memories that are from the repository.
    #[serde(skip_serializing_if = "Pulled::is_all")]
    pub pulled: Pulled,
    /// Days that archived turns are kept.
    pub retention_days: u32,
    /// Bytes that the archive of one project may take.
    pub archive_bytes_max: u64,
    /// Files that are never archived or mined, as globs relative to the root.
    pub ignore_paths: Vec<String>,
    /// The kinds that are kept; empty means all.
    pub kinds: Vec<Kind>,
    /// Half-lives in days that differ from those of [`Kind::half_life_days`].
    pub half_life_days: BTreeMap<Kind, u32>,
    /// Settings of the index.
    pub index: IndexSettings,
    /// Redaction besides secrets, and exceptions from it.
    #[serde(skip_serializing_if = "RedactSettings::is_default")]
    pub redact: RedactSettings,
    /// Which extractor runs besides the rules: none, or a language model.
    pub llm: Option<Llm>,
    /// Which model gives memories vectors of a second space: none, or one that Ollama runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<Embedder>,
    /// Which model finds names of people that are to be hidden: none, or one that Ollama runs here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<NameFinder>,
    /// True if `ignore_paths` could not be read, so that nobody knows what must not be learned from.
    #[serde(skip)]
    pub ignores_unknown: bool,
    /// Stamp of the user's settings file when the index was published, so that a later change shows without reading it.
    /// No settings file names it.
    #[serde(skip)]
    pub config: Option<Stamp>,
}

impl Settings {
    /// Days after which a memory of this kind that was not renewed counts half in ranking.
    pub fn half_life_days(&self, kind: Kind) -> u32 {
        self.half_life_days.get(&kind).copied().unwrap_or_else(|| kind.half_life_days())
    }
}

/// Settings of redaction, as they are written; `redact::RedactOptions` is what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedactSettings {
    /// Values that are no secrets though they look like some.
    pub harmless: Vec<String>,
    /// Regular expressions for what is never kept.
    pub deny: Vec<String>,
    /// Policies for classes of personal data in files that only this user reads.
    pub private: BTreeMap<String, String>,
    /// Policies for classes of personal data in committed files.
    pub committed: BTreeMap<String, String>,
    /// The first unreadable part, with its file. The rest holds.
    #[serde(skip)]
    pub broken: Option<(PathBuf, String)>,
}

impl RedactSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Notice to a person that something was injected.
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

/// Rule for memories that are from the repository; each variant gives less than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pulled {
    /// Everything, with its label.
    #[default]
    All,
    /// Nothing, until `throughline trust` releases it. Older versions could trust authors.
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
    /// As is fastest for their number.
    #[default]
    Auto,
    /// By the graph, where there is one.
    Graph,
    /// By comparing all of them.
    Scan,
}

/// A language model that helps to extract memories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Llm {
    /// The provider: `ollama`, `openai` or `claude`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The endpoint; empty means the provider's usual one: `OLLAMA_HOST` or the default of Ollama, or that
    /// of Claude Code.
    #[serde(default)]
    pub host: String,
    /// Hosts other than this machine that the user agreed to send redacted text to.
    #[serde(default)]
    pub consented_hosts: Vec<String>,
    /// Seconds that one answer may take.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
    /// The environment variable that holds the key of an `openai` endpoint; never the key itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_key_env: String,
    /// Tokens of question and answer together that the model takes, where that is less than the usual 14,336.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    /// Tokens, asked and answered, that one day may cost; 0 means no bound. Without, [`Llm::tokens_bound`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// US dollars that one day may cost, where the provider tells what an answer cost; 0 means no bound.
    #[serde(default = "default_usd_per_day")]
    pub usd_per_day: f64,
    /// Reasons for which a model on this machine is not asked in the background.
    #[serde(default, skip_serializing_if = "Pause::is_auto")]
    pub pause: Pause,
}

/// Reasons for which a model on this machine is not asked in the background.
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
    /// Tokens that a day may cost a model that is not on this machine, where the user did not say.
    const TOKENS_PER_DAY: u64 = 2_000_000;

    /// Returns how many tokens a day may cost; `None` where there is no bound. A model on this machine costs time only.
    pub fn tokens_bound(&self, is_local: bool) -> Option<u64> {
        let usual = if is_local { 0 } else { Self::TOKENS_PER_DAY };
        Some(self.tokens_per_day.unwrap_or(usual)).filter(|tokens| *tokens > 0)
    }

    /// Returns how many US dollars a day may cost; `None` where there is no bound.
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

/// A model on this machine that finds the names of people in what is committed or leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameFinder {
    /// The model's name, as Ollama has it.
    pub model: String,
    /// The endpoint, on this machine; empty means `OLLAMA_HOST`, or the default of Ollama.
    #[serde(default)]
    pub host: String,
    /// Seconds that one answer may take.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u32,
}

/// A model that gives memories vectors of a second space, for explicit search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    /// The provider: `ollama`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The endpoint; empty means `OLLAMA_HOST`, or the default of Ollama.
    pub host: String,
    /// Hosts other than this machine that the user agreed to send redacted text to.
    pub consented_hosts: Vec<String>,
    /// Seconds that the vectors of some memories may take.
    pub timeout_s: u32,
    /// Milliseconds that a search waits for the vector of its words.
    pub search_ms: u32,
    /// Prefix of a memory's text; without it, the prefix that the model is known to want.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_prefix: Option<String>,
    /// Prefix of a query; without it, the prefix that the model is known to want.
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
    /// The name of the space: what is made with other words before the texts lies elsewhere.
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

    /// The nomic-embed-text models are made for texts that begin with the name of a task
    /// (huggingface.co/nomic-ai/nomic-embed-text-v1.5, "Usage"); of others nothing is assumed.
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
            llm: None,
            embedder: None,
            names: None,
            ignores_unknown: false,
            config: None,
        }
    }
}
