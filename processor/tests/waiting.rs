//! Pending memories: wishes found by rules do not enter the repository without a review.

use std::collections::BTreeMap;
use std::fs;

use crate::scripts::{Script, Sealed, git, now};
use memory_store::identity::{self, Mode, Observed};
use memory_store::memory::Status;
use memory_store::recall::{Recall, Search};
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::store::{Forget, Store, Stored};
use processor::upkeep::purge::{PurgeTarget, purge};

const WISHED: &str = "From now on, write the cart on each change, not at logout";
const ASKED: &str = "never use floats for money";

fn with_session(mode: Mode) -> Sealed {
    let sealed = Sealed::with_mode(mode);
    let mut script = Script::new("s1", sealed.root());
    script.prompt("From now on, never use floats for money, keep cents as integers.");
    script.say("Noted.");
    script.prompt(&format!("{WISHED}."));
    script.edit(&format!("{}/src/cart.py", sealed.root()), "at_logout()", "at_change()");
    script.say("Done.\n\nGotcha: the tide tables have no entry for leap days.");
    sealed.write_script(&script);
    sealed
}

/// Returns all stored memories by title: whether each is pending, and whether its file is in the folder.
fn stored(sealed: &Sealed) -> BTreeMap<String, (bool, bool)> {
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let listed = store.list().unwrap().memories;
    let each = listed.iter().map(|stored| {
        let waits = stored.memory.status == Status::Held;
        let text = format!("{}\n{}", stored.memory.title, stored.memory.body).to_lowercase();
        (text, (waits, stored.path.starts_with(&store.folder)))
    });
    each.collect()
}

fn stands(sealed: &Sealed, part: &str) -> (bool, bool) {
    let all = stored(sealed);
    let found = all.iter().find(|(text, _)| text.contains(&part.to_lowercase()));
    *found.unwrap_or_else(|| panic!("{part}: {all:#?}")).1
}

/// Returns the memory of one of the wishes.
fn stored_wish(store: &Store) -> Stored {
    let mut listed = store.list().unwrap().memories.into_iter();
    listed.find(|stored| stored.memory.title == WISHED).unwrap()
}

/// Sets whether every new memory becomes pending, and syncs.
fn review(sealed: &Sealed, value: bool) {
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    fs::write(sealed.dirs.config_file(), format!("review = {value}\n")).unwrap();
    sealed.sync();
}

/// Syncs and accepts all pending memories, as a person does in a review.
fn accept_all(sealed: &Sealed) {
    sealed.sync();
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    for held in store.drafts().unwrap().memories {
        store.promote(&held.memory.id.to_string(), &Redactor::default()).unwrap();
    }
}

const WAITS: (bool, bool) = (true, false);
const IN_FOLDER: (bool, bool) = (false, true);

#[test]
fn wishes_wait_are_found_and_are_all_that_rules_write() {
    let sealed = with_session(Mode::Committed);
    sealed.sync();
    assert_eq!(stored(&sealed).len(), 2);
    assert_eq!((stands(&sealed, WISHED), stands(&sealed, ASKED)), (WAITS, WAITS));
    let search = Search { text: "cart closed tab".into(), limit: 5, ..Search::default() };
    let hits = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now()).hits;
    assert!(hits.iter().any(|hit| hit.draft && hit.title == WISHED), "{hits:?}");
}

#[test]
fn what_is_in_the_folder_stays_there_whatever_the_settings() {
    let sealed = with_session(Mode::Committed);
    review(&sealed, true);
    assert_eq!(stands(&sealed, ASKED), WAITS);
    review(&sealed, false);
    assert_eq!((stands(&sealed, ASKED), stands(&sealed, WISHED)), (WAITS, WAITS));
    accept_all(&sealed);
    assert_eq!(stands(&sealed, WISHED), IN_FOLDER);
    for value in [false, true] {
        review(&sealed, value);
        assert_eq!(stands(&sealed, WISHED), IN_FOLDER, "{value}");
    }
}

#[test]
fn wishes_wait_in_a_private_project_too() {
    let sealed = with_session(Mode::Private);
    sealed.sync();
    assert_eq!(stands(&sealed, WISHED), WAITS);
}

/// Returns a repository in which all memories were accepted and committed on the branch `topic`.
fn with_all_committed() -> Sealed {
    let sealed = with_session(Mode::Committed);
    git(&sealed.tree.root, &["init", "-q", "-b", "main"]);
    git(&sealed.tree.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&sealed.tree.root, &["switch", "-q", "-c", "topic"]);
    accept_all(&sealed);
    git(&sealed.tree.root, &["add", "-A"]);
    git(&sealed.tree.root, &["commit", "-q", "-m", "memories"]);
    sealed
}

/// Syncs with a new session as a reason to write. The checked state must not depend on new sessions.
fn sync_again(sealed: &Sealed, number: u32) {
    let mut script = Script::new(&format!("s{number}"), sealed.root());
    script.prompt(&format!("From now on, always check table {number} of the tides twice."));
    script.say("Noted.");
    sealed.write_script(&script);
    sealed.sync();
}

/// Returns git's status for the file of the committed wish.
fn change_of_committed(sealed: &Sealed) -> String {
    let changes = git(&sealed.tree.root, &["status", "--short", "--untracked-files=all"]);
    changes.lines().filter(|line| line.contains("write-the-cart")).collect()
}

#[test]
fn what_git_took_away_comes_back_as_it_was() {
    let sealed = with_all_committed();
    git(&sealed.tree.root, &["switch", "-q", "main"]);
    sync_again(&sealed, 2);
    sync_again(&sealed, 3);
    git(&sealed.tree.root, &["switch", "-q", "topic"]);
    sync_again(&sealed, 4);
    assert_eq!(stands(&sealed, WISHED), IN_FOLDER);
    assert_eq!(change_of_committed(&sealed), "");
}

#[test]
fn what_git_took_away_for_good_is_written_as_it_was() {
    let sealed = with_all_committed();
    git(&sealed.tree.root, &["switch", "-q", "main"]);
    sync_again(&sealed, 2);
    git(&sealed.tree.root, &["branch", "-qD", "topic"]);
    sync_again(&sealed, 3);
    assert_eq!(stands(&sealed, WISHED), IN_FOLDER);
}

#[test]
fn a_stash_and_a_lost_ledger_change_nothing_of_what_was_let_in() {
    let sealed = with_all_committed();
    let home = sealed.dirs.project(sealed.tree.project);
    fs::remove_file(&home.ledger).unwrap();
    sync_again(&sealed, 2);
    assert_eq!(stands(&sealed, WISHED), IN_FOLDER);
    assert_eq!(change_of_committed(&sealed), "");
    git(&sealed.tree.root, &["rm", "-rq", "--cached", ".throughline"]);
    git(&sealed.tree.root, &["commit", "-q", "-m", "not here"]);
    git(&sealed.tree.root, &["stash", "-q", "-u"]);
    sync_again(&sealed, 3);
    sync_again(&sealed, 4);
    git(&sealed.tree.root, &["stash", "pop", "-q"]);
    sync_again(&sealed, 5);
    assert_eq!(stands(&sealed, WISHED), IN_FOLDER);
}

#[test]
fn a_memory_that_is_put_aside_comes_back_to_where_it_was() {
    for (accepts, place) in [(false, WAITS), (true, IN_FOLDER)] {
        let sealed = with_session(Mode::Committed);
        sealed.sync();
        if accepts {
            accept_all(&sealed);
        }
        let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
        let id = stored_wish(&store).memory.id.to_string();
        let redactor = Redactor::new(&RedactOptions::default());
        store.forget(&id, Forget::Archive, &redactor, now()).unwrap();
        sealed.sync();
        store.restore(&id, &redactor).unwrap().unwrap();
        assert_eq!(stands(&sealed, WISHED), place, "{accepts}");
        sync_again(&sealed, 2);
        assert_eq!(stands(&sealed, WISHED), place, "{accepts}");
    }
}

#[test]
fn a_private_project_that_is_committed_gives_away_nothing_by_itself() {
    let sealed = with_session(Mode::Private);
    sealed.sync();
    let observed = Observed { root: sealed.tree.root.clone(), ..Observed::default() };
    identity::vouch(&sealed.dirs, &observed, Some(Mode::Committed), [9; 16], now()).unwrap();
    sync_again(&sealed, 2);
    assert_eq!((stands(&sealed, ASKED), stands(&sealed, WISHED)), (WAITS, WAITS));
}

#[test]
fn what_a_person_changed_and_took_in_stays_theirs() {
    let sealed = with_session(Mode::Committed);
    sealed.sync();
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let redactor = Redactor::new(&RedactOptions::default());
    let waiting = stored_wish(&store);
    let text = fs::read_to_string(&waiting.path).unwrap() + "\nIt was lost when people left.\n";
    fs::write(&waiting.path, text).unwrap();
    store.promote(&waiting.memory.id.to_string(), &redactor).unwrap();
    sync_again(&sealed, 2);
    let stored = stored_wish(&store);
    assert!(stored.memory.body.contains("when people left"), "{stored:?}");
    assert!(stored.path.starts_with(&store.folder));
}

#[test]
fn what_was_taken_in_is_purged_with_its_session() {
    let sealed = with_session(Mode::Committed);
    sealed.sync();
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let id = stored_wish(&store).memory.id.to_string();
    let path = store.promote(&id, &Redactor::new(&RedactOptions::default())).unwrap().path;
    assert!(path.starts_with(&store.folder) && path.exists());
    purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
    assert!(!path.exists());
}
