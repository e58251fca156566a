//! Names that a person joined or separated, in `entities.toml` next to the folder of memory files.
//!
//! The file has one entry per line, so that git can merge it line by line: `"PG" = "PostgreSQL"` joins two names, and
//! `"Redis cache" = { not = ["Redis"] }` separates them. Each line is parsed independently; an invalid line is reported
//! with its number and does not affect other lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use toml::{Table, Value};

use super::name::NormalName;
use crate::error::{Error, TextPlace};

/// Name of the file.
pub const NAME: &str = "entities.toml";

/// Maximum size of the file in bytes.
pub const CONFIRMED_BYTES_MAX: usize = 1 << 20;

/// Maximum number of steps from a name to the name that finally replaces it.
const STEPS_MAX: usize = 16;

const HEAD: &str = "\
# Names of one thing, as `throughline graph --merge`, `--split` and `--rename` wrote them; one entry a line.
# \"PG\" = \"PostgreSQL\" joins two names, \"Redis cache\" = { not = [\"Redis\"] } keeps them apart.
";

/// One line of the file: a name, the name that replaces it, and the names of other things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ConfirmedLine {
    is: Option<String>,
    not: BTreeSet<String>,
}

/// The names that a person decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfirmedNames {
    lines: BTreeMap<String, ConfirmedLine>,
    /// Maps the normal form of a name to the normal form of the name that replaces it.
    joined: BTreeMap<String, String>,
    /// Maps a normal form to the spelling that a person chose.
    chosen: BTreeMap<String, String>,
    apart: BTreeSet<(String, String)>,
}

impl ConfirmedNames {
    /// Parses the file. Returns the names, and an error for each invalid line.
    pub fn parse(path: &Path, text: &str) -> (Self, Vec<Error>) {
        let mut names = Self::default();
        let mut broken = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut refuse = |message: &str| {
                broken.push(Error::Memory {
                    path: path.to_owned(),
                    place: TextPlace { line: number + 1, column: 1 },
                    message: message.to_owned(),
                });
            };
            let table = line.parse::<Table>().ok().filter(|table| table.len() == 1);
            let Some((name, value)) = table.and_then(|table| table.into_iter().next()) else {
                refuse("expected one entry, as in `\"PG\" = \"PostgreSQL\"`");
                continue;
            };
            let entry = match value {
                Value::String(is) => ConfirmedLine { is: Some(is), not: BTreeSet::new() },
                Value::Table(mut table) => {
                    let is = table.remove("is").map(Value::try_into::<String>).transpose();
                    let not =
                        table.remove("not").map(Value::try_into::<BTreeSet<String>>).transpose();
                    match (is, not) {
                        (Ok(is), Ok(not)) if table.is_empty() => {
                            ConfirmedLine { is, not: not.unwrap_or_default() }
                        }
                        _ => {
                            refuse("expected `is` with a name or `not` with a list of names");
                            continue;
                        }
                    }
                }
                _ => {
                    refuse("expected a name, or a table with `is` or `not`");
                    continue;
                }
            };
            let known = names.lines.entry(name).or_default();
            known.not.extend(entry.not);
            known.is = entry.is.or(known.is.take());
        }
        names.index();
        (names, broken)
    }

    /// Returns the text of the file, sorted by name.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        let quoted = |name: &str| Value::from(name).to_string();
        for (name, line) in &self.lines {
            let not: Vec<String> = line.not.iter().map(|name| quoted(name)).collect();
            let value = match (&line.is, &not[..]) {
                (None, []) => continue,
                (Some(is), []) => quoted(is),
                (None, not) => format!("{{ not = [{}] }}", not.join(", ")),
                (Some(is), not) => format!("{{ is = {}, not = [{}] }}", quoted(is), not.join(", ")),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} = {value}", quoted(name));
        }
        text
    }

    /// Joins a name to another name, which replaces it. Returns false if nothing changes.
    pub fn merge(&mut self, name: &str, into: &str) -> bool {
        let before = self.lines.clone();
        let (key, target) = (key(name), key(into));
        // An entry in the opposite direction would form a cycle.
        let is_back = |other: &str, line: &ConfirmedLine| {
            self::key(other) == target
                && line.is.as_deref().is_some_and(|is| self.root(&self::key(is)) == self.root(&key))
        };
        let back: Vec<String> = self
            .lines
            .iter()
            .filter(|(name, line)| is_back(name, line))
            .map(|(name, _)| name.clone())
            .collect();
        for name in back {
            self.lines.remove(&name);
        }
        for (other, line) in &mut self.lines {
            let mine = self::key(other);
            if mine == key || mine == target {
                line.not.retain(|not| self::key(not) != key && self::key(not) != target);
            }
        }
        self.lines.retain(|other, _| self::key(other) != key || other == name);
        self.lines.entry(name.to_owned()).or_default().is = Some(into.to_owned());
        self.tidy(&before)
    }

    /// Separates two names that a person joined. `keeps_apart` also prevents joining them again by similarity. Returns
    /// false if nothing changes.
    pub fn split(&mut self, name: &str, from: &str, keeps_apart: bool) -> bool {
        let before = self.lines.clone();
        let (key, other) = (key(name), key(from));
        for (mine, line) in &mut self.lines {
            let pair = (self::key(mine), line.is.as_deref().map(self::key));
            if pair == (key.clone(), Some(other.clone()))
                || pair == (other.clone(), Some(key.clone()))
            {
                line.is = None;
            }
        }
        if keeps_apart {
            self.lines.entry(name.to_owned()).or_default().not.insert(from.to_owned());
        }
        self.tidy(&before)
    }

    /// Returns the normal form that finally replaces a normal form. It may be the same one.
    pub(super) fn root<'k>(&'k self, key: &'k str) -> &'k str {
        let mut root = key;
        for _ in 0..STEPS_MAX {
            match self.joined.get(root) {
                Some(next) if next != root => root = next,
                _ => return root,
            }
        }
        // There is a cycle, so no name replaces this one.
        key
    }

    /// Returns the spelling that a person chose for a normal form.
    pub(super) fn chosen(&self, key: &str) -> Option<&str> {
        self.chosen.get(key).map(String::as_str)
    }

    /// Returns whether a person kept two normal forms apart.
    pub(super) fn are_apart(&self, one: &str, other: &str) -> bool {
        self.apart.contains(&(one.min(other).to_owned(), one.max(other).to_owned()))
    }

    fn tidy(&mut self, before: &BTreeMap<String, ConfirmedLine>) -> bool {
        self.lines.retain(|_, line| line.is.is_some() || !line.not.is_empty());
        self.index();
        self.lines != *before
    }

    fn index(&mut self) {
        (self.joined, self.chosen, self.apart) = Default::default();
        for (name, line) in &self.lines {
            let mine = key(name);
            if let Some(is) = &line.is {
                let target = key(is);
                self.chosen.insert(target.clone(), is.clone());
                self.joined.insert(mine.clone(), target);
            }
            for other in line.not.iter().map(|other| key(other)) {
                self.apart.insert((mine.clone().min(other.clone()), mine.clone().max(other)));
            }
        }
    }
}

fn key(name: &str) -> String {
    NormalName::of(name).key.to_string()
}
