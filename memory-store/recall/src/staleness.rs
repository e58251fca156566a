//! Staleness: a memory whose files changed since it was learned may be true no longer.
//!
//! The processor compares the files when it publishes; an index keeps the result, which says nothing
//! about what the memory says.

use std::fmt;

/// Change to the files of a memory since it was learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Kind of change.
    pub change: Change,
    /// The file, relative to the root, with `/`.
    pub path: String,
    /// Of a moved file: its new path.
    pub target: Option<String>,
}

/// Change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It has another path.
    Moved,
    /// Less than half of its lines remain.
    Rewritten,
    /// It is there no more.
    Gone,
}

impl Change {
    const fn number(self) -> u8 {
        match self {
            Self::Moved => 1,
            Self::Rewritten => 2,
            Self::Gone => 3,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Moved),
            2 => Some(Self::Rewritten),
            3 => Some(Self::Gone),
            _ => None,
        }
    }
}

impl Staleness {
    /// Two or three words for the model. No path stands in them: others may have chosen its name.
    pub const fn mark(&self) -> &'static str {
        match self.change {
            Change::Moved => "file moved since",
            Change::Rewritten => "file rewritten since",
            Change::Gone => "file gone since",
        }
    }

    /// Appends it as a field of a record holds it.
    pub fn encode(&self) -> Vec<u8> {
        let target = self.target.as_deref().unwrap_or_default();
        [&[self.change.number()], self.path.as_bytes(), &[0], target.as_bytes()].concat()
    }

    /// Reads it; `None` for what a later version wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&number, paths) = bytes.split_first()?;
        let (path, target) = str::from_utf8(paths).ok()?.split_once('\0')?;
        let target = Some(target.to_owned()).filter(|target| !target.is_empty());
        Some(Self { change: Change::from_number(number)?, path: path.to_owned(), target })
    }
}

/// A sentence for people.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match (self.change, &self.target) {
            (Change::Moved, Some(target)) => write!(f, "{path} moved to {target} since"),
            (Change::Moved, None) => write!(f, "{path} moved since"),
            (Change::Rewritten, _) => write!(f, "{path} was rewritten since"),
            (Change::Gone, _) => write!(f, "{path} is gone since"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_and_later_changes_are_not_guessed() {
        for (change, target) in
            [(Change::Moved, Some("src/b.rs")), (Change::Rewritten, None), (Change::Gone, None)]
        {
            let target = target.map(str::to_owned);
            let staleness = Staleness { change, path: "src/a.rs".to_owned(), target };
            assert_eq!(Staleness::decode(&staleness.encode()), Some(staleness));
        }
        assert_eq!(Staleness::decode(b"\x04src/a.rs\0"), None);
        assert_eq!(Staleness::decode(b""), None);
    }
}
