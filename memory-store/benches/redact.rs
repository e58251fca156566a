//! How fast redaction reads ordinary text: `cargo bench -p memory-store --features write --bench
//! redact [FILE...]`. Without files it reads this package's own sources.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use memory_store::redact::{RedactOptions, Redactor};

/// The text is repeated until it has this size.
const TEXT_BYTES: usize = 16 << 20;

const ROUNDS: usize = 7;

fn main() {
    let given: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    let files = if given.is_empty() { sources(Path::new("src")) } else { given };
    let piece: String =
        files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let text = piece.repeat(TEXT_BYTES.div_ceil(piece.len().max(1)));
    let redactor = Redactor::new(&RedactOptions::default());
    let findings = redactor.findings(&piece).len();
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(redactor.findings(std::hint::black_box(&text)));
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let megabytes = text.len() as f64 / 1e6;
    println!(
        "redact: {:.0} MB/s (median of {ROUNDS}; best {:.0}), {findings} findings in {} bytes",
        megabytes / seconds[ROUNDS / 2],
        megabytes / seconds[0],
        piece.len()
    );
}

/// The Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    files
}
