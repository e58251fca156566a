//! Files that are written only together with the first memory in a repository. Until then the repository has no memory
//! folder: an uncommitted file in it would keep git from pulling a colleague's file of the same name.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::fs::disk::{self, Privacy};
use crate::layout::{ProjectDir, STORE_DIR};

/// Name of the record in the private folder of the project.
const FILE: &str = "put-off.json";
/// Bytes of the record that are read.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Texts by the name of their file in the memory folder.
type Texts = BTreeMap<String, String>;

/// Adds a file of the memory folder to the record, to be written later.
///
/// # Errors
/// When the record cannot be written.
pub fn add(home: &ProjectDir, name: &str, text: &str) -> Result<()> {
    let mut texts = read(home);
    texts.insert(name.to_owned(), text.to_owned());
    write_record(home, &texts)
}

/// Removes a file from the record, if it is not written yet.
///
/// # Errors
/// When the record cannot be written.
pub fn take_back(home: &ProjectDir, name: &str) -> Result<()> {
    let mut texts = read(home);
    if texts.remove(name).is_some() { write_record(home, &texts) } else { Ok(()) }
}

/// Writes the recorded files into the memory folder of a working tree. Skips a file whose path exists already.
pub(super) fn write(home: &ProjectDir, root: &Path) -> Result<()> {
    let texts = read(home);
    if texts.is_empty() {
        return Ok(());
    }
    for (name, text) in &texts {
        let path = root.join(STORE_DIR).join(name);
        if std::fs::symlink_metadata(&path).is_err() {
            let (bytes, privacy) = (text.as_bytes(), Privacy::Shared);
            disk::replace_all(&[disk::Write { root, path: &path, bytes, privacy }])?;
        }
    }
    write_record(home, &Texts::new())
}

/// Reads the record; a missing or damaged record counts as empty.
fn read(home: &ProjectDir) -> Texts {
    let bytes = disk::read_if_there(&home.folder.join(FILE), FILE_BYTES_MAX).ok().flatten();
    let texts = bytes.and_then(|bytes| serde_json::from_slice::<Texts>(&bytes).ok());
    let mut texts = texts.unwrap_or_default();
    texts.retain(|name, _| !name.contains('/') && !matches!(name.as_str(), "" | "." | ".."));
    texts
}

fn write_record(home: &ProjectDir, texts: &Texts) -> Result<()> {
    let path = home.folder.join(FILE);
    match texts.is_empty() {
        true => disk::remove(&path),
        // Strings can always be serialized.
        false => {
            let bytes = serde_json::to_vec(texts).unwrap_or_default();
            disk::replace(&path, &bytes, Privacy::Private)
        }
    }
}
