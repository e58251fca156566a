//! The plan of `init`: what it found and what it is going to do, on one screen, before anything is written.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::identity;
use memory_store::layout::STORE_DIR;
use memory_store::mode::Mode;
use serde::Serialize;

use super::init_options::Init;
use super::reader::{Chosen, Offers};
use super::scene::{self, Scene};
use super::{config, view};
use crate::claude::hooks::HOOKS;
use crate::claude::plugin::Plugin;
use crate::failure::Result;
use crate::style::{CARE, QUIET, STRONG, paint};
use crate::world::World;

const BYTES_PER_MIB: f64 = 1_048_576.0;
/// Steps that `init` is going to take.
#[derive(Serialize)]
pub struct Plan {
    root: PathBuf,
    /// The project that this working tree joins.
    #[serde(skip_serializing_if = "Option::is_none")]
    joins: Option<String>,
    sessions: usize,
    bytes: u64,
    /// Sentences about sessions that were recorded here and may be another project's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unclaimed: Vec<String>,
    /// How memories are kept.
    memories: identity::Mode,
    /// The plugin that brings hooks and server.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    /// The settings file that gets the hooks.
    hooks: Option<PathBuf>,
    /// The file that gets the MCP server.
    servers: Option<PathBuf>,
    /// Files that the extras of `--with` go into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extras: Vec<PathBuf>,
    /// The user's settings file, where it gets `review = true`, for all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    drafts_set_in: Option<PathBuf>,
    /// The reader of sessions, where that is not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_by: Option<String>,
    /// Why readers cannot be had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    /// Whether the sessions are read now.
    learns: bool,
    /// Readers that the person is asked to choose from, before anything is written.
    pub asks: Option<Offers>,
}

impl Plan {
    /// Plans what `args` ask for. `chosen` is the reader that they name; `offers` are those to choose from, where nobody
    /// chose and somebody can be asked.
    pub fn of(
        args: &Init,
        world: &World,
        scene: &Scene,
        chosen: Option<&Chosen>,
        offers: Option<Offers>,
    ) -> Self {
        let root = scene.observed.root.clone();
        let registers = args.registers(scene);
        let memories = args.mode_in(scene);
        let scope = args.scope(scene);
        let refused = offers.as_ref().map_or_else(Vec::new, |offers| offers.refused().to_vec());
        let asks = offers.filter(Offers::is_choice);
        let read_by = chosen.map(Chosen::told).filter(|_| asks.is_none());
        Self {
            joins: scene.joins().map(scene::name),
            sessions: scene.sessions(),
            unclaimed: scene.unclaimed.told(),
            bytes: scene.found.iter().map(|transcript| transcript.len).sum(),
            memories,
            plugin: match &scene.plugin {
                Plugin::On { name, .. } if !registers => Some(name.clone()),
                Plugin::On { .. } | Plugin::NotInstalled { .. } | Plugin::Off => None,
            },
            hooks: registers.then(|| world.claude.settings(scope, &root)),
            servers: registers.then(|| world.claude.servers(scope, &root)),
            extras: args.extras(scene, world, scope, &root),
            drafts_set_in: args.drafts.then(|| world.dirs.config_file()),
            read_by,
            learns: !args.no_sync && world.mode == Mode::Full,
            refused,
            asks,
            root,
        }
    }

    /// Prints it on one screen.
    pub fn show(&self, args: &Init, world: &World, out: &mut dyn Write) -> Result {
        let place = |path: &Path| view::folder(path, &world.home);
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<11} {text}");
        line("found", &self.told_found())?;
        self.unclaimed.iter().try_for_each(|told| line("", told))?;
        if let Some(joins) = &self.joins {
            line("project", &format!("joins {joins}"))?;
        }
        line(
            "memories",
            &match self.memories {
                identity::Mode::Committed if args.drafts => {
                    format!("drafts first; `throughline review` takes them into {STORE_DIR}")
                }
                identity::Mode::Committed => format!(
                    "in {} (`--private` keeps them elsewhere)",
                    place(&self.root.join(STORE_DIR))
                ),
                identity::Mode::Private => "private, in your data directory".to_owned(),
            },
        )?;
        let hooks = match (&self.hooks, &self.plugin) {
            (Some(file), _) => {
                let events = HOOKS.len();
                format!("for {events} events, in {}; a copy is kept beside it", place(file))
            }
            (None, Some(plugin)) => format!("by the plugin {plugin}; settings are left alone"),
            (None, None) => "none; settings are left alone".to_owned(),
        };
        line("hooks", &hooks)?;
        if let Some(file) = &self.servers {
            line("MCP server", &format!("in {}", place(file)))?;
        }
        for (number, file) in self.extras.iter().enumerate() {
            line(if number == 0 { "extras" } else { "" }, &place(file))?;
        }
        if let Some(file) = &self.drafts_set_in {
            line("drafts", &config::told_drafts(&place(file)))?;
        }
        match (&self.read_by, &self.asks) {
            (_, Some(offers)) => {
                for (number, told) in offers.lines().enumerate() {
                    line(if number == 0 { "read by" } else { "" }, &format!("- {told}"))?;
                }
            }
            (Some(reader), None) => line("read by", reader)?,
            (None, None) => {}
        }
        for refused in &self.refused {
            line("", &format!("{} {refused}", paint(CARE, "!")))?;
        }
        let then = match (self.learns, self.sessions) {
            (_, 0) => "your next session is the first to be learned from",
            (true, _) => "these sessions are read, the newest first",
            (false, _) => "`throughline sync` reads these sessions; so does your next session",
        };
        line("then", then)?;
        line("undo", "`throughline uninstall` takes it out again")?;
        writeln!(out, "{}", paint(QUIET, "Nothing was written yet."))?;
        out.flush()?;
        Ok(())
    }

    /// Prints what is going to happen where, above the plan.
    pub fn title(&self, world: &World, out: &mut dyn Write) -> Result {
        let root = view::folder(&self.root, &world.home);
        writeln!(out, "{} {root}", paint(STRONG, "Throughline for"))?;
        Ok(())
    }

    fn told_found(&self) -> String {
        let mib = self.bytes as f64 / BYTES_PER_MIB;
        match self.sessions {
            0 => "no session of this project yet".to_owned(),
            count => {
                format!("{} of this project ({mib:.1} MiB)", view::plural(count, "session"))
            }
        }
    }
}

/// Says that hooks and server come by the plugin.
pub fn show_plugin(scene: &Scene, out: &mut dyn Write) -> Result {
    if let Plugin::On { name, settings } = &scene.plugin {
        writeln!(out, "  hooks       by the plugin {name}; Claude Code's settings are left alone")?;
        writeln!(
            out,
            "              ({} has it on; `--settings` registers them all the same)",
            settings.display()
        )?;
        if let Some(scope) = scene.registered {
            let also = format!("{scope:?}").to_lowercase();
            writeln!(
                out,
                "  {} They are registered in your {also} settings, too, which come first.",
                paint(CARE, "!")
            )?;
        }
    }
    Ok(())
}
