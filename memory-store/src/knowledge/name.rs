//! The normal form of a name, and the comparison of two normal forms word by word.
//!
//! Two names may refer to the same thing only if they have the same words, apart from order, plural, a usual
//! abbreviation and a misspelling. Numbers and versions count as words. All similarities in [`super::entities`] apply
//! only within this limit, because "Redis 6" and "Redis 7", or "api server" and "api gateway", are similar by every
//! measure.

use std::borrow::Cow;

use crate::memory::{Entity, EntityType};
use crate::text::{folded, rarity, term_of};

/// Other usual names of well-known things in normal form, each with the form that replaces it.
const WELL_KNOWN: [(&str, &str); 24] = [
    ("amazonwebservice", "aws"),
    ("continuousintegration", "ci"),
    ("commandlineinterface", "cli"),
    ("contentsecuritypolicy", "csp"),
    ("gha", "githubaction"),
    ("golang", "go"),
    ("googlecloudplatform", "gcp"),
    ("graphicaluserinterface", "gui"),
    ("js", "javascript"),
    ("jsonwebtoken", "jwt"),
    ("k8s", "kubernete"),
    ("kube", "kubernete"),
    ("mongo", "mongodb"),
    ("msteam", "microsoftteam"),
    ("objectrelationalmapper", "orm"),
    ("pg", "postgresql"),
    ("postgre", "postgresql"),
    ("psql", "postgresql"),
    ("py", "python"),
    ("reactjs", "react"),
    ("rabbit", "rabbitmq"),
    ("ts", "typescript"),
    ("vscode", "visualstudiocode"),
    ("vuejs", "vue"),
];

/// Usual abbreviations of words, each with the full word.
const ABBREVIATIONS: [(&str, &str); 34] = [
    ("admin", "administration"),
    ("app", "application"),
    ("arg", "argument"),
    ("cfg", "configuration"),
    ("cmd", "command"),
    ("conf", "configuration"),
    ("config", "configuration"),
    ("ctx", "context"),
    ("db", "database"),
    ("dep", "dependency"),
    ("dev", "development"),
    ("dir", "directory"),
    ("doc", "documentation"),
    ("docs", "documentation"),
    ("env", "environment"),
    ("fn", "function"),
    ("impl", "implementation"),
    ("lib", "library"),
    ("mgr", "manager"),
    ("mgmt", "management"),
    ("msg", "message"),
    ("num", "number"),
    ("param", "parameter"),
    ("perf", "performance"),
    ("pkg", "package"),
    ("prod", "production"),
    ("repo", "repository"),
    ("req", "request"),
    ("spec", "specification"),
    ("srv", "server"),
    ("svc", "service"),
    ("temp", "temporary"),
    ("tmp", "temporary"),
    ("var", "variable"),
];

/// Words that have no separate meaning in a name.
const FILLERS: [&str; 7] = ["a", "an", "for", "in", "of", "our", "the"];

/// Minimum number of letters in a word whose misspellings are recognised.
const SPELLING_CHARS_MIN: usize = 5;

/// A name in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NormalName {
    /// Key that is equal for equal names.
    pub(super) key: String,
    /// Words of the name, sorted, without fillers. Empty for a path.
    pub(super) words: Vec<String>,
    /// True for a name from code, in which every letter is significant.
    pub(super) is_exact: bool,
}

impl NormalName {
    /// Returns the normal form of a name, which may contain its type: `Redis (service)`.
    pub(super) fn of(text: &str) -> Self {
        let Entity { name, of_type } = Entity::read(text);
        let name = folded(&name);
        let name = name.trim_matches(|c: char| c.is_whitespace() || "\"'`“”«»".contains(c));
        let name = name.strip_suffix("()").unwrap_or(name);
        if name.contains('/') && !name.contains(char::is_whitespace) {
            let path = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
            return Self { key: path.to_lowercase(), words: Vec::new(), is_exact: true };
        }
        let is_code =
            matches!(of_type, Some(EntityType::File | EntityType::Symbol | EntityType::Setting));
        let is_exact =
            is_code || name.contains("::") || name.contains('_') || name.starts_with(['-', '.']);
        let take = |humps: bool| {
            let mut words = split(name, humps);
            if !is_exact {
                words.iter_mut().for_each(|word| *word = usual(word));
            }
            let is_filler = |word: &String| FILLERS.contains(&word.as_str());
            if !words.iter().all(is_filler) {
                words.retain(|word| !is_filler(word));
            }
            words
        };
        // The parts of a name such as `MongoDB` are not expanded as abbreviations, but count as words in a comparison.
        let plain = take(false);
        let mut key = joined(&plain);
        let is_plain = !name.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
        let mut words = if is_plain { plain.clone() } else { take(true) };
        if let Some((_, known)) = WELL_KNOWN.iter().find(|(other, _)| *other == key && !is_exact) {
            (key, words) = ((*known).to_owned(), vec![(*known).to_owned()]);
        }
        if key.is_empty() {
            key = name.to_lowercase();
        }
        // `.env` is a different name from `env`.
        if name.starts_with('.') {
            key.insert(0, '.');
        }
        words.sort();
        Self { key, words, is_exact }
    }

    /// Returns a key that is equal for all names that [`Self::may_be`] may accept: the first letter of each word, and
    /// all numbers.
    pub(super) fn block(&self) -> String {
        let mut block = String::new();
        for word in &self.words {
            match has_digit(word) {
                true => block.push_str(word),
                false => block.extend(word.chars().next()),
            }
            block.push(' ');
        }
        block
    }

    /// Returns whether two names have the same words, apart from order and misspellings.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        if self.is_exact || other.is_exact || self.words.len() != other.words.len() {
            return false;
        }
        // Both lists are sorted, so one pass finds the words that only one of them contains.
        let (mut ours, mut theirs) = (None, None);
        let (mut one, mut two) = (self.words.iter().peekable(), other.words.iter().peekable());
        loop {
            let (alone, word) = match (one.peek(), two.peek()) {
                (Some(a), Some(b)) if a == b => {
                    one.next();
                    two.next();
                    continue;
                }
                (Some(a), Some(b)) if a > b => (&mut theirs, two.next()),
                (Some(_), _) => (&mut ours, one.next()),
                (None, Some(_)) => (&mut theirs, two.next()),
                (None, None) => break,
            };
            if alone.is_some() {
                return false;
            }
            *alone = word;
        }
        match (ours, theirs) {
            (None, None) => !self.words.is_empty(),
            (Some(one), Some(other)) => is_misspelt(one, other),
            _ => false,
        }
    }
}

/// Returns whether a word contains a digit.
pub(super) fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Splits a name into words in lower case, at punctuation. If `humps` is true, also splits before capitals and between
/// letters and digits. `1.38` is one word.
pub(super) fn split(name: &str, humps: bool) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1).copied();
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let is_inner = c == '.' && is_digit(before) && is_digit(after)
            // The signs in C++ and C# are part of the names.
            || matches!(c, '+' | '#') && before.is_some_and(|c| c.is_alphanumeric() || c == '+');
        if !c.is_alphanumeric() && !is_inner {
            // An apostrophe does not end a word.
            if c != '\'' {
                words.push(String::new());
            }
            continue;
        }
        let is_hump = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_uppercase() && after.is_some_and(char::is_lowercase)
            });
        let word = words.last().map_or("", String::as_str);
        // `k8s`, `s3` and `v2` are each one word.
        let is_number = word.len() > 1
            && (c.is_ascii_digit() && word.ends_with(char::is_alphabetic)
                || c.is_alphabetic() && is_digit(before) && after.is_some_and(char::is_alphabetic));
        if humps && (is_hump || is_number) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Joins words to a key. Two adjacent numbers are separated.
fn joined(words: &[String]) -> String {
    let mut key = String::new();
    for word in words {
        if key.ends_with(|c: char| c.is_ascii_digit()) && has_digit(word) {
            key.push(' ');
        }
        key.push_str(word);
    }
    key
}

/// Returns the usual form of a word: the full word for an abbreviation, in the singular.
fn usual(word: &str) -> String {
    if let Some(version) =
        word.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return version.to_owned();
    }
    let whole = |word: &str| {
        let found = ABBREVIATIONS.iter().find(|(short, _)| *short == word);
        found.map(|(_, whole)| (*whole).to_owned())
    };
    let singular = singular(word);
    whole(word).or_else(|| whole(&singular)).unwrap_or(singular)
}

fn singular(word: &str) -> String {
    let is_plural = word.len() >= 4
        && word.ends_with('s')
        && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    let stem = match word.strip_suffix("ies") {
        Some(stem) if word.len() > 4 => return format!("{stem}y"),
        _ if is_plural => &word[..word.len() - 1],
        _ => word,
    };
    // The singular of "caches" ends with e, that of "batches" does not.
    let has_e = ["che", "she", "xe", "sse"].iter().any(|end| stem.ends_with(end));
    (if has_e { &stem[..stem.len() - 1] } else { stem }).to_owned()
}

/// Returns whether one of two words is a misspelling of the other: one letter in the middle differs, or two letters are
/// swapped, and at least one of the words is not a usual word.
fn is_misspelt(one: &str, other: &str) -> bool {
    if has_digit(one) || has_digit(other) {
        return false;
    }
    let (one_chars, other_chars): (Vec<char>, Vec<char>) =
        (one.chars().collect(), other.chars().collect());
    let (long, short) = match one_chars.len() >= other_chars.len() {
        true => (&one_chars, &other_chars),
        false => (&other_chars, &one_chars),
    };
    if short.len() < SPELLING_CHARS_MIN || long.len() - short.len() > 1 {
        return false;
    }
    let first = long.iter().zip(short).take_while(|(a, b)| a == b).count();
    let last = long.iter().rev().zip(short.iter().rev()).take_while(|(a, b)| a == b).count();
    let is_inner = first > 0 && last > 0;
    let differing = long.len().saturating_sub(first + last);
    let is_one = match long.len() == short.len() {
        true => {
            let is_swap = differing == 2
                && long[first] == short[first + 1]
                && long[first + 1] == short[first];
            is_inner && (differing == 1 || is_swap)
        }
        // At the end, a doubled letter or an e may also be missing.
        false => differing <= 1 && first > 0 && (last > 0 || ends_twice_or_with_e(long)),
    };
    let (one, other) = (term_of(one), term_of(other));
    let is_unknown = |term: &Option<Cow<'_, str>>| term.as_deref().is_some_and(rarity::is_unknown);
    is_one && (one == other || is_unknown(&one) || is_unknown(&other))
}

fn ends_twice_or_with_e(word: &[char]) -> bool {
    matches!(word, [.., 'e']) || matches!(word, [.., a, b] if a == b)
}
