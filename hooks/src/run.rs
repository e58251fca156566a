//! Entry and exit of every hook.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write as _;

use memory_store_base::build;

use crate::deadline::Deadline;
use crate::hook::{Hook, is_debugging};
use crate::output::HookOutput;
use crate::platform;
use crate::untrusted_tree;

/// Defines the program of a hook that answers events with a function: its allocator and C's `main`. The program itself has
/// the attribute `no_main`.
#[macro_export]
macro_rules! hook_program {
    ($answer:path) => {
        #[global_allocator]
        // SAFETY: a hook has one thread.
        static ARENA: $crate::arena::Arena = unsafe { $crate::arena::Arena::new() };

        /// Runs the hook, see [`hooks::run::run`].
        ///
        /// # Safety
        /// Only the C library may call it, with the number of arguments and the arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn main(
            count: std::ffi::c_int,
            arguments: *const *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            // SAFETY: the C library calls `main` with valid arguments.
            unsafe { $crate::run::run(env!("CARGO_BIN_NAME"), $answer, count, arguments) }
        }
    };
}

/// Runs a hook as a complete process and exits with status 0 in any case. With the argument `--version` or `-V`, which
/// Claude Code never passes, it prints the version of `program` instead, with status 1 if that fails.
///
/// The programs have C's `main` instead of Rust's. Before `main`, Rust sets up a guard page and an alternate stack,
/// with some thirty system calls on musl. A process that lives for a millisecond and handles its signals itself does
/// not need these.
///
/// # Safety
/// `count` and `arguments` must be those of C's `main`.
pub unsafe fn run(
    program: &str,
    answer: fn(&Hook) -> HookOutput,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: the caller upholds the contract of `run`, and there are at least two arguments.
    if count > 1 && unsafe { platform::first_argument(arguments) }.is_some_and(is_version) {
        let version = build::version(program, option_env!("THROUGHLINE_COMMIT"));
        return c_int::from(writeln!(std::io::stdout(), "{version}").is_err());
    }
    let deadline = Deadline::arm();
    std::panic::set_hook(Box::new(|panic| {
        if is_debugging() {
            drop(writeln!(std::io::stderr(), "throughline: {panic}"));
        }
        platform::exit()
    }));
    if platform::standard_streams_are_open()
        && let Some(hook) = Hook::from_process(deadline)
    {
        let answer: fn(&Hook) -> HookOutput =
            if hook.is_untrusted { untrusted_tree::answer } else { answer };
        answer(&hook).print(hook.event.what.name(), &hook.deadline);
    }
    platform::exit()
}

fn is_version(argument: &CStr) -> bool {
    matches!(argument.to_bytes(), b"--version" | b"-V")
}
