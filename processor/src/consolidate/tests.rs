use memory_store::memory::{SaidBy, Scope};
use memory_store::settings::Settings;
use memory_store::{Kind, Memory, MemoryId, ProjectId, Timestamp};

use super::{Mined, Relations, consolidate};
use crate::extract::draft::Draft;

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
        extractor: "rules/1".to_owned(),
        worth: 1.0,
        importance: None,
        standing: false,
        cues: Vec::new(),
        entities: Vec::new(),
        facts: Vec::new(),
        topic: None,
    }
}

fn consolidated(drafts: &[Draft]) -> Vec<Memory> {
    let mut mined: Vec<Mined> = Vec::new();
    for draft in drafts {
        match mined.iter_mut().find(|mined| mined.session == draft.session) {
            Some(mined) => mined.drafts.push(draft.clone()),
            None => mined.push(Mined {
                session: draft.session.clone(),
                windows: 0,
                drafts: vec![draft.clone()],
            }),
        }
    }
    consolidate(ProjectId([1; 16]), &mined, &Settings::default(), &Relations::default())
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
    ];
    let one = consolidated(&drafts);
    drafts.reverse();
    assert_eq!(consolidated(&drafts), one);
}

#[test]
fn a_wish_stated_twice_has_more_confidence_and_is_one_memory() {
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
fn what_two_sessions_say_has_the_names_and_facts_of_both() {
    use memory_store::memory::Fact;
    let fact = |object: &str, from: Option<i64>| Fact {
        subject: "carts".to_owned(),
        predicate: "live in".to_owned(),
        object: object.to_owned(),
        from: from.map(Timestamp),
        to: None,
        confidence: None,
    };
    let title = "Carts are kept in Redis so that a restart loses none of them";
    let of = |session: &str, at, entities: &[&str], facts: Vec<Fact>, topic: &str| Draft {
        importance: Some(0.8),
        standing: true,
        entities: entities.iter().map(|&name| name.to_owned()).collect(),
        facts,
        topic: Some(topic.to_owned()).filter(|topic| !topic.is_empty()),
        ..draft(session, at, Kind::Fact, title, "")
    };
    let drafts = [
        of("a", 1_000, &["Redis"], vec![fact("Redis", None)], ""),
        of(
            "b",
            2_000,
            &["redis (service)", "cart (component)"],
            vec![fact("redis", Some(5)), fact("memory", None)],
            "carts/storage",
        ),
        of("c", 3_000, &["Redis (tool)"], Vec::new(), "carts/other"),
    ];
    let mined = drafts.map(|draft| Mined {
        session: draft.session.clone(),
        windows: 1,
        drafts: vec![draft],
    });
    let memories =
        consolidate(ProjectId([1; 16]), &mined, &Settings::default(), &Relations::default());
    let [memory] = &memories[..] else { panic!("{memories:?}") };
    assert_eq!(memory.entities, ["Redis (service)", "cart (component)"]);
    assert_eq!(memory.facts, [fact("Redis", Some(5)), fact("memory", None)]);
    assert_eq!(memory.topic.as_deref(), Some("carts/storage"));
}
