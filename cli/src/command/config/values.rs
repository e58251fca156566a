//! `throughline config get`, `set`, `unset` and `edit`: read and change single settings of the user's file.

use std::fs;
use std::io::Write;
use std::path::Path;

use memory_store::layout::{Tree, UserDirs};
use memory_store::settings_file::{self, Explained, Origin, Warning};
use serde::Serialize;
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use crate::editor::{editor, editor_command};
use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::inspect::migrations;
use crate::setup::settings;
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// Prints the value in effect: strings without quotes, other values as JSON. If the setting has no value, the exit code
/// is the one of a search without results.
pub fn get(key: &str, json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tree = Tree::find(&world.dirs, &world.cwd);
    settings::warn(&settings_file::load(&world.dirs, tree.as_ref()).1, world);
    let value = find(key, &settings_file::explain(&world.dirs, tree.as_ref()))?;
    if json {
        view::json(&value, out)?;
        out.flush()?;
        return Failure::of_empty(value.is_null());
    }
    match value {
        Value::Null => return Err(Failure::silent(exit::NOTHING)),
        Value::String(text) => writeln!(out, "{}", view::plain(&text))?,
        value => writeln!(out, "{value}")?,
    }
    Ok(())
}

/// Finds a setting by its name, or a member of a setting, as in `redact.paths`.
fn find(key: &str, all: &[Explained]) -> Result<Value> {
    let mut names = key.split('.');
    let first = names.next().unwrap_or_default();
    let explained = all.iter().find(|explained| explained.key == first).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|explained| explained.key).collect();
        Failure::new(format!("`{first}` is no setting")).code(exit::NOT_FOUND).hint(
            match settings_file::similar(first) {
                Some(meant) => {
                    format!("Did you mean {meant}? `throughline config list` prints all.")
                }
                None => format!("There are: {}.", names.join(", ")),
            },
        )
    })?;
    let mut value = &explained.json;
    for name in names {
        value = value.get(name).unwrap_or(&Value::Null);
    }
    Ok(value.clone())
}

/// A setting after a change, as printed by `--json`.
#[derive(Serialize)]
struct ChangedSetting<'a> {
    key: &'a str,
    /// The value in effect; `null` if the setting has none.
    value: Value,
    /// The user's file.
    file: &'a Path,
    /// Whether the file was changed.
    changed: bool,
}

impl<'a> ChangedSetting<'a> {
    /// Reads the value in effect after a change.
    fn read(key: &'a str, file: &'a Path, changed: bool, world: &World) -> Result<Self> {
        let tree = Tree::find(&world.dirs, &world.cwd);
        let value = find(key, &settings_file::explain(&world.dirs, tree.as_ref()))?;
        Ok(Self { key, value, file, changed })
    }
}

/// Sets a setting to a value, if the value is valid.
pub fn set(
    key: &str,
    text: &str,
    WriteOptions { dry_run, json, .. }: WriteOptions,
    world: &World,
    out: &mut dyn Write,
) -> Result {
    // Text that is not valid TOML is used as a string, so quotes are not required.
    let value = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
    change(key, world, dry_run, |place, name| {
        place.insert(name, Item::Value(value));
        true
    })?;
    let file = world.dirs.config_file();
    match (dry_run, json) {
        (true, _) => {
            view::would(&[format!("set {key} in {}", view::path(&file))], json, out)?;
        }
        (false, true) => view::json(&ChangedSetting::read(key, &file, true, world)?, out)?,
        (false, false) => writeln!(out, "Set {key} in {}.", view::path(&file))?,
    }
    let tree = Tree::find(&world.dirs, &world.cwd);
    let all = settings_file::explain(&world.dirs, tree.as_ref());
    let explained = all.iter().find(|explained| key.split('.').next() == Some(explained.key));
    if let Some(Origin::File(other)) = explained.map(|explained| &explained.origin)
        && *other != file
    {
        view::remark(format_args!(
            "In this project {} sets it, too, and that counts.",
            view::path(other)
        ));
    }
    Ok(())
}

/// Removes a value from the user's file; the repository's value or the default then applies.
pub fn unset(
    key: &str,
    WriteOptions { dry_run, json, .. }: WriteOptions,
    world: &World,
    out: &mut dyn Write,
) -> Result {
    let path = world.dirs.config_file();
    let file = view::path(&path);
    let changed = change(key, world, dry_run, |place, name| place.remove(name).is_some())?;
    match (changed, dry_run, json) {
        (true, true, _) => view::would(&[format!("unset {key} in {file}")], json, out)?,
        (false, true, true) => view::would(&[], json, out)?,
        (_, false, true) => view::json(&ChangedSetting::read(key, &path, changed, world)?, out)?,
        (false, _, false) => writeln!(out, "{key} was not set in {file}.")?,
        (true, false, false) => writeln!(out, "Unset {key} in {file}.")?,
    }
    Ok(())
}

/// Changes a key in a copy of the file first, so that invalid settings are never written. Returns the result of
/// `change`: whether the key changed.
fn change(
    key: &str,
    world: &World,
    dry_run: bool,
    change: impl FnOnce(&mut dyn toml_edit::TableLike, &str) -> bool,
) -> Result<bool> {
    find(key, &settings_file::explain(&world.dirs, None))?;
    if !dry_run {
        migrations::before_settings(world)?;
    }
    let path = world.dirs.config_file();
    let before = settings::text(&path)?;
    let mut copy: DocumentMut = settings::parsed(&path, &before)?;
    let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut place: &mut dyn toml_edit::TableLike = copy.as_table_mut();
    for table in tables.split('.').filter(|table| !table.is_empty()) {
        let item = place.entry(table).or_insert(Item::Table(Table::new()));
        place = item.as_table_like_mut().ok_or_else(|| {
            Failure::new(format!("`{table}` holds no other settings")).code(exit::USAGE)
        })?;
    }
    if !change(place, name) {
        return Ok(false);
    }
    let after = copy.to_string();
    let known = problems(&before, world)?;
    let new = problems(&after, world)?.into_iter().find(|problem| !known.contains(problem));
    if let Some(problem) = new {
        return Err(Failure::new(problem).code(exit::USAGE).hint("Nothing was changed."));
    }
    if !dry_run {
        settings::write(&path, &after)?;
    }
    Ok(true)
}

/// Returns the problems of a user's settings file with this text, as reported when it is read.
fn problems(text: &str, world: &World) -> Result<Vec<String>> {
    let folder = crate::world::temporary_folder()?;
    let dirs = UserDirs { config: folder.path().to_owned(), ..world.dirs.clone() };
    let path = dirs.config_file();
    fs::write(&path, text).at(&path)?;
    let (_, warnings) = settings_file::load(&dirs, None);
    Ok(warnings
        .into_iter()
        .map(|Warning { key, message, .. }| {
            // The rest of the message is removed: it describes the effect of a problem that is already in the file.
            let ends = ["; it is ignored", "; until it is mended", "; the file is ignored"];
            let ends = ends.map(|end| message.find(end));
            let end = ends.into_iter().flatten().min().unwrap_or(message.len());
            let message = &message[..end];
            // A problem without a key concerns the whole file; its message contains the line.
            if key.is_empty() { message.to_owned() } else { format!("{key}: {message}") }
        })
        .collect())
}

/// Opens the user's file in an editor, and reports its errors afterwards.
pub fn edit(world: &World, out: &mut dyn Write) -> Result {
    let path = world.dirs.config_file();
    let editor = editor().ok_or_else(|| {
        Failure::new("no editor is set")
            .code(exit::USAGE)
            .hint(format!("Set EDITOR, use `config set`, or open {} yourself.", path.display()))
    })?;
    migrations::before_settings(world)?;
    if !path.exists() {
        settings::write(&path, "")?;
    }
    let status = editor_command(&editor).arg(&path).status();
    let status = status.map_err(|error| Failure::new(format!("{}: {error}", editor.display())))?;
    if !status.success() {
        return Err(Failure::new(format!("{} ended with {status}", editor.display())));
    }
    let text = fs::read_to_string(&path).at(&path)?;
    match problems(&text, world)?.first() {
        Some(problem) => Err(Failure::new(format!("{}: {problem}", path.display()))
            .code(exit::INVALID)
            .hint("`throughline config edit` opens it again.")),
        None => Ok(writeln!(out, "{} is valid.", view::path(&path))?),
    }
}
