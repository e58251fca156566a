//! Arguments as models write them: under another name, as one item instead of a list, as digits instead of a number, or
//! `null` for a missing value. [`read`] converts each value to the schema of its argument, so that the request types
//! need only plain serde.

use memory_store::Kind;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::backend::ToolError;
use crate::printed::{id_of, ids_in, ids_of};

/// Maximum characters of a value or name that a message quotes.
const QUOTED_CHARS_MAX: usize = 40;
/// Maximum unknown arguments that a message lists.
const UNKNOWN_MAX: usize = 8;
/// Maximum items of a list.
const ITEMS_MAX: usize = 32;
/// Maximum characters of an item, and of a text whose schema has no limit.
const ITEM_CHARS_MAX: usize = 400;
/// Maximum characters of a query; a longer text, such as an error, is truncated.
const QUERY_CHARS_MAX: usize = 4_000;

/// Keywords in the schema of an argument that clients do not receive. `hidden` marks an argument that is accepted but
/// not offered, `form` names a notation, and the others are limits for [`fit`].
const INTERNAL: [&str; 5] = ["hidden", "form", "minimum", "maximum", "maxLength"];

/// Other names of arguments. A name means the first argument of the tool whose row contains the name.
const ALIASES: [(&str, &[&str]); 31] = [
    ("query", &["q", "text", "search", "question", "keywords", "topic"]),
    ("ids", &["id", "memory_id", "memory_ids"]),
    ("paths", &["path", "files", "file", "file_path", "file_paths"]),
    ("kinds", &["kind", "type", "types"]),
    ("as_of", &["at", "on"]),
    ("history", &["include_superseded"]),
    ("projects", &["project", "scope"]),
    ("limit", &["max", "max_results", "count", "n", "top_k"]),
    ("cursor", &["next_cursor"]),
    ("tags", &["tag", "keywords"]),
    ("since", &["after", "from"]),
    ("before", &["until", "to"]),
    ("kind", &["kinds", "type", "category"]),
    ("title", &["name", "summary", "subject"]),
    ("text", &["content", "body", "memory", "details", "description", "note"]),
    ("id", &["ids", "memory_id"]),
    ("supersedes", &["replaces"]),
    ("pin", &["pinned"]),
    ("still_true", &["confirm"]),
    ("valid_until", &["expires", "until"]),
    ("session", &["session_id", "id"]),
    ("turns", &["turn", "range"]),
    ("outline", &["toc"]),
    ("branch", &["git_branch"]),
    ("about", &["entity", "name"]),
    ("facts", &["fact"]),
    ("ends", &["end"]),
    ("relations", &["relation", "links"]),
    ("check", &["dry_run"]),
    ("helpful", &["helped"]),
    ("agent", &["agent_type", "subagent"]),
];

/// Parses the arguments of a call of `tool`, and returns them with notes for the caller.
///
/// # Errors
/// Returns an error if a value is invalid; the message names the argument and its type.
pub fn read<R: DeserializeOwned + JsonSchema>(
    tool: &str,
    given: Map<String, Value>,
) -> Result<(R, Vec<String>), ToolError> {
    let mut schema = full_schema::<R>();
    let known = schema.get_mut("properties").map(Value::take).unwrap_or_default();
    let (mut values, mut notes, mut unknown) = (Map::new(), Vec::new(), Vec::new());
    let given = given.into_iter().filter(|(_, value)| !is_empty(value));
    // An argument under its own name takes precedence over its aliases.
    let (named, others): (Vec<_>, Vec<_>) = given.partition(|(name, _)| known.get(name).is_some());
    for (name, value) in named.into_iter().chain(others) {
        let Some((argument, schema)) = argument(&name, &known) else {
            unknown.push(format!("`{}`", quoted(&name)));
            continue;
        };
        if values.contains_key(argument) {
            notes.push(format!("`{name}` was ignored: `{argument}` is already set."));
            continue;
        }
        let fitted = fit(&value, schema).ok_or_else(|| {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let takes = takes(schema);
            ToolError::Request(format!("`{name}` takes {takes}, and not `{}`", quoted(&shown)))
        })?;
        values.insert(argument.to_owned(), fitted);
    }
    notes.extend(note_unknown(tool, unknown, &known));
    let request = R::deserialize(Value::Object(values));
    request
        .map(|request| (request, notes))
        .map_err(|error| ToolError::Request(format!("the arguments of `{tool}`: {error}")))
}

/// Returns the argument that a name means, with its schema.
fn argument<'a>(name: &'a str, known: &'a Value) -> Option<(&'a str, &'a Value)> {
    let meant = ALIASES.iter().filter(|(_, names)| names.contains(&name)).map(|row| row.0);
    std::iter::once(name).chain(meant).find_map(|name| Some((name, known.get(name)?)))
}

fn note_unknown(tool: &str, mut unknown: Vec<String>, known: &Value) -> Option<String> {
    let known = known.as_object().into_iter().flatten();
    let offered = known.filter(|(_, schema)| schema.get("hidden").is_none());
    let offered: Vec<&str> = offered.map(|(name, _)| name.as_str()).collect();
    let takes = if offered.is_empty() { "no arguments".to_owned() } else { offered.join(", ") };
    unknown.sort();
    unknown.truncate(UNKNOWN_MAX);
    let names = unknown.join(", ");
    let note = format!("Ignored, as `{tool}` has no such argument: {names}. It takes {takes}.");
    (!unknown.is_empty()).then_some(note)
}

/// Returns the arguments of a request that have a value, under their canonical names.
pub fn given(request: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(mut given)) = serde_json::to_value(request) else { return Map::new() };
    given.retain(|_, value| !is_empty(value) && *value != Value::Bool(false));
    given
}

/// Returns the schema of a tool's arguments, as clients receive it.
pub fn schema<R: JsonSchema>() -> Map<String, Value> {
    let mut schema = full_schema::<R>();
    if let Some(Value::Object(arguments)) = schema.get_mut("properties") {
        arguments.retain(|_, argument| argument.get("hidden").is_none());
        for argument in arguments.values_mut().filter_map(Value::as_object_mut) {
            argument.retain(|keyword, _| !INTERNAL.contains(&keyword.as_str()));
        }
    }
    schema
}

fn full_schema<R: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::default().with_transform(RecursiveTransform(simplify));
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    schema.remove("description");
    let object = schema.ensure_object();
    object.entry("properties").or_insert_with(|| Map::new().into());
    std::mem::take(object)
}

/// Removes `null` and keywords that carry no information for a model.
fn simplify(schema: &mut Schema) {
    for name in ["title", "default", "format"] {
        schema.remove(name);
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let first = types.first().cloned().unwrap_or_default();
        schema.insert("type".to_owned(), first);
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if let Some(Value::String(text)) = schema.get("description") {
        let line = text.replace('\n', " ");
        schema.insert("description".to_owned(), line.into());
    }
}

/// Returns the schema of a kind.
pub fn kind_schema(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Kind::ALL.map(Kind::name)})
}

/// Returns the schema of a list of kinds.
pub fn kinds_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": kind_schema(generator)})
}

/// Members of the outcome of a session.
const OUTCOME: [&str; 3] = ["done", "decided", "open"];

/// Returns the schema of an outcome; the description of the argument names the members.
pub fn outcome_schema(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// Converts a value to the type of an argument; `None` if that is impossible.
fn fit(value: &Value, schema: &Value) -> Option<Value> {
    match schema["type"].as_str()? {
        "object" => outcome(value),
        "array" => items(value, schema),
        "boolean" => {
            let text = value.as_bool().map_or_else(|| scalar(value), |flag| Some(flag.to_string()));
            match text?.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "y" | "1" | "on" => Some(true.into()),
                "false" | "no" | "n" | "0" | "off" => Some(false.into()),
                _ => None,
            }
        }
        "integer" => {
            let number: f64 = scalar(value)?.trim().parse().ok()?;
            let (least, most) = (schema["minimum"].as_u64(), schema["maximum"].as_u64());
            Some((number as u64).clamp(least.unwrap_or(0), most.unwrap_or(u64::MAX)).into())
        }
        _ if schema.get("enum").is_some() => choice(&scalar(value)?, schema),
        _ => text(&lines(value)?, schema),
    }
}

/// Converts the outcome of a session: lists of texts, or one text in place of a list.
fn outcome(value: &Value) -> Option<Value> {
    let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let object = parsed.as_ref().unwrap_or(value).as_object()?;
    let mut outcome = Map::new();
    for (name, value) in object.iter().filter(|(_, value)| !is_empty(value)) {
        let part = OUTCOME.iter().find(|part| part.eq_ignore_ascii_case(name))?;
        outcome.insert((*part).to_owned(), items(value, &json!({"form": "line"}))?);
    }
    (!outcome.is_empty()).then_some(Value::Object(outcome))
}

/// Converts a text. Line breaks are kept only if the argument accepts a long text.
fn text(text: &str, schema: &Value) -> Option<Value> {
    let form = schema["form"].as_str().unwrap_or_default();
    if form == "query" {
        return Some(text.chars().take(QUERY_CHARS_MAX).collect::<String>().into());
    }
    let chars_max = chars_max(schema);
    let text = if chars_max > ITEM_CHARS_MAX { text.to_owned() } else { one_line(text) };
    if text.chars().count() > chars_max {
        return None;
    }
    match form {
        "id" => (ids_of(&text).len() < 2 && ids_in(&text).len() < 2).then(|| id_of(&text).into()),
        "turns" => range(&text).map(|turns| json!(turns)),
        _ => Some(text.into()),
    }
}

/// Converts a list. Ids in it may have any printed form. Paths are separated by a comma and a space, since a path may
/// contain a comma but rarely one before a space.
fn items(value: &Value, schema: &Value) -> Option<Value> {
    let form = schema["form"].as_str().unwrap_or_default();
    let separator = match form {
        "id" | "fact" | "relation" | "line" => "\n",
        "path" => ", ",
        _ => ",",
    };
    let mut items = match (value, form) {
        (Value::Array(values), "fact" | "relation") => {
            values.iter().map(|value| line(value, form)).collect::<Option<_>>()?
        }
        (Value::Object(_), "fact" | "relation") => vec![line(value, form)?],
        _ => list(value, separator)?,
    };
    if form == "id" {
        items = items.iter().flat_map(|item| ids_of(item)).collect();
        let mut seen = std::collections::BTreeSet::new();
        items.retain(|id| seen.insert(id.clone()));
    }
    items = items.iter().map(|item| one_line(item)).filter(|item| !item.is_empty()).collect();
    let is_short = items.iter().all(|item| item.chars().count() <= ITEM_CHARS_MAX);
    let of = &schema["items"];
    match of.get("enum") {
        _ if items.len() > ITEMS_MAX || !is_short => None,
        None => Some(items.into()),
        Some(_) if items.iter().any(|item| matches!(item.as_str(), "all" | "any" | "*")) => {
            Some(json!([]))
        }
        Some(_) => items.iter().map(|item| choice(item, of)).collect(),
    }
}

/// Returns a fact or a relation as one line. Models also write it as an object.
fn line(value: &Value, form: &str) -> Option<String> {
    let Some(object) = value.as_object() else { return scalar(value) };
    let part = |names: &[&str]| names.iter().find_map(|name| scalar(object.get(*name)?));
    if form == "relation" {
        return Some(format!("{} {}", part(&["kind", "type"])?, part(&["to", "id"])?));
    }
    let [subject, predicate, object_part] =
        ["subject", "predicate", "object"].map(|it| part(&[it]));
    let mut line = [subject?, predicate?, object_part?].join(" | ");
    if let (from, to) = (part(&["from"]), part(&["to"]))
        && (from.is_some() || to.is_some())
    {
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        line.push_str(&format!(" | {from}..{to}"));
    }
    Some(line)
}

/// Returns the name in a schema that a text means: the letters may be in any case, and the text may be a plural or
/// another name of a kind.
fn choice(text: &str, schema: &Value) -> Option<Value> {
    let text = text.trim().to_ascii_lowercase();
    let forms = [Some(text.as_str()), text.strip_suffix('s'), text.strip_suffix("es")];
    let known = names(schema);
    forms.into_iter().flatten().find_map(|form| {
        let named = Kind::from_name(form).map_or(form, |kind| kind.name());
        known.contains(&named).then(|| named.into())
    })
}

fn names(schema: &Value) -> Vec<&str> {
    schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn chars_max(schema: &Value) -> usize {
    schema["maxLength"].as_u64().map_or(ITEM_CHARS_MAX, |max| max as usize)
}

/// Describes the values that an argument accepts.
fn takes(schema: &Value) -> String {
    let form = schema["form"].as_str().unwrap_or("text");
    let several = names(&schema["items"]).join(", ");
    let one = names(schema).join(", ");
    match (schema["type"].as_str().unwrap_or_default(), form) {
        _ if !several.is_empty() => format!("some of {several}"),
        _ if !one.is_empty() => format!("one of {one}"),
        ("array", "fact") => "facts such as \"cart | stored in | Redis | 2026-03-01..\"".to_owned(),
        ("array", "relation") => "links such as \"refines k3v9qa\"".to_owned(),
        ("array", _) => {
            format!("at most {ITEMS_MAX} {form}s, each of at most {ITEM_CHARS_MAX} characters")
        }
        ("object", _) => format!("lists of texts named {}", OUTCOME.join(", ")),
        ("boolean", _) => "true or false".to_owned(),
        ("integer", _) => format!("a number from {} to {}", schema["minimum"], schema["maximum"]),
        (_, "id") => "one id such as k3v9qa".to_owned(),
        (_, "turns") => "numbers such as 3-7, 5 or 8-".to_owned(),
        (_, "query") => "a text".to_owned(),
        _ => format!("a text of at most {} characters", chars_max(schema)),
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// Returns a text with single spaces in place of line breaks and runs of spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a value is missing: `null`, or an empty text or list.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Returns the text of a scalar value, or of the only item of a list.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if items.len() == 1 => scalar(items.first()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the text of a value; the items of a list become lines.
fn lines(value: &Value) -> Option<String> {
    let text = match value {
        Value::Array(items) => items.iter().map(scalar).collect::<Option<Vec<_>>>()?.join("\n"),
        value => scalar(value)?,
    };
    Some(text.trim().to_owned())
}

/// Returns the items of a list, of a text that contains a JSON list, or of a text with separators.
fn list(value: &Value, separator: &str) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).map(scalar).collect(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(items @ Value::Array(_)) => list(&items, separator),
            Ok(_) | Err(_) => Some(text.split(separator).map(str::to_owned).collect()),
        },
        value => Some(vec![scalar(value)?]),
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let numbers: Vec<u32> = numbers.map(|digits| digits.parse().ok()).collect::<Option<_>>()?;
    let (first, mut last) = (*numbers.first()?, *numbers.last()?);
    if numbers.len() == 1 && text.ends_with(['-', '.', '+']) {
        last = u32::MAX;
    }
    let first = first.max(1);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::{Detail, Projects, RecallRequest, RememberRequest, SessionsRequest};
    use crate::tools::Tool;

    fn parsed<R: DeserializeOwned + JsonSchema>(object: &Value) -> Result<R, String> {
        let object = object.as_object().cloned().unwrap_or_default();
        read("recall", object).map(|(request, _)| request).map_err(|failure| match failure {
            ToolError::Request(message) => message,
            other => format!("{other:?}"),
        })
    }

    fn recall(object: Value) -> RecallRequest {
        parsed(&object).unwrap()
    }

    #[test]
    fn arguments_are_read_in_the_forms_that_models_write() {
        let request = recall(json!({"q": ["x"], "tag": "a, b", "limit": "5", "history": "yes"}));
        assert_eq!(request.query.as_deref(), Some("x"));
        assert_eq!(request.tags, ["a", "b"]);
        assert_eq!((request.limit, request.history), (Some(5), true));
        assert_eq!(recall(json!({"kind": "Fixes, todo"})).kinds, [Kind::Fix, Kind::Task]);
        for (limit, meant) in [(json!(5.0), 5), (json!("7.0"), 7), (json!(900), 50), (json!(-3), 1)]
        {
            assert_eq!(recall(json!({"limit": limit})).limit, Some(meant));
        }
        let request =
            recall(json!({"detail": "Titles", "projects": ["ALL"], "type": "Failed_Approaches"}));
        assert_eq!((request.detail, request.projects), (Some(Detail::Titles), Some(Projects::All)));
        assert_eq!(request.kinds, [Kind::FailedApproach]);
        assert_eq!(recall(json!({"tags": "[\"a\", \"b, c\"]"})).tags, ["a", "b, c"]);
        let request = recall(json!({"q": ["a", "b", 3], "files": ["x", "y"], "kind": "all"}));
        assert_eq!(request.query.as_deref(), Some("a\nb\n3"));
        assert_eq!((request.paths.len(), request.kinds.len()), (2, 0));
        assert_eq!(recall(json!({"file": "a, b"})).paths, ["a", "b"]);
        assert_eq!(recall(json!({"file": "a,b"})).paths, ["a,b"]);
        for empty in [json!(""), json!(" "), json!([]), json!([""]), Value::Null] {
            let request = recall(json!({"query": empty, "q": "y", "limit": empty, "kind": empty}));
            assert_eq!(
                request,
                RecallRequest { query: Some("y".to_owned()), ..Default::default() }
            );
        }
    }

    #[test]
    fn ids_are_read_as_answers_print_them() {
        let ids = ["k3v9qa", "8h248h"];
        for (written, meant) in [
            (json!("k3v9qa"), &ids[..1]),
            (json!("#K3V9QA"), &ids[..1]),
            (json!("[fact k3v9qa]"), &ids[..1]),
            (json!("decision k3v9qa"), &ids[..1]),
            (json!(["k3v9qa", "#k3v9qa"]), &ids[..1]),
            (json!("k3v9qa, 8h248h"), &ids),
            (json!("k3v9qa 8h248h"), &ids),
            (json!("[\"k3v9qa\", \"8h248h\"]"), &ids),
            (json!("[fact k3v9qa, replaced by 8h248h]"), &ids[..1]),
            (json!("[fact k3v9qa, pending], [user's preference 8h248h]"), &ids),
        ] {
            assert_eq!(recall(json!({"ids": written})).ids, meant, "{written}");
        }
        let request: RememberRequest = parsed(&json!({"id": "[fact k3v9qa] One"})).unwrap();
        assert_eq!(request.id.as_deref(), Some("k3v9qa"));
    }

    #[test]
    fn an_error_names_the_argument_and_what_it_takes() {
        let list = "takes at most 32 texts, each of at most 400 characters";
        let many: Vec<String> = (0..40).map(|number| format!("tag{number}")).collect();
        for (object, message) in [
            (json!({"limit": "many"}), "`limit` takes a number from 1 to 50, and not `many`"),
            (json!({"query": "x", "n": {}}), "`n` takes a number from 1 to 50, and not `{}`"),
            (json!({"query": {"a": 1}}), "`query` takes a text, and not `{\"a\":1}`"),
            (
                json!({"kinds": "poem"}),
                "`kinds` takes some of decision, convention, preference, fact, procedure, command, \
                 gotcha, fix, failed-approach, task, session, synthesis, and not `poem`",
            ),
            (json!({"detail": "some"}), "`detail` takes one of full, titles, and not `some`"),
            (json!({"history": "perhaps"}), "`history` takes true or false, and not `perhaps`"),
            (json!({"tags": many}), list),
            (json!({"tags": ["x".repeat(500)]}), list),
        ] {
            let error = parsed::<RecallRequest>(&object).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let error = parsed::<RememberRequest>(&json!({"id": ["k3v9qa", "8h248h"]})).unwrap_err();
        let message = "`id` takes one id such as k3v9qa, and not `[\"k3v9qa\",\"8h248h\"]`";
        assert_eq!(error, message);
    }

    #[test]
    fn unknown_and_repeated_arguments_are_named() {
        let read = |object: Value| {
            read::<RecallRequest>("recall", object.as_object().cloned().unwrap()).unwrap()
        };
        let (request, notes) = read(json!({"q": "y", "query": "x", "file": "a", "files": "b"}));
        assert_eq!(request.query.as_deref(), Some("x"));
        let note = |name, set| format!("`{name}` was ignored: `{set}` is already set.");
        let notes_meant = vec![note("q", "query"), note("files", "paths")];
        assert_eq!((request.paths, notes), (vec!["a".to_owned()], notes_meant));
        let (_, notes) = read(json!({"query": "x", "as_off": "today"}));
        let note = "Ignored, as `recall` has no such argument: `as_off`. It takes query, ids, paths, kinds, about, depth, \
                    agent, detail, as_of, history, projects, limit, cursor.";
        assert_eq!(notes, [note]);
    }

    #[test]
    fn each_row_of_aliases_belongs_to_an_argument() {
        let mut known = full_schema::<RecallRequest>()["properties"].clone();
        for tool in Tool::ALL {
            let schema = (tool.definition().schema)();
            let arguments = schema["properties"].as_object().cloned().unwrap();
            known.as_object_mut().unwrap().extend(arguments);
        }
        for (number, (argument, names)) in ALIASES.iter().enumerate() {
            assert!(known.get(argument).is_some() && !names.contains(argument), "{argument}");
            assert!(ALIASES[..number].iter().all(|row| row.0 != *argument), "{argument}");
        }
    }

    #[test]
    fn turns_are_named_in_several_ways() {
        for (turns, meant) in [
            (json!("3-7"), Some((3, 7))),
            (json!(5), Some((5, 5))),
            (json!("3..7"), Some((3, 7))),
            (json!("turns 3 to 7"), Some((3, 7))),
            (json!("0-2"), Some((1, 2))),
            (json!("1-999"), Some((1, 999))),
            (json!("8-"), Some((8, u32::MAX))),
            (json!("8.."), Some((8, u32::MAX))),
            (json!([3, 4, 5]), Some((3, 5))),
            (json!("7-3"), None),
            (json!("all"), None),
        ] {
            let read: Result<SessionsRequest, _> = parsed(&json!({"turns": turns}));
            assert_eq!(read.ok().and_then(|request| request.turns), meant, "{turns}");
        }
    }
}
