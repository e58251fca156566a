//! Arguments as models write them: one item in the place of a list, digits in that of a number, `null` for what is
//! missing, and names that mean the same. A table of each tool's arguments is read by the schema, by whoever reads
//! the arguments, and by the messages that say what is wrong.

use std::collections::BTreeMap;

use memory_store::Kind;
use serde_json::{Map, Value, json};

use crate::printed::{id_of, ids_in, ids_of};

use crate::backend::Failure;

/// Characters of what was given that a message repeats.
const GIVEN_CHARS_MAX: usize = 40;

/// An argument of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Names that models use for it, too.
    pub aliases: &'static [&'static str],
    /// Type of its value.
    pub takes: Takes,
    /// Description for the schema; an argument without one is taken and not offered.
    pub about: &'static str,
}

/// Type of an argument's value.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A text; the items of a list are its lines.
    Text,
    /// A text, or a list of several.
    TextOrTexts,
    /// The id of a memory.
    Id,
    /// Ids of memories.
    Ids,
    /// A list of texts that have no comma in them.
    Words,
    /// A list of texts.
    Texts,
    /// One of these.
    One(&'static [&'static str]),
    /// A kind of memory.
    Kind,
    /// Kinds of memory.
    Kinds,
    /// A number from 1 to this.
    Number(i64),
    /// Yes or no.
    Flag,
}

impl Takes {
    /// Says what it is, for a message.
    fn told(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::TextOrTexts => "a text or a list of texts".to_owned(),
            Self::Id => "one id such as k3v9qa".to_owned(),
            Self::Ids => "a list of ids such as k3v9qa".to_owned(),
            Self::Words | Self::Texts => "a list of texts".to_owned(),
            Self::One(choices) => format!("one of {}", choices.join(", ")),
            Self::Kind => format!("one of {}", kind_names().join(", ")),
            Self::Kinds => format!("some of {}", kind_names().join(", ")),
            Self::Number(most) => format!("a number from 1 to {most}"),
            Self::Flag => "true or false".to_owned(),
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::Text | Self::TextOrTexts | Self::Id => json!({"type": "string"}),
            Self::Words | Self::Texts | Self::Ids => {
                json!({"type": "array", "items": {"type": "string"}})
            }
            Self::One(choices) => json!({"type": "string", "enum": choices}),
            Self::Kind => json!({"type": "string", "enum": kind_names()}),
            Self::Kinds => {
                json!({"type": "array", "items": {"type": "string", "enum": kind_names()}})
            }
            Self::Number(_) => json!({"type": "integer"}),
            Self::Flag => json!({"type": "boolean"}),
        }
    }
}

/// Returns the schema of a tool's arguments, of which `required` must be given.
pub fn schema(arguments: &[Argument], required: &[&str]) -> Map<String, Value> {
    let offered = arguments.iter().filter(|argument| !argument.about.is_empty());
    let properties: Map<String, Value> = offered
        .map(|argument| {
            let mut schema = argument.takes.schema();
            schema["description"] = argument.about.into();
            (argument.name.to_owned(), schema)
        })
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// A value as its argument takes it.
#[derive(Clone, Debug, PartialEq)]
enum Meant {
    Text(String),
    List(Vec<String>),
    Kinds(Vec<Kind>),
    Number(i64),
    Flag(bool),
}

/// The arguments of a call, made ready.
#[derive(Clone, Debug, Default)]
pub struct Given {
    values: BTreeMap<&'static str, Meant>,
    /// Arguments that were given as nothing: as `null`, or an empty text or list.
    emptied: Vec<&'static str>,
    /// Remarks about the arguments, for the caller.
    pub notes: Vec<String>,
}

impl Given {
    /// Reads the arguments of a call of `tool`.
    ///
    /// # Errors
    /// When one of them cannot be meant as what it takes; the message names it and says what that is.
    pub fn read(
        tool: &str,
        arguments: &[Argument],
        object: Option<Map<String, Value>>,
    ) -> Result<Self, Failure> {
        let mut object = object.unwrap_or_default();
        let mut given = Self::default();
        for argument in arguments {
            let names = std::iter::once(&argument.name).chain(argument.aliases);
            let values = names.filter_map(|name| Some((*name, object.remove(*name)?)));
            let (values, empty): (Vec<_>, Vec<_>) = values.partition(|(_, value)| !is_empty(value));
            let mut values = values.into_iter();
            let Some((name, value)) = values.next() else {
                given.emptied.extend((!empty.is_empty()).then_some(argument.name));
                continue;
            };
            for (other, _) in values {
                given.notes.push(format!("`{other}` was ignored: it means the same as `{name}`."));
            }
            let meant = meant(argument.takes, &value).ok_or_else(|| {
                let shown: String = match &value {
                    Value::String(text) => text.chars().take(GIVEN_CHARS_MAX).collect(),
                    value => value.to_string().chars().take(GIVEN_CHARS_MAX).collect(),
                };
                Failure::Request(format!(
                    "`{}` takes {}, and not `{shown}`",
                    argument.name,
                    argument.takes.told()
                ))
            })?;
            given.values.insert(argument.name, meant);
        }
        object.retain(|_, value| !value.is_null());
        given.note_unknown(tool, arguments, &object);
        Ok(given)
    }

    fn note_unknown(&mut self, tool: &str, arguments: &[Argument], rest: &Map<String, Value>) {
        if rest.is_empty() {
            return;
        }
        let mut named: Vec<&String> = rest.keys().collect();
        named.sort();
        let named: Vec<String> = named
            .into_iter()
            .take(8)
            .map(|name| format!("`{}`", name.chars().take(GIVEN_CHARS_MAX).collect::<String>()))
            .collect();
        let known = arguments.iter().filter(|argument| !argument.about.is_empty());
        let known: Vec<&str> = known.map(|argument| argument.name).collect();
        let takes = match known.as_slice() {
            [] => "takes none".to_owned(),
            known => format!("takes {}", known.join(", ")),
        };
        let (are, were) = if named.len() == 1 { ("is", "was") } else { ("are", "were") };
        self.notes.push(format!(
            "{} {are} unknown to `{tool}` and {were} ignored; it {takes}.",
            named.join(", ")
        ));
    }

    /// The text of an argument; `None` where it is missing or empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Meant::Text(text)) => Some(text.trim()).filter(|text| !text.is_empty()),
            Some(_) | None => None,
        }
    }

    /// Returns the names of the arguments that were given.
    pub fn names(&self) -> Vec<&'static str> {
        self.values.keys().copied().collect()
    }

    /// Returns whether an argument was given as nothing.
    pub fn is_emptied(&self, name: &str) -> bool {
        self.emptied.contains(&name)
    }

    /// The items of a list; empty where it is missing.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(Meant::List(list)) => list.clone(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Kinds of memory.
    pub fn kinds(&self, name: &str) -> Vec<Kind> {
        match self.values.get(name) {
            Some(Meant::Kinds(kinds)) => kinds.clone(),
            Some(_) | None => Vec::new(),
        }
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.values.get(name) {
            Some(Meant::Number(number)) => Some(*number),
            Some(_) | None => None,
        }
    }

    /// A yes or no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.values.get(name) {
            Some(Meant::Flag(flag)) => Some(*flag),
            Some(_) | None => None,
        }
    }

    /// Returns a mark of what is asked, the page apart: a cursor belongs to one question.
    pub fn question(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, meant) in &self.values {
            if !matches!(*name, "cursor" | "limit" | "format" | "detail") {
                hasher.update(format!("{name}={meant:?};").as_bytes());
            }
        }
        hasher.finalize().to_hex()[..6].to_owned()
    }
}

fn meant(takes: Takes, value: &Value) -> Option<Meant> {
    match takes {
        Takes::Text => text(value).map(Meant::Text),
        Takes::Id => {
            let text = scalar(value)?;
            let is_one = ids_of(&text).len() < 2 && ids_in(&text.replace(" and ", ", ")).len() < 2;
            is_one.then(|| Meant::Text(id_of(&text)))
        }
        Takes::Ids => ids(value).map(Meant::List),
        Takes::Words => list(value, Some(",")).map(Meant::List),
        // A name of a file may have a comma in it, and hardly a space behind that.
        Takes::Texts | Takes::TextOrTexts => list(value, Some(", ")).map(Meant::List),
        Takes::One(choices) => {
            let asked = scalar(value)?.trim().to_ascii_lowercase();
            choices.contains(&asked.as_str()).then_some(Meant::Text(asked))
        }
        Takes::Kind => kind(&scalar(value)?).map(|kind| Meant::Kinds(vec![kind])),
        Takes::Kinds => {
            let mut value = value.clone();
            if let Value::Array(items) = &mut value {
                items.retain(|item| !item.is_null());
            }
            let names = list(&value, Some(","))?;
            if names.iter().any(|name| ALL_KINDS.contains(&name.to_ascii_lowercase().as_str())) {
                return Some(Meant::Kinds(Vec::new()));
            }
            names.iter().map(|name| kind(name)).collect::<Option<_>>().map(Meant::Kinds)
        }
        Takes::Number(most) => number(value).map(|number| Meant::Number(number.clamp(1, most))),
        Takes::Flag => flag(value).map(Meant::Flag),
    }
}

/// Returns whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The text of a value that is one; a list of one is one.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) if items.len() == 1 => scalar(items.first()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text of a value; the items of a list are its lines.
fn text(value: &Value) -> Option<String> {
    let Value::Array(items) = value else { return scalar(value) };
    let lines: Option<Vec<String>> = items.iter().map(scalar).collect();
    lines.map(|lines| lines.join("\n"))
}

/// Ids of memories, each once, however they are written.
fn ids(value: &Value) -> Option<Vec<String>> {
    let is_json = |text: &str| serde_json::from_str::<Vec<Value>>(text).is_ok();
    let items = match value {
        Value::String(text) if !is_json(text) => vec![text.clone()],
        value => list(value, None)?,
    };
    let mut ids = Vec::new();
    for id in items.iter().flat_map(|item| ids_of(item)) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Some(ids)
}

/// The items of a list, of its text as JSON, or of a text with separators.
fn list(value: &Value, separator: Option<&str>) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(scalar).collect(),
        Value::String(text) => {
            if text.trim_start().starts_with('[')
                && let Ok(Value::Array(items)) = serde_json::from_str(text)
            {
                return items.iter().map(scalar).collect();
            }
            let split: Vec<&str> = match separator {
                Some(separator) => text.split(separator).collect(),
                None => vec![text],
            };
            let items = split.into_iter().map(str::trim).filter(|item| !item.is_empty());
            Some(items.map(str::to_owned).collect())
        }
        Value::Number(_) => Some(vec![scalar(value)?]),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

/// Words for no limit by kind.
const ALL_KINDS: [&str; 3] = ["all", "any", "*"];

fn kind_names() -> [&'static str; 12] {
    Kind::ALL.map(Kind::name)
}

/// A kind by its name, or by that of many of them.
fn kind(name: &str) -> Option<Kind> {
    let name = name.trim();
    let one = |end: &str| Kind::from_name(name.strip_suffix(end)?);
    Kind::from_name(name).or_else(|| one("s")).or_else(|| one("es"))
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            // The caller clamps to its own bounds.
            Some(float.clamp(-1e15, 1e15) as i64)
        }),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| number(&serde_json::from_str(text).ok()?))
        }
        Value::Array(items) if items.len() == 1 => number(items.first()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => Some(number.as_f64()? != 0.0),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "1" | "on" => Some(true),
            "false" | "no" | "n" | "0" | "off" | "" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENTS: [Argument; 9] = [
        Argument { name: "id", aliases: &[], takes: Takes::Id, about: "" },
        Argument { name: "ids", aliases: &[], takes: Takes::Ids, about: "" },
        Argument { name: "file", aliases: &["files"], takes: Takes::TextOrTexts, about: "" },
        Argument { name: "kinds", aliases: &["kind"], takes: Takes::Kinds, about: "Kinds." },
        Argument { name: "query", aliases: &["q"], takes: Takes::Text, about: "Words." },
        Argument { name: "tags", aliases: &["tag"], takes: Takes::Words, about: "Tags." },
        Argument { name: "limit", aliases: &[], takes: Takes::Number(50), about: "How many." },
        Argument { name: "pin", aliases: &[], takes: Takes::Flag, about: "Whether." },
        Argument { name: "scope", aliases: &[], takes: Takes::One(&["a", "b"]), about: "" },
    ];

    fn read(object: Value) -> Result<Given, String> {
        Given::read("recall", &ARGUMENTS, object.as_object().cloned()).map_err(|failure| {
            match failure {
                Failure::Request(message) => message,
                other => format!("{other:?}"),
            }
        })
    }

    #[test]
    fn what_models_write_is_taken_as_it_is_meant() {
        let given = read(json!({"q": ["x"], "tag": "a, b", "limit": "5", "pin": "yes"})).unwrap();
        assert_eq!(given.text("query"), Some("x"));
        assert_eq!(given.list("tags"), ["a", "b"]);
        assert_eq!((given.number("limit"), given.flag("pin")), (Some(5), Some(true)));
        assert_eq!(given.notes, Vec::<String>::new());
        let given = read(json!({"kind": "Fixes, todo"})).unwrap();
        assert_eq!(given.kinds("kinds"), [Kind::Fix, Kind::Task]);
        for (limit, meant) in [(json!(5.0), 5), (json!("7.0"), 7), (json!(900), 50), (json!(-3), 1)]
        {
            assert_eq!(read(json!({"limit": limit})).unwrap().number("limit"), Some(meant));
        }
        assert_eq!(read(json!({"tags": "[\"a\", \"b, c\"]"})).unwrap().list("tags"), ["a", "b, c"]);
        let given = read(json!({"q": ["a", "b", 3], "files": ["x", "y"], "kind": "all"})).unwrap();
        assert_eq!(given.text("query"), Some("a\nb\n3"));
        assert_eq!((given.list("file").len(), given.kinds("kinds").len()), (2, 0));
        assert_eq!(read(json!({"file": "a, b"})).unwrap().list("file"), ["a", "b"]);
        assert_eq!(read(json!({"file": "a,b"})).unwrap().list("file"), ["a,b"]);
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
            assert_eq!(read(json!({"ids": written})).unwrap().list("ids"), meant, "{written}");
        }
        assert_eq!(read(json!({"id": "[fact k3v9qa] One"})).unwrap().text("id"), Some("k3v9qa"));
        assert_eq!(read(json!({"tags": null, "query": null})).unwrap().text("query"), None);
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_what_is_taken() {
        let ids_given = ["k3v9qa", "8h248h"];
        for (object, told) in [
            (json!({"limit": "many"}), "`limit` takes a number from 1 to 50, and not `many`"),
            (json!({"query": {"a": 1}}), "`query` takes a text, and not `{\"a\":1}`"),
            (
                json!({"kinds": "poem"}),
                "`kinds` takes some of decision, convention, preference, fact, procedure, command, \
                 gotcha, fix, failed-approach, task, session, synthesis, and not `poem`",
            ),
            (
                json!({"id": ids_given}),
                "`id` takes one id such as k3v9qa, and not `[\"k3v9qa\",\"8h248h\"]`",
            ),
            (json!({"scope": "c"}), "`scope` takes one of a, b, and not `c`"),
            (json!({"pin": "perhaps"}), "`pin` takes true or false, and not `perhaps`"),
        ] {
            assert_eq!(read(object).unwrap_err(), told);
        }
    }

    #[test]
    fn unknown_arguments_are_named() {
        let given = read(json!({"query": "x", "as_off": "today"})).unwrap();
        let told = "`as_off` is unknown to `recall` and was ignored; it takes kinds, query, tags, limit, pin.";
        assert_eq!(given.notes, [told]);
    }

    #[test]
    fn an_alias_beside_its_name_is_named_and_what_is_empty_is_missing() {
        let given = read(json!({"query": "x", "q": "y", "file": ["a"], "files": "b"})).unwrap();
        assert_eq!((given.text("query"), given.list("file")), (Some("x"), vec!["a".to_owned()]));
        let told = |other: &str, name: &str| {
            format!("`{other}` was ignored: it means the same as `{name}`.")
        };
        assert_eq!(given.notes, [told("files", "file"), told("q", "query")]);
        for empty in [json!(""), json!(" "), json!([]), json!([""]), Value::Null] {
            let asked =
                json!({"query": empty, "q": "y", "limit": empty, "kind": empty, "scope": empty});
            let given = read(asked).unwrap();
            assert_eq!((given.names(), given.text("query")), (vec!["query"], Some("y")), "{empty}");
            assert!(given.is_emptied("limit") && given.notes.is_empty(), "{:?}", given.notes);
        }
    }

    #[test]
    fn a_question_is_the_same_on_every_page() {
        let question = |object| read(object).unwrap().question();
        let first = question(json!({"query": "x"}));
        assert_eq!(first, question(json!({"q": "x", "limit": 3})));
        assert_ne!(first, question(json!({"query": "y"})));
    }
}
