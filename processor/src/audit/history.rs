//! The git history of the memory folders: what commits of all branches added to them.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use memory_store::layout::Tree;
use memory_store::redact::Redactor;

use super::{Audit, Found, next_line};
use crate::git;

/// The folders of repositories whose history was looked through.
pub(super) type Seen = BTreeSet<(String, String)>;

impl Audit<'_> {
    /// Looks through the history of one working tree's memory folder, unless another tree of the
    /// same repository had the same.
    pub(super) fn history(&mut self, tree: &Tree, redactor: &Redactor, seen: &mut Seen) {
        if git::place(&tree.root).is_some_and(|place| seen.insert(place))
            && let Err(error) = self.commits(tree, redactor)
        {
            let history = format!("the git history of {}", tree.root.display());
            self.report.failed.push(format!("{history}: {error:#}"));
        }
    }

    fn commits(&mut self, tree: &Tree, redactor: &Redactor) -> Result<()> {
        let mut child = git::added(&tree.root, &tree.store()).context("git does not start")?;
        let output = child.stdout.take().context("git says nothing")?;
        let mut reader = BufReader::new(output);
        let (mut commit, mut path) = (String::new(), PathBuf::new());
        let (mut line, mut in_hunk) = (Vec::new(), false);
        while next_line(&mut reader, &mut line)? {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            // In a hunk each line begins with its sign, so that no text is taken for a heading.
            if let Some(hash) = text.strip_prefix("commit ") {
                (commit, in_hunk) = (hash.to_owned(), false);
                self.report.commits += 1;
            } else if text.starts_with("diff --git ") {
                in_hunk = false;
            } else if text.starts_with("@@ ") {
                in_hunk = true;
            } else if !in_hunk && let Some(name) = text.strip_prefix("+++ ") {
                // A name with odd characters is in quotes.
                let name = name.trim_matches('"');
                path = PathBuf::from(name.strip_prefix("b/").unwrap_or(name));
            } else if in_hunk && let Some(added) = text.strip_prefix('+') {
                let commit = || Some(commit.clone());
                let at = |rule| Found { path: path.clone(), commit: commit(), line: 0, rule };
                let found = &mut self.report.history;
                self.report.truncated |= super::note(found, redactor, added, at);
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "git log ended with {status}");
        Ok(())
    }
}
