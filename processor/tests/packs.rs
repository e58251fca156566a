//! Sessions that rest lie together in packs: nobody notices but by the room that they take. What is removed or cleaned
//! leaves no text in a pack, and a kill or damage loses no more than it does elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::scripts::{Script, Sealed, eventful};
use memory_store::recall::{Recall, Search};
use processor::collect::archive::{Archive, SessionFile};
use processor::collect::expired::Expired;
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::upkeep::audit::{audit, files};
use processor::upkeep::purge::{What, purge};

/// Sessions of a project here.
const SESSIONS: u32 = 6;

/// A secret that a session uses without saying what it is.
const SECRET: &str = "Brightotter7714";

fn name(number: u32) -> String {
    format!("s{number}")
}

/// A project whose old sessions were synced and not packed. Claude Code has deleted the transcripts.
fn unpacked() -> Sealed {
    let sealed = Sealed::new();
    for number in 1..=SESSIONS {
        let mut script = eventful(&name(number), sealed.root(), number);
        if number == 3 {
            script.bash("./bin/show", &format!("operator\t{SECRET}\tactive"));
        }
        sealed.write_script(&script);
    }
    sealed.sync();
    fs::remove_dir_all(sealed.dirs.claude.join("projects")).unwrap();
    sealed
}

/// The same, packed.
fn packed() -> Sealed {
    let sealed = unpacked();
    pack(&sealed);
    assert_eq!(packs(&sealed).len(), 1);
    sealed
}

fn options(sealed: &Sealed) -> SyncOptions<'_> {
    SyncOptions { pack_from: 1, ..sealed.options() }
}

/// Syncs until nothing is new, and packs what rests.
fn pack(sealed: &Sealed) -> SyncReport {
    let report = sync(&options(sealed)).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    if report.nothing_new { report } else { sync(&options(sealed)).unwrap() }
}

fn archive(sealed: &Sealed) -> Archive {
    Archive::open(&sealed.dirs.project(sealed.tree.project))
}

fn packs(sealed: &Sealed) -> Vec<PathBuf> {
    let archive = archive(sealed);
    archive.packs().unwrap().iter().map(|pack| archive.pack_path(&pack.id)).collect()
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
    let search = Search { text: text.into(), limit: 50, turns: true, ..Search::default() };
    let now = crate::scripts::now();
    Recall::open(&sealed.dirs, &sealed.tree, None).search(&search, now).hits.len()
}

/// Stored files that hold a text, packed or not.
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

/// The files of the archive's folder.
fn snapshot(sealed: &Sealed) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = archive(sealed).folder().to_owned();
    let files = fs::read_dir(folder).unwrap().flatten().filter(|file| file.path().is_file());
    files.map(|file| (file.path(), fs::read(file.path()).unwrap())).collect()
}

/// Whether each pack counts as a whole, and nothing half-written is left.
fn assert_tidy(sealed: &Sealed) {
    let archive = archive(sealed);
    for pack in archive.packs().unwrap() {
        assert!(archive.whole_pack(&pack.id).unwrap().is_some(), "{pack:?}");
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
    let bytes_before = bytes(&sealed);
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
    // Not even where the run was killed before it remembered what it had packed, or everything is made again.
    let state = sealed.dirs.project(sealed.tree.project).mined.join("state.json");
    fs::remove_file(state).unwrap();
    check(sync(&options(&sealed)).unwrap(), true);
    check(sync(&SyncOptions { afresh: true, ..options(&sealed) }).unwrap(), true);
    fs::remove_dir_all(&sealed.dirs.state).unwrap();
    check(sync(&options(&sealed)).unwrap(), true);
}

#[test]
fn a_session_that_goes_on_leaves_its_pack() {
    let sealed = packed();
    let before = loaded(&sealed);
    let mut script = eventful("s2", sealed.root(), 2).starting("2026-11-21T10:00:00Z");
    script.lines.clear();
    script.prompt("From now on always write the changelog before the release.");
    sealed.write_script(&script);
    // As Claude Code has deleted what came before, the file is another one.
    sync(&sealed.options()).unwrap();
    let after = loaded(&sealed);
    for (name, file) in &before {
        let more = usize::from(name == "s2");
        assert_eq!(after[name].records.len(), file.records.len() + more, "{name}");
    }
    assert_eq!(packs(&sealed).len(), 0, "the others have files of their own");
    pack(&sealed);
    assert_eq!((packs(&sealed).len(), loaded(&sealed)), (1, after));
    assert_eq!(archive(&sealed).pack_of("s2").unwrap(), None, "it does not rest");
    assert_tidy(&sealed);
}

#[test]
fn a_purge_takes_a_session_out_of_its_pack() {
    for what in [What::Session("s5".into()), What::Project] {
        let sealed = packed();
        let said = "I'll look at how the parser closes";
        let there = holding(&sealed, said);
        assert!(there.iter().any(|path| packs(&sealed).contains(path)), "{there:?}");
        // Another session says it, too.
        purge(&sealed.options(), &What::Session("s1".into())).unwrap().unwrap();
        pack(&sealed);
        let before = loaded(&sealed);
        let report = purge(&sealed.options(), &what).unwrap().unwrap();
        assert_eq!(report.left, Vec::<PathBuf>::new());
        assert!(report.sought > 0, "{report:?}");
        assert_eq!(holding(&sealed, said), Vec::<PathBuf>::new());
        let after = loaded(&sealed);
        let stays = if what == What::Project { 0 } else { before.len() - 1 };
        assert_eq!(after.len(), stays);
        assert!(after.iter().all(|(name, file)| before[name] == *file));
        assert_tidy(&sealed);
    }
}

#[test]
fn a_secret_that_becomes_known_goes_from_packs() {
    let sealed = packed();
    assert!(holding(&sealed, SECRET).iter().any(|path| packs(&sealed).contains(path)));
    let found = audit(&sealed.options(), false).unwrap().unwrap();
    assert!(found.failed.is_empty(), "{found:?}");
    let mut script = Script::new("s9", sealed.root()).starting("2026-11-21T09:00:00Z");
    script.prompt(&format!("By the way, the password is {SECRET}. Do not tell anybody."));
    script.say("I will not.");
    sealed.write_script(&script);
    let report = sync(&options(&sealed)).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
    pack(&sealed);
    assert_eq!(packs(&sealed).len(), 1);
    assert_eq!(holding(&sealed, SECRET), Vec::<PathBuf>::new());
    assert_eq!(loaded(&sealed).len(), SESSIONS as usize + 1);
}

#[test]
fn an_audit_looks_into_packs_and_cleans_them() {
    let sealed = unpacked();
    let token = format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let archive = archive(&sealed);
    let text = serde_json::to_string(&archive.load("s4").unwrap().unwrap().records).unwrap();
    // As a version without this rule stored it.
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
    assert_eq!(loaded(&sealed).len(), SESSIONS as usize);
}

/// A kill leaves some of the files as they were before and some as they are after, in the order of their writing.
#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let sealed = unpacked();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let state = sealed.dirs.project(sealed.tree.project).mined.join("state.json");
    let own_files = (snapshot(&sealed), fs::read(&state).unwrap());
    pack(&sealed);
    let pointers = (snapshot(&sealed), fs::read(&state).unwrap());
    let pack_path = packs(&sealed).remove(0);
    let is_session = |path: &&PathBuf| path.extension().is_some_and(|end| end == "gz");
    let sessions: Vec<PathBuf> = own_files.0.keys().filter(is_session).cloned().collect();
    assert_eq!(sessions.len(), SESSIONS as usize);
    for written in 0..=sessions.len() {
        // Packing writes the pack, then pointers, then the state; taking apart the other way round.
        for state_before in [&own_files.1, &pointers.1] {
            fs::write(&pack_path, &pointers.0[&pack_path]).unwrap();
            fs::write(pack_path.with_file_name(".writing-left"), "half").unwrap();
            for (number, path) in sessions.iter().enumerate() {
                let files = if number < written { &pointers.0 } else { &own_files.0 };
                fs::write(path, &files[path]).unwrap();
            }
            fs::write(&state, state_before).unwrap();
            let report = sync(&sealed.options()).unwrap();
            assert_eq!((report.sessions_mined, report.warnings), (0, Vec::new()), "{written}");
            assert_eq!(
                (loaded(&sealed), memories(&sealed)),
                (before.clone(), memories_before.clone())
            );
            assert_tidy(&sealed);
        }
    }
    // A purge that was killed once the file was gone.
    fs::write(&pack_path, &pointers.0[&pack_path]).unwrap();
    sessions.iter().for_each(|path| fs::write(path, &pointers.0[path]).unwrap());
    fs::remove_file(&sessions[2]).unwrap();
    sync(&sealed.options()).unwrap();
    assert!(!packs(&sealed).contains(&pack_path));
    assert_eq!(loaded(&sealed).len(), sessions.len() - 1);
}

#[test]
fn of_a_damaged_pack_what_is_sound_stays_and_the_rest_is_told() {
    let sealed = packed();
    let (before, memories_before) = (loaded(&sealed), memories(&sealed));
    let whole = snapshot(&sealed);
    let path = packs(&sealed).remove(0);
    let bytes = &whole[&path];
    let mined = sealed.dirs.project(sealed.tree.project).mined;
    let kept = sealed.base.join("kept");
    copy(&mined, &kept);
    let flipped = |at: usize| {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        flipped
    };
    let mut damages: Vec<Vec<u8>> =
        (0..24).map(|part| flipped((bytes.len() - 1) * part / 23)).collect();
    damages.extend([Vec::new(), bytes[..bytes.len() / 2].to_vec(), vec![0; bytes.len()]]);
    let mut partly = 0;
    for (number, damage) in damages.into_iter().enumerate() {
        fs::write(&path, damage).unwrap();
        let report = sync(&sealed.options()).unwrap();
        assert!(report.warnings[0].contains(".pack"), "{number}: {report:?}");
        assert_eq!((report.removed, memories(&sealed)), (0, memories_before.clone()), "{number}");
        let after = loaded(&sealed);
        assert!(after.iter().all(|(name, file)| before[name] == *file), "{number}");
        let home = sealed.dirs.project(sealed.tree.project);
        let lost = Expired::open(&home).lost().len();
        assert_eq!(after.len() + lost, before.len(), "{number}: {report:?}");
        partly += usize::from(!after.is_empty());
        assert_eq!(archive(&sealed).packs_aside().len(), 1);
        assert_tidy(&sealed);
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        // As it was before the next damage.
        fs::remove_dir_all(archive(&sealed).folder()).unwrap();
        fs::create_dir(archive(&sealed).folder()).unwrap();
        whole.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        fs::remove_dir_all(&mined).unwrap();
        copy(&kept, &mined);
    }
    assert!(partly > 0, "what is before the damage is sound");
    // A pointer costs nothing while there is the pack.
    for damage in [&b""[..], b"something else"] {
        fs::write(archive(&sealed).path("s4"), damage).unwrap();
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        assert_eq!((loaded(&sealed), memories(&sealed)), (before.clone(), memories_before.clone()));
        pack(&sealed);
    }
    // A pack that is gone is a loss of all, and of nothing that was learned.
    fs::remove_file(packs(&sealed).remove(0)).unwrap();
    let report = sync(&sealed.options()).unwrap();
    assert!(!report.warnings.is_empty());
    assert_eq!((loaded(&sealed).len(), memories(&sealed)), (0, memories_before));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().flatten() {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The disk is sick, full, or a later version was there.
#[test]
fn a_pack_that_cannot_be_read_or_written_now_costs_nothing() {
    let sealed = packed();
    let before = loaded(&sealed);
    let path = packs(&sealed).remove(0);
    let bytes = fs::read(&path).unwrap();
    let mut later = bytes.clone();
    later[8] = 2;
    for is_folder in [true, false] {
        fs::remove_file(&path).unwrap();
        match is_folder {
            true => fs::create_dir(&path).unwrap(),
            false => fs::write(&path, &later).unwrap(),
        }
        let report = sync(&sealed.options()).unwrap();
        let warning = report.warnings.join("\n");
        assert!(
            warning.contains(".pack") && (is_folder || warning.contains("install")),
            "{report:?}"
        );
        assert_eq!(archive(&sealed).names().unwrap().len(), before.len());
        assert_eq!(archive(&sealed).aside(), []);
        if is_folder {
            fs::remove_dir(&path).unwrap();
        }
        fs::write(&path, &bytes).unwrap();
        assert_eq!(sync(&sealed.options()).unwrap().warnings, Vec::<String>::new());
        assert_eq!(loaded(&sealed), before);
    }
    // Where a pack cannot be written, files stay what they are.
    archive(&sealed).take_apart(path.file_stem().unwrap().to_str().unwrap()).unwrap();
    fs::create_dir(&path).unwrap();
    let report = sync(&options(&sealed)).unwrap();
    assert!(report.warnings.iter().any(|it| it.contains("not packed")), "{report:?}");
    assert_eq!(loaded(&sealed), before);
}

#[test]
fn a_damaged_session_does_not_keep_others_from_being_packed() {
    let sealed = unpacked();
    let archive = archive(&sealed);
    fs::write(archive.path("s2"), "something else").unwrap();
    let mut names = archive.names().unwrap();
    names.sort();
    let packed = archive.pack(&names).unwrap();
    assert!(packed.warnings[0].contains("s2.jsonl.gz"), "{packed:?}");
    let members: Vec<String> = packed.pack.unwrap().1.into_iter().map(|it| it.name).collect();
    names.retain(|name| name != "s2");
    assert_eq!(members, names);
    assert_eq!(fs::read(archive.path("s2")).unwrap(), b"something else");
}

/// A version that does not know packs refuses what stands in the place of a session: it has a later format.
#[test]
fn an_earlier_version_is_told_to_be_replaced() {
    let sealed = packed();
    for name in archive(&sealed).names().unwrap() {
        let mut text = String::new();
        let file = fs::File::open(archive(&sealed).path(&name)).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        // Earlier versions read up to 2.
        assert_eq!(header["format"], 3);
    }
    // So does this one with a later format.
    let mut later = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    later.write_all(b"{\"format\":4,\"pack\":\"x\"}\n").unwrap();
    fs::write(archive(&sealed).path("s1"), later.finish().unwrap()).unwrap();
    let error = archive(&sealed).load("s1").unwrap_err();
    assert!(format!("{error:#}").contains("install the newer version"), "{error:#}");
}

/// The limit lies between what the sessions take in packs and what they take outside.
#[test]
fn the_limit_of_the_archive_decides_as_if_nothing_were_packed() {
    let sealed = Sealed::new();
    let words: Vec<String> =
        (0..4_000_u32).map(|n| format!("w{}", n.wrapping_mul(2_654_435_761))).collect();
    for number in 0..20_u32 {
        let start = format!("2026-11-{:02}T09:00:00Z", 1 + number % 15);
        let mut script = Script::new(&format!("t{number:02}"), sealed.root()).starting(&start);
        let mut random = number;
        for part in 0..60 {
            script.prompt(&format!("Please look at part {part} of the pier number {number}."));
            let mut word = || {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                words[(random >> 8) as usize % words.len()].as_str()
            };
            let said: Vec<&str> = (0..250).map(|_| word()).collect();
            script.say(&said.join(" "));
        }
        sealed.write_script(&script);
    }
    sealed.sync();
    let room = || archive(&sealed).entries().unwrap().iter().map(|entry| entry.len).sum::<u64>();
    let limit = room();
    assert!(limit > 1 << 20, "{limit} is a limit that can be set");
    let config = sealed.dirs.config_file();
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, format!("archive_bytes_max = {limit}\n")).unwrap();
    sync(&options(&sealed)).unwrap();
    pack(&sealed);
    let before = loaded(&sealed);
    let pack_bytes = fs::metadata(&packs(&sealed)[0]).unwrap().len();
    assert!(before.len() == 20 && room() + pack_bytes < limit, "{pack_bytes} of {limit}");
    purge(&sealed.options(), &What::Session("t11".into())).unwrap().unwrap();
    let mut after = loaded(&sealed);
    assert_eq!(packs(&sealed).len(), 0);
    assert_eq!(after.len(), 19);
    pack(&sealed);
    sync(&options(&sealed)).unwrap();
    assert_eq!(loaded(&sealed), after);
    // A lower limit takes the oldest, wherever they are.
    fs::write(sealed.dirs.config_file(), format!("archive_bytes_max = {}\n", limit * 9 / 10))
        .unwrap();
    sync(&options(&sealed)).unwrap();
    pack(&sealed);
    after.retain(|name, _| name != "t00");
    assert_eq!(loaded(&sealed), after);
    assert_tidy(&sealed);
}
