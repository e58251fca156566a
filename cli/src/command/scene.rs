//! A project as `init` finds it.

use std::path::Path;

use memory_store::ProjectId;
use memory_store::identity::{self, Identity, Observed};
use memory_store::layout::Tree;
use processor::collect::discover::{self, Transcript};
use processor::collect::unclaimed::Unclaimed;

use crate::claude::places::Scope;
use crate::claude::plugin::Plugin;
use crate::claude::register;
use crate::failure::Result;
use crate::world::World;

/// A project as it stands before `init` writes anything.
pub struct Scene {
    /// Git's answers about the folder.
    pub observed: Observed,
    /// The project, where this machine knows it.
    pub known: Option<Identity>,
    /// Whether this working tree was not set up yet.
    pub is_new: bool,
    /// The plugin of Claude Code.
    pub plugin: Plugin,
    /// The settings that have our hooks already.
    pub registered: Option<Scope>,
    /// Transcripts of the project.
    pub found: Vec<Transcript>,
    /// Sessions that were recorded here and may be another project's.
    pub unclaimed: Unclaimed,
}

impl Scene {
    /// Looks at a project, and writes nothing.
    pub fn look(world: &World, root: &Path) -> Result<Self> {
        let observed = processor::git::observe(root);
        let known = identity::known(&world.dirs, &observed)?;
        let root = observed.root.clone();
        let tree = Tree {
            // A new project has no folder of its own yet, by whatever id.
            project: known.as_ref().map_or(ProjectId([0; 16]), |known| known.project),
            main_root: observed.main_root.clone().unwrap_or_else(|| root.clone()),
            root,
        };
        let found = discover::transcripts(&world.dirs, &tree)?;
        let registered = register::find_hooks(world, &tree.root);
        let has_hooks = |scope: &Scope| {
            let settings = world.claude.settings(*scope, &tree.root);
            registered.iter().any(|file| {
                file.path == settings && file.hooks.as_ref().is_ok_and(|hooks| !hooks.is_empty())
            })
        };
        Ok(Self {
            is_new: Tree::find(&world.dirs, &tree.root).is_none_or(|it| it.root != tree.root),
            plugin: Plugin::find(world, &tree.root),
            registered: Scope::ALL.into_iter().find(has_hooks),
            found: found.transcripts,
            unclaimed: found.unclaimed,
            observed,
            known,
        })
    }

    /// The project that this working tree joins.
    pub fn joins(&self) -> Option<&Identity> {
        self.known.as_ref().filter(|_| self.is_new)
    }

    /// How memories were kept so far.
    pub fn mode(&self) -> Option<identity::Mode> {
        self.known.as_ref().map(|known| known.mode)
    }

    /// Sessions of people, whose subagents have transcripts of their own.
    pub fn sessions(&self) -> usize {
        self.found.iter().filter(|transcript| transcript.name.agent.is_none()).count()
    }
}

/// How a person knows a project: by where it was first seen, and how it keeps its memories.
pub fn name(project: &Identity) -> String {
    let id = project.project.to_string();
    let place = project.paths.first().map_or(id, |path| path.display().to_string());
    let how = match project.mode {
        identity::Mode::Committed => "memories in the repository",
        identity::Mode::Private => "memories private",
    };
    format!("{place} ({how})")
}
