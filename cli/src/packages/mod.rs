//! Packages that a project is shipped as: npm, Docker, Cargo. Each would ship a committed memory folder, too, unless a
//! line of one of its files leaves it out.

mod cargo;
mod npm;
mod record;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memory_store::layout::STORE_DIR;
use serde::{Deserialize, Serialize};

pub use record::{put, take_out, was_written};

use crate::claude::replace;
use crate::failure::Result;

/// Makers of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Maker {
    /// npm, and what reads its files.
    Npm,
    /// Docker, and what reads its files.
    Docker,
    /// Cargo.
    Cargo,
}

/// A line that keeps the memory folder out of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IgnoreLine {
    /// Maker of the package.
    pub maker: Maker,
    /// The file that it belongs into, below the project's root.
    pub file: PathBuf,
    /// The line.
    pub line: String,
}

impl IgnoreLine {
    /// Returns the file's text with the line in it.
    ///
    /// # Errors
    /// When the file cannot be understood.
    fn put_into(&self, path: &Path, text: &str) -> Result<String> {
        match self.maker {
            Maker::Cargo => cargo::with_exclude(path, text),
            Maker::Npm | Maker::Docker => Ok(with_line(text, &self.line)),
        }
    }

    /// Returns the file's text without the line, wherever it stands by now.
    fn take_from(&self, text: &str) -> String {
        match self.maker {
            Maker::Cargo => cargo::without_exclude(text),
            Maker::Npm | Maker::Docker => without_line(text, &self.line),
        }
    }
}

/// Returns the lines that the packages at `root` lack. A package whose description cannot be read has none.
pub fn lacking(root: &Path) -> Vec<IgnoreLine> {
    let npm = npm::lacking(root).into_iter();
    npm.chain(docker(root)).chain(cargo::lacking(root)).collect()
}

/// Returns the lines that images lack: Docker sends the whole folder to be built, and `COPY .` takes all that is not
/// ignored. Beside `.dockerignore`, BuildKit reads the recipe's own `<recipe>.dockerignore` in its place, and Podman
/// `.containerignore`.
fn docker(root: &Path) -> Vec<IgnoreLine> {
    let is_recipe = |name: &str| {
        matches!(name, "Dockerfile" | "Containerfile")
            || name.starts_with("Dockerfile.") && !name.ends_with(".dockerignore")
            || name.ends_with(".Dockerfile")
    };
    let names = fs::read_dir(root).into_iter().flatten().flatten();
    let names: BTreeSet<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let recipes: Vec<&String> = names.iter().filter(|name| is_recipe(name)).collect();
    if recipes.is_empty() {
        return Vec::new();
    }
    let own = recipes.iter().map(|recipe| format!("{recipe}.dockerignore"));
    let others = own.chain([".containerignore".to_owned()]).filter(|name| names.contains(name));
    let files = std::iter::once(".dockerignore".to_owned()).chain(others);
    let lacking = files.filter(|file| !is_ignored(&read(&root.join(file)).unwrap_or_default()));
    let line = |file: String| IgnoreLine {
        maker: Maker::Docker,
        file: file.into(),
        line: STORE_DIR.to_owned(),
    };
    lacking.map(line).collect()
}

/// Whether a line of an ignore file names the memory folder, or all that is hidden. A later line may take it in again,
/// which is somebody's wish.
fn is_ignored(text: &str) -> bool {
    let names = |line: &str| {
        let line = line.trim().trim_end_matches("/**").trim_matches('/');
        let line = line.strip_prefix("**/").unwrap_or(line);
        line == STORE_DIR || line == ".*"
    };
    text.lines().any(names)
}

/// Adds a line at the end of a text, with the line ends that the text has.
fn with_line(text: &str, line: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    format!("{text}{gap}{line}{end}")
}

fn without_line(text: &str, line: &str) -> String {
    text.split_inclusive('\n').filter(|other| other.trim_end() != line).collect()
}

/// Reads a file that says how a package is made; `None` where there is none that can be read.
fn read(path: &Path) -> Option<String> {
    replace::read(path).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that a project with these files lacks.
    fn lacking_with(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(root.path().join(name), text).unwrap();
        }
        let told = |line: IgnoreLine| (line.file.display().to_string(), line.line);
        lacking(root.path()).into_iter().map(told).collect()
    }

    fn one(file: &str, line: &str) -> Vec<(String, String)> {
        vec![(file.to_owned(), line.to_owned())]
    }

    #[test]
    fn each_package_lacks_its_line_until_it_is_there() {
        let nested = ".throughline/.npmignore";
        for (files, expected) in [
            (&[("main.py", "")][..], vec![]),
            (&[("package.json", r#"{"name":"a"}"#)], one(nested, "*")),
            (&[("package.json", r#"{"name":"a","private":true}"#)], vec![]),
            (&[("package.json", r#"{"files":["src"]}"#)], vec![]),
            (&[("package.json", r#"{"files":["./"]}"#)], one(nested, "*")),
            (&[("package.json", r#"{"files":["**/*"]}"#), (".npmignore", "")], one(nested, "*")),
            (&[("package.json", "{}"), (".npmignore", "x\n")], one(".npmignore", ".throughline/")),
            (&[("package.json", "{}"), (".npmignore", ".throughline\n")], vec![]),
            (&[("package.json", "not JSON")], vec![]),
            (&[("Dockerfile", "FROM scratch\n")], one(".dockerignore", ".throughline")),
            (&[("app.Dockerfile", "")], one(".dockerignore", ".throughline")),
            (&[("Dockerfile.dockerignore", "")], vec![]),
            (&[("Dockerfile", ""), (".dockerignore", "**/.throughline/\n")], vec![]),
            (&[("Dockerfile", ""), (".dockerignore", ".*\n")], vec![]),
            (
                &[("Cargo.toml", "[package]\nname = \"a\"\n")],
                one("Cargo.toml", "exclude = [\"/.throughline/\"]"),
            ),
            (&[("Cargo.toml", "[workspace]\nmembers = []\n")], vec![]),
            (&[("Cargo.toml", "[package]\npublish = false\n")], vec![]),
            (&[("Cargo.toml", "[package]\npublish = []\n")], vec![]),
            (&[("Cargo.toml", "[package]\ninclude = [\"src\"]\n")], vec![]),
            (&[("Cargo.toml", "[package]\nexclude = [\".throughline\"]\n")], vec![]),
            (&[("Cargo.toml", "[package]\nexclude.workspace = true\n")], vec![]),
            (&[("Cargo.toml", "not TOML")], vec![]),
        ] {
            assert_eq!(lacking_with(files), expected, "{files:?}");
        }
    }

    #[test]
    fn a_line_comes_last_and_goes_wherever_it_stands() {
        for (before, after) in
            [("", "x\n"), ("a\n", "a\nx\n"), ("a", "a\nx\n"), ("a\r\nb", "a\r\nb\r\nx\r\n")]
        {
            assert_eq!(with_line(before, "x"), after);
        }
        assert_eq!(without_line("a\nx\nb\n", "x"), "a\nb\n");
        assert_eq!(without_line("a\r\nx\r\nxx\r\n", "x"), "a\r\nxx\r\n");
    }
}
