//! Rules that let Claude use our tools that change nothing without asking each time.

use jsonc_parser::cst::CstNode;

use super::document::{Document, input};
use crate::failure::Result;

/// The rules: one for each tool that changes nothing.
pub const RULES: [&str; 3] =
    ["mcp__throughline__recall", "mcp__throughline__search_sessions", "mcp__throughline__status"];

const PERMISSIONS: &str = "permissions";
const ALLOW: &str = "allow";

/// Puts the rules into the document, each once. Returns whether anything changed.
pub fn insert(document: &Document) -> Result<bool> {
    let there = there(document);
    let missing: Vec<_> = RULES.iter().filter(|rule| !there.iter().any(|it| it == *rule)).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let permissions = document.object_in(&document.object()?, PERMISSIONS)?;
    let allow = permissions
        .array_value_or_create(ALLOW)
        .ok_or_else(|| document.unexpected("permissions.allow", "a list"))?;
    allow.ensure_multiline();
    for rule in missing {
        allow.append(input(&(*rule).into()));
    }
    Ok(true)
}

/// Takes the rules out, and what is empty without them. Returns whether there were any.
pub fn remove(document: &Document) -> bool {
    let Ok(root) = document.object() else { return false };
    let Some(permissions) = root.object_value(PERMISSIONS) else { return false };
    let Some(allow) = permissions.array_value(ALLOW) else { return false };
    let ours: Vec<CstNode> = allow
        .elements()
        .into_iter()
        .filter(|rule| rule.to_serde_value().is_some_and(|rule| is_ours(rule.as_str())))
        .collect();
    if ours.is_empty() {
        return false;
    }
    ours.into_iter().for_each(CstNode::remove);
    if allow.elements().is_empty()
        && let Some(property) = permissions.get(ALLOW)
    {
        property.remove();
    }
    if permissions.properties().is_empty()
        && let Some(property) = root.get(PERMISSIONS)
    {
        property.remove();
    }
    true
}

fn is_ours(rule: Option<&str>) -> bool {
    rule.is_some_and(|rule| RULES.contains(&rule))
}

fn there(document: &Document) -> Vec<String> {
    let value = document.value();
    let rules = value[PERMISSIONS][ALLOW].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(Path::new("settings.json"), Some(text)).unwrap()
    }

    #[test]
    fn rules_come_in_once_and_go_without_a_trace() {
        for text in [
            "{}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls)\"\n    ]\n  }\n}\n",
        ] {
            let with = document(text);
            assert!(insert(&with).unwrap() && !insert(&with).unwrap());
            for rule in RULES {
                assert_eq!(with.text().matches(rule).count(), 1, "{}", with.text());
            }
            assert!(remove(&with) && !remove(&with));
            assert_eq!(with.value(), document(text).value(), "{}", with.text());
        }
        assert!(insert(&document("{\"permissions\": {\"allow\": \"all\"}}")).is_err());
    }
}
