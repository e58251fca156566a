//! Judgements about unchanged memory files that an index stores. Judging a text takes some hundred times as long as
//! looking up the stored judgement, so hooks use the latter.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use crate::index::record::FLAG_HELD;
use crate::search::reader::Recall;
use crate::search::sources::{At, Sources};
use memory_store_base::fs::file_stamp::Stamp;

/// Files that the indexes have judged.
#[derive(Debug, Default)]
pub struct Judged {
    /// Files by their path as a plain string, because paths are compared component by component, which is slow.
    files: HashMap<OsString, JudgedFile>,
}

/// A memory file that passed the check.
#[derive(Debug)]
struct JudgedFile {
    stamp: Stamp,
    /// True if the file was judged as one from the repository.
    from_repository: bool,
}

impl Recall {
    /// Returns the files that the project's index and the user's index have judged.
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

/// Returns a judged file. A withheld memory may have been released since, so `None` is returned and the caller judges
/// it again.
fn given(sources: &Sources, at: At) -> Option<(OsString, JudgedFile)> {
    let entry = sources.entry(at).filter(|entry| !entry.has(FLAG_HELD))?;
    let record = sources.record_file(at, &entry).ok()?;
    let stamp = Stamp { bytes: record.file_bytes, modified_ns: record.modified_ns };
    let given = JudgedFile { stamp, from_repository: record.from_repository };
    Some((sources.file(at, &record.file).into_os_string(), given))
}

impl Judged {
    /// Returns whether an index has judged the file at `path` with this stamp and this origin.
    pub fn gives(&self, path: &Path, stamp: Stamp, from_repository: bool) -> bool {
        let is_now =
            |given: &JudgedFile| given.from_repository == from_repository && given.stamp == stamp;
        self.files.get(path.as_os_str()).is_some_and(is_now)
    }
}
