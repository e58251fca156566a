//! The exit codes of `throughline`. They are part of its interface, so scripts may rely on them.

/// Success, also if there was nothing to do, a list is empty, or a daily limit postpones sessions to the next day.
pub const OK: u8 = 0;
/// Any other failure, for example a full disk.
pub const FAILED: u8 = 1;
/// A search without results, as with `grep`. A remark on stderr may give the reason, as for `resume --run`.
pub const NOTHING: u8 = 1;
/// Invalid command line (also clap's own code).
pub const USAGE: u8 = 2;
/// No item has the given name, for example no memory has this id.
pub const NOT_FOUND: u8 = 3;
/// `throughline init` or `throughline trust` has not been run for this folder.
pub const NOT_SET_UP: u8 = 4;
/// A file written by a person is not valid; the message names the line and column. Also used by `throughline check`.
pub const INVALID: u8 = 5;
/// `throughline doctor` found a problem.
pub const UNHEALTHY: u8 = 6;
/// `throughline redact --check`, `doctor --secrets` or `check` found a secret.
pub const FOUND: u8 = 7;
/// `throughline watch` is already running for this user.
pub const RUNNING: u8 = 8;
/// `throughline search --turns` or `--thinking` could not read the whole index: the output may be incomplete.
pub const DEGRADED: u8 = 9;
/// Another process held a required lock longer than the time limit; the message names the action that was not done.
pub const LOCKED: u8 = 10;

/// A person has to decide. Either Claude runs a command that makes a decision that only a person may make, or there is
/// no terminal for a question that the command line does not answer. The command has changed nothing.
pub const NEEDS_PERSON: u8 = 11;

/// The user pressed Ctrl-C or Esc at a question or in a list of choices; a program that SIGINT ends has the same code.
/// If there are several questions, as in `review`, earlier decisions are kept.
pub const INTERRUPTED: u8 = 130;

/// All codes, with a short description for `--help` and the description in docs/usage.md.
pub const TABLE: [(u8, &str, &str); 13] = [
    (OK, "done", "done, also when there was nothing to do or a list is empty"),
    (
        FAILED,
        "nothing found or failed",
        "a search found nothing, or a failure that no other code describes",
    ),
    (USAGE, "usage error", "the command line was not understood"),
    (NOT_FOUND, "not found", "the named object does not exist"),
    (NOT_SET_UP, "not set up", "the folder is not set up, or not trusted"),
    (INVALID, "a file is not valid", "a file that a person wrote is not valid"),
    (UNHEALTHY, "`doctor` found a fault", "`doctor` found a broken part"),
    (FOUND, "a secret was found", "`redact --check`, `doctor --secrets` or `check` found a secret"),
    (RUNNING, "`watch` is already running", "`watch` runs already"),
    (
        DEGRADED,
        "index not read completely",
        "`search --turns` or `--thinking` could not read all of the index",
    ),
    (LOCKED, "locked by another process", "another process kept a lock for too long"),
    (
        NEEDS_PERSON,
        "requires a person",
        "a person has to decide: Claude ran the command, or an answer is needed and there is no terminal to ask at; \
         nothing was done",
    ),
    (
        INTERRUPTED,
        "cancelled",
        "Ctrl-C, or Esc at a question or a list to choose from: the decisions before it are kept, and nothing else was done",
    ),
];

/// Columns of the text in `--help`.
const HELP_COLUMNS: usize = 79;

/// Returns the text about all codes for `--help`, in as few lines as possible.
pub fn help() -> String {
    // A code and its words stay in one line, so that their spaces are no places for a break.
    let codes = TABLE.map(|(code, brief, _)| format!("{code} {brief}").replace(' ', "\u{a0}"));
    let options = textwrap::Options::new(HELP_COLUMNS).subsequent_indent("  ");
    textwrap::fill(&format!("Exit codes: {}", codes.join(", ")), options).replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_each_exit_code() {
        let page = include_str!("../../docs/usage.md");
        let (_, table) = page.split_once("| code | meaning |\n|--|--|\n").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let told: Vec<String> = table.lines().map(str::to_owned).collect();
        assert_eq!(told, TABLE.map(|(code, _, meaning)| format!("| {code} | {meaning} |")));
        let (interrupted, rest) = TABLE.split_last().unwrap();
        assert!(rest.iter().enumerate().all(|(at, (code, ..))| usize::from(*code) == at));
        assert_eq!(interrupted.0, INTERRUPTED);
    }
}
