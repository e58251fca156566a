//! Lines and files that the user has to delete by hand, because the user wrote them and they name Throughline's
//! programs. The command reports them with file and line, and does not change them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::account::ByHand;
use super::parts;
use crate::setup::claude::document::JsonDocument;
use crate::setup::claude::places::SettingsScope;
use crate::setup::claude::plugin::Plugin;
use crate::setup::claude::record::InsertionRecord;
use crate::setup::claude::replace::{self, RunMode};
use crate::setup::claude::{server, status_line};
use crate::setup::login_service::MANAGERS;
use crate::world::World;

/// Startup files of shells, relative to the home folder.
const SHELLS: [&str; 7] = [
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".config/fish/config.fish",
];
/// Settings files of other MCP clients, relative to the home folder.
const CLIENTS: [&str; 7] = [
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".codeium/windsurf/mcp_config.json",
    ".config/Claude/claude_desktop_config.json",
    ".config/zed/settings.json",
    ".config/opencode/opencode.json",
];
/// Settings files of other MCP clients and of commit checks, relative to the root of a project.
const OF_PROJECT: [&str; 7] = [
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".pre-commit-config.yaml",
    ".git/hooks/pre-commit",
];
/// Maximum number of lines that are reported for one file.
const LINES_MAX: usize = 5;
/// Maximum size in bytes of a file that is searched.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// State that has to be read before the parts are removed.
pub struct Before {
    /// Plugins that the client has installed or turned on.
    plugins: Vec<ByHand>,
    /// Copies of settings that `init` made.
    copies: Vec<PathBuf>,
}

impl Before {
    /// Reads the plugins and copies.
    pub fn look(world: &World, roots: &[PathBuf]) -> Self {
        let record = InsertionRecord::read(&world.dirs).insertions.into_iter();
        let plugins = roots.iter().filter_map(|root| match Plugin::find(world, root) {
            Plugin::On { name, settings } | Plugin::NotInstalled { name, settings } => {
                Some(plugin(&name, settings))
            }
            Plugin::Off => None,
        });
        Self {
            plugins: plugins.collect(),
            copies: record.filter_map(|insertion| insertion.backup).collect(),
        }
    }
}

fn plugin(name: &str, settings: PathBuf) -> ByHand {
    let market = name.split_once('@').map_or("throughline", |(_, market)| market);
    let text = format!(
        "the plugin's files are Claude Code's to remove: `claude plugin uninstall {name}`, then `claude plugin marketplace \
         remove {market}`"
    );
    ByHand { path: settings, line: None, text }
}

/// Finds the lines and files that a person has to delete.
pub fn find(world: &World, roots: &[PathBuf], before: Before, run: RunMode) -> Vec<ByHand> {
    let mut found = before.plugins;
    let home = SHELLS.iter().chain(&CLIENTS).map(|file| world.home.join(file));
    let projects = roots.iter().flat_map(|root| OF_PROJECT.map(|file| root.join(file)));
    for path in home.chain(projects) {
        found.extend(lines(&path));
    }
    for (path, root) in settings(world, roots) {
        found.extend(wrapped(&path, root.as_deref()));
    }
    let services = MANAGERS.map(|manager| (world.home.join(manager.file), manager.stop));
    found.extend(services.into_iter().filter(|(path, _)| path.is_file()).map(|(path, stop)| {
        let text = format!("starts `throughline watch`: run `{stop}` and delete the file");
        ByHand { path, line: None, text }
    }));
    // A copy that equals the settings file is removed together with the other parts.
    let kept = before.copies.into_iter().filter(|copy| run == RunMode::Real && copy.is_file());
    found.extend(kept.map(|path| ByHand {
        path,
        line: None,
        text: "a copy of your settings before `throughline init`".to_owned(),
    }));
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert(one.to_line()));
    found
}

/// Returns the files of Claude Code that contain settings or servers, each with the root of its project.
fn settings(world: &World, roots: &[PathBuf]) -> Vec<(PathBuf, Option<PathBuf>)> {
    let none = Path::new("/");
    let mut files = vec![
        (world.claude.settings(SettingsScope::User, none), None),
        (world.claude.servers(SettingsScope::User, none), None),
    ];
    for root in roots {
        for scope in [SettingsScope::Local, SettingsScope::Project] {
            files.push((world.claude.settings(scope, root), Some(root.clone())));
        }
        files.push((world.claude.servers(SettingsScope::Project, root), Some(root.clone())));
    }
    files
}

/// Returns the lines of a text file that name a Throughline program.
fn lines(path: &Path) -> Vec<ByHand> {
    let Some(text) = read(path) else { return Vec::new() };
    let named = text.lines().enumerate().filter(|(_, line)| {
        let is_comment = ["#", "//"].iter().any(|mark| line.trim_start().starts_with(mark));
        (line.contains("throughline") || line.contains("THROUGHLINE"))
            && !is_comment
            && !parts::is_documented(line)
    });
    let by_hand = |(at, line): (usize, &str)| ByHand {
        path: path.to_owned(),
        line: Some(at + 1),
        text: line.trim().to_owned(),
    };
    named.take(LINES_MAX).map(by_hand).collect()
}

/// Returns the entries in a file of Claude Code that run a Throughline program through another command.
fn wrapped(path: &Path, root: Option<&Path>) -> Vec<ByHand> {
    let is_outside = root.is_some_and(|root| replace::check_inside(path, root).is_err());
    let Some(text) = read(path).filter(|_| !is_outside) else { return Vec::new() };
    let Ok(document) = JsonDocument::parse(path, Some(&text)) else { return Vec::new() };
    let status_line = status_line::wrapped(&document).map(|_| "statusLine".to_owned());
    let names = server::wrapped(&document).into_iter().chain(status_line);
    let by_hand = |name: String| {
        let key = format!("\"{name}\"");
        let line = text.lines().position(|line| line.contains(&key)).map(|at| at + 1);
        ByHand { path: path.to_owned(), line, text: key }
    };
    names.map(by_hand).collect()
}

fn read(path: &Path) -> Option<String> {
    let is_small = path.metadata().is_ok_and(|found| found.len() <= FILE_BYTES_MAX);
    if is_small { replace::read(path).ok().flatten() } else { None }
}
