//! Finds the transcripts of this project, which have a working directory in one of its working trees. The names of
//! Claude Code's folders are ambiguous (`a_b`, `a-b` and `a.b` have the same one), so the records are read. The
//! position and the result are stored for each file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::layout::{Tree, UserDirs};
use serde::{Deserialize, Serialize};

pub use super::territory::{Territory, TerritoryClaim};
use super::unclaimed::{ClaimJudge, ClaimVerdict, UnclaimedSessions};
pub use super::walk::transcripts_in;
use super::{archive, configurations};
use crate::transcript::name::TranscriptName;

/// A transcript on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// Its path.
    pub path: PathBuf,
    /// The session and the subagent, as named by the path.
    pub name: TranscriptName,
    /// The length in bytes.
    pub len: u64,
    /// The inode.
    pub inode: u64,
    /// The time of the last change, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl Transcript {
    /// Returns the time of the last write.
    pub fn modified(&self) -> Timestamp {
        /// Number of nanoseconds in a millisecond.
        const NS_OF_MS: i128 = 1_000_000;
        Timestamp(i64::try_from(self.modified_ns / NS_OF_MS).unwrap_or(i64::MAX))
    }
}

/// State of a transcript that is stored between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeenTranscript {
    /// The inode. A different inode means that the path has another file.
    pub inode: u64,
    /// Position up to which the transcript was searched for working directories.
    pub looked: u64,
    /// Whether the transcript is this project's.
    pub ours: bool,
    /// The working tree in which the transcript was recorded, if another folder is now at that path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<PathBuf>,
    /// A repository inside the project's tree, if the transcript was recorded there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<PathBuf>,
    /// Whether the transcript was imported by `--from`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_folder: bool,
    /// The session named by the records, if the path does not name it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The length when it was last archived, in bytes.
    pub len: u64,
    /// The time of the last change when it was last archived, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// Result of a scan of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The transcripts, by path.
    pub transcripts: Vec<Transcript>,
    /// Number of other transcripts: those of other projects, and those without a working directory.
    pub others: usize,
    /// Time of the newest transcript of any project, in nanoseconds since 1970.
    pub newest_ns: Option<i128>,
    /// Folders and files that could not be read.
    pub unreadable: Vec<PathBuf>,
    /// A warning for each account folder or transcript that could not be read.
    pub warnings: Vec<String>,
    /// Sessions that were recorded in the project's folders but may be another project's. Nothing is learned from them.
    pub unclaimed: UnclaimedSessions,
}

/// Returns the transcripts of a project among all transcripts of Claude Code.
pub fn transcripts(dirs: &UserDirs, tree: &Tree) -> Result<Discovery> {
    let territory = Territory::new(dirs, tree, &[]);
    ours(dirs, &territory, &mut BTreeMap::new(), &ClaimJudge::new(dirs, &territory))
}

/// Returns the transcripts of this project. Updates `seen`, and removes transcripts from it that no longer exist.
pub fn ours(
    dirs: &UserDirs,
    territory: &Territory,
    seen: &mut BTreeMap<PathBuf, SeenTranscript>,
    judge: &ClaimJudge<'_>,
) -> Result<Discovery> {
    let mut all = Discovery::default();
    for (number, folder) in configurations::transcript_folders(dirs).iter().enumerate() {
        match transcripts_in(folder) {
            _ if !folder.is_dir() => {}
            Ok(found) => all.add(found),
            // An error in the folder of another account does not prevent reading the folder of the current account.
            Err(error) if number > 0 => all.warnings.push(format!("{error:#}")),
            Err(error) => return Err(error),
        }
    }
    let mut before = std::mem::take(seen);
    let mut found = Vec::new();
    let mut closed = Vec::new();
    let candidates = std::mem::take(&mut all.transcripts);
    all.others = candidates.len();
    for mut transcript in candidates {
        let mut memo = before.remove(&transcript.path).unwrap_or_default();
        if memo.inode != transcript.inode || transcript.len < memo.looked {
            memo = SeenTranscript { inode: transcript.inode, ..SeenTranscript::default() };
        }
        if !memo.ours && memo.looked < transcript.len {
            // A transcript that is missing or unreadable now is searched by the next run.
            let looked = look(&transcript.path, territory, &mut memo);
            if looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
                closed.push(transcript.path.clone());
            }
        }
        if transcript.name.session.is_empty() {
            transcript.name.session.clone_from(&memo.session);
        }
        if is_taken(&transcript, &memo, judge, &mut all.unclaimed) {
            found.push(transcript.clone());
        }
        seen.insert(transcript.path, memo);
    }
    // Entries for transcripts in a folder that cannot be read now are kept.
    let hidden = |path: &Path| all.unreadable.iter().any(|folder| path.starts_with(folder));
    seen.extend(before.into_iter().filter(|(path, memo)| memo.from_folder || hidden(path)));
    all.warnings.extend(unreadable_warning(&closed));
    all.others -= found.len();
    all.transcripts = found;
    Ok(all)
}

/// Returns a warning about transcripts that this user may not read, which names the first one; `None` if there are
/// none.
fn unreadable_warning(closed: &[PathBuf]) -> Option<String> {
    let first = closed.first()?.display();
    let others = match closed.len() - 1 {
        0 => String::new(),
        1 => " and 1 more transcript".to_owned(),
        count => format!(" and {count} more transcripts"),
    };
    Some(format!(
        "{first}{others}: permission denied, so that nothing is learned from what is there. `sudo chown \"$USER\"` or \
         `chmod u+r` gives you the right to read it."
    ))
}

/// Returns whether a transcript is the project's. If it was recorded in the project's folders and may be another
/// project's, it is added to `unclaimed`.
fn is_taken(
    transcript: &Transcript,
    memo: &SeenTranscript,
    judge: &ClaimJudge<'_>,
    unclaimed: &mut UnclaimedSessions,
) -> bool {
    let is_person = transcript.name.agent.is_none();
    let is_here = memo.ours
        || memo.replaced.as_deref().is_some_and(|root| judge.is_older_than(transcript, root));
    if !is_here {
        if let (Some(root), true) = (&memo.inner, is_person) {
            unclaimed.add_inner(root);
        }
        return false;
    }
    if memo.len > 0 {
        return true;
    }
    match judge.judge(transcript, &archive::name_of(&transcript.name)) {
        ClaimVerdict::Take => true,
        ClaimVerdict::Leave => false,
        ClaimVerdict::Name(reason) => {
            unclaimed.add(reason, transcript, is_person);
            false
        }
    }
}

impl Discovery {
    fn add(&mut self, other: Self) {
        let Self { transcripts, newest_ns, unreadable, warnings, .. } = other;
        let inodes: std::collections::HashSet<u64> =
            self.transcripts.iter().map(|transcript| transcript.inode).collect();
        // The folders of several accounts may be links to the same folder.
        let is_new = |it: &Transcript| !inodes.contains(&it.inode);
        self.transcripts.extend(transcripts.into_iter().filter(is_new));
        self.newest_ns = self.newest_ns.max(newest_ns);
        self.unreadable.extend(unreadable);
        self.warnings.extend(warnings);
    }
}

/// Searches the new part of a transcript for a working directory of this project, up to the first one.
fn look(path: &Path, territory: &Territory, memo: &mut SeenTranscript) -> io::Result<()> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(memo.looked))?;
    let mut lines = crate::transcript::lines(BufReader::with_capacity(256 << 10, file));
    let from = memo.looked;
    let mut last = String::new();
    while let Some(line) = lines.next_whole()? {
        // Most lines have the same working directory as the previous line.
        if let Some(found) = crate::transcript::place(line).filter(|found| found.cwd != last) {
            let claim = territory.claim(&found.cwd);
            if claim != TerritoryClaim::Others && memo.session.is_empty() {
                memo.session = found.session;
            }
            match claim {
                TerritoryClaim::Ours(_) => {
                    memo.ours = true;
                    return Ok(());
                }
                TerritoryClaim::Replaced(root) => memo.replaced = Some(root),
                TerritoryClaim::Inner(root) => memo.inner = Some(root),
                TerritoryClaim::Others => {}
            }
            last = found.cwd;
        }
        memo.looked = from + lines.consumed;
    }
    memo.looked = from + lines.consumed;
    Ok(())
}

/// Returns the session that a transcript's first records name; `None` if they name none.
pub fn session_of(path: &Path) -> Option<String> {
    /// Maximum number of lines that are searched for a session id.
    const LINES_MAX: usize = 50;
    let mut lines = crate::transcript::lines(BufReader::new(File::open(path).ok()?));
    for _ in 0..LINES_MAX {
        let line = lines.next_whole().ok()??;
        if let Some(found) = crate::transcript::place(line)
            && !found.session.is_empty()
        {
            return Some(found.session);
        }
    }
    None
}

/// Checks whether a folder of transcripts is readable, so that an error is reported before work begins.
pub fn check_folder(folder: &Path) -> Result<()> {
    let listing = std::fs::read_dir(folder)
        .with_context(|| format!("{}: cannot read this folder of transcripts", folder.display()))?;
    drop(listing);
    Ok(())
}

/// Returns the deepest folder that contains all of these; `None` if there is none. It is used for transcripts that were
/// recorded on another machine.
pub fn common_root<'a>(cwds: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut common: Option<Vec<&str>> = None;
    for cwd in cwds.into_iter().filter(|cwd| cwd.starts_with('/')) {
        let parts: Vec<&str> = cwd.trim_end_matches('/').split('/').collect();
        common = Some(match common {
            None => parts,
            Some(before) => before
                .into_iter()
                .zip(parts)
                .take_while(|(a, b)| a == b)
                .map(|(part, _)| part)
                .collect(),
        });
    }
    // A folder directly below the root of the file system is not a project.
    common.filter(|parts| parts.len() > 2).map(|parts| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_root_is_a_folder_of_all() {
        let check = |cwds: &[&str], expected: Option<&str>| {
            assert_eq!(common_root(cwds.iter().copied()).as_deref(), expected, "{cwds:?}");
        };
        check(&["/u/ada/code/app", "/u/ada/code/app/web"], Some("/u/ada/code/app"));
        check(&["/u/ada/code/app", "/u/ada/code/application"], Some("/u/ada/code"));
        check(&["/u/ada/x"], Some("/u/ada/x"));
        check(&["/u/x", "/v/x"], None);
        check(&["relative", ""], None);
    }
}
