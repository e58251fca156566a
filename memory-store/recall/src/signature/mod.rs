//! Signatures: the recurring part of a command or an error.
//!
//! The signature of a command consists of its program, subcommand and flags. The signature of an error consists of its
//! most distinctive lines, without numbers, hashes, times and folders. Quoted words are kept, because they are often
//! the error itself.

mod classify;
mod command;
mod error;
mod named;
pub mod shell;

pub use classify::{CommandClass, classify};
pub use command::normalise_command;
pub(crate) use command::program_name;
pub use error::{error_signature, names_cause, telling_lines};
pub(crate) use named::named_commands;

/// Returns the hash of a signature as stored in an index, ignoring case.
pub(crate) fn signature_hash(signature: &str) -> u64 {
    memory_store_base::text::term_hash(&signature.to_lowercase())
}

/// Difference between the hash of a command and that of the same text as a signature. Without it, a memory file could
/// contain any text as a signature, which would then match a command.
const COMMANDS: u64 = 0x636f_6d6d_616e_6473;

/// Returns the hash, as stored in an index, of a command that a memory warns about.
pub(crate) fn command_hash(command: &str) -> u64 {
    memory_store_base::text::term_hash(command) ^ COMMANDS
}
