//! Clauses of a text as sequences of words. The comparison of two clauses detects whether they differ in one value or
//! in a negation. It distinguishes these differences from clauses about different subjects, and from the same clause in
//! another word order.
//!
//! A value is recognised by its form if possible (numbers, versions, days of the week), which works in any language. A
//! name counts as a value only at positions where a second name is seldom true as well: "deploy with Helm", "deploy
//! with Kustomize". Other differing words are not values, because many such clauses are true together: "the API is
//! slow" and "the API is documented".

use super::role::{self, Role};
use super::words::Words;
use crate::text::{folded, is_stop_word, is_unspaced, tokens};

/// Maximum number of words in a clause; longer clauses are not compared.
const WORDS_MAX: usize = 40;
/// Maximum number of clauses in a text that are compared.
const CLAUSES_MAX: usize = 12;
/// Maximum number of words at the position at which two clauses differ.
const SLOT_WORDS_MAX: usize = 3;
/// Minimum number of words after a colon that count as a separate clause. Fewer words are the value of the words before
/// the colon.
const EXPLANATION_WORDS_MIN: usize = 4;
/// Minimum number of words in a clause for the program to check whether a word moved.
const MOVED_MIN: usize = 3;
/// Minimum number of content words in a clause for the program to search for it in another clause.
const FOUND_MIN: usize = 2;

/// Relation of one clause to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClauseDifference {
    /// Both clauses have the same content.
    Same,
    /// The other clause contains all of this clause, and more.
    Within,
    /// This clause contains all of the other clause, and more.
    Covers,
    /// This clause gives another value for the same thing.
    OtherValue,
    /// This clause negates the other clause.
    Opposite,
}

/// Form of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordForm {
    Plain,
    Number,
    Day,
    /// A code name, or a word that is capitalised inside a sentence.
    Name,
}

#[derive(Clone, Debug)]
struct ClauseWord {
    /// The word in the form for comparison: its stem, or a number in digits.
    key: String,
    /// The original word in lower case.
    text: String,
    form: WordForm,
    /// True for words without content, such as prepositions.
    is_function: bool,
    is_capital: bool,
}

impl ClauseWord {
    fn is(&self, role: Role) -> bool {
        role::is(&self.text, role)
    }

    fn is_value(&self) -> bool {
        matches!(self.form, WordForm::Number | WordForm::Day)
    }
}

/// A clause as a sequence of words, without articles and fillers.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    words: Vec<ClauseWord>,
    negations: usize,
    /// True if the clause contains a word that indicates a change.
    is_change: bool,
    /// The content words, for a quick comparison.
    keys: Words,
}

/// Returns the clauses of a text.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let clauses = pieces(text).into_iter().map(|clause| Clause::of(&clause));
    clauses.filter(|clause| !clause.words.is_empty()).take(CLAUSES_MAX).collect()
}

/// Splits a text at the ends of sentences, before causes and before explanations.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_end = match c {
            '\n' | '。' | '；' | '！' | '？' => true,
            '.' | ';' | '!' | '?' => chars.peek().is_none_or(|next| next.is_whitespace()),
            ':' => {
                let is_break = chars.peek().is_some_and(|next| next.is_whitespace());
                let rest: String = chars.clone().take_while(|c| !".;\n".contains(*c)).collect();
                is_break && rest.split_whitespace().count() >= EXPLANATION_WORDS_MIN
            }
            ' ' | ',' => {
                let rest = chars.clone().skip_while(|c| c.is_whitespace());
                let word: String = rest.take_while(|c| c.is_alphabetic()).collect();
                role::is(&word.to_lowercase(), Role::Cause)
            }
            _ => false,
        };
        match pieces.last_mut() {
            Some(last) if !is_end => last.push(c),
            _ => pieces.push(String::new()),
        }
    }
    pieces
}

impl Clause {
    fn of(clause: &str) -> Self {
        let (mut words, mut negations, mut is_change) = (Vec::new(), 0, false);
        for (at, written) in split(clause).into_iter().enumerate() {
            let text = written.text.to_lowercase();
            let changes = role::is(&text, Role::Change);
            is_change |= changes;
            negations += usize::from(role::is(&text, Role::Negation));
            if !changes && !role::is(&text, Role::Article) && !role::is(&text, Role::Filler) {
                words.push(word(&written, text, at == 0));
            }
        }
        if words.len() > WORDS_MAX {
            words.clear();
        }
        let content = words.iter().filter(|word: &&ClauseWord| !word.is_function);
        let keys = content.map(|word| word.key.as_str()).collect();
        Self { words, negations, is_change, keys }
    }

    /// Returns the clause's content words.
    pub(super) fn keys(&self) -> &Words {
        &self.keys
    }

    fn content(&self) -> impl DoubleEndedIterator<Item = &ClauseWord> {
        self.words.iter().filter(|word| !word.is_function)
    }

    fn has(&self, key: &str) -> bool {
        self.words.iter().any(|word| word.key == key)
    }

    /// Returns the positions of the content words that `other` does not contain.
    fn without(&self, other: &Self) -> Vec<usize> {
        let mut others: Vec<&str> = other.content().map(|word| word.key.as_str()).collect();
        let mut lacks = |word: &ClauseWord| match others.iter().position(|other| *other == word.key)
        {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        };
        let content = self.words.iter().enumerate().filter(|(_, word)| !word.is_function);
        content.filter(|(_, word)| lacks(word)).map(|(at, _)| at).collect()
    }

    /// Compares this clause with another clause. Returns `None` if the words indicate different subjects.
    pub(super) fn compare(&self, other: &Self) -> Option<ClauseDifference> {
        // This quick check excludes most pairs, which have almost no words in common.
        let fewer = self.keys.len().min(other.keys.len());
        if fewer == 0 || self.keys.shared(&other.keys) * 2 < fewer.saturating_sub(1) {
            return None;
        }
        let (own, others) = (self.without(other), other.without(self));
        let is_turned = self.turns(other);
        let is_level = self.negations == other.negations;
        let is_denied = (self.negations + other.negations + usize::from(is_turned)) % 2 == 1;
        match (own.is_empty(), others.is_empty()) {
            (true, true) if is_denied => Some(ClauseDifference::Opposite),
            (true, true) if is_level && !is_turned => match order(self, other) {
                Order::Kept => (self.lacks_no_place(other) && other.lacks_no_place(self))
                    .then_some(ClauseDifference::Same),
                Order::Swapped => Some(ClauseDifference::Opposite),
                Order::Other => None,
            },
            (true, false) if is_level && !is_turned => {
                is_found(self, other).then_some(ClauseDifference::Within)
            }
            (false, true) if is_level && !is_turned => {
                is_found(other, self).then_some(ClauseDifference::Covers)
            }
            (false, false) if is_level => self.difference(other, own, others),
            _ => None,
        }
    }

    /// Returns whether `other` contains each preposition of this clause at least as often. "Into the pot on the stove"
    /// differs from "into the stove from the pot".
    fn lacks_no_place(&self, other: &Self) -> bool {
        let count = |clause: &Self, key: &str| {
            clause.words.iter().filter(|word| word.is_function && word.key == key).count()
        };
        let places =
            self.words.iter().filter(|word| word.is_function && word.is(Role::BeforeLimit));
        let mut places = places.filter(|word| !word.is(Role::Link));
        places.all(|word| count(self, &word.key) <= count(other, &word.key))
    }

    /// Returns whether this clause contains the opposite of a word in the other one, such as "on" for "off".
    fn turns(&self, other: &Self) -> bool {
        let is_turned = |word: &ClauseWord| {
            let opposite = |other: &&ClauseWord| role::are_opposite(&word.text, &other.text);
            let opposite = other.words.iter().find(opposite);
            opposite.is_some_and(|it| !self.has(&it.key) && !other.has(&word.key))
        };
        self.words.iter().any(is_turned)
    }

    /// Compares two clauses if each contains words that the other does not contain. `own` and `others` are the
    /// positions of these words.
    fn difference(
        &self,
        other: &Self,
        mut own: Vec<usize>,
        mut others: Vec<usize>,
    ) -> Option<ClauseDifference> {
        if let Some(difference) = self.in_one_place(other) {
            return Some(difference);
        }
        for (clause, places) in [(self, &mut own), (other, &mut others)] {
            places.retain(|&at| !clause.is_unit(at));
        }
        // If a value moved or grew, the verb before it may differ as well.
        let verb = |places: &[usize], clause: &Self| match places {
            [verb, value] if clause.words[*verb].form == WordForm::Plain => Some(*value),
            [value] => Some(*value),
            _ => None,
        };
        let is_reworded = self.is_change || own.len() == 1 && others.len() == 1;
        let (own, others) = (verb(&own, self)?, verb(&others, other)?);
        let (value, other_value) = (&self.words[own], &other.words[others]);
        let is_amount = value.is_value()
            && value.form == other_value.form
            && self.is_amount(own)
            && other.is_amount(others);
        let is_other = is_amount && is_reworded
            || self.is_named(own) && other.is_named(others) && own.max(others) > 0;
        is_other.then_some(ClauseDifference::OtherValue)
    }

    /// Returns whether only one name can be true at a position, as in "the owner: Ines" and "Ines is the owner".
    fn is_named(&self, at: usize) -> bool {
        let is_last = at + 1 == self.words.len();
        let is_first = at == 0 && self.words.get(1).is_some_and(|word| word.is(Role::Copula));
        let after_sign = |word: &ClauseWord| word.text == ":" || word.is(Role::Copula);
        let word = &self.words[at];
        (word.is_capital || word.form == WordForm::Name)
            && (is_first || is_last && at > 0 && after_sign(&self.words[at - 1]))
    }

    /// Returns whether the word at a position is the unit of a number.
    fn is_unit(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.words.get(before));
        self.words[at].is(Role::Unit) && before.is_some_and(|word| word.form == WordForm::Number)
    }

    /// Returns whether a value is an attribute of something, and not the number of one item among several, as in "issue
    /// 12 is fixed".
    fn is_amount(&self, at: usize) -> bool {
        let before = &self.words[..at];
        let mut after = self.words[at + 1..].iter().skip_while(|word| word.is(Role::Unit));
        let is_over = after.next().is_none_or(|word| word.is(Role::BeforeLimit));
        let subjects = before.iter().filter(|word| !word.is_function).count();
        subjects > usize::from(!is_over)
            && !before.last().is_some_and(|word| word.is(Role::BeforeName))
    }

    /// Compares clauses that differ at one position: in opposites, or in a value.
    fn in_one_place(&self, other: &Self) -> Option<ClauseDifference> {
        let (one, another) = (&self.words, &other.words);
        let shorter = one.len().min(another.len());
        let same = |(a, b): &(&ClauseWord, &ClauseWord)| a.key == b.key;
        let before = one.iter().zip(another).take_while(same).count();
        let backwards = one.iter().rev().zip(another.iter().rev());
        let after = backwards.take(shorter - before).take_while(same).count();
        let slots = [one, another].map(|words| &words[before..words.len() - after]);
        let (prefix, suffix) = (&one[..before], &one[one.len() - after..]);
        let has_subject = |word: &ClauseWord| !word.is_function && !word.is(Role::BeforeValue);
        if (before + after) * 2 < shorter || !prefix.iter().chain(suffix).any(has_subject) {
            return None;
        }
        if let [[one], [another]] = slots
            && role::are_opposite(&one.text, &another.text)
        {
            return Some(ClauseDifference::Opposite);
        }
        // The first word of a clause is never a value, which excludes most pairs.
        let is_value = before > 0
            && slots
                .iter()
                .all(|slot| slot.len() <= SLOT_WORDS_MAX && slot.iter().any(has_subject))
            && !slots.iter().any(|slot| slot.iter().any(ClauseWord::is_value))
            && is_place_of_value(prefix, suffix);
        is_value.then_some(ClauseDifference::OtherValue)
    }
}

/// Returns whether the position between two parts of a clause is the position of a value. Other positions are those of
/// the subject, or of a condition that limits the clause.
fn is_place_of_value(prefix: &[ClauseWord], suffix: &[ClauseWord]) -> bool {
    let mut before = prefix.iter().rev();
    let is_before = match before.next() {
        Some(word) if word.is(Role::BeforePlace) => {
            before.next().is_some_and(|word| word.is(Role::Placed))
        }
        Some(word) => word.is(Role::BeforeValue),
        None => false,
    };
    is_before && suffix.first().is_none_or(|word| word.is(Role::BeforeLimit))
}

/// Returns whether a longer clause contains the clause `small` and no additional limiting word.
fn is_found(small: &Clause, large: &Clause) -> bool {
    let limits = |word: &&ClauseWord| word.is(Role::Limit) && !small.has(&word.key);
    small.content().count() >= FOUND_MIN
        && !large.words.iter().any(|word| limits(&word))
        && small.lacks_no_place(large)
        && order(small, large) == Order::Kept
}

/// Order of the words that two clauses have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The order is equal, or a part of the sentence moved as a whole.
    Kept,
    /// Two things were swapped around a word: "X over Y", "Y over X".
    Swapped,
    /// The order is different, which may change the meaning: "A calls B", "B calls A".
    Other,
}

/// Returns the order of the words of `small` in `large`, which contains all of them.
fn order(small: &Clause, large: &Clause) -> Order {
    let keys = |clause: &Clause| -> Vec<String> {
        let shared = clause.content().filter(|word| small.has(&word.key));
        shared.map(|word| word.key.clone()).collect()
    };
    let (one, another) = (keys(small), keys(large));
    let kept = longest_common(&one, &another);
    if kept == one.len() {
        return Order::Kept;
    }
    if is_swapped(small, large) {
        return Order::Swapped;
    }
    let is_limited = small.words.iter().any(|word| word.is(Role::Limit));
    // If two names or two numbers were swapped, each has the position of the other one.
    let is_named = |key: &String| {
        let mut words = small.words.iter().chain(&large.words);
        words.any(|word| word.form != WordForm::Plain && word.key == *key)
    };
    let is_limited = is_limited
        || !one.iter().filter(|key| is_named(key)).eq(another.iter().filter(|key| is_named(key)));
    let is_turned = one.len() == another.len()
        && (1..one.len()).any(|at| one[at..].iter().chain(&one[..at]).eq(another.iter()));
    if one.len() >= MOVED_MIN && !is_limited && (is_turned || kept + 1 == one.len()) {
        return Order::Kept;
    }
    Order::Other
}

/// Returns whether the two sides of a word such as "over" or "before" are swapped: the words that follow it in one
/// clause precede it in the other clause, and vice versa.
fn is_swapped(one: &Clause, other: &Clause) -> bool {
    let place = |clause: &Clause, key: &str| {
        let mut places = clause.words.iter().enumerate().filter(|(_, word)| word.key == key);
        places.next().map(|(at, _)| at).filter(|_| places.next().is_none())
    };
    let next = |clause: &Clause, at: usize| {
        clause.words[at + 1..].iter().find(|word| !word.is_function).map(|word| word.key.clone())
    };
    one.words.iter().enumerate().any(|(at, word)| {
        let Some(other_at) = place(other, &word.key) else { return false };
        let (Some(follows), Some(other_follows)) = (next(one, at), next(other, other_at)) else {
            return false;
        };
        let is_before = |clause: &Clause, at: usize, key: &str| {
            clause.words[..at].iter().any(|word| word.key == key)
        };
        word.is_function
            && !word.is(Role::Link)
            && follows != other_follows
            && is_before(other, other_at, &follows)
            && is_before(one, at, &other_follows)
    })
}

/// Returns the length of the longest common subsequence.
fn longest_common(one: &[String], another: &[String]) -> usize {
    let mut row = vec![0; another.len() + 1];
    for word in one {
        let mut diagonal = 0;
        for (at, other) in another.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row[another.len()]
}

/// A word as it was written.
struct WrittenClause {
    text: String,
    is_code: bool,
}

/// Splits a clause into words: runs of letters and digits, including signs inside code names. In scripts without spaces
/// between words, each character is a word.
fn split(clause: &str) -> Vec<WrittenClause> {
    let clause = folded(clause);
    let (mut words, mut run, mut is_code) = (Vec::new(), String::new(), false);
    let mut flush = |run: &mut String, is_code: bool| {
        let text = std::mem::take(run);
        // "2MB" and "500ms" each consist of a number and a unit.
        let unit = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
        match unit.filter(|&at| at > 0 && role::is(&text[at..].to_lowercase(), Role::Unit)) {
            Some(at) => words.extend(
                [&text[..at], &text[at..]]
                    .map(|text| WrittenClause { text: text.to_owned(), is_code }),
            ),
            None if !text.is_empty() => words.push(WrittenClause { text, is_code }),
            None => {}
        }
    };
    let mut rest = &*clause;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let goes_on =
            after.chars().next().is_some_and(|next| next.is_alphanumeric() || next == '-');
        if c.is_alphanumeric() && is_unspaced(c) {
            flush(&mut run, is_code);
            let length = role::negation_at(rest).unwrap_or(c.len_utf8());
            run.push_str(&rest[..length]);
            flush(&mut run, is_code);
            rest = &rest[length..];
            continue;
        }
        let is_inside = match c {
            '.' | '-' | '/' | '~' | '@' | '#' | '$' if run.is_empty() => goes_on,
            '.' | '_' | '-' | '/' | ':' | '@' | '\'' | '=' | ',' => {
                let next_digit = after.starts_with(|c: char| c.is_ascii_digit());
                let digits = run.ends_with(|c: char| c.is_ascii_digit()) && next_digit;
                !run.is_empty() && goes_on && (c != ',' || digits)
            }
            '+' | '#' => !run.is_empty(),
            c => c.is_alphanumeric() || c == '_',
        };
        if is_inside {
            run.push(c);
        } else {
            flush(&mut run, is_code);
            // The character is a percent sign, or a colon before a name.
            if c == '%' || c == ':' {
                run.push(c);
                flush(&mut run, is_code);
            }
            is_code ^= c == '`';
        }
        rest = after;
    }
    flush(&mut run, is_code);
    words
}

/// Returns the word of a clause. The first word is capitalised in any case, so its capital letter is not significant.
fn word(written: &WrittenClause, text: String, is_first: bool) -> ClauseWord {
    let plain_day = text.strip_suffix('s').filter(|day| role::is(day, Role::Day));
    let number = role::number(&text).map(str::to_owned).or_else(|| numeric(&text));
    let is_capital = written.text.starts_with(char::is_uppercase);
    let has_signs =
        text.len() > 1 && text.contains(|c: char| c.is_ascii_digit() || "_/.:@#$=".contains(c));
    let (key, form) = if let Some(number) = number {
        (number, WordForm::Number)
    } else if let Some(day) = plain_day {
        (day.to_owned(), WordForm::Day)
    } else if role::is(&text, Role::Day) {
        (text.clone(), WordForm::Day)
    } else {
        let is_name = written.is_code || is_capital && !is_first || has_signs;
        let stem =
            tokens(&text).into_iter().next().filter(|_| text.chars().all(char::is_alphabetic));
        let key = stem.map_or_else(|| text.clone(), |token| token.term);
        (key, if is_name { WordForm::Name } else { WordForm::Plain })
    };
    let is_negation = role::is(&text, Role::Negation);
    let is_function = form == WordForm::Plain
        && (text == ":"
            || is_negation
            || is_stop_word(&text)
            || role::is(&text, Role::Copula)
            || role::is(&text, Role::BeforeLimit))
        && !role::is(&text, Role::Limit);
    // All negations have the same key.
    let key = if is_negation { "not".to_owned() } else { key };
    ClauseWord { key, text, form, is_function, is_capital }
}

/// Returns a number, version, time or date in the form for comparison; `None` for other texts.
fn numeric(text: &str) -> Option<String> {
    let digits = text.strip_prefix('v').unwrap_or(text);
    let is_numeric = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-' | '/'));
    is_numeric.then(|| digits.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ClauseDifference::{Opposite, OtherValue, Same};

    fn compare(newer: &str, older: &str) -> Option<ClauseDifference> {
        let (newer, older) = (clauses(newer), clauses(older));
        let turned = |difference| match difference {
            ClauseDifference::Within => ClauseDifference::Covers,
            ClauseDifference::Covers => ClauseDifference::Within,
            other => other,
        };
        let (Some(newer), Some(older)) = (newer.first(), older.first()) else { return None };
        assert_eq!(newer.compare(older).map(turned), older.compare(newer), "{newer:?} {older:?}");
        newer.compare(older)
    }

    #[test]
    fn another_value_in_the_same_place_is_seen() {
        for (a, b) in [
            ("we deploy with Helm", "we deploy with Kustomize"),
            ("We deploy with Helm.", "Deploy with the Kustomize overlays"),
            ("Use tabs for Go code", "Use spaces for Go code"),
            ("Requests time out after 30 seconds", "Requests time out after 2 minutes"),
            ("Requests time out after 30s", "Requests time out after 45s"),
            ("The API listens on port 8080", "The API listens on port 9090"),
            ("Logs are written to stderr", "Logs are written to stdout"),
            ("The API returns XML", "The API returns JSON"),
            ("Sessions are stored in Redis", "Sessions are stored in a Postgres table"),
            ("The site is hosted on Fly", "The site is hosted on our Hetzner box"),
            ("Releases go out on Thursdays", "Releases go out on Fridays"),
            ("The limit of uploads is 20 MB", "The upload limit is 50 MB"),
            ("The main branch is `master`", "The main branch is `trunk`"),
            ("Ana is the owner of the parser", "Owner of the parser: Boris"),
            ("Wir deployen mit Helm", "Wir deployen mit Kustomize"),
            ("Das Team trifft sich montags um neun", "Das Team trifft sich dienstags um neun"),
            ("El servidor escucha en el puerto 8080", "El servidor escucha en el puerto 9090"),
            (
                "\u{670d}\u{52a1}\u{7aef}\u{53e3}\u{662f} 8080",
                "\u{670d}\u{52a1}\u{7aef}\u{53e3}\u{662f} 9090",
            ),
        ] {
            assert_eq!(compare(a, b), Some(OtherValue), "{a} / {b}");
        }
    }

    #[test]
    fn different_subjects_and_conditions_are_no_other_value() {
        for (a, b) in [
            ("The API is slow", "The API is documented"),
            ("Use tabs for Go", "Use tabs for Make"),
            ("Use make to build the docs", "Use make to run the tests"),
            ("Backend tests use pytest", "Backend builds use pytest"),
            ("Tests for the API live in tests", "Tests for the CLI live in tests"),
            ("Use serde", "Use tokio"),
            ("The bug shows in Safari", "The bug shows in Firefox"),
            ("Releases are cut on Tuesdays", "Releases are cut on demand"),
            ("Issue 12 is fixed", "Issue 13 is fixed"),
            ("See issue 12", "See issue 13"),
            ("Version 2.1 fixed the crash", "Version 2.2 fixed the crash"),
            ("Node 18 is deprecated", "Node 20 is deprecated"),
            ("CI uses postgres 15", "CI uses redis 7"),
            (
                "The web client times out after 30 seconds",
                "The mobile client times out after 60 seconds",
            ),
            ("Staging needs one approval", "Production needs two approvals"),
            ("`--force` skips the check", "`--fast` skips the check"),
            ("Ana reviews the parser", "Boris reviews the parser"),
            ("", ""),
            ("Deploy", ""),
        ] {
            let difference = compare(a, b);
            assert!(
                !matches!(difference, Some(OtherValue | Opposite | Same)),
                "{a} / {b}: {difference:?}"
            );
        }
    }

    #[test]
    fn a_negation_or_an_opposite_alone_makes_the_opposite() {
        for (a, b) in [
            ("Commit the lock file", "Never commit the lock file"),
            ("We no longer deploy with Helm", "We deploy with Helm"),
            ("Don\u{2019}t mock the carrier", "Mock the carrier"),
            ("The page works without scripts", "The page does not work without scripts"),
            ("Dark mode is on by default", "By default dark mode is off"),
            ("Run migrations before the deploy", "Run migrations after the deploy"),
            ("Use spaces, not tabs, for Python", "Use tabs, not spaces, for Python"),
            ("Prefer exceptions over results", "Prefer results over exceptions"),
            ("Die Logs werden nachts gel\u{f6}scht", "Die Logs werden nachts nicht gel\u{f6}scht"),
            (
                "\u{65e5}\u{5fd7}\u{5199}\u{5165}\u{6807}\u{51c6}\u{8f93}\u{51fa}",
                "\u{65e5}\u{5fd7}\u{4e0d}\u{5199}\u{5165}\u{6807}\u{51c6}\u{8f93}\u{51fa}",
            ),
        ] {
            assert_eq!(compare(a, b), Some(Opposite), "{a} / {b}");
        }
        for (a, b) in [
            ("Never commit the lock file", "Commit the changelog"),
            ("The Linux build is static", "The macOS build is not static"),
            ("Not", ""),
        ] {
            assert_eq!(compare(a, b), None, "{a} / {b}");
        }
    }

    #[test]
    fn the_same_claim_may_be_in_another_order_but_not_with_its_parts_exchanged() {
        for (a, b) in [
            ("Run `just lint` before every commit.", "Before every commit, run `just lint`."),
            ("Dates are stored in UTC", "We store dates in UTC"),
            ("Never commit the lock file", "Do not commit the lock file"),
        ] {
            assert_eq!(compare(a, b), Some(Same), "{a} / {b}");
        }
        for (a, b) in [
            ("The gateway calls the billing service", "The billing service calls the gateway"),
            ("Only admins can delete users", "Admins can delete only users"),
            ("Send Alice Bob's report weekly", "Send Bob Alice's report weekly"),
            ("Restart the web server after a deploy", "Restart the mail server after a deploy"),
            (
                "Import with a timeout of 500 ms on staging",
                "Import with a timeout of 500 ms on production",
            ),
            ("Pour oil into a pot on the stove", "Pour oil from a pot into the stove"),
        ] {
            assert_ne!(compare(a, b), Some(Same), "{a} / {b}");
        }
    }

    #[test]
    fn a_longer_claim_contains_a_shorter_one_unless_it_limits_it() {
        let long = "Deploys need two approvals, one of them from the platform team";
        assert_eq!(compare(long, "Deploys need two approvals"), Some(ClauseDifference::Covers));
        assert_eq!(compare("The cache is on", "The cache is on, but not in tests"), None);
        assert_eq!(compare("Push to main", "Push to main only for documents"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_texts_break_it(a in "\\PC{0,80}", b in "[a-c .,:`0-9]{0,40}", c in "[a-c .,:`0-9]{0,40}") {
            let (a, b, c) = (clauses(&a), clauses(&b), clauses(&c));
            for (one, other) in [(&a, &b), (&b, &c)] {
                let _: Vec<_> = one.iter().flat_map(|one| other.iter().map(|other| one.compare(other))).collect();
            }
        }
    }
}
