//! The record of all entries that the program inserted into Claude Code's files, so that exactly these entries can be
//! removed.

use std::fs;
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::layout::UserDirs;
use memory_store::store::{self, Privacy};
use serde::{Deserialize, Serialize};

use super::document::JsonDocument;
use super::places::SettingsScope;
use super::replace::{self, NextText, Replaced, RunMode, check_inside, remove_folders, replace};
use super::text_change::TextChange;
use super::{hooks, plugin, rules, server, status_line};
use crate::failure::{AtPath as _, Failure, Result};

/// The version of this program.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Text that every Throughline entry contains.
pub const OURS: &str = "throughline";

/// Type of the inserted entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The hooks.
    Hooks,
    /// The MCP server.
    Server,
    /// Rules that allow Throughline's tools.
    Rules,
    /// The status line, which users add by hand.
    StatusLine,
    /// The settings that turn the plugin on, which the client writes.
    Plugin,
    /// All Throughline MCP servers in the file, since a user may have added one to any project.
    Servers,
}

/// The place of an insertion.
#[derive(Clone, Copy, Debug)]
pub struct InsertionPlace<'a> {
    /// The file that contains the entries.
    pub path: &'a Path,
    /// Type of the inserted entries.
    pub purpose: Purpose,
    /// Scope of the settings.
    pub scope: SettingsScope,
    /// Root of the project.
    pub root: &'a Path,
}

impl InsertionPlace<'_> {
    /// Returns the project of the insertion; `None` for settings of the user.
    fn project(&self) -> Option<PathBuf> {
        match self.scope {
            SettingsScope::User => None,
            SettingsScope::Local | SettingsScope::Project => Some(self.root.to_owned()),
        }
    }

    /// Returns the folder that must contain the file after its symbolic links are resolved. A file of a repository
    /// could be a link to any place; links of the user's own files are trusted.
    pub fn bound(&self) -> Option<&Path> {
        match (self.scope, self.purpose) {
            // The servers of the local scope are in the user's own file, so their links are trusted.
            (SettingsScope::Local, Purpose::Server | Purpose::Servers)
            | (SettingsScope::User, _) => None,
            (SettingsScope::Local | SettingsScope::Project, _) => Some(self.root),
        }
    }

    /// Removes Throughline's entries from a document. Returns whether there were any.
    pub fn clear(&self, document: &JsonDocument) -> bool {
        match self.purpose {
            Purpose::Hooks => hooks::remove(document),
            Purpose::Server => server::remove(document, self.scope, self.root),
            Purpose::Rules => rules::remove(document),
            Purpose::StatusLine => status_line::remove(document),
            Purpose::Plugin => plugin::remove(document),
            Purpose::Servers => server::remove_all(document),
        }
    }

    /// Returns whether a text is valid and contains no Throughline entry.
    fn is_clear(&self, text: &str) -> Result<bool> {
        Ok(!self.clear(&JsonDocument::parse(self.path, Some(text))?))
    }
}

/// One change to a user's file. The change can be undone without a copy of the file, which may contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insertion {
    /// Path of the file as it was given; it may be a symbolic link.
    pub path: PathBuf,
    /// Type of the inserted entries.
    pub purpose: Purpose,
    /// Scope of the settings.
    pub scope: SettingsScope,
    /// Root of the project; `None` for settings of the user.
    pub root: Option<PathBuf>,
    /// Whether the file existed before the change.
    pub existed: bool,
    /// Folders that were created for the file.
    pub created: Vec<PathBuf>,
    /// The backup beside the file.
    pub backup: Option<PathBuf>,
    /// Version of the program that inserted the entries or last compared them. Version 0.1.0 did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The changed part of the file.
    #[serde(flatten)]
    pub change: TextChange,
}

impl Insertion {
    /// Describes the change of a text from `before` to `after`.
    pub fn of(place: &InsertionPlace<'_>, before: Option<&str>, replaced: &Replaced) -> Self {
        let after = replaced.after.as_deref().unwrap_or_default();
        Self {
            path: place.path.to_owned(),
            purpose: place.purpose,
            scope: place.scope,
            root: place.project(),
            existed: before.is_some(),
            created: replaced.created.clone(),
            backup: replaced.backup.clone(),
            program: Some(PROGRAM.to_owned()),
            change: TextChange::of(before.unwrap_or_default(), after),
        }
    }

    /// Returns the place of this insertion. For settings of the user, the place has the given `root`.
    pub fn place<'a>(&'a self, root: &'a Path) -> InsertionPlace<'a> {
        InsertionPlace {
            path: &self.path,
            purpose: self.purpose,
            scope: self.scope,
            root: self.root.as_deref().unwrap_or(root),
        }
    }

    /// Returns whether a text contains the inserted entries unchanged, and no other Throughline entries.
    pub fn is_whole(&self, text: &str, place: &InsertionPlace<'_>) -> bool {
        let undone = self.change.undo(text);
        undone.is_some_and(|undone| place.is_clear(&undone).unwrap_or(false))
    }

    fn is_about(&self, place: &InsertionPlace<'_>) -> bool {
        self.path == place.path && self.purpose == place.purpose && self.root == place.project()
    }
}

/// All insertions into files of this user.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct InsertionRecord {
    /// Insertions in the order in which they were made.
    #[serde(default)]
    pub insertions: Vec<Insertion>,
}

impl Purpose {
    /// Returns the name of these entries for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hooks => "the hooks",
            Self::Server | Self::Servers => "the MCP server",
            Self::Rules => "the rules",
            Self::StatusLine => "the status line",
            Self::Plugin => "the plugin",
        }
    }
}

impl InsertionRecord {
    /// Reads the record. A missing or damaged record counts as empty; then entries are recognised by the programs that
    /// they call.
    pub fn read(dirs: &UserDirs) -> Self {
        fs::read(file(dirs))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Returns the record of a place.
    pub fn get(&self, place: &InsertionPlace<'_>) -> Option<&Insertion> {
        self.insertions.iter().find(|known| known.is_about(place))
    }

    /// Replaces the record of a place.
    pub fn put(&mut self, place: &InsertionPlace<'_>, insertion: Insertion) {
        self.forget(place);
        self.insertions.push(insertion);
    }

    /// Removes the record of a place.
    pub fn forget(&mut self, place: &InsertionPlace<'_>) {
        self.insertions.retain(|known| !known.is_about(place));
    }

    /// Records that the insertions at a place were compared with the entries that this version of the program would
    /// insert.
    pub fn note_program(&mut self, place: &InsertionPlace<'_>) {
        for known in self.insertions.iter_mut().filter(|known| known.is_about(place)) {
            known.program = Some(PROGRAM.to_owned());
        }
    }

    /// Writes the record.
    pub fn write(&self, dirs: &UserDirs) -> Result {
        let path = file(dirs);
        if self.insertions.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(&path),
                Ok(()) | Err(_) => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        // The file is private, since it contains parts of the user's settings.
        Ok(store::replace(&path, text.as_bytes(), Privacy::Private)?)
    }
}

fn file(dirs: &UserDirs) -> PathBuf {
    dirs.data.join("installed.json")
}

/// Adds entries to the file of a place. `insert` adds them to the document, and returns whether it changed the
/// document. Recorded entries in the file are removed exactly before that, so that the new record still describes the
/// file without Throughline's entries. Returns whether the file changed.
pub fn put_in(
    record: &mut InsertionRecord,
    place: &InsertionPlace<'_>,
    now: Timestamp,
    insert: impl Fn(&JsonDocument) -> Result<bool>,
) -> Result<bool> {
    let known = record.get(place);
    let kept_backup = known.and_then(|known| known.backup.clone());
    let backup_at = kept_backup.is_none().then_some(now);
    let (mut base, mut existed) = (None, true);
    if let Some(root) = place.bound() {
        check_inside(place.path, root)?;
    }
    let replaced = replace(place.path, backup_at, |path, text| {
        let document = JsonDocument::parse(path, text)?;
        if !insert(&document)? {
            return Ok(NextText::Keep);
        }
        let undone = known.zip(text).and_then(|(known, text)| {
            let undone = known.change.undo(text)?;
            place.is_clear(&undone).unwrap_or(false).then_some((undone, known.existed))
        });
        let Some((undone, was_there)) = undone else {
            base = text.map(str::to_owned);
            return Ok(NextText::Write(document.text()));
        };
        let document = JsonDocument::parse(path, Some(&undone))?;
        insert(&document)?;
        (base, existed) = (Some(undone), was_there);
        Ok(NextText::Write(document.text()))
    })?;
    let Some(mut replaced) = replaced else {
        record.note_program(place);
        return Ok(false);
    };
    replaced.backup = kept_backup.or(replaced.backup);
    let base = base.as_deref().filter(|_| existed);
    let insertion = Insertion::of(place, base, &replaced);
    record.put(place, insertion);
    Ok(true)
}

/// Removes Throughline's entries from the file of a place. If there is a record, the file is restored byte for byte;
/// otherwise the entries are recognised by the programs that they call. Returns whether the file changed. If the
/// removal fails, the record is kept, so that the next attempt can use it.
pub fn take_out(
    record: &mut InsertionRecord,
    place: &InsertionPlace<'_>,
    run: RunMode,
) -> Result<bool> {
    let changed = take_out_of(record.get(place).cloned(), place, run)?;
    record.forget(place);
    Ok(changed)
}

fn take_out_of(known: Option<Insertion>, place: &InsertionPlace<'_>, run: RunMode) -> Result<bool> {
    // A missing file needs neither a change nor a lock.
    if !place.path.exists() {
        return Ok(false);
    }
    // Links out of the project are not followed: the recorded insertion was into a file inside it.
    if place.bound().is_some_and(|root| check_inside(place.path, root).is_err()) {
        return Ok(false);
    }
    // A file without Throughline's entries is not parsed, since it may be damaged.
    if place.path.is_file() && !replace::holds(place.path, OURS)? {
        return Ok(false);
    }
    let replaced = replace::change(place.path, run, |path, text| {
        let Some(text) = text else { return Ok(NextText::Keep) };
        let document = JsonDocument::parse(path, Some(text))?;
        if !place.clear(&document) {
            return Ok(NextText::Keep);
        }
        let Some(known) = &known else { return Ok(NextText::Write(document.text())) };
        Ok(match known.change.undo(text) {
            Some(undone) if undone.is_empty() && !known.existed => NextText::Remove,
            Some(undone) if place.is_clear(&undone).unwrap_or(false) => NextText::Write(undone),
            Some(_) | None => NextText::Write(document.text()),
        })
    })?;
    let Some(replaced) = replaced else { return Ok(false) };
    if let Some(known) = known.filter(|_| run == RunMode::Real) {
        tidy(&known, &replaced);
    }
    Ok(true)
}

/// Removes remains of the insertion: the backup if it equals the file, and the folders that were created and are empty
/// again.
fn tidy(known: &Insertion, replaced: &Replaced) {
    if let Some(backup) = &known.backup
        && fs::read(backup).ok().as_deref() == replaced.after.as_ref().map(String::as_bytes)
    {
        let _ = fs::remove_file(backup);
    }
    if replaced.after.is_none() {
        remove_folders(&known.created);
    }
}
