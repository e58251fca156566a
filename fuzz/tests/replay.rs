//! The corpus of every fuzz target, run through it: what once failed does not fail again.

use std::fs;
use std::path::Path;

use fuzz::TARGETS;

#[test]
fn the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, run) in TARGETS {
        let folder = corpus.join(name);
        let mut files: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{} is empty", folder.display());
        for file in files {
            let bytes = fs::read(&file).unwrap();
            let outcome = std::panic::catch_unwind(|| run(&bytes));
            assert!(outcome.is_ok(), "{}", file.display());
        }
    }
}

#[test]
fn every_target_has_a_program() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("libfuzzer");
    let listed = fs::read_to_string(programs.join("Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        assert!(listed.contains(&format!("name = \"{name}\"")), "{name}");
        let program = programs.join("fuzz_targets").join(format!("{name}.rs"));
        let text = fs::read_to_string(program).unwrap();
        assert!(text.contains(&format!("fuzz::run(\"{name}\", bytes)")), "{name}");
    }
}
