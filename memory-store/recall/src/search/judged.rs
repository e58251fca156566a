//! Judgements of an index over memory files that are as it read them. To judge a text takes some hundred times as long
//! as to look up what the index says of it, which is what hooks go by.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use crate::index::record::FLAG_HELD;
use crate::search::reader::Recall;
use crate::search::sources::{At, Sources};
use memory_store_base::fs::file_stamp::Stamp;

/// Files that the indexes give, as they were read.
#[derive(Debug, Default)]
pub struct Judged {
    /// By their paths as they were listed: as a path each would be compared part by part.
    files: HashMap<OsString, JudgedFile>,
}

/// A memory file that is no order.
#[derive(Debug)]
struct JudgedFile {
    stamp: Stamp,
    /// True if it was judged as one that is from the repository.
    from_repository: bool,
}

impl Recall {
    /// Reads which files the project's index and the user's give.
    pub fn judged(&self) -> Judged {
        let sources = &self.sources;
        let mut judged = Judged::default();
        for (number, source) in sources.list.iter().enumerate() {
            let all = (0..source.docs()).map(|doc| At { source: number as u8, doc });
            judged.files.extend(all.filter_map(|at| given(sources, at)));
        }
        judged
    }
}

/// Reads one file that an index gives. A held memory may be released by now, and is judged again by the caller.
fn given(sources: &Sources, at: At) -> Option<(OsString, JudgedFile)> {
    let entry = sources.entry(at).filter(|entry| !entry.has(FLAG_HELD))?;
    let record = sources.record_file(at, &entry).ok()?;
    let stamp = Stamp { bytes: record.file_bytes, modified_ns: record.modified_ns };
    let given = JudgedFile { stamp, from_repository: record.from_repository };
    Some((sources.file(at, &record.file).into_os_string(), given))
}

impl Judged {
    /// Returns whether an index gives the file at `path` as it is now, with this stamp, by the same label.
    pub fn gives(&self, path: &Path, stamp: Stamp, from_repository: bool) -> bool {
        let is_now =
            |given: &JudgedFile| given.from_repository == from_repository && given.stamp == stamp;
        self.files.get(path.as_os_str()).is_some_and(is_now)
    }
}
