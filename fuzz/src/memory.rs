//! Memory files: front matter and Markdown that anybody may have written.

use std::path::Path;

use memory_store::file::MemoryFile;
use memory_store::suspicion::{TextOrigin, suspicion};

/// A file is read or refused. What was read can be written as a new file that says the same, and a
/// change of the file changes nothing else.
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
    // It may refuse, where something of the person's would be lost; then nothing has changed.
    if file.set(&pinned).is_ok() {
        let read =
            MemoryFile::parse(path, file.text().as_bytes().to_vec()).expect("it was just written");
        assert_eq!(read.memory, file.memory);
    } else {
        assert_eq!(file.text().as_bytes(), bytes);
    }
}
