//! Memory files: front matter and Markdown from any author.

use std::path::Path;

use memory_store::file::MemoryFile;
use memory_store::suspicion::{TextOrigin, suspicion};

/// A file is either parsed or rejected. A parsed memory must be the same after being written as a new file and read
/// again, and a change of one field of the file must not change any other.
pub(crate) fn run(bytes: &[u8]) {
    let path = Path::new("memory.md");
    let Ok(mut file) = MemoryFile::parse(path, bytes.to_vec()) else { return };
    let memory = file.memory.clone();
    suspicion(&memory.title, &memory.body, TextOrigin::Repository);
    if let Ok(new) = MemoryFile::new(memory.clone()) {
        let read =
            MemoryFile::parse(path, new.text().as_bytes().to_vec()).expect("it was just written");
        assert_eq!(read.memory, new.memory);
    }
    let mut pinned = memory;
    pinned.pinned = !pinned.pinned;
    pinned.body.push_str("\n\nOne line more.");
    // The change may be refused if it would lose text of the person; then the file must be unchanged.
    if file.set(&pinned).is_ok() {
        let read =
            MemoryFile::parse(path, file.text().as_bytes().to_vec()).expect("it was just written");
        assert_eq!(read.memory, file.memory);
    } else {
        assert_eq!(file.text().as_bytes(), bytes);
    }
}
