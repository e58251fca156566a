//! Commands that a text names in backticks, as plans name what they are checked with.

use super::{classify, normalise_command};

/// Bytes of a command that is looked at: longer code is no command line.
const COMMAND_BYTES_MAX: usize = 120;
/// Commands of one text.
const COMMANDS_MAX: usize = 8;
/// Pieces of code that are looked at, the last: a plan says at its end what it is checked with.
const CODES_MAX: usize = 64;

/// Returns the commands in backticks that a project is built, tested, checked or run with: normalised, each once, the
/// last first. A program alone is none, for it does many things.
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

/// The pieces of a line that stand between two backticks.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.matches('`').count();
    line.split('`').skip(1).step_by(2).take(ends / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_other_code() {
        let text = "Then `npm run test` and `cd web && npm run lint 2>&1 | tail -5`; see `src/a.rs`,\n\
                    `cargo`, `let test = 1` and again `npm run test`. An odd ` closes nothing: npm run build.";
        // Code that an odd mark leaves open is none.
        assert_eq!(named_commands(text), ["npm run test", "npm run lint"]);
        assert_eq!(named_commands("`CI=1 pytest` `make` ` cargo test and more"), [""; 0]);
        let many: String = (0..20).map(|number| format!("`npm run test:{number}` ")).collect();
        assert_eq!(named_commands(&many).len(), COMMANDS_MAX);
    }
}
