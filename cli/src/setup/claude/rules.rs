//! Rules that let Claude use Throughline's read-only tools without asking the user each time.

use super::document::{JsonDocument, input, remove_from, remove_if_empty};
use crate::failure::Result;

/// The read-only tools; each has a rule.
const TOOLS: [&str; 3] = ["recall", "search_sessions", "status"];

/// Prefix of the tools' names in the server that `init` registers.
pub const OF_SERVER: &str = "mcp__throughline__";
/// Prefix of the tools' names in the plugin's server.
pub const OF_PLUGIN: &str = "mcp__plugin_throughline_throughline__";

const PERMISSIONS: &str = "permissions";
const ALLOW: &str = "allow";

/// Inserts the missing rules for the tools of one server into the document. Returns whether the document changed.
pub fn insert(document: &JsonDocument, prefix: &str) -> Result<bool> {
    let there = there(document);
    let rules = TOOLS.map(|tool| format!("{prefix}{tool}"));
    let missing: Vec<_> = rules.iter().filter(|rule| !there.contains(rule)).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let permissions = document.object_in(&document.object()?, PERMISSIONS)?;
    let allow = permissions
        .array_value_or_create(ALLOW)
        .ok_or_else(|| document.unexpected("permissions.allow", "a list"))?;
    allow.ensure_multiline();
    for rule in missing {
        allow.append(input(&rule.as_str().into()));
    }
    Ok(true)
}

/// Removes the rules, and the objects that are empty without them. Returns whether there were any.
pub fn remove(document: &JsonDocument) -> bool {
    let Ok(root) = document.object() else { return false };
    let Some(permissions) = root.object_value(PERMISSIONS) else { return false };
    if !remove_from(&permissions, ALLOW, |_, rule| is_ours(rule.as_str())) {
        return false;
    }
    remove_if_empty(&root, PERMISSIONS);
    true
}

fn is_ours(rule: Option<&str>) -> bool {
    let tool = |prefix| rule.and_then(|rule| rule.strip_prefix(prefix));
    [OF_SERVER, OF_PLUGIN].into_iter().filter_map(tool).any(|tool| TOOLS.contains(&tool))
}

fn there(document: &JsonDocument) -> Vec<String> {
    let value = document.value();
    let rules = value[PERMISSIONS][ALLOW].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn document(text: &str) -> JsonDocument {
        JsonDocument::parse(Path::new("settings.json"), Some(text)).unwrap()
    }

    #[test]
    fn rules_come_in_once_and_go_without_a_trace() {
        for text in [
            "{}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  }\n}\n",
        ] {
            let with = document(text);
            for prefix in [OF_SERVER, OF_PLUGIN] {
                assert!(insert(&with, prefix).unwrap() && !insert(&with, prefix).unwrap());
                for tool in TOOLS {
                    let rule = format!("\"{prefix}{tool}\"");
                    assert_eq!(with.text().matches(&rule).count(), 1, "{}", with.text());
                }
            }
            assert!(remove(&with) && !remove(&with));
            assert_eq!(with.value(), document(text).value(), "{}", with.text());
        }
        assert!(insert(&document("{\"permissions\": {\"allow\": \"all\"}}"), OF_SERVER).is_err());
    }
}
