//! Environment of the journeys, with functions that observe its state.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{Tree, UserDirs};
use memory_store::ledger::{Ledger, Reason};
use memory_store::reconcile::reconcile;
use memory_store::reconcile::{Desired, GitSnapshot, GitState, Outcome, Replacing, SourceState};
use memory_store::redact::Redactor;
use memory_store::store::Store;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use testutils::SealedHome;

pub const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// A user's repository without other files, and a processor that learned some memories.
pub struct Journey {
    pub home: SealedHome,
    pub dirs: UserDirs,
    pub tree: Tree,
    pub desired: Vec<Desired>,
}

impl Journey {
    /// Returns a repository with one commit, and `count` memories that the processor will learn.
    pub fn new(count: u8) -> Self {
        Self::with_mode(count, Mode::Committed)
    }

    pub fn with_mode(count: u8, mode: Mode) -> Self {
        let home = SealedHome::new();
        let (dirs, root) = (home.dirs.clone(), home.path().join("work"));
        fs::create_dir(&root).unwrap();
        let observed = Observed { root: root.clone(), ..Observed::default() };
        let tree = identity::vouch(&dirs, &observed, Some(mode), [7; 16], NOW).unwrap();
        let desired = (0..count).map(|n| Desired { memory: memory(n), root: root.clone() });
        let journey = Self { home, dirs, tree, desired: desired.collect() };
        journey.git("init -q -b main");
        fs::write(root.join("code"), "1\n").unwrap();
        journey.git("add code");
        journey.git("commit -q -m first");
        journey
    }

    pub fn root(&self) -> &Path {
        &self.tree.root
    }

    pub fn store(&self) -> Store {
        Store::open(&self.dirs, &self.tree).unwrap()
    }

    pub fn git(&self, arguments: &str) -> String {
        self.git_in(self.root(), arguments)
    }

    pub fn git_in(&self, root: &Path, arguments: &str) -> String {
        let output = self.try_git(root, arguments);
        output.unwrap_or_else(|error| panic!("git {arguments}: {error}"))
    }

    pub fn try_git(&self, root: &Path, arguments: &str) -> Result<String, String> {
        let output = self
            .home
            .command("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "gc.auto=0"])
            .args(arguments.split(' '))
            .current_dir(root)
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Queries git as the processor does before a reconciliation.
    pub fn git_state(&self, root: &Path) -> GitState {
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
        let marks = GitSnapshot::take(Path::new(own), Path::new(shared));
        let heads = Ledger::open(&self.store().home).unwrap().heads();
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
            removed_by_tools: Vec::new(),
            removed_in_commits: removed,
            held,
            indexed: paths(ask("ls-files -z .throughline")),
            has_untracked: ask(
                "ls-files -z --others --exclude-standard -- . :(exclude).throughline",
            )
            .map(|files| !files.is_empty()),
            left_out: Vec::new(),
            marks,
        }
    }

    pub fn trees(&self) -> Vec<GitState> {
        let list = self.git("worktree list --porcelain");
        let roots = list.lines().filter_map(|line| line.strip_prefix("worktree "));
        let roots = roots.map(PathBuf::from).filter(|root| root.is_dir());
        roots.map(|root| self.git_state(&root)).collect()
    }

    pub fn reconcile_once(&self) -> Outcome {
        self.reconcile(&self.trees()).unwrap()
    }

    /// Reconciles with these states of the working trees.
    pub fn reconcile(&self, trees: &[GitState]) -> memory_store::Result<Outcome> {
        let desired = self.desired.clone();
        reconcile(
            &self.store(),
            &Redactor::default(),
            desired,
            trees,
            NOW,
            &|_| SourceState::Read,
            Replacing::Few,
        )
    }

    /// Reconciles twice, and checks that the second run changes nothing.
    pub fn sync(&self) -> Outcome {
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

    /// Returns all files of the user outside of git, with their bytes and times.
    pub fn everything(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
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

    /// Returns the numbers of the memories whose files are in a working tree.
    pub fn files_in(&self, root: &Path) -> Vec<u8> {
        let folder = root.join(".throughline/memories");
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let mut numbers: Vec<u8> =
            paths.map(|path| number(&fs::read_to_string(path).unwrap())).collect();
        numbers.sort_unstable();
        numbers
    }

    pub fn files(&self) -> Vec<u8> {
        self.files_in(self.root())
    }

    /// Returns the numbers of the memories that recall would find from this tree.
    pub fn known(&self) -> Vec<u8> {
        let listing = self.store().list().unwrap();
        assert!(listing.broken.is_empty(), "{:?}", listing.broken);
        let mut known: Vec<u8> =
            listing.memories.iter().map(|stored| number(&stored.memory.title)).collect();
        known.sort_unstable();
        known
    }

    pub fn path(&self, n: u8) -> PathBuf {
        let stored = self.store().list().unwrap().find(&memory(n).id.to_string()).unwrap();
        assert!(stored.path.starts_with(self.root()), "{}", stored.path.display());
        stored.path
    }

    pub fn delete(&self, n: u8) {
        fs::remove_file(self.path(n)).unwrap();
    }

    pub fn tombstones(&self) -> Vec<(u8, Reason)> {
        let tombstones = self.store().tombstones().unwrap();
        tombstones.iter().map(|tombstone| (number(&tombstone.title), tombstone.reason)).collect()
    }

    pub fn commit_memories(&self) {
        self.git("add .throughline");
        self.git("commit -q -m memories");
    }
}

pub fn memory(n: u8) -> Memory {
    let id = MemoryId::new(Timestamp(NOW.0 - 1_000_000 + i64::from(n)), [n; 10]);
    Memory::new(id, Kind::Fact, format!("Memory {n}"), format!("Text of {n}."), NOW)
}

pub fn number(text: &str) -> u8 {
    let at = text.find("Memory ").unwrap() + "Memory ".len();
    let digits: String = text[at..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

pub fn drafts(journey: &Journey) -> usize {
    fs::read_dir(&journey.store().home.drafts).map_or(0, Iterator::count)
}
