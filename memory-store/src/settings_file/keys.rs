//! The table of settings. For each setting, it contains whether a repository may set it, the form of its value, and its
//! meaning. The settings files are parsed with this table. The schema of the settings file and the tables in
//! `docs/configuration.md` are generated from it.

use std::ops::RangeInclusive;

use toml::Value;

use super::form::{Field, Form};
use super::values::{
    CONTEXT_TOKENS, DAYS, EMBEDDERS, INDEX_SEARCH, MEMORIES, PAUSES, READERS, SEARCH_MS, SHARE,
    TIMEOUT_S, TOKENS, USD_PER_DAY, embedder, half_lives, ignore_paths, kinds, knowledge, llm,
    names, number, parsed, pulled, redact, review, share,
};
use crate::kind::Kind;
use crate::redact::{Class, Policy};
use crate::settings::Settings;

/// A setting in a settings file.
pub(super) struct SettingKey {
    pub name: &'static str,
    /// True if a repository may set the setting. Budgets, kinds and half-lives are such settings; endpoints, commands,
    /// redaction, trust and retention never are.
    pub in_repository: bool,
    pub form: fn() -> Form,
    /// Meaning of the setting for the documents, without the range of the values.
    pub meaning: &'static str,
    pub set: Set,
}

type Set = fn(&mut Settings, Value) -> Result<(), String>;

const fn repository(
    name: &'static str,
    form: fn() -> Form,
    meaning: &'static str,
    set: Set,
) -> SettingKey {
    SettingKey { name, in_repository: true, form, meaning, set }
}

const fn user(
    name: &'static str,
    form: fn() -> Form,
    meaning: &'static str,
    set: Set,
) -> SettingKey {
    SettingKey { name, in_repository: false, form, meaning, set }
}

const DUE_MINUTES: RangeInclusive<u32> = 0..=10_080;
const RETENTION_DAYS: RangeInclusive<u32> = 0..=*DAYS.end();
const ARCHIVE_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 50;

pub(super) static KEYS: [SettingKey; 21] = [
    repository(
        "start_tokens",
        || Form::whole(TOKENS),
        "budget of the session-start block, in tokens (a token is four characters)",
        |s, v| number(v, TOKENS).map(|v| s.start_tokens = v),
    ),
    repository(
        "prompt_tokens",
        || Form::whole(TOKENS),
        "budget of what accompanies a prompt",
        |s, v| number(v, TOKENS).map(|v| s.prompt_tokens = v),
    ),
    repository(
        "prompt_memories",
        || Form::whole(MEMORIES),
        "memories that may accompany a prompt",
        |s, v| number(v, MEMORIES).map(|v| s.prompt_memories = v),
    ),
    repository(
        "tool_tokens",
        || Form::whole(TOKENS),
        "budget of what accompanies a tool call",
        |s, v| number(v, TOKENS).map(|v| s.tool_tokens = v),
    ),
    repository(
        "tool_memories",
        || Form::whole(MEMORIES),
        "memories that may accompany a touched file or a failed command",
        |s, v| number(v, MEMORIES).map(|v| s.tool_memories = v),
    ),
    repository(
        "kinds",
        || Form::ListOf(Kind::ALL.map(Kind::name).to_vec()),
        "kinds that are kept; empty means all",
        |s, v| kinds(v).map(|v| s.kinds = v),
    ),
    repository(
        "half_life_days",
        || Form::map(Kind::ALL.map(Kind::name).to_vec(), Form::whole(DAYS)),
        "days after which a memory of a kind counts half in ranking, as `fix = 90`",
        half_lives,
    ),
    repository(
        "knowledge",
        || Form::Table(knowledge_fields()),
        "when names are one thing, and which facts exclude each other: docs/knowledge.md",
        |s, v| knowledge(v).map(|v| s.knowledge = v),
    ),
    user(
        "alpha",
        || Form::number(SHARE),
        "share of prompts that nothing in the store answers and that may still be given a memory",
        |s, v| share(v, SHARE).map(|v| s.alpha = v),
    ),
    user(
        "due_minutes",
        || Form::whole(DUE_MINUTES),
        "minutes between two background runs that a finished turn starts",
        |s, v| number(v, DUE_MINUTES).map(|v| s.due_minutes = v),
    ),
    user(
        "notice",
        || Form::OneOf(vec!["off", "first", "each"]),
        "whether you are told that something was injected: `\"off\"`, `\"first\"` in a session, `\"each\"` time",
        |s, v| parsed(v, "\"off\", \"first\" or \"each\"").map(|v| s.notice = v),
    ),
    user(
        "review",
        || Form::Flag,
        "`true`: every new memory is pending: recalled, but private, until `throughline review` accepts it",
        review,
    ),
    user(
        "pulled",
        || Form::OneOf(vec!["all", "reviewed"]),
        "what is given of memories from the repository: `\"all\"` with a label, or `\"reviewed\"` ones only",
        pulled,
    ),
    user(
        "retention_days",
        || Form::whole(RETENTION_DAYS),
        "days that archived turns are kept; Claude Code's `cleanupPeriodDays` counts where you set it shorter",
        |s, v| number(v, RETENTION_DAYS).map(|v| s.retention_days = v),
    ),
    user(
        "archive_bytes_max",
        || Form::whole(ARCHIVE_BYTES),
        "bytes that the archive of a project may take; the oldest sessions go first",
        |s, v| number(v, ARCHIVE_BYTES).map(|v| s.archive_bytes_max = v),
    ),
    user(
        "ignore_paths",
        || Form::Texts,
        "files that are never archived or learned from, as globs relative to the root",
        ignore_paths,
    ),
    user(
        "redact",
        || Form::Table(redact_fields()),
        "what is hidden beside secrets, and what is not: docs/redaction.md",
        redact,
    ),
    user(
        "index",
        || Form::Table(index_fields()),
        "how vectors are searched, by `search`: `\"auto\"`, `\"graph\"` or `\"scan\"`",
        |s, v| parsed(v, INDEX).map(|v| s.index = v),
    ),
    user(
        "llm",
        || Form::Table(llm_fields()),
        "the model that reads sessions; without, no memories are written but standing wishes, which wait",
        |s, v| llm(v).map(|v| s.llm = v),
    ),
    user(
        "names",
        || Form::Table(names_fields()),
        "the local model that finds names of people",
        names,
    ),
    user(
        "embedder",
        || Form::Table(embedder_fields()),
        "the local model that gives explicit search a second space",
        |s, v| embedder(v).map(|v| s.embedder = Some(v)),
    ),
];

/// Form of the settings of the index, for error messages.
const INDEX: &str = "`search = \"auto\"`, \"graph\" or \"scan\"";

fn redact_fields() -> Vec<Field> {
    let policies = || {
        let classes = Class::ALL.map(Class::name).to_vec();
        Form::map(classes, Form::OneOf(Policy::ALL.map(Policy::name).to_vec()))
    };
    vec![
        Field::new("deny", Form::Texts, "[]", "regular expressions of text that is never kept"),
        Field::new(
            "harmless",
            Form::Texts,
            "[]",
            "values that are no secrets though they look like some",
        ),
        Field::new(
            "private",
            policies(),
            "{}",
            "policies for personal data in files that only you read",
        ),
        Field::new("committed", policies(), "{}", "policies for personal data in committed files"),
    ]
}

fn knowledge_fields() -> Vec<Field> {
    let share = || Form::number(SHARE);
    vec![
        Field::new(
            "name_similarity",
            share(),
            "0.85",
            "least Jaro-Winkler similarity of two names with the same words to be one thing",
        ),
        Field::new("name_cosine", share(), "0.92", "least cosine of two such names"),
        Field::new("same_value", share(), "0.95", "least similarity of two values that are one"),
        Field::new(
            "other_value",
            share(),
            "0.85",
            "similarity from which `review` asks whether two values are one",
        ),
        Field::new(
            "predicates",
            Form::Lists,
            "{}",
            "groups of predicates by name, besides the usual ones, as `stored_in = [\"kept in\"]`",
        ),
        Field::new(
            "one_value",
            Form::Texts,
            "[\"default\", \"deployed_with\", \"format\", \"language\", \"licence\", \"limit\", \"located_in\", \"named\", \"owned_by\", \"port\", \"replaced_by\", \"runs_on\", \"schedule\", \"status\", \"stored_in\", \"value\", \"version\"]",
            "groups of predicates with one value at a time",
        ),
    ]
}

fn index_fields() -> Vec<Field> {
    let search = Form::OneOf(INDEX_SEARCH.to_vec());
    vec![Field::new(
        "search",
        search,
        "\"auto\"",
        "as is fastest (`\"auto\"`), by the graph (`\"graph\"`), or by comparing all (`\"scan\"`)",
    )]
}

fn llm_fields() -> Vec<Field> {
    vec![
        Field::required(
            "provider",
            Form::OneOf(READERS.to_vec()),
            "`\"ollama\"`, `\"openai\"` or `\"claude\"`",
        ),
        Field::required("model", Form::Name, "the model's name"),
        Field::new(
            "host",
            Form::Text,
            "\"\"",
            "the endpoint; empty means `OLLAMA_HOST`, the default of Ollama, or that of Claude Code; `\"openai\"` needs one",
        ),
        Field::new("consented_hosts", Form::Texts, "[]", CONSENTED_HOSTS),
        Field::new("timeout_s", Form::whole(TIMEOUT_S), "120", "seconds that one answer may take"),
        Field::new(
            "api_key_env",
            Form::Variable,
            "\"\"",
            "the environment variable that holds the key; never the key itself",
        ),
        Field::unset(
            "context",
            Form::whole(CONTEXT_TOKENS),
            "tokens of question and answer together, where the model takes fewer than 14,336",
        ),
        Field::unset(
            "tokens_per_day",
            Form::Whole { least: 0, most: None },
            "tokens that a day may cost; 0 means no bound; not set means none on this machine, else 2,000,000",
        ),
        Field::new(
            "usd_per_day",
            Form::Number { least: *USD_PER_DAY.start(), most: *USD_PER_DAY.end() },
            "1.0",
            "US dollars that a day may cost, where the provider tells the cost; 0 means no bound",
        ),
        Field::new(
            "pause",
            Form::OneOf(PAUSES.to_vec()),
            "\"auto\"",
            "when a model on this machine is not asked in the background: on battery and under the load of other programs \
             (`\"auto\"`), on battery, or never",
        ),
    ]
}

fn names_fields() -> Vec<Field> {
    let host = "the endpoint, on this machine; empty means `OLLAMA_HOST` or the default of Ollama";
    vec![
        Field::required("model", Form::Name, "the model's name, as Ollama has it"),
        Field::new("host", Form::Text, "\"\"", host),
        Field::new("timeout_s", Form::whole(TIMEOUT_S), "120", "seconds that one answer may take"),
    ]
}

fn embedder_fields() -> Vec<Field> {
    let host = "the endpoint; empty means `OLLAMA_HOST` or the default of Ollama";
    vec![
        Field::new("provider", Form::OneOf(EMBEDDERS.to_vec()), "\"ollama\"", "the provider"),
        Field::new("model", Form::Name, "\"nomic-embed-text\"", "the model's name"),
        Field::new("host", Form::Text, "\"\"", host),
        Field::new("consented_hosts", Form::Texts, "[]", CONSENTED_HOSTS),
        Field::new(
            "timeout_s",
            Form::whole(TIMEOUT_S),
            "60",
            "seconds that the vectors of some memories may take",
        ),
        Field::new(
            "search_ms",
            Form::whole(SEARCH_MS),
            "2000",
            "milliseconds that a search waits for the vector of its words",
        ),
        Field::unset(
            "document_prefix",
            Form::Text,
            "text before a memory; not set means what the model is known to want",
        ),
        Field::unset(
            "query_prefix",
            Form::Text,
            "text before a query; not set means what the model is known to want",
        ),
    ]
}

const CONSENTED_HOSTS: &str =
    "hosts other than this machine that you agreed to send redacted text to";
