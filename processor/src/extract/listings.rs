//! The files that git listed in a session, spelled from the root.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::named;
use super::roots::Roots;
use super::{shell, words};
use crate::transcript::session::{Call, Input, Session, StepKind, Turn};

/// What one call of git listed, as it spelled it.
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
    let mut listings = Vec::new();
    // The shell stays where a command went.
    let mut folder = turn.cwd.clone();
    for step in &turn.steps {
        let StepKind::Call(call) = &step.what else { continue };
        let Input::Shell { command, .. } = &call.input else { continue };
        if call.denied {
            continue;
        }
        if words::LISTS_CHANGES.is_match(command) {
            let commands = shell::commands(command);
            let lists = commands.iter().find(|it| words::LISTS_CHANGES.is_match(&it.line));
            let inner = lists.map_or("", |it| it.directory.as_str());
            listings.push(Listing {
                call,
                folder: roots.directory(shell::start(&folder, &turn.cwd, inner), inner),
                names: named(roots, &roots.strip(&listing(command, &call.output))),
            });
        }
        if !call.failed {
            folder = shell::went(&folder, &turn.cwd, command);
        }
    }
    listings
}

/// The command, whose arguments name files, and of its output what git says: hooks and tests print other files.
fn listing(command: &str, output: &str) -> String {
    let mut listing = command.to_owned();
    for line in output.lines().filter(|line| words::OF_GIT.is_match(line)) {
        listing.push('\n');
        listing.push_str(line);
    }
    listing
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
