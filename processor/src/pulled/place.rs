//! Where the text of a memory file is, in git or not, and whose it is by that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use memory_store::Memory;
use memory_store::file::parse_bytes;
use memory_store::ledger::text_hash;
use memory_store::store::Stored;

use crate::git::committers::{self, Brought, Head};

/// Texts that were made of one another and are followed.
const COPIES_DEPTH_MAX: usize = 16;

/// A memory file.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// From the root on, or from the folder of what waits aside.
    pub(super) name: PathBuf,
    pub(super) is_aside: bool,
    pub(super) hash: String,
    /// What it is withheld by (see [`Quarantine::key`]), where anything may be.
    pub(super) key: String,
    pub(super) stored: Stored,
}

/// Whether others committed a text, or what it was made of, and their address as far as it is known.
pub(super) fn author_of(
    hash: &str,
    known: &BTreeMap<String, Option<String>>,
    origins: &BTreeMap<&str, Option<&str>>,
) -> Option<Option<String>> {
    let mut hash = hash;
    for _ in 0..COPIES_DEPTH_MAX {
        if let Some(author) = known.get(hash) {
            return Some(author.clone());
        }
        match origins.get(hash)? {
            Some(of) => hash = of,
            None => return Some(None),
        }
    }
    // In doubt it is not the user's.
    Some(None)
}

/// One that others committed.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) file: File,
    /// Whose it was when it was seen before.
    pub(super) known: Option<String>,
    /// Those whose commits brought it; empty where git does not tell.
    pub(super) brought: Vec<Brought>,
    /// The hashes of what HEAD has, where that is another text: as it is stored, then as a checkout writes it.
    pub(super) head: Vec<String>,
    /// Whether such a text was seen before.
    pub(super) is_seen: bool,
}

impl Other {
    pub(super) fn of(file: File) -> Self {
        Self { file, known: None, brought: Vec::new(), head: Vec::new(), is_seen: false }
    }

    /// The addresses of all whose it is, and their commits, as far as they are known.
    pub(super) fn by(&self) -> Vec<(Option<&str>, Option<&str>)> {
        let mut by: Vec<_> = self
            .brought
            .iter()
            .map(|brought| (Some(&*brought.author), Some(&*brought.commit)))
            .collect();
        if by.is_empty() {
            by.push((self.known.as_deref(), None));
        }
        by
    }
}

/// Where a file's text is.
pub(super) enum Place {
    /// In HEAD, where it has this id.
    Head(String),
    /// HEAD has another one there, of this id; with the hashes of that as it is stored and as a checkout
    /// writes it.
    Changed { id: String, says: Vec<String> },
    /// In the working tree alone.
    Uncommitted,
    /// In the private folder of what waits: the user's, unless others committed it once.
    Aside,
    /// Git does not tell, or is amid something.
    Unknown,
}

pub(super) fn place(head: &Head, root: &Path, file: &File, differing: &mut usize) -> Place {
    // A repository within this one has a HEAD of its own, which nobody asks.
    let is_nested = file.name.ancestors().skip(1).any(|folder| {
        !folder.as_os_str().is_empty()
            && (head.files.contains_key(folder) || root.join(folder).join(".git").exists())
    });
    let is_open = !head.is_squashed && !is_nested && !head.staged.contains(&file.name);
    let local = if is_open { Place::Uncommitted } else { Place::Unknown };
    let Some(id) = head.files.get(&file.name) else { return local };
    if head.changed.contains(&file.name) {
        // How many there are others may have chosen.
        let Some(left) = differing.checked_sub(1) else { return Place::Unknown };
        *differing = left;
        let contents = committers::contents(root, &file.name);
        let said: Vec<Memory> =
            contents.iter().filter_map(|bytes| parse_bytes(bytes).ok()).collect();
        if said.is_empty() {
            return Place::Unknown;
        }
        // Its front matter decides, too, what it stands for and replaces.
        if !said.contains(&file.stored.memory) {
            if !is_open {
                return Place::Unknown;
            }
            let hash = |bytes: &Vec<u8>| text_hash(&String::from_utf8_lossy(bytes));
            return Place::Changed { id: id.clone(), says: contents.iter().map(hash).collect() };
        }
    }
    Place::Head(id.clone())
}
