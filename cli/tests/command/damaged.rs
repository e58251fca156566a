//! Private files that are damaged, truncated or missing: the damage is reported, and a sync rebuilds the files if
//! possible.

use std::fs;
use std::path::PathBuf;

use memory_store::layout::ProjectDir;
use processor::collect::archive::Archive;

use crate::common::Machine;

const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";
const SESSION: &str = "11111111-1111-4111-8111-111111111111";

fn learned() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine.ok(&["init", "--yes"]);
    machine
}

/// Returns the files of one of the project's indexes whose names begin with `begin`.
fn files(machine: &Machine, index: &str, begin: &str) -> Vec<PathBuf> {
    let trees = machine.path("home/.local/state/throughline/trees");
    let tree = fs::read_dir(trees).unwrap().next().unwrap().unwrap().path();
    let listing = fs::read_dir(tree.join(index)).unwrap().map(|file| file.unwrap());
    let named = listing.filter(|file| file.file_name().to_string_lossy().starts_with(begin));
    named.map(|file| file.path()).collect()
}

#[test]
fn a_search_in_a_damaged_index_reports_it_and_a_sync_rebuilds_the_index() {
    let machine = learned();
    // Thinking is only indexed on request.
    machine.ok(&["search", "--thinking", "guess"]);
    for (index, search, words) in
        [("index", "--turns", "rounding"), ("thinking", "--thinking", "guess")]
    {
        for begin in ["passages", "MANIFEST"] {
            let path = files(&machine, index, begin).remove(0);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();

            let said = machine.run(&["search", search, words]);
            assert_eq!(said.code, 9, "{}", said.whole());
            assert!(said.stderr.contains("degraded:") && said.stderr.contains("throughline sync"));
            let said = machine.run(&["search", search, words, "--json"]);
            assert_eq!(said.code, 9, "{}", said.whole());
            assert!(said.stdout.contains("\"degraded\""), "{}", said.stdout);
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(machine.ok(&["status"]).contains(name), "{name}");
            assert!(machine.run(&["doctor"]).stdout.contains(name), "{name}");

            assert!(machine.ok(&["sync"]).contains("made again"), "{name}");
            assert!(machine.ok(&["search", search, words]).contains("11111111"));
            assert!(!machine.ok(&["status"]).contains(name), "{name}");
        }
    }
    assert!(machine.ok(&["sync"]).starts_with("Nothing new"));
}

#[test]
fn memories_whose_evidence_is_lost_stay_and_are_marked() {
    let machine = learned();
    let titles = machine.ok(&["list"]);
    fs::remove_file(machine.path(TRANSCRIPT)).unwrap();
    let projects = machine.path("home/.local/share/throughline/projects");
    let project = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let name = format!("{SESSION}.jsonl.gz");
    let archived = project.join("archive").join(&name);
    let bytes = fs::read(&archived).unwrap();
    fs::write(&archived, &bytes[..bytes.len() / 2]).unwrap();

    let said = machine.ok(&["sync"]);
    assert!(said.contains(&name) && said.contains("0 removed"), "{said}");
    assert_eq!(machine.ok(&["list"]), titles);
    assert_eq!(machine.json(&["status", "--json"])["lost_sessions"], 1);
    assert!(machine.ok(&["status"]).contains("1 session of the archive is lost"));
    let said = machine.run(&["doctor"]).stdout;
    assert!(said.contains(&name) && said.contains(&format!("{SESSION}.jsonl.damaged")), "{said}");
    let listed = machine.json(&["list", "--json"]);
    let short = listed[0]["short"].as_str().unwrap();
    assert!(machine.ok(&["show", short]).contains("its evidence is lost"));

    machine.ok(&["sync", "--rebuild"]);
    assert_eq!(machine.ok(&["list"]), titles);
    machine.ok(&["purge", "--session", SESSION, "--yes"]);
    assert_eq!(machine.json(&["status", "--json"])["lost_sessions"], 0);
    assert_eq!(machine.json(&["list", "--json"]).as_array().unwrap().len(), 0);
}

#[test]
fn a_pack_of_sessions_that_cannot_be_read_is_named_and_keeps_nothing_from_being_synced() {
    let machine = learned();
    let titles = machine.ok(&["list"]);
    let projects = machine.path("home/.local/share/throughline/projects");
    let project = fs::read_dir(projects).unwrap().next().unwrap().unwrap().path();
    let packed = Archive::open(&ProjectDir::at(project)).pack(&[SESSION.to_owned()]).unwrap();
    let path = packed.file.unwrap().path;
    let bytes = fs::read(&path).unwrap();
    machine.ok(&["sync"]);
    assert!(machine.ok(&["search", "--turns", "rounding"]).contains("11111111"));

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(machine.ok(&["sync"]).contains(&name));
    assert_eq!(machine.ok(&["list"]), titles);
    assert!(machine.ok(&["status"]).contains(&name));
    let said = machine.run(&["doctor"]);
    assert!(said.code == 6 && said.stdout.contains(&name), "{}", said.whole());
    let said = machine.run(&["purge", "--session", SESSION, "--yes"]);
    assert!(said.code == 1 && said.whole().contains(&name), "{}", said.whole());

    fs::remove_dir(&path).unwrap();
    let index_len = u32::from_le_bytes(*bytes.last_chunk().unwrap()) as usize;
    // The start of the file's own index is damaged, so that it is unknown whether more texts followed the last one.
    let mut damaged = bytes.clone();
    damaged[bytes.len() - 20 - index_len] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(machine.ok(&["status"]).contains(&name));
    assert!(machine.run(&["doctor"]).stdout.contains(&name));
    assert!(machine.ok(&["sync"]).contains(&format!("{name}.damaged")));
    assert!(machine.run(&["doctor"]).stdout.contains(&format!("{name}.damaged")));
    let said = machine.run(&["purge", "--session", SESSION, "--yes"]);
    assert!(said.code == 1 && said.stderr.contains("remove it once"), "{}", said.whole());
    assert!(path.with_extension("pack.damaged").exists());
}
