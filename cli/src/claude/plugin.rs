//! Throughline's plugin of Claude Code: whether the client runs its hooks and its MCP server in a project.
//!
//! The client writes into `enabledPlugins` of a settings file which plugins are on, and keeps a list of those that it
//! installed. A plugin that was given with `--plugin-dir` stands in neither.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::Document;
use super::places::Scope;
use super::replace;
use crate::world::World;

/// The plugin's name; the marketplace that it comes from follows behind an `@`.
const NAME: &str = "throughline";

/// Settings files that say which plugins are on, the one that decides first.
const DECIDING: [Scope; 3] = [Scope::Local, Scope::Project, Scope::User];

/// The client's list of installed plugins, below its configuration folder.
const INSTALLED: &str = "plugins/installed_plugins.json";

/// Folders in which the plugin's launcher (`plugin/scripts/run`) looks for a program before it looks in `PATH`.
const OF_HOME: [&str; 2] = [".local/bin", ".cargo/bin"];
const OF_MACHINE: [&str; 2] = ["/usr/local/bin", "/opt/homebrew/bin"];

/// State of the plugin in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// No settings file turns it on.
    Off,
    /// A settings file turns it on, but the client has not installed it.
    NotInstalled {
        /// Its name with the marketplace's.
        name: String,
        /// The settings file.
        settings: PathBuf,
    },
    /// The client runs it.
    On {
        /// Its name with the marketplace's.
        name: String,
        /// The settings file.
        settings: PathBuf,
    },
}

impl Plugin {
    /// Looks whether the plugin is on in the project at `root`. A settings file that cannot be read turns nothing on;
    /// `doctor` names it.
    pub fn find(world: &World, root: &Path) -> Self {
        let mut installed = None;
        // A settings file decides about the names in it; two marketplaces may have a plugin of this name.
        let mut decided: Vec<String> = Vec::new();
        let mut missing = Self::Off;
        for scope in DECIDING {
            let settings = world.claude.settings(scope, root);
            for (name, is_on) in switches(&settings) {
                if decided.contains(&name) {
                    continue;
                }
                decided.push(name.clone());
                if !is_on {
                    continue;
                }
                let installed = installed.get_or_insert_with(|| {
                    value(&world.claude.config.join(INSTALLED)).unwrap_or_default()
                });
                if is_installed(installed, &name, root) {
                    return Self::On { name, settings };
                }
                missing = Self::NotInstalled { name, settings: settings.clone() };
            }
        }
        missing
    }

    /// Whether the client runs it.
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::On { .. })
    }
}

/// The program that the plugin's launcher would start.
pub fn program(world: &World, name: &str) -> Option<PathBuf> {
    let of_home = OF_HOME.iter().map(|folder| world.home.join(folder));
    let of_machine = OF_MACHINE.iter().map(PathBuf::from);
    let path: Vec<PathBuf> = world.path.iter().flat_map(std::env::split_paths).collect();
    of_home.chain(of_machine).chain(path).map(|folder| folder.join(name)).find(|it| it.is_file())
}

/// The plugins of our name in a settings file, and whether each is on.
fn switches(settings: &Path) -> Vec<(String, bool)> {
    let value = value(settings).unwrap_or_default();
    let plugins = value.get("enabledPlugins").and_then(Value::as_object);
    let of_name = |name: &str| name.split('@').next() == Some(NAME);
    let plugins = plugins.into_iter().flatten().filter(|(name, _)| of_name(name));
    plugins.filter_map(|(name, is_on)| Some((name.clone(), is_on.as_bool()?))).collect()
}

/// Whether the client's list has an installation of this name for the user, or for this project, whose files are there.
fn is_installed(list: &Value, name: &str, root: &Path) -> bool {
    let Some(entry) = list.get("plugins").and_then(|plugins| plugins.get(name)) else {
        return false;
    };
    // Older clients list one installation, not several.
    let entries = entry.as_array().map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
    entries.iter().any(|entry| {
        let path = |key: &str| entry.get(key).and_then(Value::as_str).map(Path::new);
        path("projectPath").is_none_or(|project| project == root)
            && path("installPath").is_some_and(Path::is_dir)
    })
}

fn value(path: &Path) -> Option<Value> {
    let text = replace::read(path).ok()??;
    Document::parse(path, Some(&text)).ok().map(|document| document.value())
}
