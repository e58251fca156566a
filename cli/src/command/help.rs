//! Texts of `--help` in addition to those declared by the commands: groups of commands, the environment, and examples.

use clap::{Command, CommandFactory as _};

use super::Args;
use crate::exit;
use crate::view::style::{STRONG, paint};
use crate::view::wrap;

/// A command with a short description.
type HelpEntry = (&'static str, &'static str);

/// All commands in groups. They are printed in two columns.
const GROUPS: [(&str, &[HelpEntry]); 4] = [
    (
        "Every day",
        &[
            ("search", "find memories, or turns"),
            ("resume", "go on with a past session"),
            ("show", "a memory in full"),
            ("list", "memories, newest first"),
            ("browse", "all on one screen, by key"),
            ("add", "write a memory yourself"),
            ("edit", "change a memory"),
            ("forget", "put memories aside"),
            ("restore", "bring them back"),
            ("review", "what was learned lately"),
            ("fixes", "known errors, their cure"),
            ("blame", "what is known of a file"),
            ("diff", "memories of a branch, a pull"),
            ("check", "files, before a commit"),
        ],
    ),
    (
        "What it did",
        &[
            ("status", "what is stored and due"),
            ("handoff", "where the work was left"),
            ("log", "what was given to Claude"),
            ("why", "why a memory was given"),
            ("timeline", "what happened, by day"),
            ("report", "an HTML page about it all"),
            ("tombstones", "what is not learned again"),
            ("doctor", "check every part"),
            ("selftest", "try it on a made-up session"),
            ("audit", "look for stored secrets"),
            ("upgrade", "what is new; no network"),
        ],
    ),
    (
        "Setup and learning",
        &[
            ("init", "set a project up"),
            ("uninstall", "take the hooks out again"),
            ("config", "settings, and models"),
            ("off", "be silent for a while"),
            ("on", "speak again"),
            ("trust", "read memories of a clone"),
            ("link", "join another project"),
            ("projects", "all of yours"),
            ("sync", "read new transcripts now"),
            ("watch", "learn without hooks"),
            ("purge", "remove turns for good"),
        ],
    ),
    (
        "For other programs",
        &[
            ("pack", "the project's brief"),
            ("mcp", "the MCP server"),
            ("share", "let your projects ask it"),
            ("statusline", "for Claude Code's line"),
            ("redact", "a text without secrets"),
            ("completions", "for your shell"),
        ],
    ),
];

/// Two examples for each command, without the leading `throughline`; `96tfds` is a memory's id.
const EXAMPLES: [(&str, [&str; 2]); 42] = [
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
    ("blame", ["blame src/price.rs", "blame src/ -n 3"]),
    ("handoff", ["handoff", "handoff -n 1"]),
    ("diff", ["diff", "diff main..feature"]),
    ("check", ["check", "check --staged"]),
    ("status", ["status", "status --stats"]),
    ("log", ["log", "log -n 5 --session 1111"]),
    ("why", ["why", "why 'how are amounts kept?'"]),
    ("timeline", ["timeline", "timeline -n 30"]),
    ("report", ["report", "report --out ~/throughline.html"]),
    ("tombstones", ["tombstones", "tombstones --json"]),
    ("doctor", ["doctor", "doctor --json"]),
    ("selftest", ["selftest", "selftest --json"]),
    ("audit", ["audit", "audit --fix"]),
    ("init", ["init --preview", "init --yes --private"]),
    ("uninstall", ["uninstall", "uninstall --purge --yes"]),
    ("upgrade", ["upgrade", "upgrade -n 3"]),
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
    ("pack", ["pack --tokens 1000", "pack --format json"]),
    ("mcp", ["mcp", "mcp </dev/null"]),
    ("statusline", ["statusline", "statusline --json </dev/null"]),
    ("redact", ["redact notes.txt", "redact --check notes.txt"]),
    ("completions", ["completions bash", "completions zsh"]),
];

/// Two examples for each nested command, and for commands that programs run.
const NESTED_EXAMPLES: [(&str, [&str; 2]); 12] = [
    ("config get", ["config get start_tokens", "config get review --json"]),
    ("config set", ["config set start_tokens 700", "config set review true --dry-run"]),
    ("config unset", ["config unset start_tokens", "config unset review --dry-run"]),
    ("config edit", ["config edit", "config edit -v"]),
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

/// Environment variables that affect the program.
pub const ENVIRONMENT: [HelpEntry; 7] = [
    ("THROUGHLINE", "the mode: off, read or full"),
    ("CI, CLAUDE_CODE_REMOTE", "if set, the mode is read by default"),
    ("THROUGHLINE_MODELS", "folder of the embedder's files"),
    ("CLAUDE_CONFIG_DIR, XDG_*_HOME", "where Claude Code's files and ours lie"),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "colours: never, if 0 never, always"),
    ("THROUGHLINE_PAGER, PAGER, NO_PAGER", "the pager, or none"),
    ("VISUAL, EDITOR, TZ, OLLAMA_HOST", "editor, time zone, where Ollama is"),
];

/// Minimum columns of a terminal for two commands in a line.
const HELP_COLUMNS: usize = 80;
/// Columns of a command with its description.
const COLUMN: usize = 40;
/// Columns of a command's name.
const NAME_COLUMNS: usize = 12;

/// Help of `throughline` itself, without its usage line.
const TEMPLATE: &str = "{about}\n\n";
/// The usage line, after its heading.
const USAGE: &str =
    " throughline [OPTIONS] [COMMAND]   (without a command: an overview){after-help}";
/// End of the help of every command.
const FOR_EVERY_COMMAND: &str = "For every command: -C DIR, --color WHEN, -q, -v, --no-pager";

/// Returns the command line with its help.
pub fn command() -> Command {
    let command = Args::command().help_template(format!("{TEMPLATE}{}{USAGE}", heading("Usage")));
    let short = format!("{}\n{}{OPTIONS}", groups(), heading("Options"));
    let long = format!("{short}{}", environment());
    with_examples(command, "").after_help(short).after_long_help(long)
}

/// Adds examples to a command with this path, and to its subcommands.
fn with_examples(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_examples(below, path.trim_start())
    });
    let Some([one, other]) = examples(path) else { return command };
    let alias = command.get_visible_aliases().next();
    let also = alias.map(|alias| format!("Also called: throughline {alias}\n"));
    let also = also.unwrap_or_default();
    command.after_help(format!(
        "{also}{}\n  throughline {one}\n  throughline {other}\n{FOR_EVERY_COMMAND}",
        heading("Examples")
    ))
}

/// Formats a heading like those of clap.
fn heading(text: &str) -> String {
    paint(STRONG.underline(), format_args!("{text}:"))
}

fn groups() -> String {
    let mut text = String::new();
    for (name, entries) in GROUPS {
        text.push_str(&format!("{}\n", heading(name)));
        // Sorted down the first column, then down the second.
        let rows = entries.len().div_ceil(2);
        let (left, right) = entries.split_at(rows);
        for (row, (name, does)) in left.iter().enumerate() {
            let left = format!("  {name:<NAME_COLUMNS$}{does}");
            let line = match right.get(row) {
                Some((name, does)) if wrap::room() < HELP_COLUMNS => {
                    format!("{left}\n  {name:<NAME_COLUMNS$}{does}")
                }
                Some((name, does)) => format!("{left:<COLUMN$}{name:<NAME_COLUMNS$}{does}"),
                None => left,
            };
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// Options of every command, after a heading. At the end of the short help, so it names the long one.
const OPTIONS: &str = "
  -C, --project DIR    act as if started in this folder
  --color WHEN         auto, always or never
  -q, --quiet          nothing but answers, errors and questions
  -v, --verbose        say on stderr where it looked and how long it took
  --no-pager           print long output as it is
  --json               the answer for programs
  -h, --help           --help alone: also environment and exit codes
                       with a command: its options, examples; -V: the version
";

/// Returns the part of the long help that the short one omits.
fn environment() -> String {
    let variables = ENVIRONMENT.map(|(name, does)| format!("  {name:<34}  {does}\n"));
    format!("\n{}\n{}\n{}", heading("Environment"), variables.concat(), exit::help())
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
        let grouped = GROUPS.iter().flat_map(|(_, entries)| entries.iter().map(|(name, _)| *name));
        let grouped: Vec<&str> = grouped.collect();
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
        for line in groups().lines().chain(OPTIONS.lines()).chain(environment().lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
