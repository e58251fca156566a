//! Statements: the comparable parts of a memory, a draft or a proposed text.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use super::clause::{Clause, clauses};
use super::words::Words;
use crate::kind::Kind;
use crate::memory::Memory;

/// Words that indicate that a statement replaces an earlier statement.
static REPLACES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:replac\w+|instead|no longer|not .{0,20}any ?more|remov\w+|revert\w*|redesign\w*|renam\w+|switch\w*|drop(?:s|ped)?|supersed\w+|chang\w+ (?:from|to)|rather than|now|was|used to|previously)\b",
    )
});

/// The words for a removed thing: the words between "replace" and "with", after "no longer", and in similar phrases.
static REPLACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:replac(?:e[sd]?|ing)|remov(?:ed?|ing)|drop(?:ped|ping)?|no longer|instead of|rather than|(?:switch|mov)(?:ed|es|ing)? (?:away )?from|supersed(?:es|ed|ing)|gets? rid of|got rid of|the old)\s+((?:[^\x22`]|\x22[^\x22]*\x22|`[^`]*`){4,80}?)(?:\s+(?:with|by|to|in favou?r of|for|because|since|so that|which|that|from|in)\b|[.;:,(—]|$)",
    )
});

/// A verb of removal at the start of an imperative.
static BARE_VERB: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?i:remove|replace|drop|get rid of)\b"));

/// The name of a thing in quotes or as code.
static NAMED: LazyLock<Regex> = LazyLock::new(|| pattern(r#"["“`]([^"”`]{3,60})["”`]"#));

fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "the patterns are constants that tests compile")]
    Regex::new(text).expect("a constant pattern")
}

/// The comparable parts of a text.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Kind of the statement's memory.
    pub kind: Kind,
    title: String,
    body: String,
    paths: Vec<String>,
    cues: Vec<String>,
    pub(super) title_words: Words,
    /// Words of the title and the text.
    pub words: Words,
    clauses: OnceLock<Clauses>,
    gone: OnceLock<Vec<Words>>,
}

/// The clauses of a statement.
#[derive(Clone, Debug)]
pub(super) struct Clauses {
    pub(super) title: Vec<Clause>,
    pub(super) body: Vec<Clause>,
}

impl Clauses {
    /// Returns the hashes of the title's words, for finding other statements with some of these words.
    pub(super) fn title_keys(&self) -> impl Iterator<Item = u64> {
        self.title.iter().flat_map(|clause| clause.keys().hashes().iter().copied())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Clause> {
        self.title.iter().chain(&self.body)
    }
}

/// Relation of the paths of two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Both statements are about the same file.
    File,
    /// Both statements are about files in the same folder.
    Folder,
    /// The statements are about different folders.
    Elsewhere,
    /// At least one statement names no file.
    Unknown,
}

impl Statement {
    /// Makes a statement from the parts of a memory. `paths` are relative to the project's root.
    pub fn new(kind: Kind, title: &str, body: &str, paths: Vec<String>) -> Self {
        let text = format!("{title}\n{body}");
        Self {
            kind,
            paths,
            cues: Vec::new(),
            title_words: Words::of(title),
            words: Words::of(&text),
            clauses: OnceLock::new(),
            gone: OnceLock::new(),
            title: title.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Returns the title and the body.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.title, self.body)
    }

    /// Returns the query for memories near this statement: its text and its cues. The relation to neighbours is judged
    /// only by the text.
    pub(super) fn query(&self) -> String {
        format!("{}\n{}", self.text(), self.cues.join("\n"))
    }

    /// Returns the similarity of two statements, computed from their words and, if given, the cosine of their vectors.
    /// Statements with a similarity of at least 1 are neighbours.
    pub(super) fn likeness(&self, other: &Self, cosine: Option<f32>) -> f32 {
        let titles = self.title_words.overlap(&other.title_words) / super::TITLES_MIN;
        let words = titles.max(self.words.overlap(&other.words) / super::WORDS_MIN);
        cosine.map_or(words, |cosine| words.max(cosine / super::COSINE_MIN))
    }

    /// Returns the relation of the paths of two statements.
    pub fn place(&self, other: &Self) -> Place {
        fn folder(path: &str) -> &str {
            path.rsplit_once('/').map_or("", |(folder, _)| folder)
        }
        if self.paths.is_empty() || other.paths.is_empty() {
            return Place::Unknown;
        }
        if self.paths.iter().any(|path| other.paths.contains(path)) {
            return Place::File;
        }
        let is_beside =
            |path: &String| other.paths.iter().any(|other| folder(path) == folder(other));
        if self.paths.iter().any(is_beside) { Place::Folder } else { Place::Elsewhere }
    }

    /// Returns whether the statement's words indicate that it replaces an earlier state.
    pub(super) fn has_replacement_words(&self) -> bool {
        REPLACES.is_match(&self.title) || REPLACES.is_match(&self.body)
    }

    /// Returns whether the title indicates a replacement. The body is not checked, because it often mentions the past.
    pub(super) fn has_replacement_words_in_title(&self) -> bool {
        REPLACES.is_match(&self.title)
    }

    pub(super) fn clauses(&self) -> &Clauses {
        self.clauses
            .get_or_init(|| Clauses { title: clauses(&self.title), body: clauses(&self.body) })
    }

    /// Returns the words of each thing that was removed according to this statement. A quoted name is preferred.
    pub(super) fn gone(&self) -> &[Words] {
        self.gone.get_or_init(|| {
            let text = self.text();
            // "Remove all logs" at the start of a sentence is a standing instruction, not a report of a removal.
            let is_order = |at: usize| {
                let starts = text[..at].trim_end_matches([' ', '-', '*']);
                let starts = starts.is_empty() || starts.ends_with(['.', '\n', ':', ';', '!', '?']);
                starts && BARE_VERB.is_match(&text[at..])
            };
            let things = REPLACED
                .captures_iter(&text)
                .filter(|found| !found.get(0).is_some_and(|all| is_order(all.start())))
                .map(|found| found[1].to_owned());
            let words = things.map(|thing| match NAMED.captures(&thing) {
                Some(name) => Words::of(name.get(1).map_or("", |name| name.as_str())),
                None => Words::of(&thing),
            });
            words.filter(|words| !words.is_empty()).collect()
        })
    }
}

impl From<&Memory> for Statement {
    fn from(memory: &Memory) -> Self {
        let paths = memory.paths.iter().map(|path| path.path.clone()).collect();
        let cues = memory.cues.clone();
        Self { cues, ..Self::new(memory.kind, &memory.title, &memory.body, paths) }
    }
}
