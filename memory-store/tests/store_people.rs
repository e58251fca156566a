//! Tests of operations on a store by people and models, and on machines with a full disk or unusual files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memory_store::file::MemoryFile;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::{Tree, UserDirs};
use memory_store::memory::{PathRef, Scope, Status};
use memory_store::reconcile::reconcile;
use memory_store::reconcile::{Desired, GitState, Outcome, Replacing, SourceState};
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::store::{Change, Forget, Store, Stored};
use memory_store::trust::{self, Trust};
use memory_store::{Error, Kind, Memory, MemoryId, Timestamp};
use testutils::dirs_of;

const NOW: Timestamp = Timestamp(1_790_000_000_000);

struct Home {
    _folder: Option<tempfile::TempDir>,
    dirs: UserDirs,
    tree: Tree,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        Self { _folder: Some(folder), ..Self::at(&path) }
    }

    fn at(path: &Path) -> Self {
        let dirs = dirs_of(path);
        let root = path.join("work");
        fs::create_dir_all(&root).unwrap();
        let observed = Observed { root, ..Observed::default() };
        let tree = identity::vouch(&dirs, &observed, Some(Mode::Committed), [7; 16], NOW).unwrap();
        Self { _folder: None, dirs, tree }
    }

    fn store(&self) -> Store {
        Store::open(&self.dirs, &self.tree).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.tree.root.join(".throughline/memories")
    }
}

fn memory(n: u8, kind: Kind, title: &str, body: &str) -> Memory {
    Memory::new(MemoryId::new(NOW, [n; 10]), kind, title, body, NOW)
}

fn path(path: &str) -> PathRef {
    PathRef { path: path.to_owned(), seen: None }
}

#[test]
fn what_an_editor_left_is_taken_over_changed_and_known_and_nobody_elses_work_is_lost() {
    let home = Home::new();
    let store = home.store();
    let stored = store
        .save(memory(1, Kind::Fact, "Port", "It is 80."), &Redactor::default(), NOW)
        .unwrap()
        .stored;
    let (id, before) = (stored.memory.id.to_string(), fs::read(&stored.path).unwrap());
    let written = |says: &str| {
        let text = String::from_utf8(before.clone()).unwrap().replace("It is 80.", says);
        let other = memory(2, Kind::Fact, "", "").id.to_string();
        MemoryFile::parse(Path::new("copy.md"), text.replace(&id, &other).into_bytes()).unwrap()
    };
    let (redactor, secret) = (Redactor::default(), token());

    let file = written(&format!("It is 8080, {secret}."));
    let saved = store.rewrite(&id, &before, file, &redactor).unwrap().unwrap();
    assert_eq!((saved.change, saved.stored.memory.id), (Change::Updated, stored.memory.id));
    let text = fs::read_to_string(&stored.path).unwrap();
    let says = "It is 8080, [redacted:github-token].";
    assert!(text.contains(says) && text.contains(&id), "{text}");
    assert!(fs::read_to_string(&store.home.ledger).unwrap().contains(says));

    assert_eq!(store.rewrite(&id, &before, written("It is 9."), &redactor).unwrap(), None);
    assert_eq!(fs::read_to_string(&stored.path).unwrap(), text);
}

#[test]
fn saving_the_same_kind_and_title_again_updates() {
    let home = Home::new();
    let store = home.store();
    let mut first = memory(1, Kind::Convention, "Use tabs", "Everywhere.");
    first.tags = vec!["style".to_owned()];
    first.paths = vec![path("src/a.rs")];
    assert_eq!(
        store.save(first.clone(), &Redactor::default(), NOW).unwrap().change,
        Change::Created
    );

    let mut again = memory(2, Kind::Convention, "use  TABS", "In Makefiles.");
    again.tags = vec!["make".to_owned(), "style".to_owned()];
    again.paths = vec![PathRef { seen: Some("0123abc".to_owned()), ..path("src/a.rs") }, path("b")];
    let saved = store.save(again.clone(), &Redactor::default(), NOW).unwrap();
    assert_eq!(saved.change, Change::Updated);
    let memory_now = saved.stored.memory;
    assert_eq!((memory_now.id, memory_now.title.as_str()), (first.id, "Use tabs"));
    assert_eq!((memory_now.body.as_str(), memory_now.occurred), ("In Makefiles.", Some(NOW)));
    assert_eq!(memory_now.tags, ["style", "make"]);
    assert_eq!(memory_now.paths, again.paths);
    assert_eq!(store.save(again, &Redactor::default(), NOW).unwrap().change, Change::Unchanged);

    // A memory of another kind is separate.
    let other = memory(3, Kind::Preference, "Use tabs", "");
    assert_eq!(store.save(other, &Redactor::default(), NOW).unwrap().change, Change::Created);
    assert_eq!(store.list().unwrap().memories.len(), 2);
    // A memory for all projects is saved to the user's own store.
    let mut own = memory(4, Kind::Preference, "Answer briefly", "");
    own.scope = Scope::User;
    let saved = store.save(own, &Redactor::default(), NOW).unwrap();
    assert!(saved.stored.path.starts_with(home.dirs.user_memories()));
    assert_eq!(Store::user(&home.dirs).unwrap().list().unwrap().memories.len(), 1);
}

#[test]
fn writers_that_save_the_same_at_once_leave_one_memory() {
    let home = Home::new();
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (store, start) = (home.store(), &start);
            scope.spawn(move || {
                start.wait();
                let said = memory(number, Kind::Decision, "We deploy with Helm", "");
                store.save(said, &Redactor::default(), NOW).unwrap();
            });
        }
    });
    assert_eq!(home.store().list().unwrap().memories.len(), 1);
}

#[test]
fn a_replaced_memory_is_found_by_its_file_and_saved_again_as_another() {
    let home = Home::new();
    let (store, redactor) = (home.store(), Redactor::default());
    let said = |number, title: &str| memory(number, Kind::Decision, title, "");
    let save = |memory: Memory| store.save(memory, &redactor, NOW).unwrap().stored;
    let helm = save(said(1, "We deploy with Helm"));
    let mut newer = said(2, "We deploy with Kustomize");
    newer.supersedes = vec![helm.memory.id];
    let newer = save(newer);
    let supersede = |path: &Path, id| store.supersede(path, id, Some(newer.memory.id), &redactor);
    // The first path now contains another memory; the second path is outside of the store.
    assert!(matches!(supersede(&newer.path, helm.memory.id), Err(Error::NotFound { .. })));
    let elsewhere = home.tree.root.join("copy.md");
    fs::copy(&helm.path, &elsewhere).unwrap();
    assert!(matches!(supersede(&elsewhere, helm.memory.id), Err(Error::NotFound { .. })));
    let older = supersede(&helm.path, helm.memory.id).unwrap().stored.memory;
    assert_eq!(older.superseded_by, Some(newer.memory.id));

    let mut again = said(3, "We deploy with Helm");
    again.supersedes = vec![newer.memory.id];
    assert_eq!(save(again.clone()).memory.id, again.id);
    // If the statement is repeated, the same memory is updated.
    let mut more = said(4, "We deploy with Helm");
    more.supersedes = vec![helm.memory.id];
    let united = save(more).memory;
    assert_eq!((united.id, united.supersedes), (again.id, vec![newer.memory.id, helm.memory.id]));
}

#[test]
fn memories_are_found_by_id_whatever_their_file_is_called() {
    let home = Home::new();
    let store = home.store();
    let one = memory(1, Kind::Fact, "One", "");
    let two =
        Memory { id: MemoryId::new(Timestamp(5), [1; 10]), ..memory(2, Kind::Fact, "Two", "") };
    let saved = store.save(one.clone(), &Redactor::default(), NOW).unwrap();
    store.save(two.clone(), &Redactor::default(), NOW).unwrap();
    fs::rename(&saved.stored.path, home.folder().join("mein Text é.md")).unwrap();
    assert_eq!(store.list().unwrap().find(&one.id.to_string()).unwrap().memory.title, "One");
    assert_eq!(
        store.list().unwrap().find(&one.id.to_string().to_uppercase()).unwrap().memory.title,
        "One"
    );
    // Both ids have the same last characters.
    let found = |id: &str| match store.list().unwrap().find(id) {
        Err(Error::NotFound { found, .. }) => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(found(&one.id.short()), 2);
    assert_eq!((found("zzzzzz"), found(""), found("1")), (0, 0, 0));

    let edited = store.edit(&two.id.to_string(), &Redactor::default(), |memory| {
        memory.title = "Three".to_owned()
    });
    let edited = edited.unwrap();
    assert_eq!((edited.change, edited.stored.memory.id), (Change::Updated, two.id));
    assert_eq!(store.list().unwrap().find(&two.id.to_string()).unwrap().memory.title, "Three");
    let same =
        store.edit(&two.id.to_string(), &Redactor::default(), |memory| memory.id = one.id).unwrap();
    assert_eq!((same.change, same.stored.memory.id), (Change::Unchanged, two.id));
}

#[test]
fn broken_files_are_named_with_their_place_and_left_alone() {
    let home = Home::new();
    let store = home.store();
    let good =
        store.save(memory(1, Kind::Fact, "Good", ""), &Redactor::default(), NOW).unwrap().stored;
    let folder = home.folder();
    let text = fs::read_to_string(&good.path).unwrap();
    fs::write(folder.join("kind.md"), text.replace("kind: fact", "kind: fct")).unwrap();
    fs::write(folder.join("plain.md"), "# Just Markdown\n").unwrap();
    fs::write(folder.join("zopy.md"), &text).unwrap();
    fs::write(folder.join("README.md"), "about").unwrap();
    fs::write(folder.join("image.png"), [0, 1, 2]).unwrap();
    fs::write(folder.join("huge.md"), vec![b'x'; 300 << 10]).unwrap();
    fs::create_dir(folder.join("folder.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.md")).unwrap();
    let pipe = std::ffi::CString::new(folder.join("pipe.md").to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);

    let listing = store.list().unwrap();
    assert_eq!(listing.memories, [good]);
    let mut messages: Vec<String> = listing.broken.iter().map(ToString::to_string).collect();
    messages.sort();
    let expected = [
        "huge.md: longer than 256 KiB",
        "kind.md:3:7: `kind`: expected one of: decision",
        "link.md: ",
        "pipe.md: this is no regular file",
        "plain.md:1:1: expected `---`",
        "zopy.md: has the same id as",
    ];
    assert_eq!(messages.len(), expected.len(), "{messages:#?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    // None of the unreadable files prevents a reconciliation.
    let desired =
        Desired { memory: memory(9, Kind::Fact, "New", ""), root: home.tree.root.clone() };
    let trees = [GitState { root: home.tree.root.clone(), ..GitState::default() }];
    assert_eq!(
        reconcile(
            &store,
            &Redactor::default(),
            vec![desired],
            &trees,
            NOW,
            &|_| SourceState::Read,
            Replacing::Few
        )
        .unwrap()
        .written,
        1
    );
    assert_eq!(fs::read_to_string(folder.join("plain.md")).unwrap(), "# Just Markdown\n");
}

#[test]
fn a_file_that_stands_in_the_way_is_not_overwritten() {
    let home = Home::new();
    fs::create_dir_all(home.folder()).unwrap();
    let new = memory(1, Kind::Fact, "One", "");
    let taken = home.folder().join(memory_store::file::file_name(&new));
    fs::write(&taken, "a person's notes").unwrap();
    let saved = home.store().save(new.clone(), &Redactor::default(), NOW).unwrap();
    assert_eq!(saved.stored.path, home.folder().join(format!("{}.md", new.id)));
    assert_eq!(fs::read_to_string(taken).unwrap(), "a person's notes");
}

#[test]
fn forgetting_takes_copies_along_and_restoring_finds_a_free_place() {
    let home = Home::new();
    let store = home.store();
    let one = memory(1, Kind::Fact, "One", "Text.");
    let path = store.save(one.clone(), &Redactor::default(), NOW).unwrap().stored.path;
    fs::copy(&path, home.folder().join("copy.md")).unwrap();
    store.forget(&one.id.short(), Forget::Archive, &Redactor::default(), NOW).unwrap();
    assert!(store.list().unwrap().memories.is_empty());
    assert_eq!(store.tombstones().unwrap()[0].title, "One");
    assert!(store.forget(&one.id.short(), Forget::Archive, &Redactor::default(), NOW).is_err());

    fs::write(home.folder().join("copy.md"), "taken").unwrap();
    let restored = store.restore(&one.id.short(), &Redactor::default()).unwrap().unwrap();
    assert_eq!((restored.path.is_file(), restored.memory), (true, one.clone()));
    assert!(store.tombstones().unwrap().is_empty());
    assert!(store.restore(&one.id.short(), &Redactor::default()).is_err());
}

#[test]
fn forgetting_leaves_what_is_from_the_repository_under_the_same_id() {
    let home = Home::new();
    let (store, redactor) = (home.store(), Redactor::default());
    let one = memory(1, Kind::Fact, "One", "Mine.");
    let own = store.save(one.clone(), &redactor, NOW).unwrap().stored.path;
    let text = fs::read_to_string(&own).unwrap().replace("Mine.", "Theirs.");
    let theirs = home.folder().join("0 theirs.md");
    fs::write(&theirs, &text).unwrap();

    let forgotten = store.forget(&one.id.short(), Forget::Archive, &redactor, NOW).unwrap();
    assert_eq!((forgotten.path, forgotten.memory.body.as_str()), (own.clone(), "Mine."));
    assert!(!own.exists() && fs::read_to_string(&theirs).unwrap() == text);
    assert_eq!(store.archived().unwrap().memories[0].memory.body, "Mine.");
    // A permanent deletion also removes this file.
    store.forget(&one.id.short(), Forget::Delete, &redactor, NOW).unwrap();
    assert!(!theirs.exists());
}

/// On file systems that ignore case, the two names refer to one file.
#[test]
#[cfg(target_os = "linux")]
fn what_is_from_the_repository_takes_no_name_that_is_the_same_but_for_case() {
    let home = Home::new();
    let (store, redactor) = (home.store(), Redactor::default());
    let mine = memory(1, Kind::Fact, "One", "Mine.");
    let own = store.save(mine.clone(), &redactor, NOW).unwrap().stored.path;
    let name = own.file_name().unwrap().to_str().unwrap().to_uppercase();
    let theirs = own.with_file_name(name.replace(".MD", ".md"));
    let text = MemoryFile::new(memory(2, Kind::Fact, "Two", "Theirs.")).unwrap();
    fs::write(&theirs, text.text()).unwrap();
    let given = |store: &Store| {
        let listing = store.list().unwrap();
        let given = listing.memories.into_iter().map(|stored| stored.path);
        let broken = listing.broken.into_iter().map(|error| match error {
            Error::Refused { path, .. } | Error::Memory { path, .. } => path,
            error => panic!("{error}"),
        });
        (given.collect::<Vec<_>>(), broken.collect::<Vec<_>>())
    };
    assert_eq!(given(&store), (vec![own.clone()], vec![theirs.clone()]));
    assert_eq!(store.files().len(), 2);
    // After the release of the first file, the first file is selected.
    let files = store.files();
    let released = files.iter().find(|stored| stored.path == theirs).unwrap();
    let again = fs::read(&store.home.ledger).unwrap();
    trust::release(&store, &[released]).unwrap();
    assert_eq!(given(&store), (vec![theirs.clone()], vec![own.clone()]));
    fs::write(&store.home.ledger, again).unwrap();
    trust::note_pulled(&store, std::slice::from_ref(released)).unwrap();
    // The file that is not selected does not hide the user's file from the ledger.
    let text_now = fs::read_to_string(&own).unwrap().replace("Mine.", "By hand.");
    fs::write(&own, &text_now).unwrap();
    let desired = Desired { memory: mine, root: home.tree.root.clone() };
    let trees = [GitState { root: home.tree.root.clone(), ..GitState::default() }];
    let outcome = reconcile(
        &store,
        &redactor,
        vec![desired],
        &trees,
        NOW,
        &|_| SourceState::Read,
        Replacing::Few,
    )
    .unwrap();
    assert!(!outcome.unsettled && outcome.refused.is_empty(), "{outcome:?}");
    assert!(fs::read_to_string(&store.home.ledger).unwrap().contains("By hand."));
    assert_eq!(fs::read_to_string(&own).unwrap(), text_now);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), text.text());

    // A file that is not a memory does not occupy a name.
    fs::write(&theirs, [0xff]).unwrap();
    assert_eq!(given(&store).0, [own]);
}

/// Reconciles without an observed pull, and returns whether a file then counts as from the repository.
fn is_from_repository(home: &Home, path: &Path) -> bool {
    let store = home.store();
    let trees = [GitState { root: home.tree.root.clone(), ..GitState::default() }];
    reconcile(
        &store,
        &Redactor::default(),
        Vec::new(),
        &trees,
        NOW,
        &|_| SourceState::Read,
        Replacing::Few,
    )
    .unwrap();
    let files = store.files();
    let stored = files.iter().find(|stored| stored.path == path).unwrap();
    Trust::of(&store, &Settings::default()).unwrap().is_from_repository(stored)
}

fn loose(home: &Home, number: u8, body: &str) -> PathBuf {
    let path = home.tree.store().join(format!("memories/loose-{number}.md"));
    let file = MemoryFile::new(memory(number, Kind::Fact, "Loose", body)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, file.text()).unwrap();
    path
}

#[test]
fn what_is_cleaned_before_anybody_looked_does_not_become_the_users_own() {
    let home = Home::new();
    let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let path = loose(&home, 1, &format!("It is {token}."));
    assert_eq!(home.store().clean(&Redactor::default(), None).unwrap().memories, 1);
    assert!(!fs::read_to_string(&path).unwrap().contains(&token));
    assert!(is_from_repository(&home, &path));
    // A file that was not redacted counts as written on this machine.
    let other = Home::new();
    let path = loose(&other, 1, "It is painted.");
    assert!(!is_from_repository(&other, &path));
}

#[test]
fn nothing_unknown_counts_as_written_here_once_what_was_pulled_may_be_forgotten() {
    const TEXTS_MAX: usize = 50_000;
    let home = Home::new();
    let store = home.store();
    let path = loose(&home, 1, "It is painted.");
    let files = store.files();
    // Each text is recorded by two hashes: of the text and of its meaning.
    let pulled = |number: usize| {
        let memory = Memory { title: format!("Another {number}"), ..files[0].memory.clone() };
        Stored { text: format!("{number:032x}"), memory, ..files[0].clone() }
    };
    let pulled: Vec<Stored> = (0..TEXTS_MAX / 2).map(pulled).collect();
    trust::note_pulled(&store, &pulled).unwrap();
    assert!(is_from_repository(&home, &path));
}

#[test]
fn many_writers_at_once_make_one_memory() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let store = home.store();
            scope.spawn(move || {
                let mut same = memory(n, Kind::Fact, "Same", &format!("Text {n}"));
                same.tags = vec![format!("tag-{n}")];
                store.save(same, &Redactor::default(), NOW).unwrap();
                store
                    .save(
                        memory(100 + n, Kind::Fact, &format!("Own {n}"), ""),
                        &Redactor::default(),
                        NOW,
                    )
                    .unwrap();
            });
        }
    });
    let memories = home.store().list().unwrap().memories;
    assert_eq!(memories.len(), 9);
    let same = memories.iter().find(|stored| stored.memory.title == "Same").unwrap();
    assert_eq!(same.memory.tags.len(), 8);
    assert_eq!(fs::read_dir(home.folder()).unwrap().count(), 9, "no temporary file is left");
}

#[test]
fn private_files_are_private_and_committed_ones_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let home = Home::new();
    let store = home.store();
    let stored =
        store.save(memory(1, Kind::Fact, "One", ""), &Redactor::default(), NOW).unwrap().stored;
    let plain = home.tree.root.join("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(mode(&stored.path), mode(&plain));
    let own = Store::user(&home.dirs).unwrap();
    let own = own.save(memory(2, Kind::Fact, "Two", ""), &Redactor::default(), NOW).unwrap().stored;
    assert_eq!((mode(&own.path), mode(own.path.parent().unwrap())), (0o600, 0o700));
    assert_eq!((mode(&store.home.ledger), mode(&store.home.folder)), (0o600, 0o700));
    assert_eq!(mode(&home.dirs.by_path(&home.tree.root)), 0o600);
}

fn all_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let walk = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap());
    let files = walk.filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap())).collect()
}

/// Name of the environment variable with which a test runs itself as a process with a full disk.
const FULL: &str = "STORE_PEOPLE_FULL_DISK";

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    if let Some(home) = std::env::var_os(FULL) {
        return on_a_full_disk(Path::new(&home));
    }
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path());
    home.store().save(memory(1, Kind::Fact, "One", "Text."), &Redactor::default(), NOW).unwrap();
    fs::create_dir_all(&home.store().home.drafts).unwrap();
    let before = all_files(folder.path());
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_people::a_full_disk_is_named_and_loses_nothing"])
        .env(FULL, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(all_files(folder.path()), before);
    // After space is available again, all operations succeed.
    let saved =
        home.store().save(memory(2, Kind::Fact, "Two", ""), &Redactor::default(), NOW).unwrap();
    assert_eq!(saved.change, Change::Created);
}

/// Runs in a separate process in which no file may grow, so that writes fail as on a full disk.
fn on_a_full_disk(path: &Path) {
    let home = Home::at(path);
    let store = home.store();
    let id = MemoryId::new(NOW, [1; 10]).to_string();
    // SAFETY: both calls only change settings of this process.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &none), 0);
    }
    let failures = [
        store.save(memory(2, Kind::Fact, "Two", ""), &Redactor::default(), NOW).map(drop),
        store.edit(&id, &Redactor::default(), |memory| memory.body = "Other.".to_owned()).map(drop),
        store.forget(&id, Forget::Archive, &Redactor::default(), NOW).map(drop),
        store.forget(&id, Forget::Delete, &Redactor::default(), NOW).map(drop),
        reconcile(
            &store,
            &Redactor::default(),
            vec![Desired {
                memory: memory(3, Kind::Fact, "Three", ""),
                root: home.tree.root.clone(),
            }],
            &[],
            NOW,
            &|_| SourceState::Read,
            Replacing::Few,
        )
        .map(drop),
        identity::vouch(
            &home.dirs,
            &Observed { root: path.join("w"), ..Observed::default() },
            None,
            [8; 16],
            NOW,
        )
        .map(drop),
    ];
    for (step, failure) in failures.into_iter().enumerate() {
        let Err(Error::Io { path: named, source }) = failure else {
            panic!("step {step} succeeded")
        };
        assert!(named.starts_with(path), "{}", named.display());
        assert!(source.to_string().contains("too large"), "{source}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = Home::new();
    fs::write(home.tree.root.join(".throughline"), "a file").unwrap();
    let error = home
        .store()
        .save(memory(1, Kind::Fact, "One", ""), &Redactor::default(), NOW)
        .unwrap_err()
        .to_string();
    assert!(error.contains(".throughline"), "{error}");
    assert_eq!(fs::read_to_string(home.tree.root.join(".throughline")).unwrap(), "a file");
}

#[test]
fn a_thousand_memories_are_written_and_listed() {
    let home = Home::new();
    let desired = |text: &str| -> Vec<Desired> {
        let numbers = 0..1_000u16;
        numbers
            .map(|n| {
                let [high, low] = n.to_be_bytes();
                let id = MemoryId::new(NOW, [0, 0, 0, 0, 0, 0, 0, 0, high, low]);
                let title = format!("Memory number {n}");
                let mut memory = Memory::new(id, Kind::Fact, title, text, NOW);
                memory.source.quote = Some("quoted evidence ".repeat(8));
                Desired { memory, root: home.tree.root.clone() }
            })
            .collect()
    };
    let trees = [GitState { root: home.tree.root.clone(), ..GitState::default() }];
    let store = home.store();
    let sync = |text: &str| {
        reconcile(
            &store,
            &Redactor::default(),
            desired(text),
            &trees,
            NOW,
            &|_| SourceState::Read,
            Replacing::Few,
        )
        .unwrap()
    };
    let (first, second, third) = (sync("One."), sync("One."), sync("Two."));
    assert_eq!((first.written, second.unchanged, third.updated), (1_000, 1_000, 1_000));
    assert_eq!(store.list().unwrap().memories.len(), 1_000);
}

#[test]
fn what_a_person_wrote_beside_a_memory_loses_its_secrets_wherever_it_is_written() {
    let token = token();
    let redactor = Redactor::default();
    let home = Home::new();
    let store = home.store();
    let spoil = |path: &Path| {
        let text = fs::read_to_string(path).unwrap().replace("[redacted:github-token]", &token);
        let lines = format!("# by {token}\nwiki: {token}\nkind:");
        let text = if text.contains("wiki") { text } else { text.replace("kind:", &lines) };
        fs::write(path, text).unwrap();
    };
    let is_clean = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let hidden = "[redacted:github-token]";
        let lines = format!("# by {hidden}\nwiki: \"{hidden}\"\nkind:");
        assert!(text.contains(&lines) && !text.contains(&token), "{text}");
        let ledger = fs::read_to_string(&store.home.ledger).unwrap();
        assert!(!ledger.contains(&token), "{ledger}");
    };
    let one = memory(1, Kind::Fact, "One", "Text.");
    let (id, path) = (one.id.short(), store.save(one.clone(), &redactor, NOW).unwrap().stored.path);

    spoil(&path);
    let saved = store.edit(&id, &redactor, |memory| memory.body = "Other.".to_owned()).unwrap();
    assert_eq!(saved.hidden, 2);
    is_clean(&path);

    // The memory is saved again, after its text was released on this machine.
    spoil(&path);
    trust::release(&store, &[&store.files()[0]]).unwrap();
    assert_eq!(store.save(one, &redactor, NOW).unwrap().hidden, 2);
    is_clean(&path);

    // The memory is archived and restored.
    spoil(&path);
    store.forget(&id, Forget::Archive, &redactor, NOW).unwrap();
    let archived = store.archived().unwrap().memories.remove(0).path;
    is_clean(&archived);
    spoil(&archived);
    is_clean(&store.restore(&id, &redactor).unwrap().unwrap().path);

    // A reconciliation reads the file; then the file is lost and written again. Before that, it is the person's file
    // and stays unchanged.
    let trees = |stash: Option<&str>| {
        [GitState {
            root: home.tree.root.clone(),
            stash: stash.map(str::to_owned),
            ..GitState::default()
        }]
    };
    let two = memory(2, Kind::Fact, "Two", "Derived.");
    let sync = |two: &Memory, stash| {
        let desired = Desired { memory: two.clone(), root: home.tree.root.clone() };
        reconcile(
            &store,
            &redactor,
            vec![desired],
            &trees(stash),
            NOW,
            &|_| SourceState::Read,
            Replacing::Few,
        )
        .unwrap()
    };
    assert_eq!(sync(&two, None).written, 1);
    let derived = home.folder().join(memory_store::file::file_name(&two));
    spoil(&derived);
    let seen = sync(&two, None);
    assert_eq!(seen.unchanged, 2);
    assert!(!fs::read_to_string(&store.home.ledger).unwrap().contains(&token));
    assert!(fs::read_to_string(&derived).unwrap().contains(&token));
    fs::remove_file(&derived).unwrap();
    sync(&two, Some("a stash"));
    is_clean(&derived);
}

fn token() -> String {
    format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB")
}

/// Adds a secret as an unknown key. When the secret is redacted, the file is no longer a valid memory.
fn with_a_secret_key(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replacen("kind:", &format!("{}: a\nkind:", token()), 1)).unwrap();
}

impl Home {
    fn path(&self, memory: &Memory) -> PathBuf {
        self.folder().join(memory_store::file::file_name(memory))
    }

    /// Reconciles with this stash in git. git has the files in `held` elsewhere.
    fn sync(&self, desired: &[&Memory], stash: Option<&str>, held: &[&Path]) -> Outcome {
        let root = &self.tree.root;
        let desired = desired.iter().copied().cloned();
        let desired = desired.map(|memory| Desired { memory, root: root.clone() });
        let held = held.iter().map(|path| path.strip_prefix(root).unwrap().to_owned());
        let git = GitState {
            root: root.clone(),
            stash: stash.map(str::to_owned),
            held: held.collect(),
            ..GitState::default()
        };
        let redactor = Redactor::default();
        reconcile(
            &self.store(),
            &redactor,
            desired.collect(),
            &[git],
            NOW,
            &|_| SourceState::Read,
            Replacing::Few,
        )
        .unwrap()
    }
}

/// Checks that one memory was refused, and that the message does not contain the secret.
fn is_refused(outcome: &Outcome) {
    let [refused] = &*outcome.refused else { panic!("{outcome:?}") };
    assert!(refused.contains("secret") && !refused.contains(&token()), "{refused}");
}

#[test]
fn what_is_no_memory_without_its_secret_is_named_and_the_others_are_written() {
    let home = Home::new();
    let [odd, next, last] =
        [1, 2, 3].map(|n| memory(n, Kind::Fact, &format!("Number {n}"), "Derived."));
    home.sync(&[&odd], None, &[]);
    with_a_secret_key(&home.path(&odd));
    home.sync(&[&odd], None, &[]);
    fs::remove_file(home.path(&odd)).unwrap();
    // The memory's file is in a stash. It is refused both while transcripts contain the memory and afterwards.
    let outcome = home.sync(&[&odd, &next], Some("a stash"), &[]);
    is_refused(&outcome);
    assert!(outcome.written == 1 && home.path(&next).exists(), "{outcome:?}");
    let outcome = home.sync(&[&next, &last], Some("another"), &[]);
    is_refused(&outcome);
    assert!(outcome.written == 1 && home.path(&last).exists(), "{outcome:?}");
    // The refusal does not remove the memory from the ledger.
    is_refused(&home.sync(&[&next, &last], Some("a third"), &[]));
}

#[test]
fn nor_does_one_that_returns_from_aside_stop_the_others() {
    for is_wanted in [true, false] {
        let home = Home::new();
        let (odd, next) =
            (memory(1, Kind::Fact, "One", "Derived."), memory(2, Kind::Fact, "Two", ""));
        home.sync(&[&odd], None, &[]);
        fs::remove_file(home.path(&odd)).unwrap();
        home.sync(&[&odd], Some("a stash"), &[&home.path(&odd)]);
        let aside = home.store().list().unwrap().find(&odd.id.to_string()).unwrap().path;
        assert!(aside.starts_with(&home.store().home.drafts));
        with_a_secret_key(&aside);
        let desired: &[&Memory] = if is_wanted { &[&odd, &next] } else { &[&next] };
        let outcome = home.sync(desired, None, &[]);
        is_refused(&outcome);
        assert!(outcome.written == 1 && home.path(&next).exists(), "{outcome:?}");
        assert!(aside.exists() && !home.path(&odd).exists());
    }
}

#[test]
fn a_successor_is_noted_and_nothing_else_changes_in_a_persons_file() {
    let home = Home::new();
    let mut odd = memory(1, Kind::Fact, "One", "Derived.");
    let newer = memory(9, Kind::Fact, "Nine", "Newer.");
    home.sync(&[&odd], None, &[]);
    with_a_secret_key(&home.path(&odd));
    let before = fs::read_to_string(home.path(&odd)).unwrap();
    odd.superseded_by = Some(newer.id);
    // A successor without a file in this folder is not written to the file.
    home.sync(&[&odd], None, &[]);
    assert_eq!(fs::read_to_string(home.path(&odd)).unwrap(), before);
    let outcome = home.sync(&[&odd, &newer], None, &[]);
    assert_eq!((outcome.updated, outcome.refused.len()), (1, 0));
    let line = format!("superseded_by: {}\n", newer.id);
    let after = fs::read_to_string(home.path(&odd)).unwrap();
    assert_eq!(after.replacen(&line, "", 1), before);
    let ledger = fs::read_to_string(&home.store().home.ledger).unwrap();
    assert!(!ledger.contains(&token()), "{ledger}");
    // After the successor was archived, the file has its earlier content.
    let id = newer.id.to_string();
    home.store().forget(&id, Forget::Archive, &Redactor::default(), NOW).unwrap();
    home.sync(&[&odd, &newer], None, &[]);
    assert_eq!(fs::read_to_string(home.path(&odd)).unwrap(), before);
}

#[test]
fn a_private_copy_goes_when_its_memory_is_in_the_tree_whatever_secret_it_holds() {
    let home = Home::new();
    let draft = Memory { status: Status::Held, ..memory(1, Kind::Fact, "One", "Derived.") };
    home.sync(&[&draft], None, &[]);
    let aside = home.store().list().unwrap().find(&draft.id.to_string()).unwrap().path;
    let text = fs::read_to_string(&aside).unwrap().replace("Derived.", &token());
    fs::write(&aside, text).unwrap();
    home.sync(&[&draft], None, &[]);
    fs::create_dir_all(home.folder()).unwrap();
    fs::copy(&aside, home.path(&draft)).unwrap();
    home.sync(&[&draft], None, &[]);
    assert!(home.path(&draft).exists() && !aside.exists());
}
