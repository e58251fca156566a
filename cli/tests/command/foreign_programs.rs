//! Programs in an untrusted folder are never run, even if their names are those of programs that Throughline searches
//! for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::Machine;

/// Names of programs that commands start, and of interpreters in the first line of scripts.
const NAMES: [&str; 9] = [
    "git",
    "claude",
    "sh",
    "less",
    "env",
    "node",
    "systemctl",
    "xdg-open",
    "throughline-processor",
];

/// Returns a machine whose project contains programs that leave a trace when they are run.
fn hostile() -> Machine {
    let machine = Machine::new();
    for folder in ["home/work", "home/work/bin"] {
        for name in NAMES {
            let trace = machine.path("traces").join(name);
            machine.write(
                &format!("{folder}/{name}"),
                &format!("#!/bin/sh\nmkdir -p {0} && touch {0}/ran\n", trace.display()),
            );
            let path = machine.path(folder).join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    machine
}

fn traces(machine: &Machine) -> Vec<String> {
    let traces = fs::read_dir(machine.path("traces")).into_iter().flatten().flatten();
    traces.map(|trace| trace.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn programs_of_a_project_are_not_started() {
    let machine = hostile();
    let commands: [&[&str]; 8] = [
        &["status"],
        &["list"],
        &["doctor"],
        &["init", "--dry-run"],
        &["init", "--yes"],
        &["sync"],
        &["status"],
        &["doctor", "--secrets"],
    ];
    for path in
        [".:/usr/bin:/bin", ":/usr/bin:/bin", "/usr/bin:/bin:", "bin:./bin:/usr/bin:/bin", ""]
    {
        for command in commands {
            machine.run_with(command, &[("PATH", path)]);
            assert_eq!(traces(&machine), Vec::<String>::new(), "PATH={path:?} {command:?}");
        }
    }
}

#[test]
fn a_program_of_the_user_finds_no_other_in_a_project() {
    let machine = hostile();
    // npm installs the client in this form.
    machine.program("claude", "#!/usr/bin/env node\n");
    let path = format!(".:{}:/usr/bin:/bin", machine.path("bin").display());
    machine.run_with(&["init", "--yes"], &[("PATH", &path)]);
    machine.run_with(&["doctor"], &[("PATH", &path)]);
    assert_eq!(traces(&machine), Vec::<String>::new());
}
