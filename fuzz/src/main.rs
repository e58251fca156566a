//! The program that libFuzzer drives: `FUZZ_TARGET=NAME fuzz CORPUS...`. One for all targets, because to link eight
//! takes longer than to compile them.

#![no_main]

use std::sync::LazyLock;

/// The target that is fed.
#[expect(clippy::disallowed_methods, reason = "the one variable of this program")]
static TARGET: LazyLock<String> =
    LazyLock::new(|| std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target"));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run(&TARGET, bytes));
