//! The files a memory is about: those of the tool calls nearest to its evidence, and those its
//! text names, relative to the working tree they lie in.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::PATHS_MAX;
use super::episode::Episode;
use super::roots::Roots;
use super::sets::{self, Words};
use super::{listings, words};
use crate::transcript::session::{Call, Input, Session, StepKind};

/// Calls on files looked at on each side of the evidence.
const NEAR_CALLS: usize = 3;

/// The file that a call touched.
pub fn touched(call: &Call) -> Option<(&str, bool)> {
    match &call.input {
        Input::Edit { path, .. } => Some((path, true)),
        Input::Read { path } => Some((path, false)),
        _ => None,
    }
}

/// A file that a session touched, and the names in what was seen of it.
#[derive(Clone, Debug)]
struct Touched {
    path: String,
    edited: bool,
    names: Words,
}

/// The files that a session touched, by its calls and by what git listed.
#[derive(Clone, Debug, Default)]
pub struct TouchedFiles {
    files: Vec<Touched>,
    /// The files that each call of git listed, by the call's id.
    listed: BTreeMap<String, Vec<String>>,
}

/// Gains of a file: for its name in a text, for its stem in the text, and for each name of the
/// text that stands in the file.
const NAME_GAIN: f32 = 10.0;
const STEM_GAIN: f32 = 6.0;
const HOLDS_GAIN: f32 = 1.5;

/// Names of a text that count in one file.
const HOLDS_MAX: u8 = 4;

/// Characters of a name that can be known again.
const STEM_CHARS_MIN: usize = 6;

/// Share of a file that was only read: it was looked at on the way.
const READ_SHARE: f32 = 0.4;

impl TouchedFiles {
    /// Takes the files of a session.
    pub fn of(session: &Session, roots: &Roots) -> Self {
        let mut files: BTreeMap<String, Touched> = BTreeMap::new();
        let mut add = |path: String, edited: bool, text: &str| {
            if words::BUILT.is_match(&path) {
                return;
            }
            let file = files.entry(path.clone()).or_insert_with(|| Touched {
                path,
                edited: false,
                names: Words::new(),
            });
            file.edited |= edited;
            file.names.extend(sets::names_in_code(text));
        };
        let mut known: BTreeSet<String> = BTreeSet::new();
        let steps = session.turns.iter().flat_map(|turn| &turn.steps);
        for call in steps.filter_map(|step| match &step.what {
            StepKind::Call(call) if !call.denied && !call.failed => Some(call),
            _ => None,
        }) {
            let Some(path) = touched(call).and_then(|(path, _)| roots.relative(path)) else {
                continue;
            };
            match &call.input {
                Input::Edit { old, new, .. } => {
                    add(path.clone(), true, old);
                    add(path.clone(), true, new);
                }
                _ => add(path.clone(), false, &call.output),
            }
            known.insert(path);
        }
        let listed = listings::of(session, roots, known);
        // Files that git lists were changed, no matter by whom.
        listed.values().flatten().for_each(|path| add(path.clone(), true, ""));
        Self { files: files.into_values().collect(), listed }
    }

    /// Returns the weight of each file for a text: whether the file is named, and how many names of the text
    /// stand in it.
    fn weights(&self, text: &str) -> BTreeMap<&str, f32> {
        let lower = text.to_lowercase();
        let names = sets::names(text);
        let weigh = |file: &Touched| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path).to_lowercase();
            let stem = name.split('.').next().unwrap_or(&name);
            let called = if names.contains(&name) || lower.contains(&file.path.to_lowercase()) {
                NAME_GAIN
            } else if stem.len() >= STEM_CHARS_MIN && lower.contains(stem) {
                STEM_GAIN
            } else {
                0.0
            };
            let holds = names.intersection(&file.names).count();
            let holds = u8::try_from(holds).unwrap_or(HOLDS_MAX).min(HOLDS_MAX);
            let share = if file.edited { 1.0 } else { READ_SHARE };
            called + HOLDS_GAIN * f32::from(holds) * share
        };
        self.files.iter().map(|file| (file.path.as_str(), weigh(file))).collect()
    }
}

/// Returns the files a memory with this evidence and text is about, the nearest first.
pub fn nearest(
    roots: &Roots,
    files: &TouchedFiles,
    episode: &Episode<'_>,
    step: usize,
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
    let mut weights = files.weights(text);
    for (path, weight) in near(&calls, step) {
        *weights.entry(path).or_default() += weight;
    }
    let mut paths = best(weights);
    for named in named(roots, text) {
        if paths.len() < PATHS_MAX
            && !paths.iter().any(|path| path == &named || path.ends_with(&format!("/{named}")))
        {
            paths.push(named);
        }
    }
    paths
}

/// Share of the best file's weight below which a file was only nearby.
const NEARBY_SHARE: f32 = 0.15;

/// The files of most weight.
fn best(weights: BTreeMap<&str, f32>) -> Vec<String> {
    let most = weights.values().copied().fold(0.0, f32::max);
    let mut ranked: Vec<(&str, f32)> = weights
        .into_iter()
        .filter(|(_, weight)| *weight > 0.0 && *weight >= most * NEARBY_SHARE)
        .collect();
    ranked.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
    ranked.into_iter().take(PATHS_MAX).map(|(path, _)| path.to_owned()).collect()
}

/// Gain of a file that was changed or listed for a commit, and loss of a test among several changed files.
const CHANGED_GAIN: f32 = 2.0;
const TEST_LOSS: f32 = 1.0;

/// Returns the files that were changed in some episodes: those that a text is about first.
pub fn changed(
    roots: &Roots,
    files: &TouchedFiles,
    episodes: &[Episode<'_>],
    text: &str,
) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for (_, call) in episodes.iter().flat_map(Episode::calls).filter(|(_, call)| !call.failed) {
        match &call.input {
            Input::Edit { path, .. } => paths.extend(roots.relative(path)),
            _ => paths.extend(files.listed.get(&call.id).into_iter().flatten().cloned()),
        }
    }
    paths.retain(|path| !words::BUILT.is_match(path));
    let of_text = files.weights(text);
    let mut weights: BTreeMap<&str, f32> = BTreeMap::new();
    for path in &paths {
        let loss = if words::ONE_TEST.is_match(path) { TEST_LOSS } else { 0.0 };
        let known = of_text.get(path.as_str()).copied().unwrap_or_default();
        weights.insert(path, CHANGED_GAIN + known - loss);
    }
    best(weights)
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
        .map(without_line)
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
        .map(|path| of_diff(path, text).unwrap_or(path))
        .filter_map(|path| roots.relative(path))
        .filter(|path| !words::BUILT.is_match(path))
        .filter(|path| {
            !path.contains("..") && !path.starts_with('.')
                || path.starts_with(".github/")
                || path.starts_with(".claude/")
        })
        .collect()
}

/// The path in a diff of git, which writes each twice: `a/src/cart.rs b/src/cart.rs`.
fn of_diff<'p>(path: &'p str, text: &str) -> Option<&'p str> {
    let (side, rest) = path.split_once('/')?;
    let other = match side {
        "a" => "b",
        "b" => "a",
        _ => return None,
    };
    text.contains(&format!("{other}/{rest}")).then_some(rest)
}

/// A path without the number of a line behind it, which `grep -C` writes so: `src/cart.rs-12-`.
fn without_line(path: &str) -> &str {
    let line = words::LINE_OF_GREP.captures(path).and_then(|found| found.get(1));
    line.map_or(path, |line| &path[..line.start()])
}

/// Whether a name ends like a file's: a version or a tag ends with a number.
fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_writes_each_path_twice() {
        let diff = "diff --git a/src/cart.rs b/src/cart.rs\n--- a/src/cart.rs\n+++ b/src/cart.rs";
        let named = |text: &str| named(&Roots::default(), text);
        assert!(named(diff).iter().all(|path| path == "src/cart.rs"), "{:?}", named(diff));
        assert_eq!(named("See a/src/cart.rs"), ["a/src/cart.rs"], "a folder may have this name");
    }

    #[test]
    fn a_line_that_grep_shows_is_of_its_file() {
        let named = |text: &str| named(&Roots::default(), text);
        let shown = "src/cart.rs-12-fn total() {\nsrc/cart.rs-13-\nsrc/a-1.rs\nv/1.0-2/a.rs";
        assert_eq!(named(shown), ["src/cart.rs", "src/cart.rs", "src/a-1.rs", "v/1.0-2/a.rs"]);
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
