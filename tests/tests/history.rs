//! Tests of the way from a history of sessions to the texts that Claude receives: init, sync, hooks, search.

use journeys::hook_run::Moment;
use journeys::sample_project::Sample;

const SESSION: &str = "a-new-session";

/// Runs the hook of a moment and returns the text for the model.
fn given(sample: &Sample, session: &str, moment: &Moment) -> String {
    let run = moment.run(&sample.environment, &sample.root, session).unwrap();
    assert!(run.output.status.success(), "{:?}", run.output);
    run.context()
}

#[test]
fn a_history_comes_back_at_the_right_moments() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();

    let start = given(&sample, SESSION, &Moment::start("startup")).to_lowercase();
    assert!(start.contains("unwrap()"), "the standing wish is missing:\n{start}");
    assert!(start.contains("mail"), "where the work was left is missing:\n{start}");

    let prompt =
        Moment::prompt("Should the archive import insert from several threads in parallel?");
    let prompt = given(&sample, SESSION, &prompt).to_lowercase();
    assert!(prompt.contains("slower") || prompt.contains("one transaction per file"), "{prompt}");

    let file = Moment::read(&sample.root.join("src/times.rs"));
    let file = given(&sample, SESSION, &file).to_lowercase();
    assert!(file.contains("local time") || file.contains("jiff"), "{file}");

    let error = Moment::failure(
        "cross build --release --target aarch64-unknown-linux-gnu",
        "Exit code 101\nerror: failed to run custom build command for `openssl-sys v0.9.109`\n\n\
         Caused by:\n  Could not find directory of OpenSSL installation, and this `-sys` crate \
         cannot proceed without this knowledge.",
    );
    let error = given(&sample, SESSION, &error).to_lowercase();
    assert!(error.contains("rustls"), "the fix is missing:\n{error}");

    let found = sample.run(&["search", "busy timeout"]).unwrap().to_lowercase();
    assert!(found.contains("busy_timeout") || found.contains("database is locked"), "{found}");
    let why = sample.run(&["why"]).unwrap();
    assert!(why.contains("SessionStart") || why.to_lowercase().contains("session start"), "{why}");
}

#[test]
fn nothing_is_given_twice_in_a_session() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let moments = [
        Moment::start("startup"),
        Moment::prompt("Should the archive import insert from several threads in parallel?"),
        Moment::read(&sample.root.join("src/times.rs")),
    ];
    for moment in &moments {
        assert_ne!(given(&sample, SESSION, moment), "", "{}", moment.event);
    }
    for moment in &moments[1..] {
        assert_eq!(given(&sample, SESSION, moment), "", "{}", moment.event);
    }
    // When a session is resumed, the same block is printed byte for byte, and the client drops the repetition.
    let block = given(&sample, "another", &Moment::start("startup"));
    assert_eq!(given(&sample, "another", &Moment::start("resume")), block);
}

#[test]
fn prompts_that_nothing_answers_and_machine_prompts_bring_silence() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    given(&sample, SESSION, &Moment::start("startup"));
    for prompt in [
        "thanks",
        "go on",
        "What is the capital of Mongolia?",
        "<task-notification>\n<task-id>a1</task-id>\n<result>The archive import inserts in one \
         transaction per file.</result>\n</task-notification>",
    ] {
        assert_eq!(given(&sample, SESSION, &Moment::prompt(prompt)), "", "{prompt}");
    }
}

#[test]
fn the_first_prompt_brings_the_block_when_the_session_start_did_not_run() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let block = given(&sample, SESSION, &Moment::prompt("thanks")).to_lowercase();
    assert!(block.contains("unwrap()"), "{block}");
}

#[test]
fn switched_off_is_silent() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    sample.run(&["off"]).unwrap();
    assert_eq!(given(&sample, SESSION, &Moment::start("startup")), "");
    sample.run(&["on"]).unwrap();
    assert_ne!(given(&sample, SESSION, &Moment::start("startup")), "");
}

#[test]
fn a_turn_that_just_ended_is_in_the_next_session() {
    let sample = Sample::without_history().unwrap();
    sample.sync().unwrap();
    let story = journeys::sample_project::stories().unwrap().remove(5);
    story.write(&sample.environment.claude_dir(), &sample.root).unwrap();
    // The session was killed, so there was no Stop event. The hook of its prompt has left a note.
    let prompt = Moment::prompt("Continue with the mail to the harbour master.");
    given(&sample, &story.session, &prompt);
    let mut told = given(&sample, SESSION, &Moment::start("startup"));
    sample.environment.wait_until_quiet();
    told += &given(&sample, SESSION, &Moment::prompt("Where were we?"));
    assert!(told.contains("harbour master"), "{told}");
    assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
}
