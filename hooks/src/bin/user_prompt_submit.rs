//! `throughline-user-prompt-submit`: UserPromptSubmit.
#![no_main]

use hooks::arena::Arena;

#[global_allocator]
static ARENA: Arena = Arena::new();

/// See [`hooks::hook::run`].
#[unsafe(no_mangle)]
pub extern "C" fn main() -> libc::c_int {
    hooks::hook::run(hooks::prompt::answer)
}
