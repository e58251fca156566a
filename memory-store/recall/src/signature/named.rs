//! Commands in backticks, such as the checks that a plan names.

use super::{classify, normalise_command};

/// Maximum number of bytes of a command. Longer code is not a command line.
const COMMAND_BYTES_MAX: usize = 120;
/// Maximum number of commands that are returned for a text.
const COMMANDS_MAX: usize = 8;
/// Maximum number of code spans that are checked. They are the last ones, because a plan names its checks at the end.
const CODES_MAX: usize = 64;

/// Returns the commands in backticks that build, test, check or run a project: normalised, unique, the last one first.
/// A program without arguments is skipped, because it has many uses.
pub(crate) fn named_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let lines = text.lines().rev().filter(|line| line.contains('`'));
    for code in lines.flat_map(codes).filter(|code| code.contains(' ')).take(CODES_MAX) {
        if code.len() > COMMAND_BYTES_MAX || classify(code).is_none() {
            continue;
        }
        let command = normalise_command(code);
        if command.contains(' ') && !commands.contains(&command) {
            commands.push(command);
            if commands.len() == COMMANDS_MAX {
                break;
            }
        }
    }
    commands
}

/// Returns the code spans of a line.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.matches('`').count();
    line.split('`').skip(1).step_by(2).take(ends / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_other_code() {
        let text = "Then `npm run test` and `cd web && npm run lint 2>&1 | tail -5`; see `src/a.rs`,\n\
                    `cargo`, `let test = 1` and again `npm run test`. An odd ` closes nothing: npm run build.";
        // A code span that is not closed is skipped.
        assert_eq!(named_commands(text), ["npm run test", "npm run lint"]);
        assert_eq!(named_commands("`CI=1 pytest` `make` ` cargo test and more"), [""; 0]);
        let many: String = (0..20).map(|number| format!("`npm run test:{number}` ")).collect();
        assert_eq!(named_commands(&many).len(), COMMANDS_MAX);
    }
}
