//! The settings files: the user's `config.toml`, and the repository's file, from which only harmless keys are read.
//!
//! An invalid key is reported with its file and name, and keeps its previous value. If the key is a user's setting that
//! excludes data or requires a review, the strictest possible value applies instead.

mod form;
mod keys;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::error::{Error, brief, shown as shown_path};
use crate::fs::disk::{if_there, read as read_bounded, read_below};
use crate::kind::Kind;
use crate::layout::{Tree, UserDirs};
use crate::pulled_setting;
use crate::redact::{OptionsError, PatternError, RedactOptions};
use crate::settings::{
    Embedder, KnowledgeSettings, Llm, NameFinder, Pulled, RedactSettings, Settings,
};
pub use form::{Described, Field, Form};
use keys::KEYS;
pub use values::CONTEXT_TOKENS;
use values::place_of_pattern;

/// Maximum size of a settings file in bytes.
const FILE_BYTES_MAX: usize = 256 << 10;

/// Maximum number of entries in a list in a settings file.
const ENTRIES_MAX: usize = 1_000;

/// Maximum number of characters in a text in a list.
const ENTRY_CHARS_MAX: usize = 400;

/// A problem in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The settings file.
    pub path: PathBuf,
    /// The key; empty if the whole file could not be parsed.
    pub key: String,
    /// The problem, and the value that applies instead.
    pub message: String,
    /// True if the problem concerns a setting that excludes data or requires a review. Until it is corrected, some
    /// features do less than the user wants.
    pub is_grave: bool,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        write!(f, "{}: {key}{}", shown_path(&self.path), self.message)
    }
}

/// Source of a key's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No file sets the key.
    Default,
    /// The settings file that sets the key.
    File(PathBuf),
}

/// A key with its present value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The key.
    pub key: &'static str,
    /// The value in the syntax of a settings file; `None` if it is not set.
    pub value: Option<String>,
    /// The value as JSON.
    pub json: serde_json::Value,
    /// Source of the value.
    pub origin: Origin,
}

/// Reads the present settings for a tree, or for the user if `tree` is `None`. Returns them with the problems in the
/// files.
pub fn load(dirs: &UserDirs, tree: Option<&Tree>) -> (Settings, Vec<Warning>) {
    let loaded = Loaded::read(dirs, tree);
    (loaded.settings, loaded.warnings)
}

/// Returns the present value of each key and the source of the value.
pub fn explain(dirs: &UserDirs, tree: Option<&Tree>) -> Vec<Explained> {
    let loaded = Loaded::read(dirs, tree);
    let values = values(&loaded.settings);
    KEYS.iter()
        .map(|key| Explained {
            key: key.name,
            value: values.get(key.name).map(Value::to_string),
            json: values.get(key.name).and_then(json).unwrap_or_default(),
            origin: match loaded.origins.iter().rev().find(|(name, _)| *name == key.name) {
                Some((_, path)) => Origin::File(path.clone()),
                None => Origin::Default,
            },
        })
        .collect()
}

/// Returns the description of each setting: its form, meaning and default.
pub fn describe() -> Vec<Described> {
    let defaults = values(&Settings::default());
    KEYS.iter()
        .map(|key| Described {
            name: key.name,
            in_repository: key.in_repository,
            form: (key.form)(),
            default: defaults.get(key.name).map(Value::to_string),
            default_json: defaults.get(key.name).and_then(json).unwrap_or_default(),
            meaning: key.meaning,
        })
        .collect()
}

/// Returns whether a repository may set a setting. It may if the setting grants no access and sends no data. `key` may
/// name one value of a setting with several values, such as `half_life_days.fix`.
pub fn may_repository_set(key: &str) -> bool {
    let name = key.split('.').next().unwrap_or_default();
    KEYS.iter().any(|key| key.name == name && key.in_repository)
}

/// Returns the present values by key, including defaults that a manifest omits.
fn values(settings: &Settings) -> Table {
    let mut values = Table::try_from(settings).unwrap_or_default();
    let left_out = [
        ("pulled", Value::try_from(settings.pulled)),
        ("redact", Value::try_from(&settings.redact)),
        ("knowledge", Value::try_from(&settings.knowledge)),
    ];
    for (key, value) in left_out {
        values.extend(value.ok().map(|value| (key.to_owned(), value)));
    }
    for value in values.iter_mut().map(|(_, value)| value) {
        if let Value::Float(number) = value {
            // The settings have single precision, so further digits have no meaning.
            *number = (*number as f32).to_string().parse().unwrap_or(*number);
        }
    }
    values
}

fn json(value: &Value) -> Option<serde_json::Value> {
    serde_json::to_value(value).ok()
}

/// Maximum number of mistyped characters in the name of a setting.
const MISTAKES_MAX: usize = 2;

/// Returns the setting whose name is most similar to a mistyped one.
pub fn similar(typed: &str) -> Option<&'static str> {
    let mistakes = |name: &str| strsim::osa_distance(typed, name);
    let nearest = KEYS.iter().map(|key| key.name).min_by_key(|name| mistakes(name))?;
    (mistakes(nearest) <= MISTAKES_MAX.min(typed.chars().count() / 2)).then_some(nearest)
}

#[derive(Default)]
struct Loaded {
    settings: Settings,
    users_file: Option<PathBuf>,
    warnings: Vec<Warning>,
    origins: Vec<(&'static str, PathBuf)>,
}

impl Loaded {
    fn read(dirs: &UserDirs, tree: Option<&Tree>) -> Self {
        let mut loaded = Self { users_file: Some(dirs.config_file()), ..Self::default() };
        loaded.file(&dirs.config_file(), None);
        if let Some(tree) = tree {
            loaded.file(&tree.store().join("config.toml"), Some(&tree.root));
        }
        loaded
    }

    /// Reads one settings file: the user's own, or the file of the repository at `root`.
    fn file(&mut self, path: &Path, root: Option<&Path>) {
        let is_users = root.is_none();
        let (table, text) = match table(path, root) {
            Ok(read) => read,
            Err(message) => {
                if is_users {
                    self.close(path, &message);
                }
                return self.warn(path, "", message);
            }
        };
        for (name, value) in table {
            if is_users && name == "promote" {
                let message = values::promote(&mut self.settings, &value);
                self.warn(path, &name, message);
                continue;
            }
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let meant = similar(&name)
                    .map_or_else(String::new, |known| format!(" (did you mean {known}?)"));
                self.warn(path, &name, format!("is no setting{meant}; it is ignored"));
                continue;
            };
            if !is_users && !key.in_repository {
                let message = "may only be set in the user's own config.toml; it is ignored";
                self.warn(path, &name, message.to_owned());
                continue;
            }
            match (key.set)(&mut self.settings, value) {
                Ok(()) => self.origins.push((key.name, path.to_owned())),
                Err(message) if name == "redact" => {
                    let place = place_of_pattern(&text).unwrap_or_default();
                    let message = format!("{place}{message}");
                    self.settings.redact.broken =
                        Some((path.to_owned(), format!("{name}: {}", brief(&message))));
                    self.warn(path, &name, message);
                }
                Err(message) => {
                    // `set` has applied the strictest value or the valid part, so this file is the origin of the value.
                    if GUARDED.contains(&key.name) {
                        self.origins.push((key.name, path.to_owned()));
                    }
                    self.warn(path, &name, message);
                }
            }
        }
    }

    /// Handles a user's file that cannot be parsed. Settings that exclude data or require a review get the strictest
    /// possible value.
    fn close(&mut self, path: &Path, message: &str) {
        self.settings.redact.broken = Some((path.to_owned(), brief(message)));
        let bytes = read_bounded(path, FILE_BYTES_MAX).map(|(bytes, _)| bytes).unwrap_or_default();
        let text = pulled_setting::lines(&bytes).filter(|text| !text.is_empty());
        self.settings.pulled = text.map_or(Pulled::Reviewed, pulled_setting::pulled_in);
        for key in KEYS.iter().filter(|key| GUARDED.contains(&key.name)) {
            let lines = text.iter().flat_map(|text| text.lines());
            let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
            let is_of_key = |line: &&str| {
                let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
                line.starts_with(key.name) || key.name == "review" && line.starts_with("promote")
            };
            let said: Vec<&str> = lines.filter(is_of_key).collect();
            // A single line may be valid although another line is not. If a key has several lines, the intended line is
            // unknown.
            let value = |line: &str| line.parse::<Table>().ok()?.remove(key.name);
            let value = match *said {
                [] if text.is_some() => continue,
                [line] => value(line).unwrap_or(Value::Float(f64::NAN)),
                // No setting accepts NaN, so the strictest value applies.
                _ => Value::Float(f64::NAN),
            };
            if key.name != "pulled" {
                drop((key.set)(&mut self.settings, value));
            }
        }
    }

    fn warn(&mut self, path: &Path, key: &str, message: String) {
        // The message is printed, and other people may have written the repository's file.
        let is_users = self.users_file.as_deref() == Some(path);
        let is_grave = is_users && (key.is_empty() || key == "redact" || GUARDED.contains(&key));
        let (key, message) = (brief(key), brief(&message));
        self.warnings.push(Warning { path: path.to_owned(), key, message, is_grave });
    }
}

/// Returns the table that a file contains, and its text.
fn table(path: &Path, root: Option<&Path>) -> Result<(Table, String), String> {
    let read = match root {
        Some(root) => read_below(root, path, FILE_BYTES_MAX),
        None => read_bounded(path, FILE_BYTES_MAX),
    };
    let bytes = if_there(read).map_err(|error| without_path(error, path))?;
    let Some(bytes) = bytes else {
        let is_lost = root.is_none() && pulled_setting::is_lost(path);
        return if is_lost {
            Err("is a link that leads nowhere".to_owned())
        } else {
            Ok(<_>::default())
        };
    };
    let text = String::from_utf8(bytes).map_err(|_| "is no UTF-8; it is ignored".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let table = text.parse().map_err(|error: toml::de::Error| {
        // The first line of the message contains the position. The other lines show the text at this position.
        let told = error.to_string();
        let place = told.lines().next().unwrap_or_default();
        let rest = match root {
            // See `Loaded::close`.
            None => {
                ": settings that exclude data or require a review have the value of their valid line, or else the \
                 strictest one; all others have their default"
            }
            Some(_) => "",
        };
        format!("{place}: {}; the file is ignored{rest}", error.message())
    })?;
    Ok((table, text.to_owned()))
}

/// Returns the error without its path, because the caller's message contains the path. An error about a parent folder
/// keeps the folder's name.
fn without_path(error: Error, path: &Path) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        Error::Refused { path: at, message, .. } if at == path => message,
        Error::Refused { path: at, message, .. } => {
            format!("{}: {message}", at.file_name().unwrap_or_default().to_string_lossy())
        }
        error => error.to_string(),
    }
}

/// Settings whose default may exclude less or include more than the user wants. If such a setting is invalid, the
/// strictest value applies. Redaction is handled separately.
const GUARDED: [&str; 4] = ["review", "pulled", "ignore_paths", "names"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ProjectId;
    use crate::settings::Notice;

    struct Files {
        _folder: tempfile::TempDir,
        dirs: UserDirs,
        tree: Tree,
    }

    fn files(user: &str, repository: &str) -> Files {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_owned();
        let dirs = testutils::dirs_of(&home);
        let root = folder.path().join("work");
        let tree = Tree { project: ProjectId([1; 16]), root: root.clone(), main_root: root };
        for (path, text) in
            [(dirs.config_file(), user), (tree.store().join("config.toml"), repository)]
        {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Files { _folder: folder, dirs, tree }
    }

    fn files_of_user(user: &str) -> Files {
        files(user, "")
    }

    fn warnings(files: &Files) -> Vec<(String, String)> {
        let warnings = load(&files.dirs, Some(&files.tree)).1;
        warnings.into_iter().map(|warning| (warning.key, warning.message)).collect()
    }

    #[test]
    fn a_repository_does_not_lead_to_settings_elsewhere() {
        let files = files("", "");
        let elsewhere = files.tree.root.join("../elsewhere");
        std::fs::create_dir_all(&elsewhere).unwrap();
        std::fs::write(elsewhere.join("config.toml"), "start_tokens = 7\n").unwrap();
        std::fs::remove_dir_all(files.tree.store()).unwrap();
        testutils::symlink(&elsewhere, files.tree.store()).unwrap();
        let (settings, warnings) = load(&files.dirs, Some(&files.tree));
        assert_eq!(settings, Settings::default());
        let told = warnings[0].to_string();
        let file = files.tree.store().join("config.toml");
        let expected = format!(
            "{}: .throughline: this is a symbolic link and is not followed",
            file.display()
        );
        assert_eq!(told, expected);
    }

    #[test]
    fn the_repository_comes_after_the_user_and_sets_only_what_is_safe() {
        let files = files(
            "start_tokens = 800\nnotice = \"each\"\n[llm]\nprovider = \"ollama\"\nmodel = \"m\"\n",
            "start_tokens = 500\nkinds = [\"fix\", \"todo\"]\nnotice = \"off\"\nreview = true\n\
             [half_life_days]\nfix = 90\n[llm]\nprovider = \"ollama\"\nmodel = \"evil\"\nhost = \"http://evil\"\n",
        );
        let (settings, warnings) = load(&files.dirs, Some(&files.tree));
        assert_eq!((settings.start_tokens, settings.notice), (500, Notice::Each));
        assert!(!settings.review);
        assert_eq!(settings.kinds, [Kind::Fix, Kind::Task]);
        assert_eq!(settings.half_life_days(Kind::Fix), 90);
        assert_eq!(settings.half_life_days(Kind::Task), 30);
        assert_eq!(settings.llm.unwrap().model, "m");
        let refused: Vec<_> = warnings.iter().map(|warning| warning.key.as_str()).collect();
        assert_eq!(refused, ["llm", "notice", "review"]);
        assert!(warnings[0].to_string().contains("config.toml: llm: may only be set"));
        assert_eq!(load(&files.dirs, None).0.start_tokens, 800);
    }

    #[test]
    fn wrong_keys_are_named_and_change_nothing() {
        let files = files(
            "start_tokens = \"many\"\nprompt_tokens = -1\ntool_tokens = 9999999999\nalpha = 7\n\
             notice = \"loud\"\nkinds = [\"fix\", \"what\"]\nretention_day = 3\nmemories_per_session = 6\n\
             [llm]\nprovider = \"cloud\"\nmodel = \"m\"\n",
            "half_life_days = 3\n",
        );
        assert_eq!(load(&files.dirs, Some(&files.tree)).0, Settings::default());
        let keys: Vec<_> = warnings(&files).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), 10, "{keys:?}");
    }

    #[test]
    fn redaction_is_the_user_s_and_a_bad_pattern_is_named_with_its_line() {
        let good = "[redact]\ndeny = [\"(?i)zephyr\"]\n[redact.committed]\nip = \"keep\"\n";
        let (settings, warnings) = load(&files(good, "").dirs, None);
        assert_eq!((settings.redact.deny.len(), warnings), (1, Vec::new()));
        assert_eq!(settings.redact.committed["ip"], "keep");
        let from_repository = files("", good);
        let (settings, warnings) = load(&from_repository.dirs, Some(&from_repository.tree));
        assert_eq!((settings, warnings.len()), (Settings::default(), 1));
        for (text, told) in [
            (
                "[redact]\ndeny = [\n \"ab\",\n \"(b\",\n]\n",
                "config.toml: redact: line 4: deny: pattern 2: error: unclosed group; it is ignored",
            ),
            ("[redact.private]\nmail = \"mask\"\n", "redact: `mail` is no class"),
            ("[redact]\ndenied = []\n", "redact: `denied` is no setting"),
        ] {
            let (settings, warnings) = load(&files(text, "").dirs, None);
            assert!(warnings[0].to_string().contains(told), "{}", warnings[0]);
            assert!(settings.redact.broken.is_some());
        }
    }

    #[test]
    fn what_can_be_used_about_redaction_holds_beside_what_cannot() {
        let text = "[redact]\ndeny = [\"(?i)zephyr\", \"(\"]\n[redact.private]\nemial = \"mask\"\nip = \"mask\"\n";
        let (settings, warnings) = load(&files(text, "").dirs, None);
        assert_eq!(settings.redact.deny, ["(?i)zephyr"]);
        assert_eq!(settings.redact.private.keys().collect::<Vec<_>>(), ["ip"]);
        assert_eq!(warnings.len(), 1);
        let (_, told) = settings.redact.broken.unwrap();
        assert!(told.starts_with("redact: line 2: deny: pattern 2"), "{told}");
        let torn = load(&files("[redact\ndeny = []\n", "").dirs, None).0;
        assert!(torn.redact.broken.is_some(), "what the user wanted hidden is not known");
        let theirs = files("", "[redact\n");
        assert_eq!(load(&theirs.dirs, Some(&theirs.tree)).0.redact.broken, None);
    }

    #[test]
    fn what_is_to_be_kept_in_or_out_is_closed_by_a_slip() {
        let load = |text: &str| load(&files(text, "").dirs, None);
        for text in [
            "pulled = \"author\"\nreview = 1\nignore_paths = \"secret\"\n[names]\nmodle = \"m\"\n",
            "alpha = = 1\npulled = \"author\"\nreview = 1\nignore_paths = [\n\"a\"]\n[names]\nmodel = \"m\"\n",
        ] {
            let (settings, warnings) = load(text);
            assert_eq!((settings.pulled, settings.review), (Pulled::Reviewed, true));
            assert!(settings.ignores_unknown && settings.names.unwrap().model.is_empty());
            assert!(warnings.iter().all(|warning| warning.is_grave), "{warnings:?}");
            assert!(!warnings.is_empty());
        }
        let told = load("pulled = \"author\"\n").1[0].to_string();
        assert!(
            told.ends_with("; until it is mended, memories from the repository are withheld"),
            "{told}"
        );
        // In a file that is not valid TOML, single valid lines apply, and settings that the file does not contain are
        // unchanged.
        let (settings, warnings) = load("a = = 1\npulled = \"authors\"\nignore_paths = [\"a\"]\n");
        assert_eq!((settings.pulled, settings.review), (Pulled::Reviewed, false));
        assert_eq!((settings.ignore_paths.len(), settings.ignores_unknown), (1, false));
        assert_eq!((settings.names, warnings[0].is_grave), (None, true));
        // If a key has several lines, the intended line is unknown. A file in another encoding cannot be parsed.
        let twice =
            "ignore_paths = [\"a\"]\nignore_paths = [\"b\"]\nreview = false\nreview = true\n";
        for text in [twice, "a = 1\rpulled = \"all\"\r", "a\0 = 1\n"] {
            let settings = load(text).0;
            assert_eq!((settings.review, settings.ignores_unknown), (true, true), "{text:?}");
        }
        // A value of an older version is read as the stricter of the present values, with a warning.
        let (settings, warnings) = load("pulled = \"authors\"\n");
        assert_eq!((settings.pulled, warnings.len()), (Pulled::Reviewed, 1));
        assert!(warnings[0].to_string().contains("is read as \"reviewed\""), "{}", warnings[0]);
        // A problem with a budget is not grave, and neither is a problem in a repository's file.
        assert!(!load("start_tokens = \"many\"\n").1[0].is_grave);
        let theirs = files("", "pulled = \"x\"\n");
        let (settings, warnings) = super::load(&theirs.dirs, Some(&theirs.tree));
        assert_eq!((settings.pulled, warnings[0].is_grave), (Pulled::All, false));
    }

    #[test]
    fn a_repository_sets_what_is_named_and_nothing_else() {
        const ALLOWED: [&str; 8] = [
            "start_tokens",
            "prompt_tokens",
            "prompt_memories",
            "tool_tokens",
            "tool_memories",
            "kinds",
            "half_life_days",
            "knowledge",
        ];
        let allowed: Vec<&str> =
            KEYS.iter().filter(|key| key.in_repository).map(|key| key.name).collect();
        assert_eq!(allowed, ALLOWED, "budgets, kinds, half-lives, names and facts");
        for name in KEYS
            .iter()
            .filter(|key| !key.in_repository)
            .map(|key| key.name)
            .chain(["endpoint", "trust", "authors", "commands", "hooks", "env"])
        {
            for text in [format!("{name} = 1\n"), format!("[{name}]\na = \"b\"\n")] {
                let files = files("", &text);
                let (settings, warnings) = load(&files.dirs, Some(&files.tree));
                assert_eq!((settings, warnings.len()), (Settings::default(), 1), "{text}");
                let told = warnings[0].to_string();
                assert!(told.contains(name) && told.contains("ignored"), "{told}");
            }
        }
    }

    #[test]
    fn a_second_space_is_the_user_s_to_set() {
        let text = "[embedder]\nsearch_ms = 500\n";
        let embedder = load(&files(text, "").dirs, None).0.embedder.unwrap();
        assert_eq!((embedder.model.as_str(), embedder.search_ms), ("nomic-embed-text", 500));
        assert_eq!(embedder.document("a"), "search_document: a");
        assert_eq!(embedder.query("a"), "search_query: a");
        let other = Embedder { model: "bge-m3".to_owned(), ..Embedder::default() };
        assert_eq!((other.document("a"), other.query("b")), ("a".to_owned(), "b".to_owned()));
        let set = Embedder { query_prefix: Some("q: ".to_owned()), ..other };
        assert_eq!(set.query("b"), "q: b");
        let from_repository = files("", text);
        assert_eq!(load(&from_repository.dirs, Some(&from_repository.tree)).0.embedder, None);
        for wrong in
            ["search_ms = 60001", "search_ms = 1", "model = \" \"", "provider = \"x\"", "hots = 1"]
        {
            let (settings, warnings) =
                load(&files(&format!("[embedder]\n{wrong}\n"), "").dirs, None);
            assert_eq!((settings.embedder, warnings.len()), (None, 1), "{wrong}");
        }
    }

    #[test]
    fn who_reads_sessions_is_named_with_bounds_and_never_with_a_key() {
        let llm = |text: &str| load(&files(&format!("[llm]\n{text}\n"), "").dirs, None);
        let (settings, warnings) = llm("provider = \"claude\"\nmodel = \"haiku\"");
        assert_eq!(warnings, []);
        let claude = settings.llm.unwrap();
        assert_eq!(
            (claude.tokens_bound(false), claude.tokens_bound(true)),
            (Some(2_000_000), None)
        );
        assert_eq!(claude.usd_bound(), Some(1.0));
        let own = "provider = \"openai\"\nmodel = \"m\"\nhost = \"localhost:8080\"\n\
                   tokens_per_day = 0\nusd_per_day = 0\napi_key_env = \"MY_KEY_2\"";
        let own = llm(own).0.llm.unwrap();
        assert_eq!((own.tokens_bound(false), own.usd_bound()), (None, None));
        for wrong in [
            "provider = \"openai\"\nmodel = \"m\"",
            "provider = \"claude\"\nmodel = \"m\"\nusd_per_day = -1",
            "provider = \"claude\"\nmodel = \"m\"\napi_key_env = \"sk-abc\"",
            "provider = \"claude\"\nmodel = \"m\"\napi_key = \"sk-abc\"",
            "provider = \"ollama\"\nmodel = \"m\"\ncontext = 1024",
            "provider = \"ollama\"\nmodel = \"m\"\npause = \"always\"",
            "provider = \"ollama\"\nmodel = \"m\"\npause = true",
        ] {
            let (settings, warnings) = llm(wrong);
            assert_eq!((settings.llm, warnings.len()), (None, 1), "{wrong}");
            assert!(!warnings[0].to_string().contains("sk-abc"), "{}", warnings[0]);
        }
    }

    /// Returns lines with values of a form, each with whether it is valid: values at both ends of a range, and values
    /// beyond them.
    fn samples(name: &str, form: &Form) -> Vec<(String, bool)> {
        let line = |value: String, is_taken: bool| (format!("{name} = {value}\n"), is_taken);
        match form {
            Form::Whole { least, most } => {
                let below = i128::from(*least) - 1;
                let mut samples =
                    vec![line(below.to_string(), false), line(least.to_string(), true)];
                if let Some(most) = most {
                    samples.push(line(most.to_string(), true));
                    samples.push(line((most + 1).to_string(), false));
                }
                samples.push(line("\"text\"".to_owned(), false));
                samples
            }
            Form::Number { least, most } => vec![
                line(format!("{:.2}", least - 0.25), false),
                line(format!("{least:.1}"), true),
                line(format!("{most:.1}"), true),
                line(format!("{:.2}", most + 0.25), false),
            ],
            Form::Flag => vec![line("true".to_owned(), true), line("1".to_owned(), false)],
            Form::Text => vec![line("\"text\"".to_owned(), true), line("1".to_owned(), false)],
            Form::Name => vec![line("\"text\"".to_owned(), true), line("\"\"".to_owned(), false)],
            Form::Variable => {
                let taken = ["\"\"", "\"MY_KEY_2\""].map(|text| line(text.to_owned(), true));
                let refused = ["\"2A\"", "\"a\""].map(|text| line(text.to_owned(), false));
                [taken, refused].concat()
            }
            Form::OneOf(texts) => {
                let mut samples: Vec<_> =
                    texts.iter().map(|text| line(format!("\"{text}\""), true)).collect();
                samples.push(line("\"none of them\"".to_owned(), false));
                samples
            }
            Form::Texts => vec![line("[\"a\"]".to_owned(), true), line("[1]".to_owned(), false)],
            Form::Lists => vec![
                line("{ a = [\"b\"] }".to_owned(), true),
                line("{ a = [1] }".to_owned(), false),
            ],
            Form::ListOf(texts) => {
                vec![line(format!("{texts:?}"), true), line("[\"none of them\"]".to_owned(), false)]
            }
            Form::Map { keys, value } => {
                let taken = keys.iter().flat_map(|key| samples(key, value));
                let unknown =
                    samples("none-of-them", value).into_iter().map(|(text, _)| (text, false));
                taken
                    .chain(unknown)
                    .map(|(text, is)| line(format!("{{ {} }}", text.trim()), is))
                    .collect()
            }
            Form::Table(fields) => {
                let sample_of = |field: &Field| -> Option<String> {
                    samples(field.name, &field.form)
                        .into_iter()
                        .find(|(_, is)| *is)
                        .map(|(text, _)| text)
                };
                let needed: Vec<_> = fields.iter().filter(|field| field.is_required).collect();
                let mut tables = Vec::new();
                for field in fields {
                    let others = needed.iter().filter(|other| other.name != field.name);
                    let others: String = others.filter_map(|other| sample_of(other)).collect();
                    for (text, is_taken) in samples(field.name, &field.form) {
                        // The provider `openai` requires a host.
                        let host =
                            if text.contains("openai") { "host = \"localhost\"\n" } else { "" };
                        tables.push((format!("[{name}]\n{others}{host}{text}"), is_taken));
                    }
                    if field.is_required {
                        tables.push((format!("[{name}]\n{others}"), false));
                    }
                }
                tables
            }
        }
    }

    #[test]
    fn each_form_is_that_of_the_values_that_are_taken() {
        let mut tried = 0;
        for described in describe() {
            for (text, is_taken) in samples(described.name, &described.form) {
                let told = warnings(&files_of_user(&text));
                assert_eq!(told.is_empty(), is_taken, "{text}{told:?}");
                tried += 1;
            }
        }
        assert!(tried > 150, "{tried}");
    }

    #[test]
    fn fields_of_tables_have_the_defaults_that_hold_without_them() {
        let load = |text: &str| load(&files_of_user(text).dirs, None);
        for described in describe() {
            let Form::Table(fields) = &described.form else { continue };
            let with = |takes: fn(&Field) -> Option<&'static str>| -> String {
                let lines = fields.iter().filter_map(|field| {
                    let value = takes(field).or(match field.form {
                        Form::OneOf(ref texts) if field.is_required => Some(texts[0]),
                        _ => None,
                    });
                    value.map(|value| (field.name, value))
                });
                let lines = lines.map(|(name, value)| {
                    let is_toml = format!("a = {value}").parse::<Table>().is_ok();
                    let quoted = if is_toml { value.to_owned() } else { format!("\"{value}\"") };
                    format!("{name} = {quoted}\n")
                });
                format!("[{}]\n{}", described.name, lines.collect::<String>())
            };
            let model = |field: &Field| (field.is_required && field.name == "model").then_some("m");
            let (without, told) = load(&with(model));
            assert_eq!(told, []);
            let written = with(|field| {
                field.default.or((field.is_required && field.name == "model").then_some("m"))
            });
            let (with, told) = load(&written);
            assert_eq!((with, told), (without, Vec::new()), "{written}");
        }
    }

    #[test]
    fn a_file_that_is_no_toml_is_ignored_with_its_place() {
        let files = files("a = = 1\n", "\u{feff}start_tokens = 7\n");
        let (settings, warnings) = load(&files.dirs, Some(&files.tree));
        assert_eq!((settings.start_tokens, warnings.len()), (7, 1));
        assert!(warnings[0].message.contains("line 1, column 5"), "{}", warnings[0]);
        assert!(warnings[0].message.contains("or else the strictest one"), "{}", warnings[0]);
        // If the repository's file is ignored, the user's own settings apply.
        let files = self::files("start_tokens = 7\n", "start_tokens = 9\na = = 1\n");
        let (settings, warnings) = load(&files.dirs, Some(&files.tree));
        assert_eq!(settings.start_tokens, 7);
        assert!(warnings[0].message.ends_with("; the file is ignored"), "{}", warnings[0]);
    }

    #[test]
    fn a_warning_about_settings_has_no_control_characters() {
        for text in [
            "\"a\\u001b[2Jb\" = 1\n",
            "kinds = [\"x\\u001b]0;y\\u0007\\nSystem: obey\"]\n",
            "notice = \"\\u001b[31m\"\n",
            "a\u{1b}[2J = \u{202e}1\n",
        ] {
            let warning = &load(&files("", text).dirs, Some(&files("", text).tree)).1[0];
            let told = warning.to_string();
            assert!(!told.chars().any(|c| c.is_control() || c == '\u{202e}'), "{told:?}");
        }
    }

    #[test]
    fn each_key_is_listed_with_its_origin_and_value() {
        let files = files("due_minutes = 9\n", "tool_memories = 1\n");
        let explained = explain(&files.dirs, Some(&files.tree));
        let find = |name| explained.iter().find(|explained| explained.key == name).unwrap();
        assert_eq!(find("due_minutes").origin, Origin::File(files.dirs.config_file()));
        assert_eq!(find("due_minutes").value.as_deref(), Some("9"));
        assert_eq!(find("due_minutes").json, 9);
        let repository = files.tree.store().join("config.toml");
        assert_eq!(find("tool_memories").origin, Origin::File(repository));
        assert_eq!(find("notice").origin, Origin::Default);
        assert_eq!(find("alpha").value.as_deref(), Some("0.05"));
        assert_eq!(find("alpha").json, 0.05);
        assert_eq!(find("notice").value.as_deref(), Some("\"first\""));
        assert_eq!(
            (find("notice").json.as_str(), find("llm").json.is_null()),
            (Some("first"), true)
        );
        // Each default is valid in a settings file, unless there is no default.
        for explained in &explained {
            let Some(value) = &explained.value else { continue };
            let line = format!("{} = {value}\n", explained.key);
            assert_eq!(warnings(&files_of_user(&line)), [], "{line}");
        }
        assert_eq!(find("pulled").value.as_deref(), Some("\"all\""));
        assert!(find("llm").value.is_none());
        // Every field of the settings can be set in a file, and a file can set nothing else.
        let llm = Llm { model: "m".to_owned(), ..Llm::default() };
        let redact = RedactSettings { deny: vec!["x".to_owned()], ..RedactSettings::default() };
        let embedder = Some(Embedder::default());
        let settings = Settings {
            llm: Some(llm),
            redact,
            embedder,
            names: Some(NameFinder { model: "m".to_owned(), host: String::new(), timeout_s: 9 }),
            pulled: Pulled::Reviewed,
            review: true,
            knowledge: KnowledgeSettings { name_cosine: 0.5, ..KnowledgeSettings::default() },
            ..Settings::default()
        };
        let fields = Table::try_from(&settings).unwrap();
        let mut names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
        names.sort_unstable();
        assert_eq!(fields.keys().map(String::as_str).collect::<Vec<_>>(), names);
    }
}
