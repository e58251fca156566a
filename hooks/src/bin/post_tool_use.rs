//! `throughline-post-tool-use`: PostToolUse and PostToolUseFailure.
#![no_main]

use hooks::arena::Arena;

#[global_allocator]
// SAFETY: a hook has one thread.
static ARENA: Arena = unsafe { Arena::new() };

/// See [`hooks::hook::run`].
#[unsafe(no_mangle)]
pub extern "C" fn main() -> libc::c_int {
    hooks::hook::run(hooks::tool::answer)
}
