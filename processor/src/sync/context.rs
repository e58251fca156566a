//! Inputs of all steps of a sync. No step changes them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use memory_store::fs::file_stamp::Stamp;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::{Pause, Settings};
use memory_store::{Timestamp, identity, settings_file, thinking};

use super::options::SyncOptions;
use crate::collect::archive::Archive;
use crate::collect::discover::{self, Territory};
use crate::collect::expired::Expired;
use crate::collect::forks::{Holders, Ownership};
use crate::collect::purged::Purged;
use crate::collect::trees;
use crate::extract::Roots;
use crate::llm;
use crate::lock::Busy;
use crate::machine::Strain;
use crate::mining::Miner;
use crate::secrets::Secrets;
use crate::state::{State, read_roots};

/// Returns the working directories of the sessions that were imported by `--from`.
fn brought_cwds(state: &State) -> impl Iterator<Item = &str> {
    let brought = state.sessions.values().filter(|session| session.from_folder);
    brought.flat_map(|session| session.cwds.iter().map(String::as_str))
}

/// Options, folders, settings and secrets of one sync.
pub(super) struct SyncContext<'a> {
    /// Options of the sync.
    pub options: &'a SyncOptions<'a>,
    /// The project's private folder.
    pub home: ProjectDir,
    /// Sessions of the project: the archived ones, and remains of the removed ones.
    pub sessions: SessionPlaces,
    /// The settings in effect.
    pub settings: Settings,
    /// Sessions that ended before this time keep their turns, regardless of their age.
    pub turns_kept_until: Timestamp,
    /// Redactor for text that only this user reads. It also hides known secrets.
    pub redactor: Redactor,
    /// Known secrets of the project. More are added while records are read.
    pub secrets: Secrets,
    /// The project's existing working trees, the main one first.
    pub trees: Vec<Tree>,
    /// All working trees of the project, including former ones.
    pub territory: Territory,
}

/// Storage of sessions.
pub(super) struct SessionPlaces {
    /// Archived sessions.
    pub archive: Archive,
    /// Drafts of sessions whose turns were removed.
    pub expired: Expired,
    /// Sessions and records that a person purged.
    pub purged: Purged,
}

impl<'a> SyncContext<'a> {
    /// Reads the settings and opens the storage. Also returns warnings about the settings.
    pub fn open(options: &'a SyncOptions<'a>) -> Result<(Self, Vec<String>)> {
        let home = options.dirs.project(options.tree.project);
        // The stamp is taken before the settings are read, so that later runs detect a change between the two.
        let config = Stamp::of(&options.dirs.config_file());
        let (mut settings, warnings) = settings_file::load(options.dirs, Some(options.tree));
        settings.config = config;
        let territory = Territory::new(options.dirs, options.tree, &read_roots(&home));
        let trees = trees::present(options.dirs, options.tree);
        let secrets = Secrets::open(options.dirs, &home, &territory.roots(), &trees)?;
        let sessions = SessionPlaces {
            archive: Archive::open(&home),
            expired: Expired::open(&home),
            purged: Purged::read(&home)?,
        };
        let context = Self {
            options,
            sessions,
            redactor: Redactor::new(&RedactOptions {
                known: secrets.known().clone(),
                ..RedactOptions::for_store(&settings, false)
            }),
            secrets,
            settings,
            turns_kept_until: identity::turns_kept_until(options.dirs, options.tree.project)?,
            trees,
            territory,
            home,
        };
        Ok((context, warnings.iter().map(ToString::to_string).collect()))
    }

    /// Returns the reason why models on this machine pause, if any.
    pub fn strain(&self) -> Option<Strain> {
        let llm = self.settings.llm.as_ref()?;
        llm::pause::strain(llm, self.options.ollama_host, self.options.machine?)
    }

    /// Returns the conditions under which a model pauses in this run; never if a person waits.
    pub fn pause(&self) -> Pause {
        match (self.options.busy, &self.settings.llm) {
            (Busy::Leave, Some(llm)) => llm.pause,
            (Busy::Leave | Busy::Wait(_), _) => Pause::Never,
        }
    }

    /// Returns the user's folders.
    pub fn dirs(&self) -> &'a UserDirs {
        self.options.dirs
    }

    /// Returns access to the keys of all sessions, to determine the owners of records.
    pub fn holders(&self, state: &State) -> Holders {
        let sessions = state.sessions.iter();
        let mut sessions: Vec<_> = sessions
            .map(|(name, session)| (name.clone(), session.content.clone(), session.last.0))
            .collect();
        self.sessions.archive.by_pack(&mut sessions, |(name, ..)| name);
        Holders { home: self.home.clone(), archive: self.sessions.archive.clone(), sessions }
    }

    /// Returns the names of the project: the folder name of its main working tree, and the name of the uppermost folder
    /// of imported sessions from other machines. A linked worktree is usually named after a task, not after the
    /// project.
    pub fn names(&self, state: &State) -> BTreeSet<String> {
        let outside = Roots::new(self.territory.folders()).outside(brought_cwds(state));
        let main = self.options.tree.main_root.to_str().map(str::to_owned);
        let folders = main.into_iter().chain(outside);
        folders.filter_map(|folder| Some(folder.rsplit('/').next()?.to_owned())).collect()
    }

    /// Returns the reader of archived sessions, which also mines them.
    pub fn miner<'m>(&'m self, state: &'m State, ownership: &'m Ownership) -> Miner<'m> {
        Miner {
            home: &self.home,
            archive: &self.sessions.archive,
            territory: &self.territory,
            folder_root: discover::common_root(brought_cwds(state)),
            ownership,
            redact: &self.redactor,
            model: self.settings.llm.as_ref().map(|llm| {
                // After a user's request, the changed name makes the model read windows again that were kept aside.
                let retries = match llm::aside::retries(&self.home.llm) {
                    0 => String::new(),
                    retries => format!("#{retries}"),
                };
                let context = llm::context_mark(llm);
                format!("{}/{}{context}{retries}", llm.provider, llm.model)
            }),
        }
    }

    /// Returns whether thinking is indexed in a working tree. This begins when a user searches it.
    pub fn thinks(&self, tree: &Tree) -> bool {
        thinking::is_wanted(&self.dirs().tree(&tree.root))
    }

    /// Returns the folders of the indexes that a sync publishes.
    pub fn indexes(&self) -> Vec<PathBuf> {
        let dirs = self.dirs();
        let states = || self.trees.iter().map(|tree| dirs.tree(&tree.root));
        // Indexes of thinking are last, because few users search them.
        let thinking = self.trees.iter().filter(|tree| self.thinks(tree));
        let thoughts = thinking.map(|tree| dirs.tree(&tree.root).thinking);
        let told = states().map(|state| state.index).chain([dirs.user_state().index]);
        told.chain(thoughts).collect()
    }
}
