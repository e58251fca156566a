//! The engine with which `gray_matter` parses front matter: the default one guesses types and does not limit aliases.

use std::collections::HashMap;

use gray_matter::engine::Engine;
use gray_matter::{Error, Matter, Pod};

use super::simple_yaml;
use super::yaml::{self, Node, Value};

/// Engine that keeps every scalar as text.
struct PlainYaml;

impl Engine for PlainYaml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        let node = yaml::read(content).map_err(|fault| Error::deserialize_error(&fault.message))?;
        Ok(pod(node))
    }
}

/// Parses the text between the fences.
pub(super) fn read(front: &str) -> Result<Pod, String> {
    simple_yaml::read(front).map_or_else(|| by_library(front), Ok)
}

/// Parses front matter of any form.
pub(super) fn by_library(front: &str) -> Result<Pod, String> {
    // Only the front matter is passed: the body is kept separately, byte for byte. The comments around it prevent
    // blanks at its ends, which are significant in YAML, from being trimmed.
    let gap = if front.is_empty() || front.ends_with('\n') { "" } else { "\n" };
    let fenced = format!("---\n#\n{front}{gap}#\n---\n");
    let entity =
        Matter::<PlainYaml>::new().parse::<Pod>(&fenced).map_err(|error| error.to_string())?;
    Ok(entity.data.unwrap_or_else(Pod::new_hash))
}

fn pod(node: Node) -> Pod {
    match node.value {
        Value::Null => Pod::Null,
        Value::Text(text) => Pod::String(text),
        Value::List(items) => Pod::Array(items.into_iter().map(pod).collect()),
        Value::Map(entries) => {
            let entries = entries.into_iter().map(|(key, node)| (key.name, pod(node)));
            Pod::Hash(entries.collect::<HashMap<_, _>>())
        }
    }
}
