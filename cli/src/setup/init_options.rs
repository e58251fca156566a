//! Options of `init`.

use clap::Args;
use memory_store::identity;
use memory_store::layout::{Place, STORE_DIR, Tree};

use super::claude::places::SettingsScope;
use super::guide::Guide;
use super::reader::ReaderName;
use crate::command::sync::EarlierSessions;
use crate::world::World;

/// Sets this project up: memory folder, hooks, MCP server; then reads existing transcripts.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// Keep memories in your data directory instead of the repository
    #[arg(long)]
    pub private: bool,
    /// Keep memories in the repository, which is the default for a new project
    #[arg(long, hide_short_help = true, conflicts_with = "private")]
    pub committed: bool,
    /// Let what is learned wait for `throughline review` before it comes into the repository; sets `review = true` in
    /// your settings, for all projects
    #[arg(long, conflicts_with = "private")]
    pub drafts: bool,
    /// Show what a session would be told now: where the work was left, and answers to five prompts of this history; and
    /// change nothing
    #[arg(long, conflicts_with_all = ["private", "committed", "drafts", "register_only", "yes"])]
    pub preview: bool,
    /// Show what it would do, and do nothing
    #[arg(long, conflicts_with = "preview")]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long, hide_short_help = true)]
    pub json: bool,
    /// Whose settings of Claude Code get the hooks: yours for all projects (user, the default), yours in this project
    /// (local), or everybody's in it (project)
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub settings: Option<SettingsScope>,
    /// Leave Claude Code's settings alone
    #[arg(long)]
    pub no_register: bool,
    /// Extras for Claude and git: skill, agents and rules tell Claude when to use memory, merge-driver lets git merge
    /// memory files
    #[arg(long = "with", value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub guides: Vec<Guide>,
    /// Only register hooks and MCP server; works in any folder
    #[arg(long, hide_short_help = true, conflicts_with_all = ["no_register", "private", "committed"])]
    pub register_only: bool,
    /// Do not read the sessions that are there
    #[arg(long)]
    pub no_sync: bool,
    /// Take as this project's, or leave for good, sessions that were recorded at its path and may be those of another
    /// project that was there before
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        hide_short_help = true,
        conflicts_with = "register_only"
    )]
    pub earlier: Option<EarlierSessions>,
    /// Keep the turns of sessions that are older than `retention_days` without naming them
    #[arg(long, hide_short_help = true, conflicts_with = "register_only")]
    pub keep_all: bool,
    /// Reader that looks for memories in sessions: rules (nobody, the default), ollama, ollama:MODEL or claude
    #[arg(long, value_name = "READER", conflicts_with = "register_only")]
    pub llm: Option<ReaderName>,
    /// Ask nothing and do it; sessions are read by nobody unless --llm names a reader
    #[arg(long, short = 'y')]
    pub yes: bool,
}

impl InitArgs {
    /// Returns whether the command makes a decision that only a person may make: trusting existing memory files,
    /// choosing the reader of sessions, assigning earlier sessions to a project, or moving memories. Setting up a
    /// folder without memories requires no person.
    pub fn decides(&self, world: &World) -> bool {
        if self.dry_run || self.preview || self.register_only {
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
