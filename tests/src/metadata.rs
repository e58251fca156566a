//! Information about the packages of the workspace, from cargo's metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::environment::printed;

/// The platform whose dependencies are listed; it is the first one for which releases are built.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the packages of the workspace that each package depends on.
pub fn siblings() -> io::Result<BTreeMap<String, BTreeSet<String>>> {
    let metadata = metadata(&["--no-deps"])?;
    let packages: Vec<_> = metadata["packages"].as_array().into_iter().flatten().collect();
    let names: BTreeSet<_> = packages.iter().map(|package| text(&package["name"])).collect();
    let siblings = packages.iter().map(|package| {
        let needed = package["dependencies"].as_array().into_iter().flatten();
        let needed = needed.map(|dependency| text(&dependency["name"]));
        let name = text(&package["name"]);
        // For its tests, a package may depend on itself with other features.
        let others = needed.filter(|needed| names.contains(needed) && *needed != name);
        (name.clone(), others.collect())
    });
    Ok(siblings.collect())
}

/// Returns the packages that are linked into `package` if only this package is built, with the given flags.
pub fn linked(package: &str, flags: &[&str]) -> io::Result<BTreeSet<String>> {
    let mut command = cargo();
    command.args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
    let tree = printed(command.args(["--format", "{p}", "--package", package]).args(flags))?;
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.filter(|name| *name != package).map(str::to_owned).collect())
}

/// Returns the third-party packages from which the programs are built, with their licences.
pub fn licences() -> io::Result<BTreeMap<String, String>> {
    let metadata = metadata(&["--filter-platform", PLATFORM])?;
    let nodes = metadata["resolve"]["nodes"].as_array().cloned().unwrap_or_default();
    let nodes: BTreeMap<_, _> = nodes.iter().map(|node| (text(&node["id"]), node)).collect();
    let ours = metadata["workspace_members"].as_array().into_iter().flatten().map(text);
    let mut reached = BTreeSet::new();
    let mut open: Vec<_> = ours.collect();
    while let Some(id) = open.pop() {
        if reached.insert(id.clone())
            && let Some(node) = nodes.get(&id)
        {
            open.extend(needed_to_build(node));
        }
    }
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let theirs = packages
        .filter(|package| reached.contains(&text(&package["id"])) && !package["source"].is_null());
    Ok(theirs.map(|package| (text(&package["name"]), licence(package))).collect())
}

/// Returns the licence of a package. If the package names only a file, the first line of the file contains the licence.
fn licence(package: &Value) -> String {
    if let Some(expression) = package["license"].as_str() {
        return expression.to_owned();
    }
    let manifest = text(&package["manifest_path"]);
    let file = Path::new(&manifest).with_file_name(text(&package["license_file"]));
    let terms = std::fs::read_to_string(file).unwrap_or_default();
    let name = terms.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if name == "MIT License" { "MIT".to_owned() } else { name.to_owned() }
}

/// Returns the packages that a node of the graph needs for building or running, ignoring those that only its tests
/// need.
fn needed_to_build(node: &Value) -> Vec<String> {
    let dependencies = node["deps"].as_array().into_iter().flatten();
    let built = dependencies.filter(|dependency| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.into_iter().flatten().any(|kind| kind["kind"] != "dev")
    });
    built.map(|dependency| text(&dependency["pkg"])).collect()
}

fn metadata(arguments: &[&str]) -> io::Result<Value> {
    let mut command = cargo();
    command.args(["metadata", "--locked", "--format-version", "1"]);
    Ok(serde_json::from_str(&printed(command.args(arguments))?)?)
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
