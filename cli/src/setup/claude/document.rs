//! A settings file of Claude Code, edited in place: unchanged parts keep their formatting, order and comments.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use crate::exit;
use crate::failure::{Failure, Result};

/// Byte order mark, which some editors on Windows write and JSON parsers reject.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Text that a new or empty file is treated as.
const EMPTY: &str = "{}\n";

/// Permits comments and trailing commas, which users write into settings, but no other extensions of JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A parsed settings file.
pub struct JsonDocument {
    root: CstRootNode,
    mark: bool,
    name: String,
}

impl JsonDocument {
    /// Parses the text of the file at `path`; the path is only used in messages. Rejects text that is not valid or not
    /// an object, since the user has to correct it.
    pub fn parse(path: &Path, text: Option<&str>) -> Result<Self> {
        let text = text.unwrap_or(EMPTY);
        let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = if text.trim().is_empty() { EMPTY } else { text };
        let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
            invalid(format!(
                "{}:{}:{}: {}",
                path.display(),
                error.line_display(),
                error.column_display(),
                error.kind()
            ))
        })?;
        let document = Self { root, mark, name: path.display().to_string() };
        document.object()?;
        Ok(document)
    }

    /// Returns the outermost object.
    pub fn object(&self) -> Result<CstObject> {
        self.root.object_value().ok_or_else(|| {
            invalid(format!("{}: the file holds something else than a JSON object", self.name))
        })
    }

    /// Returns the object with the key `key` in `parent`; creates the object if it is missing. Rejects a value of
    /// another type.
    pub fn object_in(&self, parent: &CstObject, key: &str) -> Result<CstObject> {
        parent.object_value_or_create(key).ok_or_else(|| self.unexpected(key, "an object"))
    }

    /// Returns the failure for the key `key` if its value does not have the expected type.
    pub fn unexpected(&self, key: &str, expected: &str) -> Failure {
        invalid(format!("{}: `{key}` is not {expected}", self.name))
    }

    /// Returns the current text.
    pub fn text(&self) -> String {
        let mark = if self.mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{}", self.root)
    }

    /// Returns the whole document as a value.
    pub fn value(&self) -> Value {
        self.root.to_serde_value().unwrap_or(Value::Null)
    }
}

/// Removes the members of the object or list `key` whose name (empty in a list) and value match, and `key` itself if it
/// is empty then. Returns whether there were any.
pub fn remove_from(holder: &CstObject, key: &str, is_ours: impl Fn(&str, &Value) -> bool) -> bool {
    let Some(value) = holder.get(key).and_then(|property| property.value()) else { return false };
    let members: Vec<CstNode> = match (value.as_object(), value.as_array()) {
        (Some(object), _) => object.properties().into_iter().map(CstNode::from).collect(),
        (None, list) => list.map(|list| list.elements()).unwrap_or_default(),
    };
    let ours = members.into_iter().filter(|member| {
        let property = member.as_object_prop();
        let name = property.as_ref().and_then(|property| property.decoded_name());
        let value = property.map_or(Some(member.clone()), |property| property.value());
        let value = value.and_then(|value| value.to_serde_value()).unwrap_or_default();
        is_ours(&name.unwrap_or_default(), &value)
    });
    let ours: Vec<CstNode> = ours.collect();
    let any = !ours.is_empty();
    ours.into_iter().for_each(CstNode::remove);
    if any {
        remove_if_empty(holder, key);
    }
    any
}

/// Removes a property whose object or list is empty.
pub fn remove_if_empty(holder: &CstObject, name: &str) {
    let Some(property) = holder.get(name) else { return };
    let value = property.value().and_then(|value| value.to_serde_value());
    if matches!(&value, Some(Value::Object(entries)) if entries.is_empty())
        || matches!(&value, Some(Value::Array(items)) if items.is_empty())
    {
        property.remove();
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(message)
        .code(exit::INVALID)
        .hint("Correct the file and run the command again; it was left as it is.")
}

/// Converts a JSON value into a form that can be inserted.
pub fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => CstInputValue::Object(
            entries.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}
