//! Facts and relations as typed by people and models, one per line: `cart | stored in | Redis | 2026-03-01..` and
//! `refines k3v9qa`.

use crate::memory::{Fact, Memory, Relation};
use crate::recall::time_named;
use crate::time::Timestamp;

/// Description of the form of a fact, for messages.
pub const FACT_FORM: &str =
    "\"SUBJECT | PREDICATE | OBJECT\", and if it is not always true \" | 2026-03-01..2026-04-01\"";

/// Description of the form of a relation, for messages.
pub const RELATION_FORM: &str = "\"KIND ID\", such as \"refines k3v9qa\"";

/// Parses a fact: subject, predicate and object, and optionally the times from and until which it is true.
///
/// # Errors
/// A message that describes the problem.
pub fn fact(text: &str, now: Timestamp) -> Result<Fact, String> {
    let parts: Vec<&str> = text.split('|').map(str::trim).collect();
    let (parts, span) = match parts[..] {
        [subject, predicate, object] => ([subject, predicate, object], None),
        [subject, predicate, object, span] => ([subject, predicate, object], Some(span)),
        _ => return Err("it has three parts, and perhaps a time".to_owned()),
    };
    if parts.iter().any(|part| part.is_empty()) {
        return Err("a part is empty".to_owned());
    }
    let [subject, predicate, object] = parts.map(str::to_owned);
    let mut fact = Fact { subject, predicate, object, ..Fact::default() };
    if let Some(span) = span {
        let (from, to) = span.split_once("..").unwrap_or((span, ""));
        (fact.from, fact.to) = (time(from, now)?, time(to, now)?);
        if fact.from.zip(fact.to).is_some_and(|(from, to)| to < from) {
            return Err("it ends before it begins".to_owned());
        }
    }
    Ok(fact)
}

fn time(text: &str, now: Timestamp) -> Result<Option<Timestamp>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    // Relative times such as "yesterday" are converted to dates now, because their meaning changes each day.
    let named = || time_named(text, now).and_then(|span| span.from);
    let at = Timestamp::parse(text).or_else(named);
    at.map(Some).ok_or_else(|| format!("`{text}` is no date"))
}

/// Returns whether two facts have the same subject, predicate and object, regardless of their times.
pub fn is_same_fact(one: &Fact, other: &Fact) -> bool {
    let parts = |fact: &Fact| {
        [&fact.subject, &fact.predicate, &fact.object].map(|part| part.trim().to_lowercase())
    };
    parts(one) == parts(other)
}

/// Adds a fact to a memory. If the memory already contains the fact, only its times are updated.
pub fn put_fact(memory: &mut Memory, fact: &Fact) {
    match memory.facts.iter_mut().find(|known| is_same_fact(known, fact)) {
        Some(known) => {
            known.from = fact.from.or(known.from);
            known.to = fact.to.or(known.to);
        }
        None => memory.facts.push(fact.clone()),
    }
}

/// Parses a relation: the normal form of its kind, and the id of the other memory as typed.
///
/// # Errors
/// A message that describes the problem.
pub fn relation(text: &str) -> Result<(String, String), String> {
    let (kind, id) =
        text.trim().rsplit_once(char::is_whitespace).ok_or("it has a kind and an id")?;
    let kind = Relation::kind_named(kind).ok_or_else(|| {
        format!(
            "`{}` is no kind; there are {}, or one of your own in letters",
            kind.trim(),
            Relation::KINDS.join(", ")
        )
    })?;
    Ok((kind, id.trim_matches(['#', '[', ']']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_933_400_000);

    #[test]
    fn a_fact_is_read_with_its_time() {
        let read = |text| fact(text, NOW).unwrap();
        let dated = read(" cart | stored in | Redis 7 | 2026-03-01.. ");
        assert_eq!((&*dated.subject, &*dated.object), ("cart", "Redis 7"));
        assert_eq!((dated.from.unwrap().date(), dated.to), ("2026-03-01".to_owned(), None));
        let ended = read("a|b|c|..2026-03-01");
        assert_eq!((ended.from, ended.to.unwrap().date()), (None, "2026-03-01".to_owned()));
        assert_eq!(read("a|b|c|yesterday..").from.unwrap().date(), "2026-10-01");
        for wrong in ["a | b", "a | | c", "a|b|c|soon", "a|b|c|2026-03-02..2026-03-01", "a|b|c|d|e"]
        {
            assert!(fact(wrong, NOW).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_relation_has_a_kind_and_an_id() {
        let told = |kind: &str| Ok((kind.to_owned(), "k3v9qa".to_owned()));
        assert_eq!(relation("refines k3v9qa"), told("refines"));
        assert_eq!(relation(" caused by  [k3v9qa] "), told("caused-by"));
        assert_eq!(relation("Replaces #k3v9qa"), told("supersedes"));
        for wrong in ["", "k3v9qa", "a: b k3v9qa"] {
            assert!(relation(wrong).is_err(), "{wrong}");
        }
    }
}
