//! Record of a project: its identity, and the location of its memories.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::add;
use super::observed::Observed;
use crate::error::{At, Error, Result};
use crate::file::EXTENSION;
use crate::fs::disk::{Privacy, read_if_there, replace};
use crate::fs::tree_fingerprint::TreeFingerprint;
use crate::id::ProjectId;
use crate::layout::{ProjectDir, TreeRecord, UserDirs, memory_folder};
use crate::time::Timestamp;
use crate::tree::KnownFingerprint;

/// Maximum size of a project's record in bytes.
const IDENTITY_BYTES_MAX: usize = 1 << 20;

/// Where a project's memories are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In the repository's `.throughline/memories`, to be committed.
    #[default]
    Committed,
    /// The memories are in the user's data directory.
    Private,
}

/// Decision of the user about sessions that may belong to another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// True if the sessions belong to this project.
    pub take: bool,
    /// Time before which a session must have been last written for the decision to apply.
    pub until: Timestamp,
}

/// Identity of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Id of the project.
    pub project: ProjectId,
    /// Where the project's memories are stored.
    #[serde(default)]
    pub mode: Mode,
    /// Time at which the project was set up.
    #[serde(default)]
    pub created: Timestamp,
    /// Root commits of the history; empty without git or for a shallow clone.
    #[serde(default)]
    pub root_commits: Vec<String>,
    /// Normalised addresses of the remotes.
    #[serde(default)]
    pub remotes: Vec<String>,
    /// Roots of the working trees in which the project was seen, the first one first.
    #[serde(default)]
    pub paths: Vec<PathBuf>,
    /// Roots of the linked worktrees that were seen.
    #[serde(default)]
    pub worktrees: Vec<PathBuf>,
    /// Roots of working trees whose trust was revoked. If one is trusted again, it belongs to this project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoked: Vec<PathBuf>,
    /// The user's decision about sessions that were recorded at the project's paths before the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Earlier>,
    /// Time before which sessions must have ended for their turns to be kept regardless of their age. It is set if some
    /// sessions exceeded the maximum age when they were first read, and the user chose to keep their turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<Timestamp>,
    /// Restrictions on other people's commits that an older version recorded. If there are any, memories from the
    /// repository are withheld until they are released, regardless of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<serde_json::Value>,
}

impl Identity {
    /// Returns the record of a new project.
    pub(super) fn new(random: [u8; 16], now: Timestamp) -> Self {
        Self {
            project: ProjectId(random),
            mode: Mode::default(),
            created: now,
            root_commits: Vec::new(),
            remotes: Vec::new(),
            paths: Vec::new(),
            worktrees: Vec::new(),
            revoked: Vec::new(),
            earlier: None,
            kept_until: None,
            authors: None,
        }
    }

    /// Reads the record of a project, or the copy if the record is damaged or missing. Returns `None` if neither
    /// exists.
    pub fn read(project: &ProjectDir) -> Result<Option<Self>> {
        let damage = match Self::read_file(&project.identity) {
            Ok(Some(identity)) => return Ok(Some(identity)),
            Ok(None) => None,
            Err(error @ Error::Settings { .. }) => Some(error),
            Err(error) => return Err(error),
        };
        match (Self::read_file(&project.identity_copy), damage) {
            (Ok(Some(identity)), _) => Ok(Some(identity)),
            (_, Some(damage)) => Err(damage),
            (_, None) => Ok(None),
        }
    }

    fn read_file(path: &Path) -> Result<Option<Self>> {
        let Some(bytes) = read_if_there(path, IDENTITY_BYTES_MAX)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::Settings {
            path: path.to_owned(),
            message: format!("{error}; remove the file and run `throughline init` in the project"),
        })
    }

    /// Rewrites a damaged or missing record from its copy. If there is no copy, because an older version wrote none,
    /// rebuilds the record from the records of the project's folders. Returns a description of the repair, or `None` if
    /// nothing was repaired.
    pub(super) fn mend(dirs: &UserDirs, project: ProjectId) -> Result<Option<String>> {
        let home = dirs.project(project);
        let damage = match Self::read_file(&home.identity) {
            Ok(Some(identity)) => {
                // If an older version wrote the record, its copy is created now.
                if !home.identity_copy.exists() {
                    identity.write_to(&home.identity_copy)?;
                }
                return Ok(None);
            }
            Ok(None) => "gone",
            Err(Error::Settings { .. }) => "damaged",
            Err(error) => return Err(error),
        };
        let copy = Self::read_file(&home.identity_copy).ok().flatten();
        let Some(identity) = copy.or_else(|| Self::rebuilt(dirs, project)) else { return Ok(None) };
        let aside = home.identity.with_extension("json.damaged");
        if damage == "damaged" {
            std::fs::rename(&home.identity, &aside).at(&aside)?;
        }
        identity.write(dirs)?;
        Ok(Some(format!("{} was {damage}; it was written again", home.identity.display())))
    }

    /// Returns the recoverable part of a lost record. `None` if the mode is not certain, because private memories must
    /// not be written to a repository.
    fn rebuilt(dirs: &UserDirs, project: ProjectId) -> Option<Self> {
        let records = std::fs::read_dir(dirs.data.join("by-path")).ok()?.flatten();
        let mut paths: Vec<PathBuf> = records
            .filter_map(|entry| TreeRecord::read_file(&entry.path()))
            .filter(|record| record.project == project)
            .map(|record| record.home.unwrap_or(record.path))
            .collect();
        paths.sort();
        paths.dedup();
        let has_memories = |folder: &Path| {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.map(|file| file.path()).any(|file| file.extension() == Some(EXTENSION.as_ref()))
        };
        let is_private = has_memories(&dirs.project(project).private_memories);
        let is_committed = paths.iter().any(|root| has_memories(&memory_folder(root)));
        let mode = match (is_private, is_committed) {
            (false, true) => Mode::Committed,
            (true, _) => Mode::Private,
            (false, false) => return None,
        };
        Some(Self { mode, paths, ..Self::new(project.0, Timestamp::default()) })
    }

    pub(super) fn write(&self, dirs: &UserDirs) -> Result<()> {
        let home = dirs.project(self.project);
        self.write_to(&home.identity)?;
        self.write_to(&home.identity_copy)
    }

    fn write_to(&self, path: &Path) -> Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| Error::Settings {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
        bytes.push(b'\n');
        replace(path, &bytes, Privacy::Private)
    }

    /// Adds an observation of one of the project's working trees to the record.
    pub(super) fn learn(&mut self, observed: &Observed) {
        let main_root = observed.main_root();
        add(&mut self.paths, [main_root.to_owned()]);
        self.revoked.retain(|root| root != main_root);
        if !observed.shallow {
            add(&mut self.root_commits, observed.root_commits.iter().cloned());
        }
        add(&mut self.remotes, observed.normal_remotes());
        let linked = observed.main_root.as_ref().map(|_| observed.root.clone());
        add(&mut self.worktrees, observed.worktrees.iter().cloned().chain(linked));
        self.worktrees.retain(|worktree| worktree.is_dir());
    }

    /// Returns whether a tree belongs to this project without a confirmation: it has the same root commit and the same
    /// remote. One of the two is not sufficient, because a fork has the same root commit, and memories of a private
    /// fork must not appear in the public clone.
    pub(super) fn is_joined_by(&self, observed: &Observed) -> bool {
        !observed.shallow && self.shares_remote(observed) && self.shares_root_commit(observed)
    }

    pub(super) fn shares_root_commit(&self, observed: &Observed) -> bool {
        observed.root_commits.iter().any(|root| self.root_commits.contains(root))
    }

    fn shares_remote(&self, observed: &Observed) -> bool {
        observed.normal_remotes().iter().any(|remote| self.remotes.contains(remote))
    }

    /// Returns whether a person trusted a tree before, and the trust was revoked or the record of the tree's path was
    /// lost. A tree with another history at the same path does not match.
    pub(super) fn was_vouched_for(&self, observed: &Observed) -> bool {
        let has_none = self.root_commits.is_empty() && observed.root_commits.is_empty();
        let mut roots = self.revoked.iter().chain(&self.paths);
        roots.any(|root| root == observed.main_root())
            && (has_none || self.shares_root_commit(observed))
    }

    /// Returns whether a newly trusted tree is this project after a move: all recorded folders are missing, and the
    /// tree has the same root commit and the same remote, or neither has a remote.
    pub(super) fn was_moved_to(&self, observed: &Observed) -> bool {
        let has_none = self.remotes.is_empty() && observed.normal_remotes().is_empty();
        !observed.shallow
            && self.is_gone()
            && self.shares_root_commit(observed)
            && (has_none || self.shares_remote(observed))
    }

    /// Returns whether all folders of the project are missing.
    pub fn is_gone(&self) -> bool {
        !self.paths.is_empty()
            && self.paths.iter().chain(&self.worktrees).all(|path| !path.exists())
    }

    /// Returns the reason why the tree at a recorded path is not the trusted one. `None` if it is the same tree, even
    /// if it was cloned again. For a record with a tree fingerprint, both a root commit and a remote must match; for a
    /// record without one, either is sufficient.
    pub(super) fn objection(
        &self,
        observed: &Observed,
        sealed: &KnownFingerprint,
        now: &TreeFingerprint,
    ) -> Option<&'static str> {
        let is_old = *sealed == KnownFingerprint::No;
        let owned = match sealed {
            KnownFingerprint::As(fingerprint) => now.is_owned_as(fingerprint),
            // git checks the owner of a repository before it reports anything about the repository.
            KnownFingerprint::No | KnownFingerprint::Broken => {
                now.is_ours() || !observed.root_commits.is_empty()
            }
        };
        if !owned {
            return Some("it belongs to another user");
        }
        if self.root_commits.is_empty() && self.remotes.is_empty() {
            return (!is_old).then_some("it is another folder, and no history tells what it is");
        }
        if observed.root_commits.is_empty() {
            return Some("git does not tell its history");
        }
        let shares_remote = self.shares_remote(observed);
        let cannot_tell = observed.shallow || self.root_commits.is_empty();
        let has_root = self.shares_root_commit(observed) || (cannot_tell && shares_remote);
        let has_none = self.remotes.is_empty() && observed.normal_remotes().is_empty();
        let has_remote = shares_remote || has_none;
        match (has_root, has_remote) {
            (true, true) => None,
            (true, false) | (false, true) if is_old => None,
            (false, _) => Some("it has another history"),
            (true, false) => Some("it has another remote"),
        }
    }

    /// Returns whether a tree may belong to this project, so that the user should be asked.
    pub fn resembles(&self, observed: &Observed) -> bool {
        self.shares_root_commit(observed) || self.shares_remote(observed)
    }
}
