//! Scripts that test Throughline together with other programs. If such a program is missing, the test is skipped, or
//! fails if skipping is forbidden.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCRIPTS: [&str; 4] = ["e2e-arm64", "e2e-claude-code", "e2e-mcp-clients", "e2e-model"];

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .unwrap()
}

/// Runs a script on a simulated machine without node and npm.
fn run(script: &str, variables: &[(&str, &str)]) -> Output {
    let bin = tempfile::tempdir().unwrap();
    symlink(program("dirname"), bin.path().join("dirname")).unwrap();
    let uname = bin.path().join("uname");
    fs::write(&uname, "#!/bin/sh\necho Elsewhere\n").unwrap();
    fs::set_permissions(&uname, fs::Permissions::from_mode(0o755)).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(script);
    Command::new(program("bash"))
        .arg(path)
        .env_clear()
        .env("PATH", bin.path())
        .env("HOME", bin.path())
        .env("XDG_CACHE_HOME", bin.path())
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn what_a_machine_lacks_is_skipped_unless_nothing_may_be() {
    for script in SCRIPTS {
        for (variables, code) in [(&[][..], 0), (&[("THROUGHLINE_E2E", "strict")][..], 1)] {
            let output = run(script, variables);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{script}: {told}");
            assert_eq!(told.starts_with("SKIPPED: "), code == 0, "{script}: {told}");
            assert!(told.contains(&format!("scripts/{script}")), "{told}");
        }
    }
}
