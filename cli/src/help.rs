//! Additions to `--help` that clap does not generate from the commands: groups of commands, the environment, and
//! examples.

use clap::{Command, CommandFactory as _};

use crate::command::Args;
use crate::exit;
use crate::view::style::{STRONG, paint};

/// All commands in groups, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Find",
        &[
            "search", "ask", "show", "list", "browse", "resume", "timeline", "graph", "blame",
            "fixes", "how",
        ],
    ),
    ("Write", &["add", "edit", "forget", "restore", "review", "guard", "pack"]),
    ("What happened", &["status", "log", "why", "report"]),
    ("Set up", &["init", "uninstall", "config", "trust", "link", "projects", "off", "on"]),
    ("Keep", &["sync", "watch", "purge", "doctor"]),
    ("Team", &["diff", "check", "share"]),
    ("For programs", &["mcp", "statusline", "redact", "completions"]),
];

/// Two examples for each command, indented below its name; `96tfds` is a memory's id.
const EXAMPLES: &str = include_str!("examples.txt");

/// Returns both examples of a command, without the leading `throughline`.
pub fn examples(path: &str) -> Option<[&'static str; 2]> {
    let mut lines = EXAMPLES.lines().skip_while(|line| *line != path).skip(1).map(str::trim);
    Some([lines.next()?, lines.next()?])
}

/// Environment variables that affect the program, with descriptions.
pub const ENVIRONMENT: [(&str, &str); 10] = [
    ("THROUGHLINE", "Mode of this process: off, read or full"),
    ("CI, CLAUDE_CODE_REMOTE", "If set, the default mode is read"),
    ("THROUGHLINE_MODELS", "Folder of the embedder's files"),
    ("CLAUDE_CONFIG_DIR", "Folder of Claude Code's files"),
    ("XDG_DATA_HOME, ...", "Data folder; also XDG_STATE_HOME, XDG_CONFIG_HOME"),
    ("OLLAMA_HOST", "Address of the Ollama server"),
    ("VISUAL, EDITOR", "Editor for memories and settings"),
    ("THROUGHLINE_PAGER, PAGER", "Pager; none if NO_PAGER is set"),
    ("NO_COLOR, CLICOLOR", "Whether to print colours; also CLICOLOR_FORCE"),
    ("TZ", "Time zone of printed dates"),
];

/// Columns of a name in a list.
const NAME_COLUMNS: usize = 13;

/// Usage of `throughline` itself, printed after the heading.
const USAGE: &str = " throughline [OPTIONS] [COMMAND]\n\nWithout a command, prints a summary of the \
                     project's status.{after-help}";
/// Options of every command, as shown in the help of `throughline`.
const OPTIONS: &str = "
  -C, --project <DIR>   Run as if started in this folder
      --color <WHEN>    Colours: auto, always or never [default: auto]
  -q, --quiet           Print only answers, errors and questions
  -v, --verbose         Print paths and run time to stderr
      --no-pager        Print long output without a pager
      --json            Print JSON (after the command)
  -h, --help            Print help for throughline or for a command
  -V, --version         Print the version and the path of the changelog
";
/// Last line in the help of every command.
const FOR_EVERY_COMMAND: &str = "Global options: -C DIR, --color WHEN, -q, -v, --no-pager";

/// Returns the command line with its help.
pub fn command() -> Command {
    let command =
        Args::command().help_template(format!("{{about}}\n\n{}{USAGE}", heading("Usage")));
    let command = with_examples(command, "");
    let short = format!("{}{}{OPTIONS}", groups(&command), heading("Options"));
    let full = format!("{short}\n{}", footer());
    command.after_help(short).after_long_help(full)
}

/// Adds examples to the command with this path, and to its subcommands.
fn with_examples(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_examples(below, path.trim_start())
    });
    let Some([one, other]) = examples(path) else { return command };
    let alias = command.get_visible_aliases().next();
    let also = alias.map(|alias| format!("Alias: throughline {alias}\n"));
    let also = also.unwrap_or_default();
    command.after_help(format!(
        "{also}{}\n  throughline {one}\n  throughline {other}\n\n{FOR_EVERY_COMMAND}",
        heading("Examples")
    ))
}

/// Formats a heading like those of clap.
fn heading(text: &str) -> String {
    paint(STRONG.underline(), format_args!("{text}:"))
}

/// Lists the groups with the description of each command.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (name, names) in GROUPS {
        text.push_str(&format!("{}\n", heading(name)));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<NAME_COLUMNS$}{about}\n"));
        }
        text.push('\n');
    }
    text
}

fn footer() -> String {
    let variables = ENVIRONMENT.map(|(name, about)| format!("  {name:<26}{about}\n"));
    format!("{}\n{}\n{}", heading("Environment"), variables.concat(), exit::help())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_a_group_and_examples_and_every_line_fits() {
        let all = Args::command();
        // Commands run by other programs are omitted.
        let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
        let names: BTreeSet<&str> = shown.map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), names);
        assert_eq!(grouped.len(), names.len(), "one is in two groups");
        // Includes nested commands and those run by programs.
        fn count_with_examples(command: &Command, path: &str) -> usize {
            let below = command.get_subcommands().map(|below| {
                let path = format!("{path} {}", below.get_name());
                let path = path.trim_start();
                let name = path.split(' ').next();
                let is_its = |example: &str| example.split(' ').next() == name;
                assert!(examples(path).unwrap().into_iter().all(is_its), "{path}");
                1 + count_with_examples(below, path)
            });
            below.sum()
        }
        assert_eq!(EXAMPLES.lines().count(), 3 * count_with_examples(&all, ""));
        for line in groups(&all).lines().chain(OPTIONS.lines()).chain(footer().lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
