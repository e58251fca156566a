//! Staleness: a memory whose files changed since it was learned, that names something which is gone, or that a later
//! session overtook, may be out of date.
//!
//! The processor compares files and names when it publishes; an index keeps the result, which says nothing
//! about what the memory says.

use std::borrow::Cow;
use std::fmt;

/// Evidence that a memory is out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Kind of change.
    pub change: Change,
    /// Path of the file relative to the root, with `/`, or the name that is gone; empty for [`Change::Unfound`].
    pub name: String,
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
    /// A name in the memory's text is in no file any more.
    NameGone,
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
    /// A memory that the reader of sessions does not find any more.
    pub const fn unfound() -> Self {
        Self { change: Change::Unfound, name: String::new(), target: None }
    }

    /// A memory whose text has a name that is gone.
    pub const fn without(name: String) -> Self {
        Self { change: Change::NameGone, name, target: None }
    }

    /// Returns a few words for the model. They contain no path, as others may have chosen its name, but the name that
    /// is gone: the memory's text contains it, too.
    pub fn mark(&self) -> Cow<'static, str> {
        match self.change {
            Change::Moved => "file moved since".into(),
            Change::Rewritten => "file rewritten since".into(),
            Change::NameGone => format!("names `{}`, which is gone", self.name).into(),
            Change::Gone => "file gone since".into(),
            Change::Unfound => "overtaken since".into(),
        }
    }

    /// Appends it as a field of a record holds it.
    pub fn encode(&self) -> Vec<u8> {
        let target = self.target.as_deref().unwrap_or_default();
        [&[self.change.number()], self.name.as_bytes(), &[0], target.as_bytes()].concat()
    }

    /// Reads it; `None` for what a later version wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&number, paths) = bytes.split_first()?;
        let (name, target) = str::from_utf8(paths).ok()?.split_once('\0')?;
        let target = Some(target.to_owned()).filter(|target| !target.is_empty());
        Some(Self { change: Change::from_number(number)?, name: name.to_owned(), target })
    }
}

/// A sentence for people.
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
