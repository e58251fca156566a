//! Examines memory files that this machine does not recognise, and records which of them are from the repository.
//!
//! A text that is in no commit, or was first committed by `git commit` in this repository, was written by a person on
//! this machine; reconciliation treats it as this machine's. Every other file that was not derived, written or released
//! on this machine is from the repository. This label is permanent, because it depends only on the text of the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::exchange::pull_notice::Arrived;
use memory_store::file::FILE_BYTES_MAX;
use memory_store::git_dirs::has_git_entry;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored, read_below};
use memory_store::trust::{self, Trust};

use crate::git;
use crate::git::text_origins::{FirstCommit, TextOrigins};
use crate::private_files::{read_json, write_json};

/// Maximum number of files about which git is queried in one run. All further files count as from the repository.
const FILES_MAX: usize = 200;

/// Git's state in each working tree when its files were last examined, by the root of the tree.
type Positions = BTreeMap<PathBuf, String>;

/// Records which memory files of a project are from the repository. Callers must detect changes by git during this run.
pub fn look(dirs: &UserDirs, trees: &[Tree], settings: &Settings, now: Timestamp) -> Result<()> {
    let Some(main) = trees.first() else { return Ok(()) };
    let home = dirs.project(main.project);
    let path = &home.git_positions;
    let mut positions: Positions = read_json(path).unwrap_or_default();
    if positions.is_empty() {
        // Older versions stored the committers in these files.
        for name in ["committers.json", "withheld.json"] {
            memory_store::store::remove(&home.folder.join(name))?;
        }
    }
    let before = positions.clone();
    positions.retain(|root, _| trees.iter().any(|tree| tree.root == *root));
    for tree in trees {
        let store = Store::open(dirs, tree)?;
        let Some(root) = store.root.as_deref() else { return Ok(()) };
        // Git's state is read before the files, so that the next run detects changes by git between the two.
        let position = git::memory_position(root);
        let mut unknown = trust::unknown(&store)?;
        if !unknown.is_empty() && git::marks(root).is_unfinished {
            continue;
        }
        let was_looked_at = before.contains_key(root);
        if was_looked_at {
            unknown = of_others(root, unknown);
        }
        trust::note_pulled(&store, &unknown)?;
        if was_looked_at && !unknown.is_empty() {
            let holds = Trust::of(&store, settings)?.holds_unreleased();
            note_arrival(dirs, root, unknown.len(), holds, now)?;
        }
        positions.insert(root.to_owned(), position.unwrap_or_default());
    }
    if positions == before { Ok(()) } else { write_json(path, &positions) }
}

/// Returns git's state in a working tree when its files were last examined.
pub fn position_of(home: &ProjectDir, root: &Path) -> Option<String> {
    read_json::<Positions>(&home.git_positions)?.remove(root)
}

/// Keeps the files whose texts are another person's: the text was first committed by another person, or is in a
/// separate repository.
fn of_others(root: &Path, files: Vec<Stored>) -> Vec<Stored> {
    with_commit(root, files, |_, first| first.is_some_and(|first| first.is_of_others))
}

/// Keeps the files that git wrote: their text was in a commit before the file was changed.
pub fn written_by_git(root: &Path, files: Vec<Stored>) -> Vec<Stored> {
    with_commit(root, files, |path, first| {
        first.is_some_and(|first| {
            let changed = std::fs::metadata(path).and_then(|found| found.modified()).ok();
            let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            first.is_of_others || changed.is_some_and(|time| first.time < time.as_secs() as i64)
        })
    })
}

/// Keeps the files for which `keeps` returns true; its arguments are the path and the first commit that contains the
/// text. Also keeps files that cannot be read, files about which git cannot be queried, and files of a repository
/// inside the working tree.
fn with_commit(
    root: &Path,
    mut files: Vec<Stored>,
    keeps: impl Fn(&Path, Option<FirstCommit>) -> bool,
) -> Vec<Stored> {
    if files.is_empty() || !git::is_repository(root) {
        return Vec::new();
    }
    let (Some(origins), Some(changed)) = (TextOrigins::read(root), git::changed_memories(root))
    else {
        return files;
    };
    let first = |path: &Path| {
        let (bytes, _) = read_below(root, path, FILE_BYTES_MAX).ok()?;
        let below = path.strip_prefix(root).ok()?;
        // Because of git attributes, a checkout may write a text that differs from the stored one.
        origins.first_commit(root, below, &bytes, !changed.contains(below))
    };
    let mut number = 0..;
    files.retain(|stored| {
        let path = &stored.path;
        let is_asked = number.next().is_some_and(|number: usize| number < FILES_MAX);
        let known = (is_asked && !is_nested(root, path)).then(|| first(path)).flatten();
        known.is_none_or(|first| keeps(path, first))
    });
    files
}

/// Returns whether a file is in a repository inside the working tree.
fn is_nested(root: &Path, file: &Path) -> bool {
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != root);
    folders.into_iter().any(has_git_entry)
}

fn note_arrival(
    dirs: &UserDirs,
    root: &Path,
    new: usize,
    holds: bool,
    now: Timestamp,
) -> Result<()> {
    let state = dirs.tree(root);
    let before = Arrived::untold(&state).unwrap_or_default();
    let arrived = Arrived {
        at: now,
        new: before.new.saturating_add(new),
        held: before.held.saturating_add(if holds { new } else { 0 }),
    };
    write_json(&state.arrived, &arrived)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use memory_store::identity::Mode;
    use memory_store::reconcile::{self, GitState, Replacing, SourceState};
    use memory_store::redact::Redactor;

    use super::*;
    use crate::for_tests::{NOW, Project, git, git_at, write_memory};

    /// A repository whose memory files were examined once.
    struct Repository(Project);

    impl Repository {
        fn new() -> Self {
            let repository = Self(Project::new(Mode::Committed));
            repository.git(&["init", "-q"]);
            fs::write(repository.0.root().join("a.txt"), "one").unwrap();
            repository.git(&["add", "."]);
            repository.git(&["commit", "-q", "-m", "first"]);
            repository.look();
            repository
        }

        fn git(&self, arguments: &[&str]) {
            git(self.0.root(), arguments);
        }

        fn write(&self, number: u8, title: &str) {
            write_memory(self.0.root(), &format!("{number}.md"), number, title);
        }

        /// Commits a memory as another person to the branch `theirs` of another repository, and fetches this branch.
        fn fetch(&self, number: u8, title: &str, body: &str) {
            let other = tempfile::tempdir().unwrap();
            let (root, clone) = (self.0.root(), fs::canonicalize(other.path()).unwrap());
            git(&clone, &["clone", "-q", root.to_str().unwrap(), "."]);
            let name = format!("{number}.md");
            write_memory(&clone, &name, number, title);
            let path = clone.join(".throughline/memories").join(name);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replacen("It is so.", body, 1)).unwrap();
            git(&clone, &["add", "."]);
            git_at(&clone, &["commit", "-q", "-m", "theirs"], "2026-01-01T00:00:00Z");
            self.git(&["fetch", "-q", clone.to_str().unwrap(), "HEAD:theirs"]);
        }

        /// Examines and reconciles, as a sync does, and returns the memories that are from the repository.
        fn look(&self) -> Vec<String> {
            let Project { dirs, tree, .. } = &self.0;
            let store = Store::open(dirs, tree).unwrap();
            let states: Vec<GitState> = vec![git::state(&tree.root, None)];
            look(dirs, std::slice::from_ref(tree), &Settings::default(), NOW).unwrap();
            reconcile::reconcile(
                &store,
                &Redactor::default(),
                Vec::new(),
                &states,
                NOW,
                &|_| SourceState::Read,
                Replacing::Few,
            )
            .unwrap();
            let trust = Trust::of(&store, &Settings::default()).unwrap();
            let files = store.files().into_iter();
            let pulled = files.filter(|stored| trust.is_from_repository(stored));
            pulled.map(|stored| stored.memory.title).collect()
        }

        fn arrived(&self) -> usize {
            Arrived::last(&self.0.dirs.tree(self.0.root())).map_or(0, |arrived| arrived.new)
        }
    }

    #[test]
    fn what_is_written_and_committed_here_is_from_here_however_git_moves() {
        let repository = Repository::new();
        let commit = |message: &str| repository.git(&["commit", "-q", "-a", "-m", message]);
        repository.write(1, "By hand");
        assert_eq!(repository.look(), [""; 0]);
        repository.git(&["add", "."]);
        commit("second");
        type Edit<'a> = (&'a str, &'a dyn Fn(&str));
        let edits: [Edit<'_>; 6] = [
            ("on a new branch", &|title| {
                repository.git(&["checkout", "-q", "-b", "side"]);
                repository.write(1, title);
            }),
            ("committed", &|title| {
                repository.write(1, title);
                commit("third");
            }),
            ("staged", &|title| {
                repository.write(1, title);
                repository.git(&["add", "-A"]);
            }),
            ("amended", &|title| {
                repository.write(1, title);
                repository.git(&["commit", "-q", "-a", "--amend", "-m", "other"]);
            }),
            ("merged", &|title| {
                repository.write(1, title);
                commit("fourth");
                repository.git(&["checkout", "-q", "main"]);
                repository.git(&["merge", "-q", "side"]);
            }),
            ("stashed", &|title| {
                repository.write(1, title);
                repository.git(&["stash", "-q"]);
                repository.git(&["stash", "pop", "-q"]);
            }),
        ];
        for (name, edit) in edits {
            edit(name);
            assert_eq!(repository.look(), [""; 0], "{name}");
        }
        commit("fifth");
        repository.git(&["checkout", "-q", "-b", "rebased", "HEAD~1"]);
        repository.write(2, "Rebased");
        repository.git(&["add", "."]);
        commit("sixth");
        repository.git(&["rebase", "-q", "main"]);
        assert_eq!(repository.look(), [""; 0]);
        assert_eq!(repository.arrived(), 0);
    }

    #[test]
    fn what_git_brings_is_from_the_repository() {
        let repository = Repository::new();
        repository.fetch(1, "Theirs", "It is so.");
        assert_eq!(repository.look(), [""; 0]);
        // This command changes neither HEAD nor the index.
        repository.git(&["restore", "--source=theirs", "--worktree", "."]);
        assert_eq!(repository.look(), ["Theirs"]);
        assert_eq!(repository.look(), ["Theirs"]);
        fs::remove_file(repository.0.root().join(".throughline/memories/1.md")).unwrap();
        assert_eq!(repository.look(), [""; 0]);
        // A formatter's change does not make the text this machine's.
        repository.git(&["checkout", "-q", "theirs"]);
        assert_eq!(repository.look(), ["Theirs"]);
        let path = repository.0.root().join(".throughline/memories/1.md");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("kind: convention\n", "kind: \"convention\"\n", 1)).unwrap();
        assert_eq!(repository.look(), ["Theirs"]);
        fs::write(&path, text.replacen("It is so.", "It is not so.", 1)).unwrap();
        assert_eq!(repository.look(), [""; 0]);
        assert_eq!(repository.arrived(), 1);
    }

    #[test]
    fn what_is_merged_picked_or_squashed_stays_from_the_repository() {
        let ways: [&[&[&str]]; 5] = [
            &[&["merge", "-q", "--no-ff", "-m", "merge", "theirs"]],
            &[&["cherry-pick", "theirs"]],
            &[&["merge", "-q", "--squash", "theirs"], &["commit", "-q", "-m", "squash"]],
            &[&["rebase", "-q", "theirs"]],
            &[&["checkout", "-q", "theirs", "--", ".throughline"]],
        ];
        for way in ways {
            let repository = Repository::new();
            repository.fetch(1, "Theirs", "It is so.");
            fs::write(repository.0.root().join("b.txt"), "two").unwrap();
            repository.git(&["add", "b.txt"]);
            repository.git(&["commit", "-q", "-m", "second"]);
            way.iter().for_each(|arguments| repository.git(arguments));
            assert_eq!(repository.look(), ["Theirs"], "{way:?}");
        }
    }

    #[test]
    fn what_attributes_let_a_checkout_write_is_nobodys_hand() {
        let repository = Repository::new();
        repository.fetch(1, "Theirs", "It is $Id$.");
        fs::write(repository.0.root().join(".gitattributes"), "*.md ident\n").unwrap();
        assert_eq!(repository.look(), [""; 0]);
        repository.git(&["checkout", "-q", "theirs", "--", ".throughline"]);
        let path = repository.0.root().join(".throughline/memories/1.md");
        assert!(fs::read_to_string(&path).unwrap().contains("It is $Id: "));
        assert_eq!(repository.look(), ["Theirs"]);
    }

    #[test]
    fn a_nested_repository_and_a_first_look_are_no_evidence_of_edits_by_hand() {
        let repository = Repository::new();
        let nested = repository.0.root().join(".throughline/memories/nested");
        fs::create_dir_all(&nested).unwrap();
        git(&nested, &["init", "-q"]);
        write_memory(repository.0.root(), "nested/1.md", 1, "Nested");
        assert_eq!(repository.look(), ["Nested"]);
        let positions = repository.0.dirs.project(repository.0.tree.project).git_positions;
        fs::remove_file(positions).unwrap();
        repository.write(2, "Before the first look");
        assert_eq!(repository.look(), ["Before the first look", "Nested"]);
    }

    #[test]
    fn amid_a_merge_nobody_is_believed_to_have_written_anything() {
        let repository = Repository::new();
        repository.write(1, "Mine");
        repository.look();
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "mine"]);
        repository.look();
        fs::write(repository.0.root().join(".git/MERGE_HEAD"), "0".repeat(40)).unwrap();
        repository.write(1, "Put together");
        assert_eq!(repository.look(), ["Put together"]);
        fs::remove_file(repository.0.root().join(".git/MERGE_HEAD")).unwrap();
        assert_eq!(repository.look(), [""; 0]);
    }
}
