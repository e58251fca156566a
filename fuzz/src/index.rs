//! Index files with arbitrary bytes.
//!
//! A fuzzer cannot guess checksums, so they are accepted here without a check; `memory-store/tests/index_damage.rs`
//! tests the checks. A file of random bytes would be rejected too early to test the reader, so the input is a list of
//! changes to a valid index.

use std::fs;
use std::path::{Path, PathBuf};

use memory_store::bytes::believe_checksums;
use memory_store::embed::model::EmbedderModel;
use memory_store::index::Index;
use memory_store::layout::{Tree, UserDirs};
use memory_store::recall::{Recall, Search, Tier};
use memory_store::{ProjectId, Timestamp};
use tempfile::TempDir;

/// The time of every query.
pub(crate) const NOW: Timestamp = Timestamp(1_790_000_000_000);

/// Maximum number of changes.
const CHANGES_MAX: usize = 64;

/// Size of a change in bytes: file, width, place (4), value (8).
const CHANGE: usize = 14;

/// A valid index in a temporary folder, which is restored after each input.
pub(crate) struct Golden {
    folder: TempDir,
    dirs: UserDirs,
    tree: Tree,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Golden {
    pub(crate) fn new() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/tests/golden/2.0");
        let shared_memory = Path::new("/dev/shm");
        let base = if shared_memory.is_dir() { shared_memory.into() } else { std::env::temp_dir() };
        let folder = tempfile::tempdir_in(base).expect("a temporary folder");
        let home = folder.path().join("home").into_os_string();
        let mut dirs = UserDirs::resolve(|name| (name == "HOME").then(|| home.clone()))
            .expect("the home is absolute");
        dirs.models = Some(models(folder.path()));
        let root = folder.path().join("work");
        let tree = Tree { project: ProjectId([5; 16]), root: root.clone(), main_root: root };
        copy(&source.join("memories"), &tree.root.join(".throughline/memories"));
        let index = dirs.tree(&tree.root).index;
        let files = copy(&source.join("index"), &index);
        Self { folder, dirs, tree, files }
    }

    pub(crate) fn open(&self) -> Recall {
        assert!(self.folder.path().is_dir());
        Recall::open(&self.dirs, &self.tree, None)
    }
}

/// Creates a folder that contains the token table but not the transformer, which takes most of the time of a search.
fn models(folder: &Path) -> PathBuf {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets");
    let names = EmbedderModel::read(&assets).expect("the shipped model");
    let models = folder.join("models");
    fs::create_dir_all(&models).expect("a folder");
    let table = fs::canonicalize(assets.join(&names.table)).expect("the shipped table");
    fs::write(models.join("MODEL"), names.text()).expect("a file");
    std::os::unix::fs::symlink(table, models.join(&names.table)).expect("a link");
    models
}

/// Copies the files of a folder with the modification times that the index records, and returns them.
fn copy(source: &Path, target: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fs::create_dir_all(target).expect("a folder");
    let changed = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let mut files = Vec::new();
    for file in fs::read_dir(source).expect("the golden index").flatten() {
        let path = target.join(file.file_name());
        let bytes = fs::read(file.path()).expect("a golden file");
        fs::write(&path, &bytes).expect("a copy");
        let copied = fs::File::options().write(true).open(&path).expect("a copy");
        copied.set_modified(changed).expect("a time of change");
        files.push((path, bytes));
    }
    files.sort();
    files
}

thread_local! {
    static GOLDEN: Golden = Golden::new();
}

/// Whatever bytes an index contains, every query must return.
pub(crate) fn run(bytes: &[u8]) {
    believe_checksums();
    GOLDEN.with(|golden| {
        let mut files = golden.files.clone();
        let mut changed = vec![false; files.len()];
        for change in bytes.as_chunks::<CHANGE>().0.iter().take(CHANGES_MAX) {
            let at = usize::from(change[0]) % files.len();
            changed[at] |= apply(change, &mut files[at].1);
        }
        let write = |(path, bytes): &(PathBuf, Vec<u8>)| fs::write(path, bytes).expect("a file");
        let touched = |at: &usize| changed[*at];
        (0..files.len()).filter(touched).for_each(|at| write(&files[at]));
        ask(golden);
        (0..files.len()).filter(touched).for_each(|at| write(&golden.files[at]));
    });
}

/// Applies one change; returns whether it had an effect.
fn apply(change: &[u8; CHANGE], bytes: &mut Vec<u8>) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let [_, width, a, b, c, d, value @ ..] = change;
    let at = u32::from_le_bytes([*a, *b, *c, *d]) as usize % bytes.len();
    match width % 6 {
        width @ 0..4 => {
            let end = bytes.len().min(at + (1 << width));
            bytes[at..end].copy_from_slice(&value[..end - at]);
        }
        4 => bytes.truncate(at),
        _ => bytes[at..].fill(value[0]),
    }
    true
}

fn ask(golden: &Golden) {
    let recall = golden.open();
    let prompt = "which port does the ledger service listen on?";
    let hits = recall.prompt(prompt, None, NOW, &|_| false).hits;
    recall.file("billing/src/import.rs", None, NOW, &|_| false);
    recall.error("cargo build", "error: cannot find macro `money_fmt` in this scope", NOW, &|_| {
        false
    });
    recall.start(NOW, 1200);
    for tier in [Tier::Memories, Tier::Passages, Tier::Both] {
        let text = "ledger \"warm cache\" OR prot".to_owned();
        recall.search(&Search { text, tier, ..Search::default() }, NOW);
    }
    for hit in hits {
        recall.is_still_there(hit.id, NOW);
    }
    let Ok(Some(index)) = Index::open(&golden.dirs.tree(&golden.tree.root).index) else { return };
    for segment in index.memories.iter().chain(&index.passages().0) {
        drop(segment.verify());
    }
}
