//! Auditing: secrets in stored data are found in every place. They are removed from all files that the program may
//! change, and reported for other files. The values are invented, and are composed at run time so that no scanner
//! reports this file as a leak.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::scripts::{Sealed, eventful, now};
use memory_store::recall::{Recall, Search, Tier};
use memory_store::redact::Redactor;
use memory_store::store::{Forget, Store};
use memory_store::{Kind, Memory, MemoryId};
use processor::collect::expired::{Expired, Remains};
use processor::lock::{Busy, Lock};
use processor::sync::{SyncOptions, sync};
use processor::upkeep::audit::{AuditReport, audit};
use processor::upkeep::purge::{PurgeTarget, purge};

fn token() -> String {
    format!("{}_{}", "ghp", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB")
}

fn audited(sealed: &Sealed, fix: bool) -> AuditReport {
    audit(&sealed.options(), fix).unwrap().unwrap()
}

/// Returns the files that contain the token, also in compressed form.
fn holding(sealed: &Sealed) -> BTreeSet<PathBuf> {
    let files = sealed.files(|path| path.starts_with(".claude"));
    let holds = |(path, bytes): (PathBuf, Vec<u8>)| {
        let mut text = Vec::new();
        if path.extension().is_some_and(|end| end == "gz") {
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        } else {
            text = bytes;
        }
        memchr::memmem::find(&text, token().as_bytes()).map(|_| sealed.base.join(path))
    };
    files.into_iter().filter_map(holds).collect()
}

/// Returns the files in which an audit found a secret.
fn found(report: &AuditReport) -> BTreeSet<PathBuf> {
    report.found.iter().map(|found| found.path.clone()).collect()
}

fn store(sealed: &Sealed) -> Store {
    Store::open(&sealed.dirs, &sealed.tree).unwrap()
}

/// Writes a text with the token into a file, as a person or an earlier version might have done.
fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn saved(sealed: &Sealed, number: u8, title: &str) -> PathBuf {
    let memory = Memory::new(MemoryId([number; 16]), Kind::Fact, title, "It is here.", now());
    store(sealed).save(memory, &Redactor::default(), now()).unwrap().stored.path
}

/// Writes the token into a memory file, as a person might do in an editor.
fn spoil(path: &Path) {
    let text = fs::read_to_string(path).unwrap().replace("here", &token());
    fs::write(path, text).unwrap();
}

#[test]
fn all_that_is_kept_is_cleaned_wherever_it_lies() {
    let sealed = Sealed::new();
    let home = sealed.dirs.project(sealed.tree.project);
    let state = sealed.dirs.tree(&sealed.tree.root);
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    let live = saved(&sealed, 1, "Live one");
    saved(&sealed, 2, "One put aside");
    sealed.sync();
    store(&sealed)
        .forget(&MemoryId([2; 16]).to_string(), Forget::Archive, &Redactor::default(), now())
        .unwrap();
    spoil(&live);
    spoil(&home.archived_memories.join(format!("{}.md", MemoryId([2; 16]))));
    // A session that an earlier version archived with weaker rules.
    let archive = processor::collect::archive::Archive::open(&home);
    let mut file = archive.load("s1").unwrap().unwrap();
    let json = serde_json::to_string(&file.records).unwrap();
    assert!(json.contains("before the flush"));
    file.records =
        serde_json::from_str(&json.replace("before the flush", &format!("beside {}", token())))
            .unwrap();
    archive.store(&file).unwrap();
    sealed.sync();
    let mut draft = processor::mining::drafts(&home, "s1").remove(0);
    draft.title = format!("use {}", token());
    let remains = Remains { drafts: vec![draft], ..Remains::default() };
    Expired::open(&home).store("old", &remains).unwrap();
    put(&home.folder.join("llm/answer.json"), &format!("{{\"memories\":[\"{}\"]}}", token()));
    let log = format!("2026-11-20T09:00:00Z failure: {}\n", token());
    put(&state.hook_log, &log);
    put(&state.log.with_extension("log.old"), &log);
    put(&state.inbox, &format!("{{\"note\":\"{}\"}}\n", token()));
    put(&state.receipts("2026-11-20"), &format!("{{\"why\":\"{}\"}}\n", token()));
    let given = state.session("s9", None);
    put(&given, &format!("b{{\"text\":\"{}\"}}\n", token()));
    let lengths =
        [state.inbox.clone(), given].map(|file| (file.clone(), fs::metadata(file).unwrap().len()));

    let before = holding(&sealed);
    assert!(before.len() >= 10, "{before:#?}");
    // All files are reported except the index, whose bytes are not lines of text.
    let report = audited(&sealed, false);
    assert_eq!(found(&report), before);
    assert_eq!((report.failed, report.cleaned), (Vec::<String>::new(), 0));
    let turns = |text: &str| {
        // The search uses a word next to the token, because a placeholder is not a word.
        let search =
            Search { text: "beside".into(), limit: 9, tier: Tier::Passages, ..Search::default() };
        let hits = Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now()).hits;
        hits.iter().filter(|hit| hit.text.contains(text)).count()
    };
    assert!(turns("beside") > 0);

    let report = audited(&sealed, true);
    assert_eq!(holding(&sealed), BTreeSet::new());
    assert_eq!((report.found, report.failed), (Vec::new(), Vec::<String>::new()));
    assert!(report.cleaned >= 10, "{}", report.cleaned);
    assert!(turns("beside") > 0 && turns("[redacted:github-token]") > 0);
    for (file, length) in lengths {
        assert_eq!(fs::metadata(file).unwrap().len(), length, "hooks and the processor count it");
    }
    // A forgotten memory is restored without the token, and is otherwise unchanged.
    let back = store(&sealed)
        .restore(&MemoryId([2; 16]).to_string(), &Redactor::default())
        .unwrap()
        .unwrap();
    assert!(fs::read_to_string(back.path).unwrap().contains("It is [redacted:github-token]."));
    assert!(sealed.sync().warnings.is_empty());
    assert_eq!(audited(&sealed, true).cleaned, 0);
}

/// Returns a private key with several lines.
fn key() -> String {
    let kind = "PRIVATE KEY";
    let line = format!("{}\n", "KqZ4wLr8TnB2mXc6".repeat(4));
    format!("-----BEGIN {kind}-----\n{}-----END {kind}-----\n", line.repeat(6))
}

#[test]
fn texts_are_looked_at_as_they_were_written() {
    let sealed = Sealed::new();
    let state = sealed.dirs.tree(&sealed.tree.root);
    // A text in JSON is unrelated to the name of its field and to the next text.
    put(&state.inbox, "{\"password\":\"Zq9xK2vB7w\",\"user\":\"tess\"}\n");
    put(&state.receipts("2026-11-20"), "{\"text\":\"the password is\",\"id\":\"Zq9xK2vB7w\"}\n");
    assert_eq!(found(&audited(&sealed, false)), BTreeSet::new());
    // A key with several lines counts as one secret, in a memory and in a JSON text.
    let memory = saved(&sealed, 1, "Deploying");
    let text = fs::read_to_string(&memory).unwrap();
    let line = text.lines().count();
    fs::write(&memory, text.replace("It is here.", &key())).unwrap();
    put(&state.inbox, &format!("{}\n", serde_json::json!({ "note": key() })));
    let report = audited(&sealed, false);
    assert_eq!(found(&report), BTreeSet::from([memory.clone(), state.inbox.clone()]));
    let told = report.found.iter().find(|found| found.path == memory).unwrap();
    assert_eq!((told.rule, told.line), ("private-key", line));
    let report = audited(&sealed, true);
    assert_eq!((report.found, report.failed), (Vec::new(), Vec::<String>::new()));
    assert_eq!(audited(&sealed, true).cleaned, 0);
}

#[test]
fn a_memory_that_waits_is_cleaned_and_counted_once() {
    let sealed = Sealed::new();
    let home = sealed.dirs.project(sealed.tree.project);
    let path = saved(&sealed, 1, "One that waits");
    sealed.sync();
    let draft = home.drafts.join("one.md");
    fs::create_dir_all(&home.drafts).unwrap();
    fs::rename(path, &draft).unwrap();
    let text =
        fs::read_to_string(&draft).unwrap().replace("kind: fact", "kind: fact\nstatus: draft");
    put(&draft, &text.replace("here", &token()));
    assert_eq!(audited(&sealed, true).cleaned, 1);
    assert!(fs::read_to_string(draft).unwrap().contains("[redacted:github-token]"));
}

#[test]
fn only_our_own_vectors_are_passed_over() {
    // A person's folders may have the same names as the program's.
    let sealed = Sealed::new();
    let live = saved(&sealed, 1, "One");
    let sorted = live.parent().unwrap().join("vectors/one.md");
    fs::create_dir_all(sorted.parent().unwrap()).unwrap();
    fs::rename(&live, &sorted).unwrap();
    spoil(&sorted);
    put(&sealed.dirs.project(sealed.tree.project).vectors.join("cache"), &token());
    assert_eq!(found(&audited(&sealed, false)), BTreeSet::from([sorted]));
}

#[test]
fn an_unreadable_file_is_reported_and_all_others_are_cleaned() {
    let sealed = Sealed::new();
    let home = sealed.dirs.project(sealed.tree.project);
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    sealed.write_script(&eventful("s2", sealed.root(), 2));
    let live = saved(&sealed, 1, "One");
    sealed.sync();
    spoil(&live);
    let archive = processor::collect::archive::Archive::open(&home);
    let bytes = fs::read(archive.path("s1")).unwrap();
    put(&archive.path("s1"), "");
    fs::write(archive.path("s1"), &bytes[..bytes.len() / 2]).unwrap();
    // A broken memory file without a known owner is only reported, because a person must examine it.
    let broken = live.with_file_name("broken.md");
    put(&broken, &format!("---\nkind: [\n---\n{}\n", token()));
    let report = audited(&sealed, true);
    assert!(report.failed.iter().any(|failed| failed.contains("s1.jsonl")), "{report:?}");
    assert_eq!(found(&report), BTreeSet::from([broken]));
    assert!(!fs::read_to_string(&live).unwrap().contains(&token()));
}

#[test]
fn a_long_list_of_findings_is_truncated_and_marked_as_such() {
    let sealed = Sealed::new();
    let file = sealed.tree.store().join("notes.txt");
    put(&file, &format!("use {} here\n", token()).repeat(1_000));
    let report = audited(&sealed, false);
    assert_eq!((report.found.len(), report.truncated), (1_000, false));
    put(&file, &format!("use {} here\n", token()).repeat(1_001));
    let report = audited(&sealed, false);
    assert_eq!((report.found.len(), report.truncated), (1_000, true));
}

#[test]
fn a_line_of_any_length_hides_nothing_in_it_or_behind_it() {
    let sealed = Sealed::new();
    let root = &sealed.tree.root;
    let state = sealed.dirs.tree(&sealed.tree.root);
    let word = "lorem ipsum dolor ";
    let words = |bytes: usize| word.repeat(bytes / word.len());
    // One token is at the boundary of two pieces, and one far after it.
    let long = (4 << 20) - 20;
    let token = token();
    let text = format!(
        "---\nid: x\n---\n{} {token} {} end\n{}short\n",
        words(long),
        words(1 << 19),
        key()
    );
    let file = root.join(".throughline/memories/long.md");
    let inbox = state.inbox.clone();
    put(&file, &text);
    put(&inbox, &format!("{} {token} {}\n", words(long), words(1 << 19)));
    let report = audited(&sealed, false);
    let of = |path: &Path| -> Vec<(&str, usize)> {
        let of_file = report.found.iter().filter(|found| found.path == path);
        of_file.map(|found| (found.rule, found.line)).collect()
    };
    assert_eq!(of(&file), [("github-token", 4), ("private-key", 5)]);
    assert_eq!(of(&inbox), [("github-token", 1)]);
    audited(&sealed, true);
    assert_eq!(holding(&sealed), BTreeSet::from([file]), "no memory, so a person has to look");
}

#[test]
fn a_run_that_does_not_get_the_lock_reports_it() {
    let sealed = Sealed::new();
    let path = sealed.dirs.project(sealed.tree.project).sync_lock;
    let lock = Lock::take(&path, Busy::Leave).unwrap().unwrap();
    let options = SyncOptions { busy: Busy::Wait(Duration::from_millis(20)), ..sealed.options() };
    assert_eq!(audit(&options, true).unwrap(), None);
    assert_eq!(purge(&options, &PurgeTarget::Project).unwrap(), None);
    assert!(sync(&options).unwrap().busy);
    // A search needs no lock.
    assert!(audit(&options, false).unwrap().is_some());
    drop(lock);
    assert!(audit(&options, true).unwrap().is_some());
}
