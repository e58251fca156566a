//! The documents name tests, files, links and commands, all of which must exist. Pages with a limit must stay short.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use journeys::command_lines::{CommandLine, command_lines};
use journeys::environment::TestEnvironment;
use serde_json::Value;

/// Pages outside of `docs/`.
const OUTSIDE_DOCS: [&str; 5] =
    ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "tests/promises.md"];

/// Folders whose files the documents name by paths relative to the root.
const FOLDERS: [&str; 10] = [
    "cli/",
    "docs/",
    "fuzz/",
    "hooks/",
    "mcp/",
    "memory-store/",
    "packaging/",
    "processor/",
    "scripts/",
    "tests/",
];

/// Maximum lengths of pages in bytes. README fits one screen, and the other pages can be read in five minutes.
const BYTES_MAX: [(&str, usize); 18] = [
    ("README.md", 8 << 10),
    ("ARCHITECTURE.md", 16 << 10),
    ("CONTRIBUTING.md", 11 << 10),
    ("SECURITY.md", 12 << 10),
    ("docs/README.md", 9 << 10),
    ("docs/comparison.md", 9 << 10),
    ("docs/extraction.md", 11 << 10),
    ("docs/language-models.md", 15 << 10),
    ("docs/measuring.md", 8 << 10),
    ("docs/glossary.md", 16 << 10),
    ("docs/memory-files.md", 10 << 10),
    ("docs/performance.md", 9 << 10),
    ("docs/recall.md", 9 << 10),
    ("docs/redaction.md", 9 << 10),
    ("docs/start.md", 9 << 10),
    ("docs/storage.md", 11 << 10),
    ("docs/troubleshooting.md", 9 << 10),
    ("docs/trust.md", 14 << 10),
];

struct Page {
    /// Path relative to the root.
    name: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages() -> Vec<Page> {
    let mut names: Vec<String> = OUTSIDE_DOCS.map(str::to_owned).into();
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

/// Returns all pages, including those in the folders of the code that they describe.
fn all_pages() -> Vec<Page> {
    let mut pages = pages();
    for name in ["memory-store/FORMAT.md", "memory-store/recall/RANKING.md"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        pages.push(Page { name: name.to_owned(), text });
    }
    pages
}

/// Returns the texts in backticks.
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
    for Page { name, text } in all_pages() {
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

/// For each row of "Where is it?", the listed files contain the names in the row, so that newcomers can search for
/// them.
#[test]
fn the_table_of_places_names_what_its_files_have() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = text.split("## Where is it?").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut named = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        // A name without a folder means a file in the folder of the previous name.
        let mut folder = root();
        let mut files = Vec::new();
        for path in quoted(row).filter(|part| part.ends_with(".rs")) {
            let path = if path.contains('/') { root().join(path) } else { folder.join(path) };
            files.extend(fs::read_to_string(&path));
            folder = path.parent().unwrap().to_owned();
        }
        for name in quoted(row).filter(|part| part.chars().all(|c| c == '_' || c.is_alphanumeric()))
        {
            let known = ["match", "throughline", "forget", "start_tokens"];
            if !known.contains(&name) {
                let is_there = files.iter().any(|file| {
                    let kinds = ["fn", "struct", "enum", "const", "static"];
                    kinds.iter().any(|kind| file.contains(&format!("{kind} {name}")))
                });
                assert!(is_there, "{row}: no {name}");
                named += 1;
            }
        }
    }
    assert!(named >= 15, "{named} names");
}

/// Returns the paths of all source files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_source_file_that_is_named_by_its_end_exists() {
    let mut ours = Vec::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut ours);
    }
    let mut named = 0;
    for Page { name, text } in all_pages() {
        for part in quoted(&text) {
            let path = part.split("::").next().unwrap_or_default();
            if path.ends_with(".rs") && !path.contains([' ', '*', '<', '{']) {
                let is_there = ours.iter().any(|source| source.ends_with(path));
                assert!(is_there, "{name} names {path}");
                named += 1;
            }
        }
    }
    assert!(named >= 100, "{named} files are named");
}

#[test]
fn every_link_leads_somewhere() {
    for Page { name, text } in all_pages() {
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

/// Users of the plugin read these pages on the web, since they have no other file of the repository. The recording
/// shows commands with their output in order, and contains no data of the machine on which it was made.
#[test]
fn the_recording_of_a_first_session_can_be_played() {
    const RECORDING: &str = "pictures/first-session.cast";
    let start = fs::read_to_string(root().join("docs/start.md")).unwrap();
    assert!(start.contains(&format!("]({RECORDING})")), "docs/start.md links no {RECORDING}");
    let text = fs::read_to_string(root().join("docs").join(RECORDING)).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!(head["version"], 2);
    assert!(head["width"].as_u64().unwrap() <= 100 && head["height"].as_u64().unwrap() <= 40);
    let (mut screen, mut before) = (String::new(), 0.0);
    for event in lines {
        let at = event[0].as_f64().unwrap();
        assert!(at >= before && event[1] == "o", "{event}");
        before = at;
        screen.push_str(event[2].as_str().unwrap());
    }
    assert!((10.0..90.0).contains(&before), "it takes {before} s");
    for shown in ["throughline init", "Throughline is set up.", "throughline search", "~/tidelog"] {
        assert!(screen.contains(shown), "{shown}");
    }
    for place in ["/tmp/", "/root/", "/home/"] {
        assert!(!screen.contains(place), "{place}");
    }
}

#[test]
fn every_page_that_the_plugin_names_exists() {
    let mut named = 0;
    for file in ["plugin/scripts/run", "plugin/skills/memory/SKILL.md", "plugin/hooks/hooks.json"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        for (at, _) in text.match_indices("docs/") {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"/-._".contains(c));
            let page = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            named += 1;
            assert!(root().join(page).exists(), "{file} names {page}");
        }
    }
    assert!(named > 0, "the plugin says where to find the programs");
}

#[test]
fn every_command_that_is_named_exists() {
    let mut commands = BTreeSet::new();
    for Page { text, .. } in pages() {
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

/// Checks each command line as a whole: an unknown word, option or value must cause an error. `--help` is appended,
/// which is accepted in any position and prevents the command from running; the error is also reported before `--help`.
#[test]
fn every_command_line_is_understood() {
    let environment = TestEnvironment::new().unwrap();
    let mut read = BTreeSet::new();
    let mut wrong = Vec::new();
    for (page, line) in shown_command_lines("throughline") {
        let mut arguments = line.arguments.clone();
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        arguments.insert(end, "--help".to_owned());
        if !read.insert(arguments.clone()) {
            continue;
        }
        let help = environment
            .command(environment.binary("throughline"))
            .args(&arguments)
            .output()
            .unwrap();
        // `--version` is also accepted in any position.
        let is_help = String::from_utf8_lossy(&help.stdout).contains("Usage");
        if !help.status.success() || !(is_help || arguments.iter().any(|word| word == "--version"))
        {
            let errors = String::from_utf8_lossy(&help.stderr).into_owned();
            wrong.push(format!("{page}: {:?}: {errors}", line.arguments));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read.len() >= 60, "{} command lines", read.len());
}

/// Each option of a script that the documents name is in the usage of the script.
#[test]
fn every_option_of_a_script_is_in_its_usage() {
    let mut options = 0;
    for (page, line) in shown_command_lines("scripts/") {
        let text = fs::read_to_string(root().join(&line.program))
            .unwrap_or_else(|error| panic!("{page}: {}: {error}", line.program));
        let usage = usage(&text);
        for word in line.arguments.iter().filter(|word| word.starts_with('-')) {
            let option = word.split('=').next().unwrap();
            let mut named = usage.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            assert!(named.any(|named| named == option), "{page}: {} {word}", line.program);
            options += 1;
        }
    }
    assert!(options >= 12, "{options} options of scripts");
}

/// Returns the usage of a script: the comments at its top, its lines with `usage:`, and the output of its function
/// `usage`.
fn usage(script: &str) -> String {
    let mut top: Vec<_> = script.lines().take_while(|line| !line.starts_with("set -")).collect();
    top.extend(script.lines().filter(|line| line.contains("usage:")));
    let printed = script.split("cat <<'END'\n").nth(1);
    top.extend(printed.and_then(|rest| rest.split("\nEND\n").next()));
    top.join("\n")
}

/// Returns the command lines of this program, each with the name of its page.
fn shown_command_lines(program: &str) -> Vec<(String, CommandLine)> {
    pages()
        .into_iter()
        .flat_map(|page| {
            command_lines(&page.text).into_iter().map(move |line| (page.name.clone(), line))
        })
        .filter(|(_, line)| line.program.starts_with(program))
        .collect()
}

/// The page about problems is useful only if it contains the exact texts of messages.
#[test]
fn every_message_of_troubleshooting_is_one_of_ours() {
    let folders = ["cli/src", "processor/src", "plugin/scripts"];
    let sources: String = folders.map(|folder| below(&root().join(folder))).concat();
    // A text that is split over several source lines is joined.
    let sources: String =
        sources.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let mut messages = 0;
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let cells = row.split('|').skip(1).take(2).map(str::trim);
        let Some(message) =
            cells.filter_map(|cell| cell.strip_prefix('`')?.strip_suffix('`')).next()
        else {
            continue;
        };
        for piece in message.split("...").map(str::trim) {
            assert!(sources.contains(piece), "no program says `{piece}`");
        }
        messages += 1;
    }
    assert!(messages >= 25, "{messages} messages");
}

/// Returns the text of all files below a folder.
fn below(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { below(&path) } else { fs::read_to_string(&path).unwrap() })
        .collect()
}

/// README fits one screen, because it is often read in a terminal or beside code.
#[test]
fn readme_is_one_screen() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(text.lines().count() <= 112, "{} lines", text.lines().count());
    for line in text.lines() {
        assert!(line.chars().count() <= 120 || line.starts_with('|'), "{line}");
    }
}

/// The first command is near the top, since many newcomers read only the beginning.
#[test]
fn readme_names_the_two_commands_of_a_newcomer_on_its_first_screen() {
    const SCREEN_LINES: usize = 24;
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let screen: Vec<&str> = text.lines().take(SCREEN_LINES).collect();
    for command in ["    scripts/try ", "    scripts/test "] {
        assert!(screen.iter().any(|line| line.starts_with(command)), "{command}");
    }
}

/// The index of the pages links to every page.
#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for Page { name, .. } in pages() {
        let Some(name) = name.strip_prefix("docs/").filter(|name| *name != "README.md") else {
            continue;
        };
        assert!(index.contains(&format!("]({name})")), "docs/README.md does not lead to {name}");
    }
}

#[test]
fn pages_are_short() {
    for (name, bytes_max) in BYTES_MAX {
        let bytes = fs::metadata(root().join(name)).unwrap().len();
        assert!(bytes <= bytes_max as u64, "{name} has {bytes} bytes, more than {bytes_max}");
    }
}

/// The command lines in docs/install.md install all programs with cargo, and copy the files of the embedder.
#[test]
fn what_cargo_installs_is_all_there_is() {
    let page = fs::read_to_string(root().join("docs/install.md")).unwrap();
    let installed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix("cargo install --locked --path "))
        .collect();
    let scripts = fs::read_to_string(root().join("scripts/release")).unwrap();
    let built = scripts.lines().find(|line| line.contains("cargo build --release")).unwrap();
    let words: Vec<&str> = built.split_whitespace().collect();
    let packages = words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1]);
    assert_eq!(installed, packages.chain(["hooks"]).collect());
    for package in installed {
        assert!(root().join(package).join("Cargo.toml").is_file(), "{package}");
    }
    let assets = root().join("memory-store/assets");
    let model = fs::read_to_string(assets.join("MODEL")).unwrap();
    let files: Vec<&str> = model.split_whitespace().filter(|word| word.ends_with(".bin")).collect();
    assert!(!files.is_empty() && page.contains("memory-store/assets/*-v1-*.bin"), "{model}");
    for file in files {
        assert!(file.contains("-v1-") && assets.join(file).is_file(), "{file}");
    }
}
