//! The interface of what can be asked a question.

use super::ask::Question;
use super::fault::Fault;
use super::usage::Usage;

/// Something that can be asked a question.
pub(super) trait Provider {
    /// Returns the name that memories carry as their extractor.
    fn name(&self) -> String;
    /// Whether what it is asked stays on this machine.
    fn is_local(&self) -> bool;
    /// Asks a question; the answer is JSON more or less. It may cost `usd_max` US dollars, where the provider
    /// can be held to that.
    fn ask(&self, question: &Question, usd_max: Option<f64>) -> Reply;
}

/// Outcome of a question and its cost: a failed one may cost as well.
pub(super) struct Reply {
    pub answer: Result<String, Fault>,
    pub usage: Usage,
}

impl Reply {
    pub fn of(asked: Result<(String, Usage), Fault>) -> Self {
        match asked {
            Ok((text, usage)) => Self { answer: Ok(text), usage },
            Err(fault) => Self::failed(fault),
        }
    }

    pub fn failed(fault: Fault) -> Self {
        Self { answer: Err(fault), usage: Usage::default() }
    }
}
