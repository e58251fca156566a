//! State that a sync stores so that the next sync is fast. It can be derived again from the archive and the
//! transcripts, so losing it only costs time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use memory_store::handoff::LeftSession;
use memory_store::layout::ProjectDir;
use memory_store::{Kind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::collect::discover::SeenTranscript;
use crate::handoff::SESSIONS_MAX;
use crate::private_files::{Damaged, read_checked, read_json, write_checked, write_packed};
use crate::transcript::{Speaker, parts};

/// Version of the stored state. It must be changed whenever the meaning of the state changes.
const VERSION: u32 = 4;

/// Maximum number of handoffs for one working directory: twice the number that is shown.
const LEFT_MAX: usize = 2 * SESSIONS_MAX;

/// State of one project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// The version of the format. A file without this field counts as outdated.
    #[serde(default)]
    version: u32,
    /// Transcripts that were examined, by path.
    pub seen: BTreeMap<PathBuf, SeenTranscript>,
    /// Archived sessions, by the name of their archive file.
    pub sessions: BTreeMap<String, SessionState>,
    /// Packs whose bytes were all verified, by name: their length, and the time of writing in nanoseconds since 1970.
    pub packs: BTreeMap<String, (u64, i128)>,
    /// Time when packing last failed and was postponed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packing_failed: Option<Timestamp>,
    /// Sessions whose transcripts contain nothing to keep.
    pub empty: BTreeSet<String>,
    /// Whether all turns must be indexed again, because the index may still contain removed turns.
    pub all_turns: bool,
    /// Version of the tokenizer that was used for the passages in the indexes (`memory_store::text::VERSION`).
    pub terms: u32,
    /// Version of the rules that split turns into passages and select passages (`crate::passages::version`).
    pub passages: u32,
    /// Sessions some of whose turns may be missing in the index.
    pub pending: BTreeSet<String>,
    /// Commands that passed in several sessions, in the form in which the start block shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Inputs and results of the last learning.
    pub learned: Learned,
    /// Fingerprint of the last published result (see `sync/fingerprint.rs`).
    pub published: String,
}

/// State when memories were last derived from drafts and published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    /// A hash of the inputs (see `sync/unchanged.rs`).
    pub inputs: String,
    /// Number of memories in the main working tree's store.
    pub memories: usize,
    /// Number of memories that were derived from drafts and written.
    pub derived: usize,
    /// Number of memories that were not written because a person deleted them.
    pub tombstoned: usize,
    /// Number of turns in sessions whose turns were removed.
    pub expired_turns: usize,
    /// Number of questions about relations between drafts that were postponed for lack of time.
    pub relations_later: usize,
}

/// State of one archived session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// The length of the archive file in bytes.
    pub len: u64,
    /// The time when the archive file was written, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// A hash of the session's records.
    pub content: String,
    /// The time of the first record.
    pub first: Timestamp,
    /// The time of the last record.
    pub last: Timestamp,
    /// The working directories of the prompts.
    pub cwds: Vec<String>,
    /// Speaker of the prompts; `None` if this part of the session does not determine it.
    pub speaker: Option<Speaker>,
    /// Whether the transcript was imported by `--from`.
    pub from_folder: bool,
    /// Working directory and handoff of the session.
    pub left: Option<(String, LeftSession)>,
    /// Files that the session edited, relative to their working tree, with the time of the last edit.
    pub edited: BTreeMap<String, Timestamp>,
    /// Summary of the drafts that were mined from the session.
    pub mined: Option<MinedSummary>,
    /// Whether packing rejected the archive file. Packing it is then not tried again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unpackable: bool,
}

/// Summary of a mined session, sufficient to decide whether memories may change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MinedSummary {
    /// Key that identifies the session's content and the extractor.
    pub key: String,
    /// The kinds of drafts that were enabled in the settings at that time.
    pub kinds: Vec<Kind>,
    /// Id of the session.
    pub session: String,
    /// Number of turns of the session.
    pub turns: usize,
    /// The working directory of the first turn.
    pub cwd: String,
    /// Open tasks at the end of the session, as found by a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Number of drafts of these kinds.
    pub drafts: usize,
    /// A hash of these drafts.
    pub digest: String,
}

impl SessionState {
    /// Returns whether the prompts are a person's; true if the state does not determine this.
    fn is_persons(&self) -> bool {
        self.speaker.is_none_or(|speaker| speaker.is_person())
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            version: VERSION,
            seen: BTreeMap::new(),
            sessions: BTreeMap::new(),
            packs: BTreeMap::new(),
            packing_failed: None,
            empty: BTreeSet::new(),
            all_turns: false,
            terms: 0,
            passages: 0,
            pending: BTreeSet::new(),
            commands: Vec::new(),
            learned: Learned::default(),
            published: String::new(),
        }
    }
}

impl State {
    /// Reads the state. A missing, damaged or outdated file results in an empty state.
    pub fn read(home: &ProjectDir) -> Self {
        read_checked::<Self>(&path(home))
            .ok()
            .flatten()
            .filter(|state| state.version == VERSION)
            .unwrap_or_default()
    }

    /// Writes the state, if it differs from the file.
    pub fn write(&self, home: &ProjectDir) -> Result<()> {
        write_packed(&path(home), self)
    }

    /// Returns the sessions with the combined state of all parts: the time of the first and last record, and all edited
    /// files.
    pub fn whole_sessions(&self) -> BTreeMap<&str, SessionState> {
        let mut whole: BTreeMap<&str, SessionState> = BTreeMap::new();
        for (name, part) in &self.sessions {
            let session = whole
                .entry(parts::of_name(name).0)
                .or_insert_with(|| SessionState { first: part.first, ..SessionState::default() });
            session.first = session.first.min(part.first);
            session.last = session.last.max(part.last);
            session.speaker = session.speaker.into_iter().chain(part.speaker).min();
            session.left = session.left.take().or_else(|| part.left.clone());
            for (path, at) in &part.edited {
                let edited = session.edited.entry(path.clone()).or_insert(*at);
                *edited = (*edited).max(*at);
            }
        }
        whole
    }

    /// Returns the speaker of the prompts of a session, given the name of its file or of a part; a person by default.
    pub fn speaker(&self, name: &str) -> Speaker {
        let session = parts::of_name(name).0;
        let from = self.sessions.range(session.to_owned()..);
        let parts = from.take_while(|(name, _)| name.starts_with(session));
        let parts = parts.filter(|(name, _)| parts::of_name(name).0 == session);
        parts.filter_map(|(_, part)| part.speaker).min().unwrap_or_default()
    }

    /// Drops the handoffs of sessions that were followed by enough other sessions in the same working directory. They
    /// are never shown, and a long history has many.
    pub fn forget_left(&mut self) {
        // Programs may have many sessions, so sessions of people are counted separately.
        let mut places: BTreeMap<(&str, bool), Vec<Timestamp>> = BTreeMap::new();
        for session in self.sessions.values() {
            if let Some((cwd, left)) = &session.left {
                places.entry((cwd, session.is_persons())).or_default().push(left.last);
            }
        }
        let oldest: BTreeMap<(String, bool), Timestamp> = places
            .into_iter()
            .filter(|(_, times)| times.len() > LEFT_MAX)
            .map(|((cwd, is_persons), mut times)| {
                times.sort_unstable_by(|a, b| b.cmp(a));
                ((cwd.to_owned(), is_persons), times[LEFT_MAX - 1])
            })
            .collect();
        for session in self.sessions.values_mut() {
            let is_persons = session.is_persons();
            drop(session.left.take_if(|(cwd, left)| {
                let oldest = oldest.get(&(cwd.clone(), is_persons));
                oldest.is_some_and(|oldest| left.last < *oldest)
            }));
        }
    }
}

/// Returns the roots of the project's working trees, including former ones. Their file is not a cache: after a worktree
/// was removed, nothing else connects its sessions with this project. It is therefore stored in the folder of the
/// archive.
pub fn read_roots(home: &ProjectDir) -> Vec<PathBuf> {
    let path = roots_path(home);
    match read_checked::<RootsFile>(&path) {
        Ok(read) => read.unwrap_or_default().roots,
        // Older versions wrote a list without a checksum.
        Err(Damaged) => read_json(&path).unwrap_or_default(),
    }
}

/// Writes the roots, if they differ from the file.
pub fn write_roots(home: &ProjectDir, roots: &[PathBuf]) -> Result<()> {
    write_checked(&roots_path(home), &RootsFile { roots: roots.to_vec() })
}

/// Content of the file of roots.
#[derive(Default, Serialize, Deserialize)]
struct RootsFile {
    roots: Vec<PathBuf>,
}

fn roots_path(home: &ProjectDir) -> PathBuf {
    home.archive.join("roots.json")
}

fn path(home: &ProjectDir) -> PathBuf {
    home.mined.join("state.json")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::private_files::{unpack, write_json};

    #[test]
    fn a_flipped_bit_is_noticed_or_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roots.json");
        let roots = || RootsFile { roots: vec!["/home/ada/work".into(), "/home/ada/other".into()] };
        for write in [write_checked, write_packed] {
            write(&path, &roots()).unwrap();
            let sound = fs::read(&path).unwrap();
            assert_eq!(read_checked::<RootsFile>(&path).unwrap().unwrap().roots, roots().roots);
            for at in 0..sound.len() * 8 {
                let mut damaged = sound.clone();
                damaged[at / 8] ^= 1 << (at % 8);
                fs::write(&path, &damaged).unwrap();
                let read = read_checked::<RootsFile>(&path);
                assert!(read.is_err() || read.unwrap().unwrap().roots == roots().roots, "bit {at}");
            }
            fs::write(&path, &sound[..sound.len() / 2]).unwrap();
            assert!(read_checked::<RootsFile>(&path).is_err());
        }
    }

    #[test]
    fn roots_of_an_older_version_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(folder.path().to_owned());
        let roots = [PathBuf::from("/home/ada/work")];
        write_json(&roots_path(&home), &roots).unwrap();
        assert_eq!(read_roots(&home), roots);
        write_roots(&home, &roots).unwrap();
        assert_eq!(read_roots(&home), roots);
        assert!(fs::read_to_string(roots_path(&home)).unwrap().contains("check"));
    }

    #[test]
    fn parts_are_combined_into_their_session() {
        let part = |first: i64, edited: &[(&str, i64)], left: Option<&str>| SessionState {
            first: Timestamp(first),
            last: Timestamp(first + 5),
            edited: edited.iter().map(|(path, at)| ((*path).to_owned(), Timestamp(*at))).collect(),
            left: left.map(|goal| {
                let left = LeftSession { goal: goal.to_owned(), ..LeftSession::default() };
                (String::new(), left)
            }),
            ..SessionState::default()
        };
        let mut state = State::default();
        for (name, session) in [
            ("a", part(20, &[("x.rs", 21)], Some("end"))),
            ("a~00001", part(1, &[("x.rs", 2), ("y.rs", 3)], None)),
            ("a~00002", part(10, &[], None)),
            ("b", part(4, &[], None)),
        ] {
            state.sessions.insert(name.to_owned(), session);
        }
        let whole = state.whole_sessions();
        assert_eq!(whole.keys().copied().collect::<Vec<_>>(), ["a", "b"]);
        let a = &whole["a"];
        assert_eq!((a.first, a.last), (Timestamp(1), Timestamp(25)));
        assert_eq!(a.left.as_ref().map(|(_, left)| left.goal.as_str()), Some("end"));
        let edited: Vec<_> = a.edited.iter().map(|(path, at)| (path.as_str(), at.0)).collect();
        assert_eq!(edited, [("x.rs", 21), ("y.rs", 3)]);
    }

    #[test]
    fn a_file_without_a_version_is_not_believed() {
        let data = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(data.path().to_owned());
        let remembered = State { published: "before".into(), ..State::default() };
        remembered.write(&home).unwrap();
        assert_eq!(State::read(&home), remembered);
        let packed = fs::read(path(&home)).unwrap();
        let text = String::from_utf8(unpack(packed.clone()).unwrap()).unwrap();
        assert!(packed.len() < text.len());
        fs::write(path(&home), &text).unwrap();
        assert_eq!(State::read(&home), remembered, "an older version did not pack it");
        let without = text.replace(&format!("\"version\":{VERSION},"), "");
        assert_ne!(without, text);
        fs::write(path(&home), without).unwrap();
        assert_eq!(State::read(&home), State::default());
    }

    #[test]
    fn where_the_newest_sessions_of_a_folder_were_left_is_remembered() {
        let mut state = State::default();
        for number in 0..LEFT_MAX + 5 {
            let last = Timestamp(i64::try_from(number).unwrap());
            let left = LeftSession { last, ..LeftSession::default() };
            let cwd = if number == 0 { "/elsewhere" } else { "/here" };
            let left = Some((cwd.to_owned(), left));
            let session = SessionState { left, ..SessionState::default() };
            state.sessions.insert(format!("{number:02}"), session);
        }
        state.forget_left();
        let left = state.sessions.iter().filter(|(_, session)| session.left.is_some());
        let left: Vec<&str> = left.map(|(name, _)| name.as_str()).collect();
        assert_eq!((left.len(), left[0], left[1]), (LEFT_MAX + 1, "00", "05"));
        assert_eq!(state.sessions.len(), LEFT_MAX + 5);
    }
}
