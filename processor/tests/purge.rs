//! Purging: purged data is removed from every place, and is not learned again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scripts::{Script, Sealed, eventful, now};
use memory_store::recall::{Recall, Search, Tier};
use memory_store::redact::Redactor;
use memory_store::store::{Forget, Store, Stored};
use memory_store::{Memory, MemoryId, Timestamp};
use processor::sync::{SyncOptions, sync};
use processor::upkeep::purge::{PurgeReport, PurgeTarget, PurgedMemory, preview, purge};
use serde_json::json;

fn purged(sealed: &Sealed, what: &PurgeTarget) -> PurgeReport {
    let report = purge(&sealed.options(), what).unwrap().unwrap();
    assert_eq!(report.left, Vec::<PathBuf>::new());
    assert!(report.scanned > 0);
    report
}

fn turns(sealed: &Sealed, text: &str) -> usize {
    let search = Search { text: text.into(), limit: 20, tier: Tier::Passages, ..Search::default() };
    let hits = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now()).hits;
    hits.iter().filter(|hit| hit.text.contains(text)).count()
}

/// Returns a file of the program that still contains the text; `None` if there is none.
fn anywhere(sealed: &Sealed, text: &str) -> Option<String> {
    for (path, bytes) in sealed.files(|path| path.starts_with(".claude")) {
        let bytes = if path.extension().is_some_and(|ending| ending == "gz") {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text)
                .unwrap();
            text
        } else {
            bytes
        };
        if memchr::memmem::find(&bytes, text.as_bytes()).is_some() {
            return Some(path.display().to_string());
        }
    }
    None
}

/// Writes a text that a session received. Returns the path.
fn given(sealed: &Sealed, session: &str, agent: Option<&str>, text: &str) -> PathBuf {
    let path = sealed.dirs.tree(&sealed.tree.root).session(session, agent);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_session_goes_with_its_copies_and_what_was_learned() {
    let sealed = Sealed::new();
    let original = eventful("aaaa", sealed.root(), 1);
    let mut fork = original.clone();
    fork.session = "ffff".into();
    fork.prompt("in the fork: always keep the changelog sorted");
    for script in [&original, &fork, &eventful("bbbb", sealed.root(), 2)] {
        sealed.write_script(script);
    }
    sealed.sync();
    assert!(anywhere(&sealed, "parser dropped its buffer").is_some());
    let given = [("aaaa", None), ("aaaa", Some("helper")), ("bbbb", None)]
        .map(|(session, agent)| given(&sealed, session, agent, "what it was told"));
    let report = purged(&sealed, &PurgeTarget::Session("aa".into()));
    assert_eq!(given.map(|text| text.exists()), [false, false, false]);
    assert_eq!(report.sessions, 1);
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
    assert_eq!(turns(&sealed, "parser"), 0);
    assert!(turns(&sealed, "changelog") > 0 && turns(&sealed, "cache") > 0);
    // The transcripts still exist, but are not read again.
    sealed.sync();
    fs::remove_dir_all(sealed.dirs.project(sealed.tree.project).mined).unwrap();
    sealed.sync();
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
}

#[test]
fn what_is_older_than_a_time_goes() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("aaaa", sealed.root(), 1));
    sealed.write_script(&eventful("bbbb", sealed.root(), 10));
    sealed.sync();
    let told = given(&sealed, "later", None, "the parser dropped its buffer before the flush");
    let time = Timestamp::parse("2026-11-05").unwrap();
    purged(&sealed, &PurgeTarget::Before(time));
    assert!(!told.exists());
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
    assert!(anywhere(&sealed, "cache dropped its buffer").is_some());
    fs::remove_dir_all(sealed.dirs.project(sealed.tree.project).mined).unwrap();
    sealed.sync();
    assert_eq!(anywhere(&sealed, "parser dropped its buffer"), None);
}

#[test]
fn a_project_goes_and_starts_anew() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("aaaa", sealed.root(), 1));
    sealed.sync();
    let state = sealed.dirs.tree(&sealed.tree.root);
    fs::create_dir_all(state.receipts("2026-11-20").parent().unwrap()).unwrap();
    let receipt =
        json!({"at": "2026-11-20T09:00:00Z", "session": "aaaa", "event": "UserPromptSubmit"});
    fs::write(state.receipts("2026-11-20"), format!("{receipt}\n")).unwrap();
    let report = purged(&sealed, &PurgeTarget::Project);
    assert_eq!((report.sessions, report.receipts), (1, 1));
    assert!(!state.receipts("2026-11-20").exists());
    assert_eq!(anywhere(&sealed, "parser"), None);
    let mut script = eventful("cccc", sealed.root(), 2);
    script = script.starting("2026-11-21T12:30:00Z");
    script.prompt("from now on: always use spaces");
    sealed.write_script(&script);
    assert!(sealed.sync().lines > 0);
    assert!(turns(&sealed, "spaces") > 0);
}

#[test]
fn an_unknown_or_ambiguous_session_is_refused() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("ab1", sealed.root(), 1));
    sealed.write_script(&eventful("ab2", sealed.root(), 2));
    sealed.sync();
    let error = |id: &str| {
        format!("{:#}", purge(&sealed.options(), &PurgeTarget::Session(id.into())).unwrap_err())
    };
    assert!(error("x").contains("no archived session begins with x"));
    assert!(error("ab").contains("2 sessions begin with ab"));
}

const GONE: &str = "0a0a0a0a-1111-4111-8111-111111111111";

fn store(sealed: &Sealed) -> Store {
    Store::open(&sealed.dirs, &sealed.tree).unwrap()
}

/// Returns a memory that was learned and whose title contains a text.
fn learned(sealed: &Sealed, title: &str) -> Stored {
    let memories = store(sealed).list().unwrap().memories;
    let titles: Vec<String> = memories.iter().map(|stored| stored.memory.title.clone()).collect();
    let found = memories.into_iter().find(|stored| stored.memory.title.contains(title));
    found.unwrap_or_else(|| panic!("{title}: {titles:#?}"))
}

/// Returns the beginning of the memory's quote, which is on one line of the file.
fn begins(stored: &Stored) -> String {
    stored.memory.source.quote.as_deref().unwrap().chars().take(40).collect()
}

fn ledger(sealed: &Sealed) -> String {
    fs::read_to_string(sealed.dirs.project(sealed.tree.project).ledger).unwrap()
}

fn named(memories: &[PurgedMemory], id: MemoryId) -> bool {
    memories.iter().any(|named| named.id == id)
}

#[test]
fn what_was_changed_by_hand_stays_without_its_evidence() {
    let sealed = Sealed::new();
    let mut gone = eventful(GONE, sealed.root(), 1);
    gone.prompt("From now on, write the names of the fields in full.");
    gone.say("Noted.");
    sealed.write_script(&gone);
    let mut stays = Script::new("bbbb", sealed.root()).starting("2026-11-11T09:00:00Z");
    stays.prompt("From now on, never use floats for money: keep amounts as integer cents.");
    stays.say("Amounts are integer cents from now on.");
    sealed.write_script(&stays);
    sealed.sync();
    let edited = learned(&sealed, "unwrap in the parser");
    let quote = begins(&edited);
    assert_eq!(edited.memory.source.session.as_deref(), Some(GONE));
    let id = edited.memory.id;
    let redactor = Redactor::default();
    let change = |memory: &mut Memory| {
        memory.title = "Errors go up".to_owned();
        memory.body = "rewritten by hand".to_owned();
    };
    store(&sealed).edit(&id.to_string(), &redactor, change).unwrap();
    // Another memory is changed in an editor, before any sync.
    let other = learned(&sealed, "run the tests of the parser");
    let text = fs::read_to_string(&other.path).unwrap();
    fs::write(&other.path, text.replacen("\n# ", "\n# Ours: ", 1)).unwrap();

    let what = PurgeTarget::Before(Timestamp::parse("2026-11-05").unwrap());
    let options = sealed.options();
    let told = preview(&options, &what).unwrap();
    assert!(told.learned > 0 && told.stripped == 2, "{told:?}");
    let report = purged(&sealed, &what);
    assert_eq!(report.forgotten.len(), told.learned);
    assert_eq!(report.stripped.len(), 2, "{report:#?}");
    assert!(named(&report.stripped, id) && named(&report.stripped, other.memory.id));
    for id in [id, other.memory.id] {
        let source = store(&sealed).list().unwrap().find(&id.to_string()).unwrap().memory.source;
        assert!(source.session.is_none() && source.quote.is_none() && source.turns.is_empty());
        assert!(source.extractor.is_some());
    }
    assert_eq!(
        store(&sealed).list().unwrap().find(&id.to_string()).unwrap().memory.body,
        "rewritten by hand"
    );
    assert_eq!(anywhere(&sealed, &quote), None);
    assert!(!ledger(&sealed).contains(GONE));
    // A remaining memory that repeats a text of the session is reported.
    let say: Vec<_> = report.say.iter().map(|said| said.id).collect();
    assert_eq!(say, [other.memory.id], "{report:#?}");

    let again = purged(&sealed, &what);
    assert_eq!((again.forgotten, again.stripped, again.say), (vec![], vec![], report.say));
    sealed.sync();
    assert_eq!(
        store(&sealed).list().unwrap().find(&id.to_string()).unwrap().memory.body,
        "rewritten by hand"
    );
    assert_eq!(anywhere(&sealed, &quote), None);
}

/// An earlier version left a quote in a changed memory. Another purge removes it.
#[test]
fn a_second_purge_removes_a_quote_that_returned() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful(GONE, sealed.root(), 1));
    sealed.sync();
    let edited = learned(&sealed, "unwrap in the parser");
    let quote = edited.memory.source.turns[0].clone();
    let what = PurgeTarget::Before(Timestamp::parse("2026-11-05").unwrap());
    store(&sealed)
        .edit(&edited.memory.id.to_string(), &Redactor::default(), |memory| {
            memory.body = "rewritten by hand".to_owned();
        })
        .unwrap();
    let before = fs::read(&edited.path).unwrap();
    purged(&sealed, &what);
    fs::write(&edited.path, before).unwrap();
    sealed.sync();
    assert!(anywhere(&sealed, &quote).is_some());
    let report = purged(&sealed, &what);
    assert!(named(&report.stripped, edited.memory.id), "{report:#?}");
    assert!(!fs::read_to_string(&edited.path).unwrap().contains(&quote));
    assert!(!ledger(&sealed).contains(&quote));
}

#[test]
fn what_was_put_aside_as_it_was_learned_goes_and_leaves_no_title() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful(GONE, sealed.root(), 1));
    sealed.sync();
    let aside = learned(&sealed, "unwrap in the parser").memory;
    let redactor = Redactor::default();
    store(&sealed).forget(&aside.id.to_string(), Forget::Archive, &redactor, now()).unwrap();
    assert!(ledger(&sealed).contains("unwrap"));
    let report = purged(&sealed, &PurgeTarget::Session(GONE.into()));
    assert!(named(&report.forgotten, aside.id), "{report:#?}");
    assert_eq!(store(&sealed).archived().unwrap().memories, []);
    assert!(!ledger(&sealed).contains("unwrap"), "{}", ledger(&sealed));
    // The memory stays forgotten.
    let tombstones = store(&sealed).tombstones().unwrap();
    assert!(tombstones.iter().any(|buried| buried.id == aside.id && buried.title.is_empty()));
}

#[test]
fn what_a_session_that_stays_shows_as_well_stays_with_that_alone() {
    let sealed = Sealed::new();
    let script = |session: &str, day: u32| {
        let mut script =
            Script::new(session, sealed.root()).starting(&format!("2026-11-{day:02}T09:00:00Z"));
        script.prompt("From now on, never use floats for money: keep amounts as integer cents.");
        script.edit(&format!("{}/src/price.rs", sealed.root()), "f64", "i64");
        script.bash("npm test", "12 passing");
        script.say("Done: amounts are integer cents now.");
        script
    };
    sealed.write_script(&script(GONE, 2));
    sealed.write_script(&script("bbbb", 3));
    sealed.sync();
    let wish = learned(&sealed, "floats for money").memory;
    let report = purged(&sealed, &PurgeTarget::Session(GONE.into()));
    assert!(named(&report.forgotten, wish.id));
    let Memory { id, source, body, .. } = learned(&sealed, "floats for money").memory;
    assert!(named(&report.learned, id), "{report:#?}");
    assert_eq!((source.session.as_deref(), source.turns.len()), (Some("bbbb"), 1), "{body}");
    let home = sealed.dirs.project(sealed.tree.project);
    let records = processor::session_records::read(&home);
    let sessions: Vec<&str> = records.iter().map(|record| record.session.as_str()).collect();
    assert_eq!(sessions, ["bbbb"]);
    sync(&SyncOptions { afresh: true, ..sealed.options() }).unwrap();
    learned(&sealed, "floats for money");
    // When no session contains the statement any more, no data about it remains.
    let report = purged(&sealed, &PurgeTarget::Session("bbbb".into()));
    assert_eq!(report.learned, []);
    assert_eq!(store(&sealed).list().unwrap().memories, []);
    assert_eq!(processor::session_records::read(&home), []);
}

/// The transcript still exists, and only the list of purged data prevents reading it.
#[test]
fn a_damaged_list_brings_nothing_back() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("aaaa", sealed.root(), 1));
    sealed.write_script(&eventful("bbbb", sealed.root(), 2));
    sealed.sync();
    purged(&sealed, &PurgeTarget::Session("aaaa".into()));
    let archive = sealed.dirs.project(sealed.tree.project).archive;
    let list = archive.join("purged.json");
    let sound = fs::read(&list).unwrap();
    let hash = memchr::memmem::find(&sound, b"sessions\":[\"").unwrap() + 12;
    let mut flipped = sound.clone();
    flipped[hash] ^= 1;
    for damaged in [Some(&flipped[..]), Some(b""), Some(&sound[..40]), None] {
        match damaged {
            Some(bytes) => fs::write(&list, bytes).unwrap(),
            None => fs::remove_file(&list).unwrap(),
        }
        sealed.sync();
        assert_eq!(turns(&sealed, "parser"), 0, "{damaged:?}");
    }
    // While the list of purged data is unreadable, no transcript is read.
    fs::write(&list, &flipped).unwrap();
    fs::write(archive.join("purged.copy.json"), b"{").unwrap();
    let error = sync(&sealed.options()).unwrap_err();
    assert!(format!("{error:#}").contains("purged.json"), "{error:#}");
    assert_eq!(turns(&sealed, "parser"), 0);
    fs::write(&list, &sound).unwrap();
    sealed.sync();
    assert!(turns(&sealed, "parser") == 0 && turns(&sealed, "cache") > 0);
    // The list of an older version has no checksum.
    let list_of = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    let mut old = list_of(&sound);
    old.as_object_mut().unwrap().remove("check").unwrap();
    fs::write(&list, old.to_string()).unwrap();
    sealed.sync();
    assert_eq!(turns(&sealed, "parser"), 0);
}

#[test]
fn a_purge_that_was_cut_short_is_gone_on_with_and_one_that_cannot_end_removes_nothing() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    sealed.sync();
    let config = sealed.dirs.config_file();
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "redact = 3\n").unwrap();
    let what = PurgeTarget::Session("s1".into());
    let turns_before = turns(&sealed, "parser");
    let refused = purge(&sealed.options(), &what).unwrap_err();
    assert!(format!("{refused:#}").contains("config.toml"), "{refused:#}");
    fs::remove_file(&config).unwrap();
    sealed.sync();
    assert_eq!(turns(&sealed, "parser"), turns_before);

    // The purge was interrupted after the archive was emptied and before the index was.
    let index = sealed.dirs.tree(&sealed.tree.root).index;
    let kept = sealed.base.join("kept");
    copy(&index, &kept);
    purged(&sealed, &what);
    fs::remove_dir_all(&index).unwrap();
    copy(&kept, &index);
    assert!(turns(&sealed, "parser") > 0);
    let report = purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
    assert_eq!(report.left, Vec::<PathBuf>::new());
    assert_eq!(turns(&sealed, "parser"), 0);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
