//! Queries about a tool call that has not run yet: the commands of a command line, and the names that an edit or an
//! installation adds to a project.

use memory_store_base::text::{self, Form};

use crate::query::Query;
use crate::signature::{normalise_command, shell};

/// Maximum number of bytes of a new text that are searched for names.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Maximum number of names.
const NAMES_MAX: usize = 32;
/// Minimum number of bytes of a name. Shorter ones have too many meanings.
const NAME_BYTES_MIN: usize = 3;
/// Maximum number of words of a command that are compared with a command in a memory.
const WORDS_MAX: usize = 6;

/// Verbs that add a dependency, for each package manager.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("cargo", &["add", "install"]),
    ("npm", &["install", "i", "add"]),
    ("pnpm", &["add", "install", "i"]),
    ("yarn", &["add"]),
    ("bun", &["add", "install"]),
    ("pip", &["install"]),
    ("pip3", &["install"]),
    ("uv", &["add", "pip"]),
    ("poetry", &["add"]),
    ("go", &["get", "install"]),
    ("gem", &["install"]),
    ("bundle", &["add"]),
    ("composer", &["require"]),
    ("dotnet", &["add"]),
    ("brew", &["install"]),
    ("apt", &["install"]),
    ("apt-get", &["install"]),
];

/// First words of a line that imports a module.
const IMPORTS: [&str; 7] = ["import", "from", "use", "using", "require", "#include", "extern"];

/// Files that list the dependencies of a project.
const MANIFESTS: [&str; 9] = [
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "requirements.txt",
    "go.mod",
    "Gemfile",
    "composer.json",
    "pom.xml",
    "build.gradle",
];

impl Query {
    /// Parses a command line. The query has its commands, each with the commands that begin it: `cargo test -p x` also
    /// matches a memory about `cargo test`. Its terms are the dependencies that the line adds.
    pub(crate) fn command(line: &str) -> Self {
        let mut query = Self::default();
        for command in shell::split(line) {
            let normal = normalise_command(&command.words.join(" "));
            let words: Vec<&str> = normal.split(' ').collect();
            for count in (2..=words.len().min(WORDS_MAX)).rev() {
                let beginning = words[..count].join(" ");
                if !query.commands.contains(&beginning) {
                    query.commands.push(beginning);
                }
            }
            if !query.commands.contains(&normal) && words.len() > 1 {
                query.commands.push(normal.clone());
            }
            query.add_names(dependencies(&words));
        }
        query
    }

    /// Parses the new text of a file. The terms are the modules and dependencies that it names.
    pub(crate) fn new_text(path: &str, new_text: &str) -> Self {
        let new_text = &new_text[..new_text.floor_char_boundary(TEXT_BYTES_MAX)];
        let file = path.rsplit('/').next().unwrap_or(path);
        let is_manifest = MANIFESTS.contains(&file);
        let mut query = Self::default();
        for line in new_text.lines().map(str::trim_start) {
            let first =
                line.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
            let is_import =
                IMPORTS.contains(&first) || line.contains("require(") || line.contains("import(");
            if is_manifest || is_import {
                let words = line.split(|c: char| !is_of_name(c));
                query.add_names(words.filter(|word| is_manifest || *word != first));
            }
        }
        query
    }

    /// Adds names as terms. A name with a folder or a scope, as in `@scope/name`, also adds its last part.
    fn add_names<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            let last = name.rsplit('/').next().unwrap_or(name);
            for name in [name, last] {
                let mut terms = Vec::new();
                text::each_term(name, &mut |term, form| {
                    if form != Form::Part {
                        terms.push(term.to_owned());
                    }
                });
                // A name of several words is no single term.
                if let [term] = terms.as_slice()
                    && term.len() >= NAME_BYTES_MIN
                    && self.terms.len() < NAMES_MAX
                {
                    self.number(term);
                }
            }
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/' | '.')
}

/// Returns the dependencies that a normalised command adds, without versions.
fn dependencies<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let verbs = words.first().and_then(|program| {
        INSTALLERS.iter().find(|(name, _)| name == program).map(|(_, verbs)| *verbs)
    });
    let is_install =
        words.get(1).is_some_and(|verb| verbs.is_some_and(|verbs| verbs.contains(verb)));
    let names = if is_install { &words[2..] } else { &[] };
    let names: Vec<&'a str> = names.iter().filter(|word| !word.starts_with('-')).copied().collect();
    names.into_iter().map(|name| {
        let name = name.trim_matches(['"', '\'']);
        let end = name
            .char_indices()
            .skip(1)
            .find(|(_, c)| matches!(c, '@' | '=' | '<' | '>' | '~' | '['));
        &name[..end.map_or(name.len(), |(at, _)| at)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(query: &Query) -> Vec<&str> {
        query.terms.iter().map(|term| term.text.as_str()).collect()
    }

    #[test]
    fn a_command_has_its_beginnings() {
        let query = Query::command("cd x && cargo test -p y 2>&1 | tail");
        assert!(query.commands.contains(&"cargo test".to_owned()), "{:?}", query.commands);
        assert!(query.commands.contains(&"cargo test -p y".to_owned()), "{:?}", query.commands);
        assert!(!query.commands.contains(&"cargo".to_owned()));
    }

    #[test]
    fn an_installation_names_dependencies() {
        assert_eq!(
            terms(&Query::command("npm install --save moment@2.30 @scope/left-pad")).len(),
            3
        );
        assert!(terms(&Query::command("pip install 'requests>=2'")).contains(&"request"));
        assert!(terms(&Query::command("npm run build")).is_empty());
    }

    #[test]
    fn a_text_names_imports_and_dependencies() {
        let code = "import moment from 'moment';\nconst a = beautiful(moment);";
        assert_eq!(terms(&Query::new_text("src/a.ts", code)), ["moment"]);
        let manifest = "[dependencies]\nopenssl = \"0.10\"";
        assert!(terms(&Query::new_text("api/Cargo.toml", manifest)).contains(&"openssl"));
        assert!(terms(&Query::new_text("docs/a.md", "We talk about openssl here.")).is_empty());
    }
}
