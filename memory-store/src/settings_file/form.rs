//! Forms of values: the valid values of each setting, for the schema of the settings file and for the documents.

use std::ops::RangeInclusive;

/// Form of a setting's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A whole number.
    Whole {
        /// The minimum.
        least: u64,
        /// The maximum; `None` if there is none.
        most: Option<u64>,
    },
    /// A number.
    Number {
        /// The minimum.
        least: f64,
        /// The maximum.
        most: f64,
    },
    /// `true` or `false`.
    Flag,
    /// A text.
    Text,
    /// A text that is not empty.
    Name,
    /// The name of an environment variable, or an empty text.
    Variable,
    /// One of the listed texts.
    OneOf(Vec<&'static str>),
    /// A list of texts.
    Texts,
    /// A table of lists of texts, with any keys.
    Lists,
    /// A list of texts from the given ones.
    ListOf(Vec<&'static str>),
    /// A table with some of the given keys. All values have the same form.
    Map {
        /// The keys.
        keys: Vec<&'static str>,
        /// Form of each value.
        value: Box<Self>,
    },
    /// A table of settings with the given fields.
    Table(Vec<Field>),
}

impl Form {
    pub(super) fn whole<T: Copy + Into<u64>>(range: RangeInclusive<T>) -> Self {
        Self::Whole { least: (*range.start()).into(), most: Some((*range.end()).into()) }
    }

    pub(super) fn number(range: RangeInclusive<f32>) -> Self {
        Self::Number { least: f64::from(*range.start()), most: f64::from(*range.end()) }
    }

    pub(super) fn map(keys: Vec<&'static str>, value: Self) -> Self {
        Self::Map { keys, value: Box::new(value) }
    }
}

/// A setting within a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Key of the setting.
    pub name: &'static str,
    /// Form of the value.
    pub form: Form,
    /// Default in the syntax of a settings file; `None` if there is none.
    pub default: Option<&'static str>,
    /// The default as JSON; `None` if there is none.
    pub default_json: Option<serde_json::Value>,
    /// True if the table is ignored when this setting is missing.
    pub is_required: bool,
    /// Meaning of the setting, without the range of its values.
    pub meaning: &'static str,
}

impl Field {
    pub(super) fn new(
        name: &'static str,
        form: Form,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let default_json = json_of(default);
        Self { name, form, default: Some(default), default_json, is_required: false, meaning }
    }

    pub(super) fn unset(name: &'static str, form: Form, meaning: &'static str) -> Self {
        Self { name, form, default: None, default_json: None, is_required: false, meaning }
    }

    pub(super) fn required(name: &'static str, form: Form, meaning: &'static str) -> Self {
        Self { name, form, default: None, default_json: None, is_required: true, meaning }
    }
}

/// Converts a default in the syntax of a settings file to JSON.
fn json_of(default: &str) -> Option<serde_json::Value> {
    let table: toml::Table = format!("value = {default}").parse().ok()?;
    super::json(table.get("value")?)
}

/// Description of a setting, for documents and editors.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Key of the setting.
    pub name: &'static str,
    /// True if a repository may set it as well.
    pub in_repository: bool,
    /// Form of the value.
    pub form: Form,
    /// Default in the syntax of a settings file; `None` if there is none.
    pub default: Option<String>,
    /// The default as JSON.
    pub default_json: serde_json::Value,
    /// Meaning of the setting, without the range of its values.
    pub meaning: &'static str,
}
