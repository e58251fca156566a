//! The interface of providers of answers.

use super::ask::Question;
use super::fault::Fault;
use super::usage::Usage;

/// A provider of answers to questions.
pub(super) trait Provider {
    /// Returns the name that memories carry as their extractor.
    fn name(&self) -> String;
    /// Returns whether questions stay on this machine.
    fn is_local(&self) -> bool;
    /// Asks a question; the answer is approximately JSON. It may cost `usd_max` US dollars, if the provider can enforce
    /// that.
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
