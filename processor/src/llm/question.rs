//! Answers to a person's questions from numbered sources, and lines of a conversation.
//!
//! An answer is a list of statements with the numbers of their sources. Each is checked as soon as it has arrived: one
//! without a source that was sent, or without any word of its sources, is dropped. Numbers of days and sums are computed
//! here, because models compute badly.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use memory_store::Timestamp;
use memory_store::recall::render::clean;
use memory_store::redact::Redactor;
use memory_store::text::{excerpt, tokens};
use memory_store::time::DAY_MS;
use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::ANSWER_BYTES_MAX;
use super::masks::Masked;
use super::{LanguageModel, ModelFault, ask, joined, parts};

/// Maximum number of characters of a source that are sent.
const SOURCE_CHARS_MAX: usize = 700;
/// Maximum number of characters of a question, and of a completed line.
const QUESTION_CHARS_MAX: usize = 1_000;
/// Maximum number of statements of an answer. The question asks for six.
const STATEMENTS_MAX: usize = 12;
/// Maximum number of characters of a statement.
const STATEMENT_CHARS_MAX: usize = 600;
/// Maximum number of earlier questions that are sent with a line, and characters of each answer.
const TURNS_MAX: usize = 3;
const TURN_CHARS_MAX: usize = 500;

/// A text from which a question may be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionSource {
    /// Kind and date.
    pub label: String,
    /// The text.
    pub text: String,
}

/// A checked sentence of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// The sentence.
    pub text: String,
    /// Numbers of its sources, from 1.
    pub sources: Vec<usize>,
    /// True if it contains a number that neither its sources nor the question contain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unshown: bool,
}

/// Result of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The statements that passed the checks.
    pub statements: Vec<Statement>,
    /// Number of statements that did not.
    pub dropped: usize,
}

impl Answer {
    fn has(&self, statement: &Statement) -> bool {
        self.statements.iter().any(|known| known.text == statement.text)
    }
}

/// A line of a conversation, understandable without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedLine {
    /// A question.
    Question(String),
    /// Something new, which may be remembered.
    Statement(String),
}

/// A statement as the model wrote it.
#[derive(Deserialize)]
struct ProposedStatement {
    text: String,
    #[serde(default)]
    sources: Vec<Value>,
}

impl LanguageModel {
    /// Answers a question from sources, the best first; those that exceed the model's context are not sent. `say`
    /// receives each statement as soon as it has arrived.
    ///
    /// # Errors
    /// Returns the reason why there is no answer.
    pub fn answer(
        &mut self,
        question: &str,
        sources: &[QuestionSource],
        say: &mut dyn FnMut(&Statement),
    ) -> Result<Answer, String> {
        let sources = self.fitting(question, sources);
        let mut listed = String::new();
        for (number, source) in (1..).zip(&sources) {
            listed.push_str(&format!("[{number}] {}: {}\n", source.label, source.text));
        }
        let sent = self.outgoing(&[&listed, cut(question, QUESTION_CHARS_MAX)])?;
        let today = format!("Today is {}.", self.now.date());
        let (note, given) = (sent.note(&today), format!("{question} {today}"));
        let asked = ask::question(&sent.texts[0], sources.len(), &sent.texts[1], &note);
        let asked = asked.within(self.room.answer_tokens);
        let (mut answer, mut arriving) = (Answer::default(), ArrivingStatements::default());
        let mut hear = |part: &str| {
            if arriving.text.len() + part.len() <= ANSWER_BYTES_MAX {
                arriving.text.push_str(part);
            }
            // Only the end of a statement can complete one.
            while part.contains('}')
                && let Some(item) = arriving.next()
            {
                let restored = sent.restored(&item);
                let statement = restored.and_then(|item| checked(&item, &given, &sources));
                match statement.filter(|_| answer.statements.len() < STATEMENTS_MAX) {
                    // Small models repeat themselves.
                    Some(statement) if answer.has(&statement) => {}
                    Some(statement) => {
                        say(&statement);
                        answer.statements.push(statement);
                    }
                    None => answer.dropped += 1,
                }
            }
        };
        let given = self.put(&asked, Some(&mut hear));
        match given {
            Err(fault) => Err(self.describe(&fault)),
            Ok(_) if arriving.is_in_list => Ok(answer),
            Ok(_) => {
                Err(self.describe(&ModelFault::Answer("it is no list of statements".to_owned())))
            }
        }
    }

    /// Completes a line that a person typed after these questions and their answers.
    ///
    /// # Errors
    /// Returns the reason why there is no answer.
    pub fn complete(
        &mut self,
        turns: &[(String, String)],
        line: &str,
    ) -> Result<TypedLine, String> {
        let mut conversation = String::new();
        for (question, answer) in &turns[turns.len().saturating_sub(TURNS_MAX)..] {
            let answer = excerpt(answer, question, TURN_CHARS_MAX);
            conversation.push_str(&format!("Person: {question}\nAnswer: {answer}\n"));
        }
        let sent = self.outgoing(&[&conversation, cut(line, QUESTION_CHARS_MAX)])?;
        let asked = ask::typed(&sent.texts[0], &sent.texts[1], &sent.note(""));
        let asked = asked.within(self.room.answer_tokens);
        let given = self.put(&asked, None).map_err(|fault| self.describe(&fault))?;
        let given = sent.restored(&given).unwrap_or_default();
        let json = given.find('{').zip(given.rfind('}'));
        let json = json.and_then(|(start, end)| given.get(start..=end));
        let fields: Value = serde_json::from_str(json.unwrap_or_default()).unwrap_or_default();
        let text = clean(fields["text"].as_str().unwrap_or_default());
        // An unusable text leaves the line as it was typed.
        let is_usable = !text.is_empty() && text.len() <= QUESTION_CHARS_MAX;
        let text = if is_usable { text } else { line.to_owned() };
        Ok(match fields["kind"].as_str() {
            Some("statement") => TypedLine::Statement(text),
            Some(_) | None => TypedLine::Question(text),
        })
    }

    /// Returns the sources that fit into the model's context, with the best section of long ones.
    fn fitting(&self, question: &str, sources: &[QuestionSource]) -> Vec<QuestionSource> {
        let mut left = self.room.question_chars;
        let cut = sources.iter().map(|source| QuestionSource {
            label: source.label.clone(),
            text: clean(&excerpt(&source.text, question, SOURCE_CHARS_MAX)),
        });
        cut.take_while(|source| {
            let chars = source.label.chars().count() + source.text.chars().count() + 8;
            let fits = chars <= left;
            left = left.saturating_sub(chars);
            fits
        })
        .collect()
    }

    /// Redacts texts, and masks them for another machine.
    fn outgoing(&mut self, texts: &[&str]) -> Result<OutgoingTexts, String> {
        let shown = self.redactor.redact(&joined(texts)).into_owned();
        let masked = self.masked(&shown).map_err(|fault| self.describe(&fault))?;
        let texts = parts(masked.as_ref().map_or(&shown, |masked| &masked.text));
        Ok(OutgoingTexts { texts, masked, redactor: self.redactor.clone() })
    }

    fn describe(&self, fault: &ModelFault) -> String {
        format!("{}: {fault}", self.name())
    }
}

/// Returns the beginning of a text.
fn cut(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(end, _)| &text[..end])
}

/// Texts of a question as they are sent.
struct OutgoingTexts {
    texts: Vec<String>,
    masked: Option<Masked>,
    redactor: Redactor,
}

impl OutgoingTexts {
    /// Returns a note, and the one about masks if there are any.
    fn note(&self, other: &str) -> String {
        let note = self.masked.as_ref().map(Masked::note).unwrap_or_default();
        format!("{other}\n{note}").trim().to_owned()
    }

    /// Returns JSON of the answer with its masks restored, and redacted like any text from outside; `None` if a mask
    /// remains.
    fn restored(&self, json: &str) -> Option<String> {
        let restored = self.masked.as_ref().map_or(json.to_owned(), |masked| masked.restore(json));
        let is_masked = self.masked.as_ref().is_some_and(|masked| masked.is_masked(&restored));
        (!is_masked).then(|| self.redactor.redact(&restored).into_owned())
    }
}

/// An answer in JSON that arrives in parts.
#[derive(Default)]
struct ArrivingStatements {
    text: String,
    /// Position after the last complete statement.
    at: usize,
    /// Whether the beginning of the list has arrived.
    is_in_list: bool,
}

impl ArrivingStatements {
    /// Returns the JSON of the next complete statement; `None` if it has not arrived.
    fn next(&mut self) -> Option<String> {
        if !self.is_in_list {
            let (before, after) = self.text.split_once("\"statements\"")?;
            let list = after.find('[')?;
            self.at = before.len() + "\"statements\"".len() + list + 1;
            self.is_in_list = true;
        }
        let rest = &self.text[self.at..];
        let start = rest.find(|c: char| !c.is_whitespace() && c != ',')?;
        if !rest[start..].starts_with('{') {
            return None;
        }
        let mut items = serde_json::Deserializer::from_str(&rest[start..]).into_iter::<Value>();
        items.next()?.ok()?;
        let end = start + items.byte_offset();
        let item = rest[start..end].to_owned();
        self.at += end;
        Some(item)
    }
}

/// Returns a statement with its calculations done and its sources checked; `None` if no source supports it. `given` is
/// the rest of what the model was given.
fn checked(json: &str, given: &str, sources: &[QuestionSource]) -> Option<Statement> {
    let ProposedStatement { text, sources: cited } = serde_json::from_str(json).ok()?;
    let (text, in_text) = without_citations(&clean(cut(&text, STATEMENT_CHARS_MAX)));
    let cited = cited.iter().filter_map(|number| match number {
        Value::String(text) => text.trim_matches(['[', ']']).parse().ok(),
        number => number.as_u64(),
    });
    let cited: BTreeSet<usize> = cited
        .chain(in_text)
        .filter_map(|number| usize::try_from(number).ok())
        .filter(|number| (1..=sources.len()).contains(number))
        .collect();
    let shown = cited.iter().map(|number| &sources[number - 1]);
    let texts: Vec<&str> = shown.clone().map(|source| source.text.as_str()).collect();
    if text.is_empty() || cited.is_empty() || !shares_word(&text, &texts.join("\n")) {
        return None;
    }
    let mut known = numbers(given);
    shown.for_each(|source| known.extend(&numbers(&source.label) | &numbers(&source.text)));
    let unshown = !numbers(&text).is_subset(&known);
    Some(Statement { text: calculated(&text)?, sources: cited.into_iter().collect(), unshown })
}

/// Returns a text without numbers of sources in brackets, and these numbers.
fn without_citations(text: &str) -> (String, Vec<u64>) {
    static CITED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]").ok());
    let Some(cited) = &*CITED else { return (text.to_owned(), Vec::new()) };
    let numbers = cited
        .captures_iter(text)
        .flat_map(|found| found[1].split(',').map(|it| it.trim().parse().ok()).collect::<Vec<_>>());
    (cited.replace_all(text, "").into_owned(), numbers.flatten().collect())
}

/// Returns whether a statement has a word of its sources. One without searchable words, such as "Yes", needs none.
fn shares_word(text: &str, shown: &str) -> bool {
    let terms = |text: &str| tokens(text).into_iter().map(|token| token.term).collect();
    let text = calls().map_or(Cow::Borrowed(text), |calls| calls.replace_all(text, ""));
    let (text, shown): (BTreeSet<String>, BTreeSet<String>) = (terms(&text), terms(shown));
    text.is_empty() || !text.is_disjoint(&shown)
}

/// Returns the numbers in a text, without leading zeros, as "2026-05-02" has 2026, 5 and 2.
fn numbers(text: &str) -> BTreeSet<&str> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    digits.map(|digits| digits.trim_start_matches('0')).collect()
}

/// Returns the pattern of calculations.
fn calls() -> Option<&'static Regex> {
    static CALLS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\{*\b(days|sum)\(([^()]*)\)\}*(?:\s+days\b)?").ok());
    CALLS.as_ref()
}

/// Returns a text in which `days(DATE, DATE)` and `sum(NUMBER, ...)` are replaced by their results with the operands;
/// `None` if one of them cannot be computed.
fn calculated(text: &str) -> Option<String> {
    let mut is_done = true;
    let done = calls()?.replace_all(text, |call: &Captures<'_>| {
        let operands: Vec<&str> = call[2].split(',').map(str::trim).collect();
        let result = if &call[1] == "days" { days(&operands) } else { sum(&operands) };
        is_done &= result.is_some();
        result.unwrap_or_default()
    });
    let done = done.into_owned();
    is_done.then_some(done)
}

fn days(operands: &[&str]) -> Option<String> {
    let [one, other] = operands else { return None };
    let day = |text: &str| Some(Timestamp::parse(text)?.0.div_euclid(DAY_MS));
    let count = day(one)?.abs_diff(day(other)?);
    let noun = if count == 1 { "day" } else { "days" };
    Some(format!("{count} {noun} ({one} to {other})"))
}

/// Adds numbers, with the unit after them if all have the same.
fn sum(operands: &[&str]) -> Option<String> {
    let number = |text: &str| -> Option<(f64, String)> {
        let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        Some((number.parse().ok()?, unit.trim().to_owned()))
    };
    let all: Vec<(f64, String)> =
        operands.iter().map(|operand| number(operand)).collect::<Option<_>>()?;
    let unit = &all.first()?.1;
    if all.iter().any(|(_, other)| other != unit) {
        return None;
    }
    let sum: f64 = all.iter().map(|(number, _)| number).sum();
    let text = format!("{sum:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let space = if unit.is_empty() { "" } else { " " };
    Some(format!("{text}{space}{unit} ({})", operands.join(" + ")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use memory_store::settings::{Llm, Settings};

    use super::super::ask::ModelQuestion;
    use super::super::masks::Masks;
    use super::super::provider::{ModelReply, Provider};
    use super::super::usage::{Meter, Usage};
    use super::*;

    fn sources() -> Vec<QuestionSource> {
        [
            ("fact, 2026-05-02", "Carts are stored in Valkey"),
            ("fact, 2026-03-01", "The limit is 300"),
        ]
        .map(|(label, text)| QuestionSource { label: label.into(), text: text.into() })
        .to_vec()
    }

    fn check(json: &str) -> Option<(String, Vec<usize>, bool)> {
        let statement = checked(json, "where since 2026?", &sources())?;
        Some((statement.text, statement.sources, statement.unshown))
    }

    #[test]
    fn only_what_a_source_shows_is_kept() {
        let kept = |text: &str, sources: &[usize], unshown| {
            Some((text.to_owned(), sources.to_vec(), unshown))
        };
        let json = r#"{"text": "Carts are in Valkey [2].", "sources": [1, 1, 9]}"#;
        assert_eq!(check(json), kept("Carts are in Valkey.", &[1, 2], false));
        let json = r#"{"text": "The limit is 500.", "sources": ["[2]"]}"#;
        assert_eq!(check(json), kept("The limit is 500.", &[2], true));
        assert_eq!(check(r#"{"text": "Yes.", "sources": [1]}"#), kept("Yes.", &[1], false));
        for dropped in [
            r#"{"text": "Carts are in Valkey.", "sources": []}"#,
            r#"{"text": "Carts are in Valkey.", "sources": [3]}"#,
            r#"{"text": "Carts are in Valkey.", "sources": [0, -1]}"#,
            r#"{"text": "The moon is made of cheese.", "sources": [1]}"#,
            r#"{"text": "It took days(2026-05-02, 2026-05-02) to fly there in 2026.", "sources": [1]}"#,
            r#"{"text": "", "sources": [1]}"#,
            r#"{"sources": [1]}"#,
            r#"{"text": "The limit grew by days(then, now).", "sources": [2]}"#,
        ] {
            assert_eq!(check(dropped), None, "{dropped}");
        }
    }

    #[test]
    fn days_and_sums_are_computed_here() {
        for (text, done) in [
            (
                "It took days(2026-03-01, 2026-05-02).",
                "It took 62 days (2026-03-01 to 2026-05-02).",
            ),
            (
                "It took {days(2026-05-02, 2026-05-01)} days",
                "It took 1 day (2026-05-02 to 2026-05-01)",
            ),
            ("In all sum(0.1, 0.2, 7)", "In all 7.3 (0.1 + 0.2 + 7)"),
            ("sum(3 h, 4 h) of work", "7 h (3 h + 4 h) of work"),
            ("the summary(x) is plain", "the summary(x) is plain"),
        ] {
            assert_eq!(calculated(text).as_deref(), Some(done));
        }
        for wrong in ["days(2026-03-01)", "days(March, April)", "sum()", "sum(3 h, 4 d)"] {
            assert_eq!(calculated(wrong), None, "{wrong}");
        }
    }

    /// A model on another machine, which records its question and answers with its first mask.
    struct Elsewhere(Arc<std::sync::Mutex<String>>);

    impl Provider for Elsewhere {
        fn name(&self) -> String {
            "elsewhere".to_owned()
        }

        fn is_local(&self) -> bool {
            false
        }

        fn ask(&self, question: &ModelQuestion, _usd_max: Option<f64>) -> ModelReply {
            self.0.lock().unwrap().push_str(&question.text);
            let is_mask = |word: &&str| word.starts_with("EMAIL_");
            let mask = question.text.split_whitespace().find(is_mask).unwrap_or_default();
            let (changed, _) = mask.split_at(mask.len() - 1);
            let statement = |mask: &str| serde_json::json!({"text": format!("Ask {mask} first."), "sources": [1]});
            let answer = match question.text.contains("<sources>") {
                true => serde_json::json!({"statements": [statement(mask), statement(changed)]}),
                false => serde_json::json!({"kind": "question", "text": format!("Is it {mask}?")}),
            };
            ModelReply { answer: Ok(answer.to_string()), usage: Usage::default() }
        }
    }

    #[test]
    fn another_machine_gets_masks_and_the_person_the_originals() {
        let (folder, settings) = (tempfile::tempdir().unwrap(), Settings::default());
        let (meter, seen) =
            (Meter::new(None, Timestamp(0), &Llm::default(), false), Arc::default());
        let provider = Box::new(Elsewhere(Arc::clone(&seen)));
        let masks = Some(Masks::new(&settings));
        let mut model = LanguageModel::with(
            provider,
            meter,
            folder.path(),
            &settings,
            masks,
            None,
            Timestamp(0),
        );
        let text = "Ask ann@shop.org before releases".to_owned();
        let source = QuestionSource { label: "preference, 2026-05-02".into(), text };
        let question = "Is ann@shop.org asked? The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let answer = model.answer(question, &[source], &mut |_| {}).unwrap();
        let [statement] = &answer.statements[..] else { panic!("{answer:?}") };
        assert_eq!((statement.text.as_str(), answer.dropped), ("Ask ann@shop.org first.", 1));
        let turns = [("Is it ann@shop.org ?".to_owned(), String::new())];
        let line = model.complete(&turns, "is it her?");
        assert_eq!(line, Ok(TypedLine::Question("Is it ann@shop.org?".to_owned())));
        let saw = seen.lock().unwrap();
        assert!(!saw.contains("ann@shop.org") && !saw.contains("ghp_"), "{saw}");
        assert_eq!(saw.matches("copy them unchanged").count(), 2, "{saw}");
    }

    #[test]
    fn statements_are_read_as_they_arrive() {
        let whole =
            r#"Sure: {"statements": [{"text": "a \"}\" b", "sources": [1]}, {"text":"c"}]}"#;
        let mut arriving = ArrivingStatements::default();
        let mut items = Vec::new();
        for c in whole.chars() {
            arriving.text.push(c);
            items.extend(arriving.next());
        }
        assert_eq!(items, [r#"{"text": "a \"}\" b", "sources": [1]}"#, r#"{"text":"c"}"#]);
        assert!(arriving.is_in_list);
        let mut other = ArrivingStatements { text: "I do not know.".into(), ..Default::default() };
        assert_eq!(other.next(), None);
        assert!(!other.is_in_list);
    }
}
