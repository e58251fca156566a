//! Consolidation, one behaviour at a time.

use memory_store::memory::{CommandRecord, SaidBy, Scope};
use memory_store::settings::Settings;
use memory_store::{Kind, Memory, MemoryId, ProjectId, Timestamp};

use super::{Mined, consolidate};
use crate::extract::draft::{Draft, Effect};

pub(crate) fn draft(session: &str, at: i64, kind: Kind, title: &str, body: &str) -> Draft {
    Draft {
        kind,
        title: title.to_owned(),
        body: body.to_owned(),
        scope: Scope::Project,
        occurred: Timestamp(at),
        confidence: 0.7,
        session: session.to_owned(),
        turns: vec![format!("{session}-{at}")],
        ordinal: 0,
        quote: title.to_owned(),
        said_by: SaidBy::User,
        paths: vec!["src/a.py".to_owned()],
        tags: Vec::new(),
        signatures: Vec::new(),
        command: None,
        extractor: "rules/1".to_owned(),
        worth: 1.0,
        importance: None,
        standing: false,
        cues: Vec::new(),
        effect: Effect::New,
    }
}

fn consolidated(drafts: &[Draft]) -> Vec<Memory> {
    let mut mined: Vec<Mined> = Vec::new();
    for draft in drafts {
        match mined.iter_mut().find(|mined| mined.session == draft.session) {
            Some(mined) => mined.drafts.push(draft.clone()),
            None => mined.push(Mined {
                session: draft.session.clone(),
                turns: 4,
                windows: 0,
                drafts: vec![draft.clone()],
            }),
        }
    }
    consolidate(ProjectId([1; 16]), &mined, &Settings::default())
}

fn command(session: &str, at: i64, passed: u32) -> Draft {
    let record = CommandRecord {
        line: "make test".to_owned(),
        directory: ".".to_owned(),
        exit_status: 0,
        passed,
        last: Timestamp(at),
    };
    Draft {
        command: Some(record),
        effect: Effect::Confirms { key: "command . make test".to_owned() },
        ..draft(session, at, Kind::Command, "`make test` runs the tests", "")
    }
}

#[test]
fn the_order_of_sessions_does_not_matter() {
    let mut drafts = vec![
        draft("b", 20, Kind::Preference, "Never log phone numbers", "Mask them."),
        draft(
            "a",
            10,
            Kind::Decision,
            "Keep carts in the database",
            "Because a closed tab lost them.",
        ),
        command("a", 11, 1),
        command("b", 21, 2),
    ];
    let one = consolidated(&drafts);
    drafts.reverse();
    assert_eq!(consolidated(&drafts), one);
}

#[test]
fn commands_add_up_over_sessions() {
    let memories = consolidated(&[command("a", 11, 1), command("b", 21, 2)]);
    assert_eq!(memories.len(), 1);
    let record = memories[0].command.as_ref().unwrap();
    assert_eq!((record.passed, record.last), (2, Timestamp(21)));
    assert_eq!(memories[0].created, Timestamp(11));
    let later = consolidated(&[command("a", 11, 1), command("b", 21, 2), command("a", 31, 4)]);
    let record = later[0].command.as_ref().unwrap();
    assert_eq!((record.passed, record.last), (4, Timestamp(31)));
}

#[test]
fn the_memory_of_a_command_changes_once_it_passed_twice_as_often() {
    let of = |runs: i64| {
        let drafts: Vec<Draft> = (1..=runs).map(|at| command("a", at, 1)).collect();
        consolidated(&drafts)
    };
    let changes: Vec<i64> = (3..=40).filter(|&runs| of(runs) != of(runs - 1)).collect();
    assert_eq!(changes, [4, 8, 16, 32]);
    // A session that goes on is one draft, which grows.
    let growing = |passed: u32| command("b", 50, passed);
    for (before, expected) in
        [(vec![], vec![4, 8, 16, 32]), (vec![command("a", 1, 3)], vec![5, 13, 29])]
    {
        let of = |passed| consolidated(&[before.clone(), vec![growing(passed)]].concat());
        let changes: Vec<u32> = (3..=40).filter(|&runs| of(runs) != of(runs - 1)).collect();
        assert_eq!(changes, expected);
    }
}

#[test]
fn a_command_for_a_part_is_left_out_where_one_for_all_is_known() {
    let of = |line: &str| {
        let mut draft = command("a", 1, 5);
        let record = draft.command.as_mut().unwrap();
        line.clone_into(&mut record.line);
        draft.effect = Effect::Confirms { key: format!("command . {line}") };
        draft.turns = vec![line.to_owned()];
        draft
    };
    let lines = |drafts: &[Draft]| -> Vec<String> {
        let memories = consolidated(drafts);
        memories.iter().filter_map(|it| Some(it.command.as_ref()?.line.clone())).collect()
    };
    let [all, part, other] =
        ["go test ./...", "go test ./store/... ./sync/...", "go vet ./store/..."].map(of);
    assert_eq!(lines(&[all, part.clone(), other]), ["go test ./...", "go vet ./store/..."]);
    assert_eq!(lines(&[part]), ["go test ./store/... ./sync/..."]);
}

#[test]
fn a_wish_said_twice_is_surer_and_one_memory() {
    let memories = consolidated(&[
        draft("a", 10, Kind::Preference, "Never log phone numbers", ""),
        draft("b", 20, Kind::Preference, "Never log phone numbers", ""),
    ]);
    assert_eq!(memories.len(), 1);
    assert!(memories[0].confidence > 0.7);
    assert_eq!(memories[0].source.turns, ["a-10", "b-20"]);
}

#[test]
fn rules_that_differ_in_a_number_a_flag_or_a_file_stay_two() {
    for (one, other) in [
        ("Retry the upload 3 times before giving up", "Retry the upload 5 times before giving up"),
        (
            "Run the linter with --fix before each commit",
            "Run the linter with --strict before each commit",
        ),
        (
            "Put new settings into conf/web.toml and nowhere else",
            "Put new settings into conf/db.toml and nowhere else",
        ),
    ] {
        let memories = consolidated(&[
            draft("a", 10, Kind::Preference, one, ""),
            draft("b", 20, Kind::Preference, other, ""),
        ]);
        assert_eq!(memories.len(), 2, "{one}");
    }
}

#[test]
fn a_later_choice_about_the_same_thing_supersedes() {
    let memories = consolidated(&[
        draft(
            "a",
            10,
            Kind::Decision,
            "Group the order list by customer",
            "One header for each customer.",
        ),
        draft(
            "b",
            20,
            Kind::Decision,
            "Group the order list by day instead",
            "Replaces the grouping by customer.",
        ),
    ]);
    assert_eq!(memories[0].superseded_by, Some(memories[1].id));
    assert_eq!(memories[1].supersedes, [memories[0].id]);
}

#[test]
fn another_value_of_the_same_thing_is_kept_and_noted() {
    let said = |session: &str, at, title: &str, path: &str| {
        let mut draft = draft(session, at, Kind::Decision, title, "");
        draft.paths = vec![path.to_owned()];
        draft
    };
    let helm = said("a", 1, "The shop is deployed with Helm", "ops/deploy.sh");
    let check = |title: &str, path: &str| {
        let memories = consolidated(&[helm.clone(), said("b", 2, title, path)]);
        assert_eq!(memories.len(), 2);
        let links: Vec<MemoryId> = memories[1].relations.iter().map(|link| link.to).collect();
        assert!(memories[0].relations.is_empty());
        (memories[0].superseded_by == Some(memories[1].id), links == [memories[0].id])
    };
    let other = "The shop is deployed with Kustomize";
    assert_eq!(check(other, "ops/run.sh"), (false, true));
    assert_eq!(check("The shop is now deployed with Kustomize", "ops/run.sh"), (true, false));
    assert_eq!(check(other, "web/run.sh"), (false, false));
}

#[test]
fn details_are_superseded_with_their_work() {
    let by_customer = "Group the order list by customer";
    let memories = consolidated(&[
        draft(
            "a",
            10,
            Kind::Decision,
            by_customer,
            "One header with the number of bags stands above each household on the van.",
        ),
        draft(
            "a",
            11,
            Kind::Decision,
            &format!("{by_customer}: edge cases"),
            "Guests come last, below everybody else; nothing at all is shown when nobody bought.",
        ),
        draft(
            "b",
            20,
            Kind::Decision,
            "Group the order list by day instead",
            "Replaces the grouping by customer.",
        ),
    ]);
    assert_eq!(memories[0].superseded_by, Some(memories[2].id));
    assert_eq!(memories[1].superseded_by, Some(memories[2].id));
}

#[test]
fn a_fix_that_was_refuted_is_withdrawn() {
    let key = "fix importerror".to_owned();
    let fix = Draft {
        effect: Effect::Confirms { key: key.clone() },
        ..draft("a", 10, Kind::Fix, "`make` failed: ImportError", "`make clean` worked instead.")
    };
    let refuted = Draft { effect: Effect::Refutes { key }, ..draft("b", 20, Kind::Fix, "", "") };
    assert_eq!(consolidated(std::slice::from_ref(&fix)).len(), 1);
    assert_eq!(consolidated(&[fix, refuted]), []);
}

#[test]
fn a_session_keeps_its_best_within_its_budget() {
    let texts = [
        "alpha beta",
        "gamma delta",
        "epsilon zeta",
        "eta theta",
        "iota kappa",
        "lambda mu",
        "nu xi",
        "omicron pi",
        "rho sigma",
        "tau upsilon",
    ];
    let drafts: Vec<Draft> = texts
        .iter()
        .zip(1i64..)
        .map(|(text, at)| Draft { worth: at as f32, ..draft("a", at, Kind::Session, text, "") })
        .collect();
    let memories = consolidated(&drafts);
    assert_eq!(memories.len(), 3);
    assert_eq!(memories[0].title, "omicron pi");
}
