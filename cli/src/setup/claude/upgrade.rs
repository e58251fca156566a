//! Upgrade of the entries that an earlier version of the program registered with Claude Code.
//!
//! Only entries that are in the record, and that are in their file exactly as inserted, are changed. Entries that a
//! person changed or removed stay as they are.

use std::path::{Path, PathBuf};

use memory_store::background;

use super::document::JsonDocument;
use super::places::SettingsScope;
use super::record::{Insertion, InsertionPlace, InsertionRecord, PROGRAM, Purpose, put_in};
use super::register::Registration;
use super::{client, hooks, replace, server};
use crate::failure::{Failure, Result};
use crate::inspect::programs;
use crate::world::World;

/// Result of an upgrade.
#[derive(Debug, Default)]
pub struct Upgraded {
    /// Files whose entries were changed.
    pub files: Vec<PathBuf>,
    /// Files with entries of an earlier version that only a person may change.
    pub left: Vec<Left>,
    /// Reasons why files could not be read or written.
    pub failures: Vec<Failure>,
}

/// A file with entries that an earlier version registered.
#[derive(Debug)]
pub struct Left {
    /// The file.
    pub path: PathBuf,
    /// Scope of the settings.
    pub scope: SettingsScope,
}

/// Result for the entries in a file.
enum EntriesState {
    /// The file no longer contains entries, or contains those that this version registers.
    Current,
    /// The entries were upgraded.
    Upgraded,
    /// The entries are of an earlier version and were not changed, because a person changed them or the file is
    /// committed.
    Left,
    /// The form of the entries depends on the client's version, which is currently unknown.
    Later,
}

/// Upgrades the entries that are registered for all projects, and those for the projects at `roots`. Each version of
/// the program checks an entry only once.
///
/// # Errors
/// Returns an error if the record cannot be written.
pub fn upgrade(world: &World, roots: &[&Path]) -> Result<Upgraded> {
    let mut record = InsertionRecord::read(&world.dirs);
    let is_here = |root: &PathBuf| roots.contains(&root.as_path());
    let due: Vec<Insertion> = record
        .insertions
        .iter()
        .filter(|known| known.program.as_deref() != Some(PROGRAM))
        .filter(|known| known.purpose != Purpose::Rules && known.root.as_ref().is_none_or(is_here))
        .cloned()
        .collect();
    let mut done = Upgraded::default();
    if due.is_empty() {
        return Ok(done);
    }
    let client = client::find(world).and_then(|client| client::version(&client));
    for known in &due {
        // Entries for all projects have no root, so any folder serves as the root of their place.
        let place = known.place(&world.cwd);
        match upgrade_one(world, &mut record, known, &place, client) {
            Ok(EntriesState::Current) => record.note_program(&place),
            Ok(EntriesState::Upgraded) => done.files.push(known.path.clone()),
            Ok(EntriesState::Left) => {
                // A committed file is checked again at the next run, since a colleague may have changed it.
                if !known.scope.committed() {
                    record.note_program(&place);
                }
                done.left.push(Left { path: known.path.clone(), scope: known.scope });
            }
            Ok(EntriesState::Later) => {}
            Err(failure) => done.failures.push(failure),
        }
        record.write(&world.dirs)?;
    }
    Ok(done)
}

fn upgrade_one(
    world: &World,
    record: &mut InsertionRecord,
    known: &Insertion,
    place: &InsertionPlace<'_>,
    client: Option<client::ClaudeCodeVersion>,
) -> Result<EntriesState> {
    let Some(text) = replace::read(place.path)? else { return Ok(EntriesState::Current) };
    let document = JsonDocument::parse(place.path, Some(&text))?;
    let Some(registered) = FileEntries::find(&document, place) else {
        return Ok(EntriesState::Current);
    };
    // The program is started to determine its version only if this program registered its path.
    let is_whole = known.is_whole(&text, place);
    let folder = registered.folder().filter(|folder| !(is_whole && is_earlier(folder)));
    let folder = folder.unwrap_or_else(|| world.bin_dir.clone());
    let wanted = match registered {
        // If the client's version is unknown, the client may require a shell.
        FileEntries { needs_shell: true, .. } if client.is_none() => {
            return Ok(EntriesState::Later);
        }
        FileEntries { purpose: Purpose::Hooks, .. } => {
            Registration::hooks(place.scope, &folder, client)
        }
        FileEntries { .. } => Registration::server(world, place.scope, &folder),
    };
    if !wanted.insert(&document, place)? {
        return Ok(EntriesState::Current);
    }
    if place.scope.committed() || !is_whole {
        return Ok(EntriesState::Left);
    }
    put_in(record, place, world.now, |document| wanted.insert(document, place))?;
    Ok(EntriesState::Upgraded)
}

/// Returns whether the programs in a folder are of an earlier version, or do not run. Earlier programs would write into
/// stores that this version has migrated.
fn is_earlier(folder: &Path) -> bool {
    let version = programs::version(&folder.join(background::PROGRAM));
    let version = version.and_then(|version| client::ClaudeCodeVersion::parse(&version));
    version < client::ClaudeCodeVersion::parse(PROGRAM)
}

/// Throughline's entries in a file.
struct FileEntries {
    purpose: Purpose,
    /// Path of the first program that the entries call, if they call it by path.
    program: Option<PathBuf>,
    /// Whether the entries call their program through a shell.
    needs_shell: bool,
}

impl FileEntries {
    /// Finds Throughline's entries in a document; `None` if it contains none.
    fn find(document: &JsonDocument, place: &InsertionPlace<'_>) -> Option<Self> {
        let purpose = place.purpose;
        match purpose {
            Purpose::Hooks => {
                let registered = hooks::registered(document);
                let (_, handler) = registered.first()?;
                let program = hooks::program_path(handler);
                let needs_shell = program.is_some() && handler.get("args").is_none();
                Some(Self { purpose, program, needs_shell })
            }
            Purpose::Server => {
                let entry = server::registered(document, place.scope, place.root)?;
                let program = entry["command"].as_str().map(PathBuf::from);
                Some(Self { purpose, program, needs_shell: false })
            }
            Purpose::Rules | Purpose::StatusLine | Purpose::Plugin | Purpose::Servers => None,
        }
    }

    /// Returns the folder of the program, if it contains all programs that the entries need.
    fn folder(&self) -> Option<PathBuf> {
        let folder = self.program.as_ref().filter(|path| path.is_absolute())?.parent()?;
        let is_hooks = self.purpose == Purpose::Hooks;
        let programs: &[&str] = if is_hooks { &hooks::PROGRAMS } else { &[server::PROGRAM] };
        let has_all = programs.iter().all(|name| folder.join(name).is_file());
        has_all.then(|| folder.to_owned())
    }
}
