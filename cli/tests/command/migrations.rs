//! Tests of migrations between formats of stores and of registrations: `doctor --migrations`, and upgrades by `sync`
//! and `init`.

use testutils::golden::{COMMITTED, GoldenHome};

use crate::common::Machine;

/// Returns a machine with the stores of version 0.1.0. The folder of the old programs no longer exists.
fn upgraded() -> Machine {
    let machine = Machine::new();
    let programs = machine.path("old/bin");
    let top = machine.path("home").parent().unwrap().to_owned();
    GoldenHome::at("0.1.0", top, &programs);
    machine
}

fn run(machine: &Machine, arguments: &[&str]) -> String {
    let root = machine.path(COMMITTED);
    machine.ok(&[&["-C", root.to_str().unwrap()], arguments].concat())
}

#[test]
fn the_report_names_formats_steps_log_and_the_way_back() {
    let machine = upgraded();
    let before = run(&machine, &["doctor", "--migrations"]);
    for part in [
        "user          format 1 of 3",
        "project       format 1 of 2",
        "memory folder format 1 ",
        "pending     2 held-status: Memories that wait",
        "pending     3 review-setting: The setting `promote`",
        "`throughline sync` runs what is pending.",
        "No migration has run.",
    ] {
        assert!(before.contains(part), "{part}\n{before}");
    }
    // Reading migrates nothing; a command that writes migrates the stores first.
    assert!(!before.contains("Backups"));
    let root = machine.path(COMMITTED);
    let said = machine.run(&["-C", root.to_str().unwrap(), "add", "A new fact", "--kind", "fact"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("project store was brought from format 1 to 2"),
        "{}",
        said.stderr
    );
    let after = run(&machine, &["doctor", "--migrations"]);
    for part in [
        "user          format 3  ",
        "project       format 2  ",
        "2026-10-02 09:30 +00:00  project       1 -> 2 held-status: begun, 5 files, by 0.2.0",
        "2026-10-02 09:30 +00:00  project       1 -> 2 held-status: done, 5 files, by 0.2.0",
        "2026-10-02 09:30 +00:00  user          2 -> 3 review-setting: done, 1 file, by 0.2.0",
        "Backups, each with what the files had before",
        "20261002T093000Z-project-from-1  format 1 to 2, 5 files",
        "`throughline doctor --migrations --restore NAME`",
    ] {
        assert!(after.contains(part), "{part}\n{after}");
    }
    let json = machine.json(&["-C", root.to_str().unwrap(), "doctor", "--migrations", "--json"]);
    let project = json.as_array().unwrap().iter().find(|it| it["store"] == "project").unwrap();
    assert_eq!((&project["format"], &project["supported"]), (&2.into(), &2.into()));
    assert_eq!(project["log"][1]["result"], "done");
    assert_eq!(project["backups"][0]["name"], "20261002T093000Z-project-from-1");
}

#[test]
fn a_backup_goes_back_by_its_name_but_not_over_what_was_changed_since() {
    let machine = upgraded();
    run(&machine, &["add", "A new fact", "--kind", "fact"]);
    let config = "home/.config/throughline/config.toml";
    let migrated = machine.read(config);
    machine.write(config, &format!("{migrated}# mine\n"));
    let restore = ["doctor", "--migrations", "--restore", "20261002T093000Z-user-from-1"];
    let told = run(&machine, &[&restore[..], &["--dry-run"]].concat());
    assert!(told.starts_with("Would put the backup "), "{told}");
    assert!(machine.read(config).ends_with("# mine\n"));
    let told = run(&machine, &restore);
    assert!(
        told.contains("Left, because it was changed since") && told.contains("config.toml"),
        "{told}"
    );
    assert!(machine.read(config).ends_with("# mine\n"));
    let told =
        run(&machine, &["doctor", "--migrations", "--restore", "20261002T093000Z-project-from-1"]);
    assert!(told.contains("Put back: 5 files"), "{told}");
    let said = machine.run(&[
        "-C",
        machine.path(COMMITTED).to_str().unwrap(),
        "doctor",
        "--migrations",
        "--restore",
        "x",
    ]);
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains("no backup is called x"), "{}", said.stderr);
}
