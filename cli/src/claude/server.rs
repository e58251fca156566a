//! Our MCP server in the file where Claude Code keeps the servers of a scope.

use std::path::Path;

use jsonc_parser::cst::{CstInputValue, CstObject};
use serde_json::{Value, json};

use super::document::{Document, input};
use super::places::Scope;
use crate::failure::Result;

/// The name of the server in Claude Code.
pub const NAME: &str = "throughline";

/// The program, without its folder.
pub const PROGRAM: &str = "throughline-mcp";

const SERVERS: &str = "mcpServers";
const PROJECTS: &str = "projects";

/// Puts the server into the document, with variables that a client may not pass on by itself. Returns whether anything changed.
pub fn insert(
    document: &Document,
    scope: Scope,
    root: &Path,
    command: &str,
    env: &Value,
) -> Result<bool> {
    let entry = json!({ "type": "stdio", "command": command, "args": [], "env": env });
    if registered(document, scope, root).as_ref() == Some(&entry) {
        return Ok(false);
    }
    let top = document.object()?;
    let holder = match scope {
        Scope::User | Scope::Project => top,
        Scope::Local => {
            let projects = document.object_in(&top, PROJECTS)?;
            document.object_in(&projects, &root.display().to_string())?
        }
    };
    let servers = document.object_in(&holder, SERVERS)?;
    // In the order in which the client writes them.
    let entry = CstInputValue::Object(
        ["type", "command", "args", "env"]
            .into_iter()
            .map(|key| (key.to_owned(), input(&entry[key])))
            .collect(),
    );
    match servers.get(NAME) {
        Some(property) => property.set_value(entry),
        None => drop(servers.append(NAME, entry)),
    }
    Ok(true)
}

/// Takes the server out, and what is empty without it. Returns whether anything changed.
pub fn remove(document: &Document, scope: Scope, root: &Path) -> bool {
    let Ok(top) = document.object() else { return false };
    let Some(holder) = holder(&top, scope, root) else { return false };
    let Some(servers) = holder.object_value(SERVERS) else { return false };
    let Some(server) = servers.get(NAME) else { return false };
    server.remove();
    if servers.properties().is_empty()
        && let Some(property) = holder.get(SERVERS)
    {
        property.remove();
    }
    true
}

/// The entry of the server, if there is one.
pub fn registered(document: &Document, scope: Scope, root: &Path) -> Option<Value> {
    let top = document.object().ok()?;
    holder(&top, scope, root)?.object_value(SERVERS)?.get(NAME)?.value()?.to_serde_value()
}

fn holder(top: &CstObject, scope: Scope, root: &Path) -> Option<CstObject> {
    match scope {
        Scope::User | Scope::Project => Some(top.clone()),
        Scope::Local => top.object_value(PROJECTS)?.object_value(&root.display().to_string()),
    }
}
