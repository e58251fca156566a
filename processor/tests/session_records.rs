//! Session records as read after a sync: the handoff, the open items, and the remains of a session whose turns were
//! removed.

use std::fs;

use memory_store::handoff::Handoff;
use processor::session_records::{self, OpenKind, open_items};
use processor::sync::{SyncOptions, sync};
use processor::upkeep::purge::{PurgeTarget, purge};
use serde_json::json;

use crate::scripts::{Script, Sealed};

/// Returns a session on this day that writes a file and has an open task and an unanswered question.
fn working(sealed: &Sealed, session: &str, day: &str) -> Script {
    let mut script = Script::new(session, sealed.root()).starting(&format!("{day}T09:00:00Z"));
    script.prompt("Book each refund once");
    let items = json!([
        {"content": "Add a key to each refund", "status": "completed", "activeForm": "Adding"},
        {"content": "Backfill the keys of old refunds", "status": "pending", "activeForm": "Filling"},
    ]);
    let id = script.call("TodoWrite", json!({ "todos": items }));
    script.result(&id, "Todos have been modified", json!({ "newTodos": items }));
    script.edit(&format!("{}/src/refund.rs", sealed.root()), "f64", "Cents");
    script.bash("make test", "12 passed");
    script.say("Each refund is booked once now.\n\nShall the nightly job retry failed refunds?");
    script
}

fn handed_off(sealed: &Sealed) -> Vec<String> {
    let handoff = Handoff::read(&sealed.dirs.tree(&sealed.tree.root).handoff);
    handoff.sessions.into_iter().map(|left| left.session).collect()
}

#[test]
fn a_session_that_only_answered_does_not_take_over_the_handoff() {
    let sealed = Sealed::new();
    sealed.write_script(&working(&sealed, "worked", "2026-11-18"));
    let mut asked = Script::new("asked", sealed.root()).starting("2026-11-19T09:00:00Z");
    asked.prompt("How often is a refund booked?");
    asked.bash("grep -c refund src/refund.rs", "7");
    asked.say("Once, by the importer.");
    sealed.write_script(&asked);
    sealed.sync();
    assert_eq!(handed_off(&sealed), ["worked"]);
    let home = sealed.dirs.project(sealed.tree.project);
    let records = session_records::read(&home);
    let listed: Vec<_> = records.iter().map(|it| (it.session.as_str(), it.changed)).collect();
    assert_eq!(listed, [("asked", false), ("worked", true)]);
    // When the session changes a file, it becomes the last session in the handoff.
    asked.prompt("Rename it to booking, please");
    asked.edit(&format!("{}/src/refund.rs", sealed.root()), "refund", "booking");
    asked.say("Renamed.");
    sealed.write_script(&asked);
    sealed.sync();
    assert_eq!(handed_off(&sealed), ["asked", "worked"]);
}

#[test]
fn sessions_of_another_folder_are_handed_off_only_while_there_is_no_own() {
    let sealed = Sealed::new();
    let given = sealed.base.join("given");
    fs::create_dir_all(&given).unwrap();
    let brought = working(&sealed, "brought", "2026-11-20");
    fs::write(given.join("brought.jsonl"), brought.text()).unwrap();
    sync(&SyncOptions { from: Some(&given), ..sealed.options() }).unwrap();
    assert_eq!(handed_off(&sealed), ["brought"]);
    sealed.write_script(&working(&sealed, "own", "2026-11-18"));
    sealed.sync();
    assert_eq!(handed_off(&sealed), ["own"]);
}

#[test]
fn what_a_session_left_open_is_settled_by_a_later_one() {
    let sealed = Sealed::new();
    let home = sealed.dirs.project(sealed.tree.project);
    let open = || -> Vec<(OpenKind, String)> {
        let items = open_items(&session_records::read(&home));
        items.into_iter().map(|item| (item.kind, item.text)).collect()
    };
    sealed.write_script(&working(&sealed, "first", "2026-11-18"));
    sealed.sync();
    let question = "Shall the nightly job retry failed refunds?".to_owned();
    let task = "Backfill the keys of old refunds".to_owned();
    assert_eq!(open(), [(OpenKind::Question, question), (OpenKind::Task, task.clone())]);
    let mut next = Script::new("second", sealed.root()).starting("2026-11-19T09:00:00Z");
    next.prompt("Yes, retry them at night");
    next.edit(&format!("{}/src/job.rs", sealed.root()), "once", "twice");
    next.say("They are retried.");
    sealed.write_script(&next);
    sealed.sync();
    assert_eq!(open(), [(OpenKind::Task, task)]);
    next.prompt("Now the old keys");
    next.bash("git commit -am 'Backfill keys for old refunds'", "[main 1a2b3c4] Backfill keys");
    sealed.write_script(&next);
    sealed.sync();
    assert_eq!(open(), []);
}

#[test]
fn a_record_stays_when_turns_expire_and_goes_with_a_purge() {
    let sealed = Sealed::new();
    let home = sealed.dirs.project(sealed.tree.project);
    sealed.write_script(&working(&sealed, "old", "2026-09-01"));
    sealed.write_script(&working(&sealed, "new", "2026-11-20"));
    sealed.sync();
    let mut expected = session_records::read(&home);
    // These texts are removed together with the turns.
    expected.iter_mut().filter(|it| it.session == "old").for_each(|old| old.forget_turns());
    fs::create_dir_all(&sealed.dirs.config).unwrap();
    fs::write(sealed.dirs.config_file(), "retention_days = 20\n").unwrap();
    assert_eq!(sealed.sync().expired, 1);
    assert_eq!(session_records::read(&home), expected);
    for session in ["old", "new"] {
        purge(&sealed.options(), &PurgeTarget::Session(session.to_owned())).unwrap();
    }
    assert_eq!(session_records::read(&home), []);
}

/// The secret is recognisable only after Markdown is removed from the text.
#[test]
fn a_record_holds_no_secret() {
    let sealed = Sealed::new();
    let mut script = working(&sealed, "s", "2026-11-20");
    script.prompt("Set the token ghp_**16C7e42F292c6912E7710c838347Ae178B4a** in the header");
    script.edit(&format!("{}/src/a.rs", sealed.root()), "a", "b");
    script.say("Set.");
    sealed.write_script(&script);
    sealed.sync();
    let records = session_records::read(&sealed.dirs.project(sealed.tree.project));
    let text = serde_json::to_string(&records).unwrap();
    assert!(text.contains("in the header"), "{text}");
    assert!(!text.contains("16C7e42F292c6912E7710c838347Ae178B4a"), "{text}");
}
