//! Ignored paths: what tools read or wrote there never enters the archive.

use std::collections::HashSet;

use regex::RegexSet;

use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::session::Input;

/// Globs of a settings file that are looked at.
const GLOBS_MAX: usize = 500;

/// The files that never enter.
#[derive(Debug)]
pub struct Ignore {
    globs: Option<RegexSet>,
    /// A hash of the globs; empty when there are none.
    pub fingerprint: String,
}

impl Ignore {
    /// Takes globs relative to the root: `*` and `?` stay within a folder, `**` does not; a glob
    /// that names a folder means all in it. A glob that cannot be read is taken literally.
    pub fn new(globs: &[String]) -> Self {
        let patterns: Vec<String> = globs
            .iter()
            .take(GLOBS_MAX)
            .filter(|glob| !glob.trim().is_empty())
            .map(|glob| pattern(glob))
            .collect();
        if patterns.is_empty() {
            return Self { globs: None, fingerprint: String::new() };
        }
        let fingerprint = blake3::hash(patterns.join("\n").as_bytes()).to_hex()[..16].to_owned();
        Self { globs: RegexSet::new(patterns).ok(), fingerprint }
    }

    /// Whether a path, absolute or relative, is ignored.
    pub fn covers(&self, path: &str) -> bool {
        self.globs.as_ref().is_some_and(|globs| globs.is_match(path.trim_start_matches("./")))
    }

    /// Empties the calls that touch ignored paths, and their results.
    pub fn screen(&self, records: &mut [Record]) {
        if self.globs.is_none() {
            return;
        }
        let mut calls: HashSet<String> = HashSet::new();
        for record in records {
            match &mut record.what {
                RecordWhat::Call { id, what, .. } if self.touches(what) => {
                    *what = Input::Unknown;
                    calls.insert(id.clone());
                }
                // Emptied by an earlier run: its result may come only now.
                RecordWhat::Call { id, what: Input::Unknown, .. } => {
                    calls.insert(id.clone());
                }
                RecordWhat::Result(result) if calls.contains(&result.id) => {
                    result.output = String::new();
                    result.plan = String::new();
                }
                RecordWhat::Result(result) => result.output = self.without_lines(&result.output),
                _ => {}
            }
        }
    }

    fn touches(&self, input: &Input) -> bool {
        match input {
            Input::Read { path } | Input::Edit { path, .. } => self.covers(path),
            Input::Search { path, .. } => self.covers(path),
            Input::Shell { command, .. } => words(command).any(|word| self.covers(word)),
            Input::Other { json } => words(json).any(|word| self.covers(word)),
            Input::Question { .. }
            | Input::Plan { .. }
            | Input::Todos { .. }
            | Input::Agent { .. }
            | Input::Unknown => false,
        }
    }

    /// Search results name the file at the beginning of each line.
    fn without_lines(&self, output: &str) -> String {
        let named = |line: &str| self.covers(line.split(':').next().unwrap_or_default());
        if !output.lines().any(named) {
            return output.to_owned();
        }
        output.lines().filter(|line| !named(line)).collect::<Vec<_>>().join("\n")
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=,".contains(c))
        .filter(|word| !word.is_empty())
}

fn pattern(glob: &str) -> String {
    let glob = glob.trim().trim_start_matches("./").trim_start_matches('/');
    let mut pattern = String::from("(?:^|/)");
    let mut rest = glob.trim_end_matches("/**").trim_end_matches('/');
    while let Some(char) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            pattern.push_str("(?:.*/)?");
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            pattern.push_str(".*");
            rest = after;
            continue;
        }
        match char {
            '*' => pattern.push_str("[^/]*"),
            '?' => pattern.push_str("[^/]"),
            other => pattern.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
        rest = &rest[char.len_utf8()..];
    }
    pattern.push_str("(?:/|$)");
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_cover_files_and_folders() {
        let ignore = Ignore::new(&["secrets/".into(), "*.pem".into(), "a/**/z.txt".into()]);
        for covered in
            ["secrets/x", "/w/app/secrets/deep/x", "k.pem", "/w/k.pem", "a/z.txt", "a/b/c/z.txt"]
        {
            assert!(ignore.covers(covered), "{covered}");
        }
        for free in ["secretsx/y", "k.pem.rs", "b/z.txt", "src/main.rs"] {
            assert!(!ignore.covers(free), "{free}");
        }
        assert!(!Ignore::new(&[]).covers("anything"));
    }
}
