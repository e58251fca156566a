//! The files a memory is about: those of the tool calls nearest to its evidence, and those its
//! text names, relative to the working tree they lie in.

use std::collections::BTreeMap;

use super::episode::{Episode, Statement};
use super::words;
use crate::transcript::session::{Call, Input};

/// Files of one memory.
const PATHS_MAX: usize = 6;

/// Calls on files looked at on each side of the evidence.
const NEAR_CALLS: usize = 3;

/// The working trees of a project.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<String>);

impl Roots {
    /// Takes the folders as transcripts record them.
    pub fn new(roots: impl IntoIterator<Item = String>) -> Self {
        let mut roots: Vec<String> =
            roots.into_iter().map(|root| root.trim_end_matches('/').to_owned()).collect();
        // The deepest first: a worktree may lie inside the main tree.
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        Self(roots)
    }

    /// Returns a recorded path relative to the working tree it lies in; `None` outside of all.
    pub fn relative(&self, path: &str) -> Option<String> {
        let path = path.trim().trim_start_matches("./");
        if !path.starts_with('/') && !path.starts_with('~') {
            return (!path.is_empty() && !path.starts_with("..")).then(|| path.to_owned());
        }
        let rest =
            self.0.iter().find_map(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'))?;
        (!rest.is_empty()).then(|| rest.to_owned())
    }

    /// Returns a text with paths below the working trees made relative.
    pub fn strip(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for root in self.0.iter().filter(|root| root.len() > 1) {
            text = text.replace(&format!("{root}/"), "").replace(root.as_str(), ".");
        }
        text
    }

    /// Returns the folder that a command ran in, relative to its working tree; `.` is the root.
    pub fn directory(&self, cwd: &str, inner: &str) -> String {
        let whole = match inner {
            "" => cwd.to_owned(),
            inner if inner.starts_with('/') => inner.to_owned(),
            inner => format!("{}/{inner}", cwd.trim_end_matches('/')),
        };
        if self.0.iter().any(|root| *root == whole.trim_end_matches('/')) {
            return ".".to_owned();
        }
        self.relative(&whole)
            .filter(|path| !path.starts_with('/'))
            .unwrap_or_else(|| if inner.is_empty() { ".".to_owned() } else { inner.to_owned() })
    }
}

/// The file that a call touched.
pub fn touched(call: &Call) -> Option<(&str, bool)> {
    match &call.input {
        Input::Edit { path, .. } => Some((path, true)),
        Input::Read { path } => Some((path, false)),
        _ => None,
    }
}

/// Returns the files a memory with this evidence and text is about, the nearest first.
pub fn nearest(
    roots: &Roots,
    episode: &Episode<'_>,
    evidence: &[&Statement],
    text: &str,
) -> Vec<String> {
    let calls: Vec<(usize, String, bool)> = episode
        .calls()
        .filter_map(|(at, call)| {
            let (path, edited) = touched(call)?;
            Some((at.step, roots.relative(path)?, edited))
        })
        .filter(|(_, path, _)| !words::BUILT.is_match(path))
        .collect();
    let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
    let lower = text.to_lowercase();
    for (_, path, edited) in &calls {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let stem = name.split('.').next().unwrap_or(&name);
        let named = lower.contains(&name) || stem.len() > 5 && lower.contains(stem);
        let weight = f32::from(u8::from(named)) * 10.0 + f32::from(u8::from(*edited)) * 0.5;
        if weight >= 10.0 {
            weights.entry(path).and_modify(|known| *known = known.max(weight)).or_insert(weight);
        }
    }
    for statement in evidence {
        for (path, weight) in near(&calls, statement.step) {
            *weights.entry(path).or_default() += weight;
        }
    }
    let mut ranked: Vec<(&str, f32)> = weights.into_iter().collect();
    ranked.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
    let mut paths: Vec<String> =
        ranked.into_iter().take(PATHS_MAX).map(|(path, _)| path.to_owned()).collect();
    for named in named(roots, text) {
        if paths.len() < PATHS_MAX
            && !paths.iter().any(|path| path == &named || path.ends_with(&format!("/{named}")))
        {
            paths.push(named);
        }
    }
    paths
}

/// Returns the files that were changed in some episodes: those that a text names first.
pub fn changed(roots: &Roots, episodes: &[Episode<'_>], text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut paths: Vec<String> = Vec::new();
    let edits = episodes.iter().flat_map(Episode::calls).filter(|(_, call)| !call.failed);
    for (path, _) in edits.filter_map(|(_, call)| touched(call).filter(|(_, edited)| *edited)) {
        let path = roots.relative(path).filter(|path| !words::BUILT.is_match(path));
        paths.extend(path.filter(|path| !paths.contains(path)));
    }
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        name.split('.').next().unwrap_or_default().to_owned()
    };
    paths.sort_by_key(|path| !lower.contains(&stem(path)));
    paths.truncate(PATHS_MAX);
    paths
}

/// The calls nearest to a step, edits before reads.
fn near(calls: &[(usize, String, bool)], step: usize) -> Vec<(&str, f32)> {
    let after = calls.iter().filter(|(at, ..)| *at >= step).take(NEAR_CALLS);
    let before = calls.iter().rev().filter(|(at, ..)| *at < step).take(NEAR_CALLS);
    let weigh = |edited: bool, rank: usize| {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let nearness = 1.0 / (1.0 + rank as f32);
        nearness * if edited { 2.0 } else { 0.5 }
    };
    before
        .enumerate()
        .chain(after.enumerate())
        .map(|(rank, (_, path, edited))| (path.as_str(), weigh(*edited, rank)))
        .collect()
}

/// The paths that a text names: with a folder and an ending, so that a mere word does not count.
pub fn named(roots: &Roots, text: &str) -> Vec<String> {
    words::PATH
        .find_iter(text)
        .map(|found| {
            found
                .as_str()
                .trim_matches(|c: char| !(c.is_alphanumeric() || c == '.' || c == '/' || c == '_'))
        })
        .map(|path| path.trim_end_matches(['.', '/']))
        .filter(|path| {
            path.contains('/')
                && path
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| has_ending(name) && !name.starts_with('.'))
        })
        .filter(|path| {
            !path.contains("://") && !path.starts_with("//") && !path.starts_with("www.")
        })
        .filter_map(|path| roots.relative(path))
        .filter(|path| !words::BUILT.is_match(path))
        .filter(|path| {
            !path.contains("..") && !path.starts_with('.')
                || path.starts_with(".github/")
                || path.starts_with(".claude/")
        })
        .collect()
}

/// Whether a name ends like a file's: a version or a tag ends with a number.
fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_their_working_tree() {
        let roots = Roots::new(["/home/a/shop".to_owned(), "/home/a/shop/trees/x".to_owned()]);
        assert_eq!(roots.relative("/home/a/shop/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/home/a/shop/trees/x/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/etc/passwd"), None);
        assert_eq!(roots.relative("src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.directory("/home/a/shop", ""), ".");
        assert_eq!(roots.directory("/home/a/shop", "web"), "web");
        assert_eq!(roots.directory("/home/a/shop/web", ""), "web");
    }

    #[test]
    fn only_paths_with_a_folder_and_an_ending_are_named() {
        let roots = Roots::default();
        assert_eq!(
            named(&roots, "`src/a.py`, b.py, release/0.4.1, dist/a.css and/or https://x.y/z.html"),
            ["src/a.py"]
        );
    }
}
