//! Allowed dependencies between the parts, as described in ARCHITECTURE.md.

use std::collections::BTreeSet;

use journeys::metadata;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn each_part_needs_only_what_it_may_know() {
    let siblings = metadata::siblings().unwrap();
    // `testutils` provides homes for the tests of every package.
    const STORE: [&str; 4] =
        ["memory-store-base", "memory-store-recall", "memory-store-redact", "testutils"];
    let may_know: [(&str, &[&str]); 12] = [
        ("memory-store-base", &[]),
        ("memory-store-redact", &["memory-store-base", "testutils"]),
        ("memory-store-recall", &["memory-store-base"]),
        ("memory-store", &STORE),
        // The tests of `hooks` create stores; its programs never do.
        ("hooks", &["memory-store", "memory-store-base", "memory-store-recall", "testutils"]),
        ("processor", &["memory-store", "testutils"]),
        ("mcp", &["memory-store", "testutils"]),
        ("cli", &["memory-store", "processor", "mcp", "testutils"]),
        // The bench builds stores, and the trials validate them.
        ("journeys", &["memory-store", "processor", "testutils"]),
        ("testutils", &["memory-store-base"]),
        // `eval` measures recall and extraction; its tests use the environment of the journeys.
        ("eval", &["memory-store", "processor", "journeys"]),
        // `fuzz` calls the packages that decode untrusted bytes.
        ("fuzz", &["hooks", "mcp", "memory-store", "processor"]),
    ];
    assert_eq!(
        siblings.keys().cloned().collect::<BTreeSet<_>>(),
        may_know.map(|(name, _)| name.to_owned()).into()
    );
    for (name, may_know) in may_know {
        let strangers: Vec<_> = siblings[name].difference(&set(may_know)).cloned().collect();
        assert!(strangers.is_empty(), "{name} must not depend on {strangers:?}");
    }
}

#[test]
fn hooks_link_only_what_reading_needs() {
    let linked = metadata::linked("hooks", &[]).unwrap();
    let ours: BTreeSet<_> =
        linked.iter().filter(|name| name.starts_with("memory-store")).cloned().collect();
    assert_eq!(ours, set(&["memory-store-base", "memory-store-recall"]));
    let heavy = set(&[
        "aho-corasick",
        "clap",
        "gray_matter",
        "keyword_extraction",
        "ollama-rs",
        "rayon",
        "regex",
        "regex-automata",
        "reqwest",
        "rmcp",
        "serde-saphyr",
        "tempfile",
        "tokio",
        "toml",
        "url",
        "walkdir",
    ]);
    let found: Vec<_> = linked.intersection(&heavy).collect();
    assert!(found.is_empty(), "the hooks link {found:?}");
}

#[test]
fn a_program_that_only_reads_the_store_links_no_provider_and_no_network() {
    let linked = metadata::linked("memory-store", &[]).unwrap();
    let network = set(&["hyper", "ollama-rs", "reqwest", "rmcp", "tokio"]);
    let found: Vec<_> = linked.intersection(&network).collect();
    assert!(found.is_empty(), "the store links {found:?}");
}

#[test]
fn every_program_can_be_built_without_the_lgpl_package() {
    const LGPL: &str = "keyword_extraction";
    for program in ["cli", "mcp", "processor"] {
        assert!(metadata::linked(program, &[]).unwrap().contains(LGPL), "{program}");
        let without = metadata::linked(program, &["--no-default-features"]).unwrap();
        assert!(!without.is_empty() && !without.contains(LGPL), "{program}");
    }
}

#[test]
fn no_file_of_tests_is_forgotten() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for folder in ["hooks/tests", "memory-store/tests", "processor/tests", "tests/tests"] {
        let program = std::fs::read_to_string(root.join(folder).join("main.rs")).unwrap();
        let named: BTreeSet<&str> = program
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let files = std::fs::read_dir(root.join(folder)).unwrap();
        let files: BTreeSet<String> = files
            .filter_map(|file| {
                let name = file.unwrap().file_name().into_string().unwrap();
                name.strip_suffix(".rs").map(str::to_owned)
            })
            .filter(|name| name != "main")
            .collect();
        assert!(files.len() > 3, "{folder}");
        let forgotten: Vec<_> =
            files.iter().filter(|name| !named.contains(name.as_str())).collect();
        assert!(forgotten.is_empty(), "{folder}/main.rs does not name {forgotten:?}");
    }
}
