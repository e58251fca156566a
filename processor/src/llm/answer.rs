//! Parses a model's answer leniently: it may be in a code fence or truncated, contain unusual numbers or lack fields.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use memory_store::memory::{CUE_CHARS_MAX, CUES_MAX, Entity, EntityType};
use memory_store::recall::render::clean;
use memory_store::{Kind, Timestamp};
use regex::Regex;
use serde_json::Value;

use super::ask::ANSWERS_MAX;
use crate::extract::cut;
use crate::extract::draft::PATHS_MAX;

/// Maximum number of bytes of an answer that are read.
pub const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Maximum number of characters of title and text together. The instructions request at most 60 words.
pub const TEXT_CHARS_MAX: usize = 440;
/// Maximum number of characters of a title.
const TITLE_CHARS_MAX: usize = 160;
/// Maximum number of characters of a quote.
const QUOTE_CHARS_MAX: usize = 600;
/// Maximum number of characters of a decision's reason, or of the error that a fix cures.
const BECAUSE_CHARS_MAX: usize = 240;
/// Maximum number of names in one memory, and of characters in a name.
const ENTITIES_MAX: usize = 4;
const NAME_CHARS: RangeInclusive<usize> = 2..=60;
/// Maximum number of facts in one memory, and of characters in each part.
const FACTS_MAX: usize = 3;
const FACT_CHARS_MAX: usize = 80;
/// Maximum number of characters in each level of a topic.
const TOPIC_CHARS_MAX: usize = 30;
/// Importance if the answer contains no valid value.
const IMPORTANCE_DEFAULT: f32 = 0.4;

/// A memory as a model proposed it, before any check.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedMemory {
    pub kind: Kind,
    pub title: String,
    pub text: String,
    pub quote: String,
    /// Importance in the model's judgement, 0 to 1.
    pub importance: f32,
    /// Whether the memory applies beyond the session's task, in the model's judgement.
    pub standing: bool,
    pub paths: Vec<String>,
    /// Likely queries for the memory.
    pub cues: Vec<String>,
    /// The reason of a decision, or the error of a fix; `None` if the answer lacks the field.
    pub because: Option<String>,
    /// Whether the session confirms it, in the model's judgement; `None` if the answer lacks the field.
    pub confirmed: Option<bool>,
    /// Names in the memory.
    pub entities: Vec<Entity>,
    /// Statements in the memory.
    pub facts: Vec<ProposedFact>,
    /// Topic in normal form, `area/topic`.
    pub topic: Option<String>,
}

/// A statement as a model proposed it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedFact {
    pub subject: String,
    pub predicate: String,
    pub object: String,
    /// First day on which it is true, if the answer contains a date.
    pub since: Option<Timestamp>,
}

/// An answer that consists of texts.
pub trait HasTexts {
    /// Returns whether any of the texts fulfils a condition.
    fn has(&self, is_it: &dyn Fn(&str) -> bool) -> bool;
}

impl HasTexts for ProposedMemory {
    fn has(&self, is_it: &dyn Fn(&str) -> bool) -> bool {
        let texts = [&self.title, &self.text, &self.quote].into_iter();
        let texts =
            texts.chain(&self.paths).chain(&self.cues).chain(&self.because).chain(&self.topic);
        let names = self.entities.iter().map(|entity| &entity.name);
        let facts =
            self.facts.iter().flat_map(|fact| [&fact.subject, &fact.predicate, &fact.object]);
        texts.chain(names).chain(facts).any(|text| is_it(text))
    }
}

/// Error for an answer that contains no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoJson;

/// Parses an answer. An empty list is a valid answer; a text without JSON is not.
pub fn read(answer: &str) -> Result<Vec<ProposedMemory>, NoJson> {
    let answer = &answer[..answer.floor_char_boundary(ANSWER_BYTES_MAX)];
    let values = match whole(answer) {
        Some(value) => listed(value),
        // If the answer was truncated or contains other text, its complete objects are used.
        None => complete_objects(answer),
    };
    let values = values.ok_or(NoJson)?;
    Ok(values.iter().filter_map(proposed).take(ANSWERS_MAX).collect())
}

/// A verdict on a draft, with the names in the question. Texts that the question does not ask for are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The draft.
    pub note: String,
    /// Another draft, related by `relation`.
    pub other: String,
    /// Name of the relation.
    pub relation: String,
    /// The work that overtook the draft.
    pub by: String,
    /// Reason, as a word of the question or in full.
    pub why: String,
    /// Explanation.
    pub how: String,
}

impl HasTexts for Verdict {
    fn has(&self, is_it: &dyn Fn(&str) -> bool) -> bool {
        is_it(&self.why) || is_it(&self.how)
    }
}

/// Reads the first `most` verdicts in the list `key` of an answer. An answer without this list belongs to another
/// question.
pub fn verdicts(answer: &str, key: &str, most: usize) -> Result<Vec<Verdict>, NoJson> {
    let value = whole(&answer[..answer.floor_char_boundary(ANSWER_BYTES_MAX)]).ok_or(NoJson)?;
    let values = value.get(key).and_then(Value::as_array).ok_or(NoJson)?;
    let verdict = |value: &Value| {
        let text = |key| text_of(value, &[key]).trim().to_owned();
        let [note, other, relation] = ["note", "other", "relation"].map(text);
        let [by, why, how] = ["by", "why", "how"].map(text);
        Verdict { note, other, relation, by, why, how }
    };
    Ok(values.iter().take(most).map(verdict).collect())
}

/// Parses an answer that consists of JSON, except for fences and remarks around it.
fn whole(answer: &str) -> Option<Value> {
    parsed(between_braces(answer))
}

/// Parses JSON. If this fails, parses it again with unusual numbers replaced. The second attempt is not the first,
/// because a text may contain characters that resemble such numbers.
fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&tame_numbers(text))).ok()
}

/// Returns the text from the first brace or bracket to the last one, without fences and remarks.
fn between_braces(answer: &str) -> &str {
    let start = answer.find(['{', '[']).unwrap_or(0);
    let end = answer.rfind(['}', ']']).map_or(answer.len(), |end| end + 1);
    answer.get(start..end).unwrap_or_default()
}

/// Replaces numbers such as `0e586936` or `1e999`, which grammars permit but parsers reject.
fn tame_numbers(answer: &str) -> String {
    static WILD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(:\s*)-?\d+(?:\.\d+)?[eE][+-]?\d{3,}(\s*[,}\]])").ok());
    match &*WILD {
        Some(wild) => wild.replace_all(answer, "${1}0${2}").into_owned(),
        None => answer.to_owned(),
    }
}

/// Returns the list of memories, which may be in any field of the answer.
fn listed(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        Value::Object(mut object) => match object.remove("memories") {
            Some(Value::Array(values)) => Some(values),
            Some(Value::Null) => Some(Vec::new()),
            Some(_) => None,
            None if object.contains_key("title") => Some(vec![Value::Object(object)]),
            None if object.is_empty() => Some(Vec::new()),
            None => object.into_iter().find_map(|(_, value)| match value {
                Value::Array(values) => Some(values),
                _ => None,
            }),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Returns the complete innermost objects of a text that is not entirely JSON; `None` if there are none.
fn complete_objects(answer: &str) -> Option<Vec<Value>> {
    let mut starts = Vec::new();
    let mut objects = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for (at, character) in answer.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => starts.push(at),
            '}' if !quoted => {
                let object = starts.pop().and_then(|start| answer.get(start..=at));
                let value = object.and_then(parsed);
                objects.extend(value.filter(|value| value.get("title").is_some()));
            }
            _ => {}
        }
    }
    (!objects.is_empty()).then_some(objects)
}

fn proposed(value: &Value) -> Option<ProposedMemory> {
    let title = line(&text_of(value, &["title", "name", "summary"]), TITLE_CHARS_MAX);
    let quote = text_of(value, &["quote", "evidence", "source"]);
    if title.is_empty() || quote.trim().is_empty() {
        return None;
    }
    let text = text_of(value, &["text", "body", "content", "description"]);
    Some(ProposedMemory {
        kind: kind(&text_of(value, &["kind", "type", "category"])),
        // The text is truncated to the length of texts by rules, because it must fit into an injection together with
        // others.
        text: shortened(lines(&text).trim(), TEXT_CHARS_MAX.saturating_sub(title.chars().count())),
        title,
        quote: quote.chars().take(QUOTE_CHARS_MAX).collect(),
        importance: share(value.get("importance").or_else(|| value.get("confidence"))),
        standing: value.get("standing").and_then(Value::as_bool).unwrap_or(true),
        paths: list(value.get("paths").or_else(|| value.get("files")), PATHS_MAX),
        cues: cues(list(value.get("cues"), CUES_MAX)),
        because: value.get("because").and_then(Value::as_str).map(|it| line(it, BECAUSE_CHARS_MAX)),
        confirmed: value.get("confirmed").and_then(Value::as_bool),
        entities: entities(value.get("entities")),
        facts: items(value.get("facts")).filter_map(fact).take(FACTS_MAX).collect(),
        topic: value.get("topic").and_then(Value::as_str).and_then(topic),
    })
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Parses names, without duplicates. A name without a type is accepted, and a text that is too long for a name is
/// ignored.
fn entities(value: Option<&Value>) -> Vec<Entity> {
    let mut entities: Vec<Entity> = Vec::new();
    for item in items(value) {
        let (name, of_type) = match item {
            Value::String(name) => (name.as_str(), ""),
            _ => {
                let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
                (text("name"), text("type"))
            }
        };
        let name = clean(name);
        let name = name.trim_matches(|c: char| c == '`' || c.is_whitespace());
        let is_new = !entities.iter().any(|known| known.name.to_lowercase() == name.to_lowercase());
        if NAME_CHARS.contains(&name.chars().count()) && is_new && entities.len() < ENTITIES_MAX {
            let of_type = EntityType::from_name(of_type.trim());
            entities.push(Entity { name: name.to_owned(), of_type });
        }
    }
    entities
}

/// Parses a fact; `None` unless it has all three parts and each part is short enough.
fn fact(value: &Value) -> Option<ProposedFact> {
    let part = |key: &str| {
        let part = clean(value.get(key)?.as_str()?).trim().to_owned();
        (1..=FACT_CHARS_MAX).contains(&part.chars().count()).then_some(part)
    };
    let since = ["since", "from"].into_iter().find_map(|key| value.get(key)?.as_str());
    Some(ProposedFact {
        subject: part("subject")?,
        predicate: part("predicate")?,
        object: part("object")?,
        since: since.and_then(|since| Timestamp::parse(since.trim())),
    })
}

/// Parses a topic of two levels; `None` for other texts. Topics are compared, so they have a normal form: lower case,
/// with hyphens between words.
pub fn topic(text: &str) -> Option<String> {
    let level = |level: &str| {
        let words = level.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let level = words.collect::<Vec<_>>().join("-").to_lowercase();
        (1..=TOPIC_CHARS_MAX).contains(&level.chars().count()).then_some(level)
    };
    let (area, topic) = text.split_once('/')?;
    Some(format!("{}/{}", level(area)?, level(topic.split('/').next()?)?))
}

/// Returns the sentences of a text that fit completely, or else the beginning of the first sentence.
pub fn shortened(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let stops = text[..end].rmatch_indices(['.', '!', '?', '\n']);
    let mut ends = stops.map(|(at, stop)| at + stop.len());
    let whole = ends.find(|&end| text[end..].starts_with(char::is_whitespace));
    whole.map_or_else(|| cut(text, chars_max), |end| text[..end].trim_end().to_owned())
}

/// Returns the kind with this name if the model may use it, else a fact.
fn kind(name: &str) -> Kind {
    match Kind::from_name(name) {
        Some(
            kind @ (Kind::Decision
            | Kind::Convention
            | Kind::Preference
            | Kind::Fact
            | Kind::Procedure
            | Kind::Gotcha
            | Kind::Fix
            | Kind::FailedApproach
            | Kind::Task),
        ) => kind,
        Some(Kind::Command) => Kind::Procedure,
        Some(Kind::Session | Kind::Synthesis) | None => Kind::Fact,
    }
}

/// Parses an importance: an integer from 0 to 100, as the instructions request, or a fraction from 0 to 1.
fn share(value: Option<&Value>) -> f32 {
    let written = match value {
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => text.trim().to_owned(),
        _ => return IMPORTANCE_DEFAULT,
    };
    let number: f32 = written.trim_end_matches('%').trim_end().parse().unwrap_or(f32::NAN);
    let is_fraction = written.contains('.') && !written.ends_with('%');
    match number {
        share if is_fraction && (0.0..=1.0).contains(&share) => share,
        percent if (0.0..=100.0).contains(&percent) => percent / 100.0,
        _ => IMPORTANCE_DEFAULT,
    }
}

fn list(value: Option<&Value>, items_max: usize) -> Vec<String> {
    let one = |value: &Value| value.as_str().map(|text| line(text, 300));
    let items: Vec<String> = match value {
        Some(Value::Array(values)) => values.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => Vec::new(),
    };
    items.into_iter().filter(|item| !item.is_empty()).take(items_max).collect()
}

/// Returns the cues that are short enough, without duplicates. A truncated cue would be useless.
fn cues(cues: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for cue in cues {
        if cue.chars().count() <= CUE_CHARS_MAX && !kept.contains(&cue) {
            kept.push(cue);
        }
    }
    kept
}

fn text_of(value: &Value, names: &[&str]) -> String {
    names
        .iter()
        .find_map(|name| value.get(name).and_then(Value::as_str))
        .unwrap_or_default()
        .to_owned()
}

/// Returns a text on one line without control characters and other invisible characters.
fn line(text: &str, chars_max: usize) -> String {
    clean(text).chars().take(chars_max).collect()
}

/// Cleans a text line by line.
fn lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        r#"{"kind":"gotcha","title":"A","text":"b","quote":"c d","importance":80,"paths":["x"]}"#;

    fn titles(answer: &str) -> Result<Vec<String>, NoJson> {
        Ok(read(answer)?.into_iter().map(|proposed| proposed.title).collect())
    }

    #[test]
    fn answers_are_read_in_every_form_that_models_give_them() {
        for answer in [
            format!(r#"{{"memories":[{ONE}]}}"#),
            format!("```json\n{{\"memories\": [{ONE}]}}\n```"),
            format!("Here it is: [{ONE}] I hope this helps"),
            format!(r#"{{"result":[{ONE}]}}"#),
            ONE.to_owned(),
            format!(r#"{{"memories":[{ONE},{{"kind":"fix","title":"cut o"#),
            format!(r#"{{"memories":[{}]}}"#, ONE.replace("80", "0e586936")),
            format!(r#"{{"memories":[{}]}}"#, ONE.replace("80", "\"high\"")),
        ] {
            assert_eq!(titles(&answer), Ok(vec!["A".to_owned()]), "{answer}");
        }
        assert_eq!(titles(r#"{"memories":[]}"#), Ok(vec![]));
        assert_eq!(titles("{}"), Ok(vec![]));
        for answer in ["", "I found nothing.", r#"{"memories":[{"kind":"#, "\u{fffd}{{{"] {
            assert_eq!(titles(answer), Err(NoJson), "{answer}");
        }
    }

    #[test]
    fn an_answer_to_another_question_has_no_verdicts() {
        assert_eq!(verdicts(r#"{"memories": []}"#, "overtaken", 9), Err(NoJson));
        assert_eq!(verdicts(r#"{"overtaken": []}"#, "overtaken", 9), Ok(Vec::new()));
        let answer =
            r#"{"overtaken": [{"note": " E1", "by": "N2", "why": "removed", "how": "x"}, {}]}"#;
        let [note, by, why, how] = ["E1", "N2", "removed", "x"].map(str::to_owned);
        let verdict = Verdict { note, by, why, how, ..Verdict::default() };
        assert_eq!(verdicts(answer, "overtaken", 1), Ok(vec![verdict]));
    }

    #[test]
    fn codes_of_errors_are_no_wild_numbers() {
        let coded = ONE.replace("\"A\"", r#""code: 12e586936, then E0308""#);
        let expected = Ok(vec!["code: 12e586936, then E0308".to_owned()]);
        for answer in [
            format!(r#"{{"memories":[{coded}]}}"#),
            format!(r#"{{"memories":[{coded},{{"kind":"fix"#),
        ] {
            assert_eq!(titles(&answer), expected, "{answer}");
        }
    }

    #[test]
    fn names_facts_and_topic_are_bounded_and_may_be_missing() {
        let plain = &read(&format!("[{ONE}]")).unwrap()[0];
        assert_eq!((plain.confirmed, &plain.because, &plain.topic), (None, &None, &None));
        assert!(plain.entities.is_empty() && plain.facts.is_empty());
        let with = |fields: &str| {
            read(&format!("[{}]", ONE.replace("\"paths\"", &format!("{fields},\"paths\""))))
                .unwrap()[0]
                .clone()
        };
        let long = "x".repeat(100);
        let read = with(&format!(
            r#""because":" why\u0007 so ","confirmed":false,"topic":"Data Store / Carts/x",
               "entities":[{{"name":"`Redis`","type":"Service"}},"redis",{{"name":"{long}"}},{{"name":"B1","type":"poem"}},7,
                           {{"name":"B2"}},{{"name":"B3"}},{{"name":"B4"}}],
               "facts":[{{"subject":"carts","predicate":"live in","object":"Redis","since":"2026-03-01"}},
                        {{"subject":"carts","predicate":"","object":"x"}},{{"subject":"{long}","predicate":"a","object":"b"}},
                        {{"subject":"b","predicate":"is","object":"c","since":"soon"}}]"#
        ));
        assert_eq!(read.because.as_deref(), Some("why so"));
        assert_eq!(
            (read.confirmed, read.topic.as_deref()),
            (Some(false), Some("data-store/carts"))
        );
        let names: Vec<String> = read.entities.iter().map(Entity::to_string).collect();
        assert_eq!(names, ["Redis (service)", "B1", "B2", "B3"]);
        let facts: Vec<(&str, Option<Timestamp>)> =
            read.facts.iter().map(|fact| (fact.object.as_str(), fact.since)).collect();
        assert_eq!(facts, [("Redis", Timestamp::parse("2026-03-01")), ("c", None)]);
        for odd in [r#""entities":"x","facts":{},"topic":7,"confirmed":"no""#, r#""topic":"carts""#]
        {
            let read = with(odd);
            assert_eq!((&read.topic, read.confirmed), (&None, None), "{odd}");
            assert!(read.entities.is_empty() && read.facts.is_empty(), "{odd}");
        }
    }

    #[test]
    fn odd_fields_are_put_right_or_the_memory_is_left_out() {
        let read = |json: &str| read(&format!("[{json}]")).unwrap();
        assert_eq!(read(ONE)[0].importance, 0.8);
        assert_eq!(read(&ONE.replace("80", "-3"))[0].importance, IMPORTANCE_DEFAULT);
        for (told, share) in
            [("1", 0.01), ("1.0", 1.0), ("0.8", 0.8), ("\"80\"", 0.8), ("\"1%\"", 0.01)]
        {
            assert_eq!(read(&ONE.replace("80", told))[0].importance, share, "{told}");
        }
        assert_eq!(read(&ONE.replace("gotcha", "poem"))[0].kind, Kind::Fact);
        assert_eq!(read(&ONE.replace("gotcha", "Failed_Approach"))[0].kind, Kind::FailedApproach);
        assert_eq!(read(&ONE.replace("[\"x\"]", "\"y\""))[0].paths, ["y"]);
        assert!(read(&ONE.replace("c d", " ")).is_empty(), "without a quote");
        let sly =
            ONE.replace("\"A\"", r#""A\u001b[31m\u202eB""#).replace("\"b\"", r#""b\n\u0007c""#);
        let sly = &read(&sly)[0];
        assert_eq!((sly.title.as_str(), sly.text.as_str()), ("A[31mB", "b\nc"));
        let long = read(&ONE.replace("\"b\"", &format!("\"{}\"", "b c ".repeat(300))))[0].clone();
        assert!(long.title.chars().count() + long.text.chars().count() <= TEXT_CHARS_MAX);
        let sentences = format!("One e.g. here. {}", "And two. ".repeat(60));
        let told = read(&ONE.replace("\"b\"", &format!("\"{sentences}\"")))[0].text.clone();
        assert!(told.starts_with("One e.g. here.") && told.ends_with("And two."), "{told}");
        assert!(read(&ONE.replace("\"title\":\"A\",", "")).is_empty(), "without a title");
        let cues = |cues: &str| {
            read(&ONE.replace("\"paths\"", &format!("\"cues\":{cues},\"paths\"")))[0].cues.clone()
        };
        assert_eq!(cues(r#"["a","a","b"," ","c","d","e"]"#), ["a", "b", "c"]);
        assert_eq!(cues(&format!("[\"{}\",\"b\"]", "x".repeat(CUE_CHARS_MAX + 1))), ["b"]);
        assert_eq!(cues("\"one\""), ["one"]);
    }
}
