//! Rows of the matrix about git.

use std::fs;
use std::path::PathBuf;

use super::lab::{LEARNED, Lab, Session};

super::rows! {
    sparse_checkout: "A sparse checkout omits committed memory files (skip-worktree)"
        => "They are not deletions: still recalled, no tombstone, restored by `sparse-checkout disable`";
    sparse_checkout_of_some: "A sparse checkout omits a subfolder of memories"
        => "The same";
    agent_worktree_stays_clean: "Memories are derived from a session in a linked worktree"
        => "They are written to the main working tree; `git worktree remove` works; the worktree recalls them";
    saved_in_a_worktree: "A memory is added by hand in a linked worktree"
        => "It is written to the main working tree";
    ignored: "Git ignores the memory folder, by `.gitignore`, `info/exclude` or `core.excludesFile`"
        => "`init` and `doctor` print the rule and the line that overrides it";
}

/// Returns the names of all memory files of a project.
fn memory_files(lab: &Lab) -> Vec<PathBuf> {
    let folder = lab.root.join(".throughline/memories");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn commit(lab: &Lab) {
    lab.git(&lab.root, &["add", "-A"]);
    lab.git(&lab.root, &["commit", "-qm", "memories"]);
}

#[track_caller]
fn assert_recalled(lab: &Lab, texts: &[&str], session: &str) {
    let listed = lab.list(&lab.root);
    let start = lab.start_as(&lab.root, session).context();
    for text in texts {
        assert_eq!(listed.matches(text).count(), 1, "{text} in {listed}");
    }
    assert!(start.contains(LEARNED), "{start}");
    let tombstones = lab.run(&lab.root, &["list", "--forgotten"]).ok();
    assert!(!texts.iter().any(|text| tombstones.contains(text)), "{tombstones}");
}

fn sparse_checkout(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    commit(lab);
    lab.run(&lab.root, &["add", "--kind", "fact", "The staging host is called heron"]).ok();
    lab.git(&lab.root, &["sparse-checkout", "set", "--no-cone", "/src/*"]);
    for (round, arguments) in [&["sync"][..], &["sync"], &["sync", "--rebuild"]].iter().enumerate()
    {
        lab.run(&lab.root, arguments).ok();
        assert_recalled(lab, &[LEARNED, "heron"], &format!("sparse-{round}"));
        assert_eq!(lab.git(&lab.root, &["status", "--short", "--untracked-files=no"]), "");
    }
    lab.git(&lab.root, &["sparse-checkout", "disable"]);
    lab.sync(&lab.root);
    assert_recalled(lab, &[LEARNED, "heron"], "whole");
    // Memories that a person deleted are not learned again.
    for file in memory_files(lab) {
        if fs::read_to_string(&file).unwrap().contains(LEARNED) {
            fs::remove_file(file).unwrap();
        }
    }
    lab.sync(&lab.root);
    assert!(!lab.list(&lab.root).contains(LEARNED));
}

fn sparse_checkout_of_some(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    for text in ["The staging host is called heron", "The build runs on sparrow"] {
        lab.run(&lab.root, &["add", "--kind", "fact", text]).ok();
    }
    let inner = lab.root.join(".throughline/memories/hosts");
    fs::create_dir(&inner).unwrap();
    for file in memory_files(lab).into_iter().filter(|file| file.is_file()) {
        let text = fs::read_to_string(&file).unwrap();
        if text.contains("heron") || text.contains("sparrow") {
            fs::rename(&file, inner.join(file.file_name().unwrap())).unwrap();
        }
    }
    lab.sync(&lab.root);
    commit(lab);
    let patterns = ["sparse-checkout", "set", "--no-cone", "/*", "!/.throughline/memories/hosts/"];
    lab.git(&lab.root, &patterns);
    assert!(!inner.exists());
    for round in 0..2 {
        lab.sync(&lab.root);
        assert_recalled(lab, &[LEARNED, "heron", "sparrow"], &format!("sparse-{round}"));
    }
    lab.git(&lab.root, &["sparse-checkout", "disable"]);
    lab.sync(&lab.root);
    assert_recalled(lab, &[LEARNED, "heron", "sparrow"], "whole");
}

fn agent_worktree_stays_clean(lab: &Lab) {
    lab.project();
    commit_readme(lab);
    let agent = lab.root.join(".claude/worktrees/agent-1");
    lab.git(&lab.root, &["worktree", "add", "-q", agent.to_str().unwrap()]);
    lab.session(1, &agent);
    let synced = lab.sync(&agent);
    assert!(synced.contains("1 memory (1 new"), "{synced}");
    assert_eq!(lab.git(&agent, &["status", "--short"]), "");
    for root in [&agent, &lab.root] {
        assert!(lab.list(root).contains(LEARNED));
        let start = lab.start_as(root, &format!("start-{}", root.display())).context();
        assert!(start.contains(LEARNED), "{start}");
    }
    assert!(memory_files(lab).iter().any(|file| file.to_str().unwrap().contains(LEARNED)));
    lab.git(&lab.root, &["worktree", "remove", agent.to_str().unwrap()]);
    lab.sync(&lab.root);
    assert_eq!(lab.list(&lab.root).matches(LEARNED).count(), 1);
}

/// Commits the files that `init` wrote, if any.
fn commit_readme(lab: &Lab) {
    lab.git(&lab.root, &["add", "-A"]);
    lab.git(&lab.root, &["commit", "-q", "--allow-empty", "-m", "set up"]);
}

fn saved_in_a_worktree(lab: &Lab) {
    lab.project();
    commit_readme(lab);
    let side = lab.at("side");
    lab.git(&lab.root, &["worktree", "add", "-q", side.to_str().unwrap()]);
    lab.run(&side, &["add", "--kind", "fact", "The staging host is called heron"]).ok();
    assert_eq!(lab.git(&side, &["status", "--short"]), "");
    assert!(lab.list(&side).contains("heron") && lab.list(&lab.root).contains("heron"));
    // The memories in the folder of the worktree are read and edited there.
    Session::new(1, &side).write(&lab.file(1));
    lab.sync(&side);
    lab.git(&lab.root, &["add", "-A"]);
    lab.git(&lab.root, &["commit", "-qm", "memories"]);
    lab.git(&side, &["merge", "-q", "main"]);
    lab.sync(&side);
    assert_eq!(lab.list(&side).matches("heron").count(), 1);
    assert_eq!(lab.git(&side, &["status", "--short"]), "");
    lab.git(&lab.root, &["worktree", "remove", side.to_str().unwrap()]);
}

fn ignored(lab: &Lab) {
    lab.repository(&lab.root);
    let home = lab.environment.home();
    let rules = [
        (lab.root.join(".gitignore"), ".*", "!.throughline/"),
        (lab.root.join(".git/info/exclude"), ".throughline", "!.throughline/"),
        (home.join(".config/git/ignore"), "memories/", "!.throughline/memories/"),
    ];
    for (number, (file, rule, line)) in rules.into_iter().enumerate() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, format!("{before}{rule}\n")).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let told = lab.init(&lab.root);
        let told = if number == 0 { told.assert_contains(&[name, rule, line]) } else { told };
        assert!(!told.text.contains("commit it when you like"), "{}", told.text);
        lab.run(&lab.root, &["doctor"]).assert_contains(&[name, rule, line]);
        // The line in the hint overrides the rule that ignores memories.
        fs::write(lab.root.join(".gitignore"), format!("{before}{rule}\n{line}\n")).unwrap();
        let checked = lab.run(&lab.root, &["doctor"]).text;
        assert!(!checked.contains(line), "{checked}");
        fs::write(&file, before).unwrap();
        fs::remove_file(lab.root.join(".gitignore")).unwrap();
    }
}
