//! Homes that a released version wrote, copied into a temporary folder. `tests/fixtures/stores` contains them with
//! their absolute paths. In the copy, each path is replaced by the new place, and each checksum that covers a path is
//! recomputed. Indexes are copied unchanged, since they are derived data.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use flate2::GzBuilder;
use flate2::read::GzDecoder;
use memory_store_base::ProjectId;
use memory_store_base::fs::tree_fingerprint::TreeFingerprint;
use memory_store_base::layout::{UserDirs, path_hash};
use memory_store_base::tree::{TreeRecord, by_path_record};
use tempfile::TempDir;

use crate::{dirs_of, sealed};

/// Name of the project that commits its memories.
pub const COMMITTED: &str = "tidelog";

/// Name of the project without git, whose memories are private.
pub const PRIVATE: &str = "diary";

/// A home of a released version.
pub struct GoldenHome {
    _folder: Option<TempDir>,
    path: PathBuf,
    /// The folders of the user of this home.
    pub dirs: UserDirs,
}

impl GoldenHome {
    /// Copies the home of a version into a temporary folder.
    ///
    /// # Panics
    /// Panics if the folder cannot be written.
    pub fn new(version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let home = Self::at(version, path, Path::new("/opt/throughline/bin"));
        Self { _folder: Some(folder), ..home }
    }

    /// Copies the home of a version into an existing folder. `programs` is the folder of the programs in Claude Code's
    /// settings.
    ///
    /// # Panics
    /// Panics if the folder cannot be written.
    pub fn at(version: &str, path: PathBuf, programs: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/stores").join(version);
        let places = fs::read_to_string(source.join("PLACES")).unwrap();
        let mut places = places.lines();
        let mut place = || places.next().unwrap().to_owned();
        let mut moved = Relocation { old: place(), new: utf8(&path), pairs: Vec::new() };
        moved.pairs.push((moved.old.clone(), moved.new.clone()));
        moved.pairs.push((place(), utf8(programs)));
        for name in ["home", COMMITTED, PRIVATE] {
            moved.folder(&source.join(name), &path.join(name));
        }
        let dirs = dirs_of(&path.join("home"));
        moved.settings_record(&source, &dirs);
        let home = Self { _folder: None, path, dirs };
        [COMMITTED, PRIVATE].iter().for_each(|name| home.vouch(name, &moved));
        home
    }

    /// Creates the repository of the committed project with its history; git's index matches the last commit.
    ///
    /// # Panics
    /// Panics if git fails.
    pub fn with_git(self, version: &str) -> Self {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/stores");
        let bundle = utf8(&fixture.join(version).join("tidelog.bundle"));
        let root = self.root(COMMITTED);
        let git = |arguments: &[&str]| {
            let mut git = sealed("git", &self.home());
            git.current_dir(&root).args(arguments).stdout(Stdio::null());
            assert!(git.status().unwrap().success(), "git {arguments:?}");
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        git(&["fetch", "--quiet", &bundle, "main"]);
        git(&["update-ref", "refs/heads/main", "FETCH_HEAD"]);
        git(&["read-tree", "main"]);
        // The repository changes the tree fingerprint, so the record is written again.
        let project = self.project(COMMITTED);
        let record = by_path_record(project, &root, TreeFingerprint::of(&root).as_ref());
        fs::write(self.dirs.by_path(&root), record).unwrap();
        self
    }

    /// Returns the home folder.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Returns the root of a project.
    pub fn root(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the id of a project.
    ///
    /// # Panics
    /// Panics if the home does not contain the project.
    pub fn project(&self, name: &str) -> ProjectId {
        TreeRecord::read(&self.dirs, &self.root(name)).unwrap().project
    }

    /// Writes the record of a project's path, with the fingerprint of the copied folder.
    fn vouch(&self, name: &str, moved: &Relocation) {
        let root = self.root(name);
        let by_path = self.dirs.data.join("by-path");
        let old = by_path.join(path_hash(&Path::new(&moved.old).join(name)));
        let project = fs::read_to_string(&old).unwrap()[..32].parse().unwrap();
        fs::remove_file(&old).unwrap();
        let record = by_path_record(project, &root, TreeFingerprint::of(&root).as_ref());
        fs::write(self.dirs.by_path(&root), record).unwrap();
        let state = self.dirs.state.join("trees");
        let old = state.join(path_hash(&Path::new(&moved.old).join(name)));
        fs::rename(old, self.dirs.tree(&root).folder).unwrap();
    }
}

/// Paths in the fixture, and the paths that replace them.
struct Relocation {
    old: String,
    new: String,
    pairs: Vec<(String, String)>,
}

impl Relocation {
    fn folder(&self, source: &Path, target: &Path) {
        fs::create_dir_all(target).unwrap();
        // Commits contain no empty folders, so a folder may be missing.
        for entry in fs::read_dir(source).into_iter().flatten() {
            let entry = entry.unwrap();
            let target = target.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                self.folder(&entry.path(), &target);
            } else {
                fs::write(&target, self.file(&entry.path())).unwrap();
            }
        }
    }

    /// Returns the content of a file with its paths replaced.
    fn file(&self, path: &Path) -> Vec<u8> {
        let bytes = fs::read(path).unwrap();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut text = String::new();
            GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), flate2::Compression::fast());
            gzip.write_all(self.text(&text).as_bytes()).unwrap();
            return gzip.finish().unwrap();
        }
        let Ok(text) = String::from_utf8(bytes.clone()) else { return bytes };
        let moved = self.text(&text);
        match path.file_name().and_then(|name| name.to_str()) {
            Some("ledger.jsonl") => moved.lines().map(checked_line).collect::<String>().into(),
            Some("roots.json") => checked_object(&moved).into(),
            _ => moved.into(),
        }
    }

    fn text(&self, text: &str) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
    }

    /// Updates the hashes of the settings files in the record of insertions, since the settings contain paths of
    /// programs.
    fn settings_record(&self, source: &Path, dirs: &UserDirs) {
        let record = dirs.data.join("installed.json");
        let mut text = fs::read_to_string(&record).unwrap();
        for file in [".claude/settings.json", ".claude.json"] {
            let hash = |path: PathBuf| blake3::hash(&fs::read(path).unwrap()).to_hex().to_string();
            let new = Path::new(&self.new).join("home").join(file);
            text = text.replace(&hash(source.join("home").join(file)), &hash(new));
        }
        fs::write(record, text).unwrap();
    }
}

/// Returns a line of a ledger with its checksum.
fn checked_line(line: &str) -> String {
    let json = &line[9..];
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(json.as_bytes());
    format!("{sum:08x} {json}\n")
}

/// Returns a JSON object with the checksum at its end.
fn checked_object(text: &str) -> String {
    let begin = &text[..text.rfind(",\"check\":\"").unwrap()];
    format!("{begin},\"check\":\"{}\"}}\n", &blake3::hash(begin.as_bytes()).to_hex()[..16])
}

fn utf8(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
