//! Throughline's Claude Code plugin: determines whether the client runs its hooks and its MCP server in a project.
//!
//! The client records in `enabledPlugins` of a settings file which plugins are on, and keeps a list of installed ones.
//! A plugin given with `--plugin-dir` is in neither.

use std::path::{Path, PathBuf};

use processor::programs;
use serde_json::Value;

use super::document::{JsonDocument, remove_from};
use super::places::SettingsScope;
use super::replace;
use crate::world::World;

/// The plugin's name; an `@` and the marketplace may follow it.
const NAME: &str = "throughline";

/// Settings files that turn plugins on, in order of precedence.
const DECIDING: [SettingsScope; 3] =
    [SettingsScope::Local, SettingsScope::Project, SettingsScope::User];

/// The client's list of installed plugins, below its configuration folder.
const INSTALLED: &str = "plugins/installed_plugins.json";

/// Keys of a settings file: enabled or disabled plugins, and additional marketplaces.
const ENABLED: &str = "enabledPlugins";
const MARKETPLACES: &str = "extraKnownMarketplaces";

/// Folders in which the plugin's launcher (`plugin/scripts/run`) searches for a program before `PATH`.
const OF_HOME: [&str; 2] = [".local/bin", ".cargo/bin"];
const OF_MACHINE: [&str; 2] = ["/usr/local/bin", "/opt/homebrew/bin"];

/// State of the plugin in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// No settings file turns it on.
    Off,
    /// A settings file turns it on, but the client has not installed it.
    NotInstalled {
        /// Its name with the marketplace.
        name: String,
        /// The settings file.
        settings: PathBuf,
    },
    /// The client runs it.
    On {
        /// Its name with the marketplace.
        name: String,
        /// The settings file.
        settings: PathBuf,
    },
}

impl Plugin {
    /// Determines whether the plugin is on in the project at `root`. An unreadable settings file turns nothing on;
    /// `doctor` reports it.
    pub fn find(world: &World, root: &Path) -> Self {
        let mut installed = None;
        // Each settings file decides about the names that it contains; two marketplaces may have a plugin of this
        // name.
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

    /// Returns whether the client runs it.
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::On { .. })
    }
}

/// Removes the entries that turn the plugin on, and the marketplace of the same name, from a settings file. Returns
/// whether there were any.
pub fn remove(document: &JsonDocument) -> bool {
    let Ok(root) = document.object() else { return false };
    let remove = |key| remove_from(&root, key, |name, _| is_of_name(name));
    [ENABLED, MARKETPLACES].map(remove).contains(&true)
}

/// Returns whether a name is that of our plugin or marketplace.
fn is_of_name(name: &str) -> bool {
    name.split('@').next() == Some(NAME)
}

/// Returns the program that the plugin's launcher would start.
pub fn program(world: &World, name: &str) -> Option<PathBuf> {
    let of_home = OF_HOME.iter().map(|folder| world.home.join(folder));
    let of_machine = OF_MACHINE.iter().map(PathBuf::from);
    let before_path = std::env::join_paths(of_home.chain(of_machine)).ok();
    let in_path = || programs::find(world.path.as_deref(), name);
    programs::find(before_path.as_deref(), name).or_else(in_path)
}

/// Returns the plugins with our name in a settings file, and whether each is on.
fn switches(settings: &Path) -> Vec<(String, bool)> {
    let value = value(settings).unwrap_or_default();
    let plugins = value.get(ENABLED).and_then(Value::as_object);
    let plugins = plugins.into_iter().flatten().filter(|(name, _)| is_of_name(name));
    plugins.filter_map(|(name, is_on)| Some((name.clone(), is_on.as_bool()?))).collect()
}

/// Returns whether the client's list contains an installation of this name for the user or this project, whose files
/// exist.
fn is_installed(list: &Value, name: &str, root: &Path) -> bool {
    let Some(entry) = list.get("plugins").and_then(|plugins| plugins.get(name)) else {
        return false;
    };
    // Older clients list a single installation.
    let entries = entry.as_array().map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
    entries.iter().any(|entry| {
        let path = |key: &str| entry.get(key).and_then(Value::as_str).map(Path::new);
        path("projectPath").is_none_or(|project| project == root)
            && path("installPath").is_some_and(Path::is_dir)
    })
}

fn value(path: &Path) -> Option<Value> {
    let text = replace::read(path).ok()??;
    JsonDocument::parse(path, Some(&text)).ok().map(|document| document.value())
}
