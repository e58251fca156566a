//! The gate for memories that are to be written to files that other people read. It is stricter than redaction. Its
//! findings are not removed permanently, but a memory with a finding is pending until a person has reviewed it.
//!
//! Each word of a text gets points for its own resemblance to a password, a key or a code, and for the words near it. A
//! word that names a commit, an id, a class or a file subtracts points. `vocabulary.toml` contains the words of each
//! language.

use std::borrow::Cow;
use std::ops::Range;

use crate::engine::Redactor;
use crate::finding::{Finding, placeholders, touches, united};
use looks::is_number;
use sentence::{ENOUGH, ScoredSentence};
use words::sentences;

mod forms;
mod literals;
mod looks;
pub(crate) mod memory;
pub(crate) mod sentence;
mod words;

pub use sentence::Suspect;

/// Name in the placeholder of a suspected credential that is not given to a session.
pub const SUSPECT: &str = "held-back";

/// Minimum number of points for a word to be suspected next to another word that has [`ENOUGH`].
const ENOUGH_BESIDE: i32 = 2;

impl Redactor {
    /// Returns the parts of a text that resemble credentials, in order. `around` is related text, such as a title.
    pub fn suspects(&self, text: &str, around: &str) -> Vec<Suspect> {
        let hidden = placeholders(text);
        let mut found: Vec<Suspect> = Vec::new();
        let (mut weak, mut numbers, mut has_number) = (Vec::new(), Vec::new(), false);
        for part in sentences(text) {
            let has_hidden = touches(&hidden, &part);
            let sentence = ScoredSentence::of(text, part, around);
            let suspects = sentence.suspects();
            let is_code = |suspect: &Suspect| {
                suspect.points >= ENOUGH && is_number(text[suspect.range.clone()].as_bytes())
            };
            let has_code = suspects.iter().any(is_code);
            for suspect in suspects {
                let value = &text[suspect.range.clone()];
                if touches(&hidden, &suspect.range) || self.is_harmless(value.as_bytes()) {
                    continue;
                }
                let is_number = is_number(value.as_bytes());
                match suspect.points {
                    // Next to a code, another number counts as a code as well.
                    points if points >= ENOUGH || is_number && has_code && points >= 0 => {
                        has_number |= is_number;
                        found.push(suspect);
                    }
                    points if points < ENOUGH_BESIDE => {}
                    _ if is_number => numbers.push(suspect),
                    _ if has_hidden => found.push(suspect),
                    _ => weak.push(suspect),
                }
            }
        }
        // Other numbers are added only next to a code, because next to a password they are less likely to be codes.
        if has_number {
            weak.extend(numbers);
        }
        if !found.is_empty() {
            found.extend(weak);
            found.extend(repeated(text, &found));
        }
        found.sort_by_key(|suspect| (suspect.range.start, std::cmp::Reverse(suspect.range.end)));
        let mut end = 0;
        found.retain(|suspect| {
            let is_first = suspect.range.start >= end;
            end = end.max(suspect.range.end);
            is_first
        });
        found
    }

    /// Returns a text with suspected credentials replaced by placeholders.
    pub fn without_suspects<'t>(&self, text: &'t str, around: &str) -> Cow<'t, str> {
        let found = self.suspects(text, around);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = text.to_owned();
        self.hold_back(&mut clean, found.into_iter().map(|suspect| suspect.range).collect());
        Cow::Owned(clean)
    }

    /// Replaces these ranges of a text by placeholders.
    pub(crate) fn hold_back(&self, text: &mut String, mut ranges: Vec<Range<usize>>) {
        ranges.sort_by_key(|range| range.start);
        let found = ranges.into_iter().map(|range| Finding { rule: SUSPECT, range }).collect();
        *text = self.replace(text, &united(found));
    }
}

/// Returns other occurrences of the suspected credentials.
fn repeated(text: &str, found: &[Suspect]) -> Vec<Suspect> {
    const BYTES_MIN: usize = 6;
    let mut repeated = Vec::new();
    for suspect in found.iter().filter(|suspect| suspect.range.len() >= BYTES_MIN) {
        let value = &text[suspect.range.clone()];
        for (start, _) in text.match_indices(value) {
            repeated.push(Suspect { range: start..start + value.len(), ..suspect.clone() });
        }
    }
    repeated
}

#[cfg(test)]
mod tests;
