//! Readers of foreign bytes, driven by bytes of any kind: one function for each fuzz target.
//!
//! A *target* takes bytes and panics when something does not hold. libFuzzer drives all of them in one program
//! (`main.rs`, built by `scripts/fuzz`); `tests/replay.rs` runs the *corpus* through them: bytes that lead far, and all that
//! ever made a target fail.

mod index;
mod journal;
mod mcp;
mod memory;
mod payload;
mod query;
mod redact;
mod transcript;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 8] = [
    ("index", index::run),
    ("journal", journal::run),
    ("mcp", mcp::run),
    ("memory", memory::run),
    ("payload", payload::run),
    ("query", query::run),
    ("redact", redact::run),
    ("transcript", transcript::run),
];

/// Runs the target of this name; panics when there is none.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, run) = target.expect("a target of this name");
    run(bytes);
}
