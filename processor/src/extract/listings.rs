//! The files that git listed in a session, spelled from the root.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::named;
use super::roots::Roots;
use super::{shell, words};
use crate::transcript::session::{Call, Session, Turn};

/// The files that one call of git listed, as it spelled them.
struct Listing<'a> {
    call: &'a Call,
    /// The folder that git ran in, below the root; `.` is the root, and `None` is outside.
    folder: Option<String>,
    names: Vec<String>,
}

/// Returns the files that each call of git listed, by the call's id. `known` are files as they are spelled from the root.
pub fn of(
    session: &Session,
    roots: &Roots,
    mut known: BTreeSet<String>,
) -> BTreeMap<String, Vec<String>> {
    let listings: Vec<Listing<'_>> =
        session.turns.iter().flat_map(|turn| of_turn(turn, roots)).collect();
    let of_root = listings.iter().filter(|listing| listing.folder.as_deref() == Some("."));
    known.extend(of_root.flat_map(|listing| listing.names.iter().cloned()));
    listings.into_iter().map(|listing| listing.spelled_from_root(&known)).collect()
}

fn of_turn<'a>(turn: &'a Turn, roots: &Roots) -> Vec<Listing<'a>> {
    let lists = |command: &str| words::LISTS_CHANGES.is_match(command);
    let listing = shell::calls(turn).filter(|run| !run.call.denied && lists(run.command));
    let listing = listing.map(|run| {
        let commands = shell::commands(run.command);
        let git = commands.iter().find(|it| lists(&it.line));
        Listing {
            call: run.call,
            folder: run.folder(git.map_or("", |it| it.directory.as_str()), roots),
            names: named(roots, &roots.strip(&text_of(run.command, &run.call.output))),
        }
    });
    listing.collect()
}

/// The command, whose arguments name files, and of its output what git says: hooks and tests print other files.
fn text_of(command: &str, output: &str) -> String {
    let mut text = command.to_owned();
    for line in output.lines().filter(|line| words::OF_GIT.is_match(line)) {
        text.push('\n');
        text.push_str(line);
    }
    text
}

impl Listing<'_> {
    /// Git tells some lists from the folder that it runs in and some from the root.
    fn spelled_from_root(self, known: &BTreeSet<String>) -> (String, Vec<String>) {
        let spelled = |name: String| {
            let whole = self.folder.as_ref().map(|folder| format!("{folder}/{name}"));
            let whole = whole.filter(|whole| !known.contains(&name) && known.contains(whole));
            whole.unwrap_or(name)
        };
        (self.call.id.clone(), self.names.into_iter().map(spelled).collect())
    }
}
