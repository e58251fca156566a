//! The engine by which `gray_matter` parses front matter. The crate's own engine guesses types and does not limit
//! aliases.

use std::collections::HashMap;

use gray_matter::engine::Engine;
use gray_matter::{Error, Matter, Pod};

use super::yaml::{self, YamlNode, YamlValue};

/// Engine that reads every scalar as text.
struct PlainYaml;

impl Engine for PlainYaml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        let node = yaml::read(content).map_err(|fault| Error::deserialize_error(&fault.message))?;
        Ok(pod(node))
    }
}

/// Parses the text between the fences.
pub(super) fn read(front: &str) -> Result<Pod, String> {
    // Only the front matter is passed to the parser, because the body must be preserved byte for byte. The comments
    // before and after the front matter prevent blanks at its ends from being trimmed, because these are significant in
    // YAML.
    let gap = if front.is_empty() || front.ends_with('\n') { "" } else { "\n" };
    let fenced = format!("---\n#\n{front}{gap}#\n---\n");
    let entity =
        Matter::<PlainYaml>::new().parse::<Pod>(&fenced).map_err(|error| error.to_string())?;
    Ok(entity.data.unwrap_or_else(Pod::new_hash))
}

fn pod(node: YamlNode) -> Pod {
    match node.value {
        YamlValue::Null => Pod::Null,
        YamlValue::Text(text) => Pod::String(text),
        YamlValue::List(items) => Pod::Array(items.into_iter().map(pod).collect()),
        YamlValue::Map(entries) => {
            let entries = entries.into_iter().map(|(key, node)| (key.name, pod(node)));
            Pod::Hash(entries.collect::<HashMap<_, _>>())
        }
    }
}
