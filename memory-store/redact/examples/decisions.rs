//! Prints and scores redaction's decisions about texts, so that two builds can be compared byte by byte: `cargo run
//! --release -p memory-store-redact --example decisions -- [--out FILE] FILE...`.
//!
//! A file of JSON lines with `text` contains labelled rows: `secret` or `secrets` must not be left in the redacted
//! text, and a row without one (`"is_secret": false`, or neither key) must stay unchanged, or at least the texts in
//! `keep`. Any other file of JSON lines is a transcript: each distinct string of it is redacted once, and each finding
//! is printed with its text for review.

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use memory_store_redact::{Given, RedactOptions, Redactor};
use serde_json::{Value, json};

/// Maximum length in bytes of a text whose words are judged separately too; a longer text is only redacted.
const JUDGED_BYTES_MAX: usize = 1 << 10;

/// Number of bytes that are printed on each side of a finding.
const AROUND_BYTES: usize = 60;

/// Numbers of secrets and look-alikes of one source, and how many of them were treated correctly.
#[derive(Default)]
struct Score {
    secrets: usize,
    hidden: usize,
    look_alikes: usize,
    kept: usize,
}

fn main() -> std::io::Result<()> {
    let mut out: Option<BufWriter<File>> = None;
    let mut files = Vec::new();
    let mut misses = false;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => out = words.next().map(File::create).transpose()?.map(BufWriter::new),
            "--misses" => misses = true,
            _ => files.push(PathBuf::from(word)),
        }
    }
    let redactor = Redactor::new(&RedactOptions::default());
    let mut seen = HashSet::new();
    let (mut bytes, mut cuts) = (0, 0);
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for file in &files {
        for line in std::fs::read_to_string(file)?.lines() {
            let Ok(row) = serde_json::from_str::<Value>(line) else { continue };
            if let Some(text) = row["text"].as_str() {
                let redacted = redactor.redact(text).into_owned();
                score(&mut scores, file, &row, text, &redacted, misses);
                if let Some(out) = &mut out {
                    writeln!(out, "{}", decisions(&redactor, &row, text, &redacted))?;
                }
                continue;
            }
            let mut texts = Vec::new();
            strings(row, &mut texts);
            for text in texts {
                if !seen.insert(text.clone()) {
                    continue;
                }
                bytes += text.len();
                for finding in redactor.findings(&text) {
                    cuts += 1;
                    let start =
                        text.floor_char_boundary(finding.range.start.saturating_sub(AROUND_BYTES));
                    let end =
                        text.ceil_char_boundary((finding.range.end + AROUND_BYTES).min(text.len()));
                    let found = json!({"rule": finding.rule, "value": &text[finding.range.clone()], "around": &text[start..end]});
                    if misses {
                        println!("CUT {found}");
                    }
                    if let Some(out) = &mut out {
                        writeln!(out, "{found}")?;
                    }
                }
                if let Some(out) = &mut out
                    && text.len() <= JUDGED_BYTES_MAX
                {
                    let suspects = redactor.suspects(&text, "");
                    if !suspects.is_empty() {
                        writeln!(
                            out,
                            "{}",
                            json!({"text": text, "suspects": format!("{suspects:?}")})
                        )?;
                    }
                }
            }
        }
    }
    for (name, score) in &scores {
        println!(
            "{name}: {} of {} secrets hidden ({:.1} %), {} of {} look-alikes kept",
            score.hidden,
            score.secrets,
            100.0 * score.hidden as f64 / score.secrets.max(1) as f64,
            score.kept,
            score.look_alikes,
        );
    }
    if bytes > 0 {
        let per = cuts as f64 * 100e3 / bytes as f64;
        println!("transcripts: {cuts} cuts in {bytes} bytes, {per:.3} for each 100 kB");
    }
    Ok(())
}

/// Counts a labelled row for its file, its style and its group.
fn score(
    scores: &mut BTreeMap<String, Score>,
    file: &Path,
    row: &Value,
    text: &str,
    redacted: &str,
    misses: bool,
) {
    let one = row["secret"].as_str().map(|secret| vec![secret.to_owned()]);
    let many = row["secrets"].as_array();
    let many =
        many.map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
    let secrets: Vec<String> = many.or(one).unwrap_or_default();
    let is_secret = row["is_secret"].as_bool().unwrap_or(!secrets.is_empty());
    if row["optional"].as_bool() == Some(true) || row["scope"].as_str() == Some("rule") {
        return;
    }
    let kept = row["keep"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let kept: Vec<&str> = kept.collect();
    let is_right = match is_secret {
        true if secrets.is_empty() => redacted != text,
        true => !secrets.iter().any(|secret| redacted.contains(secret)),
        false if kept.is_empty() => redacted == text,
        false => kept.iter().all(|kept| redacted.contains(kept)),
    };
    if misses && !is_right {
        println!("{} {row}\n    {redacted:?}", if is_secret { "LEFT" } else { "CHANGED" });
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let labels = ["style", "kind", "group", "context"].into_iter();
    let labels = labels.filter_map(|key| Some(format!("{name} {key} {}", row[key].as_str()?)));
    for name in labels.chain([name.to_string()]) {
        let score = scores.entry(name).or_default();
        if is_secret {
            score.secrets += 1;
            score.hidden += usize::from(is_right);
        } else {
            score.look_alikes += 1;
            score.kept += usize::from(is_right);
        }
    }
}

/// Returns all decisions about a text.
fn decisions(redactor: &Redactor, row: &Value, text: &str, redacted: &str) -> Value {
    let mut decisions = json!({"id": row["id"], "redacted": redacted});
    if text.len() > JUDGED_BYTES_MAX {
        return decisions;
    }
    let findings: Vec<_> =
        redactor.findings(text).into_iter().map(|it| (it.rule, it.range)).collect();
    let answers: Vec<String> =
        ["What is the database password?", "How do I log in to the server?", "Which port?"]
            .into_iter()
            .flat_map(|question| {
                [Given::Freely, Given::Offered, Given::InWords, Given::Later]
                    .map(|given| format!("{:?}", redactor.redact_answer(question, text, given)))
            })
            .collect();
    decisions["findings"] = json!(format!("{findings:?}"));
    decisions["recognised"] = json!(redactor.redact_and_recognise(text).1);
    decisions["suspects"] = json!(format!("{:?}", redactor.suspects(text, "")));
    decisions["answers"] = json!(answers);
    decisions["request"] = json!(memory_store_redact::request(text));
    decisions["corrects"] = json!(memory_store_redact::corrects(text));
    decisions["prints"] = json!(memory_store_redact::prints_secret(text));
    decisions["reads"] = json!(memory_store_redact::reads_secrets(text));
    decisions
}

fn strings(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| strings(item, texts)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| strings(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
