//! Completion of values in a shell: ids of memories and sessions with their titles, tags, and names and values of
//! settings.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use memory_store::settings_file::{self, Form};
use memory_store::short_session;

use crate::sessions::{PastSession, PastSessions};
use crate::stores::Stores;
use crate::view::changes::line;
use crate::view::wrap::cut;
use crate::world::World;

/// The variable with which a completion script requests candidates.
pub const VARIABLE: &str = "THROUGHLINE_COMPLETE";
/// Columns of a title after an id.
const TITLE_COLUMNS: usize = 60;
/// Maximum values offered; of more ids, the newest ones are offered.
const IDS_MAX: usize = 500;
/// Maximum characters of a value from a file.
const VALUE_CHARS_MAX: usize = 100;

/// Completes the id of a memory that counts.
pub fn ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| memories(current, false))
}

/// Completes the id of an archived or deleted memory.
pub fn removed_ids() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| memories(current, true))
}

/// Completes the id of a session.
pub fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some(stores) = stores() else { return Vec::new() };
        let sessions = PastSessions::open(&stores);
        let candidate = |session: &PastSession| {
            let help = StyledStr::from(cut(&line(&session.subject()), TITLE_COLUMNS));
            Some(candidate(short_session(&session.session))?.help(Some(help)))
        };
        sessions.iter().filter_map(|(session, _)| candidate(session)).take(IDS_MAX).collect()
    })
}

/// Completes a tag of a memory.
pub fn tags() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let typed = current.to_string_lossy();
        let listing = stores().and_then(|stores| stores.list().ok()).unwrap_or_default();
        let tags: BTreeSet<String> =
            listing.memories.into_iter().flat_map(|stored| stored.memory.tags).collect();
        let fitting = tags.iter().filter(|tag| tag.starts_with(&*typed));
        fitting.filter_map(|tag| candidate(tag)).take(IDS_MAX).collect()
    })
}

/// Returns the candidate for a value from a file; `None` if it contains characters other than letters, digits and
/// `-_./`. Strangers may have written the file, and a shell inserts the value unquoted: with `$(` or a line break in
/// the value, Enter would run a command.
fn candidate(value: &str) -> Option<CompletionCandidate> {
    let is_inert = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    // A shell would treat a value that begins with a dash as an option.
    let is_safe = !value.is_empty()
        && !value.starts_with('-')
        && value.chars().all(is_inert)
        && value.chars().count() <= VALUE_CHARS_MAX;
    is_safe.then(|| CompletionCandidate::new(value.to_owned()))
}

/// Completes the value of the setting whose name precedes the value.
pub fn setting_values() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut words = typed_words().map(|word| word.to_string_lossy().into_owned());
        let key = words
            .find(|word| word == "set")
            .and_then(|_| words.find(|word| !word.starts_with('-')));
        let mut names = key.iter().flat_map(|key| key.split('.'));
        let form = names.next().and_then(|first| {
            let described = settings_file::describe().into_iter().find(|it| it.name == first)?;
            names.try_fold(described.form, within)
        });
        let values: Vec<&str> = match form {
            Some(Form::Flag) => vec!["true", "false"],
            Some(Form::OneOf(values)) => values,
            _ => Vec::new(),
        };
        values.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// Returns the form of a member of a setting.
fn within(form: Form, name: &str) -> Option<Form> {
    match form {
        Form::Map { keys, value } => keys.contains(&name).then_some(*value),
        Form::Table(fields) => fields.into_iter().find(|it| it.name == name).map(|it| it.form),
        _ => None,
    }
}

/// Completes the name of a setting.
pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Ok(world) = World::read(folder().as_deref()) else { return Vec::new() };
        let mut names = Vec::new();
        for explained in settings_file::explain(&world.dirs, None) {
            names.push(explained.key.to_owned());
            let inner = explained.json.as_object().into_iter().flat_map(|inner| inner.keys());
            names.extend(inner.map(|name| format!("{}.{name}", explained.key)));
        }
        names.iter().filter_map(|name| candidate(name)).collect()
    })
}

/// Returns the memories whose short id begins with the typed text; none if the stores cannot be read.
fn memories(current: &OsStr, are_removed: bool) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy().to_lowercase();
    let Some(stores) = stores() else { return Vec::new() };
    let mut found: Vec<(memory_store::MemoryId, String)> = Vec::new();
    if are_removed {
        for store in stores.both() {
            let archived = store.archived().map(|listing| listing.memories).unwrap_or_default();
            found.extend(archived.into_iter().map(|it| (it.memory.id, it.memory.title)));
            let gone = store.tombstones().unwrap_or_default();
            found.extend(gone.into_iter().map(|tombstone| (tombstone.id, tombstone.title)));
        }
    } else if let Ok(listing) = stores.list() {
        found.extend(listing.memories.into_iter().map(|it| (it.memory.id, it.memory.title)));
    }
    // The ids sort by time, so the newest memory is first.
    found.sort_by(|a, b| b.cmp(a));
    found.dedup_by_key(|(id, _)| *id);
    let candidates = found.into_iter().filter_map(|(id, title)| {
        let short = id.short();
        let help = StyledStr::from(cut(&line(&title), TITLE_COLUMNS));
        short
            .to_lowercase()
            .starts_with(&typed)
            .then(|| CompletionCandidate::new(short).help(Some(help)))
    });
    candidates.take(IDS_MAX).collect()
}

/// Opens the stores, if they can be read.
fn stores() -> Option<Stores> {
    Stores::open(&World::read(folder().as_deref()).ok()?).ok()
}

/// Returns the words of the command line that is completed.
fn typed_words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(1)
}

/// Returns the folder in the option `-C` or `--project` of the command line.
fn folder() -> Option<PathBuf> {
    let mut words = typed_words();
    while let Some(word) = words.next() {
        if word == "-C" || word == "--project" {
            return words.next().map(PathBuf::from);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_shell_would_interpret_are_not_offered() {
        for value in ["build", "src/price.rs", "v1.2_b-c", "käse", &"a".repeat(VALUE_CHARS_MAX)] {
            let offered = candidate(value).map(|it| it.get_value().to_owned());
            assert_eq!(offered.as_deref(), Some(OsStr::new(value)));
        }
        for value in [
            "",
            "-y",
            "a b",
            "a$(touch X)",
            "a`touch X`",
            "a;b",
            "a&b",
            "a|b",
            "a>b",
            "a'b",
            "a\"b",
            "a\\b",
            "~root",
            "a*",
            "a{b,c}",
            "!1",
            "#a",
            "a\nb",
            "a\tb",
            "a\u{1b}[2Jb",
            "a\u{202e}b",
            "a\u{a0}b",
            &"a".repeat(VALUE_CHARS_MAX + 1),
        ] {
            assert!(candidate(value).is_none(), "{value:?}");
        }
    }
}
