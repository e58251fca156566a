//! Tests of the measurements that `scripts/eval` runs, in a sealed environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use journeys::environment::TestEnvironment;
use journeys::sample_project;
use serde_json::{Value, json};

/// A sealed environment, with a folder for the files of a measurement.
struct Bench {
    environment: TestEnvironment,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let environment = TestEnvironment::new().unwrap().at(sample_project::NOW);
        let folder = environment.folder("measured").unwrap();
        environment.folder("temporary").unwrap();
        Self { environment, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.environment.command(env!("CARGO_BIN_EXE_eval"));
        command.env("TMPDIR", self.environment.path().join("temporary")).args(args);
        command.output().unwrap()
    }

    fn ok(&self, args: &[&str]) {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A shell script in place of the hook for tools. It prints its input, and leaves a receipt like the real hook.
const TOOL_HOOK: &str = r#"#!/bin/sh
payload=$(cat)
session=$(printf %s "$payload" | sed 's/.*"session_id":"\([^"]*\)".*/\1/')
event=$(printf %s "$payload" | sed 's/.*"hook_event_name":"\([^"]*\)".*/\1/')
for tree in "$HOME"/.local/state/throughline/trees/*; do
    mkdir -p "$tree/receipts"
    printf '{"at":"2026-10-01T10:07:00Z","event":"%s","session":"%s","memories":[{"id":"01jzzzzzzzzzzzzzzzzzzzzzzz","start":2,"end":7}]}\n' "$event" "$session" >> "$tree/receipts/2026-10-01.jsonl"
done
printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"a piece of %s"}}\n' "$event" "$event"
"#;

/// Creates a folder of programs: `throughline` of this build, and scripts in place of the hooks. The scripts for starts
/// and prompts print nothing.
fn programs(bench: &Bench) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = bench.environment.folder("programs").unwrap();
    std::os::unix::fs::symlink(bench.environment.binary("throughline"), folder.join("throughline"))
        .unwrap();
    let silent = "#!/bin/sh\ncat >/dev/null\n";
    for (name, script) in [
        ("throughline-session-start", silent),
        ("throughline-user-prompt-submit", silent),
        ("throughline-post-tool-use", TOOL_HOOK),
    ] {
        let path = folder.join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

#[test]
fn a_project_is_measured_in_a_home_of_its_own() {
    let bench = Bench::new();
    let story = &sample_project::stories().unwrap()[0];
    let transcript = story.lines(Path::new("/home/ada/tidelog")).join("\n") + "\n";
    let first: Value = serde_json::from_str(transcript.lines().next().unwrap()).unwrap();
    let session = first["sessionId"].as_str().unwrap();
    bench.write(&format!("transcripts/-home-ada-tidelog/{session}.jsonl"), &transcript);
    let gold = json!({
        "transcripts": "transcripts",
        "sessions": [{ "id": session, "first": "2026-10-05T08:10:00Z", "last": "2026-10-05T10:00:00Z" }],
        "queries": [
            { "id": "q1", "type": "file", "text": "src/store.rs", "after_session": session, "relevant": [] },
            { "id": "q2", "type": "error", "text": "mismatched types", "after_session": session, "relevant": [] },
        ],
        "negatives": [{ "id": "n1", "text": "thanks" }],
    });
    bench.write("gold.json", &gold.to_string());
    let (gold, run) = (bench.path("gold.json"), bench.path("run.jsonl"));
    let programs = programs(&bench);
    let programs = programs.to_str().unwrap();
    bench.ok(&["project", &gold, "--run", &run, "--programs", programs]);

    let lines = bench.lines("run.jsonl");
    let asked: Vec<&Value> = lines.iter().filter(|line| line["query"].is_string()).collect();
    assert_eq!(
        asked,
        [
            &json!({ "query": "q1", "injected": ["piece"], "text": "a piece of PostToolUse" }),
            &json!({ "query": "q2", "injected": ["piece"], "text": "a piece of PostToolUseFailure" }),
            &json!({ "query": "n1", "injected": [], "text": "" }),
        ]
    );
    let stored: Vec<&Value> = lines.iter().filter(|line| line["memory"].is_string()).collect();
    let texts = stored.iter().map(|line| line["text"].as_str().unwrap());
    assert!(texts.clone().any(|text| text.contains("unwrap()")), "{stored:#?}");
    assert!(stored.iter().all(|line| line["session"] == session), "{stored:#?}");
    // The measurement has written no file of the user, and left no temporary file.
    for folder in [bench.environment.home(), bench.environment.path().join("temporary")] {
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }

    let output = bench.run(&["project", &run, "--run", &run, "--programs", programs]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("is no gold file"), "{stderr}");
}

#[test]
fn retrieval_is_measured_within_groups() {
    let bench = Bench::new();
    bench.write(
        "set/memories.jsonl",
        r#"{"id": "a1", "text": "The parser keeps comments.", "group": "a", "time": "2026-03-01"}
           {"id": "a2", "text": "Releases go out on Tuesday.", "group": "a", "time": "2026-03-02"}
           {"id": "b1", "text": "The lexer drops comments.", "group": "b"}"#,
    );
    bench.write(
        "set/queries.jsonl",
        r#"{"id": "q1", "text": "does the parser keep comments?", "group": "a", "relevant": ["a1"]}
           {"id": "q2", "text": "when is the release?", "group": "a", "relevant": ["a2"], "time": "2026-03-01"}
           {"id": "q3", "text": "which comments are dropped?", "group": "b", "relevant": ["b1"]}"#,
    );
    let (set, run) = (bench.path("set"), bench.path("run.jsonl"));
    let ids = |options: &[&str]| -> Vec<String> {
        let mut args = vec!["retrieval", &set, "--run", &run];
        args.extend(options);
        bench.ok(&args);
        let shown = |line: &Value| format!("{} {}", line["query"].as_str().unwrap(), line["ids"]);
        bench.lines("run.jsonl").iter().map(shown).collect()
    };
    let own = ["q1 [\"a1\"]", "q2 [\"a2\"]", "q3 [\"b1\"]"];
    for mode in ["lexical", "hooks", "search"] {
        assert_eq!(ids(&["--mode", mode]), own, "{mode}");
    }
    assert_eq!(ids(&["--as-of"])[1], "q2 []");
    assert_eq!(ids(&["--foreign"]), ["q3 [\"a1\"]", "q1 [\"b1\"]", "q2 []"]);
}

#[test]
fn labelled_pairs_are_judged_with_and_without_a_model() {
    let bench = Bench::new();
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("relations");
    let (set, answers) = (set.to_str().unwrap().to_owned(), set.join("answers.jsonl"));
    let answers = answers.to_str().unwrap().to_owned();
    let judged = |args: &[&str]| -> (usize, usize) {
        let output = bench.run(&[&["relations", &set], args].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        let numbers = told.lines().last().unwrap().split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
        let [right, 60, falsely_same] = numbers[..] else { panic!("{told}") };
        (right, falsely_same)
    };
    let (right, falsely_same) = judged(&[]);
    assert!(right >= 40 && falsely_same == 0, "{right}, {falsely_same}");
    let (right, falsely_same) = judged(&["--answers", &answers]);
    assert!(right >= 50 && falsely_same == 0, "{right}, {falsely_same}");
}

#[test]
fn pairs_that_differ_in_a_letter_are_not_the_same() {
    let bench = Bench::new();
    bench.write(
        "set/pairs.jsonl",
        r#"{"id": "p", "a": "Sort with -r", "b": "Sort with -n", "dup": false}"#,
    );
    bench.ok(&["pairs", &bench.path("set"), "--run", &bench.path("run.jsonl")]);
    let line = &bench.lines("run.jsonl")[0];
    assert_eq!(line["id"], "p");
    assert!(line["score"].as_f64().unwrap() < 0.85, "{line}");
}
