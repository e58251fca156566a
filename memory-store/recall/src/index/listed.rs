//! Lists of numbers with their fine codes, all of which a search looks at: what leads into a graph,
//! and what lies beside it. They are guarded group by group, so that a reader needs a small buffer
//! only, which it uses again: to touch memory for the first time costs a hook more than to fill it.

use super::format::SectionKind;
use super::kernel::{FINE, Fine};
use super::segment::Segment;
use super::vectors::guarded;
use memory_store_base::error::Result;

/// Bytes of an entry: its number and its code.
const ENTRY: usize = 4 + FINE;
/// Entries that are guarded by one sum.
const GROUP: usize = 240;
/// Bytes of the sum of a group.
const SUM: usize = 8;

/// Length of a list of so many entries.
pub(super) fn bytes(count: u64) -> u64 {
    count * ENTRY as u64 + count.div_ceil(GROUP as u64) * SUM as u64
}

/// Returns how many entries a list of this length has; `None` when none has this length.
pub(super) fn count(length: u64) -> Option<u64> {
    let groups = length.div_ceil((GROUP * ENTRY + SUM) as u64);
    let count = length.checked_sub(groups * SUM as u64)? / ENTRY as u64;
    (bytes(count) == length).then_some(count)
}

/// Appends a list.
pub(super) fn put(out: &mut Vec<u8>, entries: &[(u32, Fine)]) {
    for group in entries.chunks(GROUP) {
        let start = out.len();
        group.iter().for_each(|(number, _)| out.extend_from_slice(&number.to_le_bytes()));
        group.iter().for_each(|(_, code)| out.extend_from_slice(&code.0));
        let sum = super::kernel::sum(&out[start..]);
        out.extend_from_slice(&sum.to_le_bytes());
    }
}

impl Segment {
    /// Calls `each` with the number of every entry of a list, and with its code. `None` when a sum does not fit.
    pub(super) fn each_listed(
        &self,
        (kind, mut offset): (SectionKind, u64),
        mut count: u64,
        each: &mut dyn FnMut(u32, &[u8; FINE]),
    ) -> Result<Option<()>> {
        let mut buffer = [0; GROUP * ENTRY + SUM];
        while count > 0 {
            let entries = count.min(GROUP as u64) as usize;
            let group = &mut buffer[..entries * ENTRY + SUM];
            self.read_into(kind, offset, group)?;
            offset += group.len() as u64;
            count -= entries as u64;
            let Some(body) = guarded(group) else { return Ok(None) };
            let (numbers, codes) = body.split_at(entries * 4);
            for (number, code) in numbers.as_chunks::<4>().0.iter().zip(codes.as_chunks().0) {
                each(u32::from_le_bytes(*number), code);
            }
        }
        Ok(Some(()))
    }

    /// Reads an entry of a list that is a whole section. `None` when a sum does not fit.
    pub(super) fn listed(&self, kind: SectionKind, at: u32) -> Result<Option<(u32, Fine)>> {
        let group = u64::from(at) / GROUP as u64 * GROUP as u64;
        let count = u64::from(self.docs()).saturating_sub(group).min(GROUP as u64);
        let mut place = group..;
        let mut found = None;
        let whole = self.each_listed((kind, bytes(group)), count, &mut |number, code| {
            if place.next() == Some(u64::from(at)) {
                found = Some((number, Fine(*code)));
            }
        });
        Ok(whole?.and(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_tells_the_number_of_entries() {
        for entries in (0..3).chain(GROUP as u64 - 2..GROUP as u64 + 3).chain([10_000]) {
            assert_eq!(count(bytes(entries)), Some(entries));
            assert_eq!(count(bytes(entries) + 1), None);
        }
        assert_eq!(count(SUM as u64), None);
    }
}
