//! Texts of `--help` in addition to those declared by the commands: groups of commands, the environment, and examples.

use clap::{Command, CommandFactory as _};

use crate::command::Args;
use crate::exit;
use crate::view::style::{STRONG, paint};

/// All commands in groups; each has its own description.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Find",
        &["search", "show", "list", "browse", "resume", "timeline", "graph", "blame", "fixes"],
    ),
    ("Write", &["add", "edit", "forget", "restore", "review", "pack"]),
    ("What happened", &["status", "log", "why", "report"]),
    ("Set up", &["init", "uninstall", "config", "trust", "link", "projects", "off", "on"]),
    ("Keep", &["sync", "watch", "purge", "doctor"]),
    ("Team", &["diff", "check", "share"]),
    ("For programs", &["mcp", "statusline", "redact", "completions"]),
];

/// Two examples for each command, without the leading `throughline`; `96tfds` is a memory's id.
const EXAMPLES: [(&str, [&str; 2]); 38] = [
    ("search", ["search why cents", "search --turns 'upload since:\"last week\"'"]),
    ("resume", ["resume upload retry", "resume rounding --run"]),
    ("show", ["show 96tfds", "show 96tfds --json"]),
    ("list", ["list --kind decision", "list --path src/ -n 20"]),
    ("browse", ["browse", "browse --json"]),
    (
        "add",
        ["add 'We deploy on Tuesdays'", "add 'Cents, never floats' -k convention -p src/price.rs"],
    ),
    ("edit", ["edit 96tfds --title 'Bread is bought'", "edit 96tfds --pin"]),
    ("forget", ["forget 96tfds --dry-run", "forget 96tfds"]),
    ("restore", ["restore 96tfds", "restore 96tfds --json"]),
    ("review", ["review", "review --keep 96tfds"]),
    ("fixes", ["fixes", "fixes mismatched types"]),
    ("graph", ["graph 96tfds", "graph --stats"]),
    ("blame", ["blame src/price.rs", "blame src/ -n 3"]),
    ("diff", ["diff", "diff main..feature"]),
    ("check", ["check", "check --staged"]),
    ("status", ["status", "status --stats"]),
    ("log", ["log", "log -n 5 --session 1111"]),
    ("why", ["why", "why 'how are amounts kept?'"]),
    ("timeline", ["timeline -n 30", "timeline --handoff"]),
    ("report", ["report", "report --out ~/throughline.html"]),
    ("doctor", ["doctor", "doctor --secrets"]),
    ("init", ["init --preview", "init --yes --private"]),
    ("uninstall", ["uninstall", "uninstall --purge --yes"]),
    ("config", ["config get start_tokens", "config set notice off"]),
    ("off", ["off", "off --for 2h"]),
    ("on", ["on", "on --json"]),
    ("trust", ["trust", "trust --dry-run"]),
    ("link", ["link .", "link ~/work"]),
    ("projects", ["projects", "projects --json"]),
    ("share", ["share on", "share off"]),
    ("sync", ["sync", "sync --all"]),
    ("watch", ["watch", "watch --poll=5"]),
    ("purge", ["purge --before 2026-06-01 --yes", "purge --session 1111 --yes"]),
    ("pack", ["pack --tokens 1000", "pack --json"]),
    ("mcp", ["mcp", "mcp </dev/null"]),
    ("statusline", ["statusline", "statusline --json </dev/null"]),
    ("redact", ["redact notes.txt", "redact --check notes.txt"]),
    ("completions", ["completions bash", "completions zsh"]),
];

/// Two examples for each nested command, and for commands that programs run.
const NESTED_EXAMPLES: [(&str, [&str; 2]); 15] = [
    ("watch install", ["watch install", "watch install --dry-run"]),
    ("config get", ["config get start_tokens", "config get review --json"]),
    ("config set", ["config set start_tokens 700", "config set review true --dry-run"]),
    ("config unset", ["config unset start_tokens", "config unset review --dry-run"]),
    ("config edit", ["config edit", "config edit -v"]),
    ("config list", ["config list", "config list --json"]),
    ("config path", ["config path", "config path -v"]),
    ("config schema", ["config schema", "config schema >settings.schema.json"]),
    ("config llm", ["config llm rules", "config llm claude haiku --usd-per-day 0.50 --dry-run"]),
    ("config llm rules", ["config llm rules", "config llm rules --dry-run"]),
    ("config llm ollama", ["config llm ollama", "config llm ollama qwen3:4b --dry-run"]),
    (
        "config llm openai",
        [
            "config llm openai --host http://127.0.0.1:8080 qwen3",
            "config llm openai --host http://127.0.0.1:8080 --key-env MODEL_KEY qwen3",
        ],
    ),
    ("config llm claude", ["config llm claude", "config llm claude --usd-per-day 0.50 haiku"]),
    ("man", ["man", "man ~/.local/share/man/man1"]),
    (
        "merge-driver",
        [
            "merge-driver base.md ours.md theirs.md",
            "merge-driver --dry-run base.md ours.md theirs.md",
        ],
    ),
];

/// Returns both examples of a command, without the leading `throughline`.
pub fn examples(path: &str) -> Option<[&'static str; 2]> {
    let mut all = EXAMPLES.iter().chain(&NESTED_EXAMPLES);
    all.find(|(name, _)| *name == path).map(|(_, examples)| *examples)
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

/// Help of `throughline` itself, after the heading of the usage.
const USAGE: &str = " throughline [OPTIONS] [COMMAND]\n\nWithout a command, prints a summary of the \
                     project's status.{after-help}";
/// Options of every command, in the help of `throughline`.
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
/// End of the help of every command.
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

/// Adds examples to a command with this path, and to its subcommands.
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
        assert_eq!(EXAMPLES.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), names);
        // Includes nested commands and those run by programs.
        fn each_has_examples(command: &Command, path: &str) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name());
                assert!(examples(path.trim_start()).is_some(), "{path}");
                each_has_examples(below, &path);
            }
        }
        each_has_examples(&all, "");
        for (name, examples) in EXAMPLES {
            let is_its = |example: &&str| example.split(' ').next() == Some(name);
            assert!(examples.iter().all(is_its), "{name}");
        }
        for line in groups(&all).lines().chain(OPTIONS.lines()).chain(footer().lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
