//! Where things lie on disk: one type per folder, one field per file.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::fs::open_regular::{self, Links};
use crate::fs::tree_fingerprint::TreeFingerprint;
use crate::id::ProjectId;

/// Bytes that are read of a small file of git's.
const GIT_FILE_BYTES_MAX: u64 = 4096;

/// Bytes of the file that says what a session was given: hooks and the MCP server append no more.
pub const SESSION_BYTES_MAX: usize = 512 << 10;
/// Bytes of a day's receipts; likewise.
pub const RECEIPTS_BYTES_MAX: u64 = 8 << 20;

/// The name of the committed folder in a repository.
pub const STORE_DIR: &str = ".throughline";

/// The folders of this user, from the XDG base directory specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDirs {
    /// Private and worth backing up: `$XDG_DATA_HOME/throughline`.
    pub data: PathBuf,
    /// Disposable: `$XDG_STATE_HOME/throughline`.
    pub state: PathBuf,
    /// The user's settings: `$XDG_CONFIG_HOME/throughline`.
    pub config: PathBuf,
    /// Claude Code's folder: `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
    pub claude: PathBuf,
    /// The embedder's files, which come with the programs; see [`UserDirs::with_models`].
    pub models: Option<PathBuf>,
}

/// The variable that names another folder of the embedder's files.
pub const MODELS_VARIABLE: &str = "THROUGHLINE_MODELS";

impl UserDirs {
    /// Resolves the folders from environment variables, which `get` looks up. `None` without a
    /// usable `HOME`. Relative XDG values are ignored, as the specification asks.
    pub fn resolve(get: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let base = |name: &str, fallback: &str| {
            let base = absolute(name).or_else(|| Some(home.as_ref()?.join(fallback)))?;
            Some(base.join("throughline"))
        };
        Some(Self {
            data: base("XDG_DATA_HOME", ".local/share")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
            config: base("XDG_CONFIG_HOME", ".config")?,
            claude: get("CLAUDE_CONFIG_DIR")
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
                .or_else(|| Some(home.as_ref()?.join(".claude")))?,
            models: None,
        })
    }

    /// Adds the folder of the embedder's files: what [`MODELS_VARIABLE`] says, which `get` looks
    /// up, or `share/throughline` beside the folder of `program`, the path of the program that
    /// asks. Whether there is anything in it is for who opens it to find out.
    #[must_use]
    pub fn with_models(
        mut self,
        get: impl Fn(&str) -> Option<OsString>,
        program: Option<&Path>,
    ) -> Self {
        let named = get(MODELS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let beside = || Some(program?.parent()?.parent()?.join("share/throughline"));
        self.models = named.or_else(beside);
        self
    }

    /// The user's own settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The memories for every project of this user.
    pub fn user_memories(&self) -> PathBuf {
        self.data.join("user/memories")
    }

    /// The private ledger and archive of the user's own memories.
    pub fn user_dir(&self) -> ProjectDir {
        ProjectDir::at(self.data.join("user"))
    }

    /// The disposable state of the user's own memories: an index, as a tree has one.
    pub fn user_state(&self) -> TreeDir {
        TreeDir::at(self.state.join("user"))
    }

    /// The private, lasting folder of a project.
    pub fn project(&self, project: ProjectId) -> ProjectDir {
        ProjectDir::at(self.data.join("projects").join(project.to_string()))
    }

    /// The disposable state of a working tree with this (canonical) root.
    pub fn tree(&self, root: &Path) -> TreeDir {
        TreeDir::at(self.state.join("trees").join(path_hash(root)))
    }

    /// The record that names the project of a working tree with this root.
    pub fn by_path(&self, root: &Path) -> PathBuf {
        self.data.join("by-path").join(path_hash(root))
    }

    /// The key with which values are hashed that are to be recognised again (`redact::known`).
    pub fn secrets_key(&self) -> PathBuf {
        self.data.join("secrets.key")
    }

    /// Present while `throughline off` is in force; holds the time it ends, or nothing.
    pub fn off_file(&self) -> PathBuf {
        self.state.join("off")
    }
}

/// The private, lasting folder of a project: `projects/<id>` in the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDir {
    /// The folder itself.
    pub folder: PathBuf,
    /// Record of how the project is recognised: root commits, remotes, paths, worktrees, mode.
    pub identity: PathBuf,
    /// Keyed hashes of secrets that were recognised once (`redact::known`).
    pub known_secrets: PathBuf,
    /// The memories of a project that keeps them privately.
    pub private_memories: PathBuf,
    /// The memories put aside by `forget`.
    pub archived_memories: PathBuf,
    /// Held memories.
    pub drafts: PathBuf,
    /// Every derived memory and what became of it.
    pub ledger: PathBuf,
    /// Contents of each memory's files when it was learned (see the processor's `anchors`).
    pub anchors: PathBuf,
    /// Confirmations by a person.
    pub reviewed: PathBuf,
    /// Committed memory files that the last sync would have rewritten or removed.
    pub withheld: PathBuf,
    /// The archive of redacted turns, one compressed file per session.
    pub archive: PathBuf,
    /// Drafts mined from each session, a cache of the archive.
    pub mined: PathBuf,
    /// Vectors made by the transformer, a cache.
    pub vectors: PathBuf,
    /// Releases from quarantine by a person, by the hash of the text.
    pub released: PathBuf,
    /// Present where the user lets other projects ask this one over MCP.
    pub shared: PathBuf,
    /// Positions of git in each working tree when its memory files were last looked at.
    pub git_positions: PathBuf,
    /// Held by the one processor that works on this project.
    pub sync_lock: PathBuf,
}

impl ProjectDir {
    /// Names the places in a folder; none of them needs to be there.
    pub fn at(folder: PathBuf) -> Self {
        let at = |name: &str| folder.join(name);
        Self {
            identity: at("identity.json"),
            known_secrets: at("known-secrets.json"),
            private_memories: at("memories"),
            archived_memories: at("archived"),
            drafts: at("drafts"),
            ledger: at("ledger.jsonl"),
            anchors: at("anchors.json"),
            reviewed: at("reviewed.json"),
            withheld: at("withheld.txt"),
            archive: at("archive"),
            mined: at("mined"),
            vectors: at("vectors"),
            released: at("released"),
            shared: at("shared"),
            git_positions: at("git-positions.json"),
            sync_lock: at("sync.lock"),
            folder,
        }
    }
}

/// The disposable state of a working tree: `trees/<hash of path>` in the state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeDir {
    /// The folder itself.
    pub folder: PathBuf,
    /// The index: manifest, segments, journal, writer lock.
    pub index: PathBuf,
    /// A file that says that somebody searched what the model thought: from then on there is an index of it.
    pub thinking_wanted: PathBuf,
    /// An index of what the model thought, laid out like the other one. Nothing but an explicit search
    /// for it opens it.
    pub thinking: PathBuf,
    /// Vectors of the index's memories in the second space.
    pub second: PathBuf,
    /// State of the memories' files at their last comparison (see the processor's `anchors`).
    pub compared: PathBuf,
    /// Inbox of hooks for the processor: one JSON object a line.
    pub inbox: PathBuf,
    /// Progress of the processor (see [`crate::progress`]).
    pub progress: PathBuf,
    /// Handoff of the last session (see [`crate::handoff`]).
    pub handoff: PathBuf,
    /// Finding at the place of the working tree (see [`crate::fs::tree_fingerprint::UntrustedTree`]), until hooks have told
    /// it.
    pub untrusted_tree: PathBuf,
    /// The finding, once told.
    pub untrusted_tree_told: PathBuf,
    /// Arrivals with the repository since hooks last told of them (see [`crate::exchange::pull_notice`]).
    pub arrived: PathBuf,
    /// The arrivals, once told.
    pub arrived_told: PathBuf,
    /// Values that became known as secrets since hooks last announced any (see [`crate::exchange::secret_notice`]).
    pub secret_notice: PathBuf,
    /// The notice, once announced.
    pub secret_notice_told: PathBuf,
    /// Session files, one for each session and subagent.
    pub sessions: PathBuf,
    /// Copies of memories while they are edited, and what was not taken over.
    pub edits: PathBuf,
    /// The page that `throughline report` writes.
    pub report: PathBuf,
    /// Log of hooks' errors: one line each, bounded.
    pub hook_log: PathBuf,
    /// The processor's log.
    pub log: PathBuf,
}

impl TreeDir {
    /// Names the places in a folder; none of them needs to be there.
    pub fn at(folder: PathBuf) -> Self {
        let at = |name: &str| folder.join(name);
        Self {
            index: at("index"),
            thinking_wanted: at("thinking.wanted"),
            thinking: at("thinking"),
            second: at("second.vectors"),
            compared: at("compared.json"),
            inbox: at("inbox.jsonl"),
            progress: at("progress"),
            handoff: at("left.json"),
            untrusted_tree: at("strange"),
            untrusted_tree_told: at("strange-told"),
            arrived: at("arrived"),
            arrived_told: at("arrived-told"),
            secret_notice: at("secret-notice"),
            secret_notice_told: at("secret-notice-told"),
            sessions: at("sessions"),
            edits: at("edits"),
            report: at("report.html"),
            hook_log: at("hooks.log"),
            log: at("processor.log"),
            folder,
        }
    }

    /// The file of one session (or subagent) in this tree: what hooks gave it.
    pub fn session(&self, session: &str, agent: Option<&str>) -> PathBuf {
        // Names from outside are hashed before they name files.
        let hash = |name: &str| blake3::hash(name.as_bytes()).to_hex();
        let (session, agent) = (hash(session), hash(agent.unwrap_or_default()));
        self.sessions.join(format!("{}{}", &session[..16], &agent[..16]))
    }

    /// Receipts of injections, one JSON object a line, one file a day (`date` as `2026-10-02`).
    pub fn receipts(&self, date: &str) -> PathBuf {
        self.folder.join("receipts").join(format!("{date}.jsonl"))
    }
}

/// The 32 hexadecimal digits that stand for a path in file names.
pub fn path_hash(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    hash.to_hex()[..32].to_owned()
}

/// A working tree whose store this machine vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its root.
    pub root: PathBuf,
    /// The root of the main working tree, when this is a linked worktree of it; else `root`.
    pub main_root: PathBuf,
}

/// Answer about a folder, as far as this machine vouches for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a working tree that is the one somebody vouched for.
    Trusted(Tree),
    /// Place of a trusted working tree that may have changed. Another folder may be there now: nothing of it is read
    /// before somebody who may run git has looked at it.
    Changed(Tree),
}

impl Tree {
    /// Finds the working tree that `cwd` lies in: `cwd` and each folder above it are looked up in
    /// `by-path`; a linked worktree is known through its main tree. `None` means that no `init`
    /// or `trust` on this machine vouched for it, or that something else is there by now, so
    /// nothing of it may be read.
    pub fn find(dirs: &UserDirs, cwd: &Path) -> Option<Self> {
        match Self::locate(dirs, cwd)? {
            Place::Trusted(tree) => Some(tree),
            Place::Changed(_) => None,
        }
    }

    /// [`Tree::find`], and what is no longer what it was.
    ///
    /// On the hot path: a hash and an `open` for each folder level and two calls for the tree that
    /// is found, no git, no parsing.
    pub fn locate(dirs: &UserDirs, cwd: &Path) -> Option<Place> {
        cwd.ancestors().find_map(|root| {
            if let Some(record) = ByPath::read(dirs, root) {
                let project = record.project;
                let tree = Self { project, root: root.to_owned(), main_root: root.to_owned() };
                return Some(record.place(tree));
            }
            let main_root = main_root_of_worktree(root)?;
            let record = ByPath::read(dirs, &main_root)?;
            let tree = Self { project: record.project, root: root.to_owned(), main_root };
            // Where a worktree was, another user may make something that says it is one.
            let main = TreeFingerprint::of(&tree.main_root)?;
            TreeFingerprint::of(root)?.is_owned_as(&main).then(|| record.place(tree))
        })
    }

    /// The branch that is checked out; `None` outside git and without a branch.
    pub fn branch(&self) -> Option<String> {
        let head = read_short(&self.root.join(".git/HEAD"))
            .or_else(|| read_short(&linked_git_dir(&self.root)?.join("HEAD")))?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }

    /// The committed folder.
    pub fn store(&self) -> PathBuf {
        self.root.join(STORE_DIR)
    }
}

/// Prefix of the checksum in a `by-path` record.
const SUM: &str = "sum ";

/// A `by-path` record. In its first line are the project and the path, so that a record is never taken for another
/// path's; in the second one is the fingerprint, in the third one a checksum of both: one bit that flips must not lead
/// to another project. Records of older versions have the first line alone.
pub fn by_path_record(
    project: ProjectId,
    root: &Path,
    fingerprint: Option<&TreeFingerprint>,
) -> Vec<u8> {
    let mut record = format!("{project} ").into_bytes();
    record.extend_from_slice(root.as_os_str().as_encoded_bytes());
    record.push(b'\n');
    if let Some(fingerprint) = fingerprint {
        record.extend_from_slice(format!("{fingerprint}\n").as_bytes());
        let sum = sum(&record);
        record.extend_from_slice(format!("{SUM}{sum}\n").as_bytes());
    }
    record
}

fn sum(record: &[u8]) -> String {
    blake3::hash(record).to_hex()[..16].to_owned()
}

/// A `by-path` record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByPath {
    /// The project of the working tree.
    pub project: ProjectId,
    /// Fingerprint that tells the working tree from another one at its path.
    pub fingerprint: KnownFingerprint,
    /// True if it has a checksum.
    pub is_summed: bool,
}

/// State of a record's fingerprint of the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownFingerprint {
    /// Nothing: an older version wrote it.
    No,
    /// The fingerprint of the trusted tree.
    As(TreeFingerprint),
    /// That it is not what somebody vouched for.
    Broken,
}

impl ByPath {
    /// Reads the record of a path; `None` when there is none, or it is damaged.
    pub fn read(dirs: &UserDirs, root: &Path) -> Option<Self> {
        let mut record = std::fs::read(dirs.by_path(root)).ok()?;
        let at = memchr::memmem::rfind(&record, format!("\n{SUM}").as_bytes());
        if let Some(at) = at {
            let told = record.split_off(at + 1);
            if told != format!("{SUM}{}\n", sum(&record)).as_bytes() {
                return None;
            }
        }
        let project = str::from_utf8(record.get(..32)?).ok()?.parse().ok()?;
        let rest = record.strip_prefix(by_path_record(project, root, None).as_slice())?;
        let fingerprint = match str::from_utf8(rest).ok()?.strip_suffix('\n') {
            Some(fingerprint) => TreeFingerprint::parse(fingerprint)
                .map_or(KnownFingerprint::Broken, KnownFingerprint::As),
            None if rest.is_empty() => KnownFingerprint::No,
            None => KnownFingerprint::Broken,
        };
        Some(Self { project, fingerprint, is_summed: at.is_some() })
    }

    fn place(&self, tree: Tree) -> Place {
        let holds = match &self.fingerprint {
            KnownFingerprint::No => true,
            KnownFingerprint::As(fingerprint) => {
                TreeFingerprint::of(&tree.main_root).is_some_and(|now| fingerprint.holds(&now))
            }
            KnownFingerprint::Broken => false,
        };
        if holds { Place::Trusted(tree) } else { Place::Changed(tree) }
    }
}

/// The main working tree of the linked worktree at `root`, read from its `.git` file
/// (`gitdir: <main>/.git/worktrees/<name>`, gitrepository-layout(5)).
fn main_root_of_worktree(root: &Path) -> Option<PathBuf> {
    let gitdir = linked_git_dir(root)?;
    let worktrees = gitdir.parent()?;
    let git = worktrees.parent()?;
    // The link back keeps a hostile folder from claiming to be a worktree of a trusted tree.
    let back = read_short(&gitdir.join("gitdir"))?;
    let ours = Path::new(back.trim()) == root.join(".git");
    (ours && worktrees.ends_with("worktrees") && git.ends_with(".git"))
        .then(|| git.parent().map(Path::to_owned))?
}

/// The git folder of the linked worktree at `root`.
fn linked_git_dir(root: &Path) -> Option<PathBuf> {
    let link = read_short(&root.join(".git"))?;
    Some(root.join(link.strip_prefix("gitdir:")?.trim()))
}

/// The text of a small file of git's; `None` when it is none. Nobody vouches for these files.
pub fn read_short(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = open_regular::open(path, Links::Follow).ok()?;
    file.take(GIT_FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(home: &Path) -> UserDirs {
        let home = home.to_owned();
        UserDirs::resolve(move |name| (name == "HOME").then(|| home.clone().into_os_string()))
            .unwrap()
    }

    #[test]
    fn the_models_lie_beside_the_programs_unless_a_variable_says_otherwise() {
        let program = Some(Path::new("/opt/bin/throughline"));
        let named = |value: &'static str| {
            move |name: &str| (name == MODELS_VARIABLE).then(|| OsString::from(value))
        };
        let models = |dirs: UserDirs| dirs.models.unwrap();
        let dirs = dirs(Path::new("/home/u"));
        assert_eq!(dirs.models, None);
        let beside = Path::new("/opt/share/throughline");
        assert_eq!(models(dirs.clone().with_models(|_| None, program)), beside);
        assert_eq!(models(dirs.clone().with_models(named(""), program)), beside);
        assert_eq!(models(dirs.clone().with_models(named("/m"), program)), Path::new("/m"));
        assert_eq!(dirs.with_models(|_| None, None).models, None);
    }

    #[test]
    fn a_tree_is_found_from_below_and_only_when_recorded() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let root = home.path().join("work");
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        assert_eq!(Tree::find(&dirs, &root.join("src/deep")), None);

        let project = ProjectId([3; 16]);
        std::fs::create_dir_all(dirs.by_path(&root).parent().unwrap()).unwrap();
        std::fs::write(dirs.by_path(&root), by_path_record(project, &root, None)).unwrap();
        let tree = Tree::find(&dirs, &root.join("src/deep")).unwrap();
        assert_eq!((tree.project, tree.root), (project, root.clone()));

        // A sealed tree must match its record; a record of an older version has no fingerprint.
        let sealed = |fingerprint: &str| {
            let mut record = by_path_record(project, &root, None);
            record.extend_from_slice(fingerprint.as_bytes());
            std::fs::write(dirs.by_path(&root), record).unwrap();
            Tree::locate(&dirs, &root.join("src"))
        };
        let found = Tree { project, root: root.clone(), main_root: root.clone() };
        let as_it_is = format!("{}\n", TreeFingerprint::of(&root).unwrap());
        assert_eq!(sealed(&as_it_is), Some(Place::Trusted(found.clone())));
        for fingerprint in ["1.5 1\n", "unknown\n", "x", &as_it_is[1..], "\n"] {
            assert_eq!(sealed(fingerprint), Some(Place::Changed(found.clone())), "{fingerprint:?}");
            assert_eq!(Tree::find(&dirs, &root), None);
        }

        // A record that names another path is not believed.
        std::fs::write(dirs.by_path(&root), by_path_record(project, Path::new("/elsewhere"), None))
            .unwrap();
        assert_eq!(Tree::find(&dirs, &root), None);
    }

    #[test]
    fn a_linked_worktree_is_known_through_its_main_tree_and_only_if_that_links_back() {
        let home = tempfile::tempdir().unwrap();
        let dirs = dirs(home.path());
        let (main, linked) = (home.path().join("main"), home.path().join("linked"));
        let gitdir = main.join(".git/worktrees/linked");
        std::fs::create_dir_all(&gitdir).unwrap();
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::write(linked.join(".git"), format!("gitdir: {}\n", gitdir.display())).unwrap();
        std::fs::create_dir_all(dirs.by_path(&main).parent().unwrap()).unwrap();
        std::fs::write(dirs.by_path(&main), by_path_record(ProjectId([3; 16]), &main, None))
            .unwrap();
        assert_eq!(Tree::find(&dirs, &linked), None);

        std::fs::write(gitdir.join("gitdir"), format!("{}\n", linked.join(".git").display()))
            .unwrap();
        let tree = Tree::find(&dirs, &linked).unwrap();
        assert_eq!((tree.root, tree.main_root), (linked, main));
    }
}
