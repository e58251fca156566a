//! Looks at the memory files that this machine does not know, and notes which of them git brought.
//!
//! A file that is not committed and came while git stayed where it was, was written by somebody here: a
//! reconciliation takes it as this machine's. Every other file that nobody derived, wrote or released here is
//! from the repository, for good: the label depends on the text of a file, and not on who committed it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::exchange::pull_notice::Arrived;
use memory_store::file::FILE_BYTES_MAX;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored, read_below};
use memory_store::trust::{self, Trust};

use crate::git;
use crate::private_files::{read_json, write_json};

/// Files that git is asked about in one look; of more all count as brought by it.
const FILES_MAX: usize = 200;

/// Where git was in each working tree, by its root, when its files were last looked at.
type Positions = BTreeMap<PathBuf, String>;

/// Notes which memory files of a project git brought since the last look, and counts them. What git does while
/// this runs is for whoever calls it to notice.
pub fn look(dirs: &UserDirs, trees: &[Tree], settings: &Settings, now: Timestamp) -> Result<()> {
    let Some(main) = trees.first() else { return Ok(()) };
    let home = dirs.project(main.project);
    let path = &home.git_positions;
    let mut positions: Positions = read_json(path).unwrap_or_default();
    if positions.is_empty() {
        // Older versions asked who committed what.
        for name in ["committers.json", "withheld.json"] {
            memory_store::store::remove(&home.folder.join(name))?;
        }
    }
    let before = positions.clone();
    positions.retain(|root, _| trees.iter().any(|tree| tree.root == *root));
    for tree in trees {
        let store = Store::open(dirs, tree)?;
        let Some(root) = store.root.as_deref() else { return Ok(()) };
        // Before the files are read: what git does meanwhile is a move for the next look.
        let position = git::memory_position(root);
        let mut unknown = trust::unknown(&store)?;
        if !unknown.is_empty() && git::marks(root).is_unfinished {
            continue;
        }
        let last = before.get(root);
        if position.is_some() && position.as_ref() == last {
            unknown = brought(root, unknown);
        }
        trust::note_pulled(&store, &unknown)?;
        if last.is_some() && !unknown.is_empty() {
            let holds = Trust::of(&store, settings)?.holds_unreleased();
            note_arrival(dirs, root, unknown.len(), holds, now)?;
        }
        match position {
            Some(position) => drop(positions.insert(root.to_owned(), position)),
            None => drop(positions.remove(root)),
        }
    }
    if positions == before { Ok(()) } else { write_json(path, &positions) }
}

/// Returns where git was in a working tree when its files were last looked at.
pub fn position_of(home: &ProjectDir, root: &Path) -> Option<String> {
    read_json::<Positions>(&home.git_positions)?.remove(root)
}

/// Leaves the files that git brought although it stayed where it was: those whose text it has stored, as `git
/// restore` takes it from any commit, those that are as a checkout writes them, and those of a repository of their
/// own.
pub fn brought(root: &Path, mut files: Vec<Stored>) -> Vec<Stored> {
    if !git::is_repository(root) {
        return Vec::new();
    }
    let asked = files.len().min(FILES_MAX);
    let contents: Vec<Option<Vec<u8>>> = files[..asked]
        .iter()
        .map(|stored| read_below(root, &stored.path, FILE_BYTES_MAX).ok().map(|(bytes, _)| bytes))
        .collect();
    let is_stored = git::blobs::are_stored(root, &contents);
    // Git attributes may have a checkout write a text other than the stored one.
    let changed = git::changed_memories(root).unwrap_or_default();
    let is_changed = |path: &Path| path.strip_prefix(root).is_ok_and(|path| changed.contains(path));
    let mut number = 0..;
    files.retain(|stored| {
        let stored_before = number.next().and_then(|number: usize| is_stored.get(number));
        stored_before.copied().unwrap_or(true)
            || !is_changed(&stored.path)
            || is_nested(root, &stored.path)
    });
    files
}

/// Whether a file lies in a repository within the working tree, which has a HEAD of its own.
fn is_nested(root: &Path, file: &Path) -> bool {
    let folders = file.ancestors().skip(1).take_while(|folder| *folder != root);
    folders.into_iter().any(|folder| folder.join(".git").symlink_metadata().is_ok())
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
    use crate::testing::{NOW, Project, git, write_memory};

    /// A repository whose memory files were looked at once.
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

        /// Looks and reconciles, as a sync does, and tells which memories are from the repository.
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
    fn what_is_not_committed_and_no_move_of_git_brought_was_written_here() {
        let repository = Repository::new();
        repository.write(1, "By hand");
        assert_eq!(repository.look(), [""; 0]);
        // It stays so, whatever git does with it.
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "second"]);
        repository.git(&["commit", "-q", "--amend", "-m", "other"]);
        repository.git(&["checkout", "-q", "-b", "side"]);
        repository.write(1, "Edited");
        assert_eq!(repository.look(), ["Edited"], "the branch is another one");
        repository.write(1, "Edited again");
        assert_eq!(repository.look(), [""; 0]);
        repository.git(&["stash", "-q"]);
        assert_eq!(repository.look(), [""; 0]);
        repository.git(&["stash", "pop", "-q"]);
        assert_eq!(repository.look(), [""; 0]);
        assert_eq!(repository.arrived(), 1);
    }

    #[test]
    fn what_git_brings_is_from_the_repository() {
        let repository = Repository::new();
        repository.git(&["checkout", "-q", "-b", "theirs"]);
        repository.write(1, "Theirs");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "theirs"]);
        repository.git(&["checkout", "-q", "main"]);
        assert_eq!(repository.look(), [""; 0]);
        // Without any move of HEAD and index.
        repository.git(&["restore", "--source=theirs", "--worktree", "."]);
        assert_eq!(repository.look(), ["Theirs"]);
        assert_eq!(repository.look(), ["Theirs"]);
        fs::remove_file(repository.0.root().join(".throughline/memories/1.md")).unwrap();
        assert_eq!(repository.look(), [""; 0]);
        // A formatter that writes it otherwise is nobody's hand.
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
    fn what_attributes_let_a_checkout_write_is_nobodys_hand() {
        let repository = Repository::new();
        repository.write(1, "Theirs");
        let path = repository.0.root().join(".throughline/memories/1.md");
        let text = fs::read_to_string(&path).unwrap().replacen("It is so.", "It is $Id$.", 1);
        fs::write(&path, text).unwrap();
        repository.git(&["add", "."]);
        fs::remove_file(&path).unwrap();
        fs::write(repository.0.root().join(".gitattributes"), "*.md ident\n").unwrap();
        assert_eq!(repository.look(), [""; 0]);
        repository.git(&["checkout", "--", ".throughline"]);
        assert!(fs::read_to_string(&path).unwrap().contains("It is $Id: "));
        assert_eq!(repository.look(), ["Theirs"]);
    }

    #[test]
    fn a_repository_within_and_a_first_look_tell_nothing_of_hands() {
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
