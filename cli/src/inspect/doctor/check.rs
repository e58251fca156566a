//! The outcome of a look at one link of the chain: how it is, what was seen, and what helps.

use serde::Serialize;

use crate::failure::Failure;

/// One link of the chain.
#[derive(Debug, Serialize)]
pub struct HealthCheck {
    /// The link.
    pub name: &'static str,
    /// How it is.
    pub state: CheckState,
    /// Observation.
    pub seen: String,
    /// Remedy, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// As it should be.
    Good,
    /// It works, but somebody should know.
    Care,
    /// The chain is broken here.
    Bad,
}

impl HealthCheck {
    /// A link that is as it should be.
    pub fn good(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: CheckState::Good, seen: seen.into(), remedy: None }
    }

    /// A link that works, with something to know.
    pub fn care(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: CheckState::Care, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// A broken link.
    pub fn bad(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: CheckState::Bad, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// A link that could not be looked at; what helps is what the failure says, if it does.
    pub fn failed(name: &'static str, failure: &Failure) -> Self {
        Self {
            name,
            state: CheckState::Bad,
            seen: failure.to_string(),
            remedy: failure.hint.clone(),
        }
    }
}
