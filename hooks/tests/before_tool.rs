//! Tests of the hook before a tool call: guards, and memories that limit an edit or a command.

use std::fs;

use crate::common::{BEFORE_TOOL, NOW, Ran, TOOL, World, memories};
use memory_store::guards::{self, GuardState};
use memory_store::memory::{Guard, GuardAction};
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use serde_json::{Value, json};

fn call(world: &World, session: &str, tool: &str, input: Value) -> Ran {
    let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": "toolu_3"});
    world.run(BEFORE_TOOL, &world.payload("PreToolUse", session, more))
}

fn bash(world: &World, session: &str, command: &str) -> Ran {
    call(world, session, "Bash", json!({"command": command, "description": "x"}))
}

fn edit(world: &World, session: &str, file: &str, new: &str) -> Ran {
    let path = world.root.join(file);
    call(world, session, "Edit", json!({"file_path": path, "old_string": "a", "new_string": new}))
}

/// Returns the decision and its reason.
fn decision(ran: &Ran) -> Option<(String, String)> {
    let output: Value = serde_json::from_str(&ran.stdout()).ok()?;
    let specific = &output["hookSpecificOutput"];
    assert_eq!(specific["hookEventName"], "PreToolUse");
    let text = |key: &str| specific[key].as_str().map(str::to_owned);
    Some((text("permissionDecision")?, text("permissionDecisionReason")?))
}

fn memory(number: u8, kind: Kind, title: &str, body: &str) -> Memory {
    let created = Timestamp::parse("2026-09-20T10:00:00Z").unwrap();
    Memory::new(MemoryId::new(created, [number; 10]), kind, title, body, created)
}

/// Returns a project in which a memory has an accepted guard.
fn guarded(action: GuardAction, command: &str) -> World {
    let world = World::trusted();
    let mut rule = memory(50, Kind::Preference, "Never force a push", "It lost work in May.");
    let command = Some(command.to_owned());
    rule.guards = vec![Guard { action, command, path: None, content: None, branch: None }];
    let mut all = memories();
    all.push(rule.clone());
    world.publish(&all, &Settings::default());
    let mut reviewed = Reviewed::default();
    reviewed.accept_guard(rule.id, &rule.guards[0], true);
    guards::write([(&rule, false)], &reviewed, &world.state(), Timestamp::parse(NOW).unwrap())
        .unwrap();
    world
}

#[test]
fn a_denied_call_is_denied_each_time_with_the_users_words() {
    let world = guarded(GuardAction::Deny, "git push --force*");
    for _ in 0..2 {
        let (what, reason) =
            decision(&bash(&world, "a", "cd x && git push -f origin main")).unwrap();
        assert_eq!(what, "deny");
        assert!(reason.contains("Never force a push. It lost work in May."), "{reason}");
    }
    assert_eq!(decision(&bash(&world, "a", "git push origin main")), None);
    let receipts = world.receipts();
    assert_eq!(receipts.len(), 2);
    assert_eq!(receipts[0]["event"], "PreToolUse");
    assert_eq!(receipts[0]["memories"][0]["why"], "guard: denied");
}

#[test]
fn a_paused_call_passes_when_repeated() {
    let world = guarded(GuardAction::Pause, "git push --force*");
    let (what, reason) = decision(&bash(&world, "a", "git push -f")).unwrap();
    assert_eq!(what, "deny");
    assert!(reason.contains("repeat it unchanged"), "{reason}");
    assert_eq!(decision(&bash(&world, "a", "git push -f")), None);
    assert_eq!(decision(&bash(&world, "a", "git push -f other")).unwrap().0, "deny");
    assert_eq!(decision(&bash(&world, "b", "git push -f")).unwrap().0, "deny");
}

#[test]
fn a_call_is_not_paused_where_the_pause_cannot_be_recorded() {
    let world = guarded(GuardAction::Pause, "git push --force*").with("THROUGHLINE", "read");
    assert_eq!(decision(&bash(&world, "a", "git push -f")), None);
}

#[test]
fn the_user_is_asked_or_the_model_warned() {
    let world = guarded(GuardAction::Ask, "git push --force*");
    assert_eq!(decision(&bash(&world, "a", "git push -f")).unwrap().0, "ask");
    let world = guarded(GuardAction::Warn, "git push --force*");
    let warned = bash(&world, "a", "git push -f").context("PreToolUse");
    assert!(warned.contains("Never force a push"), "{warned}");
    assert_eq!(bash(&world, "a", "git push -f").stdout(), "", "each once in a session");
}

#[test]
fn a_guard_has_no_effect_before_the_user_accepted_it() {
    let mut rule = memory(50, Kind::Preference, "Never force a push", "");
    let command = Some("git push".to_owned());
    rule.guards =
        vec![Guard { action: GuardAction::Deny, command, path: None, content: None, branch: None }];
    let now = Timestamp::parse(NOW).unwrap();
    let mut reviewed = Reviewed::default();
    let state = |reviewed: &Reviewed, rule: &Memory, from_repository| {
        guards::state(reviewed, rule, &rule.guards[0], from_repository, now)
    };
    assert_eq!(state(&reviewed, &rule, false), GuardState::NotAccepted);
    reviewed.accept_guard(rule.id, &rule.guards[0], false);
    let asks = GuardState::InForce(GuardAction::Ask);
    assert_eq!(state(&reviewed, &rule, false), asks, "a guard of others never denies");
    reviewed.accept_guard(rule.id, &rule.guards[0], true);
    assert_eq!(state(&reviewed, &rule, false), GuardState::InForce(GuardAction::Deny));
    assert_eq!(state(&reviewed, &rule, true), asks, "others changed the memory");
    rule.guards[0].command = Some("git".to_owned());
    assert_eq!(state(&reviewed, &rule, false), GuardState::Changed);
    reviewed.revoke_guards(rule.id);
    assert_eq!(state(&reviewed, &rule, false), GuardState::NotAccepted);
}

#[test]
fn a_damaged_file_of_guards_stops_nothing() {
    let world = guarded(GuardAction::Deny, "git push");
    for bytes in [&b"git\tx\ty"[..], b"\xff\xfe\x00", &b"\t".repeat(1000), b"git"] {
        fs::write(&world.state().guards, bytes).unwrap();
        assert_eq!(bash(&world, "a", "git push -f").stdout(), "");
    }
    fs::remove_file(&world.state().guards).unwrap();
    fs::create_dir(&world.state().guards).unwrap();
    assert_eq!(bash(&world, "a", "git push -f").stdout(), "");
}

#[test]
fn an_edit_brings_what_limits_it_before_the_read_does() {
    let world = World::with_memories();
    let given = edit(&world, "a", "src/rounding.rs", "x").context("PreToolUse");
    assert!(given.contains("is generated by build.rs"), "{given}");
    let after = json!({
        "tool_name": "Edit", "tool_use_id": "toolu_3",
        "tool_input": {"file_path": world.root.join("src/rounding.rs")}, "tool_response": {},
    });
    let after = world.run(TOOL, &world.payload("PostToolUse", "a", after));
    assert_eq!(after.stdout(), "", "it was given before the edit");
    assert_eq!(edit(&world, "b", "src/other.rs", "x").stdout(), "");
    // A fix of an error limits no edit.
    assert_eq!(edit(&world, "b", "src/lib.rs", "x").stdout(), "");
}

#[test]
fn a_rejected_dependency_is_recalled_when_it_is_added_again() {
    let world = World::trusted();
    let mut all = memories();
    all.push(memory(51, Kind::Decision, "Day.js instead of moment", "Moment is not maintained."));
    all.push(memory(
        52,
        Kind::FailedApproach,
        "Caching with `make warm`",
        "`make warm` ran out of memory.",
    ));
    world.publish(&all, &Settings::default());
    let given = bash(&world, "a", "npm install --save moment@2.30").context("PreToolUse");
    assert!(given.contains("Day.js instead of moment"), "{given}");
    let given = edit(&world, "b", "src/a.ts", "import moment from 'moment';").context("PreToolUse");
    assert!(given.contains("Day.js instead of moment"), "{given}");
    assert_eq!(bash(&world, "c", "npm install dayjs").stdout(), "");
    let given = bash(&world, "d", "make warm && ls").context("PreToolUse");
    assert!(given.contains("ran out of memory"), "{given}");
    assert_eq!(bash(&world, "e", "make && git status").stdout(), "");
}
