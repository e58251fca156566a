//! The program that libFuzzer runs: `FUZZ_TARGET=NAME fuzz CORPUS...`. All targets are in one program, because linking
//! eight programs takes longer than compiling them.

#![no_main]

use std::sync::LazyLock;

/// Name of the target to run.
#[expect(clippy::disallowed_methods, reason = "the one variable of this program")]
static TARGET: LazyLock<String> =
    LazyLock::new(|| std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run(&TARGET, bytes));
