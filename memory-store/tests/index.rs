//! Tests of an index from publishing to recall, with the functions that all callers use.

use crate::common::vectors::{Shipped, assets};
use crate::common::{self, Fixture, NOW, id, memory, put};
use memory_store::fs::lock::LOCK_WAIT;
use memory_store::index::Index;
use memory_store::index::build::{self, Publisher, Staged};
use memory_store::index::document::Passage;
use memory_store::index::journal::{self, Entry};
use memory_store::index::segment::Segment;
use memory_store::layout::Tree;
use memory_store::memory::PathRef;
use memory_store::recall::{CandidateOutcome, Collection, Search, SilenceReason, Tier, Topic};
use memory_store::redact::Redactor;
use memory_store::signature::error_signature;
use memory_store::store::Store;
use memory_store::trust::Trust;
use memory_store::{Kind, Memory, MemoryId, Timestamp};

fn titles(hits: &[memory_store::recall::Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.title.as_str()).collect()
}

#[test]
fn a_prompt_brings_what_it_is_about_and_nothing_else() {
    let fixture = Fixture::filled();
    let recall = fixture.recall();
    let found =
        recall.prompt("why does the invoice importer drop the last row?", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits)[0], "The invoice importer needs a trailing newline");
    assert_eq!(found.degraded, None);
    for foreign in [
        "make the sidebar collapsible on phones",
        "what is the capital of Australia",
        "write a haiku about autumn",
        "ok, go ahead",
    ] {
        let found = recall.prompt(foreign, None, NOW, &|_| false);
        assert_eq!(titles(&found.hits), Vec::<&str>::new(), "{foreign}");
        assert!(found.silent.is_some());
    }
}

#[test]
fn a_memory_is_not_given_twice_and_a_superseded_one_never() {
    let fixture = Fixture::filled();
    let recall = fixture.recall();
    let prompt = "which port does the ledger service listen on?";
    let found = recall.prompt(prompt, None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["The ledger service listens on port 7441"]);
    let id = found.hits[0].id;
    let again = recall.prompt(prompt, None, NOW, &|known| known == id);
    assert!(again.hits.is_empty());
    assert_eq!(again.silent, Some(SilenceReason::LeftOut(CandidateOutcome::Skipped)));
}

#[test]
fn a_newer_memory_that_names_what_it_replaces_stands_in_for_it() {
    let fixture = Fixture::filled();
    fixture.write(memory(
        70,
        Kind::Fact,
        "The cron job sweep drains the outbox queue",
        "It runs every five minutes on the worker host.",
    ));
    let newer = memory(71, Kind::Fact, "A timer inside the mailer empties it", "Since June.");
    fixture.write(Memory { supersedes: vec![id(70)], ..newer });
    fixture.publish();
    let recall = fixture.tracing();
    let prompt = "which cron job drains the outbox queue?";
    let found = recall.prompt(prompt, None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["A timer inside the mailer empties it"]);
    assert_eq!(found.hits[0].why, "replaces \"The cron job sweep drains the outbox queue\"");
    let older = found.trace.iter().find(|traced| traced.id == id(70)).unwrap();
    assert_eq!((older.outcome, older.instead), (CandidateOutcome::Superseded, Some(id(71))));
    // If the newer memory was injected before, the older memory is still suppressed.
    let again = recall.prompt(prompt, None, NOW, &|known| known == id(71));
    assert_eq!(titles(&again.hits), Vec::<&str>::new());
}

#[test]
fn a_file_brings_its_memories_and_its_neighbours_in_the_folder_do_not() {
    let fixture = Fixture::filled();
    let recall = fixture.recall();
    let found = recall.file("billing/src/import.rs", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits)[0], "The invoice importer needs a trailing newline");
    assert!(recall.file("billing/src/other.rs", None, NOW, &|_| false).hits.is_empty());
}

#[test]
fn the_memories_of_a_file_come_by_what_matters_most_and_not_by_its_name() {
    let fixture = Fixture::filled();
    let about = |number: u8, confidence: f32, title: &str, text: &str| {
        let paths = vec![PathRef { path: "billing/src/ledger.rs".into(), seen: None }];
        fixture.write(Memory { paths, confidence, ..memory(number, Kind::Gotcha, title, text) });
    };
    about(
        70,
        0.4,
        "ledger.rs has a copy in the tests",
        "Change ledger.rs and the copy of ledger.rs.",
    );
    about(71, 0.8, "Balances are kept in cents", "A float lost a cent in March.");
    about(72, 0.6, "The audit reads the table while it grows", "It skips the last row.");
    fixture.publish();
    let found = fixture.recall().file("billing/src/ledger.rs", None, NOW, &|_| false);
    let ids: Vec<MemoryId> = found.hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [id(71), id(72), id(70)]);
    // The topic of the last prompt has more weight.
    let mut topic = Topic::default();
    let prompt = "why does the audit skip the last row of the table?";
    let recall = fixture.recall();
    recall.prompt(prompt, Some(&mut topic), NOW, &|_| false);
    let found = recall.file("billing/src/ledger.rs", Some(&|| topic.clone()), NOW, &|_| false);
    let ids: Vec<MemoryId> = found.hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [id(72), id(71), id(70)]);
}

#[test]
fn an_error_brings_its_fix() {
    let fixture = Fixture::filled();
    let recall = fixture.recall();
    let error = "Compiling billing v0.3.1\n/home/joe/x/billing/src/lib.rs:88:3: error: cannot find macro `money_fmt` in this scope\n";
    let found = recall.error("cargo build -p billing", error, NOW, &|_| false);
    assert_eq!(titles(&found.hits)[0], "money_fmt needs the macros feature");
    assert_eq!(found.hits[0].why, "the same error");
}

#[test]
fn likeness_counts_beside_an_unknown_error() {
    let mut fixture = Fixture::filled();
    fixture.dirs.models = Some(assets());
    let vectors = Shipped::open();
    let publisher = fixture.publisher(&vectors);
    fixture.publish_with(publisher, &fixture.list(), None);
    let recall = fixture.tracing();
    let is_like = |error: &str| {
        let found = recall.error("cargo build -p billing", error, NOW, &|_| false);
        assert!(!found.trace.is_empty());
        found.trace.iter().any(|traced| traced.cosine.is_some())
    };
    assert!(is_like("error: cannot find type `Statement` in this scope"));
    assert!(!is_like("error: cannot find macro `money_fmt` in this scope"));
}

#[test]
fn the_fix_of_another_error_of_the_same_command_is_held_back() {
    let fixture = Fixture::filled();
    let recall = fixture.tracing();
    let error =
        "error: cannot find type `Statement` in this scope: it was renamed to `MonthlyStatement`";
    let found = recall.error("cargo build -p billing", error, NOW, &|_| false);
    let fix = found.trace.iter().find(|traced| traced.title.starts_with("money_fmt")).unwrap();
    assert_eq!((fix.outcome, fix.named), (CandidateOutcome::Gate, false));
    assert!(fix.features.covered > 0.0 && fix.threshold.is_infinite());
}

#[test]
fn what_every_failing_script_prints_is_not_the_same_error() {
    let fixture = Fixture::filled();
    let error = "$ tidy --warnings-are-errors .\nerror: script \"tidy\" exited with code 1\n";
    let mut fix =
        memory(70, Kind::Fix, "Tidy wants sorted imports", "Sort them, then run it again.");
    fix.signatures = error_signature(error).into_iter().collect();
    assert_eq!(fix.signatures.len(), 1);
    let mut cause = memory(71, Kind::Fix, "Tidy cannot read `tidy.conf`", "Its mode must be 644.");
    cause.signatures = error_signature("error: cannot read `tidy.conf`").into_iter().collect();
    fixture.write(fix);
    fixture.write(cause);
    fixture.write(memory(72, Kind::Command, "`tidy .` checks the imports", "Before each commit."));
    fixture.publish();
    let recall = fixture.tracing();
    let other = format!("Formatter would have written src/zebra.js anew\n{error}");
    let found = recall.error("run tidy", &other, NOW, &|_| false);
    assert!(found.hits.iter().all(|hit| hit.why != "the same error"), "{:?}", found.hits);
    let command = found.trace.iter().find(|traced| traced.id == id(72)).unwrap();
    assert!(command.threshold.is_infinite(), "a command is no cure");
    let known = format!("error: cannot read `tidy.conf`\n{error}");
    let found = recall.error("run tidy", &known, NOW, &|_| false);
    assert_eq!((found.hits[0].id, found.hits[0].why.as_str()), (id(71), "the same error"));
}

#[test]
fn a_store_asks_for_as_much_as_the_talk_that_comes_near_it_scores() {
    let fixture = Fixture::filled();
    let far = fixture.publish().gate;
    let people =
        ["Ottilie moved into her new flat", "Casimir bought a dog", "Lorcan plays the harp"];
    for (number, title) in (80..).zip(people) {
        fixture.write(memory(number, Kind::Fact, title, "Told at the dinner on Saturday."));
    }
    let near = fixture.publish().gate;
    assert!(near.threshold >= far.threshold, "{near:?} {far:?}");
    // The kind of background prompts with the highest threshold determines the gate, so that the scores of the other
    // kinds do not lower it.
    assert!(near.mean != far.mean, "{near:?} {far:?}");
    let found =
        fixture.recall().prompt("what did the speaker say about loneliness", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), Vec::<&str>::new());
    let found =
        fixture.recall().prompt("which instrument does Lorcan play?", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["Lorcan plays the harp"]);
}

#[test]
fn journalled_changes_are_found_at_once_and_folded_later() {
    let fixture = Fixture::filled();
    let new = fixture.write(memory(
        40,
        Kind::Gotcha,
        "The quota probe needs a warm cache",
        "Run the probe twice; the first answer is from a cold cache.",
    ));
    journal::append(&fixture.index(), &put(&new, fixture.root()), LOCK_WAIT).unwrap();
    let prompt = "why is the first quota probe wrong?";
    let found = fixture.recall().prompt(prompt, None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["The quota probe needs a warm cache"]);

    fixture.publish();
    let published = fixture.recall().prompt(prompt, None, NOW, &|_| false);
    assert_eq!(titles(&published.hits), titles(&found.hits));

    journal::append(&fixture.index(), &Entry::Remove(new.memory.id), LOCK_WAIT).unwrap();
    assert!(fixture.recall().prompt(prompt, None, NOW, &|_| false).hits.is_empty());
}

#[test]
fn files_of_the_index_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let fixture = Fixture::filled();
    let new =
        fixture.write(memory(40, Kind::Gotcha, "The quota probe needs a warm cache", "Run it."));
    journal::append(&fixture.index(), &put(&new, fixture.root()), LOCK_WAIT).unwrap();
    for file in std::fs::read_dir(fixture.index()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.path().display());
    }
}

#[test]
fn a_worktree_without_an_index_uses_that_of_the_main_tree() {
    let fixture = Fixture::filled();
    let worktree = Tree { root: fixture.root().join("../worktree"), ..fixture.tree.clone() };
    let dirs = &fixture.dirs;
    let mut new = fixture.write(memory(
        41,
        Kind::Gotcha,
        "The quota probe needs a warm cache",
        "Run the probe twice; the first answer is from a cold cache.",
    ));
    // The file of the memory is in the worktree, outside of the tree whose index lists it.
    let folder = worktree.root.join(".throughline/memories");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(new.path.file_name().unwrap());
    std::fs::rename(&new.path, &path).unwrap();
    new.path = path;
    let scope = new.memory.scope;
    let (redactor, trust) = (Redactor::default(), Trust::default());
    let judgement = trust.judgement(&new, &redactor);
    let saved = journal::Change::Saved(&new, &judgement);
    journal::note(dirs, &worktree, scope, saved).unwrap();
    let hits = || {
        let recall = memory_store::recall::Recall::open(dirs, &worktree, None);
        recall.prompt("why is the first quota probe wrong?", None, NOW, &|_| false).hits
    };
    assert_eq!(titles(&hits()), ["The quota probe needs a warm cache"]);
    journal::note(dirs, &worktree, scope, journal::Change::Gone(new.memory.id)).unwrap();
    assert!(hits().is_empty());
}

#[test]
fn what_is_journalled_while_the_store_is_listed_stays_in_the_journal() {
    let fixture = Fixture::filled();
    let publisher = Publisher::begin(&fixture.index()).unwrap();
    let listed = fixture.list();
    let late =
        fixture.write(memory(41, Kind::Fact, "The quota probe runs at dawn", "It starts at five."));
    journal::append(&fixture.index(), &put(&late, fixture.root()), LOCK_WAIT).unwrap();
    fixture.publish_with(publisher, &listed, None);
    let found = fixture.recall().prompt("when does the quota probe run?", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["The quota probe runs at dawn"]);
    // The next publisher merges the entries. After that, the journal is a new file.
    fixture.publish();
    assert_eq!(fixture.publish().generation, 2);
    let found = fixture.recall().prompt("when does the quota probe run?", None, NOW, &|_| false);
    assert_eq!(titles(&found.hits), ["The quota probe runs at dawn"]);
}

#[test]
fn publishing_the_same_again_changes_nothing_and_the_same_store_gives_the_same_bytes() {
    let fixture = Fixture::filled();
    let before = fixture.index_files();
    assert!(!fixture.publish().changed);
    assert_eq!(fixture.index_files(), before);

    let other = Fixture::filled();
    let segments = |fixture: &Fixture| -> Vec<(String, Vec<u8>)> {
        fixture.index_files().into_iter().filter(|(name, _)| name.ends_with(".seg")).collect()
    };
    // The index contains paths relative to the root, so only modification times could differ.
    fixture.set_times();
    other.set_times();
    fixture.publish();
    other.publish();
    assert_eq!(segments(&fixture).last(), segments(&other).last());
}

#[test]
fn a_file_that_changed_or_went_is_left_out_and_a_rebuild_is_due() {
    let fixture = Fixture::filled();
    let prompt = "which port does the ledger service listen on?";
    let file = fixture.recall().prompt(prompt, None, NOW, &|_| false).hits[0].file.clone();
    std::fs::write(&file, "changed").unwrap();
    let found = fixture.recall().prompt(prompt, None, NOW, &|_| false);
    assert!(found.hits.is_empty() && found.stale);
    std::fs::remove_file(&file).unwrap();
    assert!(fixture.recall().prompt(prompt, None, NOW, &|_| false).stale);
}

#[test]
fn without_an_index_nothing_is_given_and_that_is_noted() {
    let fixture = Fixture::filled();
    std::fs::remove_dir_all(fixture.index()).unwrap();
    let recall = fixture.recall();
    assert!(recall.degraded().is_some());
    let found =
        recall.prompt("which port does the ledger service listen on?", None, NOW, &|_| false);
    assert!(found.hits.is_empty());
    // If there are no memories, a missing index is not reported.
    assert_eq!(Fixture::empty().recall().degraded(), None);
}

#[test]
fn another_format_version_is_noted_and_replaced() {
    let fixture = Fixture::filled();
    let manifest = fixture.index().join("MANIFEST");
    let mut bytes = std::fs::read(&manifest).unwrap();
    bytes[8] = 9;
    std::fs::write(&manifest, bytes).unwrap();
    let recall = fixture.recall();
    assert!(recall.degraded().unwrap().contains("format version 9"));
    let found =
        recall.prompt("which port does the ledger service listen on?", None, NOW, &|_| false);
    assert!(found.hits.is_empty());
    // The next publisher replaces the index.
    fixture.publish();
    assert_eq!(fixture.recall().degraded(), None);
}

#[test]
fn the_users_own_memories_are_found_in_every_project() {
    let fixture = Fixture::filled();
    fixture.publish_user(&[memory(
        60,
        Kind::Preference,
        "Answer in British spelling",
        "Colour, behaviour, licence.",
    )]);
    let found =
        fixture.recall().prompt("use British spelling in the licence text", None, NOW, &|_| false);
    assert_eq!(found.hits[0].title, "Answer in British spelling");
    assert_eq!(found.hits[0].collection, Collection::User);
    assert_eq!(fixture.recall().start(NOW, 1200).hits[0].title, "Answer in British spelling");
}

#[test]
fn the_start_block_follows_the_plan() {
    let fixture = Fixture::filled();
    let plan = [3, 1, 4];
    fixture.publish_start(&plan);
    let hits = fixture.recall().start(NOW, 1200).hits;
    let expected: Vec<_> = plan.iter().map(|&number| id(number)).collect();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), expected);
}

#[test]
fn search_filters_and_needs_no_gate() {
    let fixture = Fixture::filled();
    let recall = fixture.recall();
    let search = |search: Search| titles_owned(&recall.search(&search, NOW).hits);
    assert!(
        search(Search { text: "port".into(), ..Search::default() })
            .contains(&"The ledger service listens on port 7441".to_owned())
    );
    let only = search(Search { kinds: vec![Kind::Fix], ..Search::default() });
    assert_eq!(only, ["money_fmt needs the macros feature"]);
    let about = search(Search { paths: vec!["import.rs".into()], ..Search::default() });
    assert_eq!(about, ["The invoice importer needs a trailing newline"]);
    let all = search(Search { superseded: true, limit: 100, ..Search::default() });
    assert!(all.contains(&"The ledger service listens on port 7440".to_owned()));
}

fn titles_owned(hits: &[memory_store::recall::Hit]) -> Vec<String> {
    hits.iter().map(|hit| hit.title.clone()).collect()
}

fn turn(session: &str, number: u32, text: &str) -> Passage {
    Passage {
        session: session.into(),
        turn: number,
        at: Timestamp(NOW.0 + i64::from(number)),
        text: text.into(),
        ..Passage::default()
    }
}

#[test]
fn turns_grow_by_segments_that_are_merged() {
    let fixture = Fixture::filled();
    for round in 0..40u32 {
        let mut turns = (0..5).map(|at| {
            turn(
                &format!("session-{round}"),
                at,
                &format!("turn {at} of round {round} about subject{round} and topic{at}"),
            )
        });
        fixture.publish_turns(fixture.added(&mut turns));
        let segments =
            fixture.index_files().iter().filter(|(name, _)| name.starts_with("passages")).count();
        assert!(segments <= 9, "{segments} segments after {round} rounds");
    }
    let find = |text: &str| {
        fixture
            .recall()
            .search(
                &Search { text: text.into(), tier: Tier::Passages, limit: 50, ..Search::default() },
                NOW,
            )
            .hits
    };
    let found = find("subject17 topic2");
    assert_eq!(found[0].text, "turn 2 of round 17 about subject17 and topic2");
    assert_eq!((found[0].session.as_deref(), found[0].turn), (Some("session-17"), 2));
    assert_eq!(find("subject17").len(), 5);

    // A turn that grew replaces its earlier version; adding it again changes nothing.
    let grown =
        || turn("session-17", 2, "turn 2 of round 17 about subject17, now with quaternions");
    fixture.publish_turns(fixture.added(&mut std::iter::once(grown())));
    assert_eq!(find("quaternions").len(), 1);
    assert_eq!(find("subject17").len(), 5);
    assert!(!fixture.publish_turns(fixture.added(&mut std::iter::once(grown()))).changed);

    // A replacement removes all other turns.
    fixture.publish_turns(fixture.replaced(&mut std::iter::once(grown())));
    assert_eq!((find("subject17").len(), find("subject18").len()), (1, 0));
    let bytes: Vec<u8> = fixture.index_files().into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert!(!String::from_utf8_lossy(&bytes).contains("subject18"));
}

#[test]
fn turns_are_brought_portion_by_portion_and_seen_together() {
    let fixture = Fixture::filled();
    let all: Vec<Passage> = (0..9)
        .map(|at| turn("session-1", at, &format!("turn {at} about subject{at} and quaternions")))
        .collect();
    let stage = |mut staged: Staged, portions: &[&[Passage]]| {
        for portion in portions {
            staged.add(None, &mut portion.iter().cloned()).unwrap();
        }
        staged
    };
    let search = |text: &str| {
        let search =
            Search { text: text.into(), tier: Tier::Passages, limit: 50, ..Search::default() };
        fixture.recall().search(&search, NOW).hits.len()
    };
    let index = fixture.index();
    fixture.publish_turns(fixture.replaced(&mut std::iter::once(turn(
        "old",
        0,
        "an old subject9",
    ))));
    let before = Index::open(&index).unwrap().unwrap().manifest;
    let staged = stage(Staged::begin(&index, true).unwrap(), &[&all[..4], &all[2..7]]);
    assert_eq!((search("quaternions"), search("subject9")), (0, 1));
    assert!(fixture.publish_turns(Some(staged)).changed);
    let after = Index::open(&index).unwrap().unwrap().manifest;
    assert_eq!((after.digest, after.gate), (before.digest, before.gate));
    assert_eq!((search("quaternions"), search("subject2"), search("subject9")), (7, 1, 0));

    // Files that were staged but not published are removed. Files of a killed run are removed when the next run begins.
    let unnamed = || {
        let (named, _) = Index::open(&index).unwrap().unwrap().passages();
        let files = fixture.index_files();
        files.iter().filter(|(name, _)| name.starts_with("passages")).count() - named.len()
    };
    for afresh in [false, true] {
        drop(stage(Staged::begin(&index, afresh).unwrap(), &[&all[7..8], &all[8..]]));
        assert_eq!(unnamed(), 0);
        std::mem::forget(stage(Staged::begin(&index, afresh).unwrap(), &[&all[7..]]));
        assert_eq!(unnamed(), 1);
        Staged::begin(&index, afresh).unwrap();
        assert_eq!(unnamed(), 0);
    }
    assert_eq!((search("quaternions"), search("subject8")), (7, 0));
    let staged = stage(Staged::begin(&index, false).unwrap(), &[&all[7..8], &all[8..]]);
    assert!(fixture.publish_turns(Some(staged)).changed);
    assert_eq!((search("quaternions"), search("subject8")), (9, 1));
    assert_eq!(unnamed(), 0);
    // Turns that the index already contains do not change it.
    let staged = stage(Staged::begin(&index, false).unwrap(), &[&all[2..7]]);
    assert!(!fixture.publish_turns(Some(staged)).changed);
    assert!(!fixture.publish().changed);
}

#[test]
fn what_is_brought_goes_with_the_try_where_there_is_no_index_yet_or_none_that_can_be_read() {
    let fixture = Fixture::filled();
    let index = fixture.index();
    let stage = || {
        let mut staged = Staged::begin(&index, true).unwrap();
        staged.add(None, &mut std::iter::once(turn("session-1", 1, "quaternions"))).unwrap();
        staged
    };
    let files = || fixture.index_files().into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    std::fs::remove_dir_all(&index).unwrap();
    std::mem::forget(stage());
    assert!(files().iter().any(|name| name.starts_with("passages")));
    drop(stage());
    assert!(!files().iter().any(|name| name.starts_with("passages")));

    // A later version may have written an unreadable manifest, so the files that it names are unknown and are kept.
    fixture.publish_turns(fixture.replaced(&mut std::iter::once(turn("session-1", 0, "a turn"))));
    let manifest = index.join("MANIFEST");
    let bytes = std::fs::read(&manifest).unwrap();
    let before = files();
    std::fs::write(&manifest, &bytes[..bytes.len() / 2]).unwrap();
    drop(Staged::begin(&index, false).unwrap());
    assert_eq!(files(), before);
}

#[test]
fn turns_are_not_added_to_another_generation_than_they_were_made_for() {
    let fixture = Fixture::filled();
    let staged = |number: u32| {
        let mut staged = Staged::begin(&fixture.index(), false).unwrap();
        staged.add(None, &mut std::iter::once(turn("session-1", number, "quaternions"))).unwrap();
        staged
    };
    let (late, early) = (staged(1), staged(2));
    assert!(fixture.publish_turns(Some(early)).changed);
    let stored = fixture.list();
    let content = common::content(fixture.root(), &stored, Some(late), &[]);
    assert!(Publisher::begin(&fixture.index()).unwrap().publish(content).is_err());
}

#[test]
fn what_publishing_puts_off_is_done_when_there_is_time() {
    let fixture = Fixture::filled();
    let add = |session: u32, turns: u32| {
        let text = |at: u32| format!("turn {at} of session {session} about subject{session}");
        let mut turns = (0..turns).map(|at| turn(&format!("session-{session}"), at, &text(at)));
        fixture.publish_turns(fixture.added(&mut turns));
    };
    let segments = || {
        let (segments, damage) = Index::open(&fixture.index()).unwrap().unwrap().passages();
        assert!(damage.is_none());
        segments.iter().map(Segment::docs).collect::<Vec<_>>()
    };
    let is_unsettled = || build::is_unsettled(&fixture.index(), None).unwrap();
    add(1, 200);
    add(2, 40);
    assert_eq!((segments(), is_unsettled()), (vec![200, 40], false));
    // Merging the segments while publishing would take too long.
    add(3, 120);
    assert_eq!((segments(), is_unsettled()), (vec![200, 160], true));
    let before = Index::open(&fixture.index()).unwrap().unwrap().manifest;
    assert!(build::settle(&fixture.index(), None, None, NOW).unwrap());
    assert!(!build::settle(&fixture.index(), None, None, NOW).unwrap());
    assert_eq!((segments(), is_unsettled()), (vec![360], false));
    let after = Index::open(&fixture.index()).unwrap().unwrap().manifest;
    assert_eq!((after.digest, after.gate), (before.digest, before.gate));
    // No data is lost, in particular no memories and no journal.
    assert!(!fixture.publish().changed);
    let search = |text: &str, tier| {
        let search = Search { text: text.into(), tier, limit: 500, ..Search::default() };
        fixture.recall().search(&search, NOW).hits.len()
    };
    assert_eq!(
        [1, 2, 3].map(|number| search(&format!("subject{number}"), Tier::Passages)),
        [200, 40, 120]
    );
    assert!(search("ledger service", Tier::Memories) > 0);
    let files = fixture.index_files();
    assert_eq!(files.iter().filter(|(name, _)| name.starts_with("passages")).count(), 1);
}

#[test]
fn other_scripts_are_found() {
    let fixture = Fixture::filled();
    for (number, title) in
        [(70, "検索インデックスは毎晩再構築される"), (71, "Кэш сбрасывается после миграции")]
    {
        fixture.write(memory(number, Kind::Fact, title, ""));
    }
    fixture.publish();
    let first = |text: &str| {
        fixture.recall().search(&Search { text: text.into(), ..Search::default() }, NOW).hits[0]
            .title
            .clone()
    };
    assert_eq!(first("インデックスの再構築"), "検索インデックスは毎晩再構築される");
    assert_eq!(first("миграции кэш"), "Кэш сбрасывается после миграции");
}

#[test]
fn a_memory_that_no_longer_holds_is_not_given() {
    let fixture = Fixture::filled();
    let mut old = memory(50, Kind::Fact, "The quota probe is paused", "Until the audit is over.");
    // The memory was valid when the index was published, and has expired since.
    old.valid_until = Some(Timestamp(NOW.0 + 1));
    fixture.write(old.clone());
    fixture.publish();
    let asked = |now: Timestamp| {
        let found = fixture.recall().prompt("is the quota probe paused?", None, now, &|_| false);
        (titles(&found.hits).len(), found.silent)
    };
    assert_eq!(asked(NOW), (1, None));
    assert_eq!(
        asked(Timestamp(NOW.0 + 2)),
        (0, Some(SilenceReason::LeftOut(CandidateOutcome::Expired)))
    );
    old.valid_until = Some(Timestamp(NOW.0 - 1));
    fixture.write(old);
    let docs = fixture.publish().memories;
    assert_eq!(docs as usize, fixture.list().len() - 1);
    assert_eq!(asked(NOW).0, 0);
}

#[test]
fn a_memory_is_found_by_the_index_where_its_file_is_as_it_was_read() {
    use std::fs;

    let fixture = Fixture::filled();
    let store = Store::open(&fixture.dirs, &fixture.tree).unwrap();
    let user = Store::user(&fixture.dirs).unwrap();
    let find = |id: &str| {
        let files = fixture.recall().files(&[Collection::Memories, Collection::User], usize::MAX);
        let found = Store::find_indexed(&[&store, &user], &[id], &files.unwrap())?;
        found.into_iter().next().map(|stored| stored.memory.title)
    };
    let all = fixture.list();
    let (first, other) = (&all[0], &all[1]);
    let id = first.memory.id.to_string();
    assert_eq!(find(&id), Some(first.memory.title.clone()));
    assert_eq!(find(&id[id.len() - 3..]), None, "too short for an id");

    // Files that were added after the index was published are read as well.
    let mut twin = first.memory.clone();
    twin.title = "Another one".to_owned();
    let twin = fixture.write(twin);
    assert_eq!(find(&id), None, "two have this id");
    fs::remove_file(&twin.path).unwrap();
    let mut name = first.path.file_name().unwrap().to_str().unwrap().to_uppercase();
    name.truncate(name.len() - 3);
    let alike = first.path.with_file_name(format!("{name}.md"));
    fs::write(&alike, "no memory").unwrap();
    assert_eq!(find(&id), None, "where case makes no difference this may be the same file");
    fs::remove_file(&alike).unwrap();
    assert_eq!(find(&id), Some(first.memory.title.clone()));

    // A changed file does not match the index.
    let text = fs::read_to_string(&first.path).unwrap();
    fs::write(&first.path, text.replace(&id, &MemoryId(*b"another new id..").to_string())).unwrap();
    assert_eq!(find(&id), None);
    let other_id = other.memory.id.to_string();
    assert_eq!(find(&other_id), Some(other.memory.title.clone()));
    fs::remove_file(&other.path).unwrap();
    assert_eq!(find(&other_id), None);
}
