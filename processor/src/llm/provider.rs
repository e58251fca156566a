//! The interface of providers of answers.

use super::ask::ModelQuestion;
use super::fault::ModelFault;
use super::usage::Usage;

/// A provider of answers to questions.
pub(super) trait Provider {
    /// Returns the name that memories carry as their extractor.
    fn name(&self) -> String;
    /// Returns whether questions stay on this machine.
    fn is_local(&self) -> bool;
    /// Asks a question; the answer is JSON more or less. It may cost `usd_max` US dollars, where the provider
    /// can be held to that.
    fn ask(&self, question: &ModelQuestion, usd_max: Option<f64>) -> ModelReply;
}

/// Outcome of a question and its cost: a failed one may cost as well.
pub(super) struct ModelReply {
    pub answer: Result<String, ModelFault>,
    pub usage: Usage,
}

impl ModelReply {
    pub fn of(asked: Result<(String, Usage), ModelFault>) -> Self {
        match asked {
            Ok((text, usage)) => Self { answer: Ok(text), usage },
            Err(fault) => Self::failed(fault),
        }
    }

    pub fn failed(fault: ModelFault) -> Self {
        Self { answer: Err(fault), usage: Usage::default() }
    }
}
