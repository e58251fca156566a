//! Sessions that were recorded at a project's path but may belong to another project: to one that was at the path
//! before, to a folder that no longer exists, or to a repository inside the project. They are listed, but nothing is
//! learned from them until the user decides.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memory_store::fs::tree_fingerprint::born_ms;
use memory_store::identity::{self, Earlier, Identity};
use memory_store::layout::UserDirs;
use memory_store::{ProjectId, Timestamp};

use super::archive::Archive;
use super::discover::Transcript;
use super::expired::Expired;
use super::territory::Territory;
use crate::git;
use crate::transcript::SOURCE;

/// Number of bytes at a transcript's end that are searched for the time of the last record.
const TAIL_BYTES_MAX: u64 = 64 << 10;
/// Number of characters of a project's id in messages.
const ID_CHARS: usize = 12;
/// Maximum number of inner repositories that a message names.
const NAMED_MAX: usize = 3;

/// Decision about a transcript that was recorded in the project's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// The transcript belongs to the project.
    Take,
    /// The user excluded the transcript.
    Leave,
    /// The user must decide to which project it belongs.
    Name(UnclaimedReason),
}

/// Reason why the user must decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnclaimedReason {
    /// Another project was at this path and has the session in its history.
    OtherProject(ProjectId),
    /// The session ended before the folder was created and before the repository's first commit.
    Older(Timestamp),
}

/// Data for decisions about transcripts. Histories are read only when an uncertain transcript needs them.
pub struct ClaimJudge<'a> {
    dirs: &'a UserDirs,
    territory: &'a Territory,
    /// Time when the project was set up; `None` if it is not set up yet.
    created: Option<Timestamp>,
    decided: Option<Earlier>,
    /// Sessions in the project's own history.
    known: OnceCell<HashSet<String>>,
    /// Sessions in the histories of other projects that were at the same paths.
    others: OnceCell<Vec<(ProjectId, HashSet<String>)>>,
    /// Time of the repository's first commit.
    began: OnceCell<Option<Timestamp>>,
}

impl<'a> ClaimJudge<'a> {
    /// Prepares decisions, without reading any history.
    pub fn new(dirs: &'a UserDirs, territory: &'a Territory) -> Self {
        let project = dirs.project(territory.tree().project);
        let identity = Identity::read(&project).ok().flatten();
        Self {
            dirs,
            territory,
            created: identity.as_ref().map(|identity| identity.created),
            decided: identity.and_then(|identity| identity.earlier),
            known: OnceCell::new(),
            others: OnceCell::new(),
            began: OnceCell::new(),
        }
    }

    /// Decides about a transcript in the project's territory that was not read before. `name` is the name of its
    /// session in the archive.
    pub fn judge(&self, transcript: &Transcript, name: &str) -> ClaimVerdict {
        let modified = transcript.modified();
        // A transcript that was written after the project was set up belongs to the project.
        let is_later = self.created.is_some_and(|created| modified >= created);
        if is_later || self.known().contains(name) {
            return ClaimVerdict::Take;
        }
        if let Some(decided) = self.decided.filter(|decided| modified <= decided.until) {
            return if decided.take { ClaimVerdict::Take } else { ClaimVerdict::Leave };
        }
        let has = |(project, names): &(ProjectId, HashSet<String>)| {
            names.contains(name).then_some(UnclaimedReason::OtherProject(*project))
        };
        let reason = self.others().iter().find_map(has).or_else(|| self.older(transcript));
        reason.map_or(ClaimVerdict::Take, ClaimVerdict::Name)
    }

    /// Returns whether a transcript ended before a folder was created.
    pub fn is_older_than(&self, transcript: &Transcript, folder: &Path) -> bool {
        born_ms(folder).is_some_and(|born| last_active(transcript).0 < born)
    }

    fn older(&self, transcript: &Transcript) -> Option<UnclaimedReason> {
        let root = &self.territory.tree().main_root;
        let began = (*self.began.get_or_init(|| git::began(root)))?;
        // If the folder is older than the session, only the repository was created later.
        let is_older = last_active(transcript) < began
            && (born_ms(root).is_none() || self.is_older_than(transcript, root));
        is_older.then_some(UnclaimedReason::Older(began))
    }

    fn known(&self) -> &HashSet<String> {
        self.known.get_or_init(|| known_sessions(self.dirs, self.territory.tree().project))
    }

    fn others(&self) -> &[(ProjectId, HashSet<String>)] {
        self.others.get_or_init(|| {
            let tree = self.territory.tree();
            let here = [&tree.root, &tree.main_root];
            let was_here = |identity: &Identity| {
                let mut roots = identity.paths.iter().chain(&identity.worktrees);
                identity.project != tree.project && roots.any(|root| here.contains(&root))
            };
            let known = identity::list(self.dirs).unwrap_or_default().into_iter();
            let others = known.map(|known| known.identity).filter(was_here);
            others.map(|it| (it.project, known_sessions(self.dirs, it.project))).collect()
        })
    }
}

/// Returns the names of the sessions in a project's history.
pub(crate) fn known_sessions(dirs: &UserDirs, project: ProjectId) -> HashSet<String> {
    let home = dirs.project(project);
    let archived = Archive::open(&home).names().unwrap_or_default();
    archived.into_iter().chain(Expired::open(&home).names()).collect()
}

/// Returns the time of the last record of a transcript, or else the time of the file.
pub(crate) fn last_active(transcript: &Transcript) -> Timestamp {
    last_recorded(&transcript.path).ok().flatten().unwrap_or_else(|| transcript.modified())
}

fn last_recorded(path: &Path) -> io::Result<Option<Timestamp>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL_BYTES_MAX)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES_MAX).read_to_end(&mut tail)?;
    Ok(tail.rsplit(|byte| *byte == b'\n').find_map(|line| SOURCE.time(line)))
}

/// Sessions that were recorded at a project's path but from which nothing is learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnclaimedSessions {
    /// Number of sessions of other projects, by project.
    others: BTreeMap<ProjectId, usize>,
    /// Number of sessions that are older than the repository, and the time of its first commit.
    older: Option<(usize, Timestamp)>,
    /// Number of sessions in repositories inside the project, by the root of the repository.
    inner: BTreeMap<PathBuf, usize>,
    /// Time of the newest transcript about which the user must decide.
    pub newest: Option<Timestamp>,
}

impl UnclaimedSessions {
    pub(super) fn add_inner(&mut self, root: &Path) {
        *self.inner.entry(root.to_owned()).or_default() += 1;
    }

    pub(super) fn add(
        &mut self,
        reason: UnclaimedReason,
        transcript: &Transcript,
        is_person: bool,
    ) {
        self.newest = self.newest.max(Some(transcript.modified()));
        let count = usize::from(is_person);
        match reason {
            UnclaimedReason::OtherProject(project) => {
                *self.others.entry(project).or_default() += count
            }
            UnclaimedReason::Older(began) => {
                let before = self.older.map_or(0, |(before, _)| before);
                self.older = Some((before + count, began));
            }
        }
    }

    /// Returns a sentence for each reason, with the command for a decision.
    pub fn messages(&self) -> Vec<String> {
        const DECIDE: &str = "`throughline sync --earlier take` takes what is this project's, `--earlier leave` leaves \
                              it for good";
        let sessions = |count: usize| match count {
            1 => "1 session".to_owned(),
            count => format!("{count} sessions"),
        };
        let mut told = Vec::new();
        for (project, count) in self.others.iter().filter(|(_, count)| **count > 0) {
            let (sessions, id) = (sessions(*count), &project.to_string()[..ID_CHARS]);
            let of = if *count == 1 { "belongs" } else { "belong" };
            told.push(format!(
                "{sessions} of this path {of} to another project, which was here before ({id}): not learned from. \
                 {DECIDE}"
            ));
        }
        if let Some((count, began)) = self.older.filter(|(count, _)| *count > 0) {
            let (sessions, began) = (sessions(count), began.date());
            let are = if count == 1 { "is" } else { "are" };
            told.push(format!(
                "{sessions} of this path {are} older than this repository (begun on {began}) and its folder: not \
                 learned from. {DECIDE}"
            ));
        }
        for (root, count) in self.inner.iter().take(NAMED_MAX) {
            let (sessions, root) = (sessions(*count), root.display());
            told.push(format!(
                "{sessions} ran in {root}, a repository of its own inside this project: not learned from. \
                 `throughline init` there sets it up"
            ));
        }
        if let Some(more) = self.inner.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
            told.push(format!("{more} more repositories inside this project have sessions, too"));
        }
        told
    }
}
