//! `throughline config`: the settings in effect, where each comes from, and the LLM that helps.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::Args;
use memory_store::layout::Tree;
use memory_store::settings::Llm;
use memory_store::settings_file::{self, Origin};
use memory_store::store::{Privacy, replace};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table, value};

use super::view;
use crate::exit;
use crate::failure::{At as _, Failure, Result};
use crate::style::{CARE, QUIET, paint};
use crate::world::World;

/// Shows the settings in effect and where each comes from, or chooses an LLM.
#[derive(Debug, Args)]
pub struct Config {
    /// Let this Ollama model help to extract memories
    #[arg(long, value_name = "MODEL", conflicts_with = "no_llm")]
    llm: Option<String>,
    /// Where Ollama answers, if not at OLLAMA_HOST or on this machine
    #[arg(long, value_name = "ADDRESS", requires = "llm")]
    host: Option<String>,
    /// Agree to send redacted text to this host, by name; needed once for other machines
    #[arg(long, value_name = "HOST", requires = "llm")]
    consent: Vec<String>,
    /// Extract by rules alone
    #[arg(long)]
    no_llm: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line {
    key: &'static str,
    value: serde_json::Value,
    #[serde(skip)]
    shown: Option<String>,
    origin: String,
}

/// Runs the command.
pub fn run(args: &Config, world: &World, out: &mut dyn Write) -> Result {
    if let Some(model) = &args.llm {
        let host = args.host.as_deref().unwrap_or_default();
        use_llm(world, model, host, &args.consent)?;
        writeln!(out, "{model} helps from the next sync on.")?;
        return Ok(());
    }
    if args.no_llm {
        edit(&world.dirs.config_file(), |document| {
            document.remove("llm");
        })?;
        writeln!(out, "Extraction is by rules alone.")?;
        return Ok(());
    }
    show(args, world, out)
}

fn show(args: &Config, world: &World, out: &mut dyn Write) -> Result {
    let tree = Tree::find(&world.dirs, &world.cwd);
    let (_, warnings) = settings_file::load(&world.dirs, tree.as_ref());
    let lines: Vec<Line> = settings_file::explain(&world.dirs, tree.as_ref())
        .into_iter()
        .map(|explained| Line {
            key: explained.key,
            value: explained.json,
            shown: explained.value,
            origin: match explained.origin {
                Origin::Default => "default".to_owned(),
                Origin::File(path) => path.display().to_string(),
            },
        })
        .collect();
    for warning in warnings {
        // What is not taken is said apart from what is in effect.
        let label = if warning.is_grave { "wrong:" } else { "ignored:" };
        let _ = writeln!(anstream::stderr(), "{} {warning}", paint(CARE, label));
    }
    if args.json {
        return view::json(&lines, out);
    }
    for line in &lines {
        let setting = match &line.shown {
            Some(value) => format!("{} = {}", line.key, view::plain(value)),
            None => format!("# {} is not set", line.key),
        };
        writeln!(out, "{setting:<40} {}", paint(QUIET, format_args!("# {}", line.origin)))?;
    }
    writeln!(out, "\nSet them in {}", world.dirs.config_file().display())?;
    Ok(())
}

/// Sets the model that helps to extract, and keeps the consents given before.
pub fn use_llm(world: &World, model: &str, host: &str, consent: &[String]) -> Result {
    let (settings, _) = settings_file::load(&world.dirs, None);
    let mut consented = settings.llm.map(|llm| llm.consented_hosts).unwrap_or_default();
    consented.extend(consent.iter().cloned());
    consented.sort();
    consented.dedup();
    edit(&world.dirs.config_file(), |document| {
        if !document.get("llm").is_some_and(Item::is_table_like) {
            document["llm"] = Item::Table(Table::new());
        }
        let llm = &mut document["llm"];
        llm["provider"] = value("ollama");
        llm["model"] = value(model);
        if !host.is_empty() {
            llm["host"] = value(host);
        }
        if !consented.is_empty() {
            llm["consented_hosts"] = value(consented.iter().collect::<toml_edit::Array>());
        }
    })
}

/// Lets what is learned wait for a review, in all projects of this user.
pub fn use_drafts(world: &World) -> Result {
    edit(&world.dirs.config_file(), |document| document["promote"] = value("review"))
}

/// A settings file that holds only this LLM.
pub fn llm_file(llm: &Llm) -> String {
    let mut table = Table::new();
    table["provider"] = value(&llm.provider);
    table["model"] = value(&llm.model);
    table["host"] = value(&llm.host);
    table["consented_hosts"] = value(llm.consented_hosts.iter().collect::<toml_edit::Array>());
    table["timeout_s"] = value(i64::from(llm.timeout_s));
    let mut document = DocumentMut::new();
    document["llm"] = Item::Table(table);
    document.to_string()
}

/// Changes our own settings file; comments and order stay.
fn edit(path: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        other => other.at(path)?,
    };
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        Failure::new(format!("{}: {}", path.display(), error.message()))
            .code(exit::INVALID)
            .hint("Correct the file and run the command again; it was left as it is.")
    })?;
    change(&mut document);
    Ok(replace(path, document.to_string().as_bytes(), Privacy::Private)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_settings_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\nalpha = 0.1 # careful\n").unwrap();
        edit(&path, |document| document["notice"] = value("off")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\nalpha = 0.1 # careful\nnotice = \"off\"\n"
        );
        fs::write(&path, "alpha = \n").unwrap();
        assert_eq!(edit(&path, |_| {}).unwrap_err().code, exit::INVALID);
        assert_eq!(fs::read_to_string(&path).unwrap(), "alpha = \n");
    }
}
