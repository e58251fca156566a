//! Mining: the drafts of each archived session, cached until the session or the extractor changes.

use std::path::PathBuf;

use anyhow::Result;
use memory_store::layout::ProjectDir;
use memory_store::{Kind, Timestamp};
use serde::{Deserialize, Serialize};

use crate::collect::archive::{Archive, SessionHeader};
use crate::collect::discover::Territory;
use crate::collect::expired::Remains;
use crate::collect::forks::Ownership;
use crate::consolidate::touched::Work;
use crate::extract::draft::Draft;
use crate::extract::session_record::{self, SessionRecord};
use crate::extract::{self, Roots, RuleFindings};
use crate::llm::LanguageModel;
use crate::private_files::{read_checked, write_packed};
use crate::state::{MinedSummary, SessionState, State};
use crate::transcript::parts;
use crate::transcript::session::{Session, Step};
use crate::transcript::{Assembly, Redact, assemble};

/// Version of mining. It must be changed if the same records result in other turns or drafts, unless the extractor's
/// own version is changed.
const VERSION: u32 = 7;

/// Prefix of the key of a session that a model has not read to its end.
pub const LATER: &str = "later:";

/// Separator between the key of a closed part and the hash of the session's end with which a model read the part.
const END_MARK: char = '@';

/// Number of characters of that hash.
const END_MARK_BYTES: usize = 16;

/// Maximum number of closed parts of a session that a model reads again after the end of the session changed. The last
/// parts are used.
pub const ASKED_AGAIN_MAX: u32 = 64;

/// Result of mining one archived session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MinedFile {
    /// Key that identifies the session's content and the extractor.
    pub key: String,
    /// The name of the session's archive file.
    pub name: String,
    /// Id of the session.
    pub session: String,
    /// Number of turns of the session.
    pub turns: usize,
    /// The working directory of the first turn.
    pub cwd: String,
    /// Number of windows about which a model was asked; 0 without a model.
    pub windows: usize,
    /// Drafts found in the session.
    pub drafts: Vec<Draft>,
    /// Record of the session. Earlier versions stored only its commands and cures.
    #[serde(alias = "proven", skip_serializing_if = "SessionRecord::is_empty")]
    pub record: SessionRecord,
    /// Reason why nothing could be learned; `None` if there was no problem.
    #[serde(skip)]
    pub failure: Option<String>,
}

impl From<Remains> for MinedFile {
    fn from(remains: Remains) -> Self {
        let Remains { header, last, cwd, turns, mut drafts, mut record, lost: _ } = remains;
        // Versions before session records did not store a time in the record.
        if !record.is_empty() && record.last == Timestamp::default() {
            (record.first, record.last) = (last, last);
        }
        record.take_tasks(&mut drafts);
        Self {
            key: String::new(),
            name: String::new(),
            session: header.session,
            turns,
            cwd,
            windows: 0,
            drafts,
            record,
            failure: None,
        }
    }
}

impl MinedFile {
    /// Returns the summary to store. Only drafts of these `kinds` count, or all drafts if the list is empty. `is_asked`
    /// is whether a model is asked which memories the session's work made invalid.
    pub fn summary(&self, kinds: &[Kind], is_asked: bool) -> MinedSummary {
        let counts = |draft: &&Draft| kinds.is_empty() || kinds.contains(&draft.kind);
        let mut hasher = blake3::Hasher::new();
        let mut drafts = 0;
        for draft in self.drafts.iter().filter(counts) {
            // Serialising a draft cannot fail, because it is plain data.
            hasher.update(&serde_json::to_vec(draft).unwrap_or_default());
            hasher.update(b"\n");
            drafts += 1;
        }
        // Commands matter because the start block contains commands that passed in many sessions.
        for command in &self.record.commands {
            hasher.update(format!("{} {}\n", command.directory, command.line).as_bytes());
        }
        if is_asked && let Some(work) = Work::of(&self.record) {
            hasher.update(&serde_json::to_vec(&work).unwrap_or_default());
        }
        MinedSummary {
            key: self.key.clone(),
            kinds: kinds.to_vec(),
            session: self.session.clone(),
            turns: self.turns,
            cwd: self.cwd.clone(),
            drafts,
            unfinished: self.record.unfinished.clone(),
            digest: hasher.finalize().to_hex()[..32].to_owned(),
        }
    }
}

/// A session that was read and mined by rules, before a model is asked about it.
#[derive(Debug)]
pub enum PreparedSession {
    /// The session and its inline subagents, each with the findings of the rules.
    Ready(Vec<(Session, RuleFindings)>),
    /// The session cannot be read now.
    Failed(Box<MinedFile>),
}

/// Mines the sessions of one project.
pub struct Miner<'a> {
    /// The project's private folder.
    pub home: &'a ProjectDir,
    /// The archive of the project.
    pub archive: &'a Archive,
    /// The working trees of the project.
    pub territory: &'a Territory,
    /// Root folder in imported transcripts from another machine.
    pub folder_root: Option<String>,
    /// Decides which session owns a record.
    pub ownership: &'a Ownership,
    /// Name of the language model in the settings, with suffixes for its context and for requested repetitions; `None`
    /// without a model.
    pub model: Option<String>,
    /// Redactor of secrets.
    pub redact: &'a dyn Redact,
}

impl Miner<'_> {
    /// Returns the roots of the working trees, including the root folder on another machine.
    pub fn roots(&self) -> Roots {
        Roots::new(self.territory.folders().chain(self.folder_root.clone()))
    }

    /// Returns the key of a session and its extractor. Mined data with an equal key are valid.
    pub fn key(&self, name: &str, state: &SessionState, foreign: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let root =
            if state.from_folder { self.folder_root.as_deref().unwrap_or_default() } else { "" };
        for part in [&VERSION.to_string(), extract::EXTRACTOR, name, &state.content, foreign, root]
        {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(self.model.as_deref().unwrap_or_default().as_bytes());
        hasher.update(&crate::llm::VERSION.to_le_bytes());
        hasher.update(&session_record::VERSION.to_le_bytes());
        // The roots determine which turns of the session are this project's, and the form of its paths.
        for cwd in &state.cwds {
            let root = self.territory.root_of(cwd);
            hasher.update(
                root.as_deref().map_or(&b"-"[..], |root| root.as_os_str().as_encoded_bytes()),
            );
            hasher.update(b"\n");
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Returns the mined file of this key; `None` if it is missing, damaged or outdated.
    pub fn load(&self, name: &str, key: &str) -> Option<MinedFile> {
        last_mined(self.home, name).filter(|mined| mined.key == key)
    }

    /// Returns a session and its inline subagents, limited to turns of this project. They are read from memory if an
    /// earlier step of this run has assembled them, else from the archive.
    pub fn sessions(&self, name: &str) -> Result<Vec<Session>> {
        if let Some(sessions) = self.archive.take_assembled(name, self.ownership.digest(name)) {
            return Ok(sessions);
        }
        let file = self.archive.load_kept(name)?.ok_or_else(|| self.archive.missing(name))?;
        let owns = |record: &_| self.ownership.owns(name, record);
        let known = |uuid: &str| self.ownership.has_record(uuid);
        let header = &file.header;
        let others = Assembly { owns: &owns, known: &known, tasks: &header.growth.tasks };
        let mut sessions =
            assemble(&header.session, header.agent.as_deref(), &file.records, &others);
        if !header.from_folder {
            for session in &mut sessions {
                session.turns.retain(|turn| self.territory.is_ours(turn));
            }
        }
        if let Some(session) = sessions.first_mut().filter(|_| header.growth.after_failure) {
            session.before = self.steps_before(name, header);
        }
        Ok(sessions)
    }

    /// Returns the last steps of the previous part; none if that part cannot be read now.
    fn steps_before(&self, name: &str, header: &SessionHeader) -> Vec<Step> {
        let (session, number) = parts::of_name(name);
        let before = if number > 0 { number - 1 } else { header.parts };
        if before == 0 {
            return Vec::new();
        }
        let before = parts::name(session, before);
        let Ok(Some(file)) = self.archive.load(&before) else { return Vec::new() };
        let owns = |record: &_| self.ownership.owns(&before, record);
        let known = |uuid: &str| self.ownership.has_record(uuid);
        let others = Assembly { owns: &owns, known: &known, tasks: &file.header.growth.tasks };
        let sessions = assemble(&header.session, header.agent.as_deref(), &file.records, &others);
        let turns = sessions.into_iter().take(1).flat_map(|session| session.turns);
        let ours = turns.filter(|turn| header.from_folder || self.territory.is_ours(turn));
        let mut steps: Vec<Step> = ours.flat_map(|turn| turn.steps).collect();
        steps.drain(..steps.len().saturating_sub(extract::REACH_STEPS));
        steps
    }

    /// Mines a session and stores the result.
    pub fn mine(&self, name: &str, key: &str, roots: &Roots) -> Result<MinedFile> {
        let sessions = match self.sessions(name) {
            Ok(sessions) => sessions,
            Err(error) => return Ok(self.last(name, &error)),
        };
        let found = sessions.iter().map(|session| by_rules(name, session, roots));
        match found.collect::<Result<Vec<_>, String>>() {
            Ok(found) => self.keep(name, key, sessions, united(found), 0),
            Err(failure) => self.keep_nothing(name, sessions, failure),
        }
    }

    /// Returns the key of a closed part that a model reads together with the end of its session. `last_part` is the
    /// hash of the records that contain the end.
    pub fn with_end(key: &str, last_part: &str) -> String {
        format!("{key}{}", end_mark(last_part))
    }

    /// Returns whether a key is for this end of the session.
    pub fn saw_end(known: &str, last_part: &str) -> bool {
        known.ends_with(&end_mark(last_part))
    }

    /// Returns whether two keys are for the same records, regardless of the session's end and of whether a model read
    /// the session to its end.
    pub fn is_of(known: &str, key: &str) -> bool {
        let without = |key: &str| key.split(END_MARK).next().unwrap_or_default().to_owned();
        without(known.strip_prefix(LATER).unwrap_or(known)) == without(key)
    }

    /// Returns the key of a session that a model has not read to its end.
    pub fn later(key: &str) -> String {
        format!("{LATER}{key}")
    }

    /// Reads a session and applies the rules to it. The result is the input for a model.
    pub fn prepare(&self, name: &str, roots: &Roots) -> Result<PreparedSession> {
        let sessions = match self.sessions(name) {
            Ok(sessions) => sessions,
            Err(error) => return Ok(PreparedSession::Failed(Box::new(self.last(name, &error)))),
        };
        let found = sessions.iter().map(|session| by_rules(name, session, roots));
        match found.collect::<Result<Vec<_>, String>>() {
            Ok(found) => Ok(PreparedSession::Ready(sessions.into_iter().zip(found).collect())),
            Err(failure) => {
                let mined = self.keep_nothing(name, sessions, failure)?;
                Ok(PreparedSession::Failed(Box::new(mined)))
            }
        }
    }

    /// Mines a session with a language model. Questions that the model did not answer are sent again later.
    pub fn ask(
        &self,
        name: &str,
        key: &str,
        prepared: PreparedSession,
        model: &mut LanguageModel,
        warnings: &mut Vec<String>,
    ) -> Result<MinedFile> {
        let prepared = match prepared {
            PreparedSession::Ready(prepared) => prepared,
            PreparedSession::Failed(mined) => return Ok(*mined),
        };
        // Questions about a closed part include the end of the session, unless the last part cannot be read now.
        let (of, number) = parts::of_name(name);
        let last_part = if number > 0 { self.sessions(of).unwrap_or_default() } else { Vec::new() };
        let (mut sessions, mut learned, mut missing, mut windows) =
            (Vec::new(), RuleFindings::default(), 0, 0);
        for (session, found) in prepared {
            let last_part = last_part.first().unwrap_or(&session);
            learned.record.extend(found.record.clone());
            let extracted = model.extract_part(&session, last_part, found, warnings);
            sessions.push(session);
            learned.wishes.extend(extracted.drafts);
            missing += extracted.missing;
            windows += extracted.windows;
        }
        let key = if missing == 0 { key.to_owned() } else { Self::later(key) };
        self.keep(name, &key, sessions, learned, windows)
    }

    /// Returns the last mined file of a session whose turns cannot be read now.
    fn last(&self, name: &str, error: &anyhow::Error) -> MinedFile {
        let last = last_mined(self.home, name).unwrap_or_default();
        MinedFile {
            key: String::new(),
            name: name.to_owned(),
            failure: Some(format!("{error:#}")),
            ..last
        }
    }

    /// Returns a mined file without a key. The session is then mined and reported again in the next sync that learns
    /// anything.
    fn keep_nothing(
        &self,
        name: &str,
        sessions: Vec<Session>,
        failure: String,
    ) -> Result<MinedFile> {
        let mined = self.keep(name, "", sessions, RuleFindings::default(), 0)?;
        Ok(MinedFile { failure: Some(failure), ..mined })
    }

    fn keep(
        &self,
        name: &str,
        key: &str,
        sessions: Vec<Session>,
        found: RuleFindings,
        windows: usize,
    ) -> Result<MinedFile> {
        let RuleFindings { wishes: mut drafts, mut record } = found;
        let decisions = drafts.iter().filter(|draft| is_decision(draft));
        record.add_decisions(decisions.map(|draft| draft.title.clone()));
        record.take_tasks(&mut drafts);
        // Removing Markdown from redacted text may join the pieces of a secret, so the result is redacted again.
        drafts.iter_mut().for_each(|draft| hide(draft, self.redact));
        self.redact.redact_together(&mut record.texts());
        // Commands and hooks print these texts, so likely credentials are removed.
        for text in record.prose() {
            *text = self.redact.withhold(text).into_owned();
        }
        record.leave_out_orders();
        let main = sessions.first();
        let mined = MinedFile {
            key: key.to_owned(),
            name: name.to_owned(),
            session: main.map(|session| session.id.clone()).unwrap_or_default(),
            turns: main.map_or(0, |session| session.turns.len()),
            cwd: main
                .and_then(|session| session.turns.first())
                .map(|turn| turn.cwd.clone())
                .unwrap_or_default(),
            windows,
            drafts,
            record,
            failure: None,
        };
        write_packed(&path(self.home, name), &mined)?;
        // The next step makes the passages of this session.
        self.archive.keep_assembled(name, self.ownership.digest(name), sessions);
        Ok(mined)
    }
}

fn end_mark(last_part: &str) -> String {
    format!("{END_MARK}{}", last_part.get(..END_MARK_BYTES).unwrap_or(last_part))
}

/// Returns whether a draft is a decision that a model found.
fn is_decision(draft: &Draft) -> bool {
    draft.kind == Kind::Decision && draft.extractor != extract::EXTRACTOR
}

fn hide(draft: &mut Draft, redact: &dyn Redact) {
    let mut texts = vec![&mut draft.title, &mut draft.body, &mut draft.quote];
    texts.extend(&mut draft.tags);
    texts.extend(&mut draft.cues);
    texts.extend(&mut draft.entities);
    texts.extend(&mut draft.topic);
    let facts = draft.facts.iter_mut();
    texts.extend(facts.flat_map(|it| [&mut it.subject, &mut it.predicate, &mut it.object]));
    texts.extend(&mut draft.signatures);
    texts.extend(&mut draft.paths);
    redact.redact_together(&mut texts);
}

/// Returns the findings of the rules in a session; an error text if the extraction panicked.
fn by_rules(name: &str, session: &Session, roots: &Roots) -> Result<RuleFindings, String> {
    guarded(name, || extract::mine(session, roots))
}

/// Returns the combined findings in a session and its inline subagents.
fn united(found: Vec<RuleFindings>) -> RuleFindings {
    let mut all = RuleFindings::default();
    for found in found {
        all.wishes.extend(found.wishes);
        all.record.extend(found.record);
    }
    all
}

/// Runs extraction on one session. A panic in it only loses the memories of this session.
fn guarded<T>(name: &str, mine: impl FnOnce() -> T) -> Result<T, String> {
    // Extraction is a pure function, so a panic leaves no inconsistent state.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(mine)).map_err(|_| {
        format!(
            "{name}: nothing was learned from this session because of a fault in this program; \
             please report it"
        )
    })
}

/// Returns the number of sessions that a model has not read to their end.
pub fn waiting(home: &ProjectDir) -> usize {
    let state = State::read(home);
    let mined = state.sessions.values().filter_map(|session| session.mined.as_ref());
    mined.filter(|summary| summary.key.starts_with(LATER)).count()
}

/// Returns the last mined file of a session, even if it is outdated; `None` if it is missing or damaged.
pub fn last_mined(home: &ProjectDir, name: &str) -> Option<MinedFile> {
    read_checked(&path(home, name)).ok()?
}

/// Returns the names of the sessions with mined data.
pub fn names(home: &ProjectDir) -> Vec<String> {
    let listing = std::fs::read_dir(&home.mined).into_iter().flatten().flatten();
    let name = |file: std::fs::DirEntry| {
        file.file_name().to_str()?.strip_suffix(".mined.json").map(str::to_owned)
    };
    listing.filter_map(name).collect()
}

/// Returns the drafts of a session's last mined file.
pub fn drafts(home: &ProjectDir, name: &str) -> Vec<Draft> {
    last_mined(home, name).map(|mined| mined.drafts).unwrap_or_default()
}

/// Removes the mined file of a session.
pub fn remove(home: &ProjectDir, name: &str) {
    for ending in ["mined.json", "keys"] {
        // The file is a cache. If it cannot be removed, it is replaced or removed later.
        let _ = std::fs::remove_file(home.mined.join(format!("{name}.{ending}")));
    }
}

fn path(home: &ProjectDir, name: &str) -> PathBuf {
    home.mined.join(format!("{name}.mined.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_mined_is_read_as_older_versions_wrote_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let home = ProjectDir::at(folder.path().to_owned());
        let mined = MinedFile { cwd: "/work/quay".into(), ..MinedFile::default() };
        write_packed(&path(&home, "s"), &mined).unwrap();
        let json = serde_json::to_vec(&mined).unwrap();
        let with_sum = [&json[..], b"\n0123456789abcdef\n"].concat();
        for older in [None, Some(json), Some(with_sum)] {
            if let Some(older) = older {
                std::fs::write(path(&home, "s"), older).unwrap();
            }
            assert_eq!(
                last_mined(&home, "s").map(|mined| mined.cwd).as_deref(),
                Some("/work/quay")
            );
        }
        std::fs::write(path(&home, "s"), "{").unwrap();
        assert!(last_mined(&home, "s").is_none());
    }

    #[test]
    fn a_record_without_a_time_has_that_of_the_session() {
        let last = Timestamp(1_790_000_000_000);
        let record = SessionRecord { title: "Count berths".to_owned(), ..SessionRecord::default() };
        let remains = Remains { last, record, ..Remains::default() };
        let record = MinedFile::from(remains).record;
        assert_eq!((record.first, record.last), (last, last));
        assert!(MinedFile::from(Remains { last, ..Remains::default() }).record.is_empty());
    }

    #[test]
    fn a_fault_in_extraction_is_reported_with_the_session() {
        assert_eq!(guarded("s-1", || 1), Ok(1));
        let text = String::from("…");
        let failure = guarded("s-1", || {
            assert!(text.is_char_boundary(1), "on purpose");
        });
        assert!(failure.unwrap_err().starts_with("s-1: "));
    }
}
