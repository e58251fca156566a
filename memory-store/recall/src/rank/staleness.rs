//! Staleness: a memory may be out of date if its files changed since it was learned, if a name in it no longer exists,
//! or if it was overtaken by a later session.
//!
//! The processor compares files and names at publication; an index stores only the result, which does not depend on the
//! memory's meaning.

use std::borrow::Cow;
use std::fmt;

/// Evidence that a memory is out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Kind of change.
    pub change: Change,
    /// Path of the file relative to the root, with `/`, or the missing name; empty for [`Change::Unfound`].
    pub name: String,
    /// New path of a moved file.
    pub target: Option<String>,
}

/// Change since a memory was learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The file was moved.
    Moved,
    /// Less than half of the file's lines remain.
    Rewritten,
    /// A name in the memory's text is no longer in any file.
    NameGone,
    /// The file is missing.
    Gone,
    /// The reader of sessions no longer finds the memory.
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
    /// Returns the evidence for a memory that the reader of sessions no longer finds.
    pub const fn unfound() -> Self {
        Self { change: Change::Unfound, name: String::new(), target: None }
    }

    /// Returns the evidence for a missing name in a memory's text.
    pub const fn without(name: String) -> Self {
        Self { change: Change::NameGone, name, target: None }
    }

    /// Returns a short label for the model. It contains no path, because others may have chosen its name, but the
    /// missing name, which is also in the memory's text.
    pub fn mark(&self) -> Cow<'static, str> {
        match self.change {
            Change::Moved => "file moved since".into(),
            Change::Rewritten => "file rewritten since".into(),
            Change::NameGone => format!("names `{}`, which is gone", self.name).into(),
            Change::Gone => "file gone since".into(),
            Change::Unfound => "overtaken since".into(),
        }
    }

    /// Encodes it as a record's field.
    pub fn encode(&self) -> Vec<u8> {
        let target = self.target.as_deref().unwrap_or_default();
        [&[self.change.number()], self.name.as_bytes(), &[0], target.as_bytes()].concat()
    }

    /// Decodes it; `None` for values of later versions.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&number, paths) = bytes.split_first()?;
        let (name, target) = str::from_utf8(paths).ok()?.split_once('\0')?;
        let target = Some(target.to_owned()).filter(|target| !target.is_empty());
        Some(Self { change: Change::from_number(number)?, name: name.to_owned(), target })
    }
}

/// Formats it as a sentence for the user.
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
