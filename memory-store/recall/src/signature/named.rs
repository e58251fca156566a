//! Commands that a text names in backticks, as plans name what they are checked with.

use super::{classify, normalise_command};

/// Bytes of a command that is looked at: longer code is no command line.
const COMMAND_BYTES_MAX: usize = 120;
/// Commands of one text.
const COMMANDS_MAX: usize = 8;

/// Returns the commands in backticks that a project is built, tested, checked or run with: normalised, each once.
pub(crate) fn named_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| line.contains('`')) {
        // Every second piece stands in backticks.
        for code in line.split('`').skip(1).step_by(2) {
            if commands.len() == COMMANDS_MAX {
                return commands;
            }
            if code.len() > COMMAND_BYTES_MAX || !code.contains(' ') || classify(code).is_none() {
                continue;
            }
            let command = normalise_command(code);
            if !command.is_empty() && !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_other_code() {
        let text = "Then `npm run test` and `cd web && npm run lint 2>&1 | tail -5`; see `src/a.rs`,\n\
                    `cargo`, `let test = 1` and again `npm run test`. An odd ` closes nothing: `npm run build`.";
        assert_eq!(named_commands(text), ["npm run test", "npm run lint"]);
        let many: String = (0..20).map(|number| format!("`npm run test:{number}` ")).collect();
        assert_eq!(named_commands(&many).len(), COMMANDS_MAX);
    }
}
