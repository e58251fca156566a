//! Changes to the user's settings file, including the model that reads sessions.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use memory_store::layout::Tree;
use memory_store::settings::Llm;
use memory_store::settings_file::{self, Warning};
use memory_store::store::{Privacy, replace};
use processor::llm::host::ModelServer;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::inspect::migrations;
use crate::view;
use crate::view::style::{CARE, paint};
use crate::world::World;

/// Maximum warnings about a file that [`warn`] prints in addition to grave ones.
const WARNINGS_MAX: usize = 3;
/// Maximum warnings that [`warn_of_all`] prints: a file that is no settings file has one for each line.
const ALL_WARNINGS_MAX: usize = 20;

/// Prints the first problems of the user's settings file on stderr, and one line about the settings file of a
/// repository, which strangers may have written. `--quiet` omits warnings without a grave effect.
pub fn warn(warnings: &[Warning], world: &World) {
    let users_file = world.dirs.config_file();
    let (users, others): (Vec<&Warning>, Vec<&Warning>) =
        warnings.iter().partition(|warning| warning.path == users_file);
    // All grave warnings are printed, since there are few: at most one for each setting about excluded data.
    let (grave, light): (Vec<&Warning>, Vec<&Warning>) =
        users.into_iter().partition(|warning| warning.is_grave);
    let shown = light.len().min(WARNINGS_MAX.saturating_sub(grave.len()));
    let (shown, more) = light.split_at(shown);
    grave.iter().chain(shown).for_each(|warning| print(warning));
    if !more.is_empty() {
        note(format_args!("{} more (`throughline config`)", more.len()));
    }
    match &*others {
        [] => {}
        [warning] => print(warning),
        [first, ..] => note(format_args!(
            "{}: {} values; `throughline config` lists the reasons",
            view::path(&first.path),
            others.len()
        )),
    }
}

/// Prints the problems of settings files on stderr with the same labels, grave ones first.
pub fn warn_of_all(warnings: &[Warning]) {
    let mut warnings: Vec<&Warning> = warnings.iter().collect();
    warnings.sort_by_key(|warning| !warning.is_grave);
    let (shown, more) = warnings.split_at(warnings.len().min(ALL_WARNINGS_MAX));
    shown.iter().for_each(|warning| print(warning));
    if !more.is_empty() {
        note(format_args!("{} more, listed once these are corrected", more.len()));
    }
}

fn print(warning: &Warning) {
    match warning.is_grave {
        // The label distinguishes settings for which the strictest value is in effect from settings that are ignored.
        true => view::on_stderr(format_args!("{} {warning}", paint(CARE, "wrong:"))),
        false => note(format_args!("{warning}")),
    }
}

fn note(text: fmt::Arguments<'_>) {
    if !view::is_quiet() {
        view::on_stderr(format_args!("{} {text}", paint(CARE, "ignored:")));
    }
}

/// Removes the model that reads sessions.
pub fn use_rules(world: &World) -> Result {
    edit(world, |document| {
        document.remove("llm");
    })
}

/// Sets the model that reads sessions. Existing consents, limits and timeouts are kept unless new ones are given.
pub fn use_llm(
    world: &World,
    chosen: &Llm,
    consent: &[String],
    usd_per_day: Option<f64>,
) -> Result {
    let consented = consents(world, chosen, consent)?;
    edit(world, |document| {
        if !document.get("llm").is_some_and(Item::is_table_like) {
            document["llm"] = Item::Table(Table::new());
        }
        let llm = &mut document["llm"];
        // Settings for the server of another provider are removed.
        let same = llm.get("provider").and_then(Item::as_str) == Some(&*chosen.provider);
        if let (false, Some(table)) = (same, llm.as_table_like_mut()) {
            table.remove("host");
            table.remove("api_key_env");
        }
        let same = same && llm.get("model").and_then(Item::as_str) == Some(&*chosen.model);
        if let (false, Some(table)) = (same, llm.as_table_like_mut()) {
            table.remove("context");
        }
        llm["provider"] = value(&chosen.provider);
        llm["model"] = value(&chosen.model);
        for (key, text) in [("host", &chosen.host), ("api_key_env", &chosen.api_key_env)] {
            if !text.is_empty() {
                llm[key] = value(text);
            }
        }
        if !consented.is_empty() {
            llm["consented_hosts"] = value(consented.iter().collect::<toml_edit::Array>());
        }
        if let Some(tokens) = chosen.context {
            llm["context"] = value(i64::from(tokens));
        }
        if let Some(tokens) = chosen.tokens_per_day {
            llm["tokens_per_day"] = value(i64::try_from(tokens).unwrap_or(i64::MAX));
        }
        if let Some(usd) = usd_per_day {
            llm["usd_per_day"] = value(usd);
        }
    })
}

/// Sets that all learned memories need a review, in all projects of this user.
pub fn use_drafts(world: &World) -> Result {
    edit(world, |document| document["review"] = value(true))
}

/// Describes the setting that [`use_drafts`] writes to `file`.
pub fn drafts_setting(file: &str) -> String {
    format!("`review = true` in {file}, for all your projects")
}

/// Changes the user's settings file, after migrating it to the format of this program. Comments and order are kept.
fn edit(world: &World, change: impl FnOnce(&mut DocumentMut)) -> Result {
    migrations::before_settings(world)?;
    edit_file(&world.dirs.config_file(), change)
}

fn edit_file(path: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result {
    let mut document = parsed(path, &text(path)?)?;
    change(&mut document);
    write(path, &document.to_string())
}

/// Reads our own settings file; a missing one is empty.
pub fn text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other.at(path),
    }
}

/// Parses our own settings file for a change.
pub fn parsed(path: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        // The message contains only the first line of the error, which has the position; the other lines show the text
        // of the file.
        let text = error.to_string();
        let place = text.lines().next().unwrap_or_default();
        Failure::new(format!("{}: {place}: {}", path.display(), error.message()))
            .code(exit::INVALID)
            .hint("Correct the file and run the command again; it was left as it is.")
    })
}

/// Writes a settings file of Throughline.
pub fn write(path: &Path, text: &str) -> Result {
    Ok(replace(path, text.as_bytes(), Privacy::Private)?)
}

/// Returns the hosts to which the user consented, now or before.
///
/// # Errors
/// Returns an error if the model's host is another machine and the user has not consented to it.
pub fn consents(world: &World, llm: &Llm, consent: &[String]) -> Result<Vec<String>> {
    let (settings, _) = settings_file::load(&world.dirs, None);
    let mut consented = settings.llm.map(|llm| llm.consented_hosts).unwrap_or_default();
    consented.extend(consent.iter().cloned());
    consented.sort();
    consented.dedup();
    let variable = world.ollama_host.as_deref().filter(|_| llm.provider == "ollama");
    let server = ModelServer::named(&llm.host, variable).map_err(Failure::new)?;
    if server.is_allowed(&consented) {
        return Ok(consented);
    }
    let name = server.name();
    Err(Failure::new(format!("{name} is another machine, and nobody agreed to ask it")).hint(
        format!(
            "`throughline config llm` with `--consent {name}` agrees to send redacted text there."
        ),
    ))
}

/// Returns the settings of a model of the Ollama at the default address.
pub fn ollama_model(model: &str) -> Llm {
    Llm { model: model.to_owned(), ..Llm::default() }
}

/// Returns the settings of a model of Claude Code.
pub fn claude_model(model: &str) -> Llm {
    Llm { provider: "claude".to_owned(), model: model.to_owned(), ..Llm::default() }
}

/// Returns the reason why Claude Code cannot be used; `None` if it can.
pub fn claude_problem(world: &World, llm: &Llm) -> Option<String> {
    processor::llm::problem(llm, world.ollama_host.as_deref(), &roots(world))
}

/// Returns the working trees whose Claude Code settings apply here.
pub fn roots(world: &World) -> Vec<PathBuf> {
    match Tree::find(&world.dirs, &world.cwd) {
        Some(tree) if tree.root != tree.main_root => vec![tree.root, tree.main_root],
        Some(tree) => vec![tree.root],
        None => vec![world.root()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_settings_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\nalpha = 0.1 # careful\n").unwrap();
        edit_file(&path, |document| document["notice"] = value("off")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\nalpha = 0.1 # careful\nnotice = \"off\"\n"
        );
        fs::write(&path, "alpha = \n").unwrap();
        assert_eq!(edit_file(&path, |_| {}).unwrap_err().code, exit::INVALID);
        assert_eq!(fs::read_to_string(&path).unwrap(), "alpha = \n");
    }
}
