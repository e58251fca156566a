//! Throughline's MCP server in Claude Code's file of servers for a scope.

use std::path::Path;

use jsonc_parser::cst::CstObject;
use serde_json::{Value, json};

use super::document::{JsonDocument, input, remove_from, remove_if_empty};
use super::places::SettingsScope;
use crate::failure::Result;

/// The name of the server in Claude Code.
pub const NAME: &str = "throughline";

/// File name of the server's program.
pub const PROGRAM: &str = "throughline-mcp";

const SERVERS: &str = "mcpServers";
const PROJECTS: &str = "projects";

/// Inserts the server into the document, with environment variables that the client may not pass on. Returns whether
/// the document changed.
pub fn insert(
    document: &JsonDocument,
    scope: SettingsScope,
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
        SettingsScope::User | SettingsScope::Project => top,
        SettingsScope::Local => {
            let projects = document.object_in(&top, PROJECTS)?;
            document.object_in(&projects, &root.display().to_string())?
        }
    };
    let servers = document.object_in(&holder, SERVERS)?;
    let entry = input(&entry);
    match servers.get(NAME) {
        Some(property) => property.set_value(entry),
        None => drop(servers.append(NAME, entry)),
    }
    Ok(true)
}

/// Removes the server, and the objects that are empty without it. Returns whether the document changed.
pub fn remove(document: &JsonDocument, scope: SettingsScope, root: &Path) -> bool {
    let Ok(top) = document.object() else { return false };
    let Some(holder) = holder(&top, scope, root) else { return false };
    // Another server may have this name.
    if !remove_from(&holder, SERVERS, |name, entry| name == NAME && starts_program(entry)) {
        return false;
    }
    remove_empty_projects(&top, |name| name == root.to_string_lossy());
    true
}

/// Removes every server that starts the program, under any name and for any project, and the objects that are empty
/// without it. Returns whether there was one.
pub fn remove_all(document: &JsonDocument) -> bool {
    let Ok(top) = document.object() else { return false };
    let remove =
        |holder: &CstObject| remove_from(holder, SERVERS, |_, entry| starts_program(entry));
    let of_user = remove(&top);
    let projects = top.object_value(PROJECTS).map(|projects| projects.properties());
    let projects = projects
        .into_iter()
        .flatten()
        .filter(|project| project.object_value().is_some_and(|holder| remove(&holder)));
    let names: Vec<String> = projects.filter_map(|project| project.decoded_name()).collect();
    remove_empty_projects(&top, |name| names.iter().any(|changed| changed == name));
    of_user || !names.is_empty()
}

/// Returns the names of servers that start the program through another program, such as a shell.
pub fn wrapped(document: &JsonDocument) -> Vec<String> {
    let value = document.value();
    let projects = value[PROJECTS].as_object().into_iter().flat_map(|projects| projects.values());
    let servers = [&value].into_iter().chain(projects).filter_map(|it| it[SERVERS].as_object());
    let wrapped = servers
        .flatten()
        .filter(|(_, entry)| !starts_program(entry) && entry["args"].to_string().contains(PROGRAM));
    wrapped.map(|(name, _)| name.clone()).collect()
}

/// Removes entries of projects that are empty after our servers were removed.
fn remove_empty_projects(top: &CstObject, is_changed: impl Fn(&str) -> bool) {
    let Some(projects) = top.object_value(PROJECTS) else { return };
    for project in projects.properties() {
        if let Some(name) = project.decoded_name().filter(|name| is_changed(name)) {
            remove_if_empty(&projects, &name);
        }
    }
    remove_if_empty(top, PROJECTS);
}

/// Returns whether a server's command is our program, by path or by name.
fn starts_program(entry: &Value) -> bool {
    let command = Path::new(entry["command"].as_str().unwrap_or_default());
    match command.file_name().and_then(|name| name.to_str()) {
        Some(PROGRAM) => true,
        Some("throughline") => entry["args"][0] == "mcp",
        Some(_) | None => false,
    }
}

/// Returns the entry of the server in the document.
pub fn registered(document: &JsonDocument, scope: SettingsScope, root: &Path) -> Option<Value> {
    let top = document.object().ok()?;
    holder(&top, scope, root)?.object_value(SERVERS)?.get(NAME)?.value()?.to_serde_value()
}

fn holder(top: &CstObject, scope: SettingsScope, root: &Path) -> Option<CstObject> {
    match scope {
        SettingsScope::User | SettingsScope::Project => Some(top.clone()),
        SettingsScope::Local => {
            top.object_value(PROJECTS)?.object_value(&root.display().to_string())
        }
    }
}
