//! `throughline check`: reports problems that should prevent the commit of a memory file. It changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use memory_store::file::{MemoryFile, parts};
use memory_store::layout::Tree;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::{Error, MemoryId, settings_file};
use serde::Serialize;

use self::machine_path::machine_paths;
use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::memory_files::{self, FileContent, SideFile, is_memory_file};
use crate::typed::without_dots;
use crate::view::changes::line;
use crate::view::style::{BAD, GOOD, paint};
use crate::view::{self, plural};
use crate::world::World;

pub mod machine_path;

/// Check memory files before a commit
///
/// Reports invalid files, secrets, paths that are valid only on one machine, repeated ids and merge conflicts. Exits
/// with 7 if a file contains a secret or personal data, and with 5 for any other problem.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files or folders to check; other than memory files are skipped [default: all memory files]
    files: Vec<PathBuf>,
    /// Check the staged contents of files instead of the working tree
    #[arg(long)]
    staged: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer in JSON.
#[derive(Serialize)]
struct CheckReport {
    /// Number of memory files checked.
    checked: usize,
    problems: Vec<FileProblem>,
}

/// A problem in a file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct FileProblem {
    file: String,
    /// Line number, counted from 1; `None` if the problem concerns the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    problem: ProblemKind,
    told: String,
}

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ProblemKind {
    /// The file is not a valid memory.
    Invalid,
    /// A secret or personal data.
    Secret,
    /// A path that is valid only on one machine.
    MachinePath,
    /// The id of the memory is also in another file.
    RepeatedId,
    /// The file contains an unresolved merge conflict.
    Conflict,
}

/// Runs the command.
pub fn run(args: &CheckArgs, world: &World, out: &mut dyn Write) -> Result {
    let root = world.root();
    let (files, wanted) = args.files(world, &root)?;
    let tree = Tree::find(&world.dirs, &root);
    let (settings, _) = settings_file::load(&world.dirs, tree.as_ref());
    let redactor = Redactor::new(&RedactOptions::for_store(&settings, true));
    // The home /root is excluded: in a container it is the same for everyone.
    let home = world.home.to_string_lossy();
    let known = [home.as_ref(), &root.to_string_lossy()].map(str::to_owned);
    let known: Vec<&str> =
        known.iter().map(|path| &**path).filter(|path| *path != "/root").collect();
    let report = check(&files, &wanted, &redactor, &known);
    if args.json {
        view::json(&report, out)?;
    } else {
        show(&report, out)?;
    }
    report.verdict(out)
}

impl CheckArgs {
    /// Returns all memory files, among which repeated ids are searched, and the paths of the files to be checked.
    fn files(&self, world: &World, root: &Path) -> Result<(Vec<SideFile>, BTreeSet<String>)> {
        let named = self.named(world, root)?;
        // Git sets this variable for its hooks. For `git commit -a`, it names an index other than `.git/index`.
        #[expect(clippy::disallowed_methods, reason = "set by git for its hooks")]
        let index: Option<OsString> = std::env::var_os("GIT_INDEX_FILE");
        let index = index.as_deref().filter(|file| !file.is_empty());
        let (files, mut wanted) = if self.staged {
            let new = memory_files::staged_anew(root, index)?;
            (memory_files::in_index(root, index)?, new.into_iter().collect::<BTreeSet<_>>())
        } else {
            let files = memory_files::in_working_tree(root)?;
            let all = files.iter().map(|file| file.path.clone()).collect();
            (files, all)
        };
        if !named.is_empty() {
            let is_named = |path: &str| {
                named.iter().any(|named| {
                    path.strip_prefix(&**named).is_some_and(|rest| {
                        named.is_empty() || rest.is_empty() || rest.starts_with('/')
                    })
                })
            };
            wanted.retain(|path| is_named(path));
        }
        Ok((files, wanted))
    }

    /// Returns the given paths relative to the root.
    fn named(&self, world: &World, root: &Path) -> Result<Vec<String>> {
        let mut named = Vec::new();
        for typed in &self.files {
            let path = world.cwd.join(typed);
            if !self.staged {
                path.symlink_metadata().named(&path)?;
            }
            // A file outside the root is not a memory file of this project.
            let path = without_dots(&path);
            let below = path.strip_prefix(root).map(|below| below.to_string_lossy().into_owned());
            named.push(below.unwrap_or_else(|_| "/".to_owned()));
        }
        Ok(named)
    }
}

fn check(
    files: &[SideFile],
    wanted: &BTreeSet<String>,
    redactor: &Redactor,
    known: &[&str],
) -> CheckReport {
    let mut report = CheckReport { checked: 0, problems: Vec::new() };
    let mut ids: BTreeMap<MemoryId, Vec<&str>> = BTreeMap::new();
    for SideFile { path, content } in files.iter().filter(|file| is_memory_file(&file.path)) {
        let is_wanted = wanted.contains(path);
        report.checked += usize::from(is_wanted);
        let mut found = FileProblems { path, redactor, problems: Vec::new() };
        match content {
            FileContent::Bytes(bytes) => {
                if let Some(id) = found.all(bytes, known) {
                    ids.entry(id).or_default().push(path);
                }
            }
            FileContent::Link => {
                found.add(None, ProblemKind::Invalid, "it is a symbolic link".into())
            }
            FileContent::Unmerged => {
                found.add(None, ProblemKind::Conflict, "its merge is not done".into());
            }
            FileContent::Unreadable(why) => found.add(None, ProblemKind::Invalid, why.clone()),
        }
        if is_wanted {
            report.problems.append(&mut found.problems);
        }
    }
    for paths in ids.values().filter(|paths| paths.len() > 1) {
        for path in paths.iter().filter(|path| wanted.contains(**path)) {
            let others = paths.iter().filter(|other| other != &path);
            let others: Vec<String> = others.map(|other| shown(other, redactor)).collect();
            let mut found = FileProblems { path, redactor, problems: Vec::new() };
            let told = format!("{} has the same id; give this one another", others.join(", "));
            found.add(None, ProblemKind::RepeatedId, told);
            report.problems.append(&mut found.problems);
        }
    }
    report.problems.sort();
    report
}

/// Problems of one file.
struct FileProblems<'a> {
    path: &'a str,
    redactor: &'a Redactor,
    problems: Vec<FileProblem>,
}

/// Returns a path with secrets redacted, safe to print.
fn shown(path: &str, redactor: &Redactor) -> String {
    view::path(&*redactor.redact(path))
}

impl FileProblems<'_> {
    fn add(&mut self, line: Option<usize>, problem: ProblemKind, told: String) {
        let file = shown(self.path, self.redactor);
        self.problems.push(FileProblem { file, line, problem, told });
    }

    /// Checks a whole file; returns its id if it is a memory.
    fn all(&mut self, bytes: &[u8], known: &[&str]) -> Option<MemoryId> {
        let text = String::from_utf8_lossy(bytes);
        if !self.redactor.findings(self.path).is_empty() {
            let told = "the name of the file holds a secret; rename it".to_owned();
            self.add(None, ProblemKind::Secret, told);
        }
        self.secrets(&text);
        for found in machine_paths(&text, known) {
            let path = line(&self.redactor.redact(found.path));
            let told = format!("{path} is a path of one machine; name it from the project's root");
            self.add(Some(line_of(&text, found.start)), ProblemKind::MachinePath, told);
        }
        if let Some(at) = conflict(&text) {
            let told = "a merge left a conflict; take the markers out".to_owned();
            self.add(Some(at), ProblemKind::Conflict, told);
        }
        match MemoryFile::parse(Path::new(self.path), bytes.to_vec()) {
            Ok(file) => Some(file.memory.id),
            Err(Error::Memory { place, message, .. }) => {
                // The message may quote invalid text, so it is redacted too.
                let told = line(&self.redactor.redact(&message));
                self.add(Some(place.line), ProblemKind::Invalid, told);
                None
            }
            Err(error) => {
                let told = line(&self.redactor.redact(&error.to_string()));
                self.add(None, ProblemKind::Invalid, told);
                None
            }
        }
    }

    /// Searches for secrets in one part of the text after the other, as when a written memory is redacted.
    fn secrets(&mut self, text: &str) {
        let mut start = 0;
        for part in parts(text) {
            for finding in self.redactor.findings(part) {
                let at = line_of(text, start + finding.range.start);
                let told = format!("it holds what is hidden as [redacted:{}]", finding.rule);
                self.add(Some(at), ProblemKind::Secret, told);
            }
            start += part.len();
        }
    }
}

/// Returns the number of the line that contains a byte offset, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

/// Returns the number of the line at which the first unresolved merge conflict begins.
fn conflict(text: &str) -> Option<usize> {
    let marks = |character: char| {
        let marker: String = std::iter::repeat_n(character, 7).collect();
        text.lines().position(|line| line.starts_with(&marker))
    };
    let (start, end) = (marks('<')?, marks('>')?);
    (start < end).then_some(start + 1)
}

fn show(report: &CheckReport, out: &mut dyn Write) -> Result {
    for FileProblem { file, line, problem, told } in &report.problems {
        let place = line.map_or(file.clone(), |line| format!("{file}:{line}"));
        let word = match problem {
            ProblemKind::Invalid => "not valid",
            ProblemKind::Secret => "secret",
            ProblemKind::MachinePath => "path",
            ProblemKind::RepeatedId => "id",
            ProblemKind::Conflict => "conflict",
        };
        writeln!(out, "{place}: {}: {told}", paint(BAD, word))?;
    }
    if report.problems.is_empty() {
        let checked = plural(report.checked, "memory file");
        writeln!(out, "{}", paint(GOOD, format!("{checked} checked: all good.")))?;
    }
    Ok(())
}

impl CheckReport {
    fn verdict(&self, out: &mut dyn Write) -> Result {
        if self.problems.is_empty() {
            return Ok(());
        }
        out.flush()?;
        let files: BTreeSet<&str> = self.problems.iter().map(|it| &*it.file).collect();
        let is_secret = |it: &FileProblem| it.problem == ProblemKind::Secret;
        let has_secret = self.problems.iter().any(is_secret);
        let failure = Failure::new(format!(
            "{} of {} not ready to be committed",
            files.len(),
            plural(self.checked, "memory file")
        ));
        Err(if has_secret {
            failure.code(exit::FOUND).hint(
                "Remove secrets with an editor or `throughline doctor --secrets --fix`, and change those that were committed before.",
            )
        } else {
            failure.code(exit::INVALID).hint("Correct the named lines, and stage the files again.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_detected_by_its_markers() {
        assert_eq!(conflict("a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"), Some(2));
        assert_eq!(conflict("A heading\n=======\n\n> a quotation\n"), None);
        assert_eq!(conflict(">>>>>>> a\n<<<<<<< b\n"), None);
    }
}
