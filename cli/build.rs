//! Passes the commit of the build to the program, for `--version`. Without git, or outside of a repository, as in a
//! release archive, the commit is taken from the variable `THROUGHLINE_COMMIT`; if that is unset too, only the version
//! is printed.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=THROUGHLINE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // Both files change with the commit, and independently of other inputs of the build.
    for file in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--git-path", file]);
        if let Some(path) = file.filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    #[expect(clippy::disallowed_methods, reason = "set by who builds a release")]
    let told = std::env::var("THROUGHLINE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = told.or_else(|| git(&["log", "-1", "--format=%h %cs"]));
    let build = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=THROUGHLINE_BUILD={build}");
}

/// Runs git for one line of output; `None` if there is none, or if git does not track this file.
fn git(args: &[&str]) -> Option<String> {
    let ours =
        Command::new("git").args(["ls-files", "--error-unmatch", "build.rs"]).output().ok()?;
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (ours.status.success() && output.status.success() && !text.is_empty()).then_some(text)
}
