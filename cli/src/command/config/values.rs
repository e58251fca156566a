//! `throughline config get`, `set`, `unset` and `edit`: single settings of the user's own file.

use std::fs;
use std::io::{ErrorKind, Write};

use memory_store::layout::{Tree, UserDirs};
use memory_store::settings_file::{self, Explained, Origin, Warning};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};

use crate::editor::{editor, editor_command};
use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::inspect::migrations;
use crate::setup::settings;
use crate::view;
use crate::world::World;

/// Prints the value in effect: a text as it is, anything else as JSON. A setting without one ends with the code of a
/// search that found nothing.
pub fn get(key: &str, json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tree = Tree::find(&world.dirs, &world.cwd);
    let value = find(key, &settings_file::explain(&world.dirs, tree.as_ref()))?;
    if json {
        return view::json(&value, out);
    }
    match value {
        Value::Null => return Err(Failure::silent(exit::NOTHING)),
        Value::String(text) => writeln!(out, "{}", view::plain(&text))?,
        value => writeln!(out, "{value}")?,
    }
    Ok(())
}

/// Finds a setting by its name, or what is within one, as in `redact.paths`.
fn find(key: &str, all: &[Explained]) -> Result<Value> {
    let mut names = key.split('.');
    let first = names.next().unwrap_or_default();
    let explained = all.iter().find(|explained| explained.key == first).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|explained| explained.key).collect();
        Failure::new(format!("`{first}` is no setting"))
            .code(exit::NOT_FOUND)
            .hint(format!("There are: {}.", names.join(", ")))
    })?;
    let mut value = &explained.json;
    for name in names {
        value = value.get(name).unwrap_or(&Value::Null);
    }
    Ok(value.clone())
}

/// Sets a value, unless the settings would not take it.
pub fn set(key: &str, text: &str, dry_run: bool, world: &World, out: &mut dyn Write) -> Result {
    // A value that is no TOML is a text without its quotes.
    let value = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
    change(key, world, dry_run, |place, name| {
        place.insert(name, Item::Value(value));
        true
    })?;
    let would = if dry_run { "Would set" } else { "Set" };
    let file = world.dirs.config_file();
    writeln!(out, "{would} {key} in {}.", view::path(&file))?;
    let tree = Tree::find(&world.dirs, &world.cwd);
    let all = settings_file::explain(&world.dirs, tree.as_ref());
    let explained = all.iter().find(|explained| key.split('.').next() == Some(explained.key));
    if let Some(Origin::File(other)) = explained.map(|explained| &explained.origin)
        && *other != file
    {
        writeln!(out, "In this project {} sets it, too, and that counts.", view::path(other))?;
    }
    Ok(())
}

/// Takes a value out of the user's file: then the default holds, or what the repository says.
pub fn unset(key: &str, dry_run: bool, world: &World, out: &mut dyn Write) -> Result {
    let file = view::path(world.dirs.config_file());
    match change(key, world, dry_run, |place, name| place.remove(name).is_some())? {
        false => writeln!(out, "{key} was not set in {file}.")?,
        true if dry_run => writeln!(out, "Would unset {key} in {file}.")?,
        true => writeln!(out, "Unset {key} in {file}.")?,
    }
    Ok(())
}

/// Changes the place of a key, in a copy first: what the settings refuse is not written. Returns what `change` does:
/// whether it changed anything.
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
    let before = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        other => other.at(&path)?,
    };
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

/// Returns the problem of a settings file of the user that holds this text.
fn problems(text: &str, world: &World) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::new(format!("no temporary folder: {error}"))
            .hint("Set TMPDIR to a folder that you may write.")
    })?;
    let dirs = UserDirs { config: folder.path().to_owned(), ..world.dirs.clone() };
    let path = dirs.config_file();
    fs::write(&path, text).at(&path)?;
    let (_, warnings) = settings_file::load(&dirs, None);
    Ok(warnings
        .into_iter()
        .map(|Warning { key, message, .. }| {
            // The rest says what holds once it is in the file.
            let ends = ["; it is ignored", "; until it is mended"].map(|end| message.find(end));
            let end = ends.into_iter().flatten().min().unwrap_or(message.len());
            format!("{key}: {}", &message[..end])
        })
        .collect())
}

/// Opens the user's file in an editor, and says what is wrong in it afterwards.
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
        None => {
            writeln!(out, "{} is valid.", view::path(&path))?;
            Ok(())
        }
    }
}
