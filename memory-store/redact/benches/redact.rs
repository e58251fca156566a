//! Speed of redaction on ordinary text: `cargo bench -p memory-store-redact --bench redact [FILE...]`.
//!
//! *Ordinary* text is the content of transcripts: prompts, answers, commands with their output, and files that were
//! read. Without files, the texts are the transcripts of the fixtures, this project's documents, and the sources of
//! memory-store, except the two parts that contain many secrets and attacks. The second figure is the speed of the gate
//! for passages and memories. The third is the speed of the search for secrets that were recognised elsewhere.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::{Path, PathBuf};

use memory_store_redact::known::{KEY_BYTES, Known};
use memory_store_redact::{RedactOptions, Redactor};

/// Size to which the texts are repeated, in bytes.
const TEXT_BYTES: usize = 16 << 20;

const ROUNDS: usize = 7;

/// Divisor of the amount of text for the gate, which is slower than redaction.
const GATE_SLOWER: usize = 8;

/// Number of known values of a project.
const KNOWN: u8 = 100;

fn main() {
    let given: Vec<PathBuf> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    let files = if given.is_empty() { ordinary() } else { given };
    let texts: Vec<String> = files.iter().flat_map(|file| texts_of(file)).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let times = TEXT_BYTES.div_ceil(bytes.max(1));
    let redactor = Redactor::new(&RedactOptions::default());
    let findings = |redactor: &Redactor, text: &str| redactor.findings(text).len();
    let redact = |redactor: &Redactor, text: &str| redactor.redact(text).len();
    measure(
        "redact",
        &texts,
        times,
        |text| findings(&redactor, text),
        |text| redact(&redactor, text),
    );
    let clean: Vec<String> = texts.iter().map(|text| redactor.redact(text).into_owned()).collect();
    let suspects = |text: &str| redactor.suspects(text, "").len();
    let gate = |text: &str| redactor.without_suspects(text, "").len();
    measure("gate", &clean, times.div_ceil(GATE_SLOWER), suspects, gate);
    let known = Known::new([7; KEY_BYTES]);
    for number in 0..KNOWN {
        let hash = blake3::hash(&[number]).to_hex();
        assert!(known.learn(&format!("Kx{}", &hash[..10 + usize::from(number % 8)])));
    }
    let options = RedactOptions { known, ..redactor.options };
    let known = Redactor { options, only_known: true };
    measure(
        "known secrets",
        &texts,
        times,
        |text| findings(&known, text),
        |text| redact(&known, text),
    );
}

/// Prints the speed of `run` on the texts, and the number of findings that `count` returns.
fn measure(
    what: &str,
    texts: &[String],
    times: usize,
    count: impl Fn(&str) -> usize,
    run: impl Fn(&str) -> usize,
) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let findings: usize = texts.iter().map(|text| count(text)).sum();
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = cpu_seconds();
            for text in std::iter::repeat_n(texts, times).flatten() {
                std::hint::black_box(run(std::hint::black_box(text)));
            }
            cpu_seconds() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let megabytes = (bytes * times) as f64 / 1e6;
    println!(
        "{what}: {:.2} MB/s (median of {ROUNDS}; best {:.2}), {findings} findings in {bytes} bytes of {} texts",
        megabytes / seconds[ROUNDS / 2],
        megabytes / seconds[0],
        texts.len(),
    );
}

/// Returns the processor time of this process, which other processes do not affect.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time to a variable of this function.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "every Unix has this clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns files of this repository that together resemble transcripts.
fn ordinary() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = below(&root.join("tests/fixtures"), "jsonl");
    files.extend(below(&root.join("docs"), "md"));
    files.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let sources = below(&root.join("memory-store"), "rs");
    let is_in = |path: &Path, folder: &str| {
        let below = path.strip_prefix(&root).unwrap_or(path);
        below.components().any(|part| part.as_os_str() == folder)
    };
    let is_full = |path: &Path| is_in(path, "redact") || is_in(path, "suspicion");
    files.extend(sources.into_iter().filter(|path| is_in(path, "src") && !is_full(path)));
    files
}

/// Returns the files below `folder` with this extension, in order.
fn below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// Returns the texts of a file: for JSONL its strings, which are redacted separately in a transcript.
fn texts_of(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if file.extension().is_none_or(|extension| extension != "jsonl") {
        return vec![text];
    }
    let mut said = Vec::new();
    for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        strings(line, &mut said);
    }
    said
}

fn strings(value: serde_json::Value, said: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => said.push(text),
        serde_json::Value::Array(items) => items.into_iter().for_each(|item| strings(item, said)),
        serde_json::Value::Object(fields) => {
            fields.into_iter().for_each(|(_, field)| strings(field, said));
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}
