//! Memories that repeat, replace or contradict others: the questions of `add`, and decisions in `review`.

use serde_json::{Value, json};

use crate::common::Machine;

const HELM: &str = "We deploy with Helm";
const KUSTOMIZE: &str = "We deploy with Kustomize";

fn ready() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

fn add(machine: &Machine, args: &[&str]) -> Value {
    machine.json(&[&["add", "--json", "--kind", "decision"], args].concat())
}

fn show(machine: &Machine, added: &Value) -> Value {
    machine.json(&["show", added["short"].as_str().unwrap(), "--json"])[0].clone()
}

fn short(added: &Value) -> &str {
    added["short"].as_str().unwrap()
}

#[test]
fn what_is_near_is_named_and_replaced_on_request() {
    let machine = ready();
    let helm = add(&machine, &[HELM]);
    assert_eq!(helm["neighbours"], json!([]));
    for title in ["The tide table has no leap days", "The shop is open at noon"] {
        add(&machine, &[title]);
    }
    let kustomize = add(&machine, &[KUSTOMIZE]);
    let near = kustomize["neighbours"].as_array().unwrap();
    assert_eq!(near.len(), 1, "{near:?}");
    assert_eq!((&near[0]["id"], &near[0]["relation"]), (&helm["id"], &json!("newer-value")));
    let said = machine.ok(&["add", "--kind", "decision", KUSTOMIZE]);
    assert!(
        said.contains(&format!("It differs in a value from {}: {HELM}", short(&helm))),
        "{said}"
    );
    assert!(said.contains("--supersedes ID") && said.contains("--both"), "{said}");
    assert_eq!(show(&machine, &kustomize)["relations"][0]["to"], helm["id"]);

    assert_eq!(machine.run(&["add", KUSTOMIZE, "--supersedes", "zzzzzz"]).code, 3);
    let said = machine.ok(&["add", "--kind", "decision", KUSTOMIZE, "--supersedes", short(&helm)]);
    assert!(
        said.contains(&format!("Replaced: {} by {}", short(&helm), short(&kustomize))),
        "{said}"
    );
    assert_eq!(show(&machine, &helm)["superseded_by"], kustomize["id"]);
    let now = show(&machine, &kustomize);
    assert_eq!((&now["supersedes"], now.get("relations")), (&json!([helm["id"]]), None));
    let found = machine.json(&["search", "deploy with Helm", "--json"]);
    assert_eq!(found["hits"][0]["id"], kustomize["id"], "{found:#}");
}

#[test]
fn a_person_is_asked_how_they_go_together() {
    let machine = ready();
    let helm = add(&machine, &[HELM]);
    let question = "How do they go together?";
    let asked = |title: &str, keys: &str| {
        machine.at_terminal(&["add", "--kind", "decision", title], &[(question, keys)])
    };
    // The memory is a duplicate, so the first choice adds nothing.
    let shown = asked("Deploy with Helm!", "\r");
    assert!(shown.contains("says the same as") && shown.contains("Nothing was added"), "{shown}");
    let titles = || machine.ok(&["list", "--json"]).matches("\"title\"").count();
    assert_eq!(titles(), 1);
    // Enter without a choice keeps both memories.
    let shown = asked(KUSTOMIZE, "\r");
    assert!(shown.contains("differs in a value from") && shown.contains("Added"), "{shown}");
    assert_eq!(titles(), 2);
    assert_eq!(show(&machine, &helm).get("superseded_by"), None);
    let shown = asked("We now deploy with Nomad instead of Helm", "\r");
    assert!(shown.contains("seems to replace") && shown.contains("Replaced: "), "{shown}");
    assert!(show(&machine, &helm)["superseded_by"].is_string());
}

#[test]
fn what_a_forgotten_memory_had_replaced_holds_again() {
    let machine = ready();
    let helm = add(&machine, &[HELM]);
    machine.ok(&["add", "--kind", "decision", KUSTOMIZE, "--supersedes", short(&helm)]);
    let by = |of: &Value| show(&machine, of).get("superseded_by").cloned();
    let kustomize = by(&helm).unwrap();
    let flux = ["add", "--kind", "decision", "We deploy with Flux", "--supersedes"];
    machine.ok(&[&flux[..], &[kustomize.as_str().unwrap()]].concat());
    let flux = show(&machine, &json!({"short": kustomize}))["superseded_by"].clone();
    let said = machine.ok(&["forget", kustomize.as_str().unwrap()]);
    assert!(!said.contains("holds again"), "{said}");
    assert_eq!(by(&helm), Some(flux.clone()));
    let said = machine.ok(&["forget", flux.as_str().unwrap()]);
    assert!(said.contains("It had replaced") && said.contains("holds again"), "{said}");
    assert_eq!(by(&helm), None);
}

#[test]
fn contradictions_are_shown_with_both_sides_and_settled_by_key() {
    let pair = || {
        let machine = ready();
        let (helm, kustomize) = (add(&machine, &[HELM]), add(&machine, &[KUSTOMIZE]));
        (machine, helm, kustomize)
    };
    let key = "[q]uit > ";
    let (machine, helm, kustomize) = pair();
    let waits = machine.json(&["review", "--json"]);
    assert_eq!(waits[0]["contradicts"], json!([helm["id"]]), "{waits:#}");
    let said = machine.ok(&["review"]);
    assert!(said.contains("1 pair that may contradict") && said.contains(HELM), "{said}");
    let shown = machine.at_terminal(&["review"], &[(key, "n")]);
    assert!(shown.contains(HELM) && shown.contains(KUSTOMIZE), "{shown}");
    let shown = machine.at_terminal(&["review"], &[(key, "1"), ("done > ", "q")]);
    assert!(shown.contains("Replaced: "), "{shown}");
    assert_eq!(show(&machine, &helm)["superseded_by"], kustomize["id"]);
    assert_eq!(show(&machine, &kustomize)["supersedes"], json!([helm["id"]]));
    assert_eq!(machine.remark(&["review"]), "Nothing is to be reviewed.\n");

    let (machine, helm, kustomize) = pair();
    machine.at_terminal(&["review"], &[(key, "2"), ("done > ", "q")]);
    assert_eq!(show(&machine, &kustomize)["superseded_by"], helm["id"]);

    let (machine, helm, kustomize) = pair();
    machine.at_terminal(&["review"], &[(key, "b"), ("done > ", "q")]);
    assert_eq!(machine.remark(&["review"]), "Nothing is to be reviewed.\n");
    assert_eq!(show(&machine, &helm).get("superseded_by"), None);
    assert_eq!(show(&machine, &kustomize).get("superseded_by"), None);

    // The decision is made by an option, without a terminal.
    let (machine, helm, kustomize) = pair();
    machine.ok(&["review", "--prefer", short(&helm)]);
    assert_eq!(show(&machine, &kustomize)["superseded_by"], helm["id"]);
    assert_eq!(machine.run(&["review", "--prefer", short(&helm)]).code, 1);
    let (machine, helm, _) = pair();
    machine.ok(&["review", "--both", short(&helm)]);
    assert_eq!(machine.remark(&["review"]), "Nothing is to be reviewed.\n");
}

#[test]
fn until_somebody_decides_the_newer_one_alone_is_given_with_a_label() {
    let machine = ready();
    let (helm, kustomize) = (add(&machine, &[HELM]), add(&machine, &[KUSTOMIZE]));
    let ids = |args: &[&str]| -> Vec<String> {
        let found = machine.json(&[&["search", "--json"], args].concat());
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
    };
    let both = |ids: &[String]| ids.len() == 2;
    let label = format!("differs from {} \"{HELM}\": not decided", short(&helm));
    // The decision applies immediately through the journal, and after a sync through the index.
    for _ in 0..2 {
        assert_eq!(ids(&["deploy with Helm"]), [kustomize["id"].as_str().unwrap()]);
        let said = machine.ok(&["search", "deploy with Helm"]);
        assert!(said.contains(&label), "{said}");
        machine.ok(&["sync"]);
    }
    // The file of the older memory was not changed.
    assert_eq!(show(&machine, &helm).get("superseded_by"), None);
    machine.ok(&["review", "--both", short(&kustomize)]);
    for _ in 0..2 {
        assert!(both(&ids(&["deploy with Helm"])));
        let said = machine.ok(&["search", "deploy with Helm"]);
        assert!(!said.contains("not decided"), "{said}");
        machine.ok(&["sync"]);
    }
}

#[test]
fn files_that_no_command_wrote_are_compared_as_well() {
    let machine = ready();
    let thursday = add(&machine, &["Releases go out on Thursdays"]);
    let other = add(&machine, &["The tide table has no leap days"]);
    let file =
        machine.json(&["show", short(&other), "--json"])[0]["file"].as_str().unwrap().to_owned();
    let file = machine.path(file.trim_start_matches('/'));
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("The tide table has no leap days", "Releases go out on Fridays");
    // The file is one second newer than the other one.
    let text = text.replace("09:30:00", "09:30:01");
    std::fs::write(&file, text).unwrap();
    machine.ok(&["sync"]);
    let waits = machine.json(&["review", "--json"]);
    let pair = waits.as_array().unwrap().iter().find(|it| it.get("contradicts").is_some()).unwrap();
    assert_eq!(pair["contradicts"], json!([thursday["id"]]), "{waits:#}");
    // A file that this machine did not write cannot replace another memory, and is labelled.
    let found = machine.json(&["search", "when do releases go out", "--json"]);
    let hits = found["hits"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["id"] == other["id"]).unwrap();
    assert_eq!(hit["differs_from"], json!([thursday["id"]]), "{found:#}");
}

#[test]
fn what_a_person_wrote_twice_is_a_proposal() {
    let machine = ready();
    let helm = add(&machine, &[HELM]);
    let again = add(&machine, &["Deploy with Helm!"]);
    assert_eq!(again["neighbours"][0]["relation"], "duplicate");
    assert_eq!(show(&machine, &helm).get("superseded_by"), None);
    let waits = machine.json(&["review", "--json"]);
    // If two memories have the same millisecond, either may count as the newer one.
    let other = if waits[0]["id"] == helm["id"] { &again } else { &helm };
    assert_eq!(waits[0]["repeats"], json!([other["id"]]), "{waits:#}");
    let said = machine.ok(&["review"]);
    assert!(said.contains("1 pair of which one repeats the other"), "{said}");
    machine.ok(&["review", "--prefer", short(&again)]);
    assert_eq!(show(&machine, &helm)["superseded_by"], again["id"]);
}

#[test]
fn a_memory_is_given_again_once_the_one_in_its_place_is_forgotten() {
    let machine = ready();
    let (helm, kustomize) = (add(&machine, &[HELM]), add(&machine, &[KUSTOMIZE]));
    machine.ok(&["sync"]);
    machine.ok(&["forget", short(&kustomize)]);
    let found = machine.json(&["search", "deploy with Helm", "--json"]);
    assert_eq!(found["hits"][0]["id"], helm["id"], "{found:#}");
}

/// Runs `add`, `forget`, `restore` and `sync` in a random order, one minute apart.
#[test]
fn in_any_order_of_changes_one_memory_of_a_subject_is_found_and_a_new_statement_is() {
    for seed in 1..=3_u64 {
        let machine = ready();
        let (mut state, mut steps) = (seed, Vec::new());
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let (mut kept, mut forgotten) = (Vec::<String>::new(), Vec::<String>::new());
        for minute in 10..26 {
            let at = format!("2026-10-02T10:{minute}:00Z");
            let now = [("THROUGHLINE_NOW", at.as_str())];
            let run = |args: &[&str]| {
                let said = machine.run_with(args, &now);
                assert_eq!(said.code, 0, "{args:?}\n{}", said.whole());
                said.stdout
            };
            let mut stated = None;
            match random(8) {
                0 if !kept.is_empty() => {
                    let id = kept.swap_remove(random(kept.len()));
                    run(&["forget", &id]);
                    steps.push(format!("forget {id}"));
                    forgotten.push(id);
                }
                1 | 2 if !forgotten.is_empty() => {
                    let id = forgotten.swap_remove(random(forgotten.len()));
                    run(&["restore", &id]);
                    steps.push(format!("restore {id}"));
                    kept.push(id);
                }
                3 => {
                    run(&["sync"]);
                    steps.push("sync".to_owned());
                }
                chosen => {
                    let title = ["8080", "9090", "7070"][random(3)];
                    let title = format!("The server listens on port {title}");
                    let mut args = vec!["add", "--json", &title];
                    if chosen == 4 && !kept.is_empty() {
                        args.extend(["--supersedes", &kept[random(kept.len())]]);
                    }
                    let added: Value = serde_json::from_str(&run(&args)).unwrap();
                    let id = short(&added).to_owned();
                    steps.push(format!("{args:?} = {id}"));
                    if !kept.contains(&id) {
                        kept.push(id.clone());
                    }
                    stated = Some(id);
                }
            }
            if kept.is_empty() {
                continue;
            }
            let found = machine.run_with(&["search", "port", "--json"], &now).stdout;
            let found: Value = serde_json::from_str(&found).unwrap();
            let hits = found["hits"].as_array().unwrap();
            let is_found = |id: &String| hits.iter().any(|hit| hit["short"] == id.as_str());
            assert!(kept.iter().any(is_found), "seed {seed}: {steps:#?}\n{found:#}");
            assert!(stated.iter().all(is_found), "seed {seed}: {steps:#?}\n{found:#}");
        }
    }
}

#[test]
fn a_statement_that_is_made_again_is_given_again() {
    let machine = ready();
    let add = |title: &str, minute: u8| -> Value {
        let at = format!("2026-10-02T10:{minute}:00Z");
        let said = machine.run_with(&["add", title, "--json"], &[("THROUGHLINE_NOW", &at)]);
        serde_json::from_str(&said.stdout).unwrap()
    };
    let (old, new) = ("The server listens on port 8080", "The server listens on port 9090");
    for (minute, title) in [(10, old), (11, new), (12, old), (13, new), (14, old)] {
        let id = add(title, minute)["id"].clone();
        for _ in 0..2 {
            let found = machine.json(&["search", "port", "--json"]);
            let hits = found["hits"].as_array().unwrap();
            assert!(hits.len() == 1 && hits[0]["id"] == id, "{minute}: {found:#}");
            if minute > 12 {
                machine.ok(&["sync"]);
            }
        }
    }
}
