//! Memory files disappear for many reasons. A file that git removed is written again; a file that a person deleted is
//! not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use journeys::sample_project::{Sample, memories_dir, snapshot, stories};
use serde_json::Value;

/// Creates a sample project whose memories were learned from all sessions but the last.
fn sample() -> (Sample, BTreeMap<PathBuf, Vec<u8>>) {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let memories = sample.memories().unwrap();
    assert!(memories.len() > 5, "{:?}", memories.keys());
    (sample, memories)
}

fn commit_all(sample: &Sample, message: &str) {
    sample.git(&["add", "--all"]).unwrap();
    sample.git(&["commit", "--quiet", "--message", message]).unwrap();
}

#[test]
fn a_removed_worktree_loses_nothing() {
    let (sample, before) = sample();
    let linked = sample.environment.path().join("linked");
    let name = linked.display().to_string();
    sample.git(&["worktree", "add", "--quiet", "-b", "side", &name]).unwrap();
    let mut story = stories().unwrap().remove(2);
    story.session = "b2000003-0000-4000-8000-000000000000".to_owned();
    let edited = story.steps.iter_mut().find(|step| step["claude"].is_string()).unwrap();
    edited["claude"] = "Decision: log lines go to the journal of systemd, because the Pi has no \
                        disk to fill."
        .into();
    story.write(&sample.environment.claude_dir(), &linked).unwrap();
    sample.environment.throughline(&linked, &["sync"]).unwrap();
    assert!(snapshot(&memories_dir(&linked)).unwrap().is_empty(), "the worktree is not clean");
    let there = sample.memories().unwrap();
    let is_learned = |text: &Vec<u8>| String::from_utf8_lossy(text).contains("journal of systemd");
    assert!(there.values().any(is_learned), "{:?}", there.keys());

    sample.git(&["worktree", "remove", &name]).unwrap();
    sample.sync().unwrap();
    let after = sample.memories().unwrap();
    // If the new session repeats a memory, the memory may have a better title, but its file name still ends with the
    // same short id.
    let short = |name: &Path| name.to_str().unwrap().rsplit('-').next().unwrap().to_owned();
    let after: BTreeSet<String> = after.keys().map(|name| short(name)).collect();
    for name in before.keys().chain(there.keys()) {
        assert!(after.contains(&short(name)), "{} is gone", name.display());
    }
    assert_eq!(tombstones(&sample), 0);
}

/// Returns the ids of the recalled memories.
fn ids(sample: &Sample) -> BTreeSet<String> {
    let list: Value = serde_json::from_str(&sample.run(&["list", "--json"]).unwrap()).unwrap();
    let memories = list.as_array().unwrap().iter();
    memories.map(|memory| memory["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the number of tombstones.
fn tombstones(sample: &Sample) -> usize {
    let list = sample.run(&["list", "--forgotten", "--json"]).unwrap();
    serde_json::from_str::<Value>(&list).unwrap().as_array().unwrap().len()
}

/// Memories of another branch are not written into the working tree, but are recalled as before.
#[test]
fn a_branch_switch_loses_nothing() {
    let (sample, before) = sample();
    let known = ids(&sample);
    sample.git(&["switch", "--quiet", "--create", "with-memories"]).unwrap();
    commit_all(&sample, "Keep the memories");
    sample.git(&["switch", "--quiet", "main"]).unwrap();
    assert_eq!(sample.memories().unwrap().len(), 0);
    sample.sync().unwrap();
    assert_eq!(ids(&sample), known);

    sample.git(&["switch", "--quiet", "with-memories"]).unwrap();
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap(), before);
    assert_eq!(ids(&sample), known);
    assert_eq!(tombstones(&sample), 0);
}

#[test]
fn clean_loses_nothing() {
    let (sample, before) = sample();
    sample.git(&["clean", "--force", "-d", "--quiet"]).unwrap();
    assert_eq!(sample.memories().unwrap().len(), 0);
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap(), before);
    assert_eq!(tombstones(&sample), 0);
}

#[test]
fn stash_loses_nothing() {
    let (sample, before) = sample();
    let known = ids(&sample);
    sample.git(&["stash", "push", "--include-untracked", "--quiet"]).unwrap();
    assert_eq!(sample.memories().unwrap().len(), 0);
    sample.sync().unwrap();
    assert_eq!(ids(&sample), known);

    sample.git(&["stash", "pop", "--quiet"]).unwrap();
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap(), before);
    assert_eq!(ids(&sample), known);
    assert_eq!(tombstones(&sample), 0);
}

#[test]
fn a_dropped_stash_loses_nothing() {
    let (sample, before) = sample();
    sample.git(&["stash", "push", "--include-untracked", "--quiet"]).unwrap();
    sample.sync().unwrap();
    sample.git(&["stash", "drop", "--quiet"]).unwrap();
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap(), before);
    assert_eq!(tombstones(&sample), 0);
}

#[test]
fn a_deleted_file_stays_deleted() {
    let (sample, before) = sample();
    let name = before.keys().next().unwrap();
    fs::remove_file(sample.memories_dir().join(name)).unwrap();
    for _ in 0..2 {
        sample.sync().unwrap();
        let after = sample.memories().unwrap();
        assert!(!after.contains_key(name), "{} is back", name.display());
        assert_eq!(after.len(), before.len() - 1);
    }
    assert_eq!(tombstones(&sample), 1);
}

#[test]
fn a_file_removed_by_a_commit_stays_deleted() {
    let (sample, before) = sample();
    commit_all(&sample, "Keep the memories");
    let name = before.keys().next().unwrap();
    fs::remove_file(sample.memories_dir().join(name)).unwrap();
    commit_all(&sample, "Drop a memory");
    sample.sync().unwrap();
    assert!(!sample.memories().unwrap().contains_key(name), "{} is back", name.display());
    assert_eq!(tombstones(&sample), 1);
}

#[test]
fn a_renamed_and_edited_file_is_left_alone() {
    let (sample, before) = sample();
    let (name, bytes) = before.iter().next().unwrap();
    let renamed = sample.memories_dir().join("my-own-name.md");
    let mut text = String::from_utf8(bytes.clone()).unwrap();
    text += "\nA line of mine.\n";
    fs::remove_file(sample.memories_dir().join(name)).unwrap();
    fs::write(&renamed, &text).unwrap();
    sample.sync().unwrap();
    assert_eq!(fs::read_to_string(&renamed).unwrap(), text);
    assert!(!sample.memories().unwrap().contains_key(name), "{} came back", name.display());
}

#[test]
fn what_is_forgotten_is_not_learned_again_and_can_be_restored() {
    let (sample, before) = sample();
    let name = before.keys().next().unwrap().display().to_string();
    let short = name.trim_end_matches(".md").rsplit('-').next().unwrap();
    sample.run(&["forget", short]).unwrap();
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap().len(), before.len() - 1);
    assert_eq!(tombstones(&sample), 1);
    sample.run(&["restore", short]).unwrap();
    sample.sync().unwrap();
    assert_eq!(sample.memories().unwrap().len(), before.len());
    assert_eq!(tombstones(&sample), 0);
}
