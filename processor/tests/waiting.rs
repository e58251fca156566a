//! Memories that wait: what rules found in Claude's words alone does not come into the repository by itself.

use std::collections::BTreeMap;
use std::fs;

use crate::scripts::{Script, Sealed, now};
use memory_store::identity::Mode;
use memory_store::memory::Status;
use memory_store::recall::{Recall, Search};
use memory_store::store::Store;

const COMMITTED: &str = "Write the cart on each change";
const LABELLED: &str = "the tide tables have no entry for leap days";
const ASKED: &str = "never use floats for money";

fn with_session(mode: Mode) -> Sealed {
    let sealed = Sealed::with_mode(mode);
    let mut script = Script::new("s1", sealed.root());
    script.prompt("From now on, never use floats for money, keep cents as integers.");
    script.say("Noted.");
    script.prompt("The cart forgets its items when a tab is closed.");
    script.edit(&format!("{}/src/cart.py", sealed.root()), "at_logout()", "at_change()");
    let message = format!(
        "git commit -m \"{COMMITTED}\" -m \"It was written at logout only, so that a closed tab lost everything.\""
    );
    script.bash(&message, "[main 1a2b3c4] Write the cart");
    script.say(&format!("Done.\n\nGotcha: {LABELLED}, so that `fetch` fails on 29 February."));
    sealed.write_script(&script);
    sealed
}

/// What is stored, each with whether it waits, and whether its file is in the folder.
fn stored(sealed: &Sealed) -> BTreeMap<String, (bool, bool)> {
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let listed = store.list().unwrap().memories;
    let each = listed.iter().map(|stored| {
        let waits = stored.memory.status == Status::Draft;
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

fn promote(sealed: &Sealed, value: &str) {
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    fs::write(sealed.dirs.config_file(), format!("promote = \"{value}\"\n")).unwrap();
    sealed.sync();
}

const WAITS: (bool, bool) = (true, false);
const IN_FOLDER: (bool, bool) = (false, true);

#[test]
fn what_claude_told_alone_waits_and_is_found() {
    let sealed = with_session(Mode::Committed);
    sealed.sync();
    assert_eq!(stands(&sealed, COMMITTED), WAITS);
    assert_eq!(stands(&sealed, LABELLED), IN_FOLDER, "Claude wrote it down as a rule");
    assert_eq!(stands(&sealed, ASKED), IN_FOLDER);
    let search = Search { text: "cart closed tab".into(), limit: 5, ..Search::default() };
    let hits = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now()).hits;
    assert!(hits.iter().any(|hit| hit.draft && hit.title == COMMITTED), "{hits:?}");
}

#[test]
fn what_is_in_the_folder_stays_there_whatever_the_settings() {
    let sealed = with_session(Mode::Committed);
    promote(&sealed, "review");
    assert_eq!(stands(&sealed, ASKED), WAITS);
    promote(&sealed, "sure");
    assert_eq!((stands(&sealed, ASKED), stands(&sealed, COMMITTED)), (IN_FOLDER, WAITS));
    promote(&sealed, "auto");
    assert_eq!(stands(&sealed, COMMITTED), IN_FOLDER);
    for value in ["sure", "review"] {
        promote(&sealed, value);
        assert_eq!(stands(&sealed, COMMITTED), IN_FOLDER, "{value}");
    }
}

#[test]
fn nothing_waits_in_a_private_project() {
    let sealed = with_session(Mode::Private);
    sealed.sync();
    assert_eq!(stands(&sealed, COMMITTED), IN_FOLDER);
}
