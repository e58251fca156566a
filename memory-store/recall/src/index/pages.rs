//! Compressed records of passages. The records make up most of an index, and only the few that are shown are read.
//!
//! The records are divided into pages of equal size regardless of record boundaries, so that the offset in an entry
//! determines the page. The checksum of a record also detects damage of the record's pages.

use std::path::Path;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;

use super::format::{Cursor, SectionKind};
use super::record::Entry;
use super::segment::Segment;
use memory_store_base::error::Result;

/// Number of bytes of a page before compression. Four times as many would save a tenth of the space, but quadruple the
/// time to read a record, and a hook reads several.
const PAGE: usize = 8 << 10;
/// Compression level, out of 10. Higher levels save no space.
const LEVEL: u8 = 6;
/// Maximum number of bytes of a record, a limit for hostile entries.
const RECORD_BYTES_MAX: u32 = 1 << 20;

/// The page that was read last, because neighbouring passages are usually in the same page.
#[derive(Debug, Default)]
pub(super) struct EntryPage {
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl Segment {
    /// Reads the bytes of a record from its pages.
    pub(super) fn inflated(&self, entry: &Entry) -> Result<Vec<u8>> {
        if entry.length > RECORD_BYTES_MAX {
            return Err(self.damaged("a record is too long"));
        }
        let mut last = self.page.borrow_mut();
        let mut record = Vec::with_capacity(entry.length as usize);
        let (mut offset, mut left) = (entry.offset, entry.length as usize);
        while left > 0 {
            let number = offset / PAGE as u64;
            if last.number != Some(number) {
                last.number = None;
                self.inflate(number, &mut last.bytes)?;
                last.number = Some(number);
            }
            let rest = last.bytes.get((offset % PAGE as u64) as usize..).unwrap_or_default();
            let part = &rest[..rest.len().min(left)];
            if part.is_empty() {
                return Err(self.damaged("a record ends outside its page"));
            }
            record.extend_from_slice(part);
            offset += part.len() as u64;
            left -= part.len();
        }
        Ok(record)
    }

    /// Returns all records of a segment's file uncompressed, for searching file contents. The result is empty for other
    /// files. Records after a damaged page, or after `bytes_max` bytes, are omitted.
    pub fn inflated_file(path: &Path, bytes_max: u64) -> Vec<u8> {
        let mut all = Vec::new();
        let Ok(segment) = Self::of_file(path) else { return all };
        let pages = (segment.length(SectionKind::RecordPages) / 4).saturating_sub(1);
        let mut page = Vec::new();
        for number in 0..pages {
            if all.len() as u64 >= bytes_max || segment.inflate(number, &mut page).is_err() {
                break;
            }
            all.extend_from_slice(&page);
        }
        all
    }

    fn inflate(&self, number: u64, page: &mut Vec<u8>) -> Result<()> {
        let senseless = || self.damaged("a page of records makes no sense");
        let bounds = self.read(SectionKind::RecordPages, number * 4, 8)?;
        let mut bounds = Cursor(&bounds);
        let (start, end) = bounds.u32().zip(bounds.u32()).ok_or_else(senseless)?;
        // A page that cannot be compressed grows a little.
        let length = end.checked_sub(start).filter(|&length| length as usize <= 2 * PAGE);
        let length = length.ok_or_else(senseless)?;
        let deflated = self.read(SectionKind::Records, u64::from(start), u64::from(length))?;
        page.resize(PAGE, 0);
        // At most one page is written.
        let inflated = decompress_slice_iter_to_slice(page, [&*deflated].into_iter(), false, true);
        page.truncate(inflated.map_err(|_| senseless())?);
        Ok(())
    }
}

/// Returns the two sections for consecutive records: the bounds of the pages, and the pages.
pub(super) fn sections(records: &[u8]) -> (Vec<u8>, Vec<u8>) {
    if records.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (mut bounds, mut out) = (vec![0; 4], Vec::new());
    for page in records.chunks(PAGE) {
        out.extend(compress_to_vec(page, LEVEL));
        bounds.extend_from_slice(&(out.len() as u32).to_le_bytes());
    }
    (bounds, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::format::SectionKind;
    use super::super::testing::{self, passages};
    use super::*;

    /// Returns similar texts, of which one in the middle is as long as two pages.
    fn texts() -> Vec<String> {
        let long = (0..9_000).map(|word| format!("{word:x} ")).collect();
        let text = |number| format!("turn {number} about the harbour and its cranes").repeat(20);
        let mut texts: Vec<String> = (0..60).map(text).collect();
        texts.insert(30, long);
        texts
    }

    fn read(segment: &Segment) -> Result<Vec<String>> {
        let text = |doc| Ok(segment.record(&segment.entry(doc)?)?.text);
        (0..segment.docs()).map(text).collect()
    }

    #[test]
    fn records_are_read_back_in_any_order() {
        let segment = testing::open_passages(passages(&texts()), 61).unwrap();
        assert!(segment.length(SectionKind::RecordPages) > 3 * 4);
        assert!(segment.length(SectionKind::Records) < 40_000);
        let expected = texts();
        for doc in (0..61).rev().chain([30, 2, 59, 2]) {
            let record = segment.record(&segment.entry(doc).unwrap()).unwrap();
            assert_eq!(record.text, expected[doc as usize]);
        }
    }

    /// A matching checksum does not prove the origin of the data.
    #[test]
    fn a_hostile_entry_is_rejected() {
        let segment = testing::open_passages(passages(&texts()), 61).unwrap();
        let sound = segment.entry(3).unwrap();
        for (offset, length) in
            [(0, u32::MAX), (u64::MAX, 9), (u64::MAX / 5, 9), (0, RECORD_BYTES_MAX), (1 << 40, 1)]
        {
            assert!(segment.record(&Entry { offset, length, ..sound }).is_err(), "{offset}");
        }
        assert!(segment.record(&sound).is_ok());
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed_or_harmless(at: prop::sample::Index, change in 1u8..) {
            static SOUND: std::sync::LazyLock<Vec<u8>> =
                std::sync::LazyLock::new(|| passages(&texts()));
            testing::notice_a_changed_byte(SOUND.clone(), at, change, |bytes| {
                read(&testing::open_passages(bytes, 61)?)
            })?;
        }
    }
}
