//! Options of `init`.

use clap::Args;
use memory_store::identity;
use memory_store::layout::{Place, STORE_DIR, Tree};

use super::claude::places::SettingsScope;
use super::guide::Guide;
use super::reader::ReaderName;
use crate::command::sync::EarlierSessions;
use crate::typed::WriteOptions;
use crate::world::World;

/// Set up the current project and learn from existing sessions
///
/// Shows a plan and asks at most one question before it writes anything.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// Store memories in your data folder instead of the repository
    #[arg(long)]
    pub private: bool,
    /// Store memories in the repository (default for a new project)
    #[arg(long, hide_short_help = true, conflicts_with = "private")]
    pub committed: bool,
    /// Hold learned memories for `throughline review`; sets `review = true` for all projects
    #[arg(long, conflicts_with = "private")]
    pub drafts: bool,
    /// Show what a session would receive from this history, and write nothing
    #[arg(long, conflicts_with_all = ["private", "committed", "drafts", "register_only", "yes", "dry_run"])]
    pub preview: bool,
    /// Claude Code settings for the hooks [default: user]
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub settings: Option<SettingsScope>,
    /// Keep Claude Code's settings unchanged
    #[arg(long)]
    pub no_register: bool,
    /// Extras to install, comma-separated
    #[arg(long = "with", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub guides: Vec<Guide>,
    /// Only register hooks and MCP server, in any folder
    #[arg(long, hide_short_help = true, conflicts_with_all = ["no_register", "private", "committed"])]
    pub register_only: bool,
    /// Skip reading the existing sessions
    #[arg(long)]
    pub no_sync: bool,
    /// Take or leave sessions of another project formerly at this path
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_short_help = true,
        conflicts_with = "register_only"
    )]
    pub earlier: Option<EarlierSessions>,
    /// Keep turns older than `retention_days` without listing them
    #[arg(long, hide_short_help = true, conflicts_with = "register_only")]
    pub keep_all: bool,
    /// Model that reads sessions: rules (none, the default), ollama, ollama:MODEL or claude
    #[arg(long, value_name = "READER", conflicts_with = "register_only")]
    pub llm: Option<ReaderName>,
    #[command(flatten)]
    pub write: WriteOptions,
}

impl InitArgs {
    /// Returns whether the command makes a decision that only a person may make: trusting existing memory files,
    /// choosing the reader of sessions, assigning earlier sessions to a project, or moving memories. Setting up a
    /// folder without memories requires no person.
    pub fn decides(&self, world: &World) -> bool {
        if self.write.dry_run || self.preview || self.register_only {
            return false;
        }
        let is_trusted = matches!(Tree::locate(&world.dirs, &world.cwd), Some(Place::Trusted(_)));
        let folder = world.root().join(STORE_DIR).join("memories");
        let has_memories = folder.read_dir().is_ok_and(|mut files| files.next().is_some());
        let is_named = self.llm.is_some() || self.earlier.is_some();
        is_named || if is_trusted { self.mode().is_some() } else { has_memories }
    }

    /// Returns the mode of storage, if an option sets it.
    pub fn mode(&self) -> Option<identity::Mode> {
        let is_said = self.private || self.committed || self.drafts;
        let mode = if self.private { identity::Mode::Private } else { identity::Mode::Committed };
        is_said.then_some(mode)
    }
}
