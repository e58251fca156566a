//! The plan of `init`: the state of a project and the planned steps on one screen, shown before anything is written.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::ProjectId;
use memory_store::identity::{self, Identity, Observed};
use memory_store::layout::{STORE_DIR, Tree};
use memory_store::mode::Mode;
use processor::collect::discover::{self, Transcript};
use processor::collect::unclaimed::UnclaimedSessions;
use processor::git::ignore_rule;
use serde::Serialize;

use super::claude::hooks::HOOKS;
use super::claude::places::SettingsScope;
use super::claude::plugin::Plugin;
use super::claude::register;
use super::reader::{self, Chosen, Offers};
use super::settings;
use crate::command::init::InitArgs;
use crate::failure::{Failure, Result};
use crate::view;
use crate::view::style::{CARE, QUIET, STRONG, paint};
use crate::world::World;

const BYTES_PER_MIB: f64 = 1_048_576.0;

/// State of a project before `init`, and the steps of `init`.
#[derive(Serialize)]
pub struct SetupPlan {
    root: PathBuf,
    /// Name of the project that this working tree joins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joins: Option<String>,
    sessions: usize,
    bytes: u64,
    /// Messages about sessions of this path that may belong to another project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unclaimed: Vec<String>,
    /// Storage mode of memories.
    pub memories: identity::Mode,
    /// The plugin that provides hooks and server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The settings file for the hooks.
    pub hooks: Option<PathBuf>,
    /// The file for the MCP server.
    servers: Option<PathBuf>,
    /// Files that the extras of `--with` change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extras: Vec<PathBuf>,
    /// The user's settings file, if it contains `review = true` for all projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    drafts_set_in: Option<PathBuf>,
    /// The reader of sessions, unless the user is asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_by: Option<String>,
    /// Unavailable readers with the reasons, and other warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Whether `init` reads the sessions.
    learns: bool,
    /// Readers from which the user can choose before anything is written.
    pub asks: Option<Offers>,
    /// The reader that options name.
    #[serde(skip)]
    pub chosen: Option<Chosen>,
    /// State of the folder in git.
    #[serde(skip)]
    pub observed: Observed,
    /// Whether this working tree was not set up yet.
    #[serde(skip)]
    pub is_new: bool,
    /// Previous storage mode of memories, if the project is known.
    #[serde(skip)]
    before: Option<identity::Mode>,
    /// The scope of the Claude Code settings for the hooks.
    #[serde(skip)]
    pub scope: SettingsScope,
    /// Transcripts of the project.
    #[serde(skip)]
    pub found: Vec<Transcript>,
    /// Sessions of this path that may belong to another project.
    #[serde(skip)]
    pub earlier: UnclaimedSessions,
}

impl SetupPlan {
    /// Examines a project and plans the steps requested by `args`. Writes nothing.
    pub fn of(args: &InitArgs, world: &World, root: &Path) -> Result<Self> {
        let observed = processor::git::observe(root);
        let known = identity::known(&world.dirs, &observed)?;
        let root = observed.root.clone();
        let tree = Tree {
            // A new project has no private folder yet, so any id is sufficient here.
            project: known.as_ref().map_or(ProjectId([0; 16]), |known| known.project),
            main_root: observed.main_root.clone().unwrap_or_else(|| root.clone()),
            root: root.clone(),
        };
        let discovered = discover::transcripts(&world.dirs, &tree)?;
        let found = discovered.transcripts;
        let is_new = Tree::find(&world.dirs, &root).is_none_or(|it| it.root != root);
        let joins = known.as_ref().filter(|_| is_new).map(name);
        let before = known.as_ref().map(|known| known.mode);
        let memories = args.mode().or(before).unwrap_or(identity::Mode::Committed);
        let plugin = match Plugin::find(world, &root) {
            Plugin::On { name, .. } if args.settings.is_none() => Some(name),
            Plugin::On { .. } | Plugin::NotInstalled { .. } | Plugin::Off => None,
        };
        let registered = registered(world, &root);
        let scope = args.settings.or(registered).unwrap_or(SettingsScope::User);
        let registers = !args.no_register && plugin.is_none();
        let chosen = match &args.llm {
            Some(reader) => Some(reader::look_at(world, reader, true)?),
            None if reader::is_chosen(world) => None,
            None => Some(Chosen::Rules(false)),
        };
        // Joining a project or moving memories requires a different question, so the reader is not asked for.
        let moves = before.is_some_and(|before| before != memories);
        let is_open = args.llm.is_none() && chosen.is_some() && joins.is_none() && !moves;
        let offers =
            (is_open && world.interactive && !args.write.yes).then(|| Offers::find(world, &found));
        let mut warnings =
            offers.as_ref().map_or_else(Vec::new, |offers| offers.refused().to_vec());
        if let (Some(_), Some(scope)) = (&plugin, registered) {
            let also = format!("{scope:?}").to_lowercase();
            warnings.push(format!(
                "Hooks are registered in your {also} settings, too, and take the place of the plugin's."
            ));
        }
        if memories == identity::Mode::Committed {
            let ignored = ignore_rule::of_memories(&tree.main_root);
            warnings.extend(ignored.map(|rule| view::plain(&rule.description())));
        }
        warnings.extend(moves.then(|| moved(memories).to_owned()));
        let asks = offers.filter(Offers::is_choice);
        Ok(Self {
            joins,
            sessions: found.iter().filter(|transcript| transcript.name.agent.is_none()).count(),
            bytes: found.iter().map(|transcript| transcript.len).sum(),
            // If an option decides about these sessions, no message is needed.
            unclaimed: match args.earlier {
                Some(_) => Vec::new(),
                None => discovered.unclaimed.messages(),
            },
            memories,
            extras: {
                let files = |guide: &super::guide::Guide| {
                    guide.files(plugin.is_some(), world, scope, &root)
                };
                args.guides.iter().flat_map(files).collect()
            },
            plugin,
            hooks: registers.then(|| world.claude.settings(scope, &root)),
            servers: registers.then(|| world.claude.servers(scope, &root)),
            drafts_set_in: args.drafts.then(|| world.dirs.config_file()),
            read_by: chosen.as_ref().map(Chosen::label).filter(|_| asks.is_none()),
            warnings,
            learns: !args.no_sync && world.mode == Mode::Full,
            asks,
            chosen,
            is_new,
            before,
            scope,
            found,
            earlier: discovered.unclaimed,
            observed,
            root,
        })
    }

    /// Returns whether the storage mode of memories changes.
    pub fn moves(&self) -> bool {
        self.before.is_some_and(|before| before != self.memories)
    }

    /// Returns the question that the user must confirm before anything is written, and the failure without
    /// confirmation. There is a question if private memories would be added to a repository, or shared by another
    /// working tree.
    pub fn question(&self) -> Option<(String, Failure)> {
        if self.moves() {
            let root = self.root.display();
            let whose = match &self.joins {
                Some(project) => format!("the private memories of {project}"),
                None => "this project's private memories".to_owned(),
            };
            let question = format!("Write {whose} into {root} and its other working trees?");
            let failure = Failure::new("memories stay private; nothing was changed")
                .hint("`throughline init` without --committed keeps them so.");
            return (self.memories == identity::Mode::Committed).then_some((question, failure));
        }
        let name = self.joins.as_ref()?;
        let question = format!("This is another working tree of {name}. Share its memories?");
        let failure = Failure::new("nothing was set up").hint(format!(
            "Its root commit and a remote are those of {name}; with another remote it is a project of its own."
        ));
        Some((question, failure))
    }

    /// Prints the plan on one screen.
    pub fn show(&self, world: &World, is_pending: bool, out: &mut dyn Write) -> Result {
        let place = |path: &Path| view::folder(path, &world.home);
        writeln!(out, "{} {}", paint(STRONG, "Throughline for"), place(&self.root))?;
        let mut line = |name: &str, text: &str| writeln!(out, "  {name:<11} {text}");
        let mib = self.bytes as f64 / BYTES_PER_MIB;
        let found = match self.sessions {
            0 => "no session of this project yet".to_owned(),
            count => format!("{} of this project ({mib:.1} MiB)", view::plural(count, "session")),
        };
        line("found", &found)?;
        self.unclaimed.iter().try_for_each(|text| line("", text))?;
        if let Some(joins) = &self.joins {
            line("project", &format!("joins {joins}"))?;
        }
        let memories = match (self.memories, &self.drafts_set_in) {
            (identity::Mode::Committed, Some(_)) => {
                format!("drafts first; `throughline review` takes them into {STORE_DIR}")
            }
            (identity::Mode::Committed, None) => {
                let main = self.observed.main_root.as_ref().unwrap_or(&self.root);
                format!("in {} (`--private` keeps them elsewhere)", place(&main.join(STORE_DIR)))
            }
            (identity::Mode::Private, _) => "in your data directory (private)".to_owned(),
        };
        line("memories", &memories)?;
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
        let mut several = |name: &str, texts: Vec<String>| {
            let names = std::iter::once(name).chain(std::iter::repeat(""));
            names.zip(texts).try_for_each(|(name, text)| line(name, &text))
        };
        several("extras", self.extras.iter().map(|file| place(file)).collect())?;
        let drafts = self.drafts_set_in.iter().map(|file| settings::drafts_setting(&place(file)));
        several("drafts", drafts.collect())?;
        let offers = self.asks.iter().flat_map(Offers::lines).map(|offer| format!("- {offer}"));
        several("read by", offers.chain(self.read_by.clone()).collect())?;
        let warning = |text: &String| format!("{} {text}", paint(CARE, "!"));
        several("", self.warnings.iter().map(warning).collect())?;
        let then = match (self.learns, self.sessions) {
            (_, 0) => "your next session is the first to be learned from",
            (true, _) => "these sessions are read, the newest first",
            (false, _) => "`throughline sync` reads these sessions; so does your next session",
        };
        line("then", then)?;
        line("undo", "`throughline uninstall` takes it out again")?;
        if is_pending {
            writeln!(out, "{}", paint(QUIET, "Nothing was written yet."))?;
        }
        Ok(out.flush()?)
    }
}

/// Returns the scope of the settings that already contain Throughline's hooks.
fn registered(world: &World, root: &Path) -> Option<SettingsScope> {
    let files = register::find_hooks(world, root);
    let has_hooks = |scope: &SettingsScope| {
        let settings = world.claude.settings(*scope, root);
        let is_ours = |hooks: &Vec<_>| !hooks.is_empty();
        files.iter().any(|file| file.path == settings && file.hooks.as_ref().is_ok_and(is_ours))
    };
    SettingsScope::ALL.into_iter().find(has_hooks)
}

/// Returns a description of the effect on memories if their storage mode changes.
fn moved(memories: identity::Mode) -> &'static str {
    match memories {
        identity::Mode::Private => {
            "Memories are kept in your data directory from now on. Files in .throughline stay and are not read any \
             more; remove them if they are not to be shared."
        }
        identity::Mode::Committed => {
            "What was private is written into .throughline of this project's working trees by the next sync: read \
             it before you commit it. The private files stay, too."
        }
    }
}

/// Returns the first path of a project, or else its id, with the storage mode of its memories.
fn name(project: &Identity) -> String {
    let id = project.project.to_string();
    let place = project.paths.first().map_or(id, |path| path.display().to_string());
    let how = match project.mode {
        identity::Mode::Committed => "memories in the repository",
        identity::Mode::Private => "memories private",
    };
    format!("{place} ({how})")
}
