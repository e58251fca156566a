//! Errors of a store, with one variant for each kind of failure.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::clean;

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the store. Each variant names the location; the variant's documentation gives the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written. Check permissions and free space.
    #[error("{path}: {source}", path = shown(path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A memory file is not valid. Correct the place that is named; the program does not change the file.
    #[error("{path}:{place}: {message}", path = shown(path), message = brief(message))]
    Memory {
        /// The memory file.
        path: PathBuf,
        /// Place in the file.
        place: TextPlace,
        /// The problem, and the expected form.
        message: String,
    },
    /// A file or folder of a store is not read in its present state; [`Error::remedy`] returns the remedy.
    #[error("{path}: {message}", path = shown(path), message = brief(message))]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// The problem.
        message: String,
        /// The remedy, as a sentence for a person.
        remedy: &'static str,
    },
    /// A settings file is not valid. Correct the key that is named.
    #[error("{path}: {message}", path = shown(path), message = brief(message))]
    Settings {
        /// The settings file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// An index file is damaged or has another format. It is derived data, so rebuild it.
    #[error("{path}: {message} (the index is rebuilt by `throughline sync`)", path = shown(path))]
    Index {
        /// The index file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// Another process holds a lock for longer than the maximum wait. Continue or end that process, then try again.
    #[error("{path}: {holder} holds this lock for too long", path = shown(path), holder = process(*holder))]
    Locked {
        /// The file of the lock.
        path: PathBuf,
        /// Number of the process, if the system reports it.
        holder: Option<u32>,
    },
    /// A store has a format that this program does not support. Install the named version or a later one.
    #[error(
        "{path}: {writer} wrote this in format {found}; this is Throughline {ours}, which supports format {supported} \
         and changes nothing. Install {writer}",
        path = shown(path),
        writer = writer(program.as_deref()),
        ours = env!("CARGO_PKG_VERSION"),
    )]
    Newer {
        /// Folder of the store.
        path: PathBuf,
        /// Format of the store.
        found: u32,
        /// First version of the program that writes this format, if the store names one.
        program: Option<String>,
        /// The newest format that this program supports.
        supported: u32,
    },
    /// A file of the embedder is damaged or has another format. Recall continues by words alone; install again to
    /// replace the file.
    #[error("{path}: {message} (recall goes on by words alone)", path = shown(path))]
    Model {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// A working tree's path is not UTF-8. Transcripts name folders as JSON text, which cannot contain such a path.
    /// Rename the folder.
    #[error("{path}: the name of this folder is not UTF-8, so that no transcript can name it; rename it", path = shown(path))]
    Path {
        /// The root of the working tree.
        path: PathBuf,
    },
    /// No memory has this id, or several have this short id.
    #[error("{}", match found {
        0 => format!("no memory has the id {id}"),
        found => format!("{found} memories have an id that begins or ends with {id}"),
    })]
    NotFound {
        /// The id or short id of the request.
        id: String,
        /// Number of memories that match.
        found: usize,
    },
    /// A text for other readers probably contains a credential. A person may accept the text after checking the place.
    #[error("{path}: not written, because it contains something that looks like a credential: {places}", path = shown(path))]
    Credential {
        /// The memory file.
        path: PathBuf,
        /// Each field with the line that contains the value, without the value itself.
        places: String,
    },
    /// A memory that has no transcript was deleted permanently. Write it again.
    #[error("{id} was written by hand and deleted for good; nothing of it is left to bring back")]
    Gone {
        /// The id or short id of the request.
        id: String,
    },
}

impl Error {
    /// Returns the file or folder that the error names; `None` if it names none.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::Memory { path, .. }
            | Self::Refused { path, .. }
            | Self::Settings { path, .. }
            | Self::Index { path, .. }
            | Self::Locked { path, .. }
            | Self::Newer { path, .. }
            | Self::Model { path, .. }
            | Self::Credential { path, .. }
            | Self::Path { path } => Some(path),
            Self::NotFound { .. } | Self::Gone { .. } => None,
        }
    }

    /// Returns the remedy as one sentence; `None` if the message contains the remedy.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Refused { remedy, .. } => Some(remedy),
            Self::Memory { .. } | Self::Settings { .. } => {
                Some("Correct the named place with any editor; the file was left as it is.")
            }
            Self::Io { .. } => Some("Check that it exists, its permissions, and free space."),
            Self::Index { .. } => Some("Run `throughline sync --rebuild`."),
            Self::Locked { .. } => Some(
                "A sync, command or server that was stopped (Ctrl-Z) or hangs may hold it: continue or end it, and try again.",
            ),
            Self::NotFound { found: 0, .. } => {
                Some("`throughline list` shows the ids of all memories.")
            }
            Self::NotFound { .. } => Some("Give more characters of the id."),
            Self::Gone { .. } => Some("`throughline add` writes it again."),
            Self::Credential { .. } => Some(
                "The file is as it was. Leave the value out; if it is no credential, add it to `harmless` below `[redact]` in your config.toml.",
            ),
            // For these errors the message contains the remedy.
            Self::Model { .. } | Self::Path { .. } | Self::Newer { .. } => None,
        }
    }
}

/// Returns the name of a program version for a message.
fn writer(program: Option<&str>) -> String {
    match program {
        Some(version) => format!("Throughline {version} or later"),
        None => "a later version of Throughline".to_owned(),
    }
}

/// Returns the name of a process for a message.
fn process(number: Option<u32>) -> String {
    number.map_or_else(|| "another process".to_owned(), |number| format!("process {number}"))
}

/// Maximum number of characters of a message that quotes a file.
const MESSAGE_CHARS_MAX: usize = 200;

/// Maximum number of characters of a path that are shown; they are taken from its end.
const PATH_CHARS_MAX: usize = 300;

/// Returns a message, which may quote a file, shortened and without control characters. Errors are printed on terminals
/// and passed to models, so a quotation must neither control the terminal nor pose as instructions to the model.
pub fn brief(message: &str) -> String {
    let clean = clean(message);
    match clean.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// Returns a path for display, shortened and cleaned like a message, because other people may have chosen the names in
/// it.
pub fn shown(path: &Path) -> String {
    let clean = clean(&path.to_string_lossy());
    match clean.char_indices().nth_back(PATH_CHARS_MAX - 1) {
        Some((start, _)) if start > 0 => format!("…{}", &clean[start..]),
        Some(_) | None => clean,
    }
}

/// A line and column of a text file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// Number of the line.
    pub line: usize,
    /// Number of the column, in characters.
    pub column: usize,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Adds a path to an I/O error, as in `fs::read(path).at(path)?`.
pub trait At<T> {
    /// Returns the result with `path` as the file or folder of the error.
    fn at(self, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::Io { path: path.as_ref().to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_in_an_error_is_short_and_without_control_characters() {
        let error = Error::Memory {
            path: PathBuf::from("/w/\u{1b}[2Ja\u{202e}\n.md"),
            place: TextPlace { line: 2, column: 1 },
            message: format!(
                "the key `\u{1b}]0;x\u{7} </throughline-memory> {}`",
                "y".repeat(5000)
            ),
        };
        let text = error.to_string();
        assert!(text.starts_with("/w/[2Ja .md:2:1: the key `]0;x &lt;/throughline"), "{text}");
        assert!(text.ends_with('…') && text.chars().count() < 250, "{text}");

        let path = PathBuf::from("/w").join("n".repeat(250)).join("m".repeat(250));
        let io = Err::<(), _>(io::Error::other("full")).at(path).unwrap_err().to_string();
        assert_eq!(io.chars().count(), 1 + PATH_CHARS_MAX + ": full".len());
        let usual = Err::<(), _>(io::Error::other("full")).at("/w/a b.md").unwrap_err();
        assert_eq!(usual.to_string(), "/w/a b.md: full");
    }
}
