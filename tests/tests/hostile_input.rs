//! For any input and any state, a hook exits 0 and prints only its own output.

use std::fs;

use journeys::hook_run::Moment;
use journeys::sample_project::{Sample, snapshot};

const HOOKS: [&str; 5] = [
    "throughline-session-start",
    "throughline-user-prompt-submit",
    "throughline-pre-tool-use",
    "throughline-post-tool-use",
    "throughline-stop",
];

fn sample() -> Sample {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    sample
}

/// Runs every hook with the input and returns their output.
fn feed(sample: &Sample, payload: &[u8]) -> String {
    let mut printed = String::new();
    for hook in HOOKS {
        let output =
            sample.environment.hook_with(hook, payload, &[("THROUGHLINE", "full")]).unwrap();
        assert_eq!(output.status.code(), Some(0), "{hook}: {output:?}");
        printed += &String::from_utf8_lossy(&output.stdout);
    }
    printed
}

#[test]
fn broken_payloads_bring_silence() {
    let sample = sample();
    let mut huge =
        br#"{"session_id": "s", "hook_event_name": "PostToolUse", "tool_response": ""#.to_vec();
    huge.resize(50 << 20, b'x');
    let payloads: [&[u8]; 8] = [
        b"",
        b"\n",
        b"not JSON",
        b"[1, 2, 3]",
        b"{\"hook_event_name\": \"Tomorrow\", \"session_id\": \"s\"}",
        b"{\"hook_event_name\": 7, \"session_id\": {}, \"cwd\": []}",
        b"\xff\xfe\x00",
        &huge,
    ];
    for payload in payloads {
        let start = String::from_utf8_lossy(&payload[..payload.len().min(60)]).into_owned();
        assert_eq!(feed(&sample, payload), "", "{start}");
    }
}

#[test]
fn a_damaged_index_hurts_nobody_and_is_rebuilt() {
    let sample = sample();
    let prompt =
        Moment::prompt("Should the archive import insert from several threads in parallel?");
    let payload = |session: &str| {
        prompt.payload(&sample.environment, &sample.root, session).to_string().into_bytes()
    };
    let state = sample.environment.state_dir();
    let index = snapshot(&state).unwrap();
    for (name, bytes) in
        index.iter().filter(|(name, _)| name.display().to_string().contains("index"))
    {
        for damage in [&b""[..], b"garbage", &bytes[..bytes.len() / 2]] {
            fs::write(state.join(name), damage).unwrap();
            feed(&sample, &payload(&format!("{} {}", name.display(), damage.len())));
        }
        let flipped: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        fs::write(state.join(name), flipped).unwrap();
        feed(&sample, &payload(&name.display().to_string()));
        fs::write(state.join(name), bytes).unwrap();
    }
    fs::remove_dir_all(&state).unwrap();
    feed(&sample, &payload("without any state"));
    sample.environment.wait_until_quiet();
    sample.sync().unwrap();
    let told = prompt.run(&sample.environment, &sample.root, "afterwards").unwrap().context();
    assert!(told.contains("throughline-memory"), "the index did not come back: {told}");
}

#[test]
fn hostile_names_stay_within_our_folders() {
    let sample = sample();
    let outside = snapshot(&sample.root).unwrap();
    for session in ["../../../../outside", "/etc/passwd", "a\0b", &"long".repeat(5000)] {
        for moment in
            [Moment::start("startup"), Moment::prompt("database is locked"), Moment::stop()]
        {
            let run = moment.run(&sample.environment, &sample.root, session).unwrap();
            assert_eq!(run.output.status.code(), Some(0));
        }
    }
    sample.environment.wait_until_quiet();
    let home: Vec<_> = fs::read_dir(sample.environment.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(!home.contains(&"outside".into()), "{home:?}");
    assert!(outside == snapshot(&sample.root).unwrap(), "the project changed");
}

#[test]
fn a_crowd_of_hooks_gives_each_memory_once() {
    let sample = sample();
    Moment::start("startup").run(&sample.environment, &sample.root, "crowd").unwrap();
    let read = Moment::read(&sample.root.join("src/times.rs"));
    let told: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..200)
            .map(|_| scope.spawn(|| read.run(&sample.environment, &sample.root, "crowd").unwrap()))
            .collect();
        let runs = runs.into_iter().map(|run| run.join().unwrap());
        runs.inspect(|run| assert_eq!(run.output.status.code(), Some(0)))
            .map(|run| run.context())
            .filter(|context| !context.is_empty())
            .collect()
    });
    let mut lines: Vec<_> = told.iter().flat_map(|text| text.lines()).collect();
    lines.retain(|line| line.starts_with("- "));
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert!(all > 0, "nobody was told anything");
    assert_eq!(lines.len(), all, "{told:#?}");
}

#[test]
fn a_hostile_transcript_does_not_stop_the_others() {
    let sample = Sample::with_history().unwrap();
    let projects = sample.environment.claude_dir().join("projects");
    let folder = fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join("broken.jsonl"), b"{\"type\": \"user\", \"message\": \xff\xff\n\n[]\n{")
        .unwrap();
    fs::write(folder.join("long.jsonl"), vec![b'['; 3 << 20]).unwrap();
    fs::write(folder.join("deep.jsonl"), "{\"type\":".repeat(100_000)).unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    sample.sync().unwrap();
    assert!(sample.memories().unwrap().len() > 5);
}
