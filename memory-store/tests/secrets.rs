//! Contexts of secrets: forms in which people, tools and files give a password, a key or a token.
//!
//! Each line of `fixtures/secrets/*.txt` is a form, written from the documentation of a format or from how people
//! talk. `«kind»` stands for a secret and `‹kind›` for a value that is none; both are drawn from a fixed seed.
//! `«kind|code»` is written in that code. `\n`, `\r`, `\t` and `\e` stand for line break, return, tab and escape.

#![cfg(feature = "write")]

use std::fmt::Write as _;
use std::ops::Range;

use memory_store::redact::Redactor;

mod made;

/// Each form is tried with this many sets of values.
const SETS: u64 = 3;

/// Share of forms of each place that hide every secret, in percent.
const HIDDEN_PERCENT_MIN: usize = 95;

/// Share of harmless lines that may be changed, in percent.
const CHANGED_PERCENT_MAX: usize = 2;

/// The forms by the place where they occur, and how many of them there are at least.
const PLACES: [(&str, &str, usize); 6] = [
    ("prompts", include_str!("fixtures/secrets/prompts.txt"), 60),
    ("command lines", include_str!("fixtures/secrets/commands.txt"), 87),
    ("tool output", include_str!("fixtures/secrets/output.txt"), 120),
    ("files read", include_str!("fixtures/secrets/files.txt"), 67),
    ("edits", include_str!("fixtures/secrets/edits.txt"), 12),
    ("names and answers", include_str!("fixtures/secrets/names.txt"), 3),
];

const HARMLESS: &str = include_str!("fixtures/secrets/harmless.txt");

/// A form with its values, and where the secrets stand.
struct Case {
    text: String,
    secrets: Vec<Range<usize>>,
}

impl Case {
    fn new(form: &str, seed: u64) -> Self {
        let mut values = made::Values::new(seed);
        let mut case = Self { text: String::new(), secrets: Vec::new() };
        let mut rest = form;
        while let Some(at) = rest.find(['«', '‹']) {
            let is_secret = rest[at..].starts_with('«');
            case.push(&rest[..at]);
            let close = if is_secret { '»' } else { '›' };
            let open_end = at + rest[at..].chars().next().map_or(0, char::len_utf8);
            let end = rest[at..].find(close).map_or_else(|| panic!("no end: {form}"), |e| at + e);
            let value = values.of(&rest[open_end..end]);
            let start = case.text.len();
            case.text.push_str(&value);
            if is_secret {
                case.secrets.push(start..case.text.len());
            }
            rest = &rest[end + close.len_utf8()..];
        }
        case.push(rest);
        case
    }

    /// Adds text of the form, its escapes read.
    fn push(&mut self, form: &str) {
        let mut rest = form;
        while let Some(at) = rest.find('\\') {
            self.text.push_str(&rest[..at]);
            let mut behind = rest[at + 1..].chars();
            match behind.next() {
                Some('n') => self.text.push('\n'),
                Some('r') => self.text.push('\r'),
                Some('t') => self.text.push('\t'),
                Some('e') => self.text.push('\u{1b}'),
                Some(other) => self.text.push(other),
                None => {}
            }
            rest = behind.as_str();
        }
        self.text.push_str(rest);
    }

    /// Whether the redacted text holds none of the secrets, nor half of one.
    fn is_hidden(&self, redacted: &str) -> bool {
        // Each word of a list of words is told by itself.
        let words: Vec<&str> = self.secrets.iter().map(|range| &self.text[range.clone()]).collect();
        let are_words = words.len() >= 10 && words.iter().all(|word| word.len() < 10);
        if are_words {
            return words.iter().filter(|word| redacted.contains(**word)).count() <= 2;
        }
        !words.iter().any(|secret| {
            redacted.contains(secret) || parts(secret).any(|part| redacted.contains(part))
        })
    }
}

/// Parts of a secret that tell too much of it: words of a phrase, lines, pieces between the signs of a code.
fn parts(secret: &str) -> impl Iterator<Item = &str> {
    const PART_BYTES_MIN: usize = 16;
    let lines = secret.lines().filter(|line| line.len() >= PART_BYTES_MIN);
    let halves = lines.flat_map(|line| {
        let half = line.len() / 2;
        let (left, right) = line.split_at(line.floor_char_boundary(half));
        [left, right].into_iter().filter(|part| part.len() >= PART_BYTES_MIN)
    });
    let pieces = secret.split('\u{1b}').filter(|piece| piece.len() >= PART_BYTES_MIN);
    halves.chain(pieces)
}

fn forms(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty())
}

#[test]
fn secrets_are_hidden_in_the_contexts_in_which_they_are_given() {
    let redactor = Redactor::default();
    let (mut report, mut is_enough) = (String::new(), true);
    for (place, table, forms_min) in PLACES {
        let (mut all, mut hidden) = (0, 0);
        for (number, form) in forms(table).enumerate() {
            let cases = (0..SETS).map(|set| Case::new(form, (number as u64) << 8 | set));
            let left: Vec<String> = cases
                .filter_map(|case| {
                    let redacted = redactor.redact(&case.text);
                    (!case.is_hidden(&redacted)).then(|| redacted.into_owned())
                })
                .collect();
            all += 1;
            hidden += usize::from(left.is_empty());
            if let Some(first) = left.first() {
                let _ = writeln!(
                    report,
                    "  {place}, {} of {SETS}: {form}\n      {first:?}",
                    left.len()
                );
            }
        }
        assert!(all >= forms_min, "{place}: {all} forms");
        let _ = writeln!(report, "{place}: {hidden} of {all} forms");
        is_enough &= hidden * 100 >= all * HIDDEN_PERCENT_MIN;
    }
    assert!(is_enough, "{report}");
    eprint!("{report}");
}

#[test]
fn what_stands_in_such_contexts_and_is_no_secret_stays() {
    let redactor = Redactor::default();
    let (mut report, mut all, mut changed) = (String::new(), 0, 0);
    for (number, form) in forms(HARMLESS).enumerate() {
        let case = Case::new(form, number as u64);
        let redacted = redactor.redact(&case.text);
        all += 1;
        if redacted != case.text {
            changed += 1;
            let _ = writeln!(report, "  {form}\n      {redacted:?}");
        }
    }
    assert!(all >= 250, "{all} lines");
    assert!(changed * 100 <= all * CHANGED_PERCENT_MAX, "{changed} of {all}:\n{report}");
    eprint!("{report}");
}
