//! Checks of `doctor` for hooks and an MCP server that the Claude Code plugin provides.

use std::path::Path;

use super::check::HealthCheck;
use crate::setup::claude::places::SettingsScope;
use crate::setup::claude::plugin::{Plugin, program};
use crate::setup::claude::{hooks, register, server};
use crate::world::World;

/// Reports the source of the hooks if no settings file contains them.
pub fn hooks(name: &'static str, plugin: &Plugin, world: &World, root: &Path) -> HealthCheck {
    of_plugin(name, plugin, HealthCheck::bad).unwrap_or_else(|| {
        match register::unwritable(world, SettingsScope::User, root) {
            Some(failure) => {
                let seen = format!("not registered: {}", failure.message);
                HealthCheck::bad(name, seen, failure.hint.unwrap_or_default())
            }
            None => HealthCheck::bad(name, "not registered", "Run `throughline init`."),
        }
    })
}

/// Reports the source of the MCP server if no server file contains it.
pub fn server(name: &'static str, plugin: &Plugin) -> HealthCheck {
    of_plugin(name, plugin, HealthCheck::care).unwrap_or_else(|| {
        let seen = "not registered: Claude cannot ask for memories by itself";
        HealthCheck::care(name, seen, "Run `throughline init`.")
    })
}

/// Reports a part that the plugin provides, or would if it were installed; `None` if the plugin is off.
fn of_plugin(
    name: &'static str,
    plugin: &Plugin,
    missing: impl FnOnce(&'static str, String, String) -> HealthCheck,
) -> Option<HealthCheck> {
    match plugin {
        Plugin::On { name: plugin, .. } => {
            Some(HealthCheck::good(name, format!("by the plugin {plugin}")))
        }
        Plugin::NotInstalled { name: plugin, settings } => {
            let settings = settings.display();
            let seen = format!(
                "the plugin {plugin} is on in {settings}, but Claude Code has not installed it"
            );
            let remedy = format!(
                "Run `claude plugin install {plugin}`; or `throughline init`, which needs no plugin."
            );
            Some(missing(name, seen, remedy))
        }
        Plugin::Off => None,
    }
}

/// Checks that the plugin's launcher finds the programs, and that these are the programs of this installation. Returns
/// `None` if the plugin is off.
pub fn programs(world: &World, plugin: &Plugin) -> Option<HealthCheck> {
    const NAME: &str = "plugin";
    let Plugin::On { name, settings } = plugin else { return None };
    let folder = world.bin_dir.display();
    for of_ours in hooks::PROGRAMS.into_iter().chain([server::PROGRAM]) {
        let Some(found) = program(world, of_ours) else {
            let seen = format!("{name} is silent: it does not find {of_ours}");
            let remedy =
                format!("Put {folder} into PATH, or link what is in it into ~/.local/bin.");
            return Some(HealthCheck::bad(NAME, seen, remedy));
        };
        let real = |path: &Path| path.canonicalize().ok();
        if real(&found) != real(&world.program(of_ours)) {
            let seen = format!("{name} runs {}: another installation", found.display());
            let remedy = format!("Remove it, or put {folder} before it.");
            return Some(HealthCheck::care(NAME, seen, remedy));
        }
    }
    Some(HealthCheck::good(NAME, format!("{name} is on in {}", settings.display())))
}
