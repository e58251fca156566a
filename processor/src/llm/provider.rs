//! Interface of all providers of language models.

use super::ask::ModelQuestion;
use super::fault::ModelFault;
use super::usage::Usage;

/// A provider of answers to questions.
pub(super) trait Provider {
    /// Returns the name that memories store as their extractor.
    fn name(&self) -> String;
    /// Returns whether questions stay on this machine.
    fn is_local(&self) -> bool;
    /// Sends a question. The answer should be JSON, but may contain other text. The question may cost at most `usd_max`
    /// US dollars, if the provider supports a limit.
    fn ask(&self, question: &ModelQuestion, usd_max: Option<f64>) -> ModelReply;
    /// Sends a question, and passes the parts of the answer to `hear` as they arrive. By default, the whole answer is
    /// one part.
    fn stream(
        &self,
        question: &ModelQuestion,
        usd_max: Option<f64>,
        hear: &mut dyn FnMut(&str),
    ) -> ModelReply {
        let reply = self.ask(question, usd_max);
        if let Ok(answer) = &reply.answer {
            hear(answer);
        }
        reply
    }
}

/// Answer to a question, with its usage. A question without an answer may have a cost as well.
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
