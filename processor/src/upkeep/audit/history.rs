//! The git history of the memory folders: what commits of all branches added to them.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use memory_store::layout::Tree;
use memory_store::redact::Redactor;

use super::pieces::{LinePiece, looked_at};
use super::{Audit, AuditReport, Found, LINE_BYTES_MAX, each_part, note};
use crate::git;

/// The folders of repositories whose history was looked through.
pub(super) type SearchedRepositories = BTreeSet<(String, String)>;

impl Audit<'_> {
    /// Looks through the history of one working tree's memory folder, unless another tree of the
    /// same repository had the same.
    pub(super) fn history(
        &mut self,
        tree: &Tree,
        redactor: &Redactor,
        seen: &mut SearchedRepositories,
    ) {
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
        let (mut line, mut hunk) = (LinePiece::default(), Hunk::default());
        loop {
            let goes_on = line.next(&mut reader)?;
            let text = String::from_utf8_lossy(line.news());
            // In a hunk each line begins with its signs, so that no text is taken for a heading.
            let is_taken =
                goes_on && if line.repeated > 0 { hunk.goes_on(&text) } else { hunk.takes(&text) };
            if is_taken && (hunk.added.len() as u64) < LINE_BYTES_MAX {
                continue;
            }
            self.note_added(redactor, (&commit, &path), &hunk.added);
            if is_taken {
                hunk.added.drain(..looked_at(&hunk.added));
                continue;
            }
            hunk = Hunk::default();
            if !goes_on {
                break;
            }
            let text = text.trim_end();
            if let Some(hash) = text.strip_prefix("commit ") {
                // Of a merge that is compared with each parent it is told as often.
                self.report.commits += usize::from(commit != hash);
                commit = hash.to_owned();
            } else if let Some(name) = text.strip_prefix("+++ ") {
                // A name with odd characters is in quotes.
                let name = name.trim_matches('"');
                path = PathBuf::from(name.strip_prefix("b/").unwrap_or(name));
            } else {
                hunk.parents = parents(text);
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "git log ended with {status}");
        Ok(())
    }

    fn note_added(&mut self, redactor: &Redactor, (commit, path): (&str, &Path), added: &str) {
        let AuditReport { history, truncated, .. } = &mut self.report;
        let at = |rule, _| {
            let (path, commit) = (path.to_owned(), Some(commit.to_owned()));
            Found { path, commit, line: 0, rule }
        };
        each_part(added, |_, part| *truncated |= note(history, redactor, part, at));
    }
}

/// Lines that a commit added in one place. They are looked at together, because a key has several lines.
#[derive(Default)]
struct Hunk {
    /// How many signs a line begins with: one for each parent of the commit, none outside of a hunk.
    parents: usize,
    added: String,
    /// Whether the last line was added.
    is_added: bool,
}

impl Hunk {
    /// Takes a line up, if it belongs to this; what was added is kept.
    fn takes(&mut self, line: &str) -> bool {
        let is_sign = |byte: &u8| b" +-".contains(byte);
        let signs = line.as_bytes().get(..self.parents);
        let Some(signs) = signs.filter(|signs| !signs.is_empty() && signs.iter().all(is_sign))
        else {
            // That a file does not end with a line's end.
            return self.parents > 0 && line.starts_with('\\');
        };
        self.is_added = signs.contains(&b'+');
        if self.is_added {
            self.added.push_str(&line[self.parents..]);
        }
        true
    }

    /// Takes up more of a line, if it is one of this.
    fn goes_on(&mut self, more: &str) -> bool {
        if self.parents > 0 && self.is_added {
            self.added.push_str(more);
        }
        self.parents > 0
    }
}

/// How many parents the heading of a hunk compares with (`@@ -1 +1 @@`, of a merge `@@@ -1 -1 +1 @@@`).
fn parents(heading: &str) -> usize {
    let signs = heading.bytes().take_while(|byte| *byte == b'@').count();
    if heading.as_bytes().get(signs) == Some(&b' ') { signs.saturating_sub(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_has_what_was_added_to_any_parent() {
        assert_eq!(
            ["@@ -1 +1 @@ x", "@@@ -1 -1 +1 @@@", "@", "diff --git", ""].map(parents),
            [1, 2, 0, 0, 0]
        );
        let mut hunk = Hunk { parents: 1, ..Hunk::default() };
        for line in ["-old\n", "+++ b/one\n", "+two\n", "\\ No newline at end of file\n"] {
            assert!(hunk.takes(line), "{line}");
        }
        assert!(!hunk.takes("diff --git a/x b/x\n") && !hunk.takes("\n"));
        assert_eq!(hunk.added, "++ b/one\ntwo\n");
        let mut merge = Hunk { parents: 2, ..Hunk::default() };
        assert!(merge.takes("++both\n") && merge.takes(" +one\n") && merge.takes("- old\n"));
        assert_eq!(merge.added, "both\none\n");
        assert!(!Hunk::default().takes("+x"));
    }
}
