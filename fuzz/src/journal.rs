//! Frames of the index's journal, and the manifest.

use std::path::Path;

use memory_store::bytes::believe_checksums;
use memory_store::index::journal::Journal;
use memory_store::index::manifest::Manifest;

/// Checks that the entries of a journal, and a manifest, can be written and read again.
pub(crate) fn run(bytes: &[u8]) {
    believe_checksums();
    let journal = Journal::decode(bytes);
    let written: Vec<u8> = journal.entries.iter().flat_map(|entry| entry.encode()).collect();
    let again = Journal::decode(&written);
    assert!(!again.damaged);
    assert_eq!(again.entries.len(), journal.entries.len());
    let path = Path::new("MANIFEST");
    if let Ok(manifest) = Manifest::decode(path, bytes) {
        let written = manifest.encode().expect("settings are JSON");
        assert_eq!(Manifest::decode(path, &written).expect("it was just written"), manifest);
    }
}
