//! Entry and exit of every hook.

use std::ffi::c_int;
use std::io::Write as _;

use crate::deadline::Deadline;
use crate::hook::{Hook, is_debugging};
use crate::output::HookOutput;
use crate::platform;
use crate::untrusted_tree;

/// Runs a hook as a complete process and exits with status 0 in any case.
///
/// The programs have C's `main`, not Rust's: what Rust does before `main` (a guard page, an
/// alternate stack, some thirty system calls on musl) is worth nothing to a process that lives for a
/// millisecond and handles its signals itself.
pub fn run(answer: fn(&Hook) -> HookOutput) -> c_int {
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
