//! Decides when sessions count as ended, because a model is asked about a session only after its end.

use std::collections::BTreeMap;

use memory_store::Timestamp;
use memory_store::settings::Pause;

use super::context::SyncContext;
use crate::lock::Busy;
use crate::mining::{ASKED_AGAIN_MAX, LATER, Miner};
use crate::state::{SessionState, State};
use crate::transcript::parts;

/// Milliseconds without a record after which a session counts as ended.
const QUIET_MS: i64 = 30 * 60 * 1_000;

/// Decides whether sessions have ended.
#[derive(Clone, Copy)]
pub(super) struct Calm {
    /// Whether a person is waiting for the content of the sessions.
    is_waited_for: bool,
    now: Timestamp,
}

impl Calm {
    /// Creates it from the time of the request and from whether a person is waiting.
    pub fn of(context: &SyncContext<'_>) -> Self {
        let options = context.options;
        Self { is_waited_for: matches!(options.busy, Busy::Wait(_)), now: options.now }
    }

    /// Whether a session with this time of its last record has probably ended, or a person is waiting.
    pub fn is_over(self, last: Timestamp) -> bool {
        self.is_waited_for || self.now.0 - last.0 >= QUIET_MS
    }

    /// Whether the session of an archive file has ended; true for a session that is not in the state.
    pub fn rests(self, state: &State, name: &str) -> bool {
        let (session, _) = parts::of_name(name);
        let sessions = &state.sessions;
        let session = sessions.get(session).or_else(|| sessions.get(name));
        session.is_none_or(|session| self.is_over(session.last))
    }
}

/// Finds the ends of sessions that are stored in parts.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    sessions: &'a BTreeMap<String, SessionState>,
    /// Whether a model is set, which reads these ends.
    are_seen: bool,
}

impl<'a> Ends<'a> {
    /// Creates it from the stored sessions.
    pub fn of(context: &SyncContext<'_>, state: &'a State) -> Self {
        Self { sessions: &state.sessions, are_seen: context.settings.llm.is_some() }
    }

    /// Returns the open part of a session, which a model reads together with the closed part `name`. Returns `None` for
    /// a file that is not a closed part, for a part too far from the end, and if no model is set.
    pub fn last_part(self, name: &str) -> Option<&'a SessionState> {
        let (session, number) = parts::of_name(name);
        if number == 0 || !self.are_seen {
            return None;
        }
        let all = parts::name(session, 1)..=parts::name(session, parts::NUMBER_MAX);
        let (last, _) = self.sessions.range(all).next_back()?;
        let is_near = parts::of_name(last).1 - number < ASKED_AGAIN_MAX;
        self.sessions.get(session).filter(|_| is_near)
    }
}

/// Whether questions to a model may be due: about a session that no model has read to its end, about one that a model
/// has read with another end, or about relations.
pub(super) fn anything_to_ask(context: &SyncContext<'_>, state: &State) -> bool {
    let (ends, calm) = (Ends::of(context, state), Calm::of(context));
    let is_due = |(name, session): (&String, &SessionState)| {
        let Some(summary) = session.mined.as_ref() else { return false };
        let saw_another_end = || {
            let last_part = ends.last_part(name);
            last_part.is_some_and(|part| !Miner::saw_end(&summary.key, &part.content))
        };
        (summary.key.starts_with(LATER) || saw_another_end()) && calm.rests(state, name)
    };
    let waits = state.learned.relations_later > 0;
    context.settings.llm.is_some()
        && (context.pause() == Pause::Never || context.strain().is_none())
        && (waits || state.sessions.iter().any(is_due))
}
