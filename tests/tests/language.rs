//! Counts figures of speech in the project's English, such as verbs of speech for programs and files. Each limit is the
//! count of the day on which it was set, and may only be lowered.

use std::fs;
use std::path::{Path, PathBuf};

use journeys::environment::TestEnvironment;

/// Words to count, and pairs of words of which each occurrence counts once.
struct Rule {
    name: &'static str,
    words: &'static [&'static str],
    pairs: &'static [(&'static str, &'static str)],
}

const RULES: [Rule; 5] = [
    Rule {
        name: "things that speak or know",
        words: &["says", "said", "tell", "tells", "told", "knows"],
        pairs: &[],
    },
    Rule {
        name: "what and who in place of nouns",
        words: &[],
        pairs: &[
            ("of", "what"),
            ("of", "who"),
            ("of", "whoever"),
            ("to", "what"),
            ("to", "who"),
            ("to", "whoever"),
            ("that", "what"),
            ("that", "who"),
        ],
    },
    Rule { name: "things that stand", words: &["stand", "stands", "stood"], pairs: &[] },
    Rule { name: "nobody and somebody", words: &["nobody", "somebody", "whoever"], pairs: &[] },
    Rule { name: "things that go or come", words: &["goes", "comes", "went", "came"], pairs: &[] },
];

/// Maximum number of occurrences for 1,000 words, in the order of `RULES`.
const COMMENTS_MAX: [f64; 5] = [0.8, 0.2, 0.5, 0.2, 0.3];
const DOCUMENTS_MAX: [f64; 5] = [0.7, 0.2, 0.2, 0.2, 0.4];
const HELP_MAX: [f64; 5] = [0.1; 5];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the texts of the files below a folder whose names end with `ending`. Build folders are skipped.
fn texts(folder: &Path, ending: &str) -> Vec<String> {
    let is_searched = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || name == "target" || name == "build")
    };
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = files.filter_entry(is_searched).map(Result::unwrap);
    let files = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    files.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect()
}

/// Returns the comments of all Rust files.
fn comments() -> String {
    let mut comments = String::new();
    for source in texts(&root(), ".rs") {
        for line in source.lines() {
            if let Some((before, comment)) = line.split_once("//") {
                // A `//` after a colon is an address in a string, not a comment.
                if !before.ends_with(':') {
                    comments.push_str(comment.trim_start_matches(['/', '!']));
                    comments.push('\n');
                }
            }
        }
    }
    comments
}

/// Returns the handwritten documents, without their code.
fn documents() -> String {
    let mut pages = texts(&root().join("docs"), ".md");
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"] {
        pages.push(fs::read_to_string(root().join(name)).unwrap());
    }
    for name in ["FORMAT.md", "recall/RANKING.md"] {
        pages.push(fs::read_to_string(root().join("memory-store").join(name)).unwrap());
    }
    let mut text = String::new();
    for page in pages {
        let mut is_code = false;
        for line in page.lines() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Returns the help of all commands, from their manual pages.
fn help() -> String {
    let environment = TestEnvironment::new().unwrap();
    let pages = environment.path().join("pages");
    environment.throughline(&environment.path(), &["man", pages.to_str().unwrap()]).unwrap();
    texts(&pages, ".1").concat()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Compares the counts of a text with their limits.
fn assert_within(of: &str, text: &str, limits: [f64; 5]) {
    let words = words(text);
    assert!(words.len() > 1_000, "{of} have {} words", words.len());
    let mut above = Vec::new();
    for (rule, limit) in RULES.iter().zip(limits) {
        let alone = words.iter().filter(|word| rule.words.contains(&word.as_str())).count();
        let is_pair = |pair: &&[String]| {
            rule.pairs.iter().any(|&(first, second)| pair[0] == first && pair[1] == second)
        };
        let count = alone + words.windows(2).filter(is_pair).count();
        let rate = count as f64 * 1_000.0 / words.len() as f64;
        if rate > limit {
            above.push(format!("{}: {rate:.2}, limit {limit:.2}", rule.name));
        }
    }
    assert!(above.is_empty(), "{of}, for 1,000 words: {above:#?}");
}

#[test]
fn comments_name_their_subjects() {
    assert_within("comments", &comments(), COMMENTS_MAX);
}

#[test]
fn documents_name_their_subjects() {
    assert_within("documents", &documents(), DOCUMENTS_MAX);
}

#[test]
fn help_names_its_subjects() {
    assert_within("help texts", &help(), HELP_MAX);
}

#[test]
fn functions_are_named_by_verbs_of_the_trade() {
    let mut found = Vec::new();
    for source in texts(&root(), ".rs") {
        for line in source.lines() {
            let Some((_, after)) = line.split_once("fn ") else { continue };
            let name: String =
                after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if name.split('_').any(|word| RULES[0].words.contains(&word)) {
                found.push(name);
            }
        }
    }
    assert!(found.is_empty(), "{} functions: {found:?}", found.len());
}
