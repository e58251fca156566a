//! Staleness: a memory may be out of date if its files changed since it was learned, if a name in its text no longer
//! exists, or if later sessions have overtaken it.
//!
//! The processor compares files and names when it publishes an index. The index stores only the result, which does not
//! depend on the memory's meaning.

use std::borrow::Cow;
use std::fmt;

/// Evidence that a memory is out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// What has changed.
    pub change: Change,
    /// Path of the file, relative to the root with `/`, or the missing name; empty for [`Change::Unfound`].
    pub name: String,
    /// New path of the file, if it was moved.
    pub target: Option<String>,
}

/// What has changed since a memory was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The file was moved.
    Moved,
    /// Less than half of the file's lines remain.
    Rewritten,
    /// A name in the memory's text is no longer found in any file.
    NameGone,
    /// The file is missing.
    Gone,
    /// The extraction from sessions no longer finds the memory.
    Unfound,
}

impl Change {
    const fn number(self) -> u8 {
        match self {
            Self::Moved => 1,
            Self::Rewritten => 2,
            Self::Gone => 3,
            Self::Unfound => 4,
            Self::NameGone => 5,
        }
    }

    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Moved),
            2 => Some(Self::Rewritten),
            3 => Some(Self::Gone),
            4 => Some(Self::Unfound),
            5 => Some(Self::NameGone),
            _ => None,
        }
    }
}

impl Staleness {
    /// Returns the evidence for a memory that the extraction from sessions no longer finds.
    pub const fn unfound() -> Self {
        Self { change: Change::Unfound, name: String::new(), target: None }
    }

    /// Returns the evidence for a name in a memory's text that no longer exists.
    pub const fn without(name: String) -> Self {
        Self { change: Change::NameGone, name, target: None }
    }

    /// Returns a short label for the model. It contains no path, because other people may have chosen the path's names.
    /// It may contain the missing name, which is also in the memory's text.
    pub fn mark(&self) -> Cow<'static, str> {
        match self.change {
            Change::Moved => "file moved since".into(),
            Change::Rewritten => "file rewritten since".into(),
            Change::NameGone => format!("names `{}`, which is gone", self.name).into(),
            Change::Gone => "file gone since".into(),
            Change::Unfound => "overtaken since".into(),
        }
    }

    /// Returns the bytes of a record's field for this evidence.
    pub fn encode(&self) -> Vec<u8> {
        let target = self.target.as_deref().unwrap_or_default();
        [&[self.change.number()], self.name.as_bytes(), &[0], target.as_bytes()].concat()
    }

    /// Parses the bytes of a record's field; `None` for values written by later versions.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&number, paths) = bytes.split_first()?;
        let (name, target) = str::from_utf8(paths).ok()?.split_once('\0')?;
        let target = Some(target.to_owned()).filter(|target| !target.is_empty());
        Some(Self { change: Change::from_number(number)?, name: name.to_owned(), target })
    }
}

/// Writes a sentence for the user.
impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.name;
        match (self.change, &self.target) {
            (Change::Moved, Some(target)) => write!(f, "{path} moved to {target} since"),
            (Change::Moved, None) => write!(f, "{path} moved since"),
            (Change::Rewritten, _) => write!(f, "{path} was rewritten since"),
            (Change::NameGone, _) => write!(f, "names `{}`, which is gone", self.name),
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
            let staleness = Staleness { change, name: "src/a.rs".to_owned(), target };
            assert_eq!(Staleness::decode(&staleness.encode()), Some(staleness));
        }
        assert_eq!(Staleness::decode(&Staleness::unfound().encode()), Some(Staleness::unfound()));
        let without = Staleness::without("--retry-all".to_owned());
        assert_eq!(Staleness::decode(&without.encode()), Some(without));
        assert_eq!(Staleness::decode(b"\x06src/a.rs\0"), None);
        assert_eq!(Staleness::decode(b""), None);
    }
}
