//! `throughline-post-tool-use`: PostToolUse and PostToolUseFailure.
#![no_main]

use hooks::arena::Arena;

#[global_allocator]
static ARENA: Arena = Arena::new();

/// See [`hooks::hook::run`].
#[unsafe(no_mangle)]
pub extern "C" fn main() -> libc::c_int {
    hooks::hook::run(hooks::tool::answer)
}
