//! The result of a check: state, observation and remedy.

use serde::Serialize;

use crate::failure::Failure;

/// The check of one link in the chain from Claude Code to memories.
#[derive(Debug, Serialize)]
pub struct HealthCheck {
    /// Name of the link.
    pub name: &'static str,
    /// State of the link.
    pub state: CheckState,
    /// Sentence about the observation.
    pub seen: String,
    /// Remedy, if there is a problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// The link works.
    Good,
    /// The link works, with a warning.
    Care,
    /// The link is broken.
    Bad,
}

impl HealthCheck {
    /// Returns a check without a problem.
    pub fn good(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: CheckState::Good, seen: seen.into(), remedy: None }
    }

    /// Returns a check with a warning.
    pub fn care(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: CheckState::Care, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// Returns a check with an error.
    pub fn bad(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: CheckState::Bad, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// Returns the result of a check that could not be run. The remedy is the failure's hint, if it has one.
    pub fn failed(name: &'static str, failure: &Failure) -> Self {
        Self {
            name,
            state: CheckState::Bad,
            seen: failure.to_string(),
            remedy: failure.hint.clone(),
        }
    }
}
