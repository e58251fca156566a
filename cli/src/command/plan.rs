//! The plan of `init`: what it found and what it is going to do, on one screen, before anything is written.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::identity;
use memory_store::layout::STORE_DIR;
use memory_store::mode::Mode;
use serde::Serialize;

use super::ignore_lines::{self, Consent};
use super::init_options::Init;
use super::reader::{self, Chosen};
use super::scene::{self, Scene};
use super::{config, view};
use crate::claude::hooks::HOOKS;
use crate::claude::plugin::Plugin;
use crate::failure::Result;
use crate::packages::IgnoreLine;
use crate::style::{CARE, QUIET, STRONG, paint};
use crate::world::World;

const BYTES_PER_MIB: f64 = 1_048_576.0;
/// Questions that are asked at most.
const QUESTIONS_MAX: usize = 3;

/// One thing that a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Reader of sessions.
    Reader,
    /// Where memories are kept.
    Memories,
    /// Settings that the hooks go into.
    Hooks,
    /// Whether lines keep memories out of packages.
    Packages,
}

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
    /// How memories are kept; `None` where that is asked.
    memories: Option<identity::Mode>,
    /// The plugin that brings hooks and server.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    /// The settings file that gets the hooks; `None` where that is asked, or where none does.
    hooks: Option<PathBuf>,
    /// The file that gets the MCP server.
    servers: Option<PathBuf>,
    /// Files that the extras of `--with` go into.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extras: Vec<PathBuf>,
    /// The user's settings file, where it gets `review = true`, for all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    drafts_set_in: Option<PathBuf>,
    read_by: Option<String>,
    /// Whether the sessions are read now.
    learns: bool,
    /// Lines that keep a committed memory folder out of packages.
    pub ignore_lines: Vec<IgnoreLine>,
    /// Questions to the person before anything is written.
    pub questions: Vec<Question>,
}

impl Plan {
    /// Plans what `args` ask for. `chosen` is the reader that they name.
    pub fn of(args: &Init, world: &World, scene: &Scene, chosen: Option<&Chosen>) -> Self {
        let root = scene.observed.root.clone();
        let may_ask = world.interactive && !args.yes;
        let registers = args.registers(scene);
        let memories = args.mode().or(scene.mode());
        // Private memories that come into a repository are asked about as well, as is a project that is joined.
        let other = usize::from(scene.joins().is_some())
            + usize::from(scene.mode().is_some_and(|before| memories != Some(before)));
        let ignore_lines = match memories.unwrap_or(identity::Mode::Committed) {
            identity::Mode::Committed => {
                ignore_lines::planned(args, world, &root, &scene.ignore_lines)
            }
            identity::Mode::Private => Vec::new(),
        };
        // Where memories are asked about, the lines are part of the answer.
        let asks_lines =
            !ignore_lines.is_empty() && !args.guides_ignore_lines() && memories.is_some();
        let wanted = [
            (Question::Reader, args.llm.is_none() && !reader::is_chosen(world)),
            (Question::Memories, memories.is_none()),
            (Question::Hooks, registers && args.settings.is_none() && scene.registered.is_none()),
            (Question::Packages, asks_lines),
        ];
        let mut questions: Vec<Question> = wanted
            .into_iter()
            .filter(|(_, is_open)| may_ask && *is_open)
            .map(|(question, _)| question)
            .collect();
        questions.truncate(QUESTIONS_MAX - other);
        let asks = |question| questions.contains(&question);
        let scope = args.scope(scene);
        let registers_now = registers && !asks(Question::Hooks);
        let read_by = chosen.map(Chosen::told).filter(|_| !asks(Question::Reader));
        let memories = memories.unwrap_or(identity::Mode::Committed);
        Self {
            joins: scene.joins().map(scene::name),
            sessions: scene.sessions(),
            unclaimed: scene.unclaimed.told(),
            bytes: scene.found.iter().map(|transcript| transcript.len).sum(),
            memories: Some(memories).filter(|_| !asks(Question::Memories)),
            plugin: match &scene.plugin {
                Plugin::On { name, .. } if !registers => Some(name.clone()),
                Plugin::On { .. } | Plugin::NotInstalled { .. } | Plugin::Off => None,
            },
            hooks: registers_now.then(|| world.claude.settings(scope, &root)),
            servers: registers_now.then(|| world.claude.servers(scope, &root)),
            extras: args.extras(scene, world, scope, &root),
            drafts_set_in: args.drafts.then(|| world.dirs.config_file()),
            read_by,
            learns: !args.no_sync && world.mode == Mode::Full,
            ignore_lines,
            questions,
            root,
        }
    }

    /// How somebody agrees to the lines for packages.
    pub fn consent(&self, args: &Init) -> Consent {
        if args.yes || args.guides_ignore_lines() {
            Consent::Given
        } else if self.questions.contains(&Question::Memories) {
            Consent::WithMemories
        } else if self.questions.contains(&Question::Packages) {
            Consent::Asked
        } else {
            Consent::Missing
        }
    }

    /// Prints it on one screen.
    pub fn show(&self, args: &Init, world: &World, out: &mut dyn Write) -> Result {
        let asks = |question| self.questions.contains(&question);
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
                None => format!(
                    "you are asked: in {STORE_DIR} of the repository, drafts first, or private"
                ),
                Some(identity::Mode::Committed) if args.drafts => {
                    format!("drafts first; `throughline review` takes them into {STORE_DIR}")
                }
                Some(identity::Mode::Committed) => {
                    format!("{}; nothing is committed for you", place(&self.root.join(STORE_DIR)))
                }
                Some(identity::Mode::Private) => "private, in your data directory".to_owned(),
            },
        )?;
        let hooks = match (&self.hooks, &self.plugin) {
            (Some(file), _) => {
                let events = HOOKS.len();
                format!("for {events} events, in {}; a copy is kept beside it", place(file))
            }
            (None, Some(plugin)) => format!("by the plugin {plugin}; settings are left alone"),
            (None, None) if asks(Question::Hooks) => {
                "you are asked: for you in every project, or for this project".to_owned()
            }
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
        match &self.read_by {
            Some(reader) => line("read by", reader)?,
            None if asks(Question::Reader) => {
                line(
                    "read by",
                    "you are asked: no model, your Ollama, or Claude Code's small model",
                )?;
            }
            None => {}
        }
        let then = match (self.learns, self.sessions) {
            (_, 0) => "your next session is the first to be learned from",
            (true, _) => "these sessions are read, the newest first",
            (false, _) => "`throughline sync` reads these sessions; so does your next session",
        };
        line("then", then)?;
        line("undo", "`throughline uninstall` takes it out again")?;
        ignore_lines::show(&self.ignore_lines, self.consent(args), out)?;
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
