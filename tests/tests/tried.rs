//! `scripts/try` on the sample project names the source of its memories first, and all its checks succeed.

use std::process::Command;

use journeys::environment::printed;

#[test]
fn the_sample_is_shown_with_recorded_answers_and_without_a_model() {
    let shown = printed(&mut Command::new(env!("CARGO_BIN_EXE_try-throughline"))).unwrap();
    let first = shown.lines().next().unwrap();
    assert!(first.contains("recorded answers") && first.contains("No model runs"), "{first}");
    let (_, checks) = shown.rsplit_once("\n\n").unwrap();
    assert!(checks.ends_with(" checks passed, 0 failed\n"), "{shown}");
    let (with_model, without) = shown.split_once("\n6. ").unwrap();
    for part in ["sqlite-fails-with-database-is-locked", "memories-00", "rayon", "== recall: "] {
        assert!(with_model.contains(part), "{part}\n{shown}");
    }
    for part in ["`throughline add`", "Where the work was left", "search --turns"] {
        assert!(without.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn a_model_that_cannot_be_asked_ends_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_try-throughline"));
    command.args(["--model", "qwen3:8b"]).env("OLLAMA_HOST", "http://models.example:11434");
    let told = printed(&mut command).unwrap_err().to_string();
    assert!(told.contains("written now, by qwen3:8b of your own Ollama"), "{told}");
    assert!(told.contains("models.example"), "{told}");
}
