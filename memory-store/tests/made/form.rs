//! Forms of text with secrets, and values generated for them.

use std::ops::Range;

use super::Values;

/// The forms by the place where they occur, each with the minimum number of forms.
pub const PLACES: [(&str, &str, usize); 6] = [
    ("prompts", include_str!("../fixtures/secrets/prompts.txt"), 60),
    ("command lines", include_str!("../fixtures/secrets/commands.txt"), 87),
    ("tool output", include_str!("../fixtures/secrets/output.txt"), 120),
    ("files read", include_str!("../fixtures/secrets/files.txt"), 67),
    ("edits", include_str!("../fixtures/secrets/edits.txt"), 12),
    ("names and answers", include_str!("../fixtures/secrets/names.txt"), 3),
];

/// A form with inserted values, and the ranges of the secrets among them.
pub struct Case {
    pub text: String,
    pub secrets: Vec<Range<usize>>,
}

impl Case {
    /// Returns a form with values generated from this seed.
    pub fn new(form: &str, seed: u64) -> Self {
        let mut values = Values::new(seed);
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

    /// Adds text of the form, with its escapes replaced.
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

    /// Returns whether each secret is a word of a word list, so that a single word reveals nothing.
    pub fn is_phrase(&self) -> bool {
        let mut words = self.secrets.iter();
        self.secrets.len() >= 10 && words.all(|word| word.len() < 10)
    }
}

/// Returns parts of a secret that reveal too much of it: words of a phrase, lines, and pieces between the signs of a
/// code.
pub fn parts(secret: &str) -> impl Iterator<Item = &str> {
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

/// Returns the forms of a table.
pub fn forms(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty())
}
