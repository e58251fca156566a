//! A long session is stored, mined and indexed in parts. The result depends neither on how often the session was read
//! while it grew, nor on the moment of a kill.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::scripts::{Script, Sealed};
use memory_store::Timestamp;
use memory_store::index::Index;
use processor::collect::archive::{Archive, SessionHeader};
use processor::collect::whole_turn;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::transcript::parts;
use processor::upkeep::purge::{PurgeTarget, purge};
use proptest::prelude::*;
use serde_json::json;

/// Size of a part in bytes in these tests.
const PART_BYTES: u64 = 6_000;

/// Number of events in the long session.
const STORIES: u32 = 12;

/// Adds an event that is worth keeping.
fn story(script: &mut Script, number: u32) {
    let thing = ["ledger", "parser", "cache", "router"][number as usize % 4];
    let area = ["harbour", "quarry", "orchard", "foundry", "brewery"][number as usize % 5];
    let file = format!("{}/src/{area}/{thing}.rs", script.cwd);
    script.prompt(&format!(
        "The {thing} of the {area} loses entry {number} when it is closed. Please find out why."
    ));
    let command = format!("cargo test -p {area}-{thing} --locked");
    script.bash_fails(
        &command,
        &format!("error[E0308]: mismatched types in {area}::{thing}::close\nexpected `i64`, found `u{number}`"),
    );
    script.edit(&file, "self.total += amount", &format!("self.total += i64::from(amount{number})"));
    script.bash(&command, "test result: ok. 12 passed; 0 failed");
    let id = script.call("Read", json!({"file_path": file}));
    let text = format!("fn close_{number}() {{ /* {} */ }}", "close the books ".repeat(60));
    let read = json!({"filePath": file, "content": text, "numLines": 1});
    script.result(&id, &text, json!({"type": "text", "file": read}));
    script.say(&format!(
        "Fixed. The root cause: the {thing} of the {area} dropped buffer {number} before the flush, because \
         `close` returned early. We decided to convert with `i64::from` instead of casting, since a cast \
         would hide an overflow in the {area}."
    ));
    script.prompt(&format!("From now on always write the {thing} of the {area} with checked_add."));
    script.say("Noted.");
}

/// Returns the lines of a session with many events.
fn lines(sealed: &Sealed) -> Vec<String> {
    let mut script = Script::new("s1", sealed.root());
    (0..STORIES).for_each(|number| story(&mut script, number));
    script.text().lines().map(|line| format!("{line}\n")).collect()
}

fn sync_in_parts(sealed: &Sealed) -> SyncReport {
    let report = sync(&SyncOptions { part_bytes: PART_BYTES, ..sealed.options() }).unwrap();
    assert!(report.warnings.iter().all(|told| told.contains("was taken out of")), "{report:?}");
    report
}

fn archive(sealed: &Sealed) -> Archive {
    Archive::open(&sealed.dirs.project(sealed.tree.project))
}

/// Stored data for comparisons: the memory files, the archive, and the numbers and times of the indexed turns.
#[derive(Debug, PartialEq)]
struct Kept {
    memories: BTreeMap<String, String>,
    archive: BTreeMap<String, String>,
    turns: Vec<(u32, i64)>,
}

fn kept(sealed: &Sealed) -> Kept {
    let is_memory = |path: &Path| {
        path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md")
    };
    let memories = sealed.files(|path| !is_memory(path));
    // A pending file keeps its first name, so only the id at its end is compared.
    let name = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let waits = path.parent().is_some_and(|folder| folder.ends_with("drafts"));
        name.rsplit('-').next().filter(|_| waits).map_or(name.clone(), str::to_owned)
    };
    let memories = memories.into_iter();
    let memories =
        memories.map(|(path, bytes)| (name(&path), String::from_utf8(bytes).unwrap())).collect();
    let archive = archive(sealed);
    let names = archive.names().unwrap().into_iter();
    let archive = names.map(|name| {
        let mut file = archive.load(&name).unwrap().unwrap();
        file.header.sources.iter_mut().for_each(|source| source.head.clear());
        let text = serde_json::to_string(&(&file.header, &file.records)).unwrap();
        // The path of the home differs, so it is replaced.
        (name, text.replace(sealed.base.to_str().unwrap(), "~"))
    });
    Kept { memories, archive: archive.collect(), turns: indexed(sealed) }
}

fn indexed(sealed: &Sealed) -> Vec<(u32, i64)> {
    let folder = sealed.dirs.tree(&sealed.tree.root).index;
    let index = Index::open(&folder).unwrap().unwrap();
    let mut turns = Vec::new();
    for segment in index.passages().0 {
        for doc in (0..segment.docs()).filter(|&doc| !segment.is_dead(doc)) {
            let record = segment.record(&segment.entry(doc).unwrap()).unwrap();
            turns.push((record.turn, record.created.0));
        }
    }
    turns.sort_unstable();
    turns
}

/// Returns the result of one sync of the whole session.
fn at_once() -> Kept {
    let sealed = Sealed::new();
    sealed.write("s1.jsonl", lines(&sealed).concat().as_bytes());
    sync_in_parts(&sealed);
    kept(&sealed)
}

#[test]
fn a_long_session_is_kept_in_parts_and_nothing_of_it_is_missing() {
    let parted = at_once();
    let names: Vec<&String> = parted.archive.keys().collect();
    assert!(names.len() > 3 && names[0] == "s1" && names[1] == "s1~00001", "{names:?}");
    let whole = Sealed::new();
    whole.write("s1.jsonl", lines(&whole).concat().as_bytes());
    whole.sync();
    let whole = kept(&whole);
    assert_eq!(whole.archive.len(), 1);
    assert_eq!(whole.turns, parted.turns);
    assert!(parted.memories.len() >= whole.memories.len(), "{}", parted.memories.len());
}

#[test]
fn every_turn_of_a_session_in_parts_is_returned_whole() {
    let sealed = Sealed::new();
    sealed.write("s1.jsonl", lines(&sealed).concat().as_bytes());
    sync_in_parts(&sealed);
    let home = sealed.dirs.project(sealed.tree.project);
    let mut turns = indexed(&sealed);
    turns.dedup();
    assert_eq!(turns.len(), 2 * STORIES as usize);
    let told = turns.iter().map(|&(_, at)| whole_turn::text(&home, "s1", Timestamp(at)).unwrap());
    for (number, text) in told.enumerate() {
        let text = text.unwrap();
        if number % 2 == 0 {
            let parts = [
                format!("loses entry {}", number / 2),
                "--locked (failed)\nExit code 1\nerror[E0308]".to_owned(),
                "\nedited ".to_owned(),
                "--locked\n\nFixed.".to_owned(),
            ];
            let places: Vec<usize> = parts.iter().filter_map(|part| text.find(part)).collect();
            assert!(places.len() == parts.len() && places.is_sorted(), "{text}");
        } else {
            assert!(text.starts_with("From now on") && text.ends_with("Noted."), "{text}");
        }
    }
    assert_eq!(whole_turn::text(&home, "s1", Timestamp(1)).unwrap(), None);
    assert_eq!(whole_turn::text(&home, "s2", Timestamp(turns[0].1)).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]
    /// The session is read after any number of lines, and in one of these runs there is a kill between two files of the
    /// archive.
    #[test]
    fn a_session_that_grew_gives_what_it_gives_at_once(
        cuts in prop::collection::btree_set(1usize..120, 3..9),
        killed in 0usize..9,
    ) {
        let sealed = Sealed::new();
        let lines = lines(&sealed);
        let looks = cuts.into_iter().filter(|cut| *cut < lines.len()).chain([lines.len()]);
        for (look, end) in looks.enumerate() {
            sealed.write("s1.jsonl", lines[..end].concat().as_bytes());
            if look == killed {
                leave_only_parts(&sealed);
            }
            sync_in_parts(&sealed);
        }
        assert_same(&kept(&sealed), &at_once());
    }
}

/// Compares and reports only the differences.
fn assert_same(found: &Kept, expected: &Kept) {
    assert_eq!(found.turns, expected.turns);
    for (found, expected) in
        [(&found.memories, &expected.memories), (&found.archive, &expected.archive)]
    {
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (name, text) in expected {
            let same = found[name].bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            let beside =
                |text: &str| text[same.min(text.len())..].chars().take(200).collect::<String>();
            assert!(found[name] == *text, "{name}: {} for {}", beside(&found[name]), beside(text));
        }
    }
}

/// Simulates a kill: syncs, then restores all files except the closed parts.
fn leave_only_parts(sealed: &Sealed) {
    let before: BTreeMap<_, _> = sealed.files(|_| false).into_iter().collect();
    sync_in_parts(sealed);
    let is_part = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.strip_suffix(".jsonl.gz").is_some_and(|name| parts::of_name(name).1 > 0)
    };
    for (path, _) in sealed.files(is_part) {
        if !before.contains_key(&path) {
            fs::remove_file(sealed.base.join(&path)).unwrap();
        }
    }
    for (path, bytes) in before {
        fs::write(sealed.base.join(path), bytes).unwrap();
    }
}

fn task(script: &mut Script, id: &str, subject: &str) {
    let call = script.call("TaskCreate", json!({"subject": subject}));
    script.result(&call, "Task created", json!({"task": {"id": id, "subject": subject}}));
}

/// Returns the tasks that the parts received from earlier parts.
fn handed_on(sealed: &Sealed) -> String {
    let archive = archive(sealed);
    let entries = archive.entries().unwrap().into_iter();
    let tasks = entries.map(|entry| archive.header(&entry.name).unwrap().unwrap().growth.tasks);
    serde_json::to_string(&tasks.collect::<Vec<_>>()).unwrap()
}

#[test]
fn tasks_that_are_handed_on_lose_what_becomes_known_and_what_is_purged() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please look at how the operators log in.");
    task(&mut script, "1", "Show the panel of Brightotter7714");
    (0..STORIES).for_each(|number| story(&mut script, number));
    sealed.write_script(&script);
    sync_in_parts(&sealed);
    assert!(handed_on(&sealed).contains("Brightotter7714"));

    let mut second = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    second.prompt("Change the panel. Its password is Brightotter7714.");
    second.say("Done.");
    sealed.write_script(&second);
    sync_in_parts(&sealed);
    let tasks = handed_on(&sealed);
    assert!(!tasks.contains("Brightotter7714") && tasks.contains("Show the panel of"), "{tasks}");

    purge(&sealed.options(), &PurgeTarget::Session("s2".to_owned())).unwrap();
    assert!(handed_on(&sealed).contains("Show the panel of"), "{}", handed_on(&sealed));
    let later = archive(&sealed).load(&parts::name("s1", 2)).unwrap().unwrap().records;
    let since = later.iter().map(|record| record.at).min().unwrap();
    purge(&sealed.options(), &PurgeTarget::Before(since)).unwrap();
    assert!(!handed_on(&sealed).contains("Show the panel of"), "{}", handed_on(&sealed));
}

#[test]
fn a_failure_and_its_cure_in_two_parts_are_found() {
    let command = "cargo test -p harbour-crane --locked";
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please move the crane of the harbour to the new ledger.");
    script.say(&"The crane lifts what the ledger names. ".repeat(200));
    script.bash_fails(command, "error[E0277]: the trait `Lift` is not implemented for `Crane`");
    script.say("The crane does not build yet.");
    let failed = script.text();
    script.prompt("Describe why the crane of the harbour is broken, and mend it.");
    let file = format!("{}/src/crane.rs", script.cwd);
    script.edit(&file, "struct Crane;", "#[derive(Lift)]\nstruct Crane;");
    script.bash(command, "test result: ok. 12 passed; 0 failed");
    script.say(
        "Fixed. The root cause: the trait `Lift` is not implemented for `Crane` because the derive was lost.",
    );
    for number in 0..8 {
        story(&mut script, number);
    }
    let home = sealed.dirs.project(sealed.tree.project);
    let cures = || {
        let all =
            processor::session_records::cures(processor::session_records::read(&home)).into_iter();
        all.filter(|cure| cure.call.contains("harbour-crane")).collect::<Vec<_>>()
    };
    sealed.write("s1.jsonl", failed.as_bytes());
    sync_in_parts(&sealed);
    assert_eq!(cures(), []);
    sealed.write("s1.jsonl", script.text().as_bytes());
    sync_in_parts(&sealed);
    let parted = kept(&sealed);
    let [first, second] = [&parted.archive["s1~00001"], &parted.archive["s1~00002"]];
    assert!(first.contains("is not implemented") && !first.contains("derive(Lift)"));
    assert!(second.contains("derive(Lift)") && second.contains("\"after_failure\":true"));
    let [cure] = &cures()[..] else { panic!("{:#?}", cures()) };
    assert_eq!(cure.call, format!("`{command}`"));
    assert!(cure.error.starts_with("error[E0277]"), "{cure:?}");
}

#[test]
fn a_transcript_that_is_read_from_its_beginning_brings_nothing_twice() {
    let sealed = Sealed::new();
    let lines = lines(&sealed);
    let path = sealed.write("s1.jsonl", lines.concat().as_bytes());
    sync_in_parts(&sealed);
    let before = kept(&sealed);
    // Another file has the same name and another beginning.
    fs::remove_file(&path).unwrap();
    let head = format!("{}\n", json!({"type": "summary", "summary": "", "leafUuid": "x"}));
    sealed.write("s1.jsonl", format!("{head}{}", lines.concat()).as_bytes());
    sync_in_parts(&sealed);
    let after = kept(&sealed);
    assert_eq!(after.memories, before.memories);
    assert_eq!(after.turns, before.turns);
    assert_eq!(after.archive.len(), before.archive.len());
}

#[test]
fn a_part_that_is_lost_comes_back_from_the_transcript() {
    for damage in [false, true] {
        let sealed = Sealed::new();
        sealed.write("s1.jsonl", lines(&sealed).concat().as_bytes());
        sync_in_parts(&sealed);
        let before = kept(&sealed);
        let part = archive(&sealed).path("s1~00002");
        if damage {
            fs::write(&part, b"damaged").unwrap();
        } else {
            fs::remove_file(&part).unwrap();
        }
        for _ in 0..3 {
            let options = sealed.options();
            sync(&SyncOptions { part_bytes: PART_BYTES, afresh: damage, ..options }).unwrap();
        }
        let after = kept(&sealed);
        let names = |kept: &Kept| kept.memories.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&after), names(&before));
        assert_eq!(after.turns.len(), before.turns.len());
        let records = |kept: &Kept| {
            kept.archive.values().map(|text| text.matches("\"u\":").count()).sum::<usize>()
        };
        assert_eq!(records(&after), records(&before));
    }
}

#[test]
fn memories_of_a_part_that_is_lost_with_the_transcript_stay() {
    let sealed = Sealed::new();
    let path = sealed.write("s1.jsonl", lines(&sealed).concat().as_bytes());
    sync_in_parts(&sealed);
    let before = kept(&sealed);
    fs::remove_file(path).unwrap();
    fs::remove_file(archive(&sealed).path("s1~00001")).unwrap();
    let options = || SyncOptions { part_bytes: PART_BYTES, ..sealed.options() };
    let report = sync(&options()).unwrap();
    assert!(report.warnings.iter().any(|it| it.contains("s1~00001")), "{report:?}");
    sync_in_parts(&sealed);
    assert_eq!(kept(&sealed).memories, before.memories);
}

#[test]
fn what_goes_on_is_all_that_is_read_and_written_again() {
    let sealed = Sealed::new();
    let lines = lines(&sealed);
    let (last, first) = lines.split_last().unwrap();
    sealed.write("s1.jsonl", first.concat().as_bytes());
    sync_in_parts(&sealed);
    let archive = archive(&sealed);
    let closed =
        |entry: &processor::collect::archive::ArchiveEntry| parts::of_name(&entry.name).1 > 0;
    let before: Vec<_> = archive.entries().unwrap().into_iter().filter(closed).collect();
    // The content is damaged, but length and time are unchanged.
    for entry in &before {
        let bytes = vec![0; usize::try_from(entry.len).unwrap()];
        let modified = fs::metadata(&entry.path).unwrap().modified().unwrap();
        fs::write(&entry.path, bytes).unwrap();
        fs::File::options().write(true).open(&entry.path).unwrap().set_modified(modified).unwrap();
    }
    sealed.write("s1.jsonl", format!("{}{last}", first.concat()).as_bytes());
    let report = sync_in_parts(&sealed);
    assert_eq!((report.sessions_read, report.sessions_mined), (1, 1), "{report:?}");
    let after: Vec<_> = archive.entries().unwrap().into_iter().filter(closed).collect();
    assert_eq!(after, before);
    let header: SessionHeader = archive.header("s1").unwrap().unwrap();
    assert_eq!(header.parts as usize, before.len());
}
