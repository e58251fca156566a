//! Arguments as models write them: one item in place of a list, digits for a number, `null` for a missing value.
//! [`read`] turns them into the types of [`crate::request`]; the other functions deserialise one field each.

use std::collections::BTreeMap;

use memory_store::Kind;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, json_schema};
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::backend::ToolError;
use crate::printed::{id_of, ids_in, ids_of};

/// Maximum characters of a value or a name in a message.
const QUOTED_CHARS_MAX: usize = 40;
/// Maximum unknown arguments in a message.
const UNKNOWN_MAX: usize = 8;
/// Maximum items of a list.
const ITEMS_MAX: usize = 32;
/// Maximum characters of an item.
const ITEM_CHARS_MAX: usize = 400;
/// Maximum characters of a query; longer text, such as an error, is truncated.
const QUERY_CHARS_MAX: usize = 4_000;
/// Maximum hits on a page.
const LIMIT_MAX: usize = 50;

/// Known and unknown arguments.
#[derive(Deserialize)]
struct Sorted<R> {
    #[serde(flatten)]
    request: R,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// Parses the arguments of a call of `tool`, and returns them with notes for the caller.
///
/// # Errors
/// Returns an error if a value is invalid; the message names the argument and its type.
pub fn read<R: DeserializeOwned + JsonSchema>(
    tool: &str,
    mut object: Map<String, Value>,
) -> Result<(R, Vec<String>), ToolError> {
    let parse = |object| Sorted::<R>::deserialize(Value::Object(object));
    object.retain(|_, value| !is_empty(value));
    let mut notes = Vec::new();
    let parsed = match parse(object.clone()) {
        Ok(parsed) => parsed,
        // Every argument is optional, so an invalid value also fails alone. Otherwise two names are aliases.
        Err(_) => {
            let mut accepted = Map::new();
            for (name, value) in object {
                let error = |error| ToolError::Request(format!("`{name}` {error}"));
                let alone = parse(Map::from_iter([(name.clone(), value.clone())]));
                if !alone.map_err(error)?.unknown.is_empty() {
                    continue;
                }
                accepted.insert(name.clone(), value);
                if parse(accepted.clone()).is_err() {
                    accepted.remove(&name);
                    notes.push(format!("`{name}` was ignored: another argument means the same."));
                }
            }
            parse(accepted).map_err(|error| ToolError::Request(error.to_string()))?
        }
    };
    notes.extend(note_unknown::<R>(tool, &parsed.unknown));
    Ok((parsed.request, notes))
}

fn note_unknown<R: JsonSchema>(tool: &str, unknown: &BTreeMap<String, Value>) -> Option<String> {
    if unknown.is_empty() {
        return None;
    }
    let names = unknown.keys().take(UNKNOWN_MAX).map(|name| format!("`{}`", quoted(name)));
    let names: Vec<String> = names.collect();
    let properties = schema::<R>().remove("properties");
    let properties = properties.as_ref().and_then(Value::as_object);
    let known: Vec<&str> =
        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let takes = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
    let (are, were) = if names.len() == 1 { ("is", "was") } else { ("are", "were") };
    let names = names.join(", ");
    Some(format!("{names} {are} unknown to `{tool}` and {were} ignored; it takes {takes}."))
}

/// Returns the arguments of a request that have a value, under their canonical names.
pub fn given(request: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(mut given)) = serde_json::to_value(request) else { return Map::new() };
    given.retain(|_, value| !is_empty(value) && *value != Value::Bool(false));
    given
}

/// Returns the schema of a tool's arguments, simplified for clients.
pub fn schema<R: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::default().with_transform(RecursiveTransform(simplify));
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<R>();
    schema.remove("description");
    let object = schema.ensure_object();
    object.entry("properties").or_insert_with(|| Map::new().into());
    std::mem::take(object)
}

/// Removes constraints that the parser does not enforce, since it accepts `null` and any number.
fn simplify(schema: &mut Schema) {
    for name in ["title", "default", "format", "minimum"] {
        schema.remove(name);
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let first = types.first().cloned().unwrap_or_default();
        schema.insert("type".to_owned(), first);
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

/// Deserialises a value with `convert`; the error names the type of the argument.
fn convert<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    takes: &str,
    convert: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    convert(&value).ok_or_else(|| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        D::Error::custom(format!("takes {takes}, and not `{}`", quoted(&shown)))
    })
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// Deserialises a text; items of a list become lines.
pub fn text<'de, D: Deserializer<'de>, T: From<String>, const CHARS_MAX: usize>(
    deserializer: D,
) -> Result<T, D::Error> {
    convert(deserializer, &format!("a text of at most {CHARS_MAX} characters"), |value| {
        lines(value).filter(|text| text.chars().count() <= CHARS_MAX).map(T::from)
    })
}

/// Deserialises a text of one line.
pub fn line<'de, D: Deserializer<'de>, T: From<String>, const CHARS_MAX: usize>(
    deserializer: D,
) -> Result<T, D::Error> {
    text::<D, String, CHARS_MAX>(deserializer).map(|text| one_line(&text).into())
}

/// Deserialises a query; a long one is truncated.
pub fn query<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    convert(deserializer, "a text", |value| {
        Some(Some(lines(value)?.chars().take(QUERY_CHARS_MAX).collect()))
    })
}

/// Deserialises a list of texts without commas.
pub fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    items(deserializer, "texts", |value| list(value, ","))
}

/// Deserialises a list of paths. A path may contain a comma, but rarely one followed by a space.
pub fn paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    items(deserializer, "paths", |value| list(value, ", "))
}

/// Deserialises ids of memories without duplicates, in any printed form.
pub fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    items(deserializer, "ids such as k3v9qa", |value| {
        let mut ids = Vec::new();
        for id in list(value, "\n")?.iter().flat_map(|item| ids_of(item)) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Some(ids)
    })
}

/// Deserialises the id of one memory.
pub fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    convert(deserializer, "one id such as k3v9qa", |value| {
        let text = scalar(value)?;
        let is_one = ids_of(&text).len() < 2
            && ids_in(&text).len() < 2
            && text.chars().count() <= ITEM_CHARS_MAX;
        is_one.then(|| Some(id_of(&text)))
    })
}

/// Deserialises a kind of memory.
pub fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kind>, D::Error> {
    convert(deserializer, &format!("one of {}", Kind::ALL.map(Kind::name).join(", ")), |value| {
        kind_named(&scalar(value)?).map(Some)
    })
}

/// Deserialises kinds of memory; "all" is no limit.
pub fn kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Kind>, D::Error> {
    let takes = format!("some of {}", Kind::ALL.map(Kind::name).join(", "));
    convert(deserializer, &takes, |value| {
        let names = list(value, ",")?;
        match names.iter().any(|name| matches!(name.as_str(), "all" | "any" | "*")) {
            true => Some(Vec::new()),
            false => names.iter().map(|name| kind_named(name)).collect(),
        }
    })
}

/// Deserialises the number of hits on a page.
pub fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    convert(deserializer, &format!("a number from 1 to {LIMIT_MAX}"), |value| {
        let number: f64 = scalar(value)?.trim().parse().ok()?;
        Some(Some((number as usize).clamp(1, LIMIT_MAX)))
    })
}

/// Deserialises a boolean.
pub fn flag<'de, D: Deserializer<'de>, T: From<bool>>(deserializer: D) -> Result<T, D::Error> {
    convert(deserializer, "true or false", |value| {
        let text = value.as_bool().map_or_else(|| scalar(value), |flag| Some(flag.to_string()))?;
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "1" | "on" => Some(true.into()),
            "false" | "no" | "n" | "0" | "off" => Some(false.into()),
            _ => None,
        }
    })
}

/// Deserialises one of a few names.
pub fn choice<'de, D: Deserializer<'de>, T: DeserializeOwned + JsonSchema>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let names = schema::<T>().get("enum").and_then(|names| list(names, "")).unwrap_or_default();
    convert(deserializer, &format!("one of {}", names.join(", ")), |value| {
        T::deserialize(Value::String(scalar(value)?.trim().to_ascii_lowercase())).ok().map(Some)
    })
}

/// Deserialises the numbers of turns: `5`, `3-7`, `3..7`, `3 to 7`, `3, 4, 5`; `8-` is open-ended.
pub fn turns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(u32, u32)>, D::Error> {
    convert(deserializer, "numbers such as 3-7, 5 or 8-", |value| range(&lines(value)?).map(Some))
}

/// Returns the items of a list, each in one line, within the limits.
fn items<'de, D: Deserializer<'de>>(
    deserializer: D,
    what: &str,
    list: impl FnOnce(&Value) -> Option<Vec<String>>,
) -> Result<Vec<String>, D::Error> {
    let takes = format!("at most {ITEMS_MAX} {what}, each of at most {ITEM_CHARS_MAX} characters");
    convert(deserializer, &takes, |value| {
        let mut items: Vec<String> = list(value)?.iter().map(|item| one_line(item)).collect();
        items.retain(|item| !item.is_empty());
        let fits = |item: &String| item.chars().count() <= ITEM_CHARS_MAX;
        (items.len() <= ITEMS_MAX && items.iter().all(fits)).then_some(items)
    })
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

/// Returns the text of a scalar value; a list of one item counts as that item.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if items.len() == 1 => scalar(items.first()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the text of a value; items of a list become lines.
fn lines(value: &Value) -> Option<String> {
    let text = match value {
        Value::Array(items) => items.iter().map(scalar).collect::<Option<Vec<_>>>()?.join("\n"),
        value => scalar(value)?,
    };
    Some(text.trim().to_owned())
}

/// Returns the items of a list, of a JSON list in a text, or of a text with separators.
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

/// Returns a kind by its name or its plural.
fn kind_named(name: &str) -> Option<Kind> {
    let name = name.trim();
    let names = [Some(name), name.strip_suffix('s'), name.strip_suffix("es")];
    names.into_iter().flatten().find_map(Kind::from_name)
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
    use crate::request::{RecallRequest, RememberRequest, SessionsRequest};

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
        let (request, notes) = read(json!({"query": "x", "q": "y", "file": "a", "files": "b"}));
        assert_eq!(request.query.as_deref(), Some("x"));
        let note = |name: &str| format!("`{name}` was ignored: another argument means the same.");
        assert_eq!((request.paths, notes), (vec!["a".to_owned()], vec![note("q"), note("files")]));
        let (_, notes) = read(json!({"query": "x", "as_off": "today"}));
        let note = "`as_off` is unknown to `recall` and was ignored; it takes query, ids, paths, kinds, detail, \
                    as_of, history, projects, limit, cursor.";
        assert_eq!(notes, [note]);
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
