//! Journeys of memories through real git: nothing that git takes along is lost, and what a person
//! deleted stays deleted.

#![cfg(feature = "write")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_store::file::MemoryFile;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{Tree, UserDirs};
use memory_store::ledger::{Desired, GitState, Ledger, Marks, Outcome, Reason, reconcile};
use memory_store::memory::Status;
use memory_store::redact::Redactor;
use memory_store::store::{Change, Forget, Store};
use memory_store::{Kind, Memory, MemoryId, Timestamp};

const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// A repository of a user with nothing else, and a processor that learned some memories.
struct Journey {
    home: tempfile::TempDir,
    dirs: UserDirs,
    tree: Tree,
    desired: Vec<Desired>,
}

impl Journey {
    /// A repository with one commit and `count` memories to be learned.
    fn new(count: u8) -> Self {
        Self::with_mode(count, Mode::Committed)
    }

    fn with_mode(count: u8, mode: Mode) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| OsString::from(&path)));
        let dirs = dirs.unwrap();
        let root = path.join("work");
        fs::create_dir(&root).unwrap();
        let observed = Observed { root: root.clone(), ..Observed::default() };
        let tree = identity::init(&dirs, &observed, mode, [7; 16], NOW).unwrap();
        let desired = (0..count).map(|n| Desired { memory: memory(n), root: root.clone() });
        let journey = Self { home, dirs, tree, desired: desired.collect() };
        journey.git("init -q -b main");
        fs::write(root.join("code"), "1\n").unwrap();
        journey.git("add code");
        journey.git("commit -q -m first");
        journey
    }

    fn root(&self) -> &Path {
        &self.tree.root
    }

    fn store(&self) -> Store {
        Store::open(&self.dirs, &self.tree).unwrap()
    }

    fn git(&self, arguments: &str) -> String {
        self.git_in(self.root(), arguments)
    }

    fn git_in(&self, root: &Path, arguments: &str) -> String {
        let output = self.try_git(root, arguments);
        output.unwrap_or_else(|error| panic!("git {arguments}: {error}"))
    }

    fn try_git(&self, root: &Path, arguments: &str) -> Result<String, String> {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0"])
            .args(arguments.split(' '))
            .current_dir(root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// What the processor asks git before it reconciles.
    fn git_state(&self, root: &Path) -> GitState {
        let ask = |arguments: &str| self.try_git(root, arguments).ok();
        let line = |arguments: &str| ask(arguments).map(|text| text.trim().to_owned());
        let paths = |text: Option<String>| -> Vec<PathBuf> {
            let text = text.unwrap_or_default();
            text.split('\0')
                .map(str::trim)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
                .collect()
        };
        let folders = line("rev-parse --path-format=absolute --git-dir --git-common-dir").unwrap();
        let (own, shared) = folders.split_once('\n').unwrap();
        let marks = Marks::take(Path::new(own), Path::new(shared));
        let heads = Ledger::open(self.store().home()).unwrap().heads();
        let old = heads.into_iter().find(|(known, _)| known == root).map(|(_, head)| head);
        let head = line("rev-parse -q --verify HEAD");
        let branch = line("symbolic-ref -q --short HEAD");
        let (forward, removed) = match (&old, &head) {
            (Some(old), Some(head)) => (
                ask(&format!("merge-base --is-ancestor {old} {head}")).is_some(),
                paths(ask(&format!(
                    "log --diff-filter=D --name-only --no-renames --format= -z {old}..{head} -- .throughline"
                ))),
            ),
            (None, _) | (Some(_), None) => (true, Vec::new()),
        };
        let mut held = Vec::new();
        let refs = ask("for-each-ref --format=%(refname:short) refs/heads refs/remotes")
            .unwrap_or_default();
        let stashes = ask("stash list --format=%gd").unwrap_or_default();
        let stashes: Vec<String> =
            stashes.lines().flat_map(|stash| [stash.to_owned(), format!("{stash}^3")]).collect();
        let others = refs.lines().map(str::to_owned).filter(|name| Some(name) != branch.as_ref());
        for tip in others.chain(stashes) {
            held.extend(paths(ask(&format!("ls-tree -r -z --name-only {tip} .throughline"))));
        }
        GitState {
            root: root.to_owned(),
            committed: paths(ask("ls-tree -r -z --name-only HEAD .throughline")),
            stash: line("rev-parse -q --verify refs/stash"),
            head,
            branch,
            forward,
            removed_in_commits: removed,
            held,
            indexed: paths(ask("ls-files -z .throughline")),
            marks,
        }
    }

    fn trees(&self) -> Vec<GitState> {
        let list = self.git("worktree list --porcelain");
        let roots = list.lines().filter_map(|line| line.strip_prefix("worktree "));
        let roots = roots.map(PathBuf::from).filter(|root| root.is_dir());
        roots.map(|root| self.git_state(&root)).collect()
    }

    fn reconcile_once(&self) -> Outcome {
        reconcile(&self.store(), &Redactor::default(), self.desired.clone(), &self.trees(), NOW)
            .unwrap()
    }

    /// Reconciles, and again to see that this changes nothing.
    fn sync(&self) -> Outcome {
        let outcome = self.reconcile_once();
        let before = self.everything();
        let again = self.reconcile_once();
        let after = self.everything();
        let changed: Vec<_> =
            after.keys().filter(|path| after.get(*path) != before.get(*path)).collect();
        assert!(changed.is_empty(), "a second run changed {changed:?} after {outcome:?}");
        assert_eq!(after.len(), before.len(), "a second run removed something");
        let changed = (again.written, again.updated, again.removed);
        assert_eq!(changed, (0, 0, 0), "after {outcome:?}");
        outcome
    }

    /// All files of the user outside of git, with their bytes and times.
    fn everything(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.ends_with(".git") {
                    folders.push(path);
                } else if path.is_file() {
                    let time = fs::metadata(&path).unwrap().modified().unwrap();
                    files.insert(path.clone(), (fs::read(&path).unwrap(), time));
                }
            }
        }
        files
    }

    /// The numbers of the memories whose files are in a working tree.
    fn files_in(&self, root: &Path) -> Vec<u8> {
        let folder = root.join(".throughline/memories");
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let mut numbers: Vec<u8> =
            paths.map(|path| number(&fs::read_to_string(path).unwrap())).collect();
        numbers.sort_unstable();
        numbers
    }

    fn files(&self) -> Vec<u8> {
        self.files_in(self.root())
    }

    /// The numbers of the memories that recall would find from this tree.
    fn known(&self) -> Vec<u8> {
        let listing = self.store().list().unwrap();
        assert!(listing.broken.is_empty(), "{:?}", listing.broken);
        let mut known: Vec<u8> =
            listing.memories.iter().map(|stored| number(&stored.memory.title)).collect();
        known.sort_unstable();
        known
    }

    fn path(&self, n: u8) -> PathBuf {
        let stored = self.store().find(&memory(n).id.to_string()).unwrap();
        assert!(stored.path.starts_with(self.root()), "{}", stored.path.display());
        stored.path
    }

    fn delete(&self, n: u8) {
        fs::remove_file(self.path(n)).unwrap();
    }

    fn tombstones(&self) -> Vec<(u8, Reason)> {
        let tombstones = self.store().tombstones().unwrap();
        tombstones.iter().map(|tombstone| (number(&tombstone.title), tombstone.reason)).collect()
    }

    fn commit_memories(&self) {
        self.git("add .throughline");
        self.git("commit -q -m memories");
    }
}

fn memory(n: u8) -> Memory {
    let id = MemoryId::new(Timestamp(NOW.0 - 1_000_000 + i64::from(n)), [n; 10]);
    Memory::new(id, Kind::Fact, format!("Memory {n}"), format!("Text of {n}."), NOW)
}

fn number(text: &str) -> u8 {
    let at = text.find("Memory ").unwrap() + "Memory ".len();
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn memories_are_written_once_and_follow_the_transcripts() {
    let mut journey = Journey::new(3);
    assert_eq!(journey.sync(), Outcome { written: 3, ..Outcome::default() });
    assert!(journey.root().join(".throughline/README.md").is_file());
    assert_eq!(journey.sync(), Outcome { unchanged: 3, ..Outcome::default() });

    // Mined again: a new text, a new title, one that nothing says any more.
    journey.desired[0].memory.body = "Another text.".to_owned();
    journey.desired[1].memory.title = "Memory 1 under another name".to_owned();
    journey.desired.remove(2);
    let outcome = journey.sync();
    assert_eq!((outcome.updated, outcome.removed), (2, 1));
    assert!(fs::read_to_string(journey.path(0)).unwrap().contains("Another text."));
    assert!(journey.path(1).to_string_lossy().contains("under-another-name"));
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![]));
    // And once more.
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    assert_eq!(journey.sync().written, 1);
}

#[test]
fn what_a_person_edited_or_renamed_is_left_alone() {
    let mut journey = Journey::new(3);
    journey.sync();
    let edited = fs::read_to_string(journey.path(0)).unwrap().replace("Text of 0.", "My words.");
    fs::write(journey.path(0), &edited).unwrap();
    let renamed = journey.path(1).with_file_name("renamed.md");
    fs::rename(journey.path(1), &renamed).unwrap();
    let sorted = journey.path(2).with_file_name("area");
    fs::create_dir(&sorted).unwrap();
    fs::rename(journey.path(2), sorted.join("two.md")).unwrap();
    journey.sync();

    for desired in &mut journey.desired {
        desired.memory.body = "Mined again.".to_owned();
    }
    assert_eq!(journey.sync().updated, 2);
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    assert_eq!(journey.path(1), renamed);
    assert_eq!(journey.path(2), sorted.join("two.md"));
    assert!(fs::read_to_string(&renamed).unwrap().contains("Mined again."));

    // That something newer replaces it is noted even there, and nothing else.
    journey.desired[0].memory.superseded_by = Some(memory(1).id);
    journey.sync();
    let noted = fs::read_to_string(journey.path(0)).unwrap();
    assert_eq!(noted.replace(&format!("superseded_by: {}\n", memory(1).id), ""), edited);

    // Nothing says so any more: what a person wrote stays.
    journey.desired.clear();
    assert_eq!(journey.sync().removed, 2);
    assert_eq!(journey.files(), [0]);
}

#[test]
fn a_file_that_is_being_edited_is_not_missed() {
    let journey = Journey::new(2);
    journey.sync();
    let path = journey.path(0);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, "<<<<<<< ours\n").unwrap();
    journey.sync();
    assert_eq!(fs::read_to_string(&path).unwrap(), "<<<<<<< ours\n");
    assert_eq!(journey.tombstones(), []);
    fs::write(&path, whole).unwrap();
    assert_eq!(journey.sync().unchanged, 2);
}

#[test]
fn a_deleted_file_stays_deleted_until_it_is_restored() {
    let journey = Journey::new(3);
    journey.sync();
    journey.delete(1);
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![(1, Reason::Deleted)]));
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!(journey.files(), [0, 2]);

    let restored = journey.store().restore(&memory(1).id.short(), &Redactor::default()).unwrap();
    assert_eq!(restored, None);
    assert_eq!(journey.sync().written, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));
}

/// A sync may fall between two steps of `git stash -u`: what is missing then is not taken for deleted, and not
/// written into git's way.
#[test]
fn what_git_moves_right_now_is_left_for_the_next_sync() {
    let journey = Journey::new(3);
    journey.sync();
    let lock = journey.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    journey.delete(1);
    for _ in 0..2 {
        assert_eq!(journey.sync().tombstoned, 0);
        assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![]));
    }
    // Nobody moved it after all.
    fs::remove_file(&lock).unwrap();
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![(1, Reason::Deleted)]));
}

/// `git stash -u` lists what it keeps, and then cleans everything away: what came in between is in no stash, and the
/// stash is long popped when the next sync looks.
#[test]
fn what_a_stash_swallowed_is_written_again() {
    let mut journey = Journey::new(3);
    journey.sync();
    journey.commit_memories();
    journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
    journey.sync();
    journey.store().save(memory(9), &Redactor::default(), NOW).unwrap();
    let store = journey.store();
    store
        .edit(&memory(3).id.short(), &Redactor::default(), |memory| {
            memory.body = "My words.".to_owned()
        })
        .unwrap();
    let late = [journey.path(3), journey.path(9)];
    let texts = late.each_ref().map(|path| fs::read_to_string(path).unwrap());
    late.iter().for_each(|path| fs::remove_file(path).unwrap());
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("stash -q -u");
    journey.git("stash pop -q");
    assert_eq!(journey.files(), [0, 1, 2]);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3, 9], vec![]));
    assert_eq!(late.each_ref().map(|path| fs::read_to_string(path).unwrap()), texts);

    // What a person deletes after that stays deleted.
    journey.delete(9);
    journey.sync();
    assert_eq!(journey.tombstones(), [(9, Reason::Deleted)]);
}

/// What was staged goes with a reset, also with the one that gives up a merge.
#[test]
fn what_a_reset_threw_away_is_written_again() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    for n in [2, 3] {
        journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
    }
    journey.sync();
    journey.git(&format!("add {}", journey.path(2).display()));
    journey.git("reset -q --hard");
    assert_eq!(journey.files(), [0, 1, 3]);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3], vec![]));
}

/// What git said and what lies on the disk are of different moments when git moves in between: nothing is judged then, and
/// nothing remembered by which the next sync would judge wrongly.
#[test]
fn what_git_moved_since_it_was_asked_is_left_for_the_next_sync() {
    let moves: [&[&str]; 4] = [
        &["checkout -q side"],
        &["checkout -q --detach side"],
        &["reset -q --hard side"],
        &["stash -q -u"],
    ];
    for moves in moves {
        let mut journey = Journey::new(3);
        journey.git("branch side");
        journey.sync();
        journey.commit_memories();
        journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
        journey.sync();
        let asked = journey.trees();
        for arguments in moves {
            journey.git(arguments);
        }
        for _ in 0..2 {
            let desired = journey.desired.clone();
            let outcome =
                reconcile(&journey.store(), &Redactor::default(), desired, &asked, NOW).unwrap();
            assert!(outcome.unsettled && outcome.written == 0, "{moves:?}: {outcome:?}");
            assert_eq!(journey.tombstones(), [], "{moves:?}");
        }
        journey.sync();
        assert_eq!(journey.known(), [0, 1, 2, 3], "{moves:?}");
        assert_eq!(journey.tombstones(), [], "{moves:?}");
    }
}

/// A linked working tree has an index and a lock of its own.
#[test]
fn what_git_moves_in_a_linked_tree_is_left_for_the_next_sync() {
    let mut journey = Journey::new(1);
    journey.sync();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    for n in [1, 2, 3] {
        journey.desired.push(Desired { memory: memory(n), root: linked.clone() });
    }
    journey.sync();
    assert_eq!(journey.files_in(&linked), [1, 2, 3]);
    let lock = journey.root().join(".git/worktrees/linked/index.lock");
    fs::write(&lock, "").unwrap();
    let store = journey.store().at(&linked);
    fs::remove_file(store.find(&memory(2).id.to_string()).unwrap().path).unwrap();
    journey.sync();
    assert_eq!(journey.tombstones(), []);
    fs::remove_file(&lock).unwrap();
    journey.sync();
    assert_eq!(journey.tombstones(), [(2, Reason::Deleted)]);
}

/// A merge that stopped half-way has taken what the other side removed, and brings it back when it is given up.
#[test]
fn what_an_unfinished_merge_took_is_judged_when_it_is_over() {
    for gives_up in [true, false] {
        let journey = Journey::new(3);
        journey.sync();
        journey.commit_memories();
        journey.sync();
        journey.git("checkout -q -b side");
        journey.git(&format!("rm -q {}", journey.path(1).display()));
        fs::write(journey.root().join("code"), "side\n").unwrap();
        journey.git("commit -q -a -m side");
        journey.git("checkout -q main");
        fs::write(journey.root().join("code"), "main\n").unwrap();
        journey.git("commit -q -a -m main");
        journey.sync();
        journey.try_git(journey.root(), "merge -q side").unwrap_err();
        assert_eq!(journey.files(), [0, 2]);
        journey.sync();
        assert_eq!(journey.tombstones(), []);
        if gives_up {
            journey.git("merge --abort");
            journey.sync();
            assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));
        } else {
            journey.git("commit -q -a -m merged");
            journey.sync();
            assert_eq!(journey.tombstones(), [(1, Reason::RemovedInCommit)]);
        }
    }
}

/// git takes a file out of the index before it moves HEAD, and so does a person with `git rm`: the commit tells.
#[test]
fn a_removal_that_is_staged_counts_when_it_is_committed() {
    let journey = Journey::new(3);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git(&format!("rm -q {}", journey.path(1).display()));
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 2], vec![]));
    journey.git("commit -q -m removed");
    journey.sync();
    assert_eq!(journey.tombstones(), [(1, Reason::RemovedInCommit)]);
}

#[test]
fn the_last_file_stays_deleted_when_the_others_were_deleted_before() {
    let journey = Journey::new(2);
    journey.sync();
    journey.delete(0);
    assert_eq!(journey.sync().tombstoned, 1);
    journey.delete(1);
    assert_eq!(journey.sync().tombstoned, 2);
    assert!(journey.files().is_empty());
    assert_eq!(journey.sync().tombstoned, 2);
}

#[test]
fn a_committed_file_stays_deleted_by_hand_or_by_commit() {
    let journey = Journey::new(4);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.delete(0);
    journey.sync();
    assert_eq!(journey.tombstones(), [(0, Reason::Deleted)]);
    journey.git(&format!("rm -q {}", journey.path(1).display()));
    journey.git("commit -q -a -m remove");
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("commit -q -a -m more");
    journey.sync();
    assert_eq!(journey.tombstones(), [(0, Reason::Deleted), (1, Reason::RemovedInCommit)]);
    assert_eq!(journey.files(), [2, 3]);
    // A deletion that is committed only later, together with a rename, is one deletion.
    let renamed = journey.path(2).with_file_name("better-name.md");
    journey.git(&format!("mv {} {}", journey.path(2).display(), renamed.display()));
    journey.git("commit -q -m rename");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones().len()), (vec![2, 3], 2));
}

#[test]
fn a_loose_file_stays_deleted_while_others_are_committed() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.desired.push(Desired { memory: memory(3), root: journey.root().to_owned() });
    journey.sync();
    journey.delete(2);
    // Between deletion and sync the person commits something else.
    fs::write(journey.root().join("code"), "2\n").unwrap();
    journey.git("commit -q -a -m more");
    journey.sync();
    assert_eq!(
        (journey.files(), journey.tombstones()),
        (vec![0, 1, 3], vec![(2, Reason::Deleted)])
    );
}

#[test]
fn git_clean_takes_nothing_for_good() {
    let journey = Journey::new(3);
    journey.sync();
    journey.git("clean -fdq");
    assert_eq!(journey.files(), [] as [u8; 0]);
    assert_eq!(journey.sync().written, 3);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2], vec![]));

    // Also when the folder is committed and only the new ones are taken.
    let mut journey = journey;
    journey.commit_memories();
    for n in 3..6 {
        journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
    }
    journey.sync();
    journey.git("clean -fdq");
    assert_eq!(journey.files(), [0, 1, 2]);
    assert_eq!(journey.sync().written, 3);
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1, 2, 3, 4, 5], vec![]));

    // A single memory in a new folder.
    let journey = Journey::new(1);
    journey.sync();
    journey.git("clean -fdq");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0], vec![]));
}

#[test]
fn what_a_person_wrote_survives_git_clean_as_they_wrote_it() {
    let journey = Journey::new(2);
    journey.sync();
    let edited = fs::read_to_string(journey.path(0)).unwrap().replace("Text of 0.", "My words.");
    fs::write(journey.path(0), &edited).unwrap();
    let saved = journey.store().save(memory(9), &Redactor::default(), NOW).unwrap();
    assert_eq!(saved.change, Change::Created);
    journey.sync();
    journey.git("clean -fdq");
    journey.sync();
    assert_eq!(journey.files(), [0, 1, 9]);
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    // Still theirs: mining again does not replace it.
    let mut journey = journey;
    journey.desired[0].memory.body = "Mined again.".to_owned();
    journey.sync();
    assert_eq!(fs::read_to_string(journey.path(0)).unwrap(), edited);
    // And what they delete themselves stays deleted.
    journey.delete(9);
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![(9, Reason::Deleted)]));
}

#[test]
fn a_stash_is_not_in_the_way_of_its_return() {
    let journey = Journey::new(3);
    journey.sync();
    journey.git("stash -q -u");
    assert_eq!(journey.files(), [] as [u8; 0]);
    journey.sync();
    // Recalled meanwhile, but not where the stash wants to put them.
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![]));
    journey.git("stash pop -q");
    journey.sync();
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!(journey.tombstones(), []);
    assert_eq!(drafts(&journey), 0);

    // A stash that is dropped takes nothing along either.
    journey.git("stash -q -u");
    journey.sync();
    journey.git("stash drop -q");
    journey.sync();
    assert_eq!((journey.known(), journey.files()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

fn drafts(journey: &Journey) -> usize {
    fs::read_dir(journey.store().home().drafts()).map_or(0, Iterator::count)
}

#[test]
fn a_branch_keeps_its_memories_without_blocking_the_way_back() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    journey.git("checkout -q -b feature");
    journey.desired.push(Desired { memory: memory(1), root: journey.root().to_owned() });
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git("checkout -q main");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 1, 2]));
    // Mined again meanwhile, and back: the file on the branch is ours to update.
    journey.desired[1].memory.body = "Mined again.".to_owned();
    journey.sync();
    journey.git("checkout -q feature");
    assert_eq!(journey.sync().updated, 1);
    assert_eq!((journey.files(), journey.known()), (vec![0, 1, 2], vec![0, 1, 2]));
    journey.commit_memories();

    // Merged: in the main branch from now on.
    journey.git("checkout -q main");
    journey.sync();
    journey.git("merge -q feature");
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 1, 2], 0));
    assert_eq!(journey.tombstones(), []);
}

#[test]
fn an_abandoned_branch_loses_nothing() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    journey.git("checkout -q -b feature");
    journey.desired.push(Desired { memory: memory(1), root: journey.root().to_owned() });
    journey.sync();
    // Committed and left before anybody looked.
    journey.commit_memories();
    journey.git("checkout -q main");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 1]));
    journey.git("branch -q -D feature");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1], vec![0, 1]));
    // A reset to before the memories were committed is no deletion.
    journey.commit_memories();
    journey.sync();
    journey.git("reset -q --hard HEAD~2");
    journey.sync();
    assert_eq!((journey.files(), journey.tombstones()), (vec![0, 1], vec![]));
}

#[test]
fn a_worktree_leaves_its_memories_behind_when_it_goes() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    journey.desired.push(Desired { memory: memory(1), root: linked.clone() });
    journey.desired.push(Desired { memory: memory(2), root: linked.clone() });
    journey.sync();
    assert_eq!((journey.files(), journey.files_in(&linked)), (vec![0], vec![0, 1, 2]));

    // One is committed on the worktree's branch, one is not.
    let side = Store::open(&journey.dirs, &Tree { root: linked.clone(), ..journey.tree.clone() });
    let committed = side.unwrap().find(&memory(1).id.to_string()).unwrap().path;
    journey.git_in(&linked, &format!("add {}", committed.display()));
    journey.git_in(&linked, "commit -q -m memory");
    journey.sync();
    journey.git(&format!("worktree remove --force {}", linked.display()));
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 2], vec![0, 1, 2]));
    journey.git("merge -q side");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1, 2], vec![0, 1, 2]));
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

#[test]
fn one_journey_through_everything_loses_nothing() {
    let mut journey = Journey::new(2);
    let add = |journey: &mut Journey, n: u8, root: &Path| {
        journey.desired.push(Desired { memory: memory(n), root: root.to_owned() });
        journey.sync();
    };
    let root = journey.root().to_owned();
    journey.sync();
    let linked = journey.home.path().canonicalize().unwrap().join("linked");
    journey.git(&format!("worktree add -q -b side {}", linked.display()));
    add(&mut journey, 2, &linked);
    journey.git(&format!("worktree remove --force {}", linked.display()));
    add(&mut journey, 3, &linked);
    journey.git("checkout -q -b other");
    add(&mut journey, 4, &root);
    journey.git("clean -fdq");
    add(&mut journey, 5, &root);
    journey.git("stash -q -u");
    add(&mut journey, 6, &root);
    journey.git("checkout -q main");
    journey.git("stash drop -q");
    journey.sync();
    assert_eq!(journey.files(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!((journey.tombstones(), drafts(&journey)), (vec![], 0));
}

#[test]
fn a_detached_head_and_a_stash_of_staged_files_lose_nothing() {
    let mut journey = Journey::new(2);
    journey.sync();
    journey.commit_memories();
    journey.sync();
    journey.git("checkout -q HEAD~1");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![], vec![0, 1]));
    journey.git("checkout -q main");
    journey.desired.push(Desired { memory: memory(2), root: journey.root().to_owned() });
    journey.sync();
    journey.git("add .throughline");
    journey.git("stash -q");
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![0, 1], vec![0, 1, 2]));
    journey.git("stash pop -q");
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 1, 2], 0));
    assert_eq!(journey.tombstones(), []);
}

#[test]
fn two_clones_share_what_was_learned_without_writing_it_twice() {
    let mut journey = Journey::new(1);
    journey.sync();
    journey.commit_memories();
    let clone = journey.home.path().canonicalize().unwrap().join("clone");
    journey.git(&format!("clone -q {} {}", journey.root().display(), clone.display()));
    journey.desired.push(Desired { memory: memory(1), root: clone.clone() });
    let sync = |journey: &Journey, roots: [&Path; 2]| {
        let trees = roots.map(|root| journey.git_state(root));
        reconcile(&journey.store(), &Redactor::default(), journey.desired.clone(), &trees, NOW)
            .unwrap()
    };
    let here = journey.root().to_owned();
    assert_eq!(sync(&journey, [&here, &clone]).written, 1);
    assert_eq!(sync(&journey, [&clone, &here]), Outcome { unchanged: 2, ..Outcome::default() });
    assert_eq!((journey.files(), journey.files_in(&clone)), (vec![0], vec![0, 1]));
    // The clone is removed: what only it had comes home.
    fs::remove_dir_all(&clone).unwrap();
    assert_eq!(journey.sync().written, 1);
    assert_eq!(journey.files(), [0, 1]);
}

/// A sequence of numbers that is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn random_journeys_lose_nothing_and_never_stand_in_the_way_of_git() {
    const JOURNEYS: u64 = 5;
    const STEPS: usize = 18;
    for seed in 1..=JOURNEYS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut journey = Journey::new(2);
        journey.git("branch feature");
        journey.sync();
        let mut story = Vec::new();
        for _ in 0..STEPS {
            let step = random_step(&mut journey, &mut dice);
            story.push(step);
        }
        journey.sync();
        let wanted: Vec<u8> = (0..journey.desired.len() as u8).collect();
        assert_eq!(journey.known(), wanted, "journey {seed}: {story:?}");
        assert_eq!(journey.tombstones(), [], "journey {seed}: {story:?}");
    }
}

fn random_step(journey: &mut Journey, dice: &mut Dice) -> String {
    let loose = journey.git("ls-files --others .throughline/memories").lines().count();
    let arguments = match dice.roll(12) {
        0..3 => {
            let n = journey.desired.len() as u8;
            journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
            journey.sync();
            return format!("learn {n}");
        }
        3 => {
            journey.sync();
            return "sync".to_owned();
        }
        4..6 => {
            // Nothing is there to be added after a stash.
            let _ = journey.try_git(journey.root(), "add -A .throughline");
            "commit -q -m memories"
        }
        6 => "checkout -q main",
        7..9 => "checkout -q feature",
        9 => "merge -q feature",
        10 => match dice.roll(3) {
            0 => "stash -q -u",
            1 => "stash pop -q",
            _ => "stash drop -q",
        },
        // One loose file that is cleaned away cannot be told from one that a person deleted.
        _ if loose == 1 => return "nothing".to_owned(),
        _ => "clean -fdq",
    };
    if let Err(error) = journey.try_git(journey.root(), arguments) {
        for block in ["would be overwritten", "already exists, no checkout", "local changes"] {
            assert!(!error.contains(block), "git {arguments}: {error}");
        }
        return format!("({arguments})");
    }
    arguments.to_owned()
}

#[test]
fn forgetting_is_remembered_and_restoring_gives_the_same_bytes() {
    let journey = Journey::new(3);
    journey.sync();
    let store = journey.store();
    let (path, bytes) = (journey.path(0), fs::read(journey.path(0)).unwrap());
    store.forget(&memory(0).id.short(), Forget::Archive, &Redactor::default(), NOW).unwrap();
    assert_eq!(journey.sync().tombstoned, 1);
    assert_eq!((journey.files(), store.archived().unwrap().memories.len()), (vec![1, 2], 1));
    assert_eq!(store.archived().unwrap().memories[0].memory.status, Status::Archived);
    let restored = store.restore(&memory(0).id.short(), &Redactor::default()).unwrap().unwrap();
    assert_eq!((&restored.path, fs::read(&path).unwrap()), (&path, bytes));
    assert!(store.archived().unwrap().memories.is_empty());
    assert_eq!(journey.sync().unchanged, 3);

    // Deleted for good: no copy of its text is left anywhere of ours.
    store.forget(&memory(1).id.short(), Forget::Delete, &Redactor::default(), NOW).unwrap();
    journey.sync();
    assert_eq!(journey.files(), [0, 2]);
    for (path, (bytes, _)) in journey.everything() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("Text of 1."), "{}", path.display());
    }
    assert!(store.find(&memory(1).id.short()).is_err());
}

#[test]
fn what_waits_for_review_is_known_but_not_in_the_tree() {
    let mut journey = Journey::new(3);
    for desired in &mut journey.desired {
        desired.memory.status = Status::Draft;
    }
    journey.sync();
    assert_eq!((journey.files(), journey.known()), (vec![], vec![0, 1, 2]));
    let store = journey.store();
    assert_eq!(store.drafts().unwrap().memories.len(), 3);
    let promoted = store.promote(&memory(0).id.short(), &Redactor::default()).unwrap();
    assert_eq!(promoted.memory.status, Status::Active);
    store.reject(&memory(1).id.short(), &Redactor::default(), NOW).unwrap();
    assert_eq!(journey.sync().unchanged, 2);
    assert_eq!((journey.files(), journey.known()), (vec![0], vec![0, 2]));
    assert_eq!(journey.tombstones(), [(1, Reason::Rejected)]);
    // A promoted memory is still ours to replace, and stays promoted.
    journey.desired[0].memory.body = "Mined again.".to_owned();
    assert_eq!(journey.sync().updated, 1);
    assert!(fs::read_to_string(journey.path(0)).unwrap().contains("Mined again."));
    // The person no longer wants reviews.
    for desired in &mut journey.desired {
        desired.memory.status = Status::Active;
    }
    journey.sync();
    assert_eq!((journey.files(), drafts(&journey)), (vec![0, 2], 0));
}

#[test]
fn a_private_project_writes_nothing_into_the_repository() {
    let journey = Journey::with_mode(2, Mode::Private);
    journey.sync();
    assert_eq!(journey.known(), [0, 1]);
    assert_eq!(journey.git("status --porcelain"), "");
    let path = journey.store().find(&memory(0).id.short()).unwrap().path;
    journey.git("checkout -q -b other");
    journey.git("clean -fdq");
    fs::remove_file(path).unwrap();
    journey.sync();
    assert_eq!((journey.known(), journey.tombstones()), (vec![1], vec![(0, Reason::Deleted)]));
}

#[test]
fn without_git_a_deleted_file_stays_deleted_and_a_lost_folder_comes_back() {
    let journey = Journey::new(3);
    fs::remove_dir_all(journey.root().join(".git")).unwrap();
    let sync = || {
        let trees = [GitState { root: journey.root().to_owned(), ..GitState::default() }];
        reconcile(&journey.store(), &Redactor::default(), journey.desired.clone(), &trees, NOW)
            .unwrap()
    };
    sync();
    journey.delete(1);
    assert_eq!((sync().tombstoned, journey.files()), (1, vec![0, 2]));
    fs::remove_dir_all(journey.root().join(".throughline")).unwrap();
    assert_eq!((sync().written, journey.files()), (2, vec![0, 2]));
}

#[test]
fn a_store_that_is_a_link_is_neither_read_nor_written() {
    let journey = Journey::new(1);
    let elsewhere = journey.home.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("memories")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, journey.root().join(".throughline")).unwrap();
    let store = journey.store();
    assert!(
        store
            .save(memory(5), &Redactor::default(), NOW)
            .unwrap_err()
            .to_string()
            .contains("symbolic link")
    );
    let error =
        reconcile(&store, &Redactor::default(), journey.desired.clone(), &journey.trees(), NOW)
            .unwrap_err();
    assert!(error.to_string().contains("symbolic link"));
    assert_eq!(store.list().unwrap().broken.len(), 1);
    assert_eq!(fs::read_dir(elsewhere.join("memories")).unwrap().count(), 0);
    // What lies there is no copy of a draft, and nothing to clean.
    let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let draft = Memory { body: token, status: Status::Draft, ..memory(6) };
    let text = MemoryFile::new(draft.clone()).unwrap().text().to_owned();
    fs::create_dir_all(store.home().drafts()).unwrap();
    for folder in [store.home().drafts(), elsewhere.join("memories")] {
        fs::write(folder.join("draft.md"), &text).unwrap();
    }
    assert_eq!(store.files().len(), 1);
    let cleaned = store.clean(&Redactor::default()).unwrap();
    assert_eq!((cleaned.files, cleaned.refused.len()), (1, 0), "{cleaned:?}");
    store.forget(&draft.id.to_string(), Forget::Delete, &Redactor::default(), NOW).unwrap();
    assert_eq!(fs::read_to_string(elsewhere.join("memories/draft.md")).unwrap(), text);
}

#[test]
fn a_folder_that_became_a_link_leads_nothing_out_of_the_store() {
    let journey = Journey::new(3);
    journey.sync();
    let memories = journey.root().join(".throughline/memories");
    let (sub, elsewhere) = (memories.join("sub"), journey.home.path().join("rules"));
    fs::create_dir(&sub).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    for n in 0..3 {
        fs::rename(journey.path(n), sub.join(format!("mine {n}.md"))).unwrap();
    }
    journey.sync();
    assert!(journey.path(0).starts_with(&sub));
    let store = journey.store();
    store.forget(&memory(0).id.short(), Forget::Archive, &Redactor::default(), NOW).unwrap();
    // What a pull can bring.
    fs::remove_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &sub).unwrap();

    let restored = store.restore(&memory(0).id.short(), &Redactor::default()).unwrap().unwrap();
    assert_eq!(restored.path.parent(), Some(memories.as_path()));
    assert_eq!(journey.sync().written, 2);
    assert_eq!(journey.files(), [0, 1, 2]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
