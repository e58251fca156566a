//! Inactive sessions are stored in packs, which only affects disk space. After removing or cleaning, no text remains in
//! a pack. A kill or damage loses no more than with separate files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::scripts::{Script, Sealed, eventful};
use memory_store::Timestamp;
use memory_store::recall::{Recall, Search, Tier};
use memory_store::time::DAY_MS;
use processor::collect::archive::{Archive, SessionFile};
use processor::collect::expired::Expired;
use processor::collect::newest::in_order;
use processor::lock::Busy;
use processor::secrets::files;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::transcript::record::Record;
use processor::upkeep::audit::audit;
use processor::upkeep::purge::{NothingPurged, PurgeTarget, purge};

/// Number of inactive sessions in a project here. They are inactive because there is one newer session.
const SESSIONS: u32 = 6;

/// A secret that a session uses without words that identify it as a secret.
const SECRET: &str = "Brightotter7714";

fn name(number: u32) -> String {
    format!("s{number}")
}

/// Returns a project with old sessions that were synced and not packed. Claude Code has deleted their transcripts.
fn unpacked() -> Sealed {
    let sealed = Sealed::new();
    for number in 1..=SESSIONS {
        let mut script = eventful(&name(number), sealed.root(), number);
        if number == 3 {
            script.bash("./bin/show", &format!("operator\t{SECRET}\tactive"));
        }
        sealed.write_script(&script);
    }
    sealed.write_script(&eventful("newest", sealed.root(), 19));
    sealed.sync();
    fs::remove_dir_all(sealed.dirs.claude.join("projects")).unwrap();
    sealed
}

/// Returns the same project after its sessions were packed.
fn packed() -> Sealed {
    let sealed = unpacked();
    pack(&sealed);
    assert_eq!(packs(&sealed).len(), 1);
    sealed
}

fn options(sealed: &Sealed) -> SyncOptions<'_> {
    SyncOptions { pack_from: 1, busy: Busy::Leave, ..sealed.options() }
}

/// Syncs until there is nothing new, and packs the inactive sessions.
fn pack(sealed: &Sealed) -> SyncReport {
    let report = sync(&options(sealed)).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    if report.nothing_new { report } else { sync(&options(sealed)).unwrap() }
}

fn archive(sealed: &Sealed) -> Archive {
    Archive::open(&sealed.dirs.project(sealed.tree.project))
}

fn state_path(sealed: &Sealed) -> PathBuf {
    sealed.dirs.project(sealed.tree.project).mined.join("state.json")
}

fn packs(sealed: &Sealed) -> Vec<PathBuf> {
    let archive = archive(sealed);
    archive.packs().into_iter().map(|pack| pack.file.path).collect()
}

fn loaded(sealed: &Sealed) -> BTreeMap<String, SessionFile> {
    let archive = archive(sealed);
    let load = |name: String| archive.load(&name).unwrap().map(|file| (name, file));
    archive.names().unwrap().into_iter().filter_map(load).collect()
}

fn memories(sealed: &Sealed) -> Vec<(PathBuf, Vec<u8>)> {
    sealed.files(|path| path.extension().is_none_or(|end| end != "md"))
}

fn turns(sealed: &Sealed, text: &str) -> usize {
    let search = Search { text: text.into(), limit: 50, tier: Tier::Passages, ..Search::default() };
    let now = crate::scripts::now();
    Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now).hits.len()
}

/// Returns the stored files that contain a text, also in compressed form.
fn holding(sealed: &Sealed, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let mut bytes = Vec::new();
        files::open(path).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        memchr::memmem::find(&bytes, text.as_bytes()).is_some()
    };
    let folders = [&sealed.dirs.data, &sealed.dirs.state, &sealed.tree.root];
    let all = folders.into_iter().flat_map(|folder| files::files(folder)).map(Result::unwrap);
    all.filter(holds).collect()
}

/// Returns the files of the archive with their contents.
fn snapshot(sealed: &Sealed) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files::files(archive(sealed).folder()).map(Result::unwrap);
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

/// Replaces the files of the archive.
fn restore(sealed: &Sealed, files: &BTreeMap<PathBuf, Vec<u8>>) {
    fs::remove_dir_all(archive(sealed).folder()).unwrap();
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Asserts that each session is stored only once, that packs are intact, and that there are no incomplete files.
fn assert_tidy(sealed: &Sealed) {
    let archive = archive(sealed);
    for pack in archive.packs() {
        assert!(archive.is_sound(&pack.file).unwrap(), "{pack:?}");
        for member in &*pack.members {
            assert_eq!(archive.entry(&member.name).unwrap().path, pack.file.path);
        }
    }
    let names = snapshot(sealed).into_keys().map(|path| path.display().to_string());
    assert_eq!(names.filter(|name| name.contains(".writing-")).count(), 0);
}

#[test]
fn nothing_is_learned_from_packing() {
    let sealed = unpacked();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let found = turns(&sealed, "closes");
    let bytes = |sealed: &Sealed| snapshot(sealed).values().map(Vec::len).sum::<usize>();
    let (bytes_before, entries) = (bytes(&sealed), archive(&sealed).entries().unwrap());
    let report = pack(&sealed);
    assert_eq!((report.sessions_mined, report.nothing_new), (0, true), "{report:?}");
    assert_eq!(packs(&sealed).len(), 1);
    assert!(bytes(&sealed) < bytes_before);
    let check = |report: SyncReport, is_new: bool| {
        assert_eq!(report.warnings, Vec::<String>::new());
        assert_eq!((report.sessions_mined, report.nothing_new), (0, !is_new), "{report:?}");
        assert_eq!((loaded(&sealed), memories(&sealed)), (before.clone(), memories_before.clone()));
        assert_eq!((turns(&sealed, "closes"), packs(&sealed).len()), (found, 1));
        assert_tidy(&sealed);
    };
    check(sync(&options(&sealed)).unwrap(), false);
    // If everything is mined again, the result from packs is the same as from files.
    let mined = sealed.dirs.project(sealed.tree.project).mined;
    fs::remove_dir_all(&mined).unwrap();
    let report = sync(&options(&sealed)).unwrap();
    assert_eq!((report.sessions_mined, report.warnings), (SESSIONS as usize + 1, Vec::new()));
    assert_eq!(memories(&sealed), memories_before);
    // The result is the same after a kill before the packing was recorded, and after a full rebuild.
    fs::remove_file(state_path(&sealed)).unwrap();
    check(sync(&options(&sealed)).unwrap(), true);
    check(sync(&SyncOptions { afresh: true, ..options(&sealed) }).unwrap(), true);
    fs::remove_dir_all(&sealed.dirs.state).unwrap();
    check(sync(&options(&sealed)).unwrap(), true);
    // Unpacking restores all files with their times.
    let archive = archive(&sealed);
    assert_eq!(archive.take_apart(&archive.packs()[0].file).unwrap(), None);
    assert_eq!(archive.entries().unwrap(), entries);
    let report = sync(&sealed.options()).unwrap();
    assert_eq!(
        (report.nothing_new, loaded(&sealed), memories(&sealed)),
        (true, before, memories_before)
    );
}

#[test]
fn a_session_that_goes_on_leaves_its_pack() {
    let sealed = packed();
    let before = loaded(&sealed);
    let mut script = eventful("s2", sealed.root(), 2).starting("2026-11-21T10:00:00Z");
    script.lines.clear();
    script.prompt("From now on always write the changelog before the release.");
    sealed.write_script(&script);
    // Claude Code has deleted the earlier records, so the transcript is a different file.
    sync(&sealed.options()).unwrap();
    let after = loaded(&sealed);
    for (name, file) in &before {
        let more = usize::from(name == "s2");
        assert_eq!(after[name].records.len(), file.records.len() + more, "{name}");
    }
    assert_eq!(packs(&sealed).len(), 0, "the others have files of their own");
    pack(&sealed);
    assert_eq!((packs(&sealed).len(), loaded(&sealed)), (1, after));
    let archive = archive(&sealed);
    assert_eq!(archive.entry("s2").unwrap().path, archive.path("s2"), "it does not rest");
    assert_tidy(&sealed);
}

#[test]
fn a_purge_takes_a_session_out_of_its_pack() {
    for what in [PurgeTarget::Session("s5".into()), PurgeTarget::Project] {
        let sealed = packed();
        let said = "I'll look at how the parser closes";
        let there = holding(&sealed, said);
        assert!(there.iter().any(|path| packs(&sealed).contains(path)), "{there:?}");
        // Another session contains the same text.
        purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
        pack(&sealed);
        let before = loaded(&sealed);
        let report = purge(&sealed.options(), &what).unwrap().unwrap();
        assert_eq!(report.left, Vec::<PathBuf>::new());
        assert!(report.sought > 0, "{report:?}");
        assert_eq!(holding(&sealed, said), Vec::<PathBuf>::new());
        let after = loaded(&sealed);
        let stays = if what == PurgeTarget::Project { 0 } else { before.len() - 1 };
        assert_eq!(after.len(), stays);
        assert!(after.iter().all(|(name, file)| before[name] == *file));
        assert_tidy(&sealed);
    }
}

/// This happens after a backup was restored, or after a purge by a version without packs.
#[test]
fn what_was_purged_meanwhile_goes_from_a_pack_that_comes_back() {
    let sealed = packed();
    let before = loaded(&sealed);
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    purge(&sealed.options(), &PurgeTarget::Session("s5".into())).unwrap().unwrap();
    let memories_after = memories(&sealed);
    let after = loaded(&sealed);
    assert_eq!(after.len() + 1, before.len());
    // The pack is restored next to the other sessions, and without them.
    for others in [true, false] {
        fs::write(&path, &bytes).unwrap();
        for name in before.keys().filter(|name| !others && *name != "newest") {
            drop(fs::remove_file(archive(&sealed).path(name)));
        }
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        assert_eq!(loaded(&sealed), after);
        assert_eq!((packs(&sealed).len(), memories(&sealed)), (0, memories_after.clone()));
        assert_tidy(&sealed);
    }
}

#[test]
fn a_secret_that_becomes_known_goes_from_packs() {
    let sealed = packed();
    assert!(holding(&sealed, SECRET).iter().any(|path| packs(&sealed).contains(path)));
    let (old, backup) = (packs(&sealed).remove(0), snapshot(&sealed));
    let found = audit(&sealed.options(), false).unwrap().unwrap();
    assert!(found.failed.is_empty(), "{found:?}");
    let mut script = Script::new("s9", sealed.root()).starting("2026-11-21T09:00:00Z");
    script.prompt(&format!("By the way, the password is {SECRET}. Do not tell anybody."));
    script.say("I will not.");
    sealed.write_script(&script);
    let report = sync(&options(&sealed)).unwrap();
    assert!(report.warnings.iter().all(|told| told.contains("was taken out of")), "{report:?}");
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
    pack(&sealed);
    assert_eq!(packs(&sealed).len(), 1);
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
    let clean = loaded(&sealed);
    assert_eq!(clean.len(), SESSIONS as usize + 2);
    // A backup of the pack is restored, first next to the clean pack, then instead of the clean pack.
    for is_alone in [false, true] {
        if is_alone {
            restore(&sealed, &backup);
        } else {
            fs::write(&old, &backup[&old]).unwrap();
        }
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
        assert_eq!(loaded(&sealed)["s3"].records, clean["s3"].records);
    }
}

#[test]
fn an_audit_looks_into_packs_and_cleans_them() {
    let sealed = unpacked();
    let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let archive = archive(&sealed);
    let text = serde_json::to_string(&archive.load("s4").unwrap().unwrap().records).unwrap();
    // Stores the session with a token, as a version without this redaction rule did.
    let mut file = archive.load("s4").unwrap().unwrap();
    let text = text.replace("dropped its buffer", &token);
    assert!(text.contains(&token));
    file.records = serde_json::from_str(&text).unwrap();
    archive.store(&file).unwrap();
    pack(&sealed);
    let report = audit(&sealed.options(), false).unwrap().unwrap();
    let found: Vec<&PathBuf> = report.found.iter().map(|found| &found.path).collect();
    assert!(found.contains(&&packs(&sealed)[0]), "{report:?}");
    let report = audit(&sealed.options(), true).unwrap().unwrap();
    assert_eq!((report.found, report.failed), (Vec::new(), Vec::new()));
    assert_eq!(holding(&sealed, &token), Vec::<PathBuf>::new());
    assert_eq!(loaded(&sealed).len(), SESSIONS as usize + 1);
}

/// After a kill, some of the files are in the earlier state and some in the later state, in the order of writing.
#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let sealed = unpacked();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let state = state_path(&sealed);
    let own_files = (snapshot(&sealed), fs::read(&state).unwrap());
    pack(&sealed);
    let packed = (snapshot(&sealed), fs::read(&state).unwrap());
    let pack_path = packs(&sealed).remove(0);
    let is_packed = |path: &&PathBuf| !packed.0.contains_key(*path);
    let sessions: Vec<PathBuf> = own_files.0.keys().filter(is_packed).cloned().collect();
    assert_eq!(sessions.len(), SESSIONS as usize);
    // Packing writes the pack, then removes the files, then writes the state. Unpacking has the reverse order.
    for there in 0..=sessions.len() {
        for state_before in [&own_files.1, &packed.1] {
            let mut files = packed.0.clone();
            files.insert(sessions[0].with_file_name(".writing-left"), b"half".to_vec());
            let own =
                sessions.iter().take(there).map(|path| (path.clone(), own_files.0[path].clone()));
            files.extend(own);
            restore(&sealed, &files);
            fs::write(&state, state_before).unwrap();
            assert_eq!(loaded(&sealed), before, "as it is read by others meanwhile");
            let report = sync(&sealed.options()).unwrap();
            assert_eq!((report.sessions_mined, report.warnings), (0, Vec::new()), "{there}");
            assert_eq!(
                (loaded(&sealed), memories(&sealed)),
                (before.clone(), memories_before.clone())
            );
            assert_eq!(packs(&sealed).len(), usize::from(there == 0), "{there}");
            assert_tidy(&sealed);
        }
    }
    // The pack was not renamed yet.
    let mut files = own_files.0.clone();
    files.insert(sessions[0].with_file_name(".writing-pack"), packed.0[&pack_path].clone());
    restore(&sealed, &files);
    fs::write(&state, &own_files.1).unwrap();
    assert_eq!(sync(&sealed.options()).unwrap().sessions_mined, 0);
    assert_eq!(loaded(&sealed), before);
    assert_tidy(&sealed);
}

/// Content or entry that replaces a pack.
enum Damage {
    Bytes(Vec<u8>),
    Folder,
    Pipe,
}

fn put(path: &Path, damage: &Damage) {
    drop(fs::remove_file(path).or_else(|_| fs::remove_dir(path)));
    match damage {
        Damage::Bytes(bytes) => fs::write(path, bytes).unwrap(),
        Damage::Folder => fs::create_dir(path).unwrap(),
        Damage::Pipe => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut flipped = bytes.to_vec();
    flipped[at] ^= 1;
    flipped
}

/// Writes a session that ended recently.
fn new_session(sealed: &Sealed, name: &str) {
    let mut script = Script::new(name, sealed.root()).starting("2026-11-21T08:00:00Z");
    script.prompt("From now on never rename a harbour light.");
    script.say("I will not.");
    sealed.write_script(&script);
}

#[test]
fn intact_sessions_of_a_damaged_pack_stay_and_the_damage_is_reported() {
    let sealed = packed();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let whole = snapshot(&sealed);
    let path = packs(&sealed).remove(0);
    let bytes = &whole[&path];
    let home = sealed.dirs.project(sealed.tree.project);
    let (kept, state) = (sealed.base.join("kept"), fs::read(state_path(&sealed)).unwrap());
    copy(&home.mined, &kept);
    let flips = (0..16).map(|part| flipped(bytes, (bytes.len() - 1) * part / 15));
    let cut = [0, 1, bytes.len() / 4, bytes.len() / 2, bytes.len() - 1];
    let cut = cut.map(|len| bytes[..len].to_vec());
    let (mut partly, mut wholly) = (0, 0);
    for (number, damage) in flips.chain(cut).chain([vec![0; bytes.len()]]).enumerate() {
        fs::write(&path, damage).unwrap();
        new_session(&sealed, "s8");
        let report = sync(&sealed.options()).unwrap();
        assert_eq!(report.removed, 0, "{number}");
        assert!(memories_before.iter().all(|file| memories(&sealed).contains(file)), "{number}");
        let mut after = loaded(&sealed);
        assert!(after.remove("s8").is_some(), "{number}: the rest is synced");
        assert!(after.iter().all(|(name, file)| before[name] == *file), "{number}");
        let lost = Expired::open(&home).lost().len();
        assert_eq!(after.len() + lost, before.len(), "{number}: {report:?}");
        // If only the index is damaged, no pack is kept aside.
        let aside = archive(&sealed).packs_aside().len();
        assert_eq!((aside <= 1, packs(&sealed).len()), (true, 0), "{number}");
        assert!(aside == 1 || lost == 0, "{number}");
        let is_told = report.warnings.iter().any(|warning| warning.contains(".pack.damaged"));
        assert_eq!(is_told, aside == 1, "{number}: {report:?}");
        partly += usize::from(after.len() > 1 && after.len() < before.len());
        wholly += usize::from(after.len() == before.len());
        assert_tidy(&sealed);
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        // The state before the next damage is restored.
        restore(&sealed, &whole);
        fs::remove_dir_all(&home.mined).unwrap();
        copy(&kept, &home.mined);
        fs::write(state_path(&sealed), &state).unwrap();
        fs::remove_dir_all(sealed.dirs.claude.join("projects")).unwrap();
        sync(&sealed.options()).unwrap();
    }
    assert!(partly > 0 && wholly > 1, "{partly} {wholly}: what is before the damage is sound");
}

/// The disk has an error, a later version has written the pack, or another entry is at its path.
#[test]
fn while_a_pack_cannot_be_read_all_else_is_synced_and_nothing_is_lost() {
    let damages =
        |bytes: &[u8]| [Damage::Folder, Damage::Pipe, Damage::Bytes(later_version(bytes))];
    for (number, keeps_state) in [(0, true), (1, true), (2, true), (2, false)] {
        let sealed = packed();
        let (before, memories_before) = (loaded(&sealed), memories(&sealed));
        let path = packs(&sealed).remove(0);
        let bytes = fs::read(&path).unwrap();
        put(&path, &damages(&bytes)[number]);
        if !keeps_state {
            fs::remove_file(state_path(&sealed)).unwrap();
        }
        new_session(&sealed, "s8");
        // A session that continues is postponed.
        let mut script = eventful("s2", sealed.root(), 2).starting("2026-11-21T10:00:00Z");
        script.lines.clear();
        script.prompt("From now on always write the changelog before the release.");
        sealed.write_script(&script);
        for afresh in [false, true] {
            let report = sync(&SyncOptions { afresh, ..sealed.options() }).unwrap();
            assert_eq!(report.removed, 0, "{number}");
            assert!(report.warnings.iter().all(|it| it.contains(".pack: this pack")), "{report:?}");
            assert_eq!(report.warnings.len(), 1, "{report:?}");
            let names: Vec<String> = loaded(&sealed).into_keys().collect();
            assert_eq!(names, ["newest", "s8"], "{number}");
            let home = sealed.dirs.project(sealed.tree.project);
            assert_eq!(Expired::open(&home).lost(), [], "{number}");
            assert!(memories_before.iter().all(|file| memories(&sealed).contains(file)));
        }
        // Nothing can be purged from a pack that cannot be read.
        for what in [PurgeTarget::Session("s8".into()), PurgeTarget::Project] {
            let error = purge(&sealed.options(), &what).unwrap_err();
            assert!(
                error.is::<NothingPurged>() && format!("{error:#}").contains(".pack"),
                "{error:#}"
            );
        }
        put(&path, &Damage::Bytes(bytes));
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        let after = loaded(&sealed);
        for (name, file) in &before {
            let more = usize::from(name == "s2");
            assert_eq!(after[name].records.len(), file.records.len() + more, "{name}");
        }
        assert_eq!(turns(&sealed, "closes"), turns(&packed(), "closes"));
    }
}

/// Returns a pack in a later format.
fn later_version(bytes: &[u8]) -> Vec<u8> {
    let (rest, trailer) = bytes.split_at(bytes.len() - 20);
    let len = u32::from_le_bytes(trailer[16..].try_into().unwrap()) as usize;
    let (texts, index) = rest.split_at(rest.len() - len);
    let index = String::from_utf8(index.to_vec()).unwrap().replace("\"format\":1", "\"format\":2");
    let sum = blake3::hash(index.as_bytes());
    [texts, index.as_bytes(), &sum.as_bytes()[..16], &trailer[16..]].concat()
}

#[test]
fn a_purge_beside_a_damaged_pack_deletes_no_copy_of_another_session() {
    let sealed = packed();
    let before = loaded(&sealed);
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, flipped(&bytes, bytes.len() * 2 / 3)).unwrap();
    let damaged = fs::read(&path).unwrap();
    let report = purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
    let aside = archive(&sealed).packs_aside();
    assert_eq!(report.left, aside, "it is told that nobody can tell what is in it");
    assert_eq!(fs::read(&aside[0]).unwrap(), damaged);
    let after = loaded(&sealed);
    assert!(!after.contains_key("s1") && after.len() > 1 && after.len() < before.len() - 1);
    assert!(after.iter().all(|(name, file)| before[name] == *file));
    // The lost sessions are restored from a backup.
    fs::write(&path, &bytes).unwrap();
    fs::remove_file(&aside[0]).unwrap();
    assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
    let back = loaded(&sealed);
    assert!(before.iter().all(|(name, file)| name == "s1" || back[name] == *file));
    fs::write(path.with_extension("pack.damaged"), damaged).unwrap();
    let report = purge(&sealed.options(), &PurgeTarget::Project).unwrap().unwrap();
    assert_eq!((report.left, archive(&sealed).packs_aside()), (Vec::new(), Vec::new()));
}

/// Another entry at the path of a session's file prevents writing the file, like a full disk.
#[test]
fn a_purge_that_cannot_take_a_pack_apart_deletes_nothing() {
    let sealed = packed();
    let (memories_before, pack) = (memories(&sealed), fs::read(&packs(&sealed)[0]).unwrap());
    let in_the_way = archive(&sealed).path("s4");
    fs::create_dir(&in_the_way).unwrap();
    let error = purge(&sealed.options(), &PurgeTarget::Session("s5".into())).unwrap_err();
    assert!(
        error.is::<NothingPurged>() && format!("{error:#}").contains("s4.jsonl.gz"),
        "{error:#}"
    );
    assert_eq!(fs::read(&packs(&sealed)[0]).unwrap(), pack);
    assert_eq!(memories(&sealed), memories_before);
    fs::remove_dir(&in_the_way).unwrap();
    assert!(holding(&sealed, "I'll look at how the parser closes").len() > 1);
    purge(&sealed.options(), &PurgeTarget::Session("s5".into())).unwrap().unwrap();
    assert!(!loaded(&sealed).contains_key("s5"));
    assert_tidy(&sealed);
}

/// Returns the names of the sessions with separate files.
fn own(sealed: &Sealed) -> Vec<String> {
    let archive = archive(sealed);
    let entries = archive.entries().unwrap().into_iter();
    entries.filter(|it| it.path == archive.path(&it.name)).map(|it| it.name).collect()
}

fn keep_days(sealed: &Sealed, days: u32) {
    fs::create_dir_all(&sealed.dirs.claude).unwrap();
    let settings = format!("{{\"cleanupPeriodDays\": {days}}}");
    fs::write(sealed.dirs.claude.join("settings.json"), settings).unwrap();
}

/// Another entry at the path of a session's file prevents writing the file, like a full disk.
#[test]
fn while_a_pack_cannot_be_taken_apart_old_sessions_wait_and_all_else_is_synced() {
    let sealed = packed();
    let (pack_path, before) = (packs(&sealed), loaded(&sealed));
    let in_the_way = archive(&sealed).path("s4");
    fs::create_dir(&in_the_way).unwrap();
    keep_days(&sealed, 17);
    for round in 0..3 {
        let name = format!("t{round}");
        new_session(&sealed, &name);
        // A sync packs inactive sessions, but not while a pack is damaged or cannot be unpacked.
        let report = sync(&options(&sealed)).unwrap();
        assert!(report.warnings[0].contains("s4.jsonl.gz"), "{report:?}");
        assert!(archive(&sealed).load(&name).unwrap().is_some());
        assert_eq!(packs(&sealed), pack_path);
        let own = own(&sealed);
        let old = own.iter().filter(|name| name.starts_with('s') && *name != "s4");
        assert_eq!(old.count(), 0, "what was written went again: {own:?}");
        assert_eq!(archive(&sealed).load("s1").unwrap().as_ref(), Some(&before["s1"]));
        let home = sealed.dirs.project(sealed.tree.project);
        assert_eq!(Expired::open(&home).names(), Vec::<String>::new());
    }
    fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
    let after = loaded(&sealed);
    assert!(!after.contains_key("s1") && after["s6"] == before["s6"]);
    assert_tidy(&sealed);
}

#[test]
fn a_pack_of_which_all_is_old_is_removed() {
    let sealed = packed();
    let memories_before = memories(&sealed);
    keep_days(&sealed, 5);
    assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
    assert_eq!((packs(&sealed).len(), own(&sealed)), (0, vec!["newest".to_owned()]));
    let home = sealed.dirs.project(sealed.tree.project);
    assert_eq!(Expired::open(&home).names().len(), SESSIONS as usize);
    assert_eq!(memories(&sealed), memories_before);
}

#[test]
fn what_was_purged_and_cannot_be_removed_again_is_not_learned_from() {
    let sealed = packed();
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    purge(&sealed.options(), &PurgeTarget::Session("s5".into())).unwrap().unwrap();
    let memories_after = memories(&sealed);
    fs::write(&path, bytes).unwrap();
    fs::remove_file(archive(&sealed).path("s4")).unwrap();
    fs::create_dir(archive(&sealed).path("s4")).unwrap();
    for _ in 0..2 {
        let report = sync(&sealed.options()).unwrap();
        assert!(report.warnings[0].contains("s4.jsonl.gz"), "{report:?}");
        assert_eq!(memories(&sealed), memories_after);
    }
    fs::remove_dir(archive(&sealed).path("s4")).unwrap();
    sync(&sealed.options()).unwrap();
    assert!(!loaded(&sealed).contains_key("s5") && loaded(&sealed).contains_key("s4"));
    assert_tidy(&sealed);
}

/// Syncs a session in which the user calls the value a password.
fn sync_secret_session(sealed: &Sealed) -> SyncReport {
    let mut script = Script::new("s9", sealed.root()).starting("2026-11-21T09:00:00Z");
    script.prompt(&format!("By the way, the password is {SECRET}. Do not tell anybody."));
    script.say("I will not.");
    sealed.write_script(&script);
    sync(&sealed.options()).unwrap()
}

#[test]
fn a_secret_learned_later_is_reported_for_files_kept_aside() {
    // If the texts of a pack are intact, it is not kept aside.
    let sealed = packed();
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    sync(&sealed.options()).unwrap();
    assert_eq!((archive(&sealed).packs_aside(), packs(&sealed)), (Vec::new(), Vec::new()));
    assert!(
        sync_secret_session(&sealed).warnings.iter().all(|told| told.contains("was taken out of"))
    );
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
    let check = |sealed: &Sealed, file: &Path, bytes: &[u8]| {
        fs::write(file, bytes).unwrap();
        sync(&sealed.options()).unwrap();
        let aside = archive(sealed).aside().into_iter().map(|(_, path)| path);
        let aside: Vec<PathBuf> = aside.chain(archive(sealed).packs_aside()).collect();
        let [aside] = aside.as_slice() else { panic!("{aside:?}") };
        let named = |report: SyncReport| {
            let aside = aside.display().to_string();
            report.warnings.iter().filter(|warning| warning.contains(&aside)).count()
        };
        assert_eq!(named(sync_secret_session(sealed)), 1);
        assert_eq!(named(sync(&sealed.options()).unwrap()), 0);
    };
    let sealed = packed();
    check(&sealed, &packs(&sealed)[0], &flipped(&bytes, bytes.len() * 2 / 3));
    let sealed = unpacked();
    let path = archive(&sealed).path("s3");
    let bytes = fs::read(&path).unwrap();
    check(&sealed, &path, &bytes[..bytes.len() - 9]);
}

#[test]
fn a_pack_of_a_later_version_is_searched_once_it_can_be_read() {
    let sealed = packed();
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let put = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    };
    put(&later_version(&bytes));
    assert!(sync_secret_session(&sealed).warnings.iter().any(|warning| warning.contains(".pack")));
    put(&bytes);
    sync(&sealed.options()).unwrap();
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
}

#[test]
fn an_odd_entry_among_packs_hides_no_other() {
    let sealed = packed();
    let before = loaded(&sealed);
    let odd = archive(&sealed).folder().join("packs").join("loop.pack");
    std::os::unix::fs::symlink("loop.pack", odd).unwrap();
    let report = sync(&sealed.options()).unwrap();
    assert!(report.warnings[0].contains("loop.pack"), "{report:?}");
    assert_eq!(loaded(&sealed), before);
}

#[test]
fn packing_that_failed_is_tried_again_a_day_later() {
    let sealed = unpacked();
    let before = loaded(&sealed);
    assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
    // The folder of packs cannot be created, and there are no packs.
    let folder = archive(&sealed).folder().join("packs");
    std::os::unix::fs::symlink("nowhere", &folder).unwrap();
    let warnings = sync(&options(&sealed)).unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("not packed"), "{warnings:?}");
    assert_eq!(sync(&options(&sealed)).unwrap().warnings, Vec::<String>::new());
    fs::remove_file(&folder).unwrap();
    sync(&options(&sealed)).unwrap();
    assert_eq!(packs(&sealed).len(), 0);
    let now = Timestamp(options(&sealed).now.0 + DAY_MS);
    let later = || SyncOptions { now, ..options(&sealed) };
    // No pack is made while a person waits.
    for is_waited_for in [true, false] {
        let busy = if is_waited_for { sealed.options().busy } else { Busy::Leave };
        for _ in 0..2 {
            sync(&SyncOptions { busy, ..later() }).unwrap();
        }
        assert_eq!(packs(&sealed).is_empty(), is_waited_for);
    }
    assert_eq!(loaded(&sealed), before);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().flatten() {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// This happens if a disk was not mounted, or if a backup is restored late.
#[test]
fn a_pack_that_is_put_back_counts_again() {
    let sealed = packed();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let home = sealed.dirs.project(sealed.tree.project);
    let path = packs(&sealed).remove(0);
    let away = sealed.base.join("away");
    fs::rename(&path, &away).unwrap();
    let report = sync(&sealed.options()).unwrap();
    assert_eq!(report.warnings.len(), SESSIONS as usize, "{report:?}");
    assert_eq!((loaded(&sealed).len(), memories(&sealed)), (1, memories_before.clone()));
    assert_eq!(Expired::open(&home).lost().len(), SESSIONS as usize);
    fs::rename(&away, &path).unwrap();
    assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
    assert_eq!((loaded(&sealed), memories(&sealed)), (before, memories_before));
    assert_eq!(Expired::open(&home).lost(), []);
    assert_eq!(packs(&sealed), [path]);
}

/// After a backup was restored without deleting newer files, or after a version without packs read transcripts again, a
/// session is stored twice.
#[test]
fn of_a_session_that_is_there_twice_all_records_stay() {
    let sealed = unpacked();
    let before = loaded(&sealed);
    let own_files = snapshot(&sealed);
    pack(&sealed);
    let packed = snapshot(&sealed);
    let archive = archive(&sealed);
    let whole = &before["s4"];
    let (first, rest) = whole.records.split_at(2);
    let mut new = whole.records[0].clone();
    new.uuid = "new".into();
    let with_new = |records: &[Record]| records.iter().cloned().chain([new.clone()]).collect();
    // The separate file has an earlier state of the session, a later state, or a state in which both have records that
    // the other lacks.
    for (own, more) in [(first.to_vec(), 0), (with_new(&whole.records), 1), (with_new(rest), 1)] {
        restore(&sealed, &own_files);
        archive.store(&SessionFile { records: own, ..whole.clone() }).unwrap();
        let path = archive.path("s4");
        let bytes = fs::read(&path).unwrap();
        restore(&sealed, &packed);
        fs::write(path, bytes).unwrap();
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        assert_eq!(packs(&sealed).len(), 0);
        let mut after = loaded(&sealed);
        let united = after.remove("s4").unwrap().records;
        assert_eq!(united.len(), whole.records.len() + more);
        assert!(whole.records.iter().all(|record| united.contains(record)));
        assert!(after.iter().all(|(name, file)| before[name] == *file));
        assert_tidy(&sealed);
    }
    // A damaged file is kept aside.
    restore(&sealed, &packed);
    fs::write(archive.path("s4"), "something else").unwrap();
    sync(&sealed.options()).unwrap();
    assert_eq!((loaded(&sealed), archive.aside().len()), (before, 1));
}

/// Sessions are stored in packs in the order of packing, and read in the order of names.
#[test]
fn many_threads_read_each_pack_once() {
    let sealed = unpacked();
    let archive = archive(&sealed);
    for names in [["s1", "s4", "s6"], ["s2", "s3", "s5"]] {
        archive.pack(&names.map(str::to_owned)).unwrap();
    }
    let mut names = archive.names().unwrap();
    names.sort();
    archive.by_pack(&mut names, |name| name);
    assert_eq!(names, ["newest", "s1", "s4", "s6", "s2", "s3", "s5"]);
    for _ in 0..20 {
        archive.forget_kept();
        let before = archive.packs_read();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
        let read =
            threads.install(|| in_order(&names, |name| archive.load(name).unwrap().unwrap()));
        assert_eq!((read.len(), archive.packs_read() - before), (SESSIONS as usize + 1, 2));
    }
}

#[test]
fn who_reads_finds_each_session_while_it_moves() {
    let sealed = unpacked();
    let before = loaded(&sealed);
    let names: Vec<String> = (1..=SESSIONS).map(name).collect();
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| {
            let archive = archive(&sealed);
            for _ in 0..20 {
                archive.pack(&names).unwrap();
                std::thread::sleep(Duration::from_millis(5));
                archive.take_out("s1").unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let archive = archive(&sealed);
        while !moving.is_finished() {
            for name in &names {
                assert_eq!(archive.load(name).unwrap().as_ref(), Some(&before[name]));
            }
        }
    });
    assert_eq!(loaded(&sealed), before);
    assert_tidy(&sealed);
}
