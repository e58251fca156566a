//! Verified commands: commands that build, test, check and run the project, found in tool calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use memory_store::memory::CommandRecord;

use super::words::names_machine;
use super::{Roots, shell, words};
use crate::transcript::session::{Call, Session};

/// Maximum number of characters of a command line. A longer line is probably a script for a single use.
const LINE_CHARS_MAX: usize = 120;

/// Maximum number of commands of one session. Those that passed most often are kept.
const COMMANDS_MAX: usize = 40;

/// Returns the commands of a session that passed, those that passed most often first.
pub fn mine(session: &Session, roots: &Roots) -> Vec<CommandRecord> {
    let mut seen: BTreeMap<(String, String), CommandRecord> = BTreeMap::new();
    for turn in &session.turns {
        for run in shell::calls(turn) {
            let shell::ShellCall { step, call, command, .. } = run;
            if call.failed || !has_outcome(call) || found_no_tests(call) {
                continue;
            }
            // The exit status of a pipe is that of its last command, so the output is also searched for failures.
            if command.contains('|') && words::SHOWS_FAILURE.is_match(&call.output) {
                continue;
            }
            for simple in shell::commands(command) {
                let line = format!("{}{}", simple.variables, simple.line);
                if simple.class.is_none()
                    || line.chars().count() > LINE_CHARS_MAX
                    || is_passing(&simple.line)
                    || names_machine(&line)
                {
                    continue;
                }
                let Some(directory) = run.folder(&simple.directory, roots) else { continue };
                let key = (directory.clone(), line.clone());
                let entry = seen.entry(key).or_insert_with(|| CommandRecord {
                    line,
                    directory,
                    exit_status: 0,
                    passed: 0,
                    last: step.at,
                });
                entry.passed += 1;
                entry.last = step.at;
            }
        }
    }
    let mut seen: Vec<CommandRecord> = seen.into_values().collect();
    seen.sort_by_key(|seen| Reverse(seen.passed));
    seen.truncate(COMMANDS_MAX);
    seen
}

/// Returns whether a test command passed without running any test.
fn found_no_tests(call: &Call) -> bool {
    words::NO_TESTS.is_match(&call.output) && !words::SOME_TESTS.is_match(&call.output)
}

/// Returns whether a call was completed and has a result.
pub fn has_outcome(call: &Call) -> bool {
    !call.denied && !call.interrupted && call.result_uuid.is_some()
}

/// Returns whether a command is about a single file, port or process, so that it is not useful later.
fn is_passing(line: &str) -> bool {
    let bare = matches!(
        line.trim_end_matches(" -"),
        "python" | "python3" | "node" | "ruby" | "bash" | "sh" | "php" | "perl" | "deno" | "lua"
    );
    bare || words::SCRATCH.is_match(line)
        || line.split_whitespace().skip(1).any(|word| {
            let word = word.trim_matches(['"', '\'']);
            word.contains("/tmp/")
                || word.contains('=') && word.len() > 40
                || word.contains('\n')
                || word.contains(['$', '\\', '{'])
                || words::ONE_FILE.is_match(word)
        })
}
