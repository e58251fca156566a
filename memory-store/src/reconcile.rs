//! Reconciliation: brings memory files to the desired state.
//!
//! The result is a function of the desired memories, the ledger, the disk and git. A second run therefore changes
//! nothing, and a run after an interrupted run ends in the same state as an uninterrupted run.
//!
//! Reconciliation has three phases: the ledger records the intended changes, files are changed, and the ledger records
//! the results. If a run is killed after the first phase, the ledger already lists the texts of new files as written by
//! the program. Recorded files that were never written do not count as missing.

mod decide;
mod git_snapshot;
mod missing;
mod ownership;
mod plan;
mod proposals;
mod survey;

use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::id::MemoryId;
use crate::ledger::{Aside, Ledger, LedgerLine};
use crate::memory::{HeldFor, Memory, Status};
use crate::redact::Redactor;
use crate::store::Store;
use crate::stored::text_hash;
use crate::succession;
use crate::time::Timestamp;

use decide::{MemoryDecision, WantedMemory};
pub use git_snapshot::GitSnapshot;
pub use ownership::Owner;
pub(crate) use ownership::OwnershipEvidence;
use plan::ReconcilePlan;
use survey::FileSurvey;

/// A memory derived from transcripts, with the working tree for its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The memory. With status `Held` it is pending, unless its file is already in the folder.
    pub memory: Memory,
    /// The root of the memory's working tree. If the tree is missing or contains no memories, the main tree is used.
    pub root: PathBuf,
}

/// State of one working tree in git. Callers that may run git fill in the fields. Without git, all fields except `root`
/// are empty. All paths are relative to `root`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitState {
    /// The root of the working tree, as in [`Desired::root`].
    pub root: PathBuf,
    /// The commit of HEAD.
    pub head: Option<String>,
    /// The branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// True if the commit that [`Ledger::heads`] recorded as HEAD of this tree is `head` or an ancestor of it (`git
    /// merge-base --is-ancestor`).
    pub forward: bool,
    /// Files below `.throughline` in `head` (`git ls-tree -r --name-only <head> .throughline`). HEAD itself is not
    /// read, because it may have changed since.
    pub committed: Vec<PathBuf>,
    /// Files below `.throughline` that were removed by commits between the HEAD in [`Ledger::heads`] and `head` (`git
    /// log --diff-filter=D --name-only --no-renames <old>..HEAD -- .throughline`).
    pub removed_in_commits: Vec<PathBuf>,
    /// Files below `.throughline` that git has elsewhere: in other branches, local or remote, and in stashes. A stash
    /// contains its untracked files in the commit `<stash>^3`.
    pub held: Vec<PathBuf>,
    /// The commit of `refs/stash`.
    pub stash: Option<String>,
    /// Files below `.throughline` in the index (`git ls-files .throughline`).
    pub indexed: Vec<PathBuf>,
    /// Whether the working tree has an untracked file that is not ignored, is outside of the memory folder and is older
    /// than the ledger. `git clean` would have removed such a file. `None` if not determined, because this query is
    /// slower than the others.
    pub has_untracked: Option<bool>,
    /// Files below `.throughline` in the index that a sparse checkout omits from the tree (skip-worktree, `git ls-files
    /// -v`).
    pub left_out: Vec<PathBuf>,
    /// Memory files that Claude's tool calls removed since the last survey, relative to the folder of memory files.
    pub removed_by_tools: Vec<PathBuf>,
    /// Snapshot of git's own files from before these queries.
    pub marks: GitSnapshot,
}

/// State of the transcripts that a memory was derived from, if the sessions no longer contain the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// The source was read again and does not contain the memory.
    Read,
    /// The source is lost, or differs from the version from which the memory was learned. The memory is kept.
    Lost,
    /// A person purged the source. The memory is removed as well, unless a person changed it.
    Purged,
}

/// Function that returns the state of a memory's source.
pub type SourceStates<'a> = &'a dyn Fn(&Memory) -> SourceState;

/// Permission to rewrite or remove files that git has and that no person owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacing {
    /// At most [`REPLACED_MAX`] files. If there are more, nothing changes and [`Outcome::postponed`] lists them.
    #[default]
    Few,
    /// All files, because a person has confirmed the list.
    All,
}

/// Maximum number of committed files that a sync may rewrite or remove without asking.
pub const REPLACED_MAX: usize = 3;

/// Result of [`reconcile`]; numbers count memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Memories written for the first time, or again after their files disappeared.
    pub written: usize,
    /// Memories written again because their file was missing as the only untracked file, as after `git clean`.
    pub returned: usize,
    /// Memories replaced by a newer text.
    pub updated: usize,
    /// Memories removed because no source contains them any more.
    pub removed: usize,
    /// Memories archived because rules of an earlier version wrote them and no person decided about them.
    pub put_aside: usize,
    /// Memories left unchanged.
    pub unchanged: usize,
    /// Memories not written because a person deleted them.
    pub tombstoned: usize,
    /// True if the reason for a missing file is unclear, or git changed something during the run. The next run must
    /// survey again, even if nothing seems to have changed.
    pub unsettled: bool,
    /// One error message for each memory that could not be written. The other memories were written.
    pub refused: Vec<String>,
    /// Files that git has and that would be rewritten or removed. If there are any, nothing was changed at all.
    pub postponed: Vec<PathBuf>,
}

/// Brings the memory files to the desired state. `desired` is the complete set of this project's derived memories.
/// `trees` are the project's existing working trees, the main tree first. A memory for any other tree is written to the
/// main tree. Text that people wrote is kept, redacted by `redactor`; the ledger keeps no text from the repository.
/// `source_state` is called for memories that are no longer desired.
pub fn reconcile(
    store: &Store,
    redactor: &Redactor,
    desired: Vec<Desired>,
    trees: &[GitState],
    now: Timestamp,
    source_state: SourceStates<'_>,
    replacing: Replacing,
) -> Result<Outcome> {
    run(store, redactor, desired, trees, now, (source_state, replacing, usize::MAX))
}

/// Runs [`reconcile`] and stops after this many steps, as if the process were interrupted.
fn run(
    store: &Store,
    redactor: &Redactor,
    desired: Vec<Desired>,
    trees: &[GitState],
    now: Timestamp,
    (source_state, replacing, steps): (SourceStates<'_>, Replacing, usize),
) -> Result<Outcome> {
    let _lock = store.lock()?;
    let mut ledger = Ledger::open(&store.home)?;
    store.sweep(trees.iter().map(|tree| tree.root.as_path()));
    let desired = without_new_suspects(desired, &ledger, redactor, store.root.is_none());
    let desired = with_successors_that_count(desired, &ledger, store.root.is_none());
    let (mut wanted, refused) = wanted(desired);
    // Memories derived in this run count as memories of this machine, even if the ledger does not list them.
    let mut texts = ledger.texts();
    wanted.values().flat_map(WantedMemory::texts).for_each(|text| texts.own(&text_hash(text)));
    let survey = FileSurvey::look(store, &ledger, &texts, trees)?;
    proposals::hold(&survey, &ledger, &mut wanted);
    let mut plan = plan(&survey, &ledger, redactor, &wanted, (now, source_state));
    plan.outcome.refused.splice(0..0, refused);
    let postponed = postponed(&plan, replacing, |path| survey.tracks(path));
    if !postponed.is_empty() {
        return Ok(Outcome { postponed, unsettled: true, ..Outcome::default() });
    }
    plan.intents.extend(survey.written().cloned().map(LedgerLine::Own));
    if steps == 0 {
        return Ok(plan.outcome);
    }
    ledger.note(std::mem::take(&mut plan.intents))?;
    plan.perform(steps - 1, |root| survey.wants_readme(root))?;
    if steps <= plan.changes() + 1 {
        return Ok(plan.outcome);
    }
    let seen = survey.seen_now().into_iter().filter(|seen| ledger.seen(&seen.root) != Some(seen));
    let mut results = std::mem::take(&mut plan.results);
    results.extend(seen.map(LedgerLine::Seen));
    ledger.note(results)?;
    ledger.compact_if_due()?;
    plan.outcome.unsettled |= survey.moves();
    Ok(plan.outcome)
}

/// Returns the files that git has and that a plan rewrites or removes, if a person should confirm them first. A
/// person's files are in no plan; this check limits the harm that any other error in the decisions could do.
fn postponed(
    plan: &ReconcilePlan,
    replacing: Replacing,
    is_tracked: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut tracked = plan.replaced();
    tracked.retain(|path| is_tracked(path));
    match replacing {
        Replacing::Few if tracked.len() > REPLACED_MAX => tracked,
        Replacing::Few | Replacing::All => Vec::new(),
    }
}

/// Redacts likely credentials in memories whose files are already in the folder, because a file that other people read
/// cannot become pending. All other memories with likely credentials become pending, with their text unchanged.
fn without_new_suspects(
    mut desired: Vec<Desired>,
    ledger: &Ledger,
    redactor: &Redactor,
    is_private: bool,
) -> Vec<Desired> {
    for Desired { memory, .. } in &mut desired {
        let entry = ledger.entry(memory.id);
        if memory.held_for == Some(HeldFor::Credential)
            && entry.is_some_and(|entry| entry.was_in_folder(is_private))
        {
            redactor.hide_suspects(memory);
            memory.release();
        }
    }
    desired
}

/// Removes links to successors that a person archived, because archived memories, like expired ones, supersede nothing.
/// In the folder, also removes links to a successor that is pending or whose file git has elsewhere. Otherwise a reader
/// of only the folder would have neither of the two texts.
fn with_successors_that_count(
    mut desired: Vec<Desired>,
    ledger: &Ledger,
    is_private: bool,
) -> Vec<Desired> {
    let forgotten: BTreeSet<MemoryId> =
        ledger.tombstones().into_iter().map(|tombstone| tombstone.id).collect();
    let waits = |memory: &Memory| {
        let known = ledger.entry(memory.id);
        let is_let_in = known.is_some_and(|it| it.was_in_folder(is_private));
        let is_elsewhere = known.is_some_and(|it| it.aside == Aside::Parked);
        memory.status == Status::Held && !is_let_in || is_elsewhere
    };
    let waiting: BTreeSet<MemoryId> =
        desired.iter().map(|it| &it.memory).filter(|it| waits(it)).map(|it| it.id).collect();
    let next = desired
        .iter()
        .filter_map(|desired| Some((desired.memory.id, desired.memory.superseded_by?)))
        .collect();
    let absent = forgotten.union(&waiting).copied().collect();
    for Desired { memory, .. } in &mut desired {
        let left_out = if waiting.contains(&memory.id) { &forgotten } else { &absent };
        memory.superseded_by = succession::current(&next, left_out, memory.id);
    }
    desired
}

/// Returns the desired memories with their file texts, and an error message for each memory that cannot be written.
fn wanted(desired: Vec<Desired>) -> (BTreeMap<MemoryId, WantedMemory>, Vec<String>) {
    let (mut wanted, mut refused) = (BTreeMap::new(), Vec::new());
    for desired in desired {
        match WantedMemory::new(desired) {
            Ok(one) => drop(wanted.insert(one.memory.id, one)),
            Err(error) => refused.push(error.to_string()),
        }
    }
    (wanted, refused)
}

fn plan(
    survey: &FileSurvey,
    ledger: &Ledger,
    redactor: &Redactor,
    wanted: &BTreeMap<MemoryId, WantedMemory>,
    (now, source_state): (Timestamp, SourceStates<'_>),
) -> ReconcilePlan {
    let mut plan = ReconcilePlan::default();
    let placed = placed(survey, ledger, wanted, source_state);
    let mut ids: BTreeSet<MemoryId> = ledger.entries().map(|entry| entry.id).collect();
    ids.extend(wanted.keys());
    for id in ids {
        let wanted = wanted.get(&id);
        if ledger.tombstone(id).is_some() {
            plan.outcome.tombstoned += usize::from(wanted.is_some());
            continue;
        }
        let mut decision = MemoryDecision {
            survey,
            plan: &mut plan,
            redactor,
            source_state,
            placed: &placed,
            now,
        };
        let done = match (ledger.entry(id), wanted) {
            (entry, Some(wanted)) => decision.want(entry, wanted),
            (Some(entry), None) => decision.unwanted(entry),
            (None, None) => Ok(()),
        };
        // An error for one file must not prevent writing the others.
        if let Err(error) = done {
            plan.outcome.refused.push(error.to_string());
        }
    }
    plan
}

/// Returns the memories whose files are in the folder of a tree after the plan, as pairs of tree and id.
fn placed(
    survey: &FileSurvey,
    ledger: &Ledger,
    wanted: &BTreeMap<MemoryId, WantedMemory>,
    source_state: SourceStates<'_>,
) -> BTreeSet<(PathBuf, MemoryId)> {
    let is_in_folder = |wanted: &WantedMemory| {
        let entry = ledger.entry(wanted.memory.id);
        wanted.memory.status != Status::Held
            || entry.is_some_and(|entry| entry.was_in_folder(survey.is_private()))
    };
    let home = |wanted: &WantedMemory| {
        let id = wanted.memory.id;
        (survey.root_for(id, ledger.entry(id), Some(wanted.root())), id)
    };
    let desired = wanted.values().filter(|wanted| is_in_folder(wanted)).map(home);
    let others = survey.own_files().filter(|(_, id, file)| {
        let entry = ledger.entry(*id);
        !wanted.contains_key(id)
            && entry.is_none_or(|entry| decide::stays_unfound(survey, source_state, entry, file))
    });
    let placed = desired.chain(others.map(|(root, id, _)| (root.to_owned(), id)));
    placed.filter(|(_, id)| ledger.tombstone(*id).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{self, Mode, Observed};
    use crate::kind::Kind;
    use crate::store::Forget;

    const NOW: Timestamp = Timestamp(1_790_000_000_000);

    struct LedgerHome {
        folder: tempfile::TempDir,
        store: Store,
        root: PathBuf,
    }

    fn home() -> LedgerHome {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let dirs = testutils::dirs_of(&path);
        let root = path.join("work");
        std::fs::create_dir(&root).unwrap();
        let observed = Observed { root: root.clone(), ..Observed::default() };
        let tree = identity::vouch(&dirs, &observed, Some(Mode::Committed), [7; 16], NOW).unwrap();
        LedgerHome { store: Store::open(&dirs, &tree).unwrap(), folder, root }
    }

    impl LedgerHome {
        fn run(&self, desired: &[Memory], steps: usize) -> Outcome {
            let desired = desired.iter().cloned();
            let desired = desired.map(|memory| Desired { memory, root: self.root.clone() });
            let trees = [GitState { root: self.root.clone(), ..GitState::default() }];
            let redactor = Redactor::default();
            let read = (&|_: &Memory| SourceState::Read) as &dyn Fn(&Memory) -> SourceState;
            let how = (read, Replacing::Few, steps);
            run(&self.store, &redactor, desired.collect(), &trees, NOW, how).unwrap()
        }

        fn successors(&self, desired: [Memory; 5]) -> Vec<Option<MemoryId>> {
            let desired = desired.map(|memory| Desired { memory, root: self.root.clone() });
            let ledger = Ledger::open(&self.store.home).unwrap();
            let counted = with_successors_that_count(desired.to_vec(), &ledger, false);
            counted.into_iter().map(|it| it.memory.superseded_by).collect()
        }

        fn files(&self, below: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
            let walk = walkdir::WalkDir::new(below).into_iter().map(|entry| entry.unwrap());
            walk.filter(|entry| entry.file_type().is_file())
                .map(|entry| {
                    let name = entry.path().strip_prefix(self.folder.path()).unwrap().to_owned();
                    (name, std::fs::read(entry.path()).unwrap())
                })
                .collect()
        }

        /// Returns the memory files, which people and recall read. The ledger is not included.
        fn memories(&self) -> BTreeMap<PathBuf, Vec<u8>> {
            let mut files = self.files(&self.root);
            files.extend(self.files(&self.store.home.folder));
            files.retain(|path, _| path.extension().is_some_and(|extension| extension == "md"));
            files
        }
    }

    fn memory(n: u8, title: &str, body: &str) -> Memory {
        let id = MemoryId::new(Timestamp(NOW.0 + i64::from(n)), [n; 10]);
        Memory::new(id, Kind::Fact, title, body, NOW)
    }

    #[test]
    fn more_than_a_few_tracked_files_are_shown_to_a_person_first() {
        let home = home();
        let folder = home.store.folder.clone();
        std::fs::create_dir_all(&folder).unwrap();
        let path = |n: usize| folder.join(format!("{n}.md"));
        (0..5).for_each(|n| std::fs::write(path(n), "a").unwrap());
        let plan = |changed: usize| {
            let mut plan = ReconcilePlan::default();
            plan.link(&home.store, &path(4), "linked");
            plan.write(&home.store, &folder.join("new.md"), "new");
            (1..changed).for_each(|n| plan.write(&home.store, &path(n), "b"));
            plan.remove(&home.store, &path(0));
            plan
        };
        let all = |_: &Path| true;
        assert_eq!(postponed(&plan(3), Replacing::Few, all), Vec::<PathBuf>::new());
        assert_eq!(postponed(&plan(4), Replacing::Few, all).len(), 4);
        assert_eq!(postponed(&plan(4), Replacing::All, all), Vec::<PathBuf>::new());
        assert_eq!(postponed(&plan(4), Replacing::Few, |_| false), Vec::<PathBuf>::new());
    }

    #[test]
    fn only_a_memory_that_stands_replaces_one_that_does() {
        let of = |n: u8, status: Status, by: Option<u8>| Memory {
            status,
            superseded_by: by.map(|by| memory(by, "", "").id),
            ..memory(n, "One of a chain", "a")
        };
        let (stands, waits) = (Status::Active, Status::Held);
        let chain = [
            of(1, stands, Some(2)),
            of(2, waits, Some(3)),
            of(3, stands, Some(4)),
            of(4, waits, Some(5)),
            of(5, waits, None),
        ];
        let by = |n: u8| Some(memory(n, "", "").id);
        assert_eq!(home().successors(chain), [by(3), by(3), None, by(5), None]);
    }

    #[test]
    fn a_run_after_a_kill_at_any_step_ends_where_an_undisturbed_one_does() {
        let first = [memory(1, "One", "a"), memory(2, "Two", "b"), memory(3, "Three", "c")];
        // Memories have new texts or new titles. One memory is removed, one is added and one is pending.
        let draft = Memory { status: Status::Held, ..memory(5, "Five", "e") };
        let second =
            [memory(1, "One", "A"), memory(2, "Zwei", "b"), memory(4, "Four", "d"), draft.clone()];
        let third = [memory(1, "Eins", "A"), memory(3, "Three", "c"), draft];

        let undisturbed = home();
        for desired in [&first[..], &second, &third] {
            undisturbed.run(desired, usize::MAX);
        }
        let wanted = undisturbed.memories();
        assert_eq!(wanted.len(), 4, "three memories and the README");

        const STEPS: usize = 10;
        for killed in 0..3 {
            for steps in 0..STEPS {
                let home = home();
                for (turn, desired) in [&first[..], &second, &third].into_iter().enumerate() {
                    if turn == killed {
                        home.run(desired, steps);
                        // The next run has the same desired memories, or newer ones.
                        if steps % 2 == 0 && turn < 2 {
                            continue;
                        }
                    }
                    home.run(desired, usize::MAX);
                }
                assert_eq!(home.memories(), wanted, "killed in run {killed} after {steps} steps");
                let ledger = Ledger::open(&home.store.home).unwrap();
                assert_eq!(ledger.tombstones(), []);
                let again = home.run(&third, usize::MAX);
                assert_eq!((again.unchanged, again.written + again.updated), (3, 0));
            }
        }
    }

    #[test]
    fn what_rules_wrote_is_put_aside_wherever_a_kill_comes() {
        let of_rules = |n: u8, title: &str| {
            let mut memory = memory(n, title, "a");
            memory.source.extractor = Some("rules/13 prose".to_owned());
            memory
        };
        let held = Memory { status: Status::Held, ..of_rules(2, "Two") };
        let edited = of_rules(3, "Three");
        for steps in 0..10 {
            let home = home();
            home.run(&[of_rules(1, "One"), held.clone(), edited.clone()], usize::MAX);
            let stored = home.store.list().unwrap().find(&edited.id.to_string()).unwrap();
            let text = std::fs::read_to_string(&stored.path).unwrap() + "\nBy hand.\n";
            std::fs::write(&stored.path, &text).unwrap();
            home.run(&[], steps);
            home.run(&[], usize::MAX);
            let there = home.store.files();
            assert_eq!(there.iter().map(|it| it.memory.id).collect::<Vec<_>>(), [edited.id]);
            assert_eq!(std::fs::read_to_string(&stored.path).unwrap(), text);
            let mut aside: Vec<MemoryId> =
                home.store.archived().unwrap().memories.iter().map(|it| it.memory.id).collect();
            aside.sort();
            assert_eq!(aside, [memory(1, "", "").id, held.id], "killed after {steps} steps");
            let again = home.run(&[], usize::MAX);
            assert_eq!((again.put_aside, again.removed), (0, 0));
            home.store.restore(&held.id.to_string(), &Redactor::default()).unwrap().unwrap();
        }
    }

    #[test]
    fn a_memory_that_is_put_aside_replaces_nothing_at_the_next_sync() {
        let home = home();
        let by = |newer: &Memory, older: Memory| Memory { superseded_by: Some(newer.id), ..older };
        let third = memory(3, "Three", "c");
        let second = by(&third, memory(2, "Two", "b"));
        let first = by(&second, memory(1, "One", "a"));
        let desired = [first.clone(), second.clone(), third.clone()];
        let successor = || {
            home.run(&desired, usize::MAX);
            let all = home.store.list().unwrap().memories;
            all.into_iter().find(|it| it.memory.id == first.id).unwrap().memory.superseded_by
        };
        assert_eq!(successor(), Some(second.id));
        for (gone, left) in [(&second, Some(third.id)), (&third, None)] {
            let id = gone.id.to_string();
            home.store.forget(&id, Forget::Archive, &Redactor::default(), NOW).unwrap();
            assert_eq!(successor(), left);
        }
        home.store.restore(&second.id.to_string(), &Redactor::default()).unwrap();
        assert_eq!(successor(), Some(second.id));
    }

    #[test]
    fn what_git_puts_back_after_the_folder_was_read_is_not_written_twice() {
        let home = home();
        let one = memory(1, "One", "a");
        let trees = [GitState { root: home.root.clone(), ..GitState::default() }];
        let ledger = Ledger::open(&home.store.home).unwrap();
        let survey = FileSurvey::look(&home.store, &ledger, &ledger.texts(), &trees).unwrap();
        home.run(std::slice::from_ref(&one), usize::MAX);
        let desired = vec![Desired { memory: one.clone(), root: home.root.clone() }];
        let (wanted, _) = wanted(desired);
        let read = &|_: &Memory| SourceState::Read;
        let plan = plan(&survey, &ledger, &Redactor::default(), &wanted, (NOW, read));
        assert_eq!((plan.changes(), plan.outcome.unsettled), (0, true));
        let again = home.run(&[one], usize::MAX);
        assert_eq!((again.unchanged, again.written), (1, 0));
    }

    #[test]
    fn the_ledger_stays_small_however_often_it_changes() {
        let home = home();
        for round in 0..SPARE_ROUNDS {
            home.run(&[memory(1, "One", &format!("round {round}"))], usize::MAX);
        }
        let ledger = Ledger::open(&home.store.home).unwrap();
        assert_eq!(ledger.entries().count(), 1);
        let lines = std::fs::read(&home.store.home.ledger).unwrap();
        let lines = lines.iter().filter(|&&byte| byte == b'\n').count();
        assert!(lines < 2 * SPARE_ROUNDS, "{lines} lines");
    }

    /// A repeated run records nothing more, and a rewrite of the ledger keeps the records.
    #[test]
    fn what_somebody_wrote_here_stays_known() {
        let home = home();
        let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
        home.run(&[memory(1, "One", "a")], usize::MAX);
        let folder = home.root.join(".throughline/memories");
        let path = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        let text =
            std::fs::read_to_string(&path).unwrap().replace("\na\n", &format!("\n{token}\n"));
        std::fs::write(&path, &text).unwrap();
        let of = text_hash(&text);
        for _ in 0..SPARE_ROUNDS {
            home.run(&[memory(1, "One", "a"), memory(2, "Two", "b")], usize::MAX);
            home.run(&[memory(1, "One", "a"), memory(2, "Two", "c")], usize::MAX);
        }
        let ledger = Ledger::open(&home.store.home).unwrap();
        let kept = text_hash(&ledger.entry(memory(1, "", "").id).unwrap().text);
        assert_ne!(kept, of);
        let texts = ledger.texts();
        assert!([&kept, &of].iter().all(|hash| texts.is_own(hash)), "{texts:?}");
        let lines = std::fs::read_to_string(&home.store.home.ledger).unwrap();
        assert_eq!(lines.matches(&format!("{{\"own\":\"{of}\"}}")).count(), 1);
    }

    #[test]
    fn what_was_pulled_moves_nothing_and_what_was_derived_stays_known() {
        let home = home();
        home.run(&[memory(1, "One", "a"), memory(2, "Two", "b")], usize::MAX);
        let mut files = home.store.list().unwrap().memories;
        let (one, two) = (files.remove(0), files.remove(0));
        let text = std::fs::read_to_string(&one.path).unwrap().replace("\na\n", "\nz\n");
        std::fs::write(&one.path, &text).unwrap();
        let open = || Ledger::open(&home.store.home).unwrap();
        open().pulled([text_hash(&text)]).unwrap();
        // The text of a memory that is no longer desired may still exist in another branch.
        home.run(&[memory(1, "One", "a")], usize::MAX);
        assert_eq!(std::fs::read_to_string(&one.path).unwrap(), text);
        let mut files = home.store.files();
        let pulled = files.remove(files.iter().position(|file| file.path == one.path).unwrap());
        let texts = open().texts();
        assert!(!texts.owns(&pulled));
        assert!(texts.owns(&one) && texts.owns(&two));
        // A replacement on the same branch counts, because it is a correction or a commit that contains one.
        assert_eq!(home.store.list().unwrap().memories[0].memory, pulled.memory);
        assert!(open().entry(one.memory.id).unwrap().wrote(&text.replace("\nz\n", "\na\n")));
        // The replacement still counts after a rewrite of the ledger.
        open().forget_history().unwrap();
        let texts = open().texts();
        assert!(texts.owns(&two) && texts.is_pulled(&pulled.text) && !texts.owns(&pulled));
    }

    #[test]
    fn another_form_of_the_same_memory_is_of_this_machine() {
        let home = home();
        home.run(&[memory(1, "One", "a")], usize::MAX);
        let one = home.store.list().unwrap().memories.remove(0);
        let text = std::fs::read_to_string(&one.path).unwrap();
        let kind = "kind: \"fact\" # by hand\n";
        std::fs::write(&one.path, text.replacen("kind: fact\n", kind, 1)).unwrap();
        let other = home.store.list().unwrap().memories.remove(0);
        assert!(other.text != one.text && other.memory == one.memory);
        assert!(Ledger::open(&home.store.home).unwrap().texts().owns(&other));
        std::fs::write(&one.path, text.replacen("kind: fact\n", "kind: gotcha\n", 1)).unwrap();
        let other = home.store.list().unwrap().memories.remove(0);
        assert!(!Ledger::open(&home.store.home).unwrap().texts().owns(&other));
    }

    /// Two versions of the program use one project. The earlier version must keep the records of the later version,
    /// unless a person removes text.
    #[test]
    fn what_a_later_version_noted_survives_a_rewrite() {
        let home = home();
        home.run(&[memory(1, "One", "a")], usize::MAX);
        let path = home.store.home.ledger.clone();
        let json = r#"{"linked":{"id":"01","to":"02"}}"#;
        let sum = crate::bytes::checksum(json.as_bytes());
        let foreign = format!("{sum:08x} {json}\n");
        let text = std::fs::read_to_string(&path).unwrap();
        // A torn line after the line of the later version causes a rewrite.
        std::fs::write(&path, format!("{text}{foreign}0000")).unwrap();
        home.run(&[memory(1, "One", "b")], usize::MAX);
        let ledger = Ledger::open(&home.store.home).unwrap();
        assert_eq!((ledger.damaged, ledger.entries().count()), (0, 1));
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&foreign));

        let mut ledger = ledger;
        ledger.forget_history().unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("linked"));
        assert_eq!(Ledger::open(&home.store.home).unwrap().entries().count(), 1);
    }

    #[test]
    fn so_do_its_fields_in_lines_of_ours() {
        let home = home();
        home.run(&[memory(1, "One", "a")], usize::MAX);
        let path = home.store.home.ledger.clone();
        Ledger::open(&home.store.home)
            .unwrap()
            .bury(MemoryId([9; 16]), "Nine", crate::ledger::Reason::Forgotten, None, Timestamp(0))
            .unwrap();
        // Each line has the form of a later version; a torn line at the end causes a rewrite.
        let text = std::fs::read_to_string(&path).unwrap();
        let later = text.lines().map(|line| {
            let json = format!(r#"{},"later":["kept"]}}}}"#, line[9..].strip_suffix("}}").unwrap());
            let sum = crate::bytes::checksum(json.as_bytes());
            format!("{sum:08x} {json}\n")
        });
        std::fs::write(&path, later.chain(["0000".to_owned()]).collect::<String>()).unwrap();
        home.run(&[memory(1, "One", "b")], usize::MAX);
        let text = std::fs::read_to_string(&path).unwrap();
        let kinds = ["entry", "tombstone", "seen"].map(|kind| format!("{{\"{kind}\":"));
        for kind in &kinds {
            let line = text.lines().rfind(|line| line.contains(kind.as_str())).unwrap();
            assert!(line.contains(r#""later":["kept"]"#), "{kind}: {text}");
        }
        // Records that this version cannot parse are removed when a person removes text.
        Ledger::open(&home.store.home).unwrap().forget_history().unwrap();
        assert!(!std::fs::read_to_string(&path).unwrap().contains("later"));
    }

    /// Number of rounds after which the ledger was rewritten at least once. Each round records an intent and a result.
    const SPARE_ROUNDS: usize = 200;
}
