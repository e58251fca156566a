//! `throughline-session-start`: SessionStart.
#![no_main]

use hooks::arena::Arena;

#[global_allocator]
// SAFETY: a hook has one thread.
static ARENA: Arena = unsafe { Arena::new() };

/// Runs the hook, see [`hooks::run::run`].
#[unsafe(no_mangle)]
pub extern "C" fn main() -> std::ffi::c_int {
    hooks::run::run(hooks::start::answer)
}
