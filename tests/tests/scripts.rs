//! Tests of the developers' scripts: `--help` has no side effects.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use journeys::metadata::root;
use testutils::{SYSTEM_PATH, SealedHome};

/// Programs with side effects: they build, install, download or display something.
const DOING: [&str; 24] = [
    "cargo",
    "rustc",
    "rustup",
    "cc",
    "gcc",
    "npm",
    "npx",
    "node",
    "pip",
    "pip3",
    "uv",
    "curl",
    "wget",
    "git",
    "ssh",
    "docker",
    "brew",
    "apt-get",
    "sudo",
    "tmux",
    "chromium",
    "qemu-aarch64-static",
    "mktemp",
    "claude",
];

/// Creates a home in which each of these programs leaves a trace and fails.
fn barren() -> SealedHome {
    let home = SealedHome::new();
    let trace = home.path().join("trace");
    for name in DOING {
        let path = home.path().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            &path,
            format!("#!/bin/sh\necho {name} \"$@\" >>'{}'\nexit 1\n", trace.display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    home
}

/// Runs a program of this machine in the home.
fn run(home: &SealedHome, program: &Path, arguments: &[&str]) -> Output {
    let mut command: Command = home.command(program);
    let path = format!("{}:{SYSTEM_PATH}", home.path().join("bin").display());
    command.env("PATH", path).current_dir(home.path()).args(arguments).output().unwrap()
}

fn scripts() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("scripts")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).unwrap().permissions().mode() & 0o111 != 0
}

#[test]
fn help_is_printed_and_nothing_is_built() {
    let home = barren();
    let has_python = Path::new("/usr/bin/python3").exists();
    let (mut asked, mut wrong) = (0, Vec::new());
    for script in scripts() {
        let text = fs::read_to_string(&script).unwrap();
        let is_python = text.starts_with("#!/usr/bin/env python3") || text.starts_with("\"\"\"");
        if is_python && !has_python {
            eprintln!("SKIPPED: {} needs python3", script.display());
            continue;
        }
        if text.starts_with("# Sourced by ") {
            assert!(!is_executable(&script), "{}", script.display());
            continue;
        }
        let name = script.file_name().unwrap().to_str().unwrap();
        // `--help` is also accepted after other words.
        for words in [&["--help"][..], &["-h"], &["something", "--help"]] {
            if is_python && words.len() > 1 {
                continue;
            }
            let output = match is_python {
                true => {
                    let script = script.to_str().unwrap();
                    run(&home, Path::new("/usr/bin/python3"), &[&[script], words].concat())
                }
                false => run(&home, &script, words),
            };
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let has_usage = said.contains("usage:") && said.contains(&format!("scripts/{name}"));
            let fits = output.status.success() && has_usage && output.stderr.is_empty();
            if !(fits || name == "get" && words.len() > 1) {
                wrong.push(format!("{name} {words:?}: {output:?}"));
            }
        }
        asked += 1;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(asked > 25, "{asked} scripts");
    let trace = fs::read_to_string(home.path().join("trace")).unwrap_or_default();
    assert_eq!(trace, "", "programs were started");
    let mut left: Vec<_> =
        fs::read_dir(home.path()).unwrap().flatten().map(|it| it.file_name()).collect();
    left.retain(|name| name != "bin");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_tests_say_what_is_missing() {
    let home = SealedHome::new();
    // A machine that has only these programs.
    for name in ["bash", "env", "sed", "dirname"] {
        let path = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
        let path = path.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(path, home.path().join(name)).unwrap();
    }
    let script = root().join("scripts/test");
    let output = home.command("/bin/bash").arg(script).env("PATH", home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Rust (cargo) is missing") && said.contains("rustup.rs"), "{said}");
}
