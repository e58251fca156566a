//! Replay: the user's own history once more, in the order of its time, to see what recall would have
//! known when it was needed. Before each session a store is made, in a temporary home, of what had
//! been learned until then; then it is asked about the errors that the session met and the
//! corrections that its user repeated.
//!
//! The transcripts say what happened without recall, so this is what would have been shown, not what
//! would have come of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::embed::Table;
use memory_store::identity::{self, Mode, Observed};
use memory_store::index::build::Vectors;
use memory_store::layout::{Tree, UserDirs};
use memory_store::recall::{Hit, Recall, Recalled};
use memory_store::reconcile::{self, Desired, GitState, Replacing, SourceState};
use memory_store::settings::Settings;
use memory_store::signature::error_signature;
use memory_store::store::Store;
use memory_store::{Kind, ProjectId, Timestamp};
use serde::Serialize;

use crate::consolidate::{Mined, consolidate};
use crate::extract::draft::Draft;
use crate::extract::{overlap, word_set};
use crate::mining::MinedFile;
use crate::publish::claude_md::Known;
use crate::publish::{self, Publication};
use crate::sync::SyncOptions;
use crate::sync::history::{History, Past};
use crate::transcript::session::{Input, Session, StepKind};

/// Wishes that share this much of their words, and so many words, are the same wish.
const SAME_WISH_SHARE: f32 = 0.6;
const SAME_WISH_WORDS: usize = 3;

/// Characters of the session-start block's frame, and of a line's besides its text.
const LINE_CHARS: usize = 60;

/// Characters of a token.
const TOKEN_CHARS: usize = 4;

/// Result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replay {
    /// Sessions of the project, subagents apart.
    pub sessions: usize,
    /// Sessions that were replayed; fewer when time ran out, the oldest first.
    pub replayed: usize,
    /// Errors that were met in two sessions, asked about at the second.
    pub errors: Errors,
    /// Errors that were never met before.
    pub new_errors: NewErrors,
    /// Wishes that the user uttered again in a later session.
    pub corrections: Corrections,
    /// How long recall took, within this process: opening the index and one answer.
    pub latency: Latency,
    /// Milliseconds that the replay took.
    pub millis: u64,
}

/// Errors that were met in two sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// How many.
    pub met_twice: usize,
    /// Of those, how often a fix for that very error would have been shown.
    pub answered: usize,
    /// Of those, how often only the fix of another error would have been.
    pub wrong_fixes: usize,
    /// How many were also cured in both sessions.
    pub fixed_twice: usize,
    /// Of those, how often the fix would have been shown.
    pub fixed_answered: usize,
}

/// Errors that were never met before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NewErrors {
    /// How many.
    pub met: usize,
    /// How often a fix of another error would have been shown all the same.
    pub false_fires: usize,
}

/// Wishes that were uttered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Corrections {
    /// How many.
    pub repeated: usize,
    /// Of those, how often the rule would have been in the session's context already.
    pub in_context: usize,
}

/// Percentiles of latency, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Answers that were timed.
    pub answers: usize,
    /// Half were quicker.
    pub p50_us: u64,
    /// 95 of a hundred were.
    pub p95_us: u64,
    /// 99 of a hundred were.
    pub p99_us: u64,
}

impl Replay {
    /// The one sentence that is worth saying unasked; `None` when there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        let Errors { fixed_twice, fixed_answered, .. } = self.errors;
        if fixed_answered == 0 {
            return None;
        }
        let s = if fixed_twice == 1 { "" } else { "s" };
        Some(format!(
            "You fixed {fixed_twice} error{s} twice; Throughline would have had the answer {}.",
            times(fixed_answered)
        ))
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Replays what the last sync of a project left, for at most `limit`.
pub fn replay(options: &SyncOptions<'_>, limit: Duration) -> Result<Replay> {
    let started = Instant::now();
    let history = History::open(options)?;
    let past = history.past();
    let bench = Bench::new(options, history.settings())?;
    let mut replay = Replay { sessions: past.len(), ..Replay::default() };
    let mut seen = PastSessions::default();
    let mut timings = Vec::new();
    for (at, now) in past.iter().enumerate() {
        if started.elapsed() > limit {
            break;
        }
        // A session that cannot be read now was learned from all the same.
        let sessions = history.sessions(&now.name).unwrap_or_default();
        let met = seen.errors(&now.mined.session, &sessions);
        let said = seen.wishes(&now.mined);
        if !met.is_empty() || !said.is_empty() {
            let before: Vec<&Past> =
                past[..at].iter().filter(|past| past.mined.session != now.mined.session).collect();
            bench.publish(&before, now.first)?;
            let mut asker = ReplayAsker { bench: &bench, timings: &mut timings };
            for error in &met {
                asker.error(error, &now.mined.drafts, &mut replay);
            }
            for wish in &said {
                replay.corrections.repeated += 1;
                let given = asker.is_given(wish, &sessions, now.first, history.settings());
                replay.corrections.in_context += usize::from(given);
            }
        }
        seen.take_in(&now.mined, &sessions);
        replay.replayed += 1;
    }
    replay.latency = percentiles(timings);
    replay.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(replay)
}

/// An error that a session met.
struct Met {
    signature: String,
    command: String,
    output: String,
    at: Timestamp,
    /// Whether it is the second session that met it, rather than the first.
    again: bool,
    /// Whether it was cured in the first session.
    was_fixed: bool,
}

/// Errors and wishes of the sessions before the one at hand.
#[derive(Default)]
struct PastSessions {
    /// The sessions that met each error.
    met: BTreeMap<String, BTreeSet<String>>,
    /// Errors that were cured.
    fixed: BTreeSet<String>,
    wishes: Vec<(String, BTreeSet<String>)>,
}

impl PastSessions {
    /// The errors of a session that are met for the first time, or in the second session.
    fn errors(&self, session: &str, turns: &[Session]) -> Vec<Met> {
        let mut met: Vec<Met> = Vec::new();
        for (signature, command, output, at) in failures(turns) {
            let before = self.met.get(&signature);
            let known = before.is_some_and(|sessions| sessions.contains(session));
            let count = before.map_or(0, BTreeSet::len);
            if known || count > 1 || met.iter().any(|known| known.signature == signature) {
                continue;
            }
            let was_fixed = self.fixed.contains(&signature);
            let (command, output) = (command.to_owned(), output.to_owned());
            met.push(Met { signature, command, output, at, again: count == 1, was_fixed });
        }
        met
    }

    /// The wishes of a session that an earlier session uttered.
    fn wishes<'m>(&self, mined: &'m MinedFile) -> Vec<&'m Draft> {
        let repeated = |draft: &&Draft| {
            let words = word_set(&draft.title);
            let mut before = self.wishes.iter().filter(|(session, _)| *session != mined.session);
            before.any(|(_, known)| is_same_wish(known, &words))
        };
        mined.drafts.iter().filter(|draft| draft.kind.is_wish()).filter(repeated).collect()
    }

    fn take_in(&mut self, mined: &MinedFile, turns: &[Session]) {
        for (signature, ..) in failures(turns) {
            self.met.entry(signature).or_default().insert(mined.session.clone());
        }
        for draft in &mined.drafts {
            if draft.kind == Kind::Fix {
                self.fixed.extend(draft.signatures.iter().cloned());
            }
            if draft.kind.is_wish() {
                self.wishes.push((mined.session.clone(), word_set(&draft.title)));
            }
        }
    }
}

fn is_same_wish(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    a.intersection(b).count() >= SAME_WISH_WORDS && overlap(a, b) >= SAME_WISH_SHARE
}

/// The commands of a session that failed with an error that can be recognised: its signature, the
/// command, the output, the time.
fn failures(sessions: &[Session]) -> impl Iterator<Item = (String, &str, &str, Timestamp)> {
    let steps = sessions.iter().flat_map(|session| &session.turns).flat_map(|turn| &turn.steps);
    steps.filter_map(|step| {
        let StepKind::Call(call) = &step.what else { return None };
        let Input::Shell { command, .. } = &call.input else { return None };
        if !call.failed || call.denied || call.interrupted {
            return None;
        }
        Some((error_signature(&call.output)?, command.as_str(), call.output.as_str(), step.at))
    })
}

/// Asks the store of the moment and takes the time.
struct ReplayAsker<'a> {
    bench: &'a Bench,
    timings: &'a mut Vec<u64>,
}

impl ReplayAsker<'_> {
    fn ask(&mut self, how: impl FnOnce(&Recall) -> Recalled) -> Vec<Hit> {
        let started = Instant::now();
        let recalled = how(&Recall::open(&self.bench.dirs, &self.bench.tree, None));
        self.timings.push(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
        recalled.hits
    }

    fn error(&mut self, met: &Met, drafts: &[Draft], replay: &mut Replay) {
        let hits = self.ask(|recall| recall.error(&met.command, &met.output, met.at, &|_| false));
        let right = hits.iter().any(|hit| hit.signatures.contains(&met.signature));
        let wrong =
            !right && hits.iter().any(|hit| hit.kind == Kind::Fix && !hit.signatures.is_empty());
        if !met.again {
            replay.new_errors.met += 1;
            replay.new_errors.false_fires += usize::from(wrong);
            return;
        }
        let is_fixed = drafts
            .iter()
            .any(|draft| draft.kind == Kind::Fix && draft.signatures.contains(&met.signature));
        let fixed_twice = met.was_fixed && is_fixed;
        let errors = &mut replay.errors;
        errors.met_twice += 1;
        errors.answered += usize::from(right);
        errors.wrong_fixes += usize::from(wrong);
        errors.fixed_twice += usize::from(fixed_twice);
        errors.fixed_answered += usize::from(fixed_twice && right);
    }

    /// Whether a rule would have been given by the session-start block, or with a prompt before the
    /// user had to repeat it.
    fn is_given(
        &mut self,
        wish: &Draft,
        sessions: &[Session],
        start: Timestamp,
        settings: &Settings,
    ) -> bool {
        let words = word_set(&wish.title);
        let says = |hit: &Hit| is_same_wish(&word_set(&hit.title), &words);
        let block = self.ask(|recall| recall.start(start, settings.start_tokens));
        let mut room = settings.start_tokens as usize * TOKEN_CHARS;
        for hit in &block {
            let chars = hit.title.chars().count() + hit.text.chars().count() + LINE_CHARS;
            if chars > room {
                break;
            }
            if says(hit) {
                return true;
            }
            room -= chars;
        }
        let turns = sessions.iter().flat_map(|session| &session.turns);
        let prompts: Vec<&str> = turns
            .filter(|turn| turn.at < wish.occurred)
            .map(|turn| turn.prompt.text.as_str())
            .collect();
        prompts.into_iter().any(|prompt| {
            self.ask(|recall| recall.prompt(prompt, None, start, &|_| false)).iter().any(says)
        })
    }
}

/// A project in a temporary home, whose store is made again for each moment of the history.
struct Bench {
    dirs: UserDirs,
    tree: Tree,
    project: ProjectId,
    settings: Settings,
    /// The table alone, for memories too: the transformer would make a replay last minutes.
    table: Option<Table>,
    _home: tempfile::TempDir,
}

impl Bench {
    /// Makes the home; the embedder is the one that the user has installed.
    fn new(options: &SyncOptions<'_>, settings: &Settings) -> Result<Self> {
        let project = options.tree.project;
        let home = tempfile::Builder::new().prefix("throughline-replay-").tempdir()?;
        let path = home.path().canonicalize()?;
        let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| path.clone().into()))
            .context("no usable temporary home")?;
        let dirs = UserDirs { models: options.dirs.models.clone(), ..dirs };
        let table = dirs.models.as_deref().and_then(|models| Table::load(models).ok());
        let root: PathBuf = path.join("project");
        std::fs::create_dir(&root)?;
        let observed = Observed { root, ..Observed::default() };
        let tree = identity::vouch(
            &dirs,
            &observed,
            Some(Mode::Private),
            project.0,
            Timestamp::default(),
        )?;
        Ok(Self { dirs, tree, project, settings: settings.clone(), table, _home: home })
    }

    /// Makes the store of what `before` left, as it was known at `now`.
    fn publish(&self, before: &[&Past], now: Timestamp) -> Result<()> {
        let mined: Vec<Mined> = before
            .iter()
            .map(|past| Mined {
                session: past.mined.session.clone(),
                turns: past.mined.turns,
                windows: past.mined.windows,
                drafts: past.mined.drafts.clone(),
            })
            .collect();
        let root = &self.tree.root;
        let desired = consolidate(self.project, &mined, &self.settings)
            .into_iter()
            .map(|memory| Desired { memory, root: root.clone() })
            .collect();
        let store = Store::open(&self.dirs, &self.tree)?;
        let state = GitState { root: root.clone(), forward: true, ..GitState::default() };
        reconcile::reconcile(
            &store,
            &store.redactor(&self.settings),
            desired,
            &[state],
            now,
            &|_| SourceState::Read,
            Replacing::All,
        )?;
        let publication = Publication {
            dirs: &self.dirs,
            settings: &self.settings,
            vectors: self.table.as_ref().map(|table| table as &dyn Vectors),
            anchors: None,
            distrusted: &BTreeSet::new(),
            names: &BTreeSet::new(),
            now,
        };
        publish::tree(&publication, &self.tree, None, &Known::default())?;
        Ok(())
    }
}

fn percentiles(mut timings_us: Vec<u64>) -> Latency {
    timings_us.sort_unstable();
    let at = |percent: usize| {
        let index = (timings_us.len() * percent).div_ceil(100).saturating_sub(1);
        timings_us.get(index).copied().unwrap_or_default()
    };
    Latency { answers: timings_us.len(), p50_us: at(50), p95_us: at(95), p99_us: at(99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let latency = percentiles((1..=200).rev().collect());
        assert_eq!((latency.p50_us, latency.p95_us, latency.p99_us), (100, 190, 198));
        assert_eq!(percentiles(Vec::new()), Latency::default());
    }

    #[test]
    fn a_sentence_is_said_only_when_there_is_something_to_say() {
        let told = |fixed_twice, fixed_answered| {
            let errors = Errors { fixed_twice, fixed_answered, ..Errors::default() };
            Replay { errors, ..Replay::default() }.sentence()
        };
        assert_eq!(told(3, 0), None);
        assert_eq!(
            told(9, 7).unwrap(),
            "You fixed 9 errors twice; Throughline would have had the answer 7 times."
        );
        assert_eq!(
            told(1, 1).unwrap(),
            "You fixed 1 error twice; Throughline would have had the answer once."
        );
    }
}
