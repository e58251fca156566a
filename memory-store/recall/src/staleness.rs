//! Staleness: a memory whose files changed since it was learned, or that a later session overtook, may be out of date.
//!
//! The processor compares the files when it publishes; an index keeps the result, which says nothing
//! about what the memory says.

use std::fmt;

/// Evidence that a memory is out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Kind of change.
    pub change: Change,
    /// The file, relative to the root, with `/`; empty for [`Change::Unfound`].
    pub path: String,
    /// Of a moved file: its new path.
    pub target: Option<String>,
}

/// Change since a memory was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The file has another path.
    Moved,
    /// Less than half of the file's lines remain.
    Rewritten,
    /// The file is gone.
    Gone,
    /// The reader of sessions does not find the memory any more.
    Unfound,
}

impl Change {
    const fn number(self) -> u8 {
        match self {
            Self::Moved => 1,
            Self::Rewritten => 2,
            Self::Gone => 3,
            Self::Unfound => 4,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Moved),
            2 => Some(Self::Rewritten),
            3 => Some(Self::Gone),
            4 => Some(Self::Unfound),
            _ => None,
        }
    }
}

impl Staleness {
    /// A memory that the reader of sessions does not find any more.
    pub const fn unfound() -> Self {
        Self { change: Change::Unfound, path: String::new(), target: None }
    }

    /// Two or three words for the model. No path stands in them: others may have chosen its name.
    pub const fn mark(&self) -> &'static str {
        match self.change {
            Change::Moved => "file moved since",
            Change::Rewritten => "file rewritten since",
            Change::Gone => "file gone since",
            Change::Unfound => "overtaken since",
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
            (Change::Unfound, _) => f.write_str("the reader of sessions does not find it any more"),
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
        assert_eq!(Staleness::decode(&Staleness::unfound().encode()), Some(Staleness::unfound()));
        assert_eq!(Staleness::decode(b"\x05src/a.rs\0"), None);
        assert_eq!(Staleness::decode(b""), None);
    }
}
