//! What a tool takes, as JSON: wire types, their schemas, and how they become requests.
//!
//! Schemas are kept plain, because clients differ in what they accept: no `$ref`, no `format`, no
//! type lists.

use memory_store::Kind;
use memory_store::memory::Scope;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::backend::{Failure, Page, RecallRequest, RememberRequest, SessionsRequest};

/// Hits of one answer at most.
const LIMIT_MAX: i64 = 50;
/// Hits of one answer when the caller does not say.
const LIMIT_DEFAULT: i64 = 8;
/// How far into a list a cursor may lead.
const SKIP_MAX: usize = 500;
/// Characters of a query that are used.
const QUERY_CHARS_MAX: usize = 4_000;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;
/// Characters of a memory's text.
const TEXT_CHARS_MAX: usize = 20_000;
/// Tags or paths of one memory.
const ITEMS_MAX: usize = 32;
/// Characters of a tag or path.
const ITEM_CHARS_MAX: usize = 400;

/// A kind of memory, as models name it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum KindWire {
    Decision,
    Convention,
    Preference,
    Fact,
    Procedure,
    Command,
    Gotcha,
    Fix,
    FailedApproach,
    Task,
    Session,
    Synthesis,
}

/// Arguments of `recall`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RecallWire {
    /// What to find: a question, key words, a file name, or the text of an error message. AND, OR, NOT
    /// and filters narrow it: kind:fix tag:ci since:2026-10-01 before:"last week".
    query: String,
    /// Only memories of these kinds.
    #[serde(default)]
    #[schemars(with = "Vec<KindWire>")]
    kinds: Vec<String>,
    /// Files that the work is about, relative to the project's root; memories about them come first.
    #[serde(default)]
    paths: Vec<String>,
    /// How many to return (1 to 50, default 8).
    #[serde(default)]
    limit: Option<i64>,
    /// `next_cursor` of an earlier answer, for what comes after it.
    #[serde(default)]
    cursor: Option<String>,
}

/// Arguments of `remember`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RememberWire {
    /// What kind of thing it is.
    #[schemars(with = "KindWire")]
    kind: String,
    /// The thing in one line. Saving the same kind and title again updates that memory.
    title: String,
    /// The details in a few self-contained sentences, with the reason: a reader knows nothing
    /// about this conversation. Markdown.
    #[serde(default, alias = "body")]
    text: String,
    /// A few search words.
    #[serde(default)]
    tags: Vec<String>,
    /// Files it is about, relative to the project's root.
    #[serde(default)]
    paths: Vec<String>,
    /// `project`. What is meant for every project (`user`) is kept for this one: the rest is the user's to say.
    #[serde(default)]
    #[schemars(with = "Option<ScopeWire>")]
    scope: Option<String>,
    /// Ids of memories that this one replaces: they are kept and no longer given.
    #[serde(default)]
    supersedes: Vec<String>,
    /// True if this holds beside the memories that an earlier answer named.
    #[serde(default)]
    both_hold: Option<bool>,
}

/// Where a memory applies.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ScopeWire {
    Project,
    User,
}

/// Arguments of `forget`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ForgetWire {
    /// The memory's short id, as `recall` shows it.
    pub id: String,
}

/// Arguments of `search_sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SessionsWire {
    /// What was said or done: key words, a question, a command or the text of an error message. AND, OR,
    /// NOT and filters narrow it: session:3f2a since:2026-10-01 before:"last week".
    query: String,
    /// Whether to search what the model thought in these sessions instead of what was said (default
    /// false). Newer versions of Claude Code do not record it.
    #[serde(default)]
    thinking: Option<bool>,
    /// How many turns to return (1 to 50, default 8).
    #[serde(default)]
    limit: Option<i64>,
    /// `next_cursor` of an earlier answer, for what comes after it.
    #[serde(default)]
    cursor: Option<String>,
}

/// Arguments of `status`: none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StatusWire {}

impl TryFrom<RecallWire> for RecallRequest {
    type Error = Failure;

    fn try_from(wire: RecallWire) -> Result<Self, Failure> {
        Ok(Self {
            query: query(&wire.query)?,
            kinds: wire.kinds.iter().map(|name| kind(name)).collect::<Result<_, _>>()?,
            paths: items(wire.paths),
            page: page(wire.limit, wire.cursor.as_deref())?,
        })
    }
}

impl TryFrom<SessionsWire> for SessionsRequest {
    type Error = Failure;

    fn try_from(wire: SessionsWire) -> Result<Self, Failure> {
        Ok(Self {
            query: query(&wire.query)?,
            thinking: wire.thinking.unwrap_or_default(),
            page: page(wire.limit, wire.cursor.as_deref())?,
        })
    }
}

impl TryFrom<RememberWire> for RememberRequest {
    type Error = Failure;

    fn try_from(wire: RememberWire) -> Result<Self, Failure> {
        let title = wire.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Failure::Request("`title` is empty: say the thing in one line".to_owned()));
        }
        for (name, text, chars_max) in
            [("title", &title, TITLE_CHARS_MAX), ("text", &wire.text, TEXT_CHARS_MAX)]
        {
            let chars = text.chars().count();
            if chars > chars_max {
                return Err(Failure::Request(format!(
                    "`{name}` has {chars} characters and may have {chars_max}: shorten it, or save several memories"
                )));
            }
        }
        Ok(Self {
            kind: kind(&wire.kind)?,
            title,
            text: wire.text.trim().to_owned(),
            tags: items(wire.tags),
            paths: items(wire.paths),
            scope: scope(wire.scope.as_deref())?,
            supersedes: items(wire.supersedes),
            both_hold: wire.both_hold.unwrap_or_default(),
        })
    }
}

fn query(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::Request("`query` is empty: say what to look for".to_owned()));
    }
    Ok(text.chars().take(QUERY_CHARS_MAX).collect())
}

fn kind(name: &str) -> Result<Kind, Failure> {
    Kind::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        let given: String = name.chars().take(40).collect();
        Failure::Request(format!("`{given}` is no kind of memory; use one of {}", known.join(", ")))
    })
}

fn scope(name: Option<&str>) -> Result<Scope, Failure> {
    match name {
        None | Some("" | "project") => Ok(Scope::Project),
        Some("user") => Ok(Scope::User),
        Some(other) => {
            let given: String = other.chars().take(40).collect();
            Err(Failure::Request(format!("`{given}` is no scope; use project or user")))
        }
    }
}

fn items(items: Vec<String>) -> Vec<String> {
    items
        .iter()
        .map(|item| item.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|item| !item.is_empty() && item.chars().count() <= ITEM_CHARS_MAX)
        .take(ITEMS_MAX)
        .collect()
}

fn page(limit: Option<i64>, cursor: Option<&str>) -> Result<Page, Failure> {
    let limit = limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let skip = match cursor {
        None | Some("") => 0,
        Some(cursor) => skip_of(cursor).ok_or_else(|| {
            Failure::Request(
                "`cursor` is not from an earlier answer: leave it out to start again".to_owned(),
            )
        })?,
    };
    Ok(Page { skip, limit: usize::try_from(limit).unwrap_or(1) })
}

/// The cursor that leads to what comes after `skip` hits.
pub fn cursor(skip: usize) -> Option<String> {
    (skip <= SKIP_MAX).then(|| format!("after-{skip}"))
}

fn skip_of(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("after-")?.parse().ok().filter(|skip| *skip <= SKIP_MAX)
}

/// Reads a tool's arguments; `Err` says what is wrong in words.
pub fn arguments<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default()))
        .map_err(|error| Failure::Request(format!("the arguments do not fit: {error}")))
}

/// The schema of a wire type.
pub fn schema<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(make_plain).transform(&mut schema);
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.remove("title");
    object.remove("description");
    object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    object
}

/// Takes out what some clients stumble over: number formats, `null` beside a type, defaults of
/// nothing, line breaks of comments.
fn make_plain(schema: &mut Schema) {
    schema.remove("format");
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get("type")
        && let Some(only) = types.iter().find(|name| *name != "null").cloned()
    {
        object.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(choices)) = object.get("anyOf")
        && let Some(Value::Object(only)) = choices.iter().find(|choice| choice["type"] != "null")
        && choices.len() == 2
    {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
    if object.get("default").is_some_and(|value| value.is_null() || *value == Value::Array(vec![]))
    {
        object.remove("default");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{RecallResponse, SessionsResponse, StatusResponse};

    fn check_plain(value: &Value, at: &str) {
        match value {
            Value::Object(object) => {
                for banned in ["format", "$ref", "$defs", "anyOf", "oneOf", "$schema"] {
                    assert!(!object.contains_key(banned), "{banned} at {at}");
                }
                assert!(!object.get("type").is_some_and(Value::is_array), "type list at {at}");
                for (key, value) in object {
                    check_plain(value, &format!("{at}/{key}"));
                }
            }
            Value::Array(values) => values.iter().for_each(|value| check_plain(value, at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn schemas_are_plain() {
        for schema in [
            schema::<RecallWire>(),
            schema::<RememberWire>(),
            schema::<ForgetWire>(),
            schema::<SessionsWire>(),
            schema::<StatusWire>(),
            schema::<RecallResponse>(),
            schema::<SessionsResponse>(),
            schema::<StatusResponse>(),
        ] {
            assert_eq!(schema["type"], "object");
            check_plain(&Value::Object(schema), "");
        }
        let schema = schema::<RememberWire>();
        assert_eq!(schema["required"], serde_json::json!(["kind", "title"]));
        assert_eq!(schema["properties"]["scope"]["type"], "string");
        assert_eq!(schema["properties"]["kind"]["enum"].as_array().map(Vec::len), Some(12));
    }

    #[test]
    fn every_kind_has_its_name_on_the_wire() {
        let schema = schema::<RecallWire>();
        let names = &schema["properties"]["kinds"]["items"]["enum"];
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        assert_eq!(*names, serde_json::json!(known));
    }

    #[test]
    fn arguments_become_requests_within_their_bounds() {
        let recall = |json: Value| {
            let wire: RecallWire = arguments(json.as_object().cloned())?;
            RecallRequest::try_from(wire)
        };
        let request = recall(serde_json::json!({"query": " x ", "limit": 999, "kinds": ["todo"]}));
        let request = request.unwrap();
        assert_eq!((request.query.as_str(), request.kinds[0]), ("x", Kind::Task));
        assert_eq!(request.page, Page { skip: 0, limit: 50 });
        let next = recall(serde_json::json!({"query": "x", "cursor": cursor(8)})).unwrap();
        assert_eq!(next.page, Page { skip: 8, limit: 8 });
        for wrong in [
            serde_json::json!({}),
            serde_json::json!({"query": ""}),
            serde_json::json!({"query": 7}),
            serde_json::json!({"query": "x", "kinds": ["poem"]}),
            serde_json::json!({"query": "x", "cursor": "after-99999"}),
        ] {
            assert!(matches!(recall(wrong.clone()), Err(Failure::Request(_))), "{wrong}");
        }
    }
}
