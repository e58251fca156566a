//! Ledger entries for memories and for working trees.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Tombstone;
use crate::file::MemoryFile;
use crate::id::MemoryId;
use crate::memory::Source;
use crate::reviewed::Reviewed;
use crate::stored::text_hash;

/// Maximum number of earlier texts and names of a memory that are recognised as this program's.
const REMEMBERED_MAX: usize = 16;

/// A memory with the path of its file and the texts that were written to the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerEntry {
    pub id: MemoryId,
    /// The memory's working tree; empty if the project's memories are private.
    pub root: PathBuf,
    /// Path of the memory's file, relative to the folder of memory files.
    pub name: String,
    /// The text of the file as last seen or written, for restoring a missing file.
    pub text: String,
    /// Hashes of the texts that this program wrote, newest last. A file with one of these texts is unedited.
    pub written: Vec<String>,
    /// Hashes of the texts that this program wrote for a change by a person or a model, newest last. A file with one of
    /// these texts counts as edited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Names that this program assigned to the file, newest last. A file with one of these names was not renamed.
    pub named: Vec<String>,
    /// True if the file existed at the last survey. Until then it does not count as missing.
    pub placed: bool,
    /// True if HEAD contained the file at the last survey.
    pub committed: bool,
    /// Whether, and why, the file is outside of the working tree.
    pub aside: Aside,
    /// True if a review accepted the memory.
    pub promoted: bool,
    /// True if a person or a model wrote the memory, so that it is kept even if no transcript contains it.
    pub saved: bool,
    /// Whether the file was a person's at any time, see [`crate::reconcile::Owner`]. Once true, it stays true
    /// regardless of the later state of git.
    #[serde(default, skip_serializing_if = "is_false")]
    pub owned: bool,
    /// The newer memory that a sync wrote to the file as its successor, so that the sync may remove the link again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<MemoryId>,
    /// State of a person's memory that sessions no longer contain; `None` for other memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfound: Option<Unfound>,
    /// Whether the file was missing once as the only untracked file, as after `git clean`, and was written again. If it
    /// is missing a second time, it counts as deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub returned: bool,
    /// Whether a person made the memory pending again after it was accepted. Then only a review can accept it, not a
    /// setting.
    #[serde(default, skip_serializing_if = "is_false")]
    pub put_back: bool,
    /// Fields of a later version of the program.
    #[serde(flatten)]
    pub more: More,
}

/// Fields that this version cannot parse. They are kept for a later version.
pub(crate) type More = serde_json::Map<String, serde_json::Value>;

/// State of a person's memory that sessions no longer contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfound {
    /// `throughline review` proposes to remove it.
    Proposed,
    /// A person decided to keep it.
    Kept,
}

/// Reason why a memory's file is in a private folder instead of the working tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Aside {
    /// The file is in the working tree.
    #[default]
    No,
    /// The memory is pending.
    Review,
    /// The file disappeared when the branch changed, and git has its path in another branch or a stash. If it were
    /// written to the working tree, git could not return to that branch.
    #[serde(rename = "held")]
    Parked,
}

impl LedgerEntry {
    pub(crate) fn new(id: MemoryId, root: &Path) -> Self {
        Self {
            id,
            root: root.to_owned(),
            name: String::new(),
            text: String::new(),
            written: Vec::new(),
            changed: Vec::new(),
            named: Vec::new(),
            placed: false,
            committed: false,
            aside: Aside::No,
            promoted: false,
            saved: false,
            owned: false,
            linked: None,
            unfound: None,
            returned: false,
            put_back: false,
            more: More::new(),
        }
    }

    /// Returns whether a review or the settings accepted the memory: its file is in the folder of memory files, or was
    /// there before git or a person removed it. `is_private` is whether the project is private; if it is not, files in
    /// its private folder count as never accepted.
    pub(crate) fn was_in_folder(&self, is_private: bool) -> bool {
        let in_place = self.aside == Aside::No && !self.name.is_empty();
        let of_folder = is_private || !self.root.as_os_str().is_empty();
        self.aside == Aside::Parked || of_folder && (self.promoted || in_place)
    }

    /// Returns whether this program wrote this text.
    pub(crate) fn wrote(&self, text: &str) -> bool {
        self.written.contains(&text_hash(text))
    }

    /// Returns whether a person kept the memory in a review and its file is in place.
    pub(crate) fn was_kept(&self, reviewed: &Reviewed) -> bool {
        reviewed.ids.contains(&self.id) && self.aside == Aside::No
    }

    /// Returns whether the last text seen was written on this machine, either derived from sessions or for a user.
    pub(crate) fn is_own(&self) -> bool {
        let hash = text_hash(&self.text);
        self.written.contains(&hash) || self.changed.contains(&hash)
    }

    /// Returns the source in the last text seen; `None` if the text cannot be parsed.
    pub(crate) fn source(&self) -> Option<Source> {
        let file = MemoryFile::parse(Path::new(&self.name), self.text.clone().into_bytes());
        file.ok().map(|file| file.memory.source)
    }

    /// Returns whether a person changed the last text seen.
    pub(crate) fn is_edited(&self) -> bool {
        !self.text.is_empty() && !self.wrote(&self.text)
    }

    /// Records that this program writes this text.
    pub(crate) fn will_write(&mut self, text: &str) {
        remember(&mut self.written, text_hash(text));
        text.clone_into(&mut self.text);
    }

    /// Records that this program writes this text because of a change by a person or a model.
    pub(crate) fn will_change(&mut self, text: &str) {
        remember(&mut self.changed, text_hash(text));
        text.clone_into(&mut self.text);
    }

    /// Records that this program writes this text to a file with this name, because a person or a model saves the
    /// memory.
    pub(crate) fn will_be_saved(&mut self, name: &str, text: &str) {
        self.will_write(text);
        if self.name != name {
            self.will_name(name);
        }
        self.placed = true;
        self.saved = true;
    }

    /// Records that this program assigns this name to the file.
    pub(crate) fn will_name(&mut self, name: &str) {
        remember(&mut self.named, name.to_owned());
        name.clone_into(&mut self.name);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// State of a working tree when it was last reconciled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenTree {
    pub root: PathBuf,
    pub head: Option<String>,
    pub branch: Option<String>,
    pub stash: Option<String>,
    /// The last time at which git discarded uncommitted files, see [`crate::reconcile::GitSnapshot`]. Missing in older
    /// ledgers.
    #[serde(default)]
    pub swept: Option<String>,
    /// Whether the store's README existed and was not committed. A command that removes untracked files also removes
    /// the README, unlike a person who deletes a memory.
    pub loose_readme: bool,
    /// Fields of a later version of the program.
    #[serde(flatten)]
    pub more: More,
}

fn remember(list: &mut Vec<String>, item: String) {
    list.retain(|known| *known != item);
    list.push(item);
    if list.len() > REMEMBERED_MAX {
        list.remove(0);
    }
}

/// A change to the ledger.
pub(crate) enum LedgerLine {
    Entry(Box<LedgerEntry>),
    Drop(MemoryId),
    Bury(Tombstone),
    Seen(SeenTree),
    /// The text with this hash is this machine's.
    Own(String),
}
