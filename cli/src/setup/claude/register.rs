//! Registers hooks and MCP server in the files of a scope, and removes them from all files.

use std::path::{Path, PathBuf};

use super::client::{self, ClaudeCodeVersion};
use super::document::JsonDocument;
use super::hooks::{self, ProgramForm};
use super::places::SettingsScope;
use super::record::{InsertionPlace, InsertionRecord, Purpose, put_in, take_out};
use super::replace::RunMode;
use super::server;
use crate::failure::{Failure, Result};
use crate::inspect::folders;
use crate::world::World;

/// Result of a registration.
#[derive(Debug, serde::Serialize)]
pub struct RegisterReport {
    /// The settings file with the hooks.
    pub settings: PathBuf,
    /// Whether the settings file changed.
    pub settings_changed: bool,
    /// Backup of the settings file, if one was made.
    pub backup: Option<PathBuf>,
    /// The file with the MCP server.
    pub servers: PathBuf,
    /// Whether the file with the MCP server changed.
    pub servers_changed: bool,
    /// The version of the installed client, if known.
    pub client: Option<String>,
}

/// Registers hooks and server in the files of `scope`. If the hooks cannot be registered, the server still is.
pub fn register(world: &World, scope: SettingsScope, root: &Path) -> Result<RegisterReport> {
    let client = client::find(world).and_then(|client| client::version(&client));
    let mut record = InsertionRecord::read(&world.dirs);
    let settings = world.claude.settings(scope, root);
    let servers = world.claude.servers(scope, root);
    let place = InsertionPlace { path: &settings, purpose: Purpose::Hooks, scope, root };
    let wanted = Registration::hooks(scope, &world.bin_dir, client);
    let settings_changed = match unwritable(world, scope, root) {
        Some(failure) => Err(failure),
        None => put_in(&mut record, &place, world.now, |document| wanted.insert(document, &place)),
    };
    let backup = record.get(&place).and_then(|known| known.backup.clone());
    // The record is written before the next step, so that this change can be undone if the step fails.
    record.write(&world.dirs)?;
    let place = InsertionPlace { path: &servers, purpose: Purpose::Server, scope, root };
    let wanted = Registration::server(world, scope, &world.bin_dir);
    let servers_changed =
        put_in(&mut record, &place, world.now, |document| wanted.insert(document, &place))?;
    record.write(&world.dirs)?;
    let settings_changed = settings_changed?;
    let client = client.map(|version| version.to_string());
    Ok(RegisterReport { settings, settings_changed, backup, servers, servers_changed, client })
}

/// Returns the failure if the settings file of `scope` cannot be replaced. If a symbolic link leads to a folder that
/// another program manages, the suggested remedy is another scope instead of other permissions.
pub fn unwritable(world: &World, scope: SettingsScope, root: &Path) -> Option<Failure> {
    let settings = world.claude.settings(scope, root);
    let target = super::replace::resolve(&settings).ok()?;
    let failure = folders::check_writable(target.parent()?).err()?;
    let other = match scope {
        SettingsScope::User | SettingsScope::Project => "local",
        SettingsScope::Local => "user",
    };
    Some(failure.during(format!("{} cannot be changed", settings.display())).hint(format!(
        "`throughline init --settings {other}` registers the hooks elsewhere. Where {} is managed by others, as with \
         dotfiles, they can copy them from there.",
        target.display()
    )))
}

/// Fails if the files of `scope` cannot be changed. The check changes nothing.
pub fn check(world: &World, scope: SettingsScope, root: &Path) -> Result {
    for path in [world.claude.settings(scope, root), world.claude.servers(scope, root)] {
        let text = super::replace::read(&path)?;
        JsonDocument::parse(&path, text.as_deref())?;
    }
    Ok(())
}

/// The entries that this version of the program registers in a file.
pub enum Registration {
    /// The hooks, with the version of the client if it is known.
    Hooks(ProgramForm, Option<ClaudeCodeVersion>),
    /// The MCP server, as its command and its environment variables.
    Server(String, serde_json::Value),
}

impl Registration {
    /// Returns the registration of the hooks whose programs are in `folder`.
    pub fn hooks(scope: SettingsScope, folder: &Path, client: Option<ClaudeCodeVersion>) -> Self {
        let form = if scope.committed() {
            ProgramForm::ByName
        } else {
            ProgramForm::absolute(folder, client)
        };
        Self::Hooks(form, client)
    }

    /// Returns the registration of the MCP server whose program is in `folder`.
    pub fn server(world: &World, scope: SettingsScope, folder: &Path) -> Self {
        let command = match scope.committed() {
            true => server::PROGRAM.to_owned(),
            false => folder.join(server::PROGRAM).display().to_string(),
        };
        Self::Server(command, variables(world, scope))
    }

    /// Inserts the entries into a document. Returns whether the document changed.
    pub fn insert(&self, document: &JsonDocument, place: &InsertionPlace<'_>) -> Result<bool> {
        match self {
            Self::Hooks(form, client) => hooks::insert(document, form, *client),
            Self::Server(command, variables) => {
                server::insert(document, place.scope, place.root, command, variables)
            }
        }
    }
}

/// Returns the variables for folders that differ from the defaults. They are registered because the client may not pass
/// on its environment.
fn variables(world: &World, scope: SettingsScope) -> serde_json::Value {
    let mut variables = serde_json::Map::new();
    if !scope.committed() {
        for (name, folder, usual) in [
            ("XDG_DATA_HOME", &world.dirs.data, ".local/share"),
            ("XDG_STATE_HOME", &world.dirs.state, ".local/state"),
            ("XDG_CONFIG_HOME", &world.dirs.config, ".config"),
        ] {
            let base = folder.parent().filter(|base| **base != world.home.join(usual));
            if let Some(base) = base.and_then(Path::to_str) {
                variables.insert(name.to_owned(), base.into());
            }
        }
    }
    variables.into()
}

/// Throughline's entries in one of Claude Code's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPart {
    /// The file.
    pub path: PathBuf,
    /// Type of the entries.
    pub purpose: Purpose,
}

/// Removes Throughline's entries from every recorded file, from the user's files, and from the files of the projects at
/// `roots`. Returns the entries found, and the failures for those that could not be removed.
pub fn unregister(
    world: &World,
    roots: &[PathBuf],
    run: RunMode,
) -> (Vec<RemovedPart>, Vec<Failure>) {
    let mut record = InsertionRecord::read(&world.dirs);
    let (mut parts, mut failures) = (Vec::new(), Vec::new());
    let home = Path::new("/");
    let mut take = |record: &mut InsertionRecord, place: &InsertionPlace<'_>| {
        let purpose = match place.purpose {
            Purpose::Servers => Purpose::Server,
            purpose => purpose,
        };
        let part = RemovedPart { path: place.path.to_owned(), purpose };
        match take_out(record, place, run) {
            // A dry run finds a recorded insertion twice, because the file still contains it.
            Ok(true) if !parts.contains(&part) => parts.push(part),
            Ok(_) => {}
            Err(failure) => failures.push(failure),
        }
    };
    // Insertions are removed in reverse order, so that each removal finds the file as the insertion left it.
    let known: Vec<_> = record.insertions.iter().rev().cloned().collect();
    for insertion in &known {
        take(&mut record, &insertion.place(home));
        if run == RunMode::Real {
            let _ = record.write(&world.dirs);
        }
    }
    for (scope, root) in places(roots) {
        let settings = world.claude.settings(scope, root);
        let servers = world.claude.servers(scope, root);
        for (path, purpose) in [
            (&settings, Purpose::Rules),
            (&settings, Purpose::Hooks),
            (&settings, Purpose::StatusLine),
            (&settings, Purpose::Plugin),
            (&servers, Purpose::Servers),
        ] {
            take(&mut record, &InsertionPlace { path, purpose, scope, root });
        }
    }
    if run == RunMode::Real {
        failures.extend(record.write(&world.dirs).err());
    }
    (parts, failures)
}

/// Returns each scope with the root of the project whose files it means; the user's scope is returned once.
fn places(roots: &[PathBuf]) -> impl Iterator<Item = (SettingsScope, &Path)> {
    let of_project = roots.iter().flat_map(|root| {
        [SettingsScope::Local, SettingsScope::Project].map(|scope| (scope, root.as_path()))
    });
    [(SettingsScope::User, Path::new("/"))].into_iter().chain(of_project)
}

/// Registrations in one settings file or server file.
#[derive(Debug)]
pub struct FileRegistrations {
    /// The file.
    pub path: PathBuf,
    /// The handlers of Throughline's hooks with their events, or the reason why the file is unreadable.
    pub hooks: Result<Vec<(&'static hooks::HookEvent, serde_json::Value)>>,
    /// Whether the file disables all hooks.
    pub disabled: bool,
    /// Days after which Claude Code deletes transcripts, if the file sets them.
    pub cleanup_days: Option<u64>,
}

/// Finds Throughline's hooks in the settings files of all scopes.
pub fn find_hooks(world: &World, root: &Path) -> Vec<FileRegistrations> {
    let look = |scope| {
        let path = world.claude.settings(scope, root);
        let document = match super::replace::read(&path) {
            Ok(None) => return None,
            Ok(Some(text)) => JsonDocument::parse(&path, Some(&text)),
            Err(failure) => Err(failure),
        };
        let value = document.as_ref().map(JsonDocument::value).unwrap_or_default();
        Some(FileRegistrations {
            hooks: document.map(|document| hooks::registered(&document)),
            disabled: value.get("disableAllHooks").and_then(serde_json::Value::as_bool)
                == Some(true),
            cleanup_days: value.get("cleanupPeriodDays").and_then(serde_json::Value::as_u64),
            path,
        })
    };
    SettingsScope::ALL.into_iter().filter_map(look).collect()
}

/// Finds Throughline's MCP server in the files of all scopes. Returns the first file that contains the server, or the
/// error of an unreadable file.
pub fn find_server(world: &World, root: &Path) -> Result<Option<(PathBuf, serde_json::Value)>> {
    for scope in [SettingsScope::Local, SettingsScope::Project, SettingsScope::User] {
        let path = world.claude.servers(scope, root);
        let Some(text) = super::replace::read(&path)? else { continue };
        let document = JsonDocument::parse(&path, Some(&text))?;
        if let Some(entry) = server::registered(&document, scope, root) {
            return Ok(Some((path, entry)));
        }
    }
    Ok(None)
}
