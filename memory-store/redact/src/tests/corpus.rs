//! Secrets and similar texts without secrets, written without knowledge of this code: `tests/corpus/README.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::redact;

const SECRETS: &str = include_str!("../../../../tests/corpus/secrets.jsonl");
const LOOK_ALIKES: &str = include_str!("../../../../tests/corpus/look-alikes.jsonl");

/// Minimum share of secrets that are hidden, overall and for each style of values, in percent.
const HIDDEN_PERCENT_MIN: usize = 95;
const STYLE_PERCENT_MIN: usize = 90;

fn rows(file: &str) -> impl Iterator<Item = Value> {
    file.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Returns the texts of a field of a row.
fn texts<'r>(row: &'r Value, field: &str) -> Vec<&'r str> {
    row[field].as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
fn secrets_of_the_corpus_are_hidden_in_each_style() {
    let mut report = String::new();
    // Number of hidden secrets and of all secrets, by style.
    let mut styles: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in rows(SECRETS) {
        let redacted = redact(row["text"].as_str().unwrap());
        let is_hidden = texts(&row, "secrets").iter().all(|secret| !redacted.contains(secret));
        let style = styles.entry(row["style"].as_str().unwrap().to_owned()).or_default();
        style.0 += usize::from(is_hidden);
        style.1 += 1;
        if !is_hidden {
            let _ = writeln!(report, "  {}: {redacted:?}", row["id"]);
        }
    }
    let hidden: usize = styles.values().map(|(hidden, _)| hidden).sum();
    let all: usize = styles.values().map(|(_, all)| all).sum();
    let _ = writeln!(report, "{hidden} of {all}: {styles:?}");
    assert!(all >= 300 && styles.len() == 9, "{report}");
    assert!(hidden * 100 >= all * HIDDEN_PERCENT_MIN, "{report}");
    for (hidden, all) in styles.values() {
        assert!(hidden * 100 >= all * STYLE_PERCENT_MIN, "{report}");
    }
    eprint!("{report}");
}

#[test]
fn look_alikes_of_the_corpus_are_kept() {
    let is_cut = |row: &Value| {
        let redacted = redact(row["text"].as_str().unwrap());
        let cut = texts(row, "keep").iter().any(|kept| !redacted.contains(kept));
        cut.then(|| format!("{}: {redacted:?}", row["id"]))
    };
    let cut: Vec<String> = rows(LOOK_ALIKES).filter_map(|row| is_cut(&row)).collect();
    assert!(cut.is_empty(), "{cut:#?}");
    assert!(rows(LOOK_ALIKES).count() >= 100);
}
