//! Tests of secrets with all programs: known forms of secrets are written into all suitable places of sessions, which
//! are then synced. After that, all stored bytes and the output of hooks are searched for the secrets.
//!
//! `fixtures/secrets-missed.tsv` lists the places and forms of secrets that redaction does not find yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use aho_corasick::AhoCorasick;
use flate2::read::GzDecoder;
use journeys::hook_run::Moment;
use journeys::sample_project::{Sample, snapshot};
use journeys::story::Story;
use serde_json::{Value, json};

#[path = "../../memory-store/tests/made/mod.rs"]
mod made;

use made::form::{Case, PLACES, forms, parts};

/// Secrets that redaction does not find yet.
const MISSED: &str = include_str!("../fixtures/secrets-missed.tsv");

/// Minimum share of hidden secrets at each place, in percent.
const HIDDEN_PERCENT_MIN: usize = 95;

/// Number of forms in one session.
const OF_SESSION: usize = 20;

/// Length in bytes below which a value may occur in another word by chance.
const SHORT_BYTES: usize = 12;

/// A function that returns the steps of a session that contains a text.
type Says = fn(&str) -> Vec<Value>;

fn prompt(text: &str) -> Vec<Value> {
    vec![json!({"user": text})]
}

fn reply(text: &str) -> Vec<Value> {
    vec![json!({"claude": text})]
}

fn thought(text: &str) -> Vec<Value> {
    vec![json!({"thinks": text})]
}

fn queued(text: &str) -> Vec<Value> {
    let line = json!({
        "type": "queue-operation", "operation": "enqueue", "timestamp": "2026-10-02T09:00:00Z",
        "content": text,
    });
    vec![json!({"line": line})]
}

fn attached(text: &str) -> Vec<Value> {
    let attachment = json!({"type": "queued_command", "prompt": text, "commandMode": "prompt"});
    vec![json!({"record": "attachment", "with": {"attachment": attachment}})]
}

fn todo(text: &str) -> Vec<Value> {
    vec![json!({"todos": [["Look at the importer", "completed"], [text, "pending"]]})]
}

fn answer(text: &str) -> Vec<Value> {
    let options = ["As it is", "In another way"];
    vec![json!({"ask": "How should the importer go on?", "options": options, "answer": text})]
}

fn planned(text: &str) -> Vec<Value> {
    let plan = format!("# Plan\n\n1. Look at the importer\n2. Then:\n\n{text}\n");
    vec![json!({"call": "ExitPlanMode", "with": {"plan": plan}, "prints": "approved"})]
}

fn delegated(text: &str) -> Vec<Value> {
    let input = json!({"description": "Look", "prompt": text, "subagent_type": "general-purpose"});
    vec![json!({"call": "Task", "with": input, "prints": format!("Done. {text}")})]
}

fn committed(text: &str) -> Vec<Value> {
    let command = format!(
        "git commit -q -F - <<'EOF'\nMake the importer faster\n\nBecause it waits. {text}\nEOF"
    );
    vec![json!({"bash": command, "prints": "[main 1a2b3c4] Make the importer faster"})]
}

fn compacted(text: &str) -> Vec<Value> {
    let message = json!({"role": "user", "content": format!(
        "This session is being continued from a previous conversation. Analysis: {text}"
    )});
    vec![json!({"record": "user", "with": {"message": message, "isCompactSummary": true}})]
}

fn command(text: &str) -> Vec<Value> {
    vec![json!({"bash": text, "prints": "done"})]
}

/// Returns steps in which a command first fails and later succeeds, from which a fix is derived.
fn tried(text: &str) -> Vec<Value> {
    let fails = json!({"bash": text, "fails": "error: the host cannot be reached from here"});
    vec![fails, json!({"bash": text, "prints": "done"})]
}

fn banged(text: &str) -> Vec<Value> {
    vec![json!({"user": format!("<bash-input>{text}</bash-input>")})]
}

fn fenced(text: &str) -> Vec<Value> {
    vec![json!({"claude": format!("This is how:\n\n```\n{text}\n```\n\nIt takes a moment.")})]
}

fn pasted(text: &str) -> Vec<Value> {
    vec![json!({"user": format!("Look at this:\n\n```\n{text}\n```\n\nand say what you think.")})]
}

fn printed(text: &str) -> Vec<Value> {
    vec![json!({"bash": "./bin/show", "prints": text})]
}

fn failed(text: &str) -> Vec<Value> {
    vec![json!({"bash": "./bin/show", "fails": text})]
}

fn bang_printed(text: &str) -> Vec<Value> {
    let text = format!("<bash-stdout>{text}</bash-stdout><bash-stderr></bash-stderr>");
    vec![json!({"user": text})]
}

fn served(text: &str) -> Vec<Value> {
    vec![json!({"call": "mcp__panel__show", "with": {"id": 7}, "prints": text})]
}

fn searched(text: &str) -> Vec<Value> {
    let input = json!({"pattern": "x", "output_mode": "content"});
    vec![json!({"call": "Grep", "with": input, "prints": text})]
}

fn read(text: &str) -> Vec<Value> {
    vec![json!({"read": "deploy/settings.txt", "holds": text})]
}

fn written(text: &str) -> Vec<Value> {
    vec![json!({"write": "deploy/settings.txt", "holds": text})]
}

fn edited(text: &str) -> Vec<Value> {
    let text = format!("first line\n{text}\n");
    vec![json!({"edit": "deploy/settings.txt", "old": "first line\n", "new": text})]
}

/// For each table of forms, the places of a session in which its texts occur.
const OCCURS: [(&str, &[(&str, Says)]); 6] = [
    (
        "prompts",
        &[
            ("prompt", prompt),
            ("assistant", reply),
            ("queued prompt", queued),
            ("attached prompt", attached),
            ("todo", todo),
            ("answer", answer),
            ("commit message", committed),
            ("thinking", thought),
            ("plan", planned),
            ("sub-agent", delegated),
            ("summary", compacted),
        ],
    ),
    (
        "command lines",
        &[
            ("command", command),
            ("failed command", tried),
            ("bang command", banged),
            ("code of Claude's", fenced),
            ("code of the user's", pasted),
        ],
    ),
    (
        "tool output",
        &[
            ("output", printed),
            ("failure", failed),
            ("bang output", bang_printed),
            ("answer of a server", served),
            ("paste", pasted),
        ],
    ),
    (
        "files read",
        &[
            ("file read", read),
            ("file written", written),
            ("edit", edited),
            ("search", searched),
            ("file printed", printed),
        ],
    ),
    ("edits", &[("edit", edited), ("diff printed", printed), ("patch read", read)]),
    (
        "names and answers",
        &[
            ("assistant", reply),
            ("prompt", prompt),
            ("commit message", committed),
            ("answer", answer),
            ("todo", todo),
        ],
    ),
];

/// A form at a place, and the texts that would reveal its secrets.
struct Told {
    place: &'static str,
    form: &'static str,
    text: String,
    says: Says,
    needles: Vec<String>,
}

/// Returns all forms at all places where they occur. No value is part of another value.
fn placed_forms() -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut taken = BTreeSet::new();
    for ((table_name, table, _), (name, places)) in PLACES.into_iter().zip(OCCURS) {
        assert_eq!(table_name, name);
        for (number, form) in forms(table).enumerate() {
            for (at, (place, says)) in places.iter().enumerate() {
                let seed = |again: u64| again << 32 | (number as u64) << 8 | at as u64;
                // Text that all cases of the form have in common, such as the lines around a key, reveals nothing.
                let other = Case::new(form, u64::MAX).text;
                let (case, needles) = (1..100)
                    .map(|again| {
                        let case = Case::new(form, seed(again));
                        let mut needles = needles(&case);
                        needles.retain(|needle| !other.contains(needle.as_str()));
                        (case, needles)
                    })
                    .find(|(_, needles)| needles.iter().all(|needle| !taken.contains(needle)))
                    .unwrap_or_else(|| panic!("no values of their own: {form}"));
                taken.extend(needles.iter().cloned());
                told.push(Told { place, form, text: case.text, says: *says, needles });
            }
        }
    }
    told
}

/// Returns the texts that would reveal a case's secrets: each secret, half of a long secret, and three consecutive
/// words of a phrase.
fn needles(case: &Case) -> Vec<String> {
    if case.is_phrase() {
        let threes = case.secrets.windows(3);
        return threes.map(|words| case.text[words[0].start..words[2].end].to_owned()).collect();
    }
    let secrets = case.secrets.iter().map(|range| &case.text[range.clone()]);
    secrets
        .flat_map(|secret| [secret].into_iter().chain(parts(secret)))
        .map(str::to_owned)
        .collect()
}

/// Writes sessions that contain all forms.
fn write_sessions(sample: &Sample, told: &[Told]) {
    for (number, of_session) in told.chunks(OF_SESSION).enumerate() {
        let mut steps = Vec::new();
        // A continued session begins with a summary. For the other places, the transcript contains the turns
        // themselves.
        let (summaries, others): (Vec<&Told>, Vec<&Told>) =
            of_session.iter().partition(|told| told.place == "summary");
        for told in summaries {
            steps.extend((told.says)(&told.text));
        }
        steps.push(
            json!({"user": "Please look at how the importer does its work, and go on with it."}),
        );
        for told in others {
            steps.extend((told.says)(&told.text));
            // After this text, the next prompt does not answer a question of Claude.
            steps.push(json!({"claude": "I looked at that and go on with the importer."}));
        }
        let minutes = jiff::SignedDuration::from_mins(60 * i64::try_from(number).unwrap());
        let first: jiff::Timestamp = "2026-10-02T09:00:00Z".parse().unwrap();
        let story = Story {
            session: format!("{number:08}-0000-4000-8000-{number:012}"),
            at: first + minutes,
            branch: "main".to_owned(),
            steps,
        };
        story.write(&sample.environment.claude_dir(), &sample.root).unwrap();
    }
}

/// Returns the output of hooks at the start of a session, and for prompts about passwords and tokens.
fn hook_output(sample: &Sample) -> Vec<u8> {
    let asked = [
        "What is the password of the staging database?",
        "Which API key and token does the deploy script use?",
        "How do I log in to the registry as admin?",
        "curl with the authorization header of the api",
        "Why can the host not be reached from here?",
    ];
    let mut moments = vec![Moment::start("startup")];
    moments.extend(asked.map(Moment::prompt));
    moments.push(Moment::failure("./bin/show", "error: the host cannot be reached from here"));
    let mut said = Vec::new();
    for moment in moments {
        let run = moment.run(&sample.environment, &sample.root, "asks").unwrap();
        assert_eq!(run.output.status.code(), Some(0), "{run:?}");
        said.extend(run.output.stdout);
    }
    assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
    said
}

/// Returns all stored bytes by the name of their file: unpacked, and a second time with JSON escapes decoded.
fn stored(sample: &Sample) -> BTreeMap<String, Vec<u8>> {
    let folders = [
        sample.environment.home().join(".local"),
        sample.environment.home().join(".config"),
        sample.root.join(".throughline"),
    ];
    let mut stored = BTreeMap::new();
    for folder in folders {
        for (name, bytes) in snapshot(&folder).unwrap() {
            let name = Path::new(folder.file_name().unwrap()).join(name).display().to_string();
            stored.insert(name, unpacked(bytes));
        }
    }
    stored
}

fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut GzDecoder::new(&bytes[..]), &mut text).unwrap();
    text
}

/// Decodes the escapes of JSON in a text.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else { break };
        rest = after;
        match escape {
            b'n' => text.push(b'\n'),
            b't' => text.push(b'\t'),
            b'r' => text.push(b'\r'),
            b'u' => {
                let code = rest.get(..4).and_then(|code| str::from_utf8(code).ok());
                let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(c) => {
                        text.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                        rest = &rest[4..];
                    }
                    None => text.push(escape),
                }
            }
            other => text.push(other),
        }
    }
    text
}

/// For each needle, returns the names of the files that contain it.
fn found(
    needles: &[&str],
    stored: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<usize, BTreeSet<String>> {
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(needles).unwrap();
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (name, bytes) in stored {
        let mut texts = vec![name.clone().into_bytes(), bytes.clone()];
        // JSON may be nested in JSON up to three times.
        while texts.len() < 4 && texts.last().is_some_and(|text| text.contains(&b'\\')) {
            texts.extend(texts.last().map(|text| unescaped(text)));
        }
        for text in &texts {
            for hit in finder.find_overlapping_iter(text) {
                let is_word = |at: Option<&u8>| at.is_some_and(u8::is_ascii_alphanumeric);
                let before = hit.start().checked_sub(1).and_then(|at| text.get(at));
                let is_part = is_word(before) || is_word(text.get(hit.end()));
                if hit.len() >= SHORT_BYTES || !is_part {
                    found.entry(hit.pattern().as_usize()).or_default().insert(name.clone());
                }
            }
        }
    }
    found
}

#[test]
fn no_stored_byte_reveals_a_secret() {
    let sample = Sample::without_history().unwrap();
    let told = placed_forms();
    write_sessions(&sample, &told);
    sample.sync().unwrap();
    let said = hook_output(&sample);
    sample.sync().unwrap();
    let mut stored = stored(&sample);
    for part in
        [".jsonl.gz", "index/passages-", "index/memories-", "ledger", "receipts", "memories/"]
    {
        assert!(stored.keys().any(|name| name.contains(part)), "{part}: {:?}", stored.keys());
    }
    assert!(said.len() > 200, "{}", String::from_utf8_lossy(&said));
    stored.insert("said by hooks".to_owned(), said);

    let needles: Vec<(usize, &str)> = told
        .iter()
        .enumerate()
        .flat_map(|(number, told)| told.needles.iter().map(move |text| (number, text.as_str())))
        .collect();
    let texts: Vec<&str> = needles.iter().map(|(_, text)| *text).collect();
    let mut leaks: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (needle, names) in found(&texts, &stored) {
        leaks.entry(needles[needle].0).or_default().extend(names);
    }
    let known: BTreeSet<&str> = MISSED.lines().filter(|line| !line.starts_with('#')).collect();
    let (mut report, mut news) = (String::new(), String::new());
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (number, told) in told.iter().enumerate() {
        let (hidden, all) = counts.entry(told.place).or_default();
        *all += 1;
        let line = format!("{}\t{}", told.place, told.form);
        match (leaks.get(&number), known.contains(line.as_str())) {
            (None, false) => *hidden += 1,
            (None, true) => {
                *hidden += 1;
                let _ = writeln!(report, "hidden by now, take it out of the list: {line}");
            }
            (Some(_), true) => {}
            (Some(names), false) => {
                let _ = writeln!(news, "{line}\n    {:?}\n    in {names:?}", told.text);
            }
        }
    }
    let (mut all_hidden, mut all_told) = (0, 0);
    let mut too_few = Vec::new();
    for (place, (hidden, all)) in counts {
        let _ = writeln!(report, "{place}: {hidden} of {all}");
        all_hidden += hidden;
        all_told += all;
        if hidden * 100 < all * HIDDEN_PERCENT_MIN {
            too_few.push(place);
        }
    }
    let _ = writeln!(report, "all: {all_hidden} of {all_told} in {} files", stored.len());
    eprint!("{report}");
    assert!(too_few.is_empty(), "{too_few:?}\n{report}{news}");
    assert!(news.is_empty(), "not hidden:\n{news}");
}

#[test]
fn the_search_finds_what_is_stored_in_any_way() {
    let stored: BTreeMap<String, Vec<u8>> = [
        ("a/Walnutpebble77.md".to_owned(), Vec::new()),
        ("b".to_owned(), br#"{"x":"{\"y\":\"one\\ntwo-three-four\"}"}"#.to_vec()),
        ("c".to_owned(), br#"{"x":"a\u003cb-and-c-and-d"}"#.to_vec()),
        ("d".to_owned(), b"in 1234567 and 123456".to_vec()),
        ("e".to_owned(), b"in 1765432 and x765432".to_vec()),
    ]
    .into();
    let needles = ["walnutpebble77", "one\ntwo-three-four", "a<b-and-c-and-d", "123456", "765432"];
    let found: Vec<_> = found(&needles, &stored).into_keys().collect();
    assert_eq!(found, [0, 1, 2, 3]);
}
