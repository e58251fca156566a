//! A *failure* is an error that is shown to a person: the problem, its causes and the next step.

use std::fmt;
use std::io;

use processor::upkeep::purge::Unclear;

use crate::exit;
use crate::view::printable::plain;

/// The result of a command.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// An error for a person, with an exit code for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of the codes in [`exit`].
    pub code: u8,
    /// Description of the problem.
    pub message: String,
    /// Causes, outermost first.
    pub causes: Vec<String>,
    /// Next step for the person.
    pub hint: Option<String>,
}

impl Failure {
    /// Creates a failure with the general exit code.
    pub fn new(message: impl Into<String>) -> Self {
        // The message may contain file names that other people chose, so control characters are removed.
        let message = plain(&message.into());
        Self { code: exit::FAILED, message, causes: Vec::new(), hint: None }
    }

    /// Creates a failure without a message, for commands whose output already describes the problem.
    pub fn silent(code: u8) -> Self {
        Self::new("").code(code)
    }

    /// Fails without a message if a search found nothing, as `grep` does.
    pub fn of_empty(found_nothing: bool) -> Result {
        if found_nothing { Err(Self::silent(exit::NOTHING)) } else { Ok(()) }
    }

    /// Replaces the exit code.
    pub fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Adds the next step.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(plain(&hint.into()));
        self
    }

    /// Adds the failed operation as the message; the previous message becomes a cause.
    pub fn during(mut self, message: impl Into<String>) -> Self {
        // A failure without a message stays without one: its output is closed.
        if self.message.is_empty() {
            return self;
        }
        let cause = std::mem::replace(&mut self.message, plain(&message.into()));
        self.causes.insert(0, cause);
        self
    }

    /// Returns the failure for a closed output, as in `throughline list | head`.
    pub fn broken_pipe() -> Self {
        Self::new(String::new()).code(exit::OK)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

/// Converts output errors. Only printing uses `?` on a plain I/O error; other operations add a path first.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::broken_pipe();
        }
        Self::new(error.to_string())
    }
}

impl From<memory_store::Error> for Failure {
    fn from(error: memory_store::Error) -> Self {
        use memory_store::Error;
        let mut failure = Self::new(error.to_string());
        failure.hint = error.remedy().map(str::to_owned);
        match error {
            Error::NotFound { .. } | Error::Gone { .. } => failure.code(exit::NOT_FOUND),
            Error::Memory { .. } | Error::Settings { .. } | Error::Refused { .. } => {
                failure.code(exit::INVALID)
            }
            Error::Locked { .. } => failure.code(exit::LOCKED),
            _ => failure,
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let error = match error.downcast::<memory_store::Error>() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        if let Some(unclear) = error.downcast_ref::<Unclear>() {
            return Self::new(unclear.to_string()).code(exit::NOT_FOUND).hint(unclear.remedy());
        }
        let is_denied = error.chain().any(|cause| {
            let cause = cause.downcast_ref::<io::Error>();
            cause.is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied)
        });
        let mut chain = error.chain().map(ToString::to_string);
        let mut failure = Self::new(chain.next().unwrap_or_default());
        failure.causes = chain.collect();
        if is_denied {
            failure = failure
                .hint("`throughline doctor` lists what cannot be read or written, and what helps.");
        }
        failure
    }
}

/// Converts an error in writing a journal entry after the file itself was saved.
pub fn after_saving(told: memory_store::Result<()>) -> Result {
    told.map_err(|error| {
        Failure::from(error)
            .during("the file is changed, but recall knows it only after the next sync")
    })
}

/// Adds the path of an I/O operation to its error.
pub trait AtPath<T> {
    /// Converts the error into a failure that contains `path`.
    fn at(self, path: &std::path::Path) -> Result<T>;

    /// Like [`at`](Self::at), for a path that the user typed: a missing file has its own exit code.
    fn named(self, path: &std::path::Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: &std::path::Path) -> Result<T> {
        self.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }

    fn named(self, path: &std::path::Path) -> Result<T> {
        let is_missing = self.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        self.at(path).map_err(|failure| match is_missing {
            true => Failure::new(format!("{} does not exist", path.display()))
                .code(exit::NOT_FOUND)
                .hint("Name a file or folder that is there."),
            false => failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_has_a_code_and_a_way_out() {
        let locked =
            || memory_store::Error::Locked { path: "/p/store.lock".into(), holder: Some(7) };
        let failure = Failure::from(locked());
        assert_eq!(failure.code, exit::LOCKED);
        assert_eq!(failure.message, "/p/store.lock: process 7 holds this lock for too long");
        assert!(failure.hint.unwrap().contains("continue or end it"));
        let failure = after_saving(Err(locked())).unwrap_err();
        assert_eq!(failure.code, exit::LOCKED);
        assert!(failure.to_string().starts_with("the file is changed, but"), "{failure}");
        assert_eq!(Failure::from(anyhow::Error::from(locked())).code, exit::LOCKED);
    }

    #[test]
    fn a_broken_pipe_is_not_reported() {
        let failure = Failure::broken_pipe().during("nothing was learned yet");
        assert_eq!((failure.code, &*failure.message, failure.causes.len()), (exit::OK, "", 0));
        let failure = Failure::new("no space is left").during("nothing was learned yet");
        assert_eq!(failure.message, "nothing was learned yet");
        assert_eq!(failure.causes, ["no space is left"]);
    }
}
