//! `throughline config schema`: prints a JSON schema of the settings file for editors. The schema is generated from the
//! table that also drives the parser.

use std::io::Write;

use memory_store::settings_file::{Field, Form, describe};
use serde_json::{Map, Value, json};

use crate::failure::Result;
use crate::view;

/// Prints the schema, which contains no data of the user.
pub fn run(out: &mut dyn Write) -> Result {
    let mut properties = Map::new();
    for setting in describe() {
        let mut schema = schema(&setting.form);
        schema.insert("description".to_owned(), setting.meaning.into());
        if setting.default.is_some() {
            schema.insert("default".to_owned(), setting.default_json);
        }
        properties.insert(setting.name.to_owned(), schema.into());
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of Throughline",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    view::json(&schema, out)
}

/// Returns the schema for the form of a value.
fn schema(form: &Form) -> Map<String, Value> {
    let schema = match form {
        Form::Whole { least, most: None } => json!({ "type": "integer", "minimum": least }),
        Form::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Form::Number { least, most } => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Form::Flag => json!({ "type": "boolean" }),
        Form::Text => json!({ "type": "string" }),
        Form::Name => json!({ "type": "string", "minLength": 1 }),
        Form::Variable => json!({ "type": "string", "pattern": "^([A-Z_][A-Z0-9_]*)?$" }),
        Form::OneOf(texts) => json!({ "enum": texts }),
        Form::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Form::Lists => {
            let list = json!({ "type": "array", "items": { "type": "string" } });
            json!({ "type": "object", "additionalProperties": list })
        }
        Form::ListOf(texts) => json!({ "type": "array", "items": { "enum": texts } }),
        Form::Map { keys, value } => {
            let value = schema(value);
            let properties = keys.iter().map(|key| ((*key).to_owned(), value.clone().into()));
            table(properties.collect(), &[])
        }
        Form::Table(fields) => {
            let required: Vec<&str> =
                fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
            let properties = fields.iter().map(|field| (field.name.to_owned(), of(field)));
            table(properties.collect(), &required)
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn table(properties: Map<String, Value>, required: &[&str]) -> Value {
    let mut table =
        json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        table["required"] = required.into();
    }
    table
}

fn of(field: &Field) -> Value {
    let mut schema = schema(&field.form);
    schema.insert("description".to_owned(), field.meaning.into());
    if let Some(default) = field.default_json.clone() {
        schema.insert("default".to_owned(), default);
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_with_a_default_has_it_in_the_schema() {
        let mut seen = 0;
        for setting in describe() {
            let Form::Table(fields) = &setting.form else { continue };
            for field in fields {
                let has_default = of(field).get("default").is_some();
                assert_eq!(has_default, field.default.is_some(), "{}", field.name);
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }
}
