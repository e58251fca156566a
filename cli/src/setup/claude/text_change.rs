//! A change to a user's text file. It can be undone without a copy of the file, which may contain secrets.

use serde::{Deserialize, Serialize};

/// The changed part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// blake3 of the text after the change.
    pub after: String,
    /// Start of the changed part, in bytes.
    pub start: usize,
    /// The changed part before the change.
    pub replaced: String,
    /// The changed part after the change.
    pub inserted: String,
}

impl TextChange {
    /// Describes the change of a text from `before` to `after`.
    pub fn of(before: &str, after: &str) -> Self {
        let (start, before_end, after_end) = changed_part(before, after);
        Self {
            after: blake3::hash(after.as_bytes()).to_hex().to_string(),
            start,
            replaced: before[start..before_end].to_owned(),
            inserted: after[start..after_end].to_owned(),
        }
    }

    /// Returns whether a text has not changed since the change was made.
    pub fn is_untouched(&self, text: &str) -> bool {
        blake3::hash(text.as_bytes()).to_hex().as_str() == self.after
    }

    /// Returns the text without the change, byte for byte. Returns `None` if the text has changed since, unless it
    /// still contains the whole inserted part exactly once.
    pub fn undo(&self, text: &str) -> Option<String> {
        let start = if self.is_untouched(text) {
            self.start
        } else {
            let mut found = text.match_indices(&self.inserted);
            let (start, _) = found.next()?;
            if found.next().is_some() {
                return None;
            }
            start
        };
        let (head, rest) = text.split_at_checked(start)?;
        let tail = rest.strip_prefix(self.inserted.as_str())?;
        Some(format!("{head}{}{tail}", self.replaced))
    }
}

/// Returns the part in which two texts differ: its start, its end in `before`, and its end in `after`.
fn changed_part(before: &str, after: &str) -> (usize, usize, usize) {
    let pairs = before.bytes().zip(after.bytes());
    let mut start = pairs.take_while(|(one, other)| one == other).count();
    while !(before.is_char_boundary(start) && after.is_char_boundary(start)) {
        start -= 1;
    }
    let (one, other) = (&before.as_bytes()[start..], &after.as_bytes()[start..]);
    let pairs = one.iter().rev().zip(other.iter().rev());
    let mut tail = pairs.take_while(|(one, other)| one == other).count();
    while !(before.is_char_boundary(before.len() - tail)
        && after.is_char_boundary(after.len() - tail))
    {
        tail -= 1;
    }
    (start, before.len() - tail, after.len() - tail)
}
