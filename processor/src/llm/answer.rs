//! Reading a model's answer leniently: fenced, cut off, with odd numbers or missing fields.

use std::sync::LazyLock;

use memory_store::Kind;
use memory_store::recall::render::clean;
use regex::Regex;
use serde_json::Value;

use super::ask::ANSWERS_MAX;
use crate::extract::{TEXT_CHARS_MAX, cut};

/// Bytes of an answer that are read.
pub const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 160;
/// Characters of a quote.
const QUOTE_CHARS_MAX: usize = 600;
/// Paths of one memory.
const PATHS_MAX: usize = 8;
/// Confidence when the model gives none that can be read.
const CONFIDENCE_DEFAULT: f32 = 0.6;
/// A model's confidence says little at its ends.
const CONFIDENCE_RANGE: (f32, f32) = (0.3, 0.9);

/// A memory as a model proposed it: not checked against anything yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    pub kind: Kind,
    pub title: String,
    pub text: String,
    pub quote: String,
    pub confidence: f32,
    pub paths: Vec<String>,
}

impl Proposed {
    /// Whether any of its texts is one of these.
    pub fn has(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let texts = [&self.title, &self.text, &self.quote];
        texts.into_iter().chain(&self.paths).any(|text| is_it(text))
    }
}

/// Why nothing could be read from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoJson;

/// Reads an answer. An empty list is an answer; text without any JSON is not.
pub fn read(answer: &str) -> Result<Vec<Proposed>, NoJson> {
    let end = answer.floor_char_boundary(ANSWER_BYTES_MAX);
    let answer = tame_numbers(&answer[..end]);
    let values = match serde_json::from_str::<Value>(between_braces(&answer)) {
        Ok(value) => listed(value),
        // Cut off or followed by something: the objects that are complete still count.
        Err(_) => complete_objects(&answer),
    };
    let values = values.ok_or(NoJson)?;
    Ok(values.iter().filter_map(proposed).take(ANSWERS_MAX).collect())
}

/// What lies between the first brace or bracket and the last one: without fences and remarks.
fn between_braces(answer: &str) -> &str {
    let start = answer.find(['{', '[']).unwrap_or(0);
    let end = answer.rfind(['}', ']']).map_or(answer.len(), |end| end + 1);
    answer.get(start..end).unwrap_or_default()
}

/// Numbers such as `0e586936` or `1e999` are valid to a grammar and to nobody else.
fn tame_numbers(answer: &str) -> String {
    static WILD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(:\s*)-?0*\d*(?:\.\d+)?[eE][+-]?\d{3,}").ok());
    match &*WILD {
        Some(wild) => wild.replace_all(answer, "${1}0").into_owned(),
        None => answer.to_owned(),
    }
}

/// The list of memories, wherever the model put it.
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

/// The innermost objects that are complete, of text that as a whole is no JSON.
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
                let value = object.and_then(|text| serde_json::from_str::<Value>(text).ok());
                objects.extend(value.filter(|value| value.get("title").is_some()));
            }
            _ => {}
        }
    }
    (!objects.is_empty()).then_some(objects)
}

fn proposed(value: &Value) -> Option<Proposed> {
    let title = line(&text_of(value, &["title", "name", "summary"]), TITLE_CHARS_MAX);
    let quote = text_of(value, &["quote", "evidence", "source"]);
    if title.is_empty() || quote.trim().is_empty() {
        return None;
    }
    let text = text_of(value, &["text", "body", "content", "description"]);
    Some(Proposed {
        kind: kind(&text_of(value, &["kind", "type", "category"])),
        // No longer than what the rules write: it is to fit into a prompt with others.
        text: cut(lines(&text).trim(), TEXT_CHARS_MAX.saturating_sub(title.chars().count())),
        title,
        quote: quote.chars().take(QUOTE_CHARS_MAX).collect(),
        confidence: confidence(value.get("confidence")),
        paths: paths(value.get("paths").or_else(|| value.get("files"))),
    })
}

/// A kind that the model may use; of a wrong one the statement is still a fact.
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

fn confidence(value: Option<&Value>) -> f32 {
    let number = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().trim_end_matches('%').parse().ok(),
        _ => None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "a share needs no more")]
    let share = match number {
        Some(number) if number > 1.0 && number <= 100.0 => (number / 100.0) as f32,
        Some(number) if number > 0.0 && number <= 1.0 => number as f32,
        _ => CONFIDENCE_DEFAULT,
    };
    share.clamp(CONFIDENCE_RANGE.0, CONFIDENCE_RANGE.1)
}

fn paths(value: Option<&Value>) -> Vec<String> {
    let one = |value: &Value| value.as_str().map(|path| line(path, 300));
    let paths: Vec<String> = match value {
        Some(Value::Array(values)) => values.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => Vec::new(),
    };
    paths.into_iter().filter(|path| !path.is_empty()).take(PATHS_MAX).collect()
}

fn text_of(value: &Value, names: &[&str]) -> String {
    names
        .iter()
        .find_map(|name| value.get(name).and_then(Value::as_str))
        .unwrap_or_default()
        .to_owned()
}

/// A text in one line without control characters and others that nobody sees.
fn line(text: &str, chars_max: usize) -> String {
    clean(text).chars().take(chars_max).collect()
}

/// The same of a text of several lines.
fn lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        r#"{"kind":"gotcha","title":"A","text":"b","quote":"c d","confidence":80,"paths":["x"]}"#;

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
    fn odd_fields_are_put_right_or_the_memory_is_left_out() {
        let read = |json: &str| read(&format!("[{json}]")).unwrap();
        assert_eq!(read(ONE)[0].confidence, 0.8);
        assert_eq!(read(&ONE.replace("80", "-3"))[0].confidence, CONFIDENCE_DEFAULT);
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
        assert!(read(&ONE.replace("\"title\":\"A\",", "")).is_empty(), "without a title");
    }
}
