//! Tests of `scripts/package` with generated archives: the metadata for package managers. `scripts/e2e-packages`
//! installs real packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use journeys::environment::printed;
use journeys::metadata::root;
use serde_json::{Value, json};

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-apple-darwin"];

/// Creates archives for platforms, with a file of checksums; returns the checksums.
fn release(folder: &Path, targets: &[&str]) -> Vec<String> {
    let mut sums = String::new();
    let checksums = targets.iter().map(|target| {
        let name = format!("throughline-7.8.9-{target}");
        let bin = folder.join(&name).join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("throughline"), target).unwrap();
        let archive = format!("{name}.tar.gz");
        printed(Command::new("tar").current_dir(folder).args(["-czf", &archive, &name])).unwrap();
        let program =
            "import hashlib,sys; print(hashlib.sha256(open(sys.argv[1],'rb').read()).hexdigest())";
        let mut python = Command::new("python3");
        python.current_dir(folder).args(["-c", program, &archive]);
        let checksum = printed(&mut python).unwrap().trim().to_owned();
        sums.push_str(&format!("{checksum}  {archive}\n"));
        checksum
    });
    let checksums = checksums.collect();
    fs::write(folder.join("SHA256SUMS"), sums).unwrap();
    checksums
}

fn package(folder: &Path) -> (Output, PathBuf) {
    let out = folder.join("packages");
    let mut command = Command::new("python3");
    command.arg(root().join("scripts/package")).arg("--from").arg(folder).arg("--out").arg(&out);
    (command.args(["--base-url", "https://example.com/releases/"]).output().unwrap(), out)
}

/// Returns whether this machine has the programs that the script needs. Machines that build releases have them.
fn has_python() -> bool {
    let found = printed(Command::new("python3").args(["-c", "import tomllib"])).is_ok();
    if !found {
        eprintln!("SKIPPED: python3 from 3.11 on is not installed");
    }
    found
}

#[test]
fn every_package_manager_gets_the_url_and_checksum_of_each_archive() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let checksums = release(folder.path(), &TARGETS);
    let (output, out) = package(folder.path());
    assert!(output.status.success(), "{output:?}");

    let formula = fs::read_to_string(out.join("throughline.rb")).unwrap();
    let flake = fs::read_to_string(out.join("flake.nix")).unwrap();
    for (target, checksum) in TARGETS.iter().zip(&checksums) {
        let url = format!("https://example.com/releases/throughline-7.8.9-{target}.tar.gz");
        let source = format!("url \"{url}\"\n      sha256 \"{checksum}\"");
        assert!(formula.contains(&source), "{formula}");
        assert!(flake.contains(&format!("url = \"{url}\"")), "{flake}");
    }
    assert!(formula.contains("on_macos do\n    on_arm do"), "{formula}");
    assert!(flake.contains("aarch64-darwin = {") && !flake.contains('@'), "{flake}");

    let parsed = |path: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(out.join("npm").join(path)).unwrap()).unwrap()
    };
    let wrapper = parsed("throughline/package.json");
    let wanted = json!({"@throughline/linux-x64": "7.8.9", "@throughline/darwin-arm64": "7.8.9"});
    assert_eq!(wrapper["optionalDependencies"], wanted);
    // The package runs no script when it is installed.
    assert!(wrapper.get("scripts").is_none(), "{wrapper}");
    let platform = parsed("darwin-arm64/package.json");
    assert_eq!((&platform["os"], &platform["cpu"]), (&json!(["darwin"]), &json!(["arm64"])));
    let program = fs::read_to_string(out.join("npm/darwin-arm64/bin/throughline")).unwrap();
    assert_eq!(program, TARGETS[1]);
    let shim = fs::read_to_string(out.join("npm/throughline/bin/throughline.js")).unwrap();
    assert!(shim.contains("\"darwin-arm64\": \"@throughline/darwin-arm64\""), "{shim}");
}

#[test]
fn what_this_machine_built_stands_in_until_the_archive_of_the_platform_is_there() {
    if !has_python() {
        return;
    }
    let program = |targets: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        release(folder.path(), targets);
        let (output, out) = package(folder.path());
        assert!(output.status.success(), "{output:?}");
        let is_told = String::from_utf8_lossy(&output.stderr).contains("for a trial");
        let program = fs::read_to_string(out.join("npm/linux-x64/bin/throughline")).unwrap();
        (program, is_told)
    };
    let (trial, real) = ("x86_64-unknown-linux-gnu", TARGETS[0]);
    assert_eq!(program(&[trial]), (trial.to_owned(), true));
    assert_eq!(program(&[real, trial]), (real.to_owned(), false));
    assert_eq!(program(&[trial, real]), (real.to_owned(), false));
}

#[test]
fn a_changed_archive_is_refused() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    release(folder.path(), &TARGETS);
    let archive = folder.path().join(format!("throughline-7.8.9-{}.tar.gz", TARGETS[0]));
    fs::write(archive, "changed").unwrap();
    let (output, out) = package(folder.path());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("does not match"), "{said}");
    assert!(!out.exists());
}

/// The workflow runs only on GitHub, so the test checks its text.
#[test]
fn the_release_workflow_builds_each_platform_that_packages_have() {
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let manifest = fs::read_to_string(root().join("packaging/manifest.toml")).unwrap();
    let built: Vec<&str> = workflow
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- { target: "))
        .filter_map(|row| row.split(',').next())
        .collect();
    let packed: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("[platform.")?.strip_suffix(']'))
        .collect();
    assert_eq!(built, packed);
    // The scripts that the workflow runs exist and have the options that it passes.
    for (script, options) in [
        ("scripts/release", &["--target", "--out"][..]),
        ("scripts/get", &["--from"]),
        ("scripts/e2e-arm64", &["--from"]),
        ("scripts/package", &["--from", "--out", "--base-url"]),
    ] {
        assert!(workflow.contains(script), "{script}");
        let text = fs::read_to_string(root().join(script)).unwrap();
        for option in options {
            assert!(workflow.contains(option) && text.contains(option), "{script} {option}");
        }
    }
    // A release is a draft until a person publishes it, and only the last step may write.
    assert!(workflow.contains("gh release create \"$GITHUB_REF_NAME\" --draft"));
    assert_eq!(workflow.matches("contents: write").count(), 1);
    assert!(workflow.contains("\npermissions:\n  contents: read\n"));
}

/// If a package has its own profile settings, Cargo keeps the symbols in its program unless these settings contain
/// `strip`.
#[test]
fn packages_with_programs_are_stripped_in_a_release() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut sections = 0;
    for section in manifest.split("\n[").filter(|section| section.starts_with("profile.release")) {
        let (heading, settings) = section.split_once(']').unwrap();
        let package = heading.rsplit('.').next().unwrap();
        if ["release", "cli", "hooks", "mcp", "processor"].contains(&package) {
            assert!(settings.lines().any(|line| line == "strip = true"), "{heading}");
            sections += 1;
        }
    }
    assert!(sections >= 3, "{sections}");
}
