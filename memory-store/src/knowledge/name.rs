//! The normal form of a name, and the comparison of two normal forms word by word.
//!
//! Two names may refer to the same thing only if they have the same words, apart from order, plural, a usual
//! abbreviation and a misspelling. Numbers and versions count as words. All similarities in [`super::entities`] apply
//! only within this limit, because "Redis 6" and "Redis 7", or "api server" and "api gateway", are similar by every
//! measure.

use std::borrow::Cow;
use std::sync::Arc;

use super::ends;
use crate::memory::{Entity, EntityType};
use crate::text::{folded, rarity, term_of};

/// Other usual names of well-known things in normal form, each with the form that replaces it.
const WELL_KNOWN: [(&str, &str); 24] = [
    ("amazonwebservice", "aws"),
    ("commandlineinterface", "cli"),
    ("contentsecuritypolicy", "csp"),
    ("continuousintegration", "ci"),
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
    ("rabbit", "rabbitmq"),
    ("reactjs", "react"),
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
    ("mgmt", "management"),
    ("mgr", "manager"),
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
    pub(super) key: Arc<str>,
    /// Words of the name, sorted, without fillers. Empty for a path.
    pub(super) words: Vec<String>,
    /// True for a name from code, in which every letter is significant.
    pub(super) is_exact: bool,
}

impl NormalName {
    /// Returns the normal form of a name, which may contain its type: `Redis (service)`.
    pub(super) fn of(text: &str) -> Self {
        let (name, of_type) = Entity::split(text);
        let name = folded(name);
        let name = name.trim_matches(|c: char| c.is_whitespace() || "\"'`“”«»".contains(c));
        let name = name.strip_suffix("()").unwrap_or(name);
        if name.contains('/') && !name.contains(char::is_whitespace) {
            let path = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
            return Self { key: path.to_lowercase().into(), words: Vec::new(), is_exact: true };
        }
        // A file name has no plural. `Vue.js` may also be the name of a library.
        let extension = ends::extension(name).map(|(_, extension)| extension);
        let is_file = extension.is_some_and(|extension| extension != "js");
        if is_file {
            let words = split(name, true);
            return Self { key: name.to_lowercase().into(), words, is_exact: true };
        }
        let is_code = extension.is_some() || Self::is_code(of_type);
        let is_exact =
            is_code || name.contains("::") || name.contains('_') || name.starts_with(['-', '.']);
        let take = |humps: bool| {
            let mut words = split(name, humps);
            if !is_exact {
                words.iter_mut().for_each(usual);
            }
            let is_filler = |word: &String| word.len() <= 3 && FILLERS.contains(&word.as_str());
            if !words.iter().all(is_filler) {
                words.retain(|word| !is_filler(word));
            }
            words
        };
        // The parts of a name such as `MongoDB` are not expanded as abbreviations, but count as words in a comparison.
        let plain = take(false);
        let mut key = joined(&plain);
        let is_plain = !name.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
        let mut words = if is_plain { plain } else { take(true) };
        let may_be_known = !is_exact || extension.is_some();
        if let Some(known) = listed(&WELL_KNOWN, &key).filter(|_| may_be_known) {
            (key, words) = (known.to_owned(), vec![known.to_owned()]);
        }
        if key.is_empty() {
            key = name.to_lowercase();
        }
        // `.env` is a different name from `env`.
        if name.starts_with('.') {
            key.insert(0, '.');
        }
        words.sort();
        Self { key: key.into(), words, is_exact }
    }

    /// Returns whether names of this type are names from code.
    pub(super) const fn is_code(of_type: Option<EntityType>) -> bool {
        matches!(of_type, Some(EntityType::File | EntityType::Symbol | EntityType::Setting))
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

/// Returns the entry of a sorted list.
fn listed(list: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    let at = list.binary_search_by_key(&word, |(short, _)| short).ok()?;
    Some(list[at].1)
}

/// Splits a name into words in lower case at signs. If `humps`, also splits before capitals and between letters and
/// digits. `1.38` is one word.
pub(super) fn split(name: &str, humps: bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied();
        let last = before.replace(c);
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let is_inner = c == '.' && is_digit(last) && is_digit(after)
            // The signs in C++ and C# belong to the names.
            || matches!(c, '+' | '#') && last.is_some_and(|c| c.is_alphanumeric() || c == '+');
        if !c.is_alphanumeric() && !is_inner {
            // An apostrophe does not end a word.
            if c != '\'' && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        let is_hump = || {
            c.is_uppercase()
                && last.is_some_and(|before| {
                    before.is_lowercase()
                        || before.is_uppercase() && after.is_some_and(char::is_lowercase)
                })
        };
        // `k8s`, `s3` and `v2` are each one word.
        let is_number = || {
            word.len() > 1
                && (c.is_ascii_digit() && word.ends_with(char::is_alphabetic)
                    || c.is_alphabetic()
                        && is_digit(last)
                        && after.is_some_and(char::is_alphabetic))
        };
        if humps && !word.is_empty() && (is_hump() || is_number()) {
            words.push(std::mem::take(&mut word));
        }
        match c.is_ascii() {
            true => word.push(c.to_ascii_lowercase()),
            false => word.extend(c.to_lowercase()),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
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

/// Replaces a word by its usual form, which is the full word for an abbreviation, and the singular.
fn usual(word: &mut String) {
    if word.starts_with('v') && word.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        word.remove(0);
        return;
    }
    let whole = listed(&ABBREVIATIONS, word);
    if whole.is_none() {
        make_singular(word);
    }
    if let Some(whole) = whole.or_else(|| listed(&ABBREVIATIONS, word)) {
        whole.clone_into(word);
    }
}

fn make_singular(word: &mut String) {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
        return;
    }
    let is_plural = word.len() >= 4
        && word.ends_with('s')
        && !["ss", "us", "is", "js"].iter().any(|end| word.ends_with(end));
    if is_plural {
        word.pop();
    }
    // The singular of "caches" ends in e, that of "batches" does not.
    if ["che", "she", "xe", "sse"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(WELL_KNOWN.is_sorted_by_key(|(name, _)| name));
        assert!(ABBREVIATIONS.is_sorted_by_key(|(short, _)| short));
    }
}
