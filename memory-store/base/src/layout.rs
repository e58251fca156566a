//! Where things lie on disk: one type per folder, one field per file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::id::ProjectId;
pub use crate::tree::{Moved, Place, Tree, TreeRecord, by_path_record};

/// Bytes of the file that says what a session was given: hooks and the MCP server append no more.
pub const SESSION_BYTES_MAX: usize = 512 << 10;
/// Bytes of a day's receipts; likewise.
pub const RECEIPTS_BYTES_MAX: u64 = 8 << 20;

/// The name of the committed folder in a repository.
pub const STORE_DIR: &str = ".throughline";

/// Returns the folder of memory files in a working tree.
pub fn memory_folder(root: &Path) -> PathBuf {
    root.join(STORE_DIR).join("memories")
}

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
        ProjectDir::at(self.project_folder(project))
    }

    /// Path of that folder.
    pub fn project_folder(&self, project: ProjectId) -> PathBuf {
        self.data.join("projects").join(project.to_string())
    }

    /// The disposable state of a working tree with this (canonical) root.
    pub fn tree(&self, root: &Path) -> TreeDir {
        TreeDir::at(self.state.join("trees").join(path_hash(root)))
    }

    /// The record that names the project of a working tree with this root.
    pub fn by_path(&self, root: &Path) -> PathBuf {
        self.data.join("by-path").join(path_hash(root))
    }

    /// The record of a vouched folder that is found by what the folder is (see
    /// [`crate::fs::tree_fingerprint::folder_key`]), wherever it was moved.
    pub fn by_folder(&self, key: &str) -> PathBuf {
        self.data.join("by-folder").join(path_hash(Path::new(key)))
    }

    /// Present once the user was told about a folder that is not set up.
    pub fn hinted(&self, root: &Path) -> PathBuf {
        self.state.join("hinted").join(path_hash(root))
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
    /// Copy of that record, by which a damaged one is mended.
    pub identity_copy: PathBuf,
    /// Keyed hashes of secrets that were recognised once (`redact::known`).
    pub known_secrets: PathBuf,
    /// The memories of a project that keeps them privately.
    pub private_memories: PathBuf,
    /// The memories put aside by `forget`.
    pub archived_memories: PathBuf,
    /// Copies of the memory files that a sparse checkout leaves out of the main working tree.
    pub left_out: PathBuf,
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
    /// Commands that passed in sessions (see [`crate::passed_commands`]), made of `mined`.
    pub commands: PathBuf,
    /// Answers of the language model, and what is written down beside them.
    pub llm: PathBuf,
    /// Vectors made by the transformer, a cache.
    pub vectors: PathBuf,
    /// Releases from quarantine by a person, by the hash of the text.
    pub released: PathBuf,
    /// Present where the user lets other projects ask this one over MCP.
    pub shared: PathBuf,
    /// Positions of git in each working tree when its memory files were last looked at.
    pub git_positions: PathBuf,
    /// Changes by Claude that wait for the user and were not announced yet (see [`crate::exchange::claim_notice`]).
    pub claim_notice: PathBuf,
    /// Those that were announced last.
    pub claim_notice_told: PathBuf,
    /// Held by the one processor that works on this project.
    pub sync_lock: PathBuf,
}

impl ProjectDir {
    /// Names the places in a folder; none of them needs to be there.
    pub fn at(folder: PathBuf) -> Self {
        let at = |name: &str| folder.join(name);
        Self {
            identity: at("identity.json"),
            identity_copy: at("identity.copy.json"),
            known_secrets: at("known-secrets.json"),
            private_memories: at("memories"),
            archived_memories: at("archived"),
            left_out: at("left-out"),
            drafts: at("drafts"),
            ledger: at("ledger.jsonl"),
            anchors: at("anchors.json"),
            reviewed: at("reviewed.json"),
            withheld: at("withheld.txt"),
            archive: at("archive"),
            mined: at("mined"),
            commands: at("commands.json"),
            llm: at("llm"),
            vectors: at("vectors"),
            released: at("released"),
            shared: at("shared"),
            git_positions: at("git-positions.json"),
            claim_notice: at("claim-notice.json"),
            claim_notice_told: at("claim-notice-told.json"),
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
}
