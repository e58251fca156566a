//! Layout of the folders on disk: one type per folder, one field per file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::id::ProjectId;
pub use crate::tree::{Moved, Place, Tree, TreeRecord, by_path_record};

/// Maximum size in bytes of the file with the accepted guards.
pub const GUARDS_BYTES_MAX: u64 = 512 << 10;

/// Maximum size of a session file in bytes; hooks and MCP server do not append more.
pub const SESSION_BYTES_MAX: usize = 512 << 10;
/// Maximum size of a day's receipts in bytes; nothing is appended to a larger file.
pub const RECEIPTS_BYTES_MAX: u64 = 8 << 20;

/// Name of the committed folder in a repository.
pub const STORE_DIR: &str = ".throughline";

/// Returns the folder of memory files in a working tree.
pub fn memory_folder(root: &Path) -> PathBuf {
    root.join(STORE_DIR).join("memories")
}

/// The folders of this user, from the XDG base directory specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDirs {
    /// Folder of private files that are worth a backup: `$XDG_DATA_HOME/throughline`.
    pub data: PathBuf,
    /// Folder of disposable files: `$XDG_STATE_HOME/throughline`.
    pub state: PathBuf,
    /// Folder of the user's settings: `$XDG_CONFIG_HOME/throughline`.
    pub config: PathBuf,
    /// Claude Code's folder: `$CLAUDE_CONFIG_DIR`, or `~/.claude`.
    pub claude: PathBuf,
    /// Folder of the embedder's files, which are installed with the programs; see [`UserDirs::with_models`].
    pub models: Option<PathBuf>,
}

/// Environment variable that names another folder for the embedder's files.
pub const MODELS_VARIABLE: &str = "THROUGHLINE_MODELS";

impl UserDirs {
    /// Returns the folders, given the environment variables that `get` looks up; `None` if a folder depends on `HOME`
    /// and `HOME` is not set. Relative XDG values are ignored, as the specification requires.
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

    /// Adds the folder of the embedder's files. It is the value of [`MODELS_VARIABLE`], which `get` looks up, or else
    /// `share/throughline` next to the folder of `program`, the path of the running program. The folder may be missing.
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

    /// Returns the path of the user's own settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Returns the folder of the memories that apply to all projects of this user.
    pub fn user_memories(&self) -> PathBuf {
        self.data.join("user/memories")
    }

    /// Returns the private folder for the user's own memories, with ledger and archive.
    pub fn user_dir(&self) -> ProjectDir {
        ProjectDir::at(self.data.join("user"))
    }

    /// Returns the disposable state for the user's own memories, with an index like that of a working tree.
    pub fn user_state(&self) -> TreeDir {
        TreeDir::at(self.state.join("user"))
    }

    /// Returns the private, permanent folder of a project.
    pub fn project(&self, project: ProjectId) -> ProjectDir {
        ProjectDir::at(self.project_folder(project))
    }

    /// Returns the path of a project's private, permanent folder.
    pub fn project_folder(&self, project: ProjectId) -> PathBuf {
        self.data.join("projects").join(project.to_string())
    }

    /// Returns the disposable state of the working tree with this root, which must be canonical.
    pub fn tree(&self, root: &Path) -> TreeDir {
        TreeDir::at(self.state.join("trees").join(path_hash(root)))
    }

    /// Returns the path of the record that contains the project of the working tree with this root.
    pub fn by_path(&self, root: &Path) -> PathBuf {
        self.data.join("by-path").join(path_hash(root))
    }

    /// Returns the path of a trusted folder's record that is named by the folder's identity. The identity is not
    /// changed by a move; see [`crate::fs::tree_fingerprint::folder_key`].
    pub fn by_folder(&self, key: &str) -> PathBuf {
        self.data.join("by-folder").join(path_hash(Path::new(key)))
    }

    /// Returns the path of the marker that the user was informed that a folder is not set up.
    pub fn hinted(&self, root: &Path) -> PathBuf {
        self.state.join("hinted").join(path_hash(root))
    }

    /// Returns the path of the key for hashes of known secrets (`redact::known`).
    pub fn secrets_key(&self) -> PathBuf {
        self.data.join("secrets.key")
    }

    /// Returns the path of the marker that `throughline off` is in effect. The file contains the end time, or nothing.
    pub fn off_file(&self) -> PathBuf {
        self.state.join("off")
    }
}

/// The private, permanent folder of a project: `projects/<id>` in the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectDir {
    /// The folder itself.
    pub folder: PathBuf,
    /// Record of the project's identity: root commits, remotes, paths, working trees, mode.
    pub identity: PathBuf,
    /// Copy of that record, used to repair a damaged one.
    pub identity_copy: PathBuf,
    /// Keyed hashes of known secrets (`redact::known`).
    pub known_secrets: PathBuf,
    /// The memories of a project that keeps them privately.
    pub private_memories: PathBuf,
    /// The archived memories.
    pub archived_memories: PathBuf,
    /// Copies of the memory files that a sparse checkout omits from the main working tree.
    pub left_out: PathBuf,
    /// Pending memories.
    pub drafts: PathBuf,
    /// The ledger: the log of derived memories and their states.
    pub ledger: PathBuf,
    /// State of each memory's files when the memory was learned (see the processor's `anchors`).
    pub anchors: PathBuf,
    /// Confirmations by a person.
    pub reviewed: PathBuf,
    /// List of the committed memory files that the last sync would have rewritten or removed.
    pub postponed_changes: PathBuf,
    /// The archive of redacted turns, one compressed file per session.
    pub archive: PathBuf,
    /// Drafts mined from each session, a cache of the archive.
    pub mined: PathBuf,
    /// Commands that succeeded in sessions (see [`crate::passed_commands`]), derived from `mined`.
    pub commands: PathBuf,
    /// Answers of the language model, with their metadata.
    pub llm: PathBuf,
    /// Cache of the transformer's vectors.
    pub vectors: PathBuf,
    /// Texts that a person released from quarantine, by the hash of the text.
    pub released: PathBuf,
    /// Marker that other projects may query this one over MCP.
    pub shared: PathBuf,
    /// State of git in each working tree when the memory files were last read.
    pub git_positions: PathBuf,
    /// Claude's pending changes that are not announced yet (see [`crate::exchange::claim_notice`]).
    pub claim_notice: PathBuf,
    /// The changes that were announced last.
    pub claim_notice_told: PathBuf,
    /// Lock of the processor, of which only one works on a project at a time.
    pub sync_lock: PathBuf,
}

impl ProjectDir {
    /// Returns the paths in a folder; none of the files has to exist.
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
            postponed_changes: at("withheld.txt"),
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
    /// Marker that a user has searched the model's thinking, so that its index is built from then on.
    pub thinking_wanted: PathBuf,
    /// Index of the model's thinking, with the layout of `index`. Only an explicit search for thinking opens it.
    pub thinking: PathBuf,
    /// Vectors of the index's memories in the second space.
    pub second: PathBuf,
    /// State of the memories' files at the last comparison (see the processor's `anchors`).
    pub compared: PathBuf,
    /// Use of the index's memories by sessions (see `memory_store::uses`).
    pub uses: PathBuf,
    /// Accepted guards in the compact form that hooks read.
    pub guards: PathBuf,
    /// Inbox with the hooks' notes for the processor, one JSON object per line.
    pub inbox: PathBuf,
    /// Progress of the processor (see [`crate::progress`]).
    pub progress: PathBuf,
    /// Handoff of the last session (see [`crate::handoff`]).
    pub handoff: PathBuf,
    /// The finding that the working tree was replaced (see [`crate::fs::tree_fingerprint::UntrustedTree`]), until a
    /// hook announces it.
    pub untrusted_tree: PathBuf,
    /// The finding after it was announced.
    pub untrusted_tree_told: PathBuf,
    /// Memories pulled with the repository since the last announcement (see [`crate::exchange::pull_notice`]).
    pub arrived: PathBuf,
    /// The pulled memories after they were announced.
    pub arrived_told: PathBuf,
    /// Newly known secrets since the last announcement (see [`crate::exchange::secret_notice`]).
    pub secret_notice: PathBuf,
    /// The newly known secrets after they were announced.
    pub secret_notice_told: PathBuf,
    /// Folder of session files, one for each session and subagent.
    pub sessions: PathBuf,
    /// Copies of memories during an edit, and edits that could not be saved.
    pub edits: PathBuf,
    /// Output of `throughline report`.
    pub report: PathBuf,
    /// Log of the hooks' errors, one line each and limited in size.
    pub hook_log: PathBuf,
    /// The processor's log.
    pub log: PathBuf,
}

impl TreeDir {
    /// Returns the paths in a folder; none of the files has to exist.
    pub fn at(folder: PathBuf) -> Self {
        let at = |name: &str| folder.join(name);
        Self {
            index: at("index"),
            thinking_wanted: at("thinking.wanted"),
            thinking: at("thinking"),
            second: at("second.vectors"),
            compared: at("compared.json"),
            uses: at("uses.json"),
            guards: at("guards"),
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

    /// Returns the path of the session file of a session or a subagent in this tree.
    pub fn session(&self, session: &str, agent: Option<&str>) -> PathBuf {
        // Names from outside are hashed before they are used as file names.
        let hash = |name: &str| blake3::hash(name.as_bytes()).to_hex();
        let (session, agent) = (hash(session), hash(agent.unwrap_or_default()));
        self.sessions.join(format!("{}{}", &session[..16], &agent[..16]))
    }

    /// Returns the path of a day's receipts, one JSON object per line. `date` has the form `2026-10-02`.
    pub fn receipts(&self, date: &str) -> PathBuf {
        self.folder.join("receipts").join(format!("{date}.jsonl"))
    }
}

/// Returns the hash of a path, 32 hexadecimal digits, which represents the path in file names.
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
    fn models_are_beside_the_programs_unless_a_variable_names_their_folder() {
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
