//! Phrases of an error that a memory repeats verbatim, for example "unrecognized subcommand 'bun'".
//!
//! A signature is the whole line that a program printed. People and models quote only its distinctive part, and another
//! program may print a path or a colour before it.

use crate::signature::{names_cause, telling_lines};
use memory_store_base::text::rarity;
use memory_store_base::text::{each_term, term_hash};

/// Maximum number of lines of an error that are compared; they are the most distinctive ones.
const LINES_MAX: usize = 3;
/// Maximum number of terms of a text that are compared.
const TERMS_MAX: usize = 160;
/// Minimum number of terms of a quotation.
const RUN_MIN: usize = 2;
/// Minimum total rarity of the quoted words. "No such file or directory" is below it.
const MASS_MIN: f32 = 13.0;
/// Minimum fraction of the line's rarity that the quotation must cover.
const SHARE_MIN: f32 = 0.4;

/// Terms of the distinctive lines of an error, in order.
#[derive(Debug)]
pub(crate) struct Phrases(Vec<Vec<u64>>);

impl Phrases {
    /// Returns the phrases of an error.
    pub(crate) fn of(error: &str) -> Self {
        let lines = telling_lines(error, LINES_MAX).into_iter();
        Self(lines.filter(|line| names_cause(line)).map(|line| terms(&line)).collect())
    }

    /// Returns whether there are no phrases, because no line describes an error.
    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a text quotes one of the phrases.
    pub(crate) fn are_quoted_in(&self, text: &str) -> bool {
        let text = terms(text);
        self.0.iter().any(|line| is_quoted(line, &text))
    }
}

fn terms(text: &str) -> Vec<u64> {
    let mut terms = Vec::new();
    each_term(text, &mut |term, _| {
        if terms.len() < TERMS_MAX {
            terms.push(term_hash(term));
        }
    });
    terms
}

fn is_quoted(line: &[u64], text: &[u64]) -> bool {
    let all: f32 = mass(line);
    let mut best = 0.0f32;
    for from in 0..line.len() {
        for start in 0..text.len() {
            let pairs = line[from..].iter().zip(&text[start..]);
            let run = pairs.take_while(|(one, other)| one == other).count();
            if run >= RUN_MIN {
                best = best.max(mass(&line[from..from + run]));
            }
        }
    }
    best >= MASS_MIN && best >= SHARE_MIN * all
}

/// Returns the total rarity of terms, each counted once.
fn mass(terms: &[u64]) -> f32 {
    let distinct = terms.iter().enumerate().filter(|(at, term)| !terms[..*at].contains(term));
    distinct.map(|(_, &term)| rarity::idf(term)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_error_message_matches_despite_other_text_around_it() {
        let quoted = |error: &str, memory: &str| Phrases::of(error).are_quoted_in(memory);
        let memory = "`gizmo pack` fails with \"unrecognized subcommand 'pack'\"; call pack itself";
        assert!(quoted("error: unrecognized subcommand 'pack'\n\nUsage: gizmo <COMMAND>", memory));
        assert!(!quoted("error: unrecognized option '--pack'", memory));
        let memory = "`ls --color=auto` ends with \"ls: illegal option -- -\" on BSD";
        assert!(quoted("/bin/ls: illegal option -- -\nusage: ls [-@AB]", memory));
    }

    #[test]
    fn a_message_of_many_programs_does_not_match() {
        let quoted = |error: &str, memory: &str| Phrases::of(error).are_quoted_in(memory);
        let memory = "The build said \"No such file or directory\" and failed with exit code 1";
        assert!(!quoted("cat: notes/today.txt: No such file or directory", memory));
        assert!(!quoted("error: script \"lint\" exited with code 1", memory));
        assert!(!quoted("", memory));
    }
}
