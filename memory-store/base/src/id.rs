//! Identifiers of memories and projects.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::kind::Kind;
use crate::time::Timestamp;

/// Crockford's base 32 in lower case, which has no `i`, `l`, `o` and `u`.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Number of characters of a full id.
pub const ID_CHARS: usize = 26;

/// Number of characters of the short id, which people see and type. It is the end of the full id.
pub const SHORT_ID_CHARS: usize = 6;
/// Number of characters of a session's id that are shown.
const SHORT_SESSION_CHARS: usize = 8;

/// Returns whether a text abbreviates an id: the id ends or begins with the text, in either case.
pub fn is_abbreviation(text: &str, id: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let id = id.to_ascii_lowercase();
    !text.is_empty() && (id.ends_with(&text) || id.starts_with(&text))
}

/// Returns the items whose ids end with a text, in either case. If there are none, returns those whose ids begin with
/// the text. Endings come first because people see the last characters of an id.
pub fn abbreviated<T: Copy>(text: &str, items: impl Iterator<Item = (MemoryId, T)>) -> Vec<T> {
    let text = text.trim().to_ascii_lowercase();
    let (mut ending, mut beginning) = (Vec::new(), Vec::new());
    for (id, item) in items.filter(|_| !text.is_empty()) {
        let id = id.to_string();
        if id.ends_with(&text) {
            ending.push(item);
        } else if id.starts_with(&text) {
            beginning.push(item);
        }
    }
    if ending.is_empty() { beginning } else { ending }
}

/// Id of a memory: 128 bits, of which the first 48 are a time in milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(pub [u8; 16]);

impl MemoryId {
    /// Returns the id of a memory that was learned from a transcript. It depends only on the evidence, so learning the
    /// same memory again, in any order and after any interruption, results in the same id.
    pub fn derived(
        occurred: Timestamp,
        project: ProjectId,
        kind: Kind,
        evidence: &str,
        ordinal: u32,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&project.0);
        hasher.update(kind.name().as_bytes());
        hasher.update(&[0]);
        hasher.update(evidence.as_bytes());
        hasher.update(&[0]);
        hasher.update(&ordinal.to_le_bytes());
        let mut tail = [0; 10];
        tail.copy_from_slice(&hasher.finalize().as_bytes()[..10]);
        Self::new(occurred, tail)
    }

    /// Returns the id of a memory that a person or a model wrote at `now`; `random` are fresh random bytes.
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&now.0.to_be_bytes()[2..]);
        bytes[6..].copy_from_slice(&random);
        Self(bytes)
    }

    /// Returns the time in the first 48 bits: that of the event, or that of writing.
    pub fn time(self) -> Timestamp {
        let mut bytes = [0; 8];
        bytes[2..].copy_from_slice(&self.0[..6]);
        Timestamp(i64::from_be_bytes(bytes))
    }

    /// Returns the short id, the last six characters, which people see and type.
    pub fn short(self) -> String {
        self.digits()[ID_CHARS - SHORT_ID_CHARS..].iter().copied().map(char::from).collect()
    }

    /// Returns the characters of the id, all of which are ASCII.
    fn digits(self) -> [u8; ID_CHARS] {
        let mut bits = u128::from_be_bytes(self.0);
        let mut digits = [0; ID_CHARS];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
        digits
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.digits()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryId({self})")
    }
}

/// Returns the message for a text that is not an id.
fn no_id(text: &str) -> String {
    format!("`{}` is no id", text.chars().take(40).collect::<String>())
}

impl FromStr for MemoryId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() != ID_CHARS {
            return Err(no_id(text));
        }
        let mut bits = 0u128;
        for (position, byte) in text.bytes().enumerate() {
            let byte = byte.to_ascii_lowercase();
            let digit = ALPHABET.iter().position(|&known| known == byte);
            let digit = digit.ok_or_else(|| no_id(text))?;
            // 26 characters represent 130 bits, so the two highest bits must be zero.
            if position == 0 && digit > 7 {
                return Err(no_id(text));
            }
            bits = bits << 5 | digit as u128;
        }
        Ok(Self(bits.to_be_bytes()))
    }
}

impl Serialize for MemoryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.digits()) {
            Ok(digits) => serializer.serialize_str(digits),
            Err(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for MemoryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Returns the first eight characters of a session's id, which are shown to people.
pub fn short_session(id: &str) -> &str {
    id.char_indices().nth(SHORT_SESSION_CHARS).map_or(id, |(end, _)| &id[..end])
}

/// The random id of a project on this machine: 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(pub [u8; 16]);

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ProjectId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(no_id(text));
        }
        u128::from_str_radix(text, 16).map(|bits| Self(bits.to_be_bytes())).map_err(|_| no_id(text))
    }
}

impl Serialize for ProjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back() {
        let id = MemoryId::derived(
            Timestamp(1_790_000_000_000),
            ProjectId([7; 16]),
            Kind::Fix,
            "a-uuid",
            2,
        );
        assert_eq!(id.to_string().parse::<MemoryId>().unwrap(), id);
        assert_eq!(id.to_string().to_uppercase().parse::<MemoryId>().unwrap(), id);
        assert!(id.to_string().ends_with(&id.short()));
        assert_eq!(
            u64::from_be_bytes([0, 0, id.0[0], id.0[1], id.0[2], id.0[3], id.0[4], id.0[5]]),
            1_790_000_000_000
        );
        for bad in ["", "abc", "../../../../etc/passwd-----", "zzzzzzzzzzzzzzzzzzzzzzzzzz"] {
            assert!(bad.parse::<MemoryId>().is_err(), "{bad}");
        }
    }
}
