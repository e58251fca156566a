//! Sessions in linked worktrees belong to the repository. Their memories are in the main working tree.

use std::fs;
use std::path::Path;

use crate::scripts::{self, Sealed, eventful, git};
use memory_store::handoff::Handoff;

fn memories(root: &Path) -> usize {
    fs::read_dir(root.join(".throughline/memories")).map_or(0, Iterator::count)
}

#[test]
fn a_worktrees_session_leaves_it_clean_and_is_kept_when_it_goes() {
    let sealed = Sealed::new();
    sealed.read_by_model();
    let root = sealed.tree.root.clone();
    git(&root, &["init", "-q"]);
    git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let linked = sealed.base.join("linked");
    git(&root, &["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
    let mut script = eventful("s1", linked.to_str().unwrap(), 1);
    for line in &mut script.lines {
        line["gitBranch"] = "topic".into();
    }
    sealed.write_script(&script);
    let report = sealed.sync();
    assert_eq!((report.transcripts, report.sessions), (1, 1));
    assert!(memories(&linked) == 0 && memories(&root) > 0);
    assert_eq!(Handoff::read(&sealed.dirs.tree(&linked).handoff).sessions.len(), 1);
    assert_eq!(Handoff::read(&sealed.dirs.tree(&root).handoff).sessions.len(), 0);
    let count = memories(&root);

    git(&root, &["worktree", "remove", linked.to_str().unwrap()]);
    sealed.sync();
    assert_eq!(memories(&root), count);
    assert_eq!(Handoff::read(&sealed.dirs.tree(&root).handoff).sessions.len(), 1);
    assert!(sealed.sync().nothing_new);
    // The worktrees are removed from disk and from git, but the transcript still belongs to this project.
    fs::remove_dir_all(sealed.dirs.project(sealed.tree.project).mined).unwrap();
    assert_eq!(sealed.sync().sessions, 1);
    assert_eq!(memories(&root), count);
}

#[test]
fn a_repository_inside_that_is_a_project_of_its_own_is_not_part_of_this_one() {
    let sealed = Sealed::new();
    sealed.read_by_model();
    let inner = sealed.tree.root.join("vendor/inner");
    fs::create_dir_all(&inner).unwrap();
    let observed = memory_store::identity::Observed { root: inner.clone(), ..Default::default() };
    let mode = memory_store::identity::Mode::Committed;
    let tree =
        memory_store::identity::vouch(&sealed.dirs, &observed, Some(mode), [9; 16], scripts::now())
            .unwrap();
    sealed.write_script(&eventful("inner", inner.to_str().unwrap(), 1));
    sealed.write_script(&eventful("outer", sealed.root(), 2));
    assert_eq!(sealed.sync().transcripts, 1);
    let options = processor::sync::SyncOptions { tree: &tree, ..sealed.options() };
    assert_eq!(processor::sync::sync(&options).unwrap().transcripts, 1);
    assert!(memories(&inner) > 0 && memories(&sealed.tree.root) > 0);
}
