//! Tests that no file is written where writing is forbidden: in the mode `read`, in an untrusted store, and in a
//! project that `scripts/try` only reads.

use std::fs;
use std::process::Command;

use journeys::environment::{TestEnvironment, printed};
use journeys::hook_run::Moment;
use journeys::sample_project::{self, Sample, copy, snapshot};

fn moments(sample: &Sample) -> [Moment; 5] {
    [
        Moment::start("startup"),
        Moment::prompt("Should the archive import insert from several threads in parallel?"),
        Moment::read(&sample.root.join("src/times.rs")),
        Moment::stop(),
        Moment::end(),
    ]
}

#[test]
fn read_mode_recalls_and_writes_nothing() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let before = snapshot(&sample.environment.path()).unwrap();
    let mut told = String::new();
    for moment in moments(&sample) {
        let payload = moment.payload(&sample.environment, &sample.root, "s").to_string();
        // In CI, the default mode is the same as the explicit one.
        for variable in [("THROUGHLINE", "read"), ("CI", "true")] {
            let output = sample
                .environment
                .hook_with(moment.program(), payload.as_bytes(), &[variable])
                .unwrap();
            assert!(output.status.success());
            told += &String::from_utf8_lossy(&output.stdout);
        }
    }
    assert!(told.contains("unwrap()"), "{told}");
    assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
    assert!(before == snapshot(&sample.environment.path()).unwrap(), "something was written");
}

#[test]
fn off_prints_and_writes_nothing() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let before = snapshot(&sample.environment.path()).unwrap();
    for moment in moments(&sample) {
        let payload = moment.payload(&sample.environment, &sample.root, "s").to_string();
        let off = [("THROUGHLINE", "off")];
        let output =
            sample.environment.hook_with(moment.program(), payload.as_bytes(), &off).unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
    }
    assert!(before == snapshot(&sample.environment.path()).unwrap(), "something was written");
}

#[test]
fn a_store_that_nobody_vouched_for_is_silent_until_it_is_trusted() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let stranger = TestEnvironment::new().unwrap().at(sample_project::NOW);
    let root = stranger.path().join("tidelog");
    copy(&sample.root, &root).unwrap();
    let start = Moment::start("startup");
    let run = start.run(&stranger, &root, "s").unwrap();
    assert_eq!((run.output.status.code(), run.output.stdout), (Some(0), Vec::new()));
    assert!(!stranger.state_dir().exists(), "a hook wrote for a stranger's store");

    stranger.throughline(&root, &["trust", "--no-release"]).unwrap();
    stranger.throughline(&root, &["sync"]).unwrap();
    let told = start.run(&stranger, &root, "s").unwrap().context();
    assert!(told.contains("unwrap()"), "{told}");
}

#[test]
fn looking_at_a_project_changes_nothing_of_it() {
    let environment = TestEnvironment::new().unwrap();
    let root = sample_project::create(&environment).unwrap();
    // Git would write its index if it had to refresh the entry of this changed file.
    fs::write(root.join("README.md"), "# tidelog\n").unwrap();
    let before = snapshot(&environment.path()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_try-throughline"));
    command.env("HOME", environment.home()).env_remove("CLAUDE_CONFIG_DIR");
    let shown = printed(command.args(["--project"]).arg(&root)).unwrap();
    assert!(shown.contains("unwrap()"), "{shown}");
    let after = snapshot(&environment.path()).unwrap();
    let changed: Vec<_> =
        after.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes)).collect();
    assert!(changed.is_empty(), "{:?}", changed.iter().map(|(name, _)| name).collect::<Vec<_>>());
    assert_eq!(before.len(), after.len());
}
