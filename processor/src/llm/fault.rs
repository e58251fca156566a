//! Reasons why a model gave no answer, with remedies.

use std::path::PathBuf;
use std::time::Duration;

/// Pauses before a question is repeated that may succeed the second or third time.
const PAUSES: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1_200)];
/// Maximum waiting time that a server may request.
const PATIENCE_MAX: Duration = Duration::from_secs(20);

/// Reason why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ModelFault {
    /// Nobody listens there.
    #[error("nothing answers at {server}; {hint}")]
    Unreachable { server: String, hint: &'static str },
    /// The server does not have the model.
    #[error("{server} has no model `{model}`; {hint}")]
    NoModel { model: String, server: String, hint: String },
    /// No answer in time.
    #[error("no answer within {} s; use a smaller model or raise `{setting}`", wait.as_secs_f32())]
    Slow { wait: Duration, setting: &'static str },
    /// The connection ended in the middle.
    #[error("the connection broke off: {0}")]
    Broken(String),
    /// The server reports an internal error; Ollama's library does not pass on the status.
    #[error("the server failed{}: {message}", status.map(|s| format!(" ({s})")).unwrap_or_default())]
    Server { status: Option<u16>, message: String },
    /// The server is overloaded, or limits the rate of requests.
    #[error("the server is asked too often: {message}; the next sync asks again")]
    Busy { message: String, wait: Option<Duration> },
    /// A question is longer than the model's context.
    #[error(
        "a part of a session is longer than {server} takes: {message}; set `llm.context` to the tokens that \
         the model has room for, and parts become smaller"
    )]
    TooLong { server: String, message: String },
    /// The server rejects the key.
    #[error(
        "{server} does not take the key: {message}; put it into the environment variable that \
         `llm.api_key_env` names"
    )]
    Key { server: String, message: String },
    /// There is no Claude Code to be found.
    #[error(
        "Claude Code is not installed: no `claude` in PATH; install it, or choose another reader \
         with `throughline config llm`"
    )]
    NotInstalled,
    /// The installed version lacks a required interface.
    #[error("this Claude Code cannot be asked: {0}; update it with `claude update`")]
    Old(String),
    /// Its program cannot be started.
    #[error(
        "{} cannot be started: {message}; see whether it may be run, or choose another reader with \
         `throughline config llm`",
        program.display()
    )]
    Start { program: PathBuf, message: String },
    /// There is no empty folder to start it in.
    #[error("there is no folder to ask from: {0}; let TMPDIR name one that can be written")]
    NoFolder(String),
    /// Claude Code is not logged in.
    #[error("Claude Code is not logged in ({0}); run `claude` and /login there")]
    NotLoggedIn(String),
    /// The plan or the account is exhausted for now.
    #[error("the usage limit is reached: {0}; a sync after it ended asks again")]
    Limit(String),
    /// One question would have cost more than one may.
    #[error("the budget of one question is used up: {0}; see `llm.usd_per_day`")]
    Budget(String),
    /// Sessions use another endpoint than the question would.
    #[error("{0}")]
    Elsewhere(String),
    /// The bound of the day is reached.
    #[error("{0}; the rest waits for tomorrow")]
    Bound(String),
    /// It failed repeatedly, and is not asked again.
    #[error(
        "parts of sessions failed again and again and are set aside; `throughline sync --retry` asks about them again"
    )]
    Aside,
    /// The search for names of people in a text for another machine failed.
    #[error("it was not asked, because names of people could not be found first: {0}")]
    Names(String),
    /// It was not asked in this run.
    #[error("it is asked by a later run")]
    Later,
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
}

/// Consequence of a fault for the next questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFault {
    /// Nothing: the next one is put.
    Ask,
    /// After a second fault in a row, no more are sent in this run.
    AskOnce,
    /// No more are sent in this run.
    Stop,
}

impl ModelFault {
    /// How long to wait before the same question is put again; `None` where that is no use. `repeats` tells
    /// how often it was put again already.
    pub(super) fn pause(&self, repeats: usize) -> Option<Duration> {
        match self {
            Self::Broken(_) | Self::Server { .. } => PAUSES.get(repeats).copied(),
            Self::Busy { wait, .. } => {
                let pause = PAUSES.get(repeats)?;
                Some(wait.unwrap_or(*pause)).filter(|wait| *wait <= PATIENCE_MAX)
            }
            // It took long enough.
            Self::Slow { .. } => (repeats == 0).then_some(Duration::ZERO),
            _ => None,
        }
    }

    /// Returns its consequence for the next questions.
    pub(super) fn next(&self) -> AfterFault {
        match self {
            Self::Answer(_) | Self::Names(_) | Self::Aside | Self::Later => AfterFault::Ask,
            Self::Slow { .. }
            | Self::Broken(_)
            | Self::Server { .. }
            | Self::Busy { .. }
            | Self::TooLong { .. } => AfterFault::AskOnce,
            Self::Unreachable { .. }
            | Self::NoModel { .. }
            | Self::Key { .. }
            | Self::NotInstalled
            | Self::Old(_)
            | Self::NotLoggedIn(_)
            | Self::Limit(_)
            | Self::Budget(_)
            | Self::Elsewhere(_)
            | Self::Start { .. }
            | Self::NoFolder(_)
            | Self::Bound(_) => AfterFault::Stop,
        }
    }

    /// Returns whether the question itself may be the cause. A server error may affect all questions: it counts only if
    /// the server answered another question of the same run (`answered`).
    pub(super) fn is_of_the_question(&self, answered: bool) -> bool {
        match self {
            Self::Answer(_) | Self::Slow { .. } => true,
            Self::Server { .. } | Self::Broken(_) | Self::TooLong { .. } => answered,
            _ => false,
        }
    }

    /// Returns whether asking again automatically is useless, so that the session counts as read.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self, Self::Aside)
    }
}
