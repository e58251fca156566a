//! Reasons why a model gave no answer, with remedies for the user.

use std::path::PathBuf;
use std::time::Duration;

/// Pauses before the first and the second repetition of a question.
const PAUSES: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1_200)];
/// Maximum waiting time that is accepted if the server requests a wait.
const PATIENCE_MAX: Duration = Duration::from_secs(20);

/// Reason why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ModelFault {
    /// No server listens at the address.
    #[error("nothing answers at {server}; {hint}")]
    Unreachable { server: String, hint: &'static str },
    /// The server does not have the model.
    #[error("{server} has no model `{model}`; {hint}")]
    NoModel { model: String, server: String, hint: String },
    /// There was no answer in time.
    #[error("no answer within {} s; use a smaller model or raise `{setting}`", wait.as_secs_f32())]
    Slow { wait: Duration, setting: &'static str },
    /// The connection was closed during the answer.
    #[error("the connection broke off: {0}")]
    Broken(String),
    /// The server reports an internal error. For Ollama the status is missing, because its library does not return it.
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
    /// Claude Code was not found.
    #[error(
        "Claude Code is not installed: no `claude` in PATH; install it, or choose another reader \
         with `throughline config llm`"
    )]
    NotInstalled,
    /// The installed version lacks a required interface.
    #[error("this Claude Code cannot be asked: {0}; update it with `claude update`")]
    Old(String),
    /// The program cannot be started.
    #[error(
        "{} cannot be started: {message}; see whether it may be run, or choose another reader with \
         `throughline config llm`",
        program.display()
    )]
    Start { program: PathBuf, message: String },
    /// No empty folder could be created for the program.
    #[error("there is no folder to ask from: {0}; let TMPDIR name one that can be written")]
    NoFolder(String),
    /// Claude Code is not logged in.
    #[error("Claude Code is not logged in ({0}); run `claude` and /login there")]
    NotLoggedIn(String),
    /// The usage limit of the plan or the account is reached for now.
    #[error("the usage limit is reached: {0}; a sync after it ended asks again")]
    Limit(String),
    /// The question would have cost more than the limit for one question.
    #[error("the budget of one question is used up: {0}; see `llm.usd_per_day`")]
    Budget(String),
    /// Sessions use an endpoint that differs from the question's.
    #[error("{0}")]
    Elsewhere(String),
    /// The cost limit of the day is reached.
    #[error("{0}; the rest waits for tomorrow")]
    Bound(String),
    /// The question failed repeatedly and is kept aside.
    #[error(
        "parts of sessions failed again and again and are set aside; `throughline sync --retry` asks about them again"
    )]
    Aside,
    /// The search for names of people failed in a text for another machine.
    #[error("it was not asked, because names of people could not be found first: {0}")]
    Names(String),
    /// The question was not sent in this run.
    #[error("it is asked by a later run")]
    Later,
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
}

/// Consequence of a fault for the next questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFault {
    /// The next question is sent.
    Ask,
    /// After a second consecutive fault, no more questions are sent in this run.
    AskOnce,
    /// No more questions are sent in this run.
    Stop,
}

impl ModelFault {
    /// Returns the time to wait before the same question is sent again; `None` if repeating it is useless. `repeats` is
    /// the number of repetitions so far.
    pub(super) fn pause(&self, repeats: usize) -> Option<Duration> {
        match self {
            Self::Broken(_) | Self::Server { .. } => PAUSES.get(repeats).copied(),
            Self::Busy { wait, .. } => {
                let pause = PAUSES.get(repeats)?;
                Some(wait.unwrap_or(*pause)).filter(|wait| *wait <= PATIENCE_MAX)
            }
            // There is no further wait, because the answer already took long.
            Self::Slow { .. } => (repeats == 0).then_some(Duration::ZERO),
            _ => None,
        }
    }

    /// Returns the consequence for the next questions.
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

    /// Returns whether the question may be the cause of the fault. A server error may affect all questions, so it
    /// counts only if the server answered another question of the same run (`answered`).
    pub(super) fn is_of_the_question(&self, answered: bool) -> bool {
        match self {
            Self::Answer(_) | Self::Slow { .. } => true,
            Self::Server { .. } | Self::Broken(_) | Self::TooLong { .. } => answered,
            _ => false,
        }
    }

    /// Returns whether a later run will not repeat the question automatically. Such a session counts as read.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self, Self::Aside)
    }
}
