//! Predicates. Words for the same relation form a group, which determines how many values are true at a time.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::settings::KnowledgeSettings;
use crate::text::folded;

/// Groups of predicates, without auxiliary verbs. Settings can add and replace groups.
pub const GROUPS: [(&str, &[&str]); 27] = [
    ("calls", &["call", "invokes", "talks to", "connects to", "queries", "sends requests to"]),
    ("causes", &["cause", "leads to", "breaks", "triggers", "results in"]),
    ("configured_by", &["configured in", "configured with", "set in", "controlled by"]),
    ("contains", &["includes", "comprises", "consists of", "holds"]),
    ("default", &["defaults to", "by default", "has default", "default value"]),
    (
        "depends_on",
        &[
            "uses",
            "used",
            "using",
            "must use",
            "should use",
            "requires",
            "required",
            "needs",
            "imports",
            "depends upon",
            "relies on",
            "builds on",
            "built on",
            "built with",
            "based on",
            "links against",
        ],
    ),
    (
        "deployed_with",
        &["deploys with", "deployed by", "deployed via", "deploys via", "deployed using"],
    ),
    ("fixed_by", &["solved by", "resolved by", "cured by"]),
    ("forbids", &["avoids", "bans", "prohibits"]),
    (
        "format",
        &["formatted as", "encoded as", "represented as", "kept as", "stored as", "serialized as"],
    ),
    ("language", &["written in", "implemented in", "programmed in"]),
    ("licence", &["license", "licensed under"]),
    ("limit", &["limited to", "maximum", "max", "at most"]),
    (
        "located_in",
        &["located at", "lies in", "lies at", "path", "defined in", "found in", "at path"],
    ),
    ("named", &["called", "renamed to", "name"]),
    ("owned_by", &["maintained by", "owner", "belongs to team"]),
    ("part_of", &["belongs to", "component of", "module of", "inside"]),
    (
        "port",
        &["listens on", "listens on port", "on port", "served on port", "runs on port", "binds to"],
    ),
    ("provides", &["exposes", "offers", "exports", "serves", "implements"]),
    ("reads_from", &["reads", "subscribes to", "fetches from", "loads from", "consumes"]),
    ("replaced_by", &["replaced with", "superseded by", "migrated to", "moved to"]),
    ("runs_on", &["hosted on", "deployed to", "deployed on", "runs in", "hosted in"]),
    ("schedule", &["runs every", "runs at", "scheduled", "scheduled at", "happens at"]),
    ("status", &["state", "has status", "has state"]),
    (
        "stored_in",
        &[
            "kept in",
            "saved in",
            "stores in",
            "persists to",
            "persisted in",
            "lives in",
            "live in",
            "storage",
            "database",
            "uses database",
            "stores data in",
        ],
    ),
    ("tested_by", &["covered by", "tested with", "checked by"]),
    ("value", &["set to", "equals", "has value", "configured to"]),
];

/// Group of versions. It also applies to the version in an object: `tokio, version 1.38`.
pub const VERSION: &str = "version";

const VERSION_WORDS: [&str; 6] =
    ["has version", "at version", "pinned to", "pinned to version", "pinned at", "on version"];

/// Auxiliary verbs and adverbs that may precede the verb.
const AUXILIARIES: [&str; 17] = [
    "is",
    "are",
    "was",
    "were",
    "be",
    "been",
    "being",
    "has",
    "have",
    "had",
    "do",
    "does",
    "did",
    "currently",
    "now",
    "still",
    "will",
];

/// Words that negate a predicate; `no longer` consists of two of them.
const NEGATIONS: [&str; 8] =
    ["not", "never", "no", "longer", "isn't", "doesn't", "aren't", "don't"];

/// A predicate, resolved to its group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Predicate {
    /// Name of the group, or the predicate's own words if it is in no group.
    pub group: Arc<str>,
    /// True if the predicate negates the statement.
    pub is_negated: bool,
    /// True if only one value is true at a time.
    pub is_single: bool,
}

/// The predicate groups in use.
#[derive(Clone, Debug)]
pub struct Predicates {
    groups: HashMap<String, String>,
    single: BTreeSet<String>,
    /// Cache of resolved predicates. Memories repeat the same few.
    read: RefCell<HashMap<String, Predicate>>,
}

impl Predicates {
    /// Returns the default groups, with the additions and replacements of the settings.
    pub fn of(settings: &KnowledgeSettings) -> Self {
        let mut groups = HashMap::new();
        let mut add = |group: &str, words: &mut dyn Iterator<Item = &str>| {
            let group = folded_words(group).join("_");
            let own = group.replace('_', " ");
            for word in words.map(str::to_owned).chain([own]) {
                let (words, _) = main_words(&word);
                groups.insert(words.join(" "), group.clone());
            }
        };
        for (group, words) in GROUPS {
            if !settings.predicates.contains_key(group) {
                add(group, &mut words.iter().copied());
            }
        }
        add(VERSION, &mut VERSION_WORDS.iter().copied());
        for (group, words) in &settings.predicates {
            add(group, &mut words.iter().map(String::as_str));
        }
        let single = settings.one_value.iter().map(|group| folded_words(group).join("_"));
        Self { groups, single: single.collect(), read: RefCell::default() }
    }

    /// Resolves a predicate as written in a fact.
    pub fn read(&self, text: &str) -> Predicate {
        if let Some(known) = self.read.borrow().get(text) {
            return known.clone();
        }
        let predicate = self.resolve(text);
        self.read.borrow_mut().insert(text.to_owned(), predicate.clone());
        predicate
    }

    fn resolve(&self, text: &str) -> Predicate {
        let (words, is_negated) = main_words(text);
        let known = |words: &[String]| self.groups.get(&words.join(" ")).cloned();
        let mut plain = words.clone();
        // "requires" equals "require", and "listens on" equals "listen on".
        let singular = plain.first().map(|first| match first.strip_suffix('s') {
            Some(stem) if !stem.ends_with('s') => stem.to_owned(),
            _ => format!("{first}s"),
        });
        let group = known(&words).or_else(|| {
            *plain.first_mut()? = singular?;
            known(&plain)
        });
        let group = group.unwrap_or_else(|| words.join("_"));
        let is_single = self.single.contains(&group);
        Predicate { group: group.into(), is_negated, is_single }
    }
}

fn folded_words(text: &str) -> Vec<String> {
    let text = folded(text).to_lowercase().replace(['_', '-'], " ");
    text.split_whitespace().map(|word| word.trim_matches(['"', '`', '.', ':']).to_owned()).collect()
}

/// Returns the words of a predicate without negations and auxiliary verbs, unless there are no others. Also returns
/// whether the predicate is negated.
fn main_words(text: &str) -> (Vec<String>, bool) {
    let words = folded_words(text);
    let is_in = |list: &[&str], word: &String| list.contains(&word.as_str());
    let is_negated = words.iter().any(|word| is_in(&NEGATIONS, word));
    let mut main = words.clone();
    main.retain(|word| !is_in(&NEGATIONS, word));
    let content: Vec<String> =
        main.iter().filter(|word| !is_in(&AUXILIARIES, word)).cloned().collect();
    let main = match content.is_empty() {
        true => main.first().map(|_| "is".to_owned()).into_iter().collect(),
        false => content,
    };
    (main, is_negated)
}
