//! Signatures: what stays the same of a command or an error from one time to the next.
//!
//! A command's is its program, subcommand and flags; an error's are its most telling lines without
//! numbers, hashes, times and folders. Words in quotes stay: often they are the error.

mod classify;
mod command;
mod error;
mod named;
pub mod shell;

pub use classify::{CommandClass, classify};
pub use command::normalise_command;
pub use error::{error_signature, names_cause, telling_lines};
pub(crate) use named::named_commands;

/// Returns the number that stands for a signature in an index. Case does not matter.
pub(crate) fn signature_hash(signature: &str) -> u64 {
    memory_store_base::text::term_hash(&signature.to_lowercase())
}

/// Makes the numbers of commands others than those of signatures, which a memory file may make up.
const COMMANDS: u64 = 0x636f_6d6d_616e_6473;

/// Returns the number that stands in an index for a command that a memory warns of.
pub(crate) fn command_hash(command: &str) -> u64 {
    memory_store_base::text::term_hash(command) ^ COMMANDS
}
