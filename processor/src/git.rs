//! Queries to git about a working tree. They only read: nothing here changes the index or HEAD. Only [`driver`] writes:
//! two settings of the repository, at a person's request.
//!
//! All answers are optional. Without git, outside a repository, or if git takes too long, the answer is empty, and the
//! project is recognised by its path. Old versions of git cannot be prevented from running programs that a repository
//! names; where this matters, such a version counts as missing (see [`version`]).

pub mod blobs;
mod config;
pub mod driver;
pub mod hung;
pub mod ignore_rule;
pub mod memories;
pub mod text_origins;
pub mod version;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use memory_store::Timestamp;
use memory_store::fs::process::{end_group, start_group};
use memory_store::git_dirs::{GitDirs, has_git_entry, is_root};
use memory_store::identity::Observed;
use memory_store::layout::STORE_DIR;
use memory_store::reconcile::{GitSnapshot, GitState};

/// Time limit of one call of git.
const GIT_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of bytes that are read from git's output.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;
/// Maximum number of files with uncommitted changes in an answer.
const UNCOMMITTED_MAX: usize = 50;
/// Maximum number of untracked files that are examined.
const UNTRACKED_MAX: usize = 1000;
/// Maximum number of branches and stashes whose memory files are examined.
const REFS_MAX: usize = 50;

/// Returns the properties by which the project of a working tree is recognised. Properties of the repository are
/// included only if the folder is the root of the repository.
pub fn observe(root: &Path) -> Observed {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let alone = || Observed { root: root.clone(), ..Observed::default() };
    let Some(git) = GitDirs::of(&root) else { return alone() };
    // A folder that contains a bare repository. The repository's working trees are other folders.
    let is_around = !git.is_linked() && git.is_bare();
    let top = || line(&root, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    if !is_around && top().as_deref() != Some(&root) {
        // Git is not available, or the repository's configuration sets another folder as its working tree
        // (`core.worktree`). Trust in this folder does not extend to that folder.
        return alone();
    }
    let main_root = match is_around {
        true => git.linked_roots().into_iter().find(|root| is_root(root)),
        false => git.main_root(),
    };
    Observed {
        main_root: main_root.filter(|main| *main != root),
        root_commits: lines(&root, &["rev-list", "--max-parents=0", "HEAD"]),
        remotes: remotes(&root),
        worktrees: git.linked_roots().into_iter().filter(|tree| *tree != root).collect(),
        shallow: line(&root, &["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true"),
        root,
    }
}

/// Returns the working trees of the repository, the main one first if it exists; empty outside a repository.
pub fn worktrees(root: &Path) -> Vec<PathBuf> {
    let Some(git) = GitDirs::of(root) else { return Vec::new() };
    let main = if git.is_linked() { git.main_root() } else { Some(root.to_owned()) };
    main.into_iter().chain(git.linked_roots()).collect()
}

/// Returns git's view of the memory files of a working tree. `before` is the commit of HEAD at the last call.
pub fn state(root: &Path, before: Option<&str>) -> GitState {
    let marks = marks(root);
    let (indexed, left_out) = indexed(root);
    let head = line(root, &["rev-parse", "--verify", "--quiet", "HEAD"]);
    let Some(commit) = head.clone() else {
        // Before the first commit of a branch, files may already be staged, and other branches may contain memory
        // files.
        return GitState {
            root: root.to_owned(),
            branch: branch(root),
            forward: true,
            held: held_elsewhere(root, ""),
            marks,
            indexed,
            left_out,
            ..GitState::default()
        };
    };
    let before = before.filter(|before| is_commit_id(before));
    let forward = before.is_none_or(|before| {
        before == commit || succeeds(root, &["merge-base", "--is-ancestor", before, &commit])
    });
    let removed = match before {
        Some(before) if forward && before != commit => removed_between(root, before, &commit),
        _ => Vec::new(),
    };
    GitState {
        root: root.to_owned(),
        branch: branch(root),
        forward,
        committed: paths(root, &["ls-tree", "-r", "-z", "--name-only", &commit, "--", STORE_DIR]),
        removed_in_commits: removed,
        removed_by_tools: Vec::new(),
        held: held_elsewhere(root, &commit),
        stash: line(root, &["rev-parse", "--verify", "--quiet", "refs/stash"]),
        indexed,
        left_out,
        has_untracked: None,
        marks,
        head,
    }
}

/// Returns whether a working tree has an untracked file outside of the memory folder that git does not ignore and that
/// was last changed before `time`; `None` if git does not answer.
pub fn has_untracked_since(root: &Path, time: SystemTime) -> Option<bool> {
    let others = format!(":(exclude){STORE_DIR}");
    let list =
        ["ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory"];
    let listing = output(root, &[list.as_slice(), &["--", ".", &others]].concat())?;
    let is_older = |name: &str| {
        let changed = fs::symlink_metadata(root.join(name)).and_then(|file| file.modified());
        changed.is_ok_and(|changed| changed <= time)
    };
    Some(fields(&listing).take(UNTRACKED_MAX).any(is_older))
}

/// Returns the files below the memory folder that are in the index, and the subset that a sparse checkout omits from
/// the tree.
fn indexed(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    // Each path follows a letter and a space. The letter is S for a file outside the sparse checkout. It is in lower
    // case if git is configured to assume that the file is unchanged.
    let listing = output(root, &["ls-files", "-v", "-z", "--", STORE_DIR]).unwrap_or_default();
    let (mut indexed, mut left_out) = (Vec::new(), Vec::new());
    for (tag, path) in fields(&listing).filter_map(|field| field.split_once(' ')) {
        indexed.push(PathBuf::from(path));
        if tag.eq_ignore_ascii_case("S") && root.join(path).symlink_metadata().is_err() {
            left_out.push(PathBuf::from(path));
        }
    }
    (indexed, left_out)
}

/// Returns the current state of git's own files of a working tree.
pub(crate) fn marks(root: &Path) -> GitSnapshot {
    let folders = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"];
    match lines(root, &folders).as_slice() {
        [own, shared] => GitSnapshot::take(Path::new(own), Path::new(shared)),
        _ => GitSnapshot::default(),
    }
}

/// Returns the checked-out branch; `None` if HEAD is detached or there is no repository.
pub fn branch(root: &Path) -> Option<String> {
    line(root, &["symbolic-ref", "--quiet", "--short", "HEAD"])
}

/// Returns the positions of HEAD and the stash as text, for comparison with an earlier result.
pub fn position(root: &Path) -> String {
    let refs = lines(root, &["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
    let stash = line(root, &["rev-parse", "--verify", "--quiet", "refs/stash"]);
    format!("{} {}", refs.join(" "), stash.unwrap_or_default())
}

/// Returns git's state regarding the memory files of a working tree, for comparison with an earlier result: HEAD, its
/// branch, the stash, and the staged files. Empty outside a repository; `None` if git does not answer.
pub fn memory_position(root: &Path) -> Option<String> {
    if !is_repository(root) {
        return Some(String::new());
    }
    let refs = lines(root, &["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
    let stash = line(root, &["rev-parse", "--verify", "--quiet", "refs/stash"]);
    let staged = output(root, &["ls-files", "--stage", "-z", "--", STORE_DIR])?;
    let staged = &blake3::hash(&staged).to_hex()[..32];
    Some(format!("{} {staged} {}", refs.join(" "), stash.unwrap_or_default()))
}

/// Returns the memory files that are not staged, or that differ from what a checkout of the staged version would write;
/// `None` if git does not answer.
pub fn changed_memories(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let mut list = command(root);
    list.args(["ls-files", "-z", "--modified", "--others", "--", STORE_DIR]);
    if !without_filters(&mut list, root) {
        return None;
    }
    Some(fields(&output_of(&mut list)?).map(PathBuf::from).collect())
}

/// Returns the memory files that git tracks; `None` if git does not answer.
pub fn tracked_memories(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let text = output(root, &["ls-files", "-z", "--", STORE_DIR])?;
    Some(fields(&text).map(PathBuf::from).collect())
}

/// Returns the occurrences of these texts in tracked files except memory files, ignoring case, with one line per match.
/// `None` if git does not answer. The texts are passed by a pipe, so that they do not appear in the list of processes.
pub fn tracked_texts(root: &Path, texts: &[&str]) -> Option<String> {
    let mut grep = command(root);
    grep.args(["grep", "-I", "-i", "-F", "-h", "-o", "--no-color", "--no-line-number"]);
    grep.args(["--no-column", "--no-recurse-submodules", "--no-textconv", "-f", "-", "--", "."]);
    grep.arg(format!(":(exclude){STORE_DIR}"));
    let (status, found) = answer_to(&mut grep, texts.join("\n").into_bytes())?;
    // Status 1 means that there is no match.
    matches!(status.code(), Some(0 | 1)).then(|| String::from_utf8_lossy(&found).into_owned())
}

/// Returns the paths of tracked files, except memory files, and the names of branches and tags, one per line.
pub fn tracked_names(root: &Path) -> String {
    let without_memories = format!(":(exclude){STORE_DIR}");
    let files = output(root, &["ls-files", "-z", "--", ".", &without_memories]).unwrap_or_default();
    let refs = output(root, &["for-each-ref", "--format=%(refname:short)"]).unwrap_or_default();
    let files = String::from_utf8_lossy(&files).replace('\0', "\n");
    format!("{files}\n{}\n", String::from_utf8_lossy(&refs))
}

/// Returns whether a folder is in a repository, even if git cannot read the repository.
pub fn is_repository(root: &Path) -> bool {
    root.ancestors().any(has_git_entry)
}

/// Returns whether git ignores a file; true outside a repository.
pub fn is_ignored(root: &Path, file: &Path) -> bool {
    let Some(file) = file.to_str() else { return false };
    line(root, &["rev-parse", "--show-toplevel"]).is_none()
        || succeeds(root, &["check-ignore", "--quiet", "--", file])
}

/// Returns files with uncommitted changes, with paths relative to the root.
pub fn uncommitted(root: &Path) -> Vec<String> {
    let mut status = command(root);
    status.args(["status", "--porcelain=v1", "-z", "--untracked-files=normal"]);
    // For submodules, git would start another git process, whose filters cannot be disabled from here.
    status.arg("--ignore-submodules=dirty");
    if !without_filters(&mut status, root) {
        return Vec::new();
    }
    let Some(status) = output_of(&mut status) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let mut entries = fields(&status);
    while let Some(entry) = entries.next() {
        let Some((state, path)) = entry.split_at_checked(3) else { continue };
        if state.starts_with(['R', 'C']) {
            // This entry is the previous name of a renamed file.
            entries.next();
        }
        if files.len() < UNCOMMITTED_MAX {
            files.push(path.to_owned());
        }
    }
    files
}

/// Returns the time of the first commit of a repository; `None` if there is no commit or the history is shallow.
pub fn began(root: &Path) -> Option<Timestamp> {
    if line(root, &["rev-parse", "--is-shallow-repository"]).as_deref() != Some("false") {
        return None;
    }
    let roots = lines(root, &["rev-list", "--max-parents=0", "--timestamp", "HEAD"]);
    let seconds = roots.iter().filter_map(|line| line.split_once(' ')?.0.parse::<i64>().ok()).min();
    Some(Timestamp(seconds?.checked_mul(1000)?))
}

/// Usual names of main branches, used in addition to the default branches of remotes.
const TRUNKS: [&str; 4] = ["main", "master", "trunk", "develop"];

/// Returns the local branches that were merged into HEAD. Omits the checked-out branch, main branches, and branches
/// from which the checked-out branch may have been created, because these contain no separate work.
pub fn merged_branches(root: &Path) -> Vec<String> {
    let current = branch(root);
    let defaults =
        lines(root, &["for-each-ref", "--format=%(symref:lstrip=3)", "refs/remotes/*/HEAD"]);
    let is_trunk = |name: &str| TRUNKS.contains(&name) || defaults.iter().any(|it| it == name);
    lines(root, &["for-each-ref", "--merged", "HEAD", "--format=%(refname:short)", "refs/heads"])
        .into_iter()
        .filter(|name| Some(name) != current.as_ref() && !is_trunk(name))
        .collect()
}

fn removed_between(root: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let range = format!("{before}..{after}");
    let arguments = [
        "log",
        "--diff-filter=D",
        "--name-only",
        "--no-renames",
        "--format=",
        "-z",
        &range,
        "--",
        STORE_DIR,
    ];
    let mut removed = paths(root, &arguments);
    removed.sort();
    removed.dedup();
    removed
}

/// Returns the memory files in other branches and in stashes. The third parent of a stash contains its untracked files.
fn held_elsewhere(root: &Path, head: &str) -> Vec<PathBuf> {
    let count = format!("--count={REFS_MAX}");
    let newest = [
        "for-each-ref",
        "--sort=-committerdate",
        &count,
        "--format=%(objectname)",
        "refs/heads",
        "refs/remotes",
    ];
    let mut commits = lines(root, &newest);
    commits.retain(|commit| commit != head);
    for stash in lines(root, &["log", "-g", "--format=%H %P", "refs/stash"]) {
        let mut parts = stash.split(' ').map(str::to_owned);
        commits.extend(parts.next());
        commits.extend(parts.nth(2));
    }
    commits.sort();
    commits.dedup();
    commits.truncate(2 * REFS_MAX);
    let mut held: Vec<PathBuf> = commits
        .iter()
        .flat_map(|commit| {
            paths(root, &["ls-tree", "-r", "-z", "--name-only", commit, "--", STORE_DIR])
        })
        .collect();
    held.sort();
    held.dedup();
    held
}

fn remotes(root: &Path) -> Vec<String> {
    let mut urls: Vec<String> = lines(root, &["config", "--get-regexp", r"^remote\..*\.url$"])
        .iter()
        .filter_map(|line| line.split_once(' ').map(|(_, url)| url.to_owned()))
        .collect();
    urls.sort();
    urls.dedup();
    urls
}

fn is_commit_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn line(root: &Path, arguments: &[&str]) -> Option<String> {
    let text = output(root, arguments)?;
    let line = str::from_utf8(&text).ok()?.trim_end_matches('\n');
    (!line.is_empty()).then(|| line.to_owned())
}

fn lines(root: &Path, arguments: &[&str]) -> Vec<String> {
    let text = output(root, arguments).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn paths(root: &Path, arguments: &[&str]) -> Vec<PathBuf> {
    let text = output(root, arguments).unwrap_or_default();
    fields(&text).map(|path| PathBuf::from(path.trim_start_matches('\n'))).collect()
}

fn fields(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|byte| *byte == 0)
        .filter_map(|field| str::from_utf8(field).ok())
        .filter(|field| !field.is_empty())
}

fn succeeds(root: &Path, arguments: &[&str]) -> bool {
    output(root, arguments).is_some()
}

/// Disables the content filters that the repository's own configuration defines, because a repository that was copied
/// instead of cloned may contain another person's configuration. The user's own filters remain active. Returns `false`
/// if not all filters can be disabled.
fn without_filters(command: &mut Command, root: &Path) -> bool {
    const FILTERS_MAX: usize = 256;
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    let Some(found) = config::settings(root, pattern) else { return false };
    let theirs = found.iter().filter(|setting| setting.is_repositorys);
    let keys: BTreeSet<&str> = theirs.map(|setting| setting.key.as_str()).collect();
    let value = |key: &&str| if key.ends_with(".required") { "false" } else { "" };
    overrule(command, keys.iter().map(|key| (*key, value(key))));
    keys.len() <= FILTERS_MAX
}

/// Passes settings to git that override the settings of all configuration files. Settings that the user passes in the
/// same way remain in effect.
fn overrule<'a>(command: &mut Command, settings: impl IntoIterator<Item = (&'a str, &'a str)>) {
    #[expect(
        clippy::disallowed_methods,
        reason = "settings that the user gave git in the same way"
    )]
    let given = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok());
    let mut count = given.unwrap_or(0_usize);
    for (key, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count = count.saturating_add(1);
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
}

/// Runs git and returns its output; `None` if it failed or took too long.
fn output(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    output_of(command(root).args(arguments))
}

fn output_of(command: &mut Command) -> Option<Vec<u8>> {
    let (status, text) = answer(command)?;
    status.success().then_some(text)
}

/// Runs git and returns its status and output; `None` if it cannot be run, took too long, or printed too much.
fn answer(command: &mut Command) -> Option<(ExitStatus, Vec<u8>)> {
    answer_limited(command, Vec::new(), GIT_TIMEOUT)
}

/// Runs git with `input` on its standard input; otherwise like [`answer`].
fn answer_to(command: &mut Command, input: Vec<u8>) -> Option<(ExitStatus, Vec<u8>)> {
    answer_limited(command.stdin(Stdio::piped()), input, GIT_TIMEOUT)
}

/// Runs git with `input` for at most `limit`; otherwise like [`answer`]. After a timeout, later queries about the same
/// folder are skipped.
fn answer_limited(
    command: &mut Command,
    input: Vec<u8>,
    limit: Duration,
) -> Option<(ExitStatus, Vec<u8>)> {
    let GitOutput { status, text } = answer_from(command, input, limit)?;
    if status.is_none() && text.len() as u64 <= OUTPUT_BYTES_MAX {
        hung::note(command);
    }
    Some((status?, text))
}

/// Output of git.
#[derive(Debug)]
struct GitOutput {
    /// The exit status; `None` if git was killed, because it took too long or printed too much.
    status: Option<ExitStatus>,
    /// All output up to the end of the process.
    text: Vec<u8>,
}

/// Runs git with a time limit; `None` if git cannot be run. If there is `input`, stdin is a pipe.
fn answer_from(command: &mut Command, input: Vec<u8>, limit: Duration) -> Option<GitOutput> {
    if hung::is_known(command) {
        return Some(GitOutput { status: None, text: Vec::new() });
    }
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let (mut child, _watched) = start_group(command).ok()?;
    let stdout = child.stdout.take()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A separate thread writes, because git may answer before it has read all input. If git ends early, the rest of
        // the input is not needed.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (sender, pieces) = mpsc::channel();
    // A separate thread reads, so that a full pipe does not block git, and a pipe that stays open does not block this
    // thread.
    std::thread::spawn(move || pass_on(stdout.take(OUTPUT_BYTES_MAX + 1), &sender));
    let mut text = Vec::new();
    let is_whole = loop {
        match pieces.recv_timeout(left()) {
            Ok(Ok(piece)) => text.extend(piece),
            Err(RecvTimeoutError::Disconnected) => break text.len() as u64 <= OUTPUT_BYTES_MAX,
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => break false,
        }
    };
    // The group is killed before waiting for git, because a child of git may keep the pipe open after git has ended.
    if !is_whole {
        end_group(&mut child);
        return Some(GitOutput { status: None, text });
    }
    let mut pause = Duration::from_micros(500);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if !left().is_zero() => std::thread::sleep(pause),
            Ok(None) | Err(_) => {
                end_group(&mut child);
                break None;
            }
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    };
    Some(GitOutput { status, text })
}

/// Sends the pieces of the output as they are read.
fn pass_on(mut from: impl Read, sender: &mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return,
            Ok(len) => Ok(piece[..len].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if sender.send(read).is_err() || is_last {
            return;
        }
    }
}

/// Variables that prevent prompts, fetches and locks, because git must only read.
const QUIET: [(&str, &str); 7] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("LC_ALL", "C"),
];

pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args(["--no-optional-locks", "-c", "core.fsmonitor=", "-c", "core.quotePath=false"])
        // Without this setting, git might run a program that the repository's configuration names.
        .args(["-c", "log.showSignature=false"])
        // Without `diff.submodule=short`, a separate git process in a submodule might run programs that the submodule's
        // configuration names. With `log.showRoot`, changes in the first commit are included.
        .args(["-c", "diff.submodule=short", "-c", "log.showRoot=true"])
        .args(["-c", "diff.suppressBlankEmpty=false"])
        .envs(QUIET)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // Git sets these variables for its hooks, and a session may have been started in such a hook. They would select
    // another repository than the requested one.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
    ] {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_tests::git;
    use std::fs;

    #[test]
    fn without_a_repository_only_the_path_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(observe(&root), Observed { root: root.clone(), ..Observed::default() });
        assert_eq!(state(&root, None), GitState { root, forward: true, ..GitState::default() });
    }

    #[test]
    fn removed_files_other_branches_stashes_and_worktrees_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("repo");
        let memories = root.join(".throughline/memories");
        fs::create_dir_all(&memories).unwrap();
        git(&root, &["init", "-q"]);
        git(&root, &["remote", "add", "origin", "git@example.com:ada/repo.git"]);
        for name in ["one.md", "two ä.md"] {
            fs::write(memories.join(name), name).unwrap();
        }
        git(&root, &["add", "."]);
        git(&root, &["commit", "-q", "-m", "first"]);
        let first = state(&root, None);
        assert_eq!(first.branch.as_deref(), Some("main"));
        assert_eq!(first.committed.len(), 2);
        assert!(first.forward);

        // A file counts as omitted if a sparse checkout or a flag in the index excludes it from the tree and it does
        // not exist.
        git(
            &root,
            &["sparse-checkout", "set", "--no-cone", "/*", "!/.throughline/memories/one.md"],
        );
        let one = PathBuf::from(".throughline/memories/one.md");
        let sparse = state(&root, None);
        assert_eq!((sparse.indexed.len(), &sparse.left_out), (2, &vec![one.clone()]));
        git(&root, &["sparse-checkout", "disable"]);
        assert!(state(&root, None).left_out.is_empty());
        git(&root, &["update-index", "--skip-worktree", one.to_str().unwrap()]);
        assert!(state(&root, None).left_out.is_empty());
        fs::remove_file(root.join(&one)).unwrap();
        assert_eq!(state(&root, None).left_out, std::slice::from_ref(&one));
        git(&root, &["update-index", "--no-skip-worktree", one.to_str().unwrap()]);
        git(&root, &["checkout", "-q", "--", "."]);

        git(&root, &["branch", "old"]);
        git(&root, &["rm", "-q", ".throughline/memories/two ä.md"]);
        git(&root, &["commit", "-q", "-m", "second"]);
        let second = state(&root, first.head.as_deref());
        assert!(second.forward);
        assert_eq!(second.removed_in_commits, [PathBuf::from(".throughline/memories/two ä.md")]);
        assert_eq!(second.held.len(), 2);
        assert_eq!(merged_branches(&root), ["old"]);
        // Neither the branch from which this one was created nor the default branch of a remote counts as merged.
        let made_from = branch(&root).unwrap();
        git(&root, &["branch", "stable"]);
        git(&root, &["update-ref", "refs/remotes/origin/stable", "HEAD"]);
        git(&root, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/stable"]);
        git(&root, &["checkout", "-q", "-b", "topic"]);
        assert_eq!(merged_branches(&root), ["old"], "made from {made_from}");
        git(&root, &["checkout", "-q", &made_from]);
        git(&root, &["branch", "-q", "-D", "topic", "stable"]);

        fs::write(memories.join("three.md"), "three").unwrap();
        assert_eq!(uncommitted(&root), [".throughline/memories/three.md"]);
        git(&root, &["stash", "-q", "-u"]);
        let third = state(&root, second.head.as_deref());
        assert!(third.stash.is_some());
        assert!(third.held.contains(&PathBuf::from(".throughline/memories/three.md")));

        let linked = root.parent().unwrap().join("linked");
        git(&root, &["worktree", "add", "-q", linked.to_str().unwrap(), "old"]);
        let observed = observe(&linked);
        assert_eq!((observed.root, observed.main_root), (linked.clone(), Some(root.clone())));
        assert_eq!(observed.remotes, ["git@example.com:ada/repo.git"]);
        assert_eq!(observed.root_commits.len(), 1);
        assert_eq!(observe(&root).worktrees, std::slice::from_ref(&linked));
        assert_eq!(worktrees(&root), listed(&root));
        assert_eq!(worktrees(&linked), worktrees(&root));
    }

    /// Returns the working trees as listed by git.
    fn listed(root: &Path) -> Vec<PathBuf> {
        let listing = output(root, &["worktree", "list", "--porcelain", "-z"]).unwrap();
        let roots = fields(&listing).filter_map(|field| field.strip_prefix("worktree "));
        roots.map(PathBuf::from).collect()
    }

    /// Creates a repository whose first commit contains one file.
    fn commit_one(root: &Path) {
        fs::create_dir(root).unwrap();
        git(root, &["init", "-q"]);
        fs::write(root.join("a.txt"), "one").unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "-q", "-m", "first"]);
    }

    #[test]
    fn looking_runs_no_filter_that_the_repository_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("repo");
        let ran = root.parent().unwrap().join("ran");
        commit_one(&root);
        let filter = format!("touch {}; cat", ran.display());
        for name in ["evil.clean", "a=b.c.clean"] {
            git(&root, &["config", &format!("filter.{name}"), &filter]);
        }
        git(&root, &["config", "filter.evil.required", "true"]);
        fs::write(root.join(".gitattributes"), "a.txt filter=evil\n*.md filter=a=b.c\n").unwrap();
        // The new content has the same length, so git must compare contents.
        fs::write(root.join("a.txt"), "two").unwrap();
        assert_eq!(uncommitted(&root), ["a.txt", ".gitattributes"]);
        assert_a_plain_git_runs_it(&root, &ran);
    }

    #[test]
    fn filters_that_cannot_be_overruled_keep_git_from_looking() {
        use std::io::Write;

        let too_much = format!("[filter \"{}\"]\n\tclean = cat\n", "n".repeat(9000)).repeat(1000);
        for more in [&b"[filter \"\xff\"]\n\tclean = cat\n"[..], too_much.as_bytes()] {
            let folder = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(folder.path()).unwrap().join("repo");
            let ran = root.parent().unwrap().join("ran");
            commit_one(&root);
            git(&root, &["config", "filter.evil.clean", &format!("touch {}; cat", ran.display())]);
            let config = root.join(".git/config");
            fs::OpenOptions::new().append(true).open(config).unwrap().write_all(more).unwrap();
            fs::create_dir_all(root.join(".git/info")).unwrap();
            fs::write(root.join(".git/info/attributes"), "*.txt filter=evil\n").unwrap();
            fs::write(root.join("a.txt"), "two").unwrap();
            assert_eq!(uncommitted(&root), Vec::<String>::new());
            assert_a_plain_git_runs_it(&root, &ran);
        }
    }

    /// Asserts that a program has not run, and that it runs when git is called without the options of this module.
    fn assert_a_plain_git_runs_it(root: &Path, ran: &Path) {
        assert!(!ran.exists());
        assert!(command(root).args(["status", "--short"]).output().unwrap().status.success());
        assert!(ran.exists(), "without the care it would have run");
    }

    #[test]
    fn looking_runs_no_filter_that_a_submodule_names() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (root, library, ran) = (base.join("repo"), base.join("library"), base.join("ran"));
        for repository in [&library, &root] {
            commit_one(repository);
        }
        let url = library.to_str().unwrap();
        let allowed = ["-c", "protocol.file.allow=always"];
        git(&root, &[&allowed[..], &["submodule", "--quiet", "add", url, "part"]].concat());
        git(&root, &["commit", "-q", "-m", "second"]);
        let part = root.join("part");
        git(&part, &["config", "filter.evil.clean", &format!("touch {}; cat", ran.display())]);
        fs::write(part.join(".gitattributes"), "a.txt filter=evil\n").unwrap();
        fs::write(part.join("a.txt"), "two").unwrap();
        assert_eq!(uncommitted(&root), Vec::<String>::new());
        assert_a_plain_git_runs_it(&root, &ran);
    }

    #[test]
    fn a_repository_whose_work_tree_is_elsewhere_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let root = base.join("home/repo");
        fs::create_dir_all(root.join("sub")).unwrap();
        git(&root, &["init", "-q"]);
        assert_eq!(observe(&root).main_root, None);
        // A folder inside the repository is not the repository's root.
        let sub = root.join("sub");
        assert_eq!(observe(&sub), Observed { root: sub.clone(), ..Observed::default() });
        for elsewhere in [base.join("home"), base.clone(), base.join("other")] {
            git(&root, &["config", "core.worktree", elsewhere.to_str().unwrap()]);
            assert_eq!(observe(&root), Observed { root: root.clone(), ..Observed::default() });
        }
    }

    #[test]
    fn each_layout_leads_to_the_working_tree_that_keeps_the_memories() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let at = |name: &str| base.join(name);
        commit_one(&at("lib"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let worktree = |of: &Path, name: &str| {
            let branch = name.replace('/', "-");
            git(of, &["worktree", "add", "-q", "-b", &branch, &text(&at(name))]);
        };
        let check = |name: &str, main: Option<&str>| {
            let observed = observe(&at(name));
            assert_eq!(observed.root, at(name));
            assert_eq!(observed.main_root, main.map(at), "{name}");
            assert_eq!(observed.root_commits.len(), 1, "{name}");
        };
        // A submodule, and a linked worktree of it.
        commit_one(&at("super"));
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        git(&at("super"), &[&add[..], &[&text(&at("lib")), "sub"]].concat());
        worktree(&at("super/sub"), "sub-2");
        check("super/sub", None);
        check("sub-2", Some("super/sub"));
        check("super", None);
        // A repository with a separate git directory, which contains no reference to its working tree.
        git(&base, &["clone", "-q", "--separate-git-dir", "apart.git", "lib", "apart"]);
        worktree(&at("apart"), "apart-2");
        check("apart", None);
        check("apart-2", None);
        // Bare repositories: next to their worktrees, inside their parent folder, and with settings for each worktree.
        for (name, bare) in [("p", "p/.bare"), ("q", "q/.git"), ("r", "r.git")] {
            fs::create_dir(at(name)).unwrap();
            git(&base, &["clone", "-q", "--bare", "lib", bare]);
            if name == "p" {
                fs::write(at("p/.git"), "gitdir: ./.bare\n").unwrap();
            }
            if name == "q" {
                git(&at(bare), &["config", "extensions.worktreeConfig", "true"]);
                git(&at(bare), &["config", "--unset", "core.bare"]);
                fs::write(at(bare).join("config.worktree"), "[core]\n\tbare = true\n").unwrap();
            }
            worktree(&at(bare), &format!("{name}/b"));
            worktree(&at(bare), &format!("{name}/a"));
            check(&format!("{name}/a"), None);
            check(&format!("{name}/b"), None);
            assert_eq!(worktrees(&at(name).join("b")), [at(name).join("a"), at(name).join("b")]);
        }
        check("p", Some("p/a"));
        check("q", Some("q/a"));
        assert_eq!(observe(&at("r")), Observed { root: at("r"), ..Observed::default() });
    }

    #[test]
    fn looking_does_not_fetch_what_a_partial_clone_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (origin, clone) = (base.join("origin"), base.join("clone"));
        fs::create_dir(&origin).unwrap();
        git(&origin, &["init", "-q"]);
        git(&origin, &["config", "uploadpack.allowFilter", "true"]);
        for text in ["one", "two"] {
            fs::write(origin.join("a.txt"), text).unwrap();
            git(&origin, &["add", "."]);
            git(&origin, &["commit", "-q", "-m", text]);
        }
        let url = format!("file://{}", origin.display());
        let target = clone.to_str().unwrap();
        git(&base, &["clone", "-q", "--filter=blob:none", "--no-checkout", &url, target]);
        assert!(output(&clone, &["rev-parse", "HEAD"]).is_some());
        assert_eq!(output(&clone, &["cat-file", "-p", "HEAD:a.txt"]), None);
        for (name, value) in QUIET {
            let set = command(&clone);
            assert!(set.get_envs().any(|(n, v)| n == name && v == Some(value.as_ref())), "{name}");
        }
    }
}
