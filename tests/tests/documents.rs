//! The documents name tests, files, links and commands. Each of them has to exist, and a page that should be read at once
//! has to stay short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use journeys::environment::TestEnvironment;

/// Pages at the top of the repository; those in `docs/` come on top.
const TOP: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// Folders whose files documents name by a path from the root.
const FOLDERS: [&str; 9] = [
    "cli/",
    "docs/",
    "fuzz/",
    "hooks/",
    "mcp/",
    "memory-store/",
    "processor/",
    "scripts/",
    "tests/",
];

/// Bytes that a page may have: README fits a screen, the others five minutes.
const BYTES_MAX: [(&str, usize); 11] = [
    ("README.md", 8 << 10),
    ("ARCHITECTURE.md", 14 << 10),
    ("CONTRIBUTING.md", 9 << 10),
    ("docs/extraction.md", 9 << 10),
    ("docs/language-models.md", 9 << 10),
    ("docs/measuring.md", 9 << 10),
    ("docs/performance.md", 9 << 10),
    ("docs/ranking.md", 9 << 10),
    ("docs/redaction.md", 9 << 10),
    ("docs/storage.md", 9 << 10),
    ("docs/trust.md", 9 << 10),
];

struct Page {
    /// Path below the root.
    name: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages() -> Vec<Page> {
    let mut names: Vec<String> = TOP.map(str::to_owned).into();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(root().join(&name)).unwrap();
        Page { name, text }
    };
    names.into_iter().map(read).collect()
}

/// Returns what stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the anchors of a page's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    text.lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

#[test]
fn every_test_that_is_named_exists() {
    let mut named = 0;
    for Page { name, text } in pages() {
        for part in quoted(&text) {
            let Some((file, test)) = part.split_once(".rs::") else { continue };
            let source = fs::read_to_string(root().join(format!("{file}.rs")))
                .unwrap_or_else(|error| panic!("{name}: {file}.rs: {error}"));
            assert!(
                source.contains(&format!("fn {test}(")),
                "{name}: {file}.rs has no test {test}"
            );
            named += 1;
        }
    }
    assert!(named >= 50, "{named} tests are named");
}

#[test]
fn every_file_that_is_named_exists() {
    let mut named = 0;
    for Page { name, text } in pages() {
        for part in quoted(&text) {
            let path = part.split_whitespace().next().unwrap_or_default();
            let path = path.split("::").next().unwrap_or_default();
            let is_ours = FOLDERS.iter().any(|folder| path.starts_with(folder));
            if is_ours && !path.contains(['*', '<', '{']) {
                assert!(root().join(path).exists(), "{name} names {path}");
                named += 1;
            }
        }
    }
    assert!(named >= 100, "{named} files are named");
}

#[test]
fn every_link_leads_somewhere() {
    for Page { name, text } in pages() {
        let folder = Path::new(&name).parent().unwrap();
        for part in text.split("](").skip(1) {
            let target = part.split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { PathBuf::from(&name) } else { folder.join(path) };
            let path = root().join(path);
            assert!(path.exists(), "{name} leads to {target}");
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(path).unwrap());
                assert!(anchors.contains(anchor), "{name} leads to {target}");
            }
        }
    }
}

/// Pages that the plugin names. A user of the plugin has no other file of the repository, but reads these on the web.
#[test]
fn every_page_that_the_plugin_names_exists() {
    // Comes with the ready-made programs.
    const TO_COME: [&str; 1] = ["docs/install.md"];
    let mut named = 0;
    for file in ["plugin/scripts/run", "plugin/skills/memory/SKILL.md", "plugin/hooks/hooks.json"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        for (at, _) in text.match_indices("docs/") {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"/-._".contains(c));
            let page = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            named += 1;
            assert!(TO_COME.contains(&page) || root().join(page).exists(), "{file} names {page}");
        }
    }
    assert!(named > 0, "the plugin says where to find the programs");
}

#[test]
fn every_command_that_is_named_exists() {
    let mut commands = BTreeSet::new();
    // The commands of the habits, mistyped ones among them, are run where that page is generated.
    for Page { text, .. } in pages().into_iter().filter(|page| page.name != "docs/habits.md") {
        for (at, _) in text.match_indices("throughline ") {
            let before = text[..at].chars().next_back().unwrap_or(' ');
            let rest = &text[at + "throughline ".len()..];
            let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
            if !before.is_alphanumeric() && before != '/' && end > 0 {
                commands.insert(rest[..end].to_owned());
            }
        }
    }
    assert!(commands.len() >= 25, "{commands:?}");
    let environment = TestEnvironment::new().unwrap();
    for command in commands {
        let help = environment
            .command(environment.binary("throughline"))
            .args([command.as_str(), "--help"])
            .output()
            .unwrap();
        assert!(help.status.success(), "no command {command}");
    }
}

#[test]
fn pages_are_short() {
    for (name, bytes_max) in BYTES_MAX {
        let bytes = fs::metadata(root().join(name)).unwrap().len();
        assert!(bytes <= bytes_max as u64, "{name} has {bytes} bytes, more than {bytes_max}");
    }
}
