//! Claude Code's files that contain hooks and MCP servers.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Owner of the settings that the hooks go into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingsScope {
    /// ~/.claude/settings.json, for all of your projects
    User,
    /// .claude/settings.local.json, for you in this project
    Local,
    /// .claude/settings.json, committed, for all users of the project
    Project,
}

impl SettingsScope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::User, Self::Local, Self::Project];

    /// Returns the name of the scope on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Local => "local",
            Self::Project => "project",
        }
    }

    /// Returns whether the files of the scope are committed, so that they must not contain paths of this machine.
    pub const fn committed(self) -> bool {
        match self {
            Self::Project => true,
            Self::User | Self::Local => false,
        }
    }
}

/// Folders of Claude Code, as determined by the environment.
#[derive(Clone, Debug)]
pub struct ClaudeDirs {
    /// `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
    pub config: PathBuf,
    /// The folder of `.claude.json`: `$CLAUDE_CONFIG_DIR`, or the home folder.
    pub state: PathBuf,
}

impl ClaudeDirs {
    /// Returns the settings file of a scope, for the project at `root`.
    pub fn settings(&self, scope: SettingsScope, root: &Path) -> PathBuf {
        match scope {
            SettingsScope::User => self.config.join("settings.json"),
            SettingsScope::Local => root.join(".claude/settings.local.json"),
            SettingsScope::Project => root.join(".claude/settings.json"),
        }
    }

    /// Returns the file with the MCP servers of a scope.
    pub fn servers(&self, scope: SettingsScope, root: &Path) -> PathBuf {
        match scope {
            SettingsScope::User | SettingsScope::Local => self.state_file(),
            SettingsScope::Project => root.join(".mcp.json"),
        }
    }

    /// Returns Claude Code's state file. A file at its old location in the configuration folder takes precedence, as in
    /// the client.
    pub fn state_file(&self) -> PathBuf {
        let old = self.config.join(".config.json");
        let used = std::fs::metadata(&old).is_ok_and(|found| found.is_file() && found.len() > 0);
        if used { old } else { self.state.join(".claude.json") }
    }
}
