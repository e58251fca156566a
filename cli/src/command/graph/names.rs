//! Decisions about names: `--merge`, `--split`, `--rename`.

use std::io::Write;

use clap::Args;
use memory_store::knowledge::ConfirmedNames;
use serde_json::json;

use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::ReadKnowledge;
use crate::setup::installation;
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view::{self, plain};

/// Options that decide about names.
#[derive(Debug, Default, Args)]
pub(super) struct NameOptions {
    /// Treat A as another name of B
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["name", "path", "bridges", "stats", "as_of", "dot"])]
    merge: Vec<String>,
    /// Treat A and B as different names
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["name", "path", "bridges", "stats", "as_of", "dot", "merge"])]
    split: Vec<String>,
    /// Rename A to B
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["name", "path", "bridges", "stats", "as_of", "dot", "merge", "split"])]
    rename: Vec<String>,
    /// Release the names in `.throughline/entities.toml` that came with the repository
    #[arg(long, hide_short_help = true, conflicts_with_all = ["name", "path", "bridges", "stats", "merge", "split", "rename"])]
    release_names: bool,
    #[command(flatten)]
    pub(super) write: WriteOptions,
}

/// A decision about two names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameDecision {
    Merge,
    Split,
    Rename,
}

impl NameOptions {
    pub(super) fn is_asked(&self) -> bool {
        self.release_names || self.decision().is_some()
    }

    pub(super) fn decides(&self) -> bool {
        self.is_asked() && !self.write.dry_run
    }

    fn decision(&self) -> Option<(NameDecision, &str, &str)> {
        let options = [
            (NameDecision::Merge, &self.merge),
            (NameDecision::Split, &self.split),
            (NameDecision::Rename, &self.rename),
        ];
        options.into_iter().find_map(|(decision, names)| match &names[..] {
            [name, other] => Some((decision, name.trim(), other.trim())),
            _ => None,
        })
    }

    pub(super) fn run(&self, stores: &Stores, out: &mut dyn Write) -> Result {
        let json = self.write.json;
        let file = view::path(stores.project.names_file());
        let Some((decision, name, other)) = self.decision() else {
            if !self.write.dry_run {
                stores.project.release_names()?;
            }
            let done = if self.write.dry_run { "Would use" } else { "Used from now on:" };
            writeln!(out, "{done} the names in {file}, until somebody else changes it.")?;
            return Ok(());
        };
        if name.is_empty() || other.is_empty() {
            return Err(Failure::new("a name is empty").code(exit::USAGE));
        }
        let read = ReadKnowledge::open(stores)?;
        let entities = &read.knowledge.entities;
        let one = read.entity(name)?;
        let pair = format!("`{}` and `{}`", plain(name), plain(other));
        let change = match decision {
            NameDecision::Merge if one == read.entity(other)? => {
                return unchanged(&format!("{pair} are one already"), json, out);
            }
            NameDecision::Merge => {
                format!("make `{}` another name of `{}`", plain(name), plain(other))
            }
            NameDecision::Split if one != read.entity(other)? => {
                return unchanged(&format!("{pair} are two already"), json, out);
            }
            NameDecision::Split => format!("keep {pair} apart"),
            NameDecision::Rename => {
                if entities.find(other).is_some_and(|other| other != one) {
                    return Err(Failure::new(format!(
                        "`{}` is the name of something else",
                        plain(other)
                    ))
                    .code(exit::USAGE)
                    .hint("`throughline graph --merge A B` makes both one."));
                }
                format!("call `{}` `{}`", plain(&entities.all()[one].name), plain(other))
            }
        };
        let change = format!("{change}, in {file}");
        if self.write.dry_run {
            return view::would(&[change], json, out);
        }
        if !self.write.yes && !ask::confirm(&stores.world, &format!("{}?", capital(&change)), true)?
        {
            return Err(ask::declined(&stores.world, "no name was changed"));
        }
        let name_of = |typed: &str| {
            let found = entities.find(typed).map(|id| entities.all()[id].name.clone());
            found.unwrap_or_else(|| typed.to_owned())
        };
        // A merge uses the main names of both entities, so that all spellings are merged. A rename does the same for
        // the old name.
        let (name, other) = match decision {
            NameDecision::Merge => (name_of(name), name_of(other)),
            NameDecision::Rename => (name_of(name), other.to_owned()),
            NameDecision::Split => (name.to_owned(), other.to_owned()),
        };
        let (name, other) = (&*name, &*other);
        let redactor = stores.redactor_for_writing(&stores.project)?;
        let change_names = |names: &mut ConfirmedNames| match decision {
            NameDecision::Merge | NameDecision::Rename => names.merge(name, other),
            // Names of one entity may be joined by other lines, or by their similarity.
            NameDecision::Split => {
                names.split(name, other, false) || names.split(name, other, true)
            }
        };
        let changed = stores.project.change_names(&redactor, change_names)?;
        if decision == NameDecision::Split {
            let after = ReadKnowledge::open(stores)?.knowledge.entities;
            if after.find(name) == after.find(other) {
                stores.project.change_names(&redactor, |names| names.split(name, other, true))?;
                let after = ReadKnowledge::open(stores)?.knowledge.entities;
                if after.find(name) == after.find(other) {
                    return Err(Failure::new(format!(
                        "{pair} differ only in spelling, and stay one"
                    ))
                    .hint("Give one of them a name of its own with `throughline edit`."));
                }
            }
        }
        let (done, undo, names) = match decision {
            NameDecision::Merge => ("merged", "split", [name, other]),
            NameDecision::Split => ("split", "merge", [name, other]),
            NameDecision::Rename => ("renamed", "rename", [other, name]),
        };
        let [first, second] = names.map(installation::word);
        let undo = format!("throughline graph --{undo} {first} {second}");
        if json {
            return view::json(
                &json!({"done": done, "name": name, "other": other, "changed": changed, "file": file, "undo": undo}),
                out,
            );
        }
        Ok(writeln!(out, "Done: {change}. `{undo}` undoes it.")?)
    }
}

fn unchanged(message: &str, json: bool, out: &mut dyn Write) -> Result {
    if json {
        return view::json(&json!({"changed": false}), out);
    }
    Ok(writeln!(out, "Nothing was changed: {message}.")?)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
