//! `throughline-pre-tool-use`: PreToolUse.
#![no_main]

use std::ffi::{c_char, c_int};

use hooks::arena::Arena;

#[global_allocator]
// SAFETY: a hook has one thread.
static ARENA: Arena = unsafe { Arena::new() };

/// Runs the hook, see [`hooks::run::run`].
///
/// # Safety
/// Only the C library may call it, with the number of arguments and the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: the C library calls `main` with valid arguments.
    unsafe { hooks::run::run(env!("CARGO_BIN_NAME"), hooks::before_tool::answer, count, arguments) }
}
