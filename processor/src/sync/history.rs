//! Past findings of a project's syncs, to be looked at again: nothing new is read or mined.

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::settings::Settings;

use super::SyncOptions;
use super::context::SyncContext;
use crate::collect::forks::Ownership;
use crate::mining::{self, MinedFile};
use crate::state::State;
use crate::transcript::session::Session;

/// The archived sessions of a project and what was mined from them.
pub struct History<'a> {
    context: SyncContext<'a>,
    state: State,
    ownership: Ownership,
}

/// One archived session or subagent.
#[derive(Clone, Debug)]
pub struct Past {
    /// The name of its archive file.
    pub name: String,
    /// The time of its first record.
    pub first: Timestamp,
    /// The findings that were mined from it.
    pub mined: MinedFile,
}

impl<'a> History<'a> {
    /// Opens what the last sync left.
    pub fn open(options: &'a SyncOptions<'a>) -> Result<Self> {
        let (context, _) = SyncContext::open(options)?;
        let state = State::read(&context.home);
        let ownership = context.holders(&state).decide();
        Ok(Self { context, state, ownership })
    }

    /// The settings in effect.
    pub fn settings(&self) -> &Settings {
        &self.context.settings
    }

    /// The sessions in the order in which they began.
    pub fn past(&self) -> Vec<Past> {
        let sessions = self.state.sessions.iter();
        let mut past: Vec<Past> = sessions
            .filter_map(|(name, session)| {
                let mined = mining::last_mined(&self.context.home, name)?;
                Some(Past { name: name.clone(), first: session.first, mined })
            })
            .collect();
        past.sort_by(|a, b| a.first.cmp(&b.first).then_with(|| a.name.cmp(&b.name)));
        past
    }

    /// The turns of an archived session, as far as they are this project's.
    pub fn sessions(&self, name: &str) -> Result<Vec<Session>> {
        self.context.miner(&self.state, &self.ownership).sessions(name)
    }
}
