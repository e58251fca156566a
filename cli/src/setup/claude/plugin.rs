//! Throughline's Claude Code plugin. This module determines whether the client uses the hooks and the MCP server of the
//! plugin in a project.
//!
//! The client records which plugins are on in `enabledPlugins` of a settings file, and keeps a list of installed
//! plugins. A plugin given with `--plugin-dir` is in neither.

use std::path::{Path, PathBuf};

use processor::programs;
use serde_json::Value;

use super::document::{JsonDocument, remove_from};
use super::places::SettingsScope;
use super::replace;
use crate::world::World;

/// The plugin's name, after which `@` and the name of a marketplace may follow.
const NAME: &str = "throughline";

/// Scopes of the settings files that turn plugins on or off, in order of precedence.
const DECIDING: [SettingsScope; 3] =
    [SettingsScope::Local, SettingsScope::Project, SettingsScope::User];

/// The client's list of installed plugins, below its configuration folder.
const INSTALLED: &str = "plugins/installed_plugins.json";

/// Keys of a settings file: enabled or disabled plugins, and additional marketplaces.
const ENABLED: &str = "enabledPlugins";
const MARKETPLACES: &str = "extraKnownMarketplaces";

/// Folders in which the plugin's launcher (`plugin/scripts/run`) searches for a program before it searches `PATH`:
/// first those in the home, then those of the machine.
const OF_HOME: [&str; 2] = [".local/bin", ".cargo/bin"];
const OF_MACHINE: [&str; 2] = ["/usr/local/bin", "/opt/homebrew/bin"];

/// State of the plugin in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// No settings file turns the plugin on.
    Off,
    /// A settings file turns the plugin on, but the client has not installed it.
    NotInstalled {
        /// Name of the plugin with the marketplace.
        name: String,
        /// The settings file that turns the plugin on.
        settings: PathBuf,
    },
    /// The client uses the plugin.
    On {
        /// Name of the plugin with the marketplace.
        name: String,
        /// The settings file that turns the plugin on.
        settings: PathBuf,
    },
}

impl Plugin {
    /// Determines the state of the plugin in the project at `root`. An unreadable settings file is skipped; `doctor`
    /// reports it.
    pub fn find(world: &World, root: &Path) -> Self {
        let mut installed = None;
        // The first settings file that contains a name decides about this name. Several marketplaces may have a plugin
        // with Throughline's name.
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

    /// Returns whether the client uses the plugin.
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::On { .. })
    }
}

/// Removes the entries that turn the plugin on, and the marketplace with the plugin's name, from a settings file.
/// Returns whether there were any.
pub fn remove(document: &JsonDocument) -> bool {
    let Ok(root) = document.object() else { return false };
    let remove = |key| remove_from(&root, key, |name, _| is_of_name(name));
    [ENABLED, MARKETPLACES].map(remove).contains(&true)
}

/// Returns whether this is the name of the Throughline plugin or marketplace.
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

/// Returns the Throughline plugins that a settings file names, each with whether it is on.
fn switches(settings: &Path) -> Vec<(String, bool)> {
    let value = value(settings).unwrap_or_default();
    let plugins = value.get(ENABLED).and_then(Value::as_object);
    let plugins = plugins.into_iter().flatten().filter(|(name, _)| is_of_name(name));
    plugins.filter_map(|(name, is_on)| Some((name.clone(), is_on.as_bool()?))).collect()
}

/// Returns whether the client's list contains a plugin with this name that is installed for the user or this project,
/// and whose files exist.
fn is_installed(list: &Value, name: &str, root: &Path) -> bool {
    let Some(entry) = list.get("plugins").and_then(|plugins| plugins.get(name)) else {
        return false;
    };
    // Older clients write one object in place of the list of installations.
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
