use memory_store::Timestamp;
use memory_store::index::document::Passage;
use memory_store::memory::SaidBy;

use super::{of_session, thoughts_of_session};
use crate::extract::Roots;
use crate::transcript::session::{Call, Input, Prompt, Session, Step, StepKind, Turn};

fn step(what: StepKind) -> Step {
    Step { uuid: String::new(), at: Timestamp(1), what }
}

fn say(text: &str) -> Step {
    step(StepKind::Text { text: text.to_owned() })
}

fn call(input: Input, output: &str, failed: bool) -> Step {
    let (output, result_uuid) = (output.to_owned(), Some("r".to_owned()));
    step(StepKind::Call(Box::new(Call { input, output, failed, result_uuid, ..Call::default() })))
}

fn shell(command: &str, output: &str, failed: bool) -> Step {
    let input = Input::Shell { command: command.to_owned(), description: String::new() };
    call(input, output, failed)
}

fn edit(path: &str, old: &str, new: &str) -> Step {
    let [path, old, new] = [path, old, new].map(str::to_owned);
    call(Input::Edit { path, old, new }, "", false)
}

fn turn(prompt: &str, steps: Vec<Step>) -> Turn {
    let prompt = Prompt { text: prompt.to_owned(), ..Prompt::default() };
    Turn { at: Timestamp(1), prompt, steps, ..Turn::default() }
}

fn passages(turns: Vec<Turn>) -> Vec<Passage> {
    let session = Session { id: "s".to_owned(), turns, ..Session::default() };
    of_session(&session, &Roots::new(["/work/desk".to_owned()]))
}

fn texts(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|passage| passage.text.as_str()).collect()
}

#[test]
fn each_passage_has_its_speaker_and_its_place() {
    let found = passages(vec![
        turn(
            "Make the importer faster",
            vec![say("It reads each file once now, not twice."), say("Done.")],
        ),
        turn("Rename the harbour table", vec![]),
    ]);
    assert_eq!(
        texts(&found),
        [
            "Make the importer faster",
            "It reads each file once now, not twice.",
            "Rename the harbour table",
        ]
    );
    let speakers: Vec<_> = found.iter().map(|passage| passage.said_by.unwrap()).collect();
    assert_eq!(speakers, [SaidBy::User, SaidBy::Assistant, SaidBy::User]);
    let places: Vec<_> = found.iter().map(|passage| (passage.turn, passage.place)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0)]);
    let ids: std::collections::BTreeSet<_> = found.iter().map(Passage::id).collect();
    assert_eq!(ids.len(), 3);
}

#[test]
fn a_question_keeps_its_answer_whoever_asks() {
    let found = passages(vec![
        turn(
            "Why is the quagga slow?",
            vec![say("It reads its table again for each row of the import.")],
        ),
        turn("Go on then", vec![say("Shall the table be read once, or kept in memory for good?")]),
        turn("once", vec![]),
    ]);
    let told = texts(&found);
    assert!(told[0].starts_with("Why is the quagga slow?\nClaude: It reads its table"), "{told:?}");
    let answer = "Shall the table be read once, or kept in memory for good?\nThe user: once";
    assert_eq!(found.last().unwrap().text, answer);
    assert_eq!(found.last().unwrap().said_by, Some(SaidBy::User));
}

#[test]
fn the_passage_of_a_failed_command_contains_its_fix() {
    let failed = "Exit code 1\nerror: cannot find macro `money_fmt` in this scope";
    let found = passages(vec![turn(
        "Build the desk please",
        vec![
            shell("cargo build -p desk", failed, true),
            edit("/work/desk/src/lib.rs", "mod a;", "mod a;\nuse money::money_fmt;"),
            shell("cargo build -p desk", "Finished", false),
            shell("cargo fmt", "Exit code 1\nerror: process exited with code 1", true),
            shell("cargo run", "Exit code 1\nerror: no such subcommand: `quagga`", true),
            say("The macro has to be imported before it can be used in this crate."),
        ],
    )]);
    let cured = &found[1];
    assert_eq!(
        cured.text,
        "`cargo build -p desk` failed: error: cannot find macro 'money_fmt' in this scope.\n\
         It passed after a change in src/lib.rs: `use money::money_fmt;`."
            .replace('\'', "`")
    );
    assert_eq!((cured.said_by, cured.errors.len()), (Some(SaidBy::Tool), 1));
    assert_eq!(cured.paths, ["src/lib.rs"]);
    // Without a cure the passage is not found by the error, but later statements are.
    assert!(found[2].text.starts_with("`cargo run` failed") && found[2].errors.is_empty());
    assert_eq!(found[3].errors.len(), 2);
}

#[test]
fn commits_and_written_documents_are_passages_and_our_own_files_are_not() {
    let commit = "git commit -m \"import: read each file once\n\nThe table was read for each row.\n\nCo-Authored-By: C <c@example.com>\"";
    let found = passages(vec![turn(
        "Write the ports down",
        vec![
            shell(commit, "[main 1a2b3c4] import", false),
            edit(
                "/work/desk/docs/ports.md",
                "",
                "# Ports\n\nThe gateway listens on port 7391 since spring.",
            ),
            edit(
                "/work/desk/.throughline/memories/a.md",
                "",
                "A memory that says a lot about the gateway.",
            ),
            edit("/work/desk/src/a.rs", "", "// A comment that says a lot about the gateway."),
        ],
    )]);
    assert_eq!(
        texts(&found)[1..],
        [
            "Commit: import: read each file once\nThe table was read for each row.",
            "Ports: The gateway listens on port 7391 since spring.",
        ]
    );
    assert_eq!(found[2].paths, ["docs/ports.md"]);
}

#[test]
fn thoughts_are_apart() {
    let thought =
        StepKind::Thinking { text: "The quagga may be slow because of its table.".to_owned() };
    let session = Session {
        turns: vec![turn("Look at the table", vec![step(thought)])],
        ..Session::default()
    };
    assert_eq!(texts(&of_session(&session, &Roots::default())), ["Look at the table"]);
    let thoughts = thoughts_of_session(&session, &Roots::default());
    assert_eq!(texts(&thoughts), ["The quagga may be slow because of its table."]);
}
