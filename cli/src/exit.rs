//! The exit codes of `throughline`. They are part of its interface: scripts may rely on them.

/// Done, also when there was nothing to do or a list is empty, or when a day's bound leaves sessions to the next day.
pub const OK: u8 = 0;
/// Something went wrong that is none of the below, for example a full disk.
pub const FAILED: u8 = 1;
/// A search found nothing, as with `grep`; nothing went wrong then, and stderr is empty.
pub const NOTHING: u8 = 1;
/// The command line was not understood (also clap's own code).
pub const USAGE: u8 = 2;
/// What was named does not exist, for example no memory has this id.
pub const NOT_FOUND: u8 = 3;
/// `throughline init` or `throughline trust` has not been run for this folder.
pub const NOT_SET_UP: u8 = 4;
/// A file that a person wrote is not valid; the message names the line and column.
pub const INVALID: u8 = 5;
/// `throughline doctor` found something that needs attention.
pub const UNHEALTHY: u8 = 6;
/// `throughline redact --check` or `throughline audit` found a secret.
pub const FOUND: u8 = 7;
/// `throughline watch` runs already for this user.
pub const RUNNING: u8 = 8;
/// `throughline search --turns` or `--thinking` could not read all of the index: what was printed may not be all.
pub const DEGRADED: u8 = 9;
/// Another process kept a lock that is needed for longer than is waited; the message says what was not done.
pub const LOCKED: u8 = 10;

/// All of them as `--help` and docs/usage.md tell them; `cli/tests/command/newcomer.rs` compares these.
pub const TABLE: [(u8, &str); 11] = [
    (OK, "done, also when there was nothing to do or a list is empty"),
    (FAILED, "a search found nothing, or it failed for another reason than those below"),
    (USAGE, "the command line was not understood"),
    (NOT_FOUND, "the thing that was named does not exist"),
    (NOT_SET_UP, "the folder is not set up, or not trusted"),
    (INVALID, "a file that a person wrote is not valid"),
    (UNHEALTHY, "`doctor` found something that needs attention"),
    (FOUND, "`redact --check` or `audit` found a secret"),
    (RUNNING, "`watch` runs already"),
    (DEGRADED, "`search --turns` or `--thinking` could not read all of the index"),
    (LOCKED, "another process kept a lock for too long"),
];

/// The table for `--help`.
pub fn help() -> String {
    let lines = TABLE.map(|(code, meaning)| format!("  {code:>2}  {meaning}"));
    format!("Exit codes:\n{}", lines.join("\n"))
}
