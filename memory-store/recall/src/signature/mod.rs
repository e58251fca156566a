//! Signatures: the recurring part of a command or an error.
//!
//! The signature of a command is its program, subcommand and flags; that of an error is its most
//! distinctive lines without numbers, hashes, times and folders. Quoted words are kept: often they
//! are the error.

mod classify;
mod command;
mod error;
mod named;
pub mod shell;

pub use classify::{CommandClass, classify};
pub use command::normalise_command;
pub use error::{error_signature, names_cause, telling_lines};
pub(crate) use named::named_commands;

/// Returns the hash of a signature in an index, ignoring case.
pub(crate) fn signature_hash(signature: &str) -> u64 {
    memory_store_base::text::term_hash(&signature.to_lowercase())
}

/// Separates the hashes of commands from those of signatures, which a memory file may contain
/// freely.
const COMMANDS: u64 = 0x636f_6d6d_616e_6473;

/// Returns the hash in an index for a command that a memory warns of.
pub(crate) fn command_hash(command: &str) -> u64 {
    memory_store_base::text::term_hash(command) ^ COMMANDS
}
