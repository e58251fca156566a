//! Archived sessions whose file is damaged or missing after Claude Code has deleted the transcript. Their memories are
//! kept and marked, and are removed only at a person's request.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scripts::{Sealed, eventful};
use processor::collect::archive::Archive;
use processor::collect::expired::{Expired, Remains};
use processor::sync::{SyncOptions, SyncReport, sync};
use processor::upkeep::purge::{PurgeTarget, purge};

/// Ways to lose an archive file.
const LOSSES: [fn(&Path); 6] = [
    |path| fs::remove_file(path).unwrap(),
    |path| fs::write(path, b"").unwrap(),
    |path| cut(path, 2),
    |path| fs::write(path, b"something else").unwrap(),
    |path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    },
    |path| {
        let length = fs::metadata(path).unwrap().len();
        fs::write(path, vec![0; usize::try_from(length).unwrap()]).unwrap();
    },
];

fn cut(path: &Path, part: usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / part]).unwrap();
}

/// Returns a project with two sessions without transcripts, and the transcript of the first one.
fn forgotten() -> (Sealed, String) {
    let sealed = Sealed::new();
    let script = eventful("s1", sealed.root(), 1);
    for path in
        [sealed.write_script(&script), sealed.write_script(&eventful("s2", sealed.root(), 2))]
    {
        sealed.sync();
        fs::remove_file(path).unwrap();
    }
    sealed.sync();
    (sealed, script.text())
}

fn memories(sealed: &Sealed) -> Vec<(PathBuf, Vec<u8>)> {
    sealed.files(|path| path.extension().is_none_or(|end| end != "md"))
}

fn archive(sealed: &Sealed) -> Archive {
    Archive::open(&sealed.dirs.project(sealed.tree.project))
}

fn is_lost(sealed: &Sealed) -> bool {
    Expired::open(&sealed.dirs.project(sealed.tree.project)).is_lost("s1")
}

fn sync_once(sealed: &Sealed, afresh: bool) -> SyncReport {
    sync(&SyncOptions { afresh, ..sealed.options() }).unwrap()
}

#[test]
fn memories_of_a_lost_session_stay_and_come_back_to_their_turns() {
    for (way, lose) in LOSSES.into_iter().enumerate() {
        for afresh in [false, true] {
            let (sealed, transcript) = forgotten();
            let before = memories(&sealed);
            lose(&archive(&sealed).path("s1"));
            let report = sync_once(&sealed, afresh);
            assert_eq!((report.removed, report.tombstoned), (0, 0), "{way}: {report:?}");
            assert!(report.warnings.iter().any(|it| it.contains("s1.jsonl.gz")), "{report:?}");
            assert_eq!(archive(&sealed).aside().len(), usize::from(way > 0));
            for afresh in [false, true] {
                assert_eq!(sync_once(&sealed, afresh).warnings, Vec::<String>::new());
                assert_eq!(memories(&sealed), before, "{way}");
                assert!(is_lost(&sealed));
            }

            sealed.write("s1.jsonl", transcript.as_bytes());
            sealed.sync();
            assert_eq!(memories(&sealed), before, "{way}");
            assert!(!is_lost(&sealed) && archive(&sealed).load("s1").unwrap().is_some());
        }
    }
}

/// The mined drafts and the stored state are lost as well, so the sources of memories are not known.
#[test]
fn they_stay_even_when_nothing_else_is_left_of_it() {
    let (sealed, _) = forgotten();
    let before = memories(&sealed);
    let home = sealed.dirs.project(sealed.tree.project);
    fs::remove_dir_all(&home.mined).unwrap();
    fs::remove_dir_all(&sealed.dirs.state).unwrap();
    fs::remove_file(archive(&sealed).path("s1")).unwrap();
    for afresh in [false, true, false] {
        assert_eq!(sync_once(&sealed, afresh).removed, 0);
        // There may be additional memories that the other session alone supports.
        let now = memories(&sealed);
        assert!(before.iter().all(|memory| now.contains(memory)));
    }
    assert!(is_lost(&sealed));
    // A memory file that is missing is written again.
    let memory = sealed.base.join(&before.iter().find(|(_, text)| contains(text, "s1")).unwrap().0);
    fs::remove_dir_all(memory.parent().unwrap()).unwrap();
    sync_once(&sealed, false);
    assert!(memory.exists());
}

fn contains(text: &[u8], part: &str) -> bool {
    String::from_utf8_lossy(text).contains(&format!("session: {part}"))
}

#[test]
fn a_purge_still_takes_them() {
    for lose in [LOSSES[0], LOSSES[1]] {
        let (sealed, _) = forgotten();
        let of =
            |part: &str| memories(&sealed).iter().filter(|(_, text)| contains(text, part)).count();
        assert!(of("s1") > 0);
        lose(&archive(&sealed).path("s1"));
        sync_once(&sealed, false);
        assert!(of("s1") > 0);
        let report = purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
        assert!(!report.forgotten.is_empty(), "{report:?}");
        assert_eq!(of("s1"), 0);
        assert!(of("s2") > 0);
        assert_eq!(archive(&sealed).aside(), []);
        sync_once(&sealed, true);
        assert_eq!(of("s1"), 0);
    }
}

/// Turns that were removed because of their age are not read again if the other turns are lost.
#[test]
fn what_was_removed_for_its_age_stays_removed_where_the_rest_is_lost() {
    let (sealed, _) = forgotten();
    let expired = Expired::open(&sealed.dirs.project(sealed.tree.project));
    let header = archive(&sealed).load("s1").unwrap().unwrap().header;
    assert!(!header.sources.is_empty());
    let older = Remains { header: header.clone(), turns: 3, ..Remains::default() };
    expired.store("s1", &older).unwrap();
    fs::remove_file(archive(&sealed).path("s1")).unwrap();
    sync(&sealed.options()).unwrap();
    let lost = expired.load("s1").unwrap();
    assert!(lost.lost && lost.turns > 3, "{lost:?}");
    assert_eq!(lost.header.sources, header.sources);
}
