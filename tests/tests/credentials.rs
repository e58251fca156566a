//! Tests of the real programs with credentials in everyday sentences, and with everyday values that resemble
//! credentials.
//!
//! `fixtures/everyday/credentials.jsonl` and `ordinary.json` were written without knowledge of the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use journeys::hook_run::Moment;
use journeys::mcp_server::McpServer;
use journeys::sample_project::Sample;
use journeys::story::Story;
use serde_json::{Value, json};

const SENTENCES: &str = include_str!("../fixtures/everyday/credentials.jsonl");
const ORDINARY: &str = include_str!("../fixtures/everyday/ordinary.json");

/// Maximum number of notes in [`ORDINARY`] that may be held by mistake.
const NOTES_HELD_MAX: usize = 1;

fn sentences() -> Vec<Value> {
    SENTENCES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn secrets(sentence: &Value) -> impl Iterator<Item = &str> {
    sentence["secrets"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the steps of a session that contains a sentence; none if a program saves the sentence directly. The stand-in
/// for a model makes a memory of the first words after "Decision" or "Gotcha".
fn steps(sentence: &Value) -> Vec<Value> {
    let says = text(sentence, "text");
    match text(sentence, "channel") {
        "wish" => vec![json!({"user": says}), json!({"claude": format!("Decision: {says}")})],
        "fix" => vec![
            json!({"user": "Please get this to run, it worked last week."}),
            json!({"bash": sentence["failing"], "fails": sentence["error"]}),
            json!({"bash": sentence["passing"], "prints": "done"}),
            json!({"bash": sentence["failing"], "prints": "done"}),
            json!({"claude": format!("Gotcha: {}", text(sentence, "answer"))}),
        ],
        "note" => vec![
            json!({"user": "Go on with the setup, commit what is ready and tell me what you changed."}),
            json!({
                "bash": format!("git commit -q -F - <<'EOF'\n{says}\nEOF"),
                "prints": "[main 1a2b3c4] done\n 1 file changed, 2 insertions(+)",
            }),
            json!({"claude": format!("Decision: {says}")}),
        ],
        _ => Vec::new(),
    }
}

/// Writes a session for each sentence, and a second session that repeats the sentence.
fn write_sessions(sample: &Sample, sentences: &[Value]) {
    let first: jiff::Timestamp = "2026-10-02T09:00:00Z".parse().unwrap();
    let told = sentences.iter().filter(|sentence| !steps(sentence).is_empty());
    for (number, sentence) in told.flat_map(|sentence| [sentence, sentence]).enumerate() {
        let minutes = jiff::SignedDuration::from_mins(30 * i64::try_from(number).unwrap());
        let story = Story {
            session: format!("{number:08}-0000-4000-8000-{number:012}"),
            at: first + minutes,
            branch: "main".to_owned(),
            steps: steps(sentence),
        };
        story.write(&sample.environment.claude_dir(), &sample.root).unwrap();
    }
}

/// Returns whether a text contains a value that is not part of a longer word, such as an id.
fn contains(text: &str, value: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(value).any(|(at, _)| {
        let behind = text[at + value.len()..].chars().next();
        !is_word(text[..at].chars().next_back()) && !is_word(behind)
    })
}

/// Returns the sentences whose secret is in a text, in original form or in the form of a file name.
fn telling(sentences: &[Value], text_of: &str, is_name: bool) -> Vec<String> {
    let slug = |value: &str| {
        let words = value.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        words.join("-").to_ascii_lowercase()
    };
    let tells = |secret: &str| {
        let name = slug(secret);
        contains(text_of, secret) || is_name && name.len() >= 5 && contains(text_of, &name)
    };
    sentences
        .iter()
        .filter(|sentence| secrets(sentence).any(tells))
        .map(|sentence| text(sentence, "id").to_owned())
        .collect()
}

/// Returns the files in the committed folder whose content or name contains the secret of a sentence.
fn committed(sample: &Sample, sentences: &[Value]) -> BTreeMap<PathBuf, Vec<String>> {
    let files = sample.memories().unwrap();
    let told = files.into_iter().map(|(path, bytes)| {
        let mut told = telling(sentences, &path.display().to_string(), true);
        told.extend(telling(sentences, &String::from_utf8_lossy(&bytes), false));
        (path, told)
    });
    told.filter(|(_, told)| !told.is_empty()).collect()
}

/// Returns the sentences whose secrets are in the output of hooks: at the start of a session, for a prompt about each
/// sentence, and after its failing command.
fn secrets_in_hook_output(sample: &Sample, sentences: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut said = BTreeMap::new();
    let mut ask = |name: String, moment: &Moment| {
        let run = moment.run(&sample.environment, &sample.root, &name).unwrap();
        assert_eq!(run.output.status.code(), Some(0), "{run:?}");
        // The output is JSON, so its texts are decoded.
        let printed = format!("{}\n{}", run.context(), run.notice());
        said.insert(name, printed);
    };
    ask("start".to_owned(), &Moment::start("startup"));
    for sentence in sentences {
        let id = text(sentence, "id");
        let mut asked = format!(
            "{} {} {}",
            text(sentence, "title"),
            text(sentence, "text"),
            text(sentence, "answer")
        );
        secrets(sentence).for_each(|secret| asked = asked.replace(secret, "..."));
        ask(format!("{id} prompt"), &Moment::prompt(&asked));
        if !text(sentence, "failing").is_empty() {
            let mut command = text(sentence, "failing").to_owned();
            secrets(sentence).for_each(|secret| command = command.replace(secret, "..."));
            let error = format!("Exit code 1\n{}", text(sentence, "error"));
            ask(format!("{id} failure"), &Moment::failure(&command, &error));
        }
    }
    assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
    let told = said.iter().map(|(name, said)| (name.clone(), telling(sentences, said, false)));
    told.filter(|(_, told)| !told.is_empty()).collect()
}

/// Creates a project without sessions, whose memory folder is committed.
fn project() -> Sample {
    Sample::without_history().unwrap()
}

#[test]
fn everyday_sentences_bring_no_credential_into_the_repository_or_a_hook() {
    let sample = project();
    let sentences = sentences();
    assert_eq!(sentences.len(), 60);
    write_sessions(&sample, &sentences);
    sample.sync().unwrap();
    let mut held = 0;
    for sentence in sentences.iter().filter(|it| text(it, "channel") == "add") {
        let answer = sample.run(&["add", "--both", text(sentence, "text")]).unwrap();
        assert_eq!(telling(&sentences, &answer, true), Vec::<String>::new(), "{answer}");
        held += usize::from(answer.contains("looks like a credential"));
    }
    let mut server = McpServer::start(&sample.environment, &sample.root, "full");
    for sentence in sentences.iter().filter(|it| text(it, "channel") == "remember") {
        let title = text(sentence, "title");
        let answer = server.call(
            "remember",
            &json!({"kind": "fact", "title": title, "text": text(sentence, "text"), "both_hold": true}),
        );
        held += usize::from(answer.contains("looks like a credential"));
        assert!(
            !answer.contains("looks like a credential") || answer.contains("throughline review")
        );
    }
    drop(server);
    assert!(held >= 5, "{held}");
    let check = |when: &str| {
        assert_eq!(committed(&sample, &sentences), BTreeMap::new(), "{when}");
        assert_eq!(secrets_in_hook_output(&sample, &sentences), BTreeMap::new(), "{when}");
    };
    check("before a sync");
    sample.sync().unwrap();
    check("after a sync");
    // Memories that were accepted without an individual review contain no secret either.
    sample.run(&["review", "--accept-all"]).unwrap();
    sample.sync().unwrap();
    check("once the rest was taken in");
    assert!(sample.memories().unwrap().len() >= 20, "{:?}", sample.memories().unwrap().keys());
}

#[test]
fn ordinary_notes_are_saved_and_not_held() {
    let sample = project();
    let ordinary: Value = serde_json::from_str(ORDINARY).unwrap();
    let notes = ordinary["notes"].as_array().unwrap();
    let add = |note: &&Value| sample.run(&["add", "--both", note.as_str().unwrap()]).unwrap();
    let held: Vec<_> = notes.iter().filter(|note| add(note).contains("credential")).collect();
    assert!(held.len() <= NOTES_HELD_MAX, "{held:#?}");
    assert!(sample.memories().unwrap().len() >= notes.len() - NOTES_HELD_MAX);
}

/// Returns a result of one of several tools that contains this line.
fn given(number: usize, line: &str) -> Value {
    match number % 3 {
        0 => json!({
            "call": "WebFetch", "with": {"url": "https://wiki.example.org", "prompt": "read"},
            "prints": line,
        }),
        1 => json!({"read": format!("notes/{number}.txt"), "holds": line}),
        _ => json!({"bash": format!("./bin/show {number}"), "prints": line}),
    }
}

#[test]
fn a_page_or_a_line_of_output_changes_no_memory() {
    let sample = project();
    let ordinary: Value = serde_json::from_str(ORDINARY).unwrap();
    let names: Vec<&str> =
        ordinary["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(names.len(), 25);
    // Half of the names occur in the project, and each has a memory.
    let source: String = names.iter().step_by(2).map(|name| format!("// {name}\n")).collect();
    fs::write(sample.root.join("src/names.rs"), source).unwrap();
    for name in &names {
        let title = format!("Ask the storage team before {name} is renamed");
        sample.run(&["add", "--both", &title, "--kind", "convention", "--tag", name]).unwrap();
    }
    sample.git(&["add", "-A"]).unwrap();
    sample.git(&["commit", "-qm", "names"]).unwrap();
    sample.sync().unwrap();
    let before = sample.memories().unwrap();
    assert!(before.len() >= names.len());

    let lines =
        ordinary["lines"].as_array().unwrap().iter().map(|line| text(line, "line").to_owned());
    let pages = names.iter().map(|name| format!("<p>use <password>{name}</password></p>"));
    let mut steps = vec![json!({"user": "Please read these notes and go on with the importer."})];
    for (number, line) in lines.chain(pages).enumerate() {
        steps.push(given(number, &line));
    }
    steps.push(json!({"claude": "I read all of them."}));
    let story = |number: usize, at: &str, steps: Vec<Value>| {
        let story = Story {
            session: format!("{number:08}-0000-4000-8000-{number:012}"),
            at: at.parse().unwrap(),
            branch: "main".to_owned(),
            steps,
        };
        story.write(&sample.environment.claude_dir(), &sample.root).unwrap();
    };
    story(1, "2026-10-02T09:00:00Z", steps);
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap(), before);

    // Later sessions also mention the names, and memories contain them unchanged.
    for (number, name) in names.iter().enumerate() {
        let wish =
            format!("From now on always run the slow tests before you touch {name}, please.");
        let steps = vec![json!({"user": wish}), json!({"claude": "I will."})];
        story(
            2 + number,
            &format!("2026-10-03T{:02}:{:02}:00Z", 6 + number / 6, 10 * (number % 6)),
            steps,
        );
    }
    sample.sync().unwrap();
    let after = sample.memories().unwrap();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
    let learned: String = after
        .iter()
        .filter(|(path, _)| !before.contains_key(*path))
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    let lost: Vec<_> = names.iter().filter(|name| !learned.contains(*name)).collect();
    assert!(lost.is_empty(), "{lost:?} in\n{learned}");
    assert!(!learned.contains("[redacted"), "{learned}");
}
