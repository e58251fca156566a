//! Lists of numbers with their fine codes: the seeds of a graph, the documents without a node, and the centres of
//! clusters. Each group has a checksum, so a reader needs only a small buffer, which it reuses. In a hook, the first
//! access to memory costs more than filling it.

use super::format::SectionKind;
use super::segment::Segment;
use super::vectors::guarded;
use crate::bytes::kernel::{FINE, Fine};
use memory_store_base::error::Result;

/// Number of bytes of an entry: its number and its code.
pub(super) const ENTRY: usize = 4 + FINE;
/// Number of bytes of a group's checksum.
pub(super) const SUM: usize = 8;
/// Number of bytes of a read, which takes as many groups as fit.
const BUFFER: usize = Group::LARGE.bytes();

/// Number of entries that one checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(usize);

impl Group {
    /// Group size of a list that is always read as a whole.
    pub(super) const LARGE: Self = Self(240);

    /// Returns the number of bytes of a whole group.
    const fn bytes(self) -> usize {
        self.0 * ENTRY + SUM
    }

    /// Returns the number of bytes of a list with `count` entries.
    pub(super) fn list_bytes(self, count: u64) -> u64 {
        count * ENTRY as u64 + count.div_ceil(self.0 as u64) * SUM as u64
    }

    /// Returns the number of entries of a list with this number of bytes; `None` if that number is invalid.
    pub(super) fn count(self, length: u64) -> Option<u64> {
        let groups = length.div_ceil(self.bytes() as u64);
        let count = length.checked_sub(groups * SUM as u64)? / ENTRY as u64;
        (self.list_bytes(count) == length).then_some(count)
    }

    /// Appends a list.
    pub(super) fn put(self, out: &mut Vec<u8>, entries: &[(u32, Fine)]) {
        entries.chunks(self.0).for_each(|group| put_group(out, group));
    }
}

/// Appends a group of any size.
pub(super) fn put_group(out: &mut Vec<u8>, group: &[(u32, Fine)]) {
    let start = out.len();
    group.iter().for_each(|(number, _)| out.extend_from_slice(&number.to_le_bytes()));
    group.iter().for_each(|(_, code)| out.extend_from_slice(&code.0));
    let sum = crate::bytes::kernel::sum(&out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// Place of a list in a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupList {
    /// Section that contains the list.
    pub kind: SectionKind,
    /// Start of the list in the section, in bytes.
    pub offset: u64,
    /// Number of entries.
    pub count: u64,
    /// Number of entries in a group.
    pub group: Group,
}

impl Segment {
    /// Calls `each` with the number and code of every entry of a list. Returns `None` if a checksum does not match.
    pub(super) fn each_listed(
        &self,
        list: GroupList,
        each: &mut dyn FnMut(u32, &[u8; FINE]),
    ) -> Result<Option<()>> {
        let GroupList { kind, mut offset, mut count, group } = list;
        let at_once = BUFFER / group.bytes() * group.0;
        let mut buffer = [0; BUFFER];
        while count > 0 {
            let entries = count.min(at_once as u64);
            let part = &mut buffer[..group.list_bytes(entries) as usize];
            self.read_into(kind, offset, part)?;
            offset += part.len() as u64;
            count -= entries;
            for group in part.chunks(group.bytes()) {
                if in_group(group, each).is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(()))
    }
}

/// Calls `each` with the number and code of every entry of a group. Returns `None` if the checksum does not match.
pub(super) fn in_group(group: &[u8], each: &mut dyn FnMut(u32, &[u8; FINE])) -> Option<()> {
    let body = guarded(group)?;
    let (numbers, codes) = body.split_at(body.len() / ENTRY * 4);
    for (number, code) in numbers.as_chunks::<4>().0.iter().zip(codes.as_chunks().0) {
        each(u32::from_le_bytes(*number), code);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_entries_is_computed_from_the_length() {
        for group in [Group::LARGE, Group(8)] {
            let near = group.0 as u64 - 2..group.0 as u64 + 3;
            for entries in (0..3).chain(near).chain([10_000]) {
                assert_eq!(group.count(group.list_bytes(entries)), Some(entries));
                assert_eq!(group.count(group.list_bytes(entries) + 1), None);
            }
            assert_eq!(group.count(SUM as u64), None);
        }
    }
}
