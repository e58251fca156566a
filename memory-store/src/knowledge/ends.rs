//! Names that are the end of a longer name: `login.rs` of `src/auth/login.rs`, `api` of `acme/api`, `login()` of
//! `auth::login`.
//!
//! The end denotes the same thing only if it is the end of one name: two files `mod.rs` have nothing in common.

use std::collections::HashMap;

use crate::memory::{Entity, EntityType};

/// Extensions of file names. A list is needed because `Foo.bar` and `example.com` are not files.
const EXTENSIONS: [&str; 59] = [
    "adoc", "bash", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "ex", "exs", "go",
    "gradle", "h", "hpp", "hs", "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt",
    "lock", "lua", "md", "mdx", "mjs", "ml", "php", "pl", "plist", "png", "proto", "ps1", "py",
    "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svelte", "svg", "swift", "tf", "toml", "ts",
    "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
];
/// Ends of host names, which are not members of something.
const HOSTS: [&str; 8] = ["ai", "app", "com", "dev", "io", "local", "net", "org"];
/// Minimum number of characters of an end: `CI/CD` is not a long name of `cd`.
const END_CHARS_MIN: usize = 3;

/// Returns the stem and the extension of a file name; `None` if it has none of [`EXTENSIONS`].
pub(super) fn extension(name: &str) -> Option<(&str, &str)> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_known = EXTENSIONS.binary_search(&extension).is_ok();
    (is_known && !stem.is_empty() && !name.contains(char::is_whitespace))
        .then_some((stem, extension))
}

/// The parts of a name, in lower case: the folders and the name of a path, or the modules and the name of a symbol.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<String>,
    extension: Option<String>,
}

impl Parts {
    /// Splits a name; `None` for a name of several words.
    pub(super) fn of(text: &str) -> Option<Self> {
        let Entity { name, of_type } = Entity::read(text);
        let name = name.trim_matches(|c: char| "\"'`".contains(c));
        let name = name.strip_suffix("()").unwrap_or(name);
        let name = name.split_once("://").map_or(name, |(_, rest)| rest);
        let name = name.strip_prefix("./").unwrap_or(name).trim_matches('/');
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        let is_word = |part: &&str| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
        let members: Vec<&str> = last.split(['.', '#']).collect();
        let is_symbol = of_type == Some(EntityType::Symbol);
        let are_members = members.len() > 1
            && members.iter().all(is_word)
            && (is_symbol || !HOSTS.contains(&members[members.len() - 1]));
        let lower = |part: &str| part.to_lowercase();
        let (parts, extension): (Vec<String>, _) = match extension(last).filter(|_| !is_symbol) {
            Some((stem, extension)) => {
                let folders = folder.split('/').filter(|part| !part.is_empty());
                (folders.chain([stem]).map(lower).collect(), Some(extension.to_owned()))
            }
            None if !folder.is_empty() => (name.split('/').map(lower).collect(), None),
            None if name.contains("::") => (name.split("::").map(lower).collect(), None),
            None if are_members => (members.into_iter().map(lower).collect(), None),
            None => (vec![lower(name)], None),
        };
        parts.iter().all(|part| !part.is_empty()).then_some(Self { parts, extension })
    }

    /// Returns whether it has several parts or an extension, so that other names may be its ends.
    fn is_long(&self) -> bool {
        self.parts.len() > 1 || self.extension.is_some()
    }

    fn key(&self) -> String {
        let parts = self.parts.join("/");
        match &self.extension {
            Some(extension) => format!("{parts}.{extension}"),
            None => parts,
        }
    }

    /// Returns the keys of the names that denote the same thing if no other name has them as its end.
    fn ends(&self) -> impl Iterator<Item = String> {
        let ends = (0..self.parts.len()).map(|at| self.parts[at..].join("/"));
        ends.flat_map(|end| {
            let whole = self.extension.as_ref().map(|extension| format!("{end}.{extension}"));
            whole.into_iter().chain([end])
        })
    }

    fn may_be_end(&self) -> bool {
        let last = self.parts.last().map_or("", String::as_str);
        last.chars().count() >= END_CHARS_MIN && last.contains(char::is_alphabetic)
    }
}

/// Returns whether one of two names is the end of the other.
pub(super) fn is_end(one: &str, other: &str) -> bool {
    let (Some(a), Some(b)) = (Parts::of(one), Parts::of(other)) else { return false };
    let types = [one, other].map(|text| Entity::read(text).of_type);
    let is_end_of = |short: &Parts, long: &Parts| {
        let key = short.key();
        long.is_long() && short.may_be_end() && long.ends().any(|end| end == key)
    };
    (is_end_of(&a, &b) && may_be_one(types[0], (types[1], &b)))
        || (is_end_of(&b, &a) && may_be_one(types[1], (types[0], &a)))
}

/// Returns whether the type of a short name fits a long one: a service is not the file of its name.
fn may_be_one(short: Option<EntityType>, (long, parts): (Option<EntityType>, &Parts)) -> bool {
    use EntityType::{Component, Concept, File, Library, Service, Setting, Symbol, Tool};
    let is_code = parts.extension.is_some() || matches!(long, Some(File | Symbol | Setting));
    match short {
        Some(Service | Library | Tool | Concept) => !is_code,
        Some(Symbol) => parts.extension.is_none(),
        Some(File | Setting | Component) | None => true,
    }
}

/// A name with its parts and type.
pub(super) struct NamedParts<'g> {
    /// Normal form of the name.
    pub(super) key: &'g str,
    /// The parts.
    pub(super) parts: Parts,
    /// The type.
    pub(super) of_type: Option<EntityType>,
}

/// Returns the name to which each end belongs, by normal forms. `root` returns the form that a form was joined to
/// before, and `may_join` whether the first of two forms may be joined to the second.
pub(super) fn owners<'g>(
    mut names: Vec<NamedParts<'g>>,
    root: impl Fn(&'g str) -> &'g str,
    may_join: impl Fn(&str, &str) -> bool,
) -> HashMap<&'g str, &'g str> {
    let mut joined: HashMap<&str, &str> = HashMap::new();
    if names.iter().all(|name| !name.parts.is_long()) {
        return joined;
    }
    // The longest names come first, so that an end of an end belongs to the same name.
    names.sort_by(|a, b| {
        let rank = |it: &NamedParts<'_>| (it.parts.parts.len(), it.parts.extension.is_some());
        rank(b).cmp(&rank(a)).then(a.key.cmp(b.key))
    });
    // Each end with the number of the name that has it; `None` if several have.
    let mut ends: HashMap<String, Option<usize>> = HashMap::new();
    for at in 0..names.len() {
        let NamedParts { key, parts, of_type } = &names[at];
        let last_root = |key: &'g str, joined: &HashMap<&'g str, &'g str>| {
            let mut here = root(key);
            while let Some(next) = joined.get(here) {
                here = next;
            }
            here
        };
        let owner = ends.get(&parts.key()).copied().flatten().map(|owner| &names[owner]);
        let owner = owner.filter(|_| parts.may_be_end());
        if let Some(owner) = owner.filter(|it| may_be_one(*of_type, (it.of_type, &it.parts))) {
            // With a name go those that were joined to it.
            let (mine, target) = (last_root(key, &joined), last_root(owner.key, &joined));
            if target != mine && may_join(key, owner.key) && may_join(mine, target) {
                joined.insert(mine, target);
            }
        }
        if parts.is_long() {
            let mine = last_root(key, &joined);
            for end in parts.ends() {
                let known = ends.entry(end).or_insert(Some(at));
                if known.is_some_and(|other| last_root(names[other].key, &joined) != mine) {
                    *known = None;
                }
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted() {
        assert!(EXTENSIONS.is_sorted());
    }

    #[test]
    fn names_are_ends_of_longer_ones() {
        for (short, long) in [
            ("api", "acme/api"),
            ("login.rs", "src/auth/login.rs"),
            ("auth/login.rs", "./src/auth/login.rs"),
            ("login", "src/auth/login.rs"),
            ("auth::login", "src/auth/login.rs"),
            ("src/auth/", "src/auth"),
            ("auth", "src/auth/"),
            ("login()", "auth::login"),
            ("bar", "Foo.bar"),
            ("settings", "settings.py"),
            ("total()", "Cart#total"),
            ("acme/api", "https://github.com/acme/api"),
        ] {
            assert!(is_end(short, long) && is_end(long, short), "{short} {long}");
        }
        for (short, long) in [
            ("login.rs", "src/auth/login.py"),
            ("login.rs", "src/auth/prelogin.rs"),
            ("example.com", "api.example.com"),
            ("cd", "CI/CD"),
            ("redis (service)", "src/redis.rs"),
            ("api server", "acme/api"),
            ("0", "v1.0"),
        ] {
            assert!(!is_end(short, long), "{short} {long}");
        }
    }
}
