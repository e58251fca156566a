//! Tests of `throughline doctor --selftest`, with all programs and with a broken one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use journeys::environment::TestEnvironment;
use journeys::sample_project;
use serde_json::Value;

fn selftest(environment: &TestEnvironment, program: &Path) -> Output {
    let mut command: Command = environment.command(program);
    command
        .env("TMPDIR", environment.home())
        .args(["doctor", "--selftest", "--json"])
        .output()
        .unwrap()
}

fn checks(output: &Output) -> Vec<Value> {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn each_part_passes_the_made_up_memory_on_and_nothing_is_left() {
    let environment = TestEnvironment::new().unwrap().at(sample_project::NOW);
    let before = environment.home().read_dir().unwrap().count();
    let output = selftest(&environment, &environment.binary("throughline"));
    assert!(output.status.success(), "{output:?}");
    let checks = checks(&output);
    assert_eq!(checks.len(), 8);
    assert!(checks.iter().all(|check| check["state"] == "good"), "{checks:#?}");
    assert_eq!(environment.home().read_dir().unwrap().count(), before);
}

#[test]
fn a_broken_part_is_named() {
    let environment = TestEnvironment::new().unwrap().at(sample_project::NOW);
    let folder = environment.home().join("bin");
    fs::create_dir(&folder).unwrap();
    for program in
        ["throughline", "throughline-processor", "throughline-mcp", "throughline-session-start"]
    {
        fs::hard_link(environment.binary(program), folder.join(program))
            .or_else(|_| fs::copy(environment.binary(program), folder.join(program)).map(|_| ()))
            .unwrap();
    }
    // One program succeeds without output, and two others are missing.
    std::os::unix::fs::symlink("/bin/true", folder.join("throughline-user-prompt-submit")).unwrap();
    let output = selftest(&environment, &folder.join("throughline"));
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let checks = checks(&output);
    let bad = checks.iter().filter(|check| check["state"] == "bad");
    let bad: Vec<&str> = bad.map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(bad, ["prompt", "tool", "stop"], "{checks:#?}");
}
