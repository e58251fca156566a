//! The step of a sync that mines sessions: it extracts the drafts of every session, with a model if one is set.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use memory_store::index::Index;
use memory_store::layout::Tree;
use memory_store::memory::Source;
use memory_store::store::Store;
use rayon::prelude::*;

use super::context::SyncContext;
use super::models::Models;
use super::session_end::{Calm, Ends};
use crate::collect::forks::Ownership;
use crate::collect::newest::in_order;
use crate::extract::Roots;
use crate::handoff;
use crate::llm::{self, AskWhen, LanguageModel};
use crate::mining::{LATER, MinedFile, Miner, PreparedSession};
use crate::state::{MinedSummary, SessionState, State};
use crate::transcript::parts;

/// Before the first publication, the time for questions to a model is divided by this number.
const FIRST_SHARE: u32 = 2;
/// Number of sessions that are read and mined by rules in advance, before a model is asked about them.
const PREPARED_AT_ONCE: usize = 16;

/// A session and its mined data.
#[derive(Debug)]
pub(super) struct KnownSession {
    /// The name of the session's archive file.
    pub name: String,
    /// Key that identifies the session's content and the extractor.
    pub key: String,
    /// Summary of the mined drafts, if known.
    pub summary: Option<MinedSummary>,
    /// The mined file; `None` if it was not read.
    pub mined: Option<MinedFile>,
}

/// Outcome of mining.
#[derive(Debug, Default)]
pub(super) struct MiningOutcome {
    /// Number of sessions that were mined.
    pub mined: usize,
    /// Questions to a model.
    pub asked: SessionQuestions,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Questions about sessions to a model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionQuestions {
    /// Number of questions that the model answered.
    pub questions: usize,
    /// Number of sessions that the model has not read to their end.
    pub later: usize,
    /// Estimated seconds for these sessions, from the times of earlier sessions; `None` without an estimate.
    pub left_s: Option<u64>,
    /// Time after which this run sends no more questions; `None` before the first question.
    pub until: Option<Instant>,
}

/// Returns all sessions, with their mined data if these are still valid.
pub(super) fn known(
    context: &SyncContext<'_>,
    state: &State,
    ownership: &Ownership,
) -> Vec<KnownSession> {
    let miner = context.miner(state, ownership);
    let kinds = &context.settings.kinds;
    let is_asked = context.settings.llm.is_some();
    let (ends, calm) = (Ends::of(context, state), Calm::of(context));
    let known = |(name, session): (&String, &SessionState)| {
        let mut key = miner.key(name, session, ownership.digest(name));
        if let Some(last_part) = ends.last_part(name) {
            key = Miner::with_end(&key, &last_part.content);
            // While the session is active, mined data for an earlier end are used.
            let before = session.mined.as_ref().filter(|summary| Miner::is_of(&summary.key, &key));
            if let Some(summary) = before.filter(|_| !calm.is_over(last_part.last)) {
                key = summary.key.strip_prefix(LATER).unwrap_or(&summary.key).to_owned();
            }
        }
        let later = Miner::later(&key);
        let is_good = |summary: &&MinedSummary| {
            (summary.key == key || summary.key == later) && summary.kinds == *kinds
        };
        let summary = session.mined.as_ref().filter(is_good).cloned();
        let mined = if summary.is_none() {
            miner.load(name, &key).or_else(|| miner.load(name, &later))
        } else {
            None
        };
        let summary = summary.or_else(|| Some(mined.as_ref()?.summary(kinds, is_asked)));
        KnownSession { name: name.clone(), key, summary, mined }
    };
    state.sessions.par_iter().map(known).collect()
}

/// Saves the names of the collected sessions and of the sessions with turns that are missing in the index, so that a
/// killed run does not lose them. Until then, the next run treats the collected sessions as new.
pub(super) fn note_pending(
    context: &SyncContext<'_>,
    state: &mut State,
    known: &[KnownSession],
    changed: &BTreeSet<String>,
) -> Result<()> {
    let stale = known.iter().filter(|known| known.summary.is_none());
    let stale: Vec<String> = stale.map(|known| known.name.clone()).collect();
    // If the turns of a part change, the numbers of turns in later parts change as well.
    let after = stale.iter().filter(|name| parts::of_name(name).1 > 0).flat_map(|name| {
        let (session, number) = parts::of_name(name);
        let is_later = move |other: &&String| {
            let (of, other) = parts::of_name(other);
            of == session && (other == 0 || other > number)
        };
        state.sessions.keys().filter(is_later).cloned()
    });
    let after: Vec<String> = after.collect();
    let unindexed = |tree: &Tree| {
        let folders = context.dirs().tree(&tree.root);
        let is_there = |folder: PathBuf| matches!(Index::open(&folder), Ok(Some(_)));
        !is_there(folders.index) || context.thinks(tree) && !is_there(folders.thinking)
    };
    let cut_otherwise =
        state.terms != memory_store::text::VERSION || state.passages != crate::passages::version();
    let all_turns = state.all_turns || cut_otherwise || context.trees.iter().any(unindexed);
    state.all_turns = all_turns;
    state.pending.extend(stale.into_iter().chain(after));
    state.pending.extend(changed.iter().cloned());
    state.write(&context.home)
}

/// Mines the sessions without valid mined data, and stores the summaries of all sessions.
pub(super) fn mine(
    context: &SyncContext<'_>,
    state: &mut State,
    ownership: &Ownership,
    known: &mut [KnownSession],
    models: &mut Models,
) -> Result<MiningOutcome> {
    let mut warnings = Vec::new();
    let mut model = models.language(context, &mut warnings);
    let miner = context.miner(state, ownership);
    let roots = miner.roots();
    let asked_before = model.as_ref().map_or(0, |model| model.questions());
    let calm = Calm::of(context);
    // The newest sessions are first, because they are the most useful for the user, and a killed run has then mined
    // these.
    let last = |name: &str| state.sessions.get(name).map(|session| session.last);
    let is_due = |known: &KnownSession| match &known.summary {
        None => true,
        Some(summary) => {
            model.is_some() && summary.key.starts_with(LATER) && calm.rests(state, &known.name)
        }
    };
    let count = known.len();
    let mut stale: Vec<&mut KnownSession> =
        known.iter_mut().filter(|known| is_due(known)).collect();
    stale.sort_by_key(|known| Reverse(last(&known.name)));
    context.sessions.archive.by_pack(&mut stale, |known| &known.name);
    // A user without any memories should not have to wait long for the first ones.
    let shares = if state.published.is_empty() { FIRST_SHARE } else { 1 };
    let until = Instant::now() + context.options.asked_at_once / shares;
    let progress = context.options.progress;
    let mined: Vec<Option<MinedFile>> = match &mut model {
        None => {
            progress.stage("learning", stale.len());
            let mine = |known: &&mut KnownSession| {
                let mined = miner.mine(&known.name, &known.key, &roots);
                progress.step();
                mined.map(Some)
            };
            in_order(&stale, mine).into_iter().collect::<Result<_>>()?
        }
        Some(model) => {
            model.add_topics(topics(context).iter().map(String::as_str));
            progress.resume("asking", count - stale.len(), count);
            if let Some(strain) = context.strain().filter(|_| !stale.is_empty()) {
                progress.note(&format!(
                    "The model is asked although it would pause in the background ({strain})."
                ));
            }
            let rests = |known: &KnownSession| calm.rests(state, &known.name);
            let reading =
                SessionReading { context, miner: &miner, roots: &roots, until, rests: &rests };
            read_by(model, &reading, &stale, &mut warnings)?
        }
    };
    let questions = model.as_ref().map_or(0, |model| model.questions()) - asked_before;
    // As in the lookup of mined data, the condition is whether a model is set, not whether it is available now.
    let is_asked = context.settings.llm.is_some();
    let reads = model.is_some();
    warnings.extend(model.as_ref().and_then(|model| model.unshown()));
    let sessions_mined = mined.iter().flatten().count();
    warnings.extend(mined.iter().flatten().filter_map(|file| file.failure.clone()));
    for (known, mined) in stale.iter_mut().zip(mined) {
        let Some(mined) = mined else { continue };
        known.summary = Some(mined.summary(&context.settings.kinds, is_asked));
        known.mined = Some(mined);
    }
    let waits = |known: &&KnownSession| {
        let summary = known.summary.as_ref();
        summary.is_some_and(|summary| summary.key.starts_with(LATER))
    };
    let later = if reads { known.iter().filter(waits).count() } else { 0 };
    for known in known {
        if let Some(session) = state.sessions.get_mut(&known.name) {
            session.mined.clone_from(&known.summary);
            // A session that changed nothing may have open items as well.
            if session.left.is_none()
                && let Some(mined) =
                    known.mined.as_ref().filter(|_| parts::of_name(&known.name).1 == 0)
                && !mined.record.unfinished.is_empty()
                && let Some(left) = handoff::of(&mined.record)
            {
                session.left =
                    Some((mined.cwd.clone(), handoff::redacted(left, &context.redactor)));
            }
        }
    }
    let left_s = asking_left_s(context, later);
    let asked = SessionQuestions { questions, later, left_s, until: Some(until) };
    Ok(MiningOutcome { mined: sessions_mined, asked, warnings })
}

/// Returns the topics in the project's memory files. If these cannot be read, a model creates its own topics.
fn topics(context: &SyncContext<'_>) -> Vec<String> {
    let listing = Store::open(context.dirs(), context.options.tree).and_then(|store| store.list());
    let memories = listing.into_iter().flat_map(|listing| listing.memories);
    memories.filter_map(|stored| stored.memory.topic).collect()
}

/// Returns the estimated seconds that a model needs for postponed sessions, from the sessions that it has read; `None`
/// without an estimate.
fn asking_left_s(context: &SyncContext<'_>, later: usize) -> Option<u64> {
    let waiting = Some(later as u64).filter(|waiting| *waiting > 0)?;
    let spent = llm::usage::spent(&llm::usage::ledger(context.dirs()));
    let llm = context.settings.llm.as_ref();
    let name = llm.map(|llm| format!("{}/{}", llm.provider, llm.model))?;
    let each = llm::usage::each_session(&spent, &name)?;
    Some(each.usage.millis.saturating_mul(waiting) / 1_000)
}

/// Inputs for reading sessions with a model.
#[derive(Clone, Copy)]
struct SessionReading<'a> {
    context: &'a SyncContext<'a>,
    miner: &'a Miner<'a>,
    roots: &'a Roots,
    /// Time after which no more questions are sent.
    until: Instant,
    /// Returns whether a session has probably ended.
    rests: &'a dyn Fn(&KnownSession) -> bool,
}

/// Reads sessions with a model, one after the other, until the time limit. Remaining sessions without mined data are
/// mined by rules. Returns the mined data of each session; `None` if they are unchanged.
fn read_by(
    model: &mut LanguageModel,
    reading: &SessionReading<'_>,
    stale: &[&mut KnownSession],
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<MinedFile>>> {
    let SessionReading { context, miner, roots, until, rests } = *reading;
    let progress = context.options.progress;
    let mut mined = Vec::with_capacity(stale.len());
    let mut is_late = false;
    for portion in stale.chunks(PREPARED_AT_ONCE) {
        // Without time for questions, mining would not change the result.
        let stays = |known: &KnownSession, is_late: bool| is_late && known.summary.is_some();
        let prepare = |known: &&mut KnownSession| {
            (!stays(known, is_late)).then(|| miner.prepare(&known.name, roots)).transpose()
        };
        // Questions are sent one at a time, so that the model can use all cores of the machine.
        let prepared: Vec<Option<PreparedSession>> =
            portion.par_iter().map(prepare).collect::<Result<_>>()?;
        for (known, prepared) in portion.iter().zip(prepared) {
            let is_over = model.is_down()
                || model.is_paused()
                || model.was_asked() && Instant::now() >= until;
            if is_over && !is_late {
                is_late = true;
                let rest = stale[mined.len()..].iter();
                progress.stage("learning", rest.filter(|known| known.summary.is_none()).count());
            }
            let Some(prepared) = prepared.filter(|_| !stays(known, is_late)) else {
                mined.push(None);
                continue;
            };
            model.ask(if rests(known) { AskWhen::OnceUntil(until) } else { AskWhen::Never });
            let file = miner.ask(&known.name, &known.key, prepared, model, warnings)?;
            if is_late || !file.key.starts_with(LATER) {
                progress.step();
            }
            mined.push(Some(file));
        }
    }
    Ok(mined)
}

/// Loads the mined files of sessions with summaries. If a file is missing or damaged, the summary of its session is
/// removed, so that [`mine`] mines the session again, with a model if one is set. Returns whether there is such a
/// session.
pub(super) fn load(
    context: &SyncContext<'_>,
    state: &State,
    ownership: &Ownership,
    known: &mut [KnownSession],
) -> bool {
    let miner = context.miner(state, ownership);
    let is_lost = |known: &mut KnownSession| {
        if known.mined.is_none() {
            let KnownSession { name, key, .. } = &*known;
            // Mined data of a session that a model has not read to its end are used until there is time for questions.
            known.mined = miner.load(name, key).or_else(|| miner.load(name, &Miner::later(key)));
        }
        if known.mined.is_none() {
            known.summary = None;
        }
        known.mined.is_none()
    };
    known.par_iter_mut().map(is_lost).reduce(|| false, |one, other| one | other)
}

/// Removes drafts by rules of earlier versions. These sessions have no turns, so they cannot be mined again.
fn without_retired(mut file: MinedFile) -> MinedFile {
    file.drafts.retain(|draft| !Source::is_retired(&draft.extractor));
    file
}

/// Returns the drafts of sessions whose turns were removed.
pub(super) fn expired_drafts(context: &SyncContext<'_>) -> Vec<MinedFile> {
    let expired = &context.sessions.expired;
    let names = expired.names();
    let kept = names.iter().filter_map(|name| expired.load(name)).map(MinedFile::from);
    kept.map(without_retired).collect()
}
