//! Known secrets of a project on disk, in `known-secrets.json` next to the project's ledger. The key is stored outside
//! of all projects and is created once; without the key the hashes are useless.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{KEY_BYTES, Known, KnownValue, Scope, VALUES_MAX};
use crate::value::spread::VALUE_BYTES_MAX;
use memory_store_base::error::{At, Result};
use memory_store_base::fs::disk::{
    Privacy, create_folder, private_options, read_if_there, replace,
};
use memory_store_base::layout::{ProjectDir, UserDirs};

/// Maximum size of the file in bytes; a value takes about 120 bytes.
const FILE_BYTES_MAX: usize = 4 << 20;

const FORMAT: u32 = 1;

#[derive(Default, Serialize, Deserialize)]
struct File {
    format: u32,
    /// Digest that identifies the key with which the hashes were made.
    key: String,
    #[serde(flatten)]
    pending: Pending,
    values: Vec<KnownValue>,
    /// Values that are not hidden in all texts. Version 0.1.0 ignores them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scoped: Vec<Scoped>,
}

/// A value with the texts in which it is hidden.
#[derive(Serialize, Deserialize)]
struct Scoped {
    #[serde(flatten)]
    value: KnownValue,
    scope: Scope,
}

/// Earlier stored text in which newly known secrets have not been searched for yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pending {
    /// True if all stored text must be searched.
    pub unclean: bool,
    /// Files and folders that could not be searched or cleaned, with their file stamps at that time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<PathBuf, String>,
}

impl Known {
    /// Reads the known secrets of a project. There are none without a key, or if the hashes were made with another key.
    pub fn read_file(dirs: &UserDirs, home: &ProjectDir) -> Self {
        match read_key(&dirs.secrets_key()) {
            Some(key) => Self::of_file(key, home).0,
            None => Self::default(),
        }
    }

    /// Opens the known secrets for additions, and returns them with the earlier stored text that must still be
    /// searched. If there is no key yet, `fresh` becomes the key once something is written.
    pub fn open(dirs: &UserDirs, home: &ProjectDir, fresh: [u8; KEY_BYTES]) -> (Self, Pending) {
        Self::of_file(read_key(&dirs.secrets_key()).unwrap_or(fresh), home)
    }

    fn of_file(key: [u8; KEY_BYTES], home: &ProjectDir) -> (Self, Pending) {
        let known = Self::new(key);
        let bytes = read_if_there(&home.known_secrets, FILE_BYTES_MAX).ok().flatten();
        let file = bytes.and_then(|bytes| serde_json::from_slice::<File>(&bytes).ok());
        let file = file.filter(|file| file.format == FORMAT && file.key == mark(&key));
        let Some(file) = file else { return (known, Pending::default()) };
        if let Some(mut table) = known.shared.as_deref().and_then(|it| it.table.write().ok()) {
            let values = file.values.into_iter().map(|value| (value, Scope::Project));
            let scoped = file.scoped.into_iter().map(|Scoped { value, scope }| (value, scope));
            for (value, scope) in values.take(VALUES_MAX).chain(scoped.take(2 * VALUES_MAX)) {
                // Impossible entries, which only a damaged file contains, are skipped.
                let is_sound = (1..=value.bytes).contains(&value.word_bytes);
                if is_sound && value.bytes <= VALUE_BYTES_MAX {
                    table.insert(value, scope);
                }
            }
            table.revision = 0;
        }
        (known, file.pending)
    }

    /// Writes the known values, and the list of earlier stored text to search.
    ///
    /// # Errors
    /// If the files cannot be written, or another process created another key meanwhile; a retry then succeeds.
    pub fn write_file(&self, dirs: &UserDirs, home: &ProjectDir, pending: &Pending) -> Result<()> {
        let written = self.read(|shared, table| {
            let path = dirs.secrets_key();
            if read_key(&path).is_none_or(|key| key != shared.key) {
                write_key(&path, shared.key)?;
            }
            let (mut values, mut scoped) = (Vec::new(), Vec::new());
            let all = BTreeSet::from([Scope::Project]);
            for (value, scopes) in &table.values {
                if *scopes == all {
                    values.push(value.clone());
                    continue;
                }
                let scopes = scopes.iter();
                scoped.extend(scopes.map(|scope| Scoped { value: value.clone(), scope: *scope }));
            }
            let (key, pending) = (mark(&shared.key), pending.clone());
            let file = File { format: FORMAT, key, pending, values, scoped };
            // A list of numbers and hashes can always be serialised.
            let bytes = serde_json::to_vec(&file).unwrap_or_default();
            replace(&home.known_secrets, &bytes, Privacy::Private)
        });
        written.unwrap_or(Ok(()))
    }
}

/// Returns a mark that identifies a key.
fn mark(key: &[u8; KEY_BYTES]) -> String {
    blake3::Hasher::new_keyed(key).update(b"key").finalize().to_hex()[..16].to_owned()
}

fn read_key(path: &Path) -> Option<[u8; KEY_BYTES]> {
    read_if_there(path, KEY_BYTES).ok().flatten()?.try_into().ok()
}

/// Writes the key, unless a key already exists.
fn write_key(path: &Path, key: [u8; KEY_BYTES]) -> Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder, Privacy::Private)?;
    }
    // The key is written atomically, because hashes made with a partial key would be useless later.
    let own = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = private_options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&own)
        .and_then(|mut file| file.write_all(&key).and_then(|()| file.sync_all()));
    let linked = written.and_then(|()| std::fs::hard_link(&own, path));
    // If this fails, a leftover file of a few bytes is harmless.
    let _ = std::fs::remove_file(&own);
    match linked {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && read_key(path).is_some() => {
            Err(error).at(path)
        }
        // The existing file may be the key of all projects, and without it their known values are lost.
        Err(error)
            if error.kind() == ErrorKind::AlreadyExists
                && read_if_there(path, KEY_BYTES).is_err() =>
        {
            Err(error).at(path)
        }
        // The file system has no hard links, or the existing file is not a key.
        Err(_) => replace(path, &key, Privacy::Private),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Redactor;
    use crate::options::RedactOptions;

    #[test]
    fn what_was_written_is_known_to_who_has_the_key() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().to_owned();
        let dirs = testutils::dirs_of(&base);
        let home = dirs.user_dir();
        assert!(Known::read_file(&dirs, &home).is_empty());
        let unclean = Pending { unclean: true, ..Pending::default() };
        let (known, pending) = Known::open(&dirs, &home, [1; KEY_BYTES]);
        assert!(pending == Pending::default() && known.learn("Cobaltheron6629"));
        assert!(!dirs.secrets_key().exists(), "nothing is written before it is needed");
        let (late, _) = Known::open(&dirs, &home, [3; KEY_BYTES]);
        known.write_file(&dirs, &home, &unclean).unwrap();
        assert!(late.write_file(&dirs, &home, &unclean).is_err(), "another key was first");
        let text = std::fs::read_to_string(&home.known_secrets).unwrap();
        assert!(!text.to_lowercase().contains("cobalt"), "{text}");
        // The first key is kept.
        let (again, pending) = Known::open(&dirs, &home, [2; KEY_BYTES]);
        assert!(pending == unclean && again.len() == 1 && !again.learn("cobaltheron6629"));
        let known = Known::read_file(&dirs, &home);
        let redactor = Redactor::new(&RedactOptions { known, ..RedactOptions::default() });
        assert_eq!(redactor.redact("Cobaltheron6629"), "[redacted:known-secret]");
        // With another key the old hashes are useless and are dropped.
        std::fs::remove_file(dirs.secrets_key()).unwrap();
        assert!(Known::read_file(&dirs, &home).is_empty());
        let (other, pending) = Known::open(&dirs, &home, [2; KEY_BYTES]);
        assert!(
            pending == Pending::default() && other.is_empty() && other.learn("Cobaltheron6629")
        );
        // A damaged file counts as missing.
        let absurd =
            serde_json::json!({"word_bytes": u64::MAX, "bytes": u64::MAX, "word": 1, "all": ""});
        let absurd =
            serde_json::json!({"format": FORMAT, "key": mark(&[2; KEY_BYTES]), "values": [absurd]});
        other.write_file(&dirs, &home, &Pending::default()).unwrap();
        for damaged in
            [absurd.to_string().as_str(), "", "{", "{\"format\":9,\"key\":\"\",\"values\":[]}"]
        {
            std::fs::write(&home.known_secrets, damaged).unwrap();
            assert!(Known::read_file(&dirs, &home).is_empty());
        }
    }
}
