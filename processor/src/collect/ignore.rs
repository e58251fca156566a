//! Ignored paths: content that tools read or wrote at these paths is never archived.

use std::collections::HashSet;

use anyhow::{Context, Result, ensure};
use regex::{RegexSet, RegexSetBuilder};

use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::session::Input;

/// Maximum number of globs in a settings file.
const GLOBS_MAX: usize = 500;

/// Maximum total size of the compiled globs in bytes. One glob has about 30 KiB.
const COMPILED_BYTES_MAX: usize = 16 << 20;

/// The files whose content is never archived.
#[derive(Debug)]
pub struct Ignore {
    globs: Option<RegexSet>,
    /// A hash of the globs; empty if there are none.
    pub fingerprint: String,
}

impl Ignore {
    /// Compiles globs relative to the root. `*` and `?` match within a folder, and `**` matches across folders. A glob
    /// that names a folder covers its whole content. A glob that cannot be parsed is matched literally.
    ///
    /// # Errors
    /// If there are too many globs, or if they are too long to be compiled. Collecting must then stop, because it would
    /// archive content that a person excluded.
    pub fn new(globs: &[String]) -> Result<Self> {
        let patterns: Vec<String> =
            globs.iter().filter(|glob| !glob.trim().is_empty()).map(|glob| pattern(glob)).collect();
        if patterns.is_empty() {
            return Ok(Self::none());
        }
        ensure!(
            patterns.len() <= GLOBS_MAX,
            "`ignore_paths` has {} globs, and may have {GLOBS_MAX}; nothing is read until some are put together",
            patterns.len()
        );
        let fingerprint = blake3::hash(patterns.join("\n").as_bytes()).to_hex()[..16].to_owned();
        let globs = RegexSetBuilder::new(patterns)
            .size_limit(COMPILED_BYTES_MAX)
            .build()
            .context("`ignore_paths` is too long; nothing is read until its globs are shorter")?;
        Ok(Self { globs: Some(globs), fingerprint })
    }

    /// Returns a value that ignores nothing.
    pub fn none() -> Self {
        Self { globs: None, fingerprint: String::new() }
    }

    /// Returns whether a path, absolute or relative, is ignored.
    pub fn covers(&self, path: &str) -> bool {
        self.globs.as_ref().is_some_and(|globs| globs.is_match(path.trim_start_matches("./")))
    }

    /// Removes the input and output of calls about ignored paths.
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
                // An earlier run removed the input of this call, and its result may be among these records.
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

    /// Returns search results without the lines of ignored files. Each line begins with the name of its file.
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
        let ignore =
            Ignore::new(&["secrets/".into(), "*.pem".into(), "a/**/z.txt".into()]).unwrap();
        for covered in
            ["secrets/x", "/w/app/secrets/deep/x", "k.pem", "/w/k.pem", "a/z.txt", "a/b/c/z.txt"]
        {
            assert!(ignore.covers(covered), "{covered}");
        }
        for free in ["secretsx/y", "k.pem.rs", "b/z.txt", "src/main.rs"] {
            assert!(!ignore.covers(free), "{free}");
        }
        assert!(!Ignore::new(&[]).unwrap().covers("anything"));
    }

    #[test]
    fn more_than_can_be_compared_is_an_error() {
        let many = |count: usize, glob: &dyn Fn(usize) -> String| {
            Ignore::new(&(0..count).map(glob).collect::<Vec<_>>())
        };
        let usual = |number: usize| format!("area-{number}/*.json");
        assert!(many(GLOBS_MAX, &usual).unwrap().covers("x/area-499/v.json"));
        let told = format!("{:#}", many(GLOBS_MAX + 1, &usual).unwrap_err());
        assert!(told.contains("has 501 globs"), "{told}");
        let told = format!("{:#}", many(1, &|_| "*?".repeat(60_000)).unwrap_err());
        assert!(told.contains("`ignore_paths` is too long"), "{told}");
    }
}
