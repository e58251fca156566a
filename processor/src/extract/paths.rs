//! The files a memory is about: those of the tool calls nearest to its evidence, and those its
//! text names, relative to the working tree they lie in.

use std::collections::BTreeMap;

use super::episode::Episode;
use super::sets::{self, Words};
use super::words;
use crate::transcript::session::{Call, Input, Session, StepKind};

/// Files of one memory.
const PATHS_MAX: usize = 6;

/// Calls on files looked at on each side of the evidence.
const NEAR_CALLS: usize = 3;

/// The working trees of a project, each as `/`-separated folders; a Windows drive is `/d`.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<String>);

/// The folder of a worktree inside the tree it belongs to.
const WORKTREES: &str = "/.claude/worktrees/";

impl Roots {
    /// Takes the folders as transcripts record them.
    pub fn new(roots: impl IntoIterator<Item = String>) -> Self {
        let mut roots: Vec<String> =
            roots.into_iter().map(|root| unified(&root).trim_end_matches('/').to_owned()).collect();
        let owners: Vec<String> = roots
            .iter()
            .filter_map(|root| Some(root.split_once(WORKTREES)?.0.to_owned()))
            .collect();
        roots.extend(owners);
        roots.retain(|root| root.len() > 1);
        // The deepest first: a worktree may lie inside the main tree.
        roots.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        roots.dedup();
        Self(roots)
    }

    /// Returns these roots and, where a session ran outside of all, the uppermost folder it ran in: a clone that is
    /// gone, or somebody else's.
    pub fn with_folders<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Self {
        Self::new(self.0.iter().cloned().chain(self.outside(folders)))
    }

    /// Returns the uppermost of the folders that lie outside of all roots.
    pub fn outside<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Option<String> {
        let outside = folders.map(unified).filter(|folder| self.inner(folder).is_none());
        outside.min_by_key(String::len)
    }

    /// Returns what of an absolute path lies below a root; empty for a root itself.
    fn inner(&self, path: &str) -> Option<String> {
        let inner = self.0.iter().find_map(|root| {
            let (head, rest) = path.split_at_checked(root.len())?;
            (head.eq_ignore_ascii_case(root) && (rest.is_empty() || rest.starts_with('/')))
                .then(|| rest.trim_start_matches('/').to_owned())
        })?;
        // A worktree holds the same files as the tree it lies in.
        match format!("/{inner}").split_once(WORKTREES) {
            Some((_, rest)) => Some(rest.split_once('/').map_or("", |(_, rest)| rest).to_owned()),
            None => Some(inner),
        }
    }

    /// Returns a recorded path relative to the working tree it lies in; `None` outside of all.
    pub fn relative(&self, path: &str) -> Option<String> {
        let path = unified(path.trim());
        let path = path.trim_start_matches("./");
        if !path.starts_with(['/', '~']) {
            return (!path.is_empty() && !path.starts_with("..")).then(|| path.to_owned());
        }
        self.inner(path).filter(|inner| !inner.is_empty())
    }

    /// Returns a text with paths below the working trees made relative, however they are spelled.
    pub fn strip(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for root in &self.0 {
            for spelling in spellings(root) {
                text = stripped(&text, &spelling);
            }
        }
        words::IN_WORKTREE.replace_all(&text, "").into_owned()
    }

    /// Returns the folder that a command ran in, relative to its working tree; `.` is the root, and `None` is outside.
    pub fn directory(&self, cwd: &str, inner: &str) -> Option<String> {
        let inner = unified(inner);
        let whole = match inner.as_str() {
            "" => unified(cwd),
            inner if inner.starts_with(['/', '~', '$']) => inner.to_owned(),
            inner => folded(&format!("{}/{inner}", unified(cwd).trim_end_matches('/')))?,
        };
        let inside = self.inner(whole.trim_end_matches('/'))?;
        Some(if inside.is_empty() { ".".to_owned() } else { inside })
    }
}

/// A path with `/` between its folders, a drive as its first folder.
fn unified(path: &str) -> String {
    let path = path.replace('\\', "/");
    match path.as_bytes() {
        [drive, b':', rest @ ..]
            if drive.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'/')) =>
        {
            format!("/{}{}", char::from(drive.to_ascii_lowercase()), &path[2..])
        }
        _ => path,
    }
}

/// A path without `.` and `..`; `None` where it leaves its beginning.
fn folded(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// The ways in which a root is written: as it is and, below a drive, as Windows does.
fn spellings(root: &str) -> Vec<String> {
    let mut spellings = vec![root.to_owned()];
    let drive = root.as_bytes();
    if drive.len() > 2 && drive[1].is_ascii_alphabetic() && drive[2] == b'/' {
        let windows = format!("{}:{}", char::from(drive[1].to_ascii_uppercase()), &root[2..]);
        spellings.push(windows.replace('/', "\\"));
        spellings.push(windows.replace('/', "\\\\"));
        spellings.push(windows);
    }
    spellings
}

/// A text without a root, whatever the case of its letters; what lies beside the root stays as it is.
fn stripped(text: &str, root: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let root = root.to_ascii_lowercase();
    let mut told = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(&root) {
        let end = at + root.len();
        let inside = text[end..].starts_with(['/', '\\']);
        let goes_on = text[end..]
            .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && !text[end..].starts_with(". ");
        let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/' || c == ':');
        if at < from || goes_on || !begins {
            continue;
        }
        told.push_str(&text[from..at]);
        let slashes = text[end..].len() - text[end..].trim_start_matches(['/', '\\']).len();
        from = if inside { end + slashes } else { end };
        if !inside {
            told.push('.');
        }
    }
    told.push_str(&text[from..]);
    told
}

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
pub struct TouchedFiles(Vec<Touched>);

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
        let steps = session.turns.iter().flat_map(|turn| &turn.steps);
        for call in steps.filter_map(|step| match &step.what {
            StepKind::Call(call) if !call.denied => Some(call),
            _ => None,
        }) {
            match &call.input {
                Input::Edit { path, old, new } if !call.failed => {
                    if let Some(path) = roots.relative(path) {
                        add(path.clone(), true, old);
                        add(path, true, new);
                    }
                }
                Input::Read { path } if !call.failed => {
                    if let Some(path) = roots.relative(path) {
                        add(path, false, &call.output);
                    }
                }
                // Files that git lists were changed, no matter by whom.
                Input::Shell { command, .. } if words::LISTS_CHANGES.is_match(command) => {
                    let listed = roots.strip(&format!("{command}\n{}", call.output));
                    named(roots, &listed).into_iter().for_each(|path| add(path, true, ""));
                }
                _ => {}
            }
        }
        Self(files.into_values().collect())
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
        self.0.iter().map(|file| (file.path.as_str(), weigh(file))).collect()
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
            Input::Shell { command, .. } if words::LISTS_CHANGES.is_match(command) => {
                paths.extend(named(roots, &roots.strip(&format!("{command}\n{}", call.output))));
            }
            _ => {}
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
        let folder = |cwd: &str, inner: &str| roots.directory(cwd, inner);
        assert_eq!(folder("/home/a/shop", "").as_deref(), Some("."));
        assert_eq!(folder("/home/a/shop", "web").as_deref(), Some("web"));
        assert_eq!(folder("/home/a/shop/web", "../api").as_deref(), Some("api"));
        assert_eq!(folder("/home/a/shop/web", "").as_deref(), Some("web"));
        assert_eq!(folder("/home/a/other", ""), None);
        assert_eq!(folder("/home/a/shop", "$(mktemp -d)"), None);
    }

    #[test]
    fn a_drive_is_written_in_many_ways() {
        let roots = Roots::new([r"D:\shop".to_owned()]);
        for path in
            [r"D:\shop\src\a.py", "D:/shop/src/a.py", "/d/shop/src/a.py", r"d:\Shop\src\a.py"]
        {
            assert_eq!(roots.relative(path).as_deref(), Some("src/a.py"), "{path}");
            let text = format!("It is in `{path}`, not in {path}.");
            let told = roots.strip(&text).replace('\\', "/");
            assert_eq!(told, "It is in `src/a.py`, not in src/a.py.", "{path}");
        }
        assert_eq!(roots.relative(r"C:\Users\a\x.py"), None);
        assert_eq!(roots.relative(r"D:\shopping\a.py"), None);
        assert_eq!(roots.strip("cd /d/shop && cd /d/shopping"), "cd . && cd /d/shopping");
        let tree = r"D:\shop\.claude\worktrees\calm-cat-1\src\a.py";
        assert_eq!(roots.relative(tree).as_deref(), Some("src/a.py"));
        assert_eq!(roots.strip(&format!("See {tree}")), r"See src\a.py");
    }

    #[test]
    fn a_clone_that_is_gone_is_a_root_of_its_session() {
        let roots = Roots::new(["/home/a/shop".to_owned()])
            .with_folders(["/Users/b/code/shop/web", "/Users/b/code/shop"].into_iter());
        assert_eq!(roots.relative("/Users/b/code/shop/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/home/a/shop/src/a.py").as_deref(), Some("src/a.py"));
    }

    #[test]
    fn a_diff_writes_each_path_twice() {
        let diff = "diff --git a/src/cart.rs b/src/cart.rs\n--- a/src/cart.rs\n+++ b/src/cart.rs";
        let named = |text: &str| named(&Roots::default(), text);
        assert!(named(diff).iter().all(|path| path == "src/cart.rs"), "{:?}", named(diff));
        assert_eq!(named("See a/src/cart.rs"), ["a/src/cart.rs"], "a folder may have this name");
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
