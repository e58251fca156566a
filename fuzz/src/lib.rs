//! Readers of untrusted bytes, with one function for each fuzz target.
//!
//! A *target* reads bytes, and panics if an invariant is violated. libFuzzer runs all targets in one program
//! (`main.rs`, built by `scripts/fuzz`). `tests/replay.rs` runs the targets with the *corpus*: inputs that cover much
//! code, and all inputs for which a target once failed.

mod index;
mod journal;
mod mcp;
mod memory;
mod payload;
mod query;
mod redact;
mod transcript;

/// A target, as its name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
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

/// Runs the target with this name.
///
/// # Panics
/// Panics if there is no such target, or if the target fails.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, run) = target.expect("a target of this name");
    run(bytes);
}
