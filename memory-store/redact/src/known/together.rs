//! Related texts, such as the fields of a memory. A value that one text reveals is hidden in the other texts, and a
//! title may explain the texts after it.

use std::borrow::Cow;
use std::ops::Range;

use crate::engine::{Redactor, is_learned};
use crate::finding::Finding;
use crate::value::{shape, stand_in};

/// Minimum length of a value in bytes, because shorter values may be any word in the other texts.
const VALUE_BYTES_MIN: usize = 5;

/// Maximum number of values that are searched for in the other texts.
const VALUES_MAX: usize = 50;

/// Maximum length in bytes of a text that a title may explain.
const SAID_BYTES_MAX: usize = 200;

/// A value that one of the texts reveals, and the rule that found it.
struct ToldValue {
    value: String,
    rule: &'static str,
}

impl Redactor {
    /// Redacts related texts, of which the first is the title. Returns the number of secrets.
    pub fn redact_together(&self, texts: &mut [&mut String]) -> usize {
        let mut found: Vec<Vec<Finding>> = texts.iter().map(|text| self.findings(text)).collect();
        self.judge_by_title(texts, &mut found);
        let told = detected_values(texts, &found);
        let mut hidden = 0;
        for (text, found) in texts.iter_mut().zip(found) {
            hidden += found.len();
            if !found.is_empty() {
                **text = self.redact_found(text, found).into_owned();
            }
            let echoes = echoes(text, &told);
            if !echoes.is_empty() {
                hidden += echoes.len();
                **text = self.replace(text, &echoes);
            }
        }
        hidden
    }

    /// Finds secrets that only the title reveals: texts of one line that are recognised as secrets when appended to the
    /// title.
    fn judge_by_title(&self, texts: &[&mut String], found: &mut [Vec<Finding>]) {
        let Some((title, others)) = texts.split_first() else { return };
        let title = title.trim_end_matches(['?', '.', ':', ' ']);
        if title.is_empty() || title.len() > SAID_BYTES_MAX {
            return;
        }
        for (text, found) in others.iter().zip(&mut found[1..]) {
            let is_one_word = !text.trim().contains(char::is_whitespace);
            if !found.is_empty() || text.len() > SAID_BYTES_MAX || !is_one_word {
                continue;
            }
            let lead = format!("{title}: ");
            let both = format!("{lead}{text}");
            let behind = |finding: Finding| {
                let start = finding.range.start.checked_sub(lead.len())?;
                let range = start..finding.range.end - lead.len();
                is_learned(finding.rule).then_some(Finding { range, ..finding })
            };
            *found = self.findings(&both).into_iter().filter_map(behind).collect();
        }
    }
}

/// Returns the values that the texts reveal, except everyday words.
fn detected_values(texts: &[&mut String], found: &[Vec<Finding>]) -> Vec<ToldValue> {
    let mut told: Vec<ToldValue> = Vec::new();
    for (text, found) in texts.iter().zip(found) {
        for finding in found.iter().filter(|finding| is_learned(finding.rule)) {
            let value = text[finding.range.clone()].to_ascii_lowercase();
            if may_repeat(&value) && !told.iter().any(|known| known.value == value) {
                told.push(ToldValue { value, rule: finding.rule });
            }
        }
    }
    told.truncate(VALUES_MAX);
    told
}

fn may_repeat(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() >= VALUE_BYTES_MIN
        && !bytes.iter().any(u8::is_ascii_whitespace)
        && !stand_in::is_stop_word(bytes)
        && !stand_in::is_placeholder(bytes)
        && !shape::is_numeric(bytes)
        && !crate::value::spread::is_everyday(value)
}

/// Returns the occurrences of these values as separate words in a text, ignoring case.
fn echoes(text: &str, told: &[ToldValue]) -> Vec<Finding> {
    if told.is_empty() {
        return Vec::new();
    }
    let lower: Cow<'_, str> = text.to_ascii_lowercase().into();
    let is_word = |at: Option<char>| at.is_some_and(char::is_alphanumeric);
    let alone = |range: &Range<usize>| {
        !is_word(lower[..range.start].chars().next_back())
            && !is_word(lower[range.end..].chars().next())
    };
    let of_value = |told: &ToldValue| {
        let starts = memchr::memmem::find_iter(lower.as_bytes(), told.value.as_bytes());
        let ranges = starts.map(|start| start..start + told.value.len());
        let finding = |range| Finding { rule: told.rule, range };
        ranges.filter(alone).map(finding).collect::<Vec<_>>()
    };
    let mut echoes: Vec<Finding> = told.iter().flat_map(of_value).collect();
    let placeholders = crate::finding::placeholders(text);
    echoes.retain(|finding| !crate::finding::touches(&placeholders, &finding.range));
    crate::finding::united(echoes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store_base::{Kind, Memory, MemoryId, Timestamp};

    fn memory(title: &str, body: &str, quote: &str, tags: &[&str]) -> Memory {
        let mut memory = Memory::new(MemoryId([1; 16]), Kind::Fact, title, body, Timestamp(0));
        memory.source.quote = Some(quote.to_owned());
        memory.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        memory
    }

    #[test]
    fn a_secret_in_one_field_is_hidden_in_the_others() {
        let redactor = Redactor::default();
        let mut memory = memory(
            "The database password is Tidewillow41",
            "Log in as operator with Tidewillow41, see `seed-tidewillow41.sql`.",
            "Tidewillow41",
            &["database", "tidewillow41"],
        );
        assert_eq!(redactor.redact_memory(&mut memory), 5);
        let said = format!("{memory:?}");
        assert!(!said.to_lowercase().contains("tidewillow"), "{said}");
        assert_eq!(memory.tags[0], "database");
        assert_eq!(redactor.redact_memory(&mut memory), 0);
    }

    #[test]
    fn a_title_identifies_the_text_below_it_as_a_secret() {
        let redactor = Redactor::default();
        let mut memory =
            memory("Database password", "vR4kTw81Lmqz", "vR4kTw81Lmqz", &["vr4ktw81lmqz"]);
        redactor.redact_memory(&mut memory);
        assert!(!format!("{memory:?}").to_lowercase().contains("vr4ktw"), "{memory:?}");
    }

    #[test]
    fn everyday_words_stay_in_the_other_fields() {
        let redactor = Redactor::default();
        let body = "Tests use postgres 16 on localhost, and `admin` may do all.";
        let mut memory =
            memory("The test database has password=postgres", body, "postgres", &["postgres"]);
        redactor.redact_memory(&mut memory);
        assert_eq!((memory.body.as_str(), memory.tags[0].as_str()), (body, "postgres"));
    }
}
