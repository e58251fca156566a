//! Habits of command-line tools: help, examples, colours, pager, single settings.

use std::path::Path;

use crate::common::{Machine, strip};
use crate::daily::learned;

/// Number of lines of a screen: half the height of a current one. Its width is the usual number of columns.
const SCREEN_LINES: usize = 50;
/// Maximum lines of the help that lists all commands, one on each line.
const OVERVIEW_LINES: usize = 70;
const SCREEN_COLUMNS: u16 = 80;

/// Nested commands.
const NESTED: [&str; 13] = [
    "watch install",
    "config list",
    "config path",
    "config get",
    "config set",
    "config unset",
    "config edit",
    "config schema",
    "config llm",
    "config llm rules",
    "config llm ollama",
    "config llm openai",
    "config llm claude",
];
/// Commands that other programs run.
const HIDDEN: [&str; 2] = ["man", "merge-driver"];

/// Returns all commands that `--help` lists.
pub fn commands(machine: &Machine) -> Vec<String> {
    let help = machine.ok(&["--help"]);
    let (_, listed) = help.split_once("Find:\n").unwrap();
    let (listed, _) = listed.split_once("\nOptions:\n").unwrap();
    let lines = listed.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn each_short_help_is_one_screen_and_the_full_one_has_every_option() {
    let machine = Machine::new();
    let commands = commands(&machine);
    assert!(commands.len() > 35, "{commands:?}");
    let names = commands.iter().map(String::as_str).chain(NESTED).chain(HIDDEN).chain([""]);
    for name in names {
        let words = || name.split_whitespace();
        let short =
            strip(&machine.on_screen(&words().chain(["-h"]).collect::<Vec<_>>(), SCREEN_COLUMNS));
        let lines_max = if name.is_empty() { OVERVIEW_LINES } else { SCREEN_LINES };
        assert!(short.lines().count() <= lines_max, "{short}");
        let widest = short.lines().map(|line| line.trim_end().chars().count()).max();
        assert!(widest <= Some(SCREEN_COLUMNS.into()), "{short}");
        let full = machine.ok(&words().chain(["--help"]).collect::<Vec<_>>());
        let options = short.split_whitespace().filter(|word| word.starts_with("--"));
        for option in options.map(|word| word.trim_matches(['`', '\'', ',', '.', ')'])) {
            assert!(full.contains(option), "{name}: {option}");
        }
    }
    let nested = machine.ok(&["config", "llm", "ollama", "--help"]);
    assert!(nested.contains("Model [default: choose among the installed"), "{nested}");
    // Rarely used options are only in the full help.
    let rare = "--register-only";
    assert!(machine.ok(&["init", "--help"]).contains(rare));
    assert!(machine.ok(&["help", "init"]).contains(rare));
    assert!(!machine.ok(&["init", "-h"]).contains(rare));
}

/// Runs an example as a shell does; returns its exit code and output.
fn example(machine: &Machine, line: &str) -> (i32, String) {
    let mut command = machine.command(&[]);
    let path = format!("{}:/usr/bin:/bin", machine.path("bin").display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).current_dir(machine.work()).env_clear();
    shell.envs(
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    command.env("PATH", &path);
    shell.env("PATH", &path).stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), said)
}

/// Commands whose examples change state that other examples need.
const CHANGING: [&str; 9] =
    ["forget", "restore", "uninstall", "purge", "off", "init", "link", "trust", "edit"];

/// Commands whose examples compare branches.
const BRANCHES: [&str; 2] = ["diff", "check"];

fn stand() -> (Machine, String) {
    let machine = learned();
    machine.write("home/work/notes.txt", "Bread is baked at night.\n");
    machine.write("home/work/src/price.rs", "");
    machine.program("claude", "#!/bin/sh\n");
    let id = machine.json(&["add", "Bread is baked in the oven", "--json"])["short"].clone();
    (machine, id.as_str().unwrap().to_owned())
}

/// Runs both examples in the help of a command.
fn examples_run(name: &str, (machine, id): &(Machine, String)) {
    let args: Vec<&str> = name.split(' ').chain(["--help"]).collect();
    let help = machine.ok(&args);
    let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{help}"));
    let examples: Vec<&str> = examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
    assert_eq!(examples.len(), 2, "{help}");
    for line in examples {
        assert!(line.starts_with(&format!("throughline {name}")), "{line}");
        if name == "restore" {
            machine.ok(&["forget", id]);
        }
        // The command does not end by itself.
        let watches = if name == "watch" { "timeout 1 " } else { "" };
        let line = format!("{watches}{}", line.replace("96tfds", id));
        let (code, said) = example(machine, &line);
        let expected: &[i32] = match name {
            // No Ollama is running, and the client is only a script.
            "config llm ollama" | "config llm openai" | "config llm claude" => &[0, 1],
            "watch" => &[124],
            // These may find nothing here.
            "search" | "ask" | "fixes" | "how" | "resume" | "list" | "log" => &[0, 1],
            name if name.starts_with("guard ") => &[0, 1, 3],
            // The other programs are scripts here.
            "doctor" => &[0, 6],
            _ => &[0],
        };
        assert!(expected.contains(&code), "{line}: {code}\n{said}");
    }
}

/// Runs the examples of every second command, beginning with the command at index `from`.
fn every_second_example_runs(from: usize) {
    let stand = stand();
    let commands = commands(&stand.0);
    assert!(CHANGING.iter().chain(&BRANCHES).all(|name| commands.iter().any(|all| all == name)));
    let reading = commands
        .iter()
        .filter(|name| !CHANGING.contains(&name.as_str()) && !BRANCHES.contains(&name.as_str()));
    reading.skip(from).step_by(2).for_each(|name| examples_run(name, &stand));
}

#[test]
fn every_example_of_the_help_runs() {
    every_second_example_runs(0);
}

#[test]
fn every_other_example_of_the_help_runs() {
    every_second_example_runs(1);
}

#[test]
fn every_example_of_commands_below_others_runs() {
    let (machine, id) = stand();
    let file = "home/.config/throughline/config.toml";
    machine.write(file, "start_tokens = 500\n");
    let text = "---\nkind: fact\n---\nBread\n";
    for name in ["base", "ours", "theirs"] {
        machine.write(&format!("home/work/{name}.md"), text);
    }
    let stand = (machine.with("EDITOR", "true"), id);
    NESTED.iter().chain(&HIDDEN).for_each(|name| examples_run(name, &stand));
    let page = stand.0.read("home/.local/share/man/man1/throughline-config-set.1");
    assert!(page.contains("throughline config set start_tokens 700"), "{page}");
}

#[test]
fn there_is_a_manual_page_for_each_command_with_sections_that_programs_know() {
    let machine = Machine::new();
    machine.ok(&["man", "pages"]);
    let read = |name: &str| machine.read(&format!("home/work/pages/throughline{name}.1"));
    assert_eq!(machine.ok(&["man"]), read(""));
    let listed = commands(&machine);
    for name in listed.iter().map(String::as_str).chain(NESTED).chain([""]) {
        let is_main = name.is_empty();
        let suffix = if is_main { String::new() } else { format!("-{}", name.replace(' ', "-")) };
        let page = read(&suffix);
        let section = |name: &str| {
            let (_, after) = page.split_once(&format!(".SH {name}\n")).unwrap_or_default();
            after.split("\n.SH ").next().unwrap_or_default().trim_end().to_owned()
        };
        // `apropos` reads only one line of this section.
        let brief = section("NAME");
        assert_eq!(brief.lines().count(), 1, "{name}: {brief}");
        assert!(!section("SYNOPSIS").is_empty() && !page.contains(".SH EXTRA"), "{page}");
        let examples = section("\"EXAMPLES\"");
        assert_eq!(examples.matches("throughline ").count(), if is_main { 0 } else { 2 }, "{page}");
        assert!(section("\"EXIT STATUS\"").contains("a search found nothing"), "{page}");
        assert_eq!(page.contains("THROUGHLINE_MODELS"), is_main, "{page}");
    }
}

#[test]
fn every_example_that_changes_something_runs() {
    let stand = stand();
    stand.0.keep();
    for name in CHANGING {
        examples_run(name, &stand);
        stand.0.restore();
    }
    crate::team::branches(&stand.0);
    for name in BRANCHES {
        examples_run(name, &stand);
    }
}

#[test]
fn other_names_do_the_same() {
    let (machine, id) = stand();
    assert_eq!(machine.ok(&["recall", "bread"]), machine.ok(&["search", "bread"]));
    assert!(machine.ok(&["remember", "Rolls are baked at noon"]).starts_with("Added "));
    assert!(machine.ok(&["rm", &id]).starts_with("Archived "));
    assert!(machine.ok(&["forget", "--help"]).contains("Alias: throughline rm\n"));
}

#[test]
fn a_dry_run_of_forget_changes_nothing() {
    let (machine, id) = stand();
    let said = machine.ok(&["forget", &id, "--dry-run"]);
    assert_eq!(said, format!("Would archive {id} \"Bread is baked in the oven\".\n"));
    let said = machine.ok(&["forget", &id, "--dry-run", "--delete"]);
    assert!(said.starts_with("Would delete "), "{said}");
    let told = machine.json(&["forget", &id, "--dry-run", "--json"]);
    assert_eq!(told["would"][0], format!("archive {id} \"Bread is baked in the oven\""));
    assert!(machine.ok(&["list"]).contains(&id));
}

#[test]
fn colours_are_as_they_are_asked_for() {
    let (machine, _) = stand();
    assert!(!machine.ok(&["list"]).contains('\u{1b}'));
    assert!(machine.ok(&["list", "--color", "always"]).contains("\u{1b}["));
    assert!(machine.on_screen(&["list", "--no-pager"], 80).contains("\u{1b}["));
    assert!(!machine.on_screen(&["list", "--color=never", "--no-pager"], 80).contains("\u{1b}["));
    assert_eq!(machine.run(&["list", "--color", "sometimes"]).code, 2);
}

#[test]
fn quiet_keeps_answers_and_errors_and_verbose_prints_paths_and_time() {
    let (machine, id) = stand();
    assert_eq!(machine.ok(&["add", "Rolls are baked at noon", "-q"]), "");
    assert!(machine.ok(&["list", "-q"]).contains("Rolls are baked at noon"));
    assert_eq!(machine.ok(&["-q", "forget", &id]), "");
    let said = machine.run(&["-q", "forget", &id]);
    assert!(said.code == 1 && said.stderr.contains("already archived"), "{}", said.whole());
    let json = machine.ok(&["add", "Bagels are boiled", "-q", "--json"]);
    assert!(json.starts_with('{'), "JSON is an answer: {json}");
    let said = machine.run(&["status", "-v"]);
    assert_eq!(said.stdout, machine.ok(&["status"]));
    for row in
        ["project   /home/work\n", "settings  /home/.config/throughline/config.toml\n", "took "]
    {
        assert!(said.stderr.contains(row), "{}", said.whole());
    }
}

#[test]
fn long_output_goes_to_the_pager_of_the_user() {
    let (machine, _) = stand();
    for number in 0..30 {
        machine.ok(&["add", &format!("Oven number {number} is hot"), "--both"]);
    }
    // The pager marks each line that it shows.
    let machine = machine.with("PAGER", "sed 's/^/PAGED /'");
    let paged = |args: &[&str]| strip(&machine.on_screen(args, 80)).contains("PAGED ");
    assert!(paged(&["list"]));
    assert!(!paged(&["list", "-n", "3"]), "it fits the screen");
    assert!(!paged(&["list", "--no-pager"]));
    assert!(!machine.ok(&["list"]).contains("PAGED"), "no terminal");
    // Help is paged too.
    assert!(paged(&["--help"]) && paged(&["help", "init"]));
    assert!(!paged(&["on", "--help"]), "it fits the screen");
    assert!(!paged(&["--help", "--no-pager"]) && !paged(&["--no-pager", "--help"]));
    let whole = strip(&machine.on_screen(&["list"], 80));
    assert_eq!(whole.matches("PAGED ").count(), whole.lines().count(), "{whole}");
    let machine = machine.with("NO_PAGER", "1");
    assert!(!strip(&machine.on_screen(&["list"], 80)).contains("PAGED "));
    // A missing pager is ignored.
    let machine = machine.with("NO_PAGER", "").with("PAGER", "no-such-pager");
    assert!(strip(&machine.on_screen(&["list"], 80)).contains("Oven number 7 is hot"));
}

#[test]
fn settings_are_read_and_set_one_by_one() {
    let machine = Machine::new();
    let file = "home/.config/throughline/config.toml";
    let start = machine.ok(&["config", "get", "start_tokens"]);
    assert!(start.trim().parse::<u32>().is_ok(), "{start}");
    machine.write(file, "# mine\nnotice = \"off\" # quiet\n");
    machine.ok(&["config", "set", "start_tokens", "700"]);
    machine.ok(&["config", "set", "redact.harmless", "[\"bread\"]"]);
    assert_eq!(
        machine.read(file),
        "# mine\nnotice = \"off\" # quiet\nstart_tokens = 700\n\n[redact]\nharmless = [\"bread\"]\n"
    );
    assert_eq!(machine.ok(&["config", "get", "start_tokens"]), "700\n");
    assert_eq!(machine.json(&["config", "get", "redact.harmless", "--json"])[0], "bread");
    machine.ok(&["config", "unset", "redact"]);
    assert_eq!(machine.run(&["config", "get", "llm"]).code, 1);
    let before = machine.read(file);
    for (args, code) in [
        (&["config", "set", "start_tokens", "many"][..], 2),
        (&["config", "set", "start_tokens", "-5"], 2),
        (&["config", "set", "nonsense", "1"], 3),
        (&["config", "get", "nonsense"], 3),
        (&["config", "unset", "nonsense"], 3),
        (&["config", "set", "notice.deeper", "1"], 2),
        (&["config", "set", "start_tokens", "900", "--dry-run"], 0),
    ] {
        let said = machine.run(args);
        assert_eq!(said.code, code, "{args:?}\n{}", said.whole());
        assert_eq!(machine.read(file), before, "{args:?}");
    }
    machine.write(file, "alpha = \n");
    assert_eq!(machine.run(&["config", "set", "start_tokens", "700"]).code, 5);
    assert_eq!(machine.read(file), "alpha = \n");
}

#[test]
fn the_settings_file_is_edited_and_checked() {
    let machine = Machine::new();
    assert_eq!(machine.run(&["config", "edit"]).code, 2);
    machine.program("ed-good", "#!/bin/sh\necho 'start_tokens = 700' > \"$1\"\n");
    machine.program("ed-bad", "#!/bin/sh\necho 'start_tokens = []' > \"$1\"\n");
    let editor = |name: &str| machine.path("bin").join(name).display().to_string();
    let said = machine.run_with(&["config", "edit"], &[("EDITOR", &editor("ed-good"))]);
    assert!(said.code == 0 && said.stdout.contains("config.toml is valid."), "{}", said.whole());
    assert_eq!(machine.ok(&["config", "get", "start_tokens"]), "700\n");
    let said = machine.run_with(&["config", "edit"], &[("EDITOR", &editor("ed-bad"))]);
    assert!(said.code == 5 && said.stderr.contains("start_tokens"), "{}", said.whole());
}

#[test]
fn the_schema_contains_every_setting_and_no_value_of_the_user() {
    let machine = Machine::new();
    machine.write("home/.config/throughline/config.toml", "start_tokens = 777\n");
    let schema = machine.json(&["config", "schema"]);
    let properties = schema["properties"].as_object().unwrap();
    let all = machine.json(&["config", "--json"]);
    let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
    known.sort_unstable();
    let mut keys: Vec<&str> =
        all.as_array().unwrap().iter().map(|line| line["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(known, keys);
    let start = &properties["start_tokens"];
    assert_eq!((&start["type"], &start["maximum"]), (&"integer".into(), &2_400.into()));
    assert_eq!(properties["notice"]["enum"], serde_json::json!(["off", "first", "each"]));
    let kinds = properties["kinds"]["items"]["enum"].as_array().unwrap();
    assert!(kinds.contains(&"failed-approach".into()), "{kinds:?}");
    let llm = &properties["llm"];
    assert_eq!(llm["required"], serde_json::json!(["provider", "model"]));
    assert_eq!(llm["properties"]["timeout_s"]["minimum"], 1);
    assert_eq!(
        properties["redact"]["properties"]["private"]["properties"]["email"]["enum"][1],
        "mask"
    );
    assert_ne!(properties["start_tokens"]["default"], 777);
}

/// How the command of a habit is run.
#[derive(Clone, Copy)]
enum Way {
    /// With a pipe as its output.
    Piped,
    /// At a terminal with this number of columns.
    Screen(u16),
    /// With a text on stdin.
    Stdin(&'static str),
    /// With environment variables.
    With(&'static [(&'static str, &'static str)]),
    /// With a closed output.
    Unread,
    /// After another command; the machine is restored afterwards.
    After(&'static [&'static str]),
    /// With a session that was not read yet; the machine is restored afterwards.
    Fresh,
    /// Not run, because the habit is not supported yet.
    Pending,
}

/// A habit, and a command that demonstrates it.
struct Habit {
    name: &'static str,
    way: Way,
    /// Arguments; `ID` is replaced by the id of a memory.
    args: &'static [&'static str],
    code: i32,
    /// A text that the output must contain.
    part: &'static str,
}

const fn habit(
    name: &'static str,
    args: &'static [&'static str],
    code: i32,
    part: &'static str,
) -> Habit {
    Habit { name, way: Way::Piped, args, code, part }
}

impl Habit {
    const fn by(self, way: Way) -> Self {
        Self { way, ..self }
    }
}

const fn pending(name: &'static str) -> Habit {
    habit(name, &[], 0, "").by(Way::Pending)
}

/// Forty habits that tools such as uv, zoxide, atuin, gh and ripgrep have in common.
const HABITS: [Habit; 40] = [
    habit("Clean uninstall", &["uninstall"], 0, "Taken out of ").by(Way::After(&["status"])),
    habit("Help everywhere", &["timeline", "--help"], 0, "Usage: throughline timeline"),
    habit("Completions for five shells", &["completions", "fish"], 0, "THROUGHLINE_COMPLETE=fish"),
    habit("NO_COLOR and CLICOLOR", &["list"], 0, "\u{1b}[")
        .by(Way::With(&[("CLICOLOR_FORCE", "1")])),
    habit("Plain text in pipes", &["list"], 0, "Bread is baked"),
    habit("Did you mean", &["serach"], 2, "'search'"),
    habit("Errors with a hint", &["link", "/nowhere"], 3, "hint: "),
    habit("The origin of each setting", &["config"], 0, "# default"),
    habit("XDG and CLAUDE_CONFIG_DIR", &["config"], 0, "/elsewhere/throughline/config.toml")
        .by(Way::With(&[("XDG_CONFIG_HOME", "/elsewhere")])),
    habit("Progress, also for programs", &["sync", "--progress", "json"], 0, "{\"").by(Way::Fresh),
    habit("Undo", &["restore", "ID"], 0, "Restored ").by(Way::After(&["forget", "ID"])),
    habit("Destructive commands ask, or take --yes", &["purge", "--session", "1111"], 11, "--yes"),
    habit("JSON", &["status", "--json"], 0, "\"by_kind\""),
    habit("Exit codes in the help", &["--help"], 0, "Exit codes: "),
    habit("Standard input by `-`", &["add", "Bagels are boiled", "--body", "-"], 0, "Added ")
        .by(Way::Stdin("In water.")),
    habit("Quiet on a broken pipe", &["list"], 0, "").by(Way::Unread),
    habit("Another folder", &["-C", ".", "list"], 0, "Bread is baked"),
    habit("Doctor", &["doctor", "--help"], 0, "Check every part"),
    habit("The same again changes nothing", &["init", "--yes"], 0, "are as they were."),
    pending("Installed by one line"),
    pending("Ready-made binaries"),
    habit("The version, with its commit", &["--version"], 0, "throughline 0."),
    habit("Commands in groups", &["--help"], 0, "What happened:\n"),
    habit("Two examples in every help", &["search", "--help"], 0, "Examples:\n"),
    habit("Manual pages", &["man"], 0, ".TH throughline 1"),
    habit(
        "Completion of ids, kinds and settings",
        &["--", "throughline", "show", ""],
        0,
        "\tBread is baked in the oven",
    )
    .by(Way::With(&[("THROUGHLINE_COMPLETE", "fish")])),
    habit("Colours on demand", &["list", "--color", "always"], 0, "\u{1b}["),
    habit("A pager, and none on demand", &["list", "--no-pager"], 0, "Bread is baked"),
    habit("Output fitted to the terminal", &["show", "ID"], 0, "Bread is baked")
        .by(Way::Screen(40)),
    habit("An interactive picker", &["show"], 2, "At a terminal"),
    habit("Settings read and set one by one", &["config", "get", "start_tokens"], 0, ""),
    habit("Environment variables in the help", &["--help"], 0, "Environment:\n"),
    habit("News of versions, only when asked", &["--version"], 0, "Changelog: "),
    habit(
        "Dry run wherever something is written",
        &["forget", "ID", "--dry-run"],
        0,
        "Would archive",
    ),
    habit("Quiet", &["add", "Rolls are baked at noon", "-q"], 0, ""),
    habit("Verbose", &["status", "-v"], 0, "took "),
    habit("A status line", &["statusline"], 0, "throughline: "),
    habit(
        "Exit code 1 where a search finds nothing",
        &["search", "zeppelin"],
        1,
        "Nothing is known about this.",
    ),
    habit("Short other names", &["rm", "ID", "--dry-run"], 0, "Would archive"),
    habit("Local times, from now where recent", &["log"], 0, "yesterday 10:01"),
];

/// Other familiar habits.
const BESIDES: [Habit; 7] = [
    habit("A short help beside the full one", &["init", "-h"], 0, "see more with '--help'"),
    habit("One screen without a command", &[], 0, "Next  "),
    habit("RFC 3339 in JSON", &["log", "--json"], 0, "\"2026-10-01T10:01:00Z\""),
    habit("Set a setting", &["config", "set", "start_tokens", "700"], 0, "Set start_tokens"),
    habit("Unset one", &["config", "unset", "start_tokens"], 0, "Unset start_tokens"),
    habit("A schema of the settings", &["config", "schema"], 0, "\"properties\""),
    habit("An order for pre-commit", &["check"], 0, "checked: all good."),
];

/// Minimum number of habits that are supported.
const HELD_MIN: usize = 38;

/// Runs the command of a habit. The error is its output, if the exit code or the output differ from the expected ones.
fn hold(habit: &Habit, shared: &(Machine, String)) -> Result<(), String> {
    let (machine, id) = shared;
    let is_alone = matches!(habit.way, Way::After(_) | Way::Fresh);
    if is_alone {
        machine.keep();
    }
    let with_id = |args: &[&'static str]| -> Vec<String> {
        args.iter().map(|&arg| if arg == "ID" { id.clone() } else { arg.to_owned() }).collect()
    };
    let args = with_id(habit.args);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (code, said) = match habit.way {
        Way::Fresh => {
            let session = "22222222-2222-4222-8222-222222222222";
            let path = format!("home/.claude/projects/-home-work/{session}.jsonl");
            machine.transcript(&path, session, "2026-10-02");
            let said = machine.run(&args);
            (said.code, said.stdout + &said.stderr)
        }
        Way::Piped | Way::Pending => {
            let said = machine.run(&args);
            (said.code, said.stdout + &said.stderr)
        }
        Way::Screen(columns) => {
            let shown = machine.on_screen(&args, columns);
            let plain = strip(&shown);
            let room = usize::from(columns);
            // A line may be longer if it is a single word, with its label.
            let mut lines = plain.lines().filter(|line| line.chars().count() > room);
            let long = lines.find(|line| line.split_whitespace().count() > 2);
            assert_eq!(long, None, "{}\n{plain}", habit.name);
            (0, plain)
        }
        Way::Stdin(text) => {
            let said = machine.run_on(&args, text);
            (said.code, said.stdout + &said.stderr)
        }
        Way::With(variables) => {
            let said = machine.run_with(&args, variables);
            (said.code, said.stdout + &said.stderr)
        }
        Way::Unread => {
            let mut child = machine.spawn(&args, std::process::Stdio::piped());
            drop(child.stdout.take());
            (child.wait().unwrap().code().unwrap(), String::new())
        }
        Way::After(before) => {
            let before = with_id(before);
            machine.ok(&before.iter().map(String::as_str).collect::<Vec<_>>());
            let said = machine.run(&args);
            (said.code, said.stdout + &said.stderr)
        }
    };
    if is_alone {
        machine.restore();
    }
    match code == habit.code && said.contains(habit.part) {
        true => Ok(()),
        false => Err(format!("{}: exit code {code}\n{said}", habit.name)),
    }
}

#[test]
fn the_program_has_each_habit_that_is_not_pending() {
    let shared = stand();
    shared.0.write("share/throughline/CHANGELOG.md", "");
    shared.0.receipt(&serde_json::json!({ "at": "2026-10-01T10:01:00Z", "event": "SessionStart",
        "session": "s", "tokens": 40, "memories": [] }));
    let is_tried = |habit: &&Habit| !matches!(habit.way, Way::Pending);
    let tried: Vec<&Habit> = HABITS.iter().chain(&BESIDES).filter(is_tried).collect();
    let wrong: Vec<String> =
        tried.into_iter().filter_map(|habit| hold(habit, &shared).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let held = HABITS.iter().filter(is_tried).count();
    assert!(held >= HELD_MIN, "{held}");
}

/// Returns all files below a folder with their contents.
fn files(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(path).unwrap_or_default());
        }
    }
    found
}

#[test]
fn a_dry_run_of_any_command_changes_nothing() {
    let (machine, id) = stand();
    let aside =
        machine.json(&["add", "Bagels are boiled", "--json"])["short"].as_str().unwrap().to_owned();
    machine.ok(&["forget", &aside]);
    machine.ok(&["init", "--yes", "--with", "skill,agents"]);
    let before = files(&machine.path("home"));
    for (args, part) in [
        (
            &["add", "Rolls are baked at noon"][..],
            "Would add the fact \"Rolls are baked at noon\".\n",
        ),
        (
            &["edit", &id, "--title", "Bread is bought"],
            ": its title was \"Bread is baked in the oven\".\n",
        ),
        (&["forget", &id], "Would archive "),
        (&["restore", &aside], "\"Bagels are boiled\".\n"),
        (&["review", "--keep", &id], "Would confirm "),
        (&["review", "--accept-all"], "Would accept "),
        (&["off", "--for", "2h"], "Would silence everything until 2026-10-02 11:30"),
        (&["on"], "Nothing would be done.\n"),
        (&["share", "on"], "Would let your other projects "),
        (&["link", "."], "Nothing would be done.\n"),
        (&["trust"], "Nothing would be done.\n"),
        (&["trust", "--revoke"], "Would read /home/work no longer.\n"),
        (&["sync"], "Would look for what is new in 1 transcript of /home/work.\n"),
        (&["sync", "--all"], "Would look for what is new in 1 transcript of /home/work.\n"),
        (
            &["purge", "--before", "2026-12-01"],
            "Would remove everything archived before 2026-12-01 00:00 +00:00, of 1 session.\n",
        ),
        (&["uninstall"], "Would take the hooks out of /home/.claude/settings.json.\n"),
        (&["uninstall", "--purge"], "Would delete /home/.local/share/throughline.\n"),
        (&["uninstall", "--purge"], "Would take the paragraph out of /home/work/AGENTS.md.\n"),
        (&["config", "set", "start_tokens", "700"], "Would set start_tokens "),
        (&["config", "unset", "start_tokens"], "start_tokens was not set in "),
        (&["config", "llm", "rules"], "Would let no model read sessions.\n"),
        (&["report"], "Would write /home/.local/state/throughline/trees/"),
        (&["report", "--open", "-o", "it.html"], "Would write /home/work/it.html ("),
        (&["doctor", "--secrets", "--fix"], "No secret was found.\n"),
        (&["watch"], "Would learn from what is new in /home/.claude/projects, until "),
        (&["man", "pages"], " manual pages into pages.\n"),
        (&["init"], "Nothing was written yet."),
    ] {
        let said = machine.run(&[args, &["--dry-run"]].concat());
        assert_eq!(said.code, 0, "{args:?}\n{}", said.whole());
        assert!(said.stdout.contains(part), "{args:?}\n{}", said.whole());
        assert!(files(&machine.path("home")) == before, "{args:?} wrote something");
    }
    let told = machine.json(&["off", "--dry-run", "--json"]);
    assert_eq!(told["would"][0], "silence everything until `throughline on`");
    assert_eq!(machine.run(&["edit", &id, "--dry-run"]).code, 2);
    assert_eq!(machine.run(&["restore", "zzzzzz", "--dry-run"]).code, 3);
}

#[test]
fn lists_are_cut_to_the_terminal_and_not_in_a_pipe() {
    let (machine, _) = stand();
    let long = format!("Rolls are baked at noon {}", "and not before ".repeat(12));
    let long = long.trim_end();
    let memory = machine.json(&["add", long, "--json"]);
    machine
        .receipt(&serde_json::json!({ "at": "2026-10-02T09:01:00Z", "event": "UserPromptSubmit",
        "session": "s", "tokens": 40, "memories": [{ "id": memory["id"] }] }));
    for args in [&[][..], &["status"], &["timeline"], &["log"], &["list"]] {
        assert!(machine.ok(args).contains(long), "{args:?}\n{}", machine.ok(args));
    }
    for args in [&[][..], &["timeline", "--no-pager"], &["log", "--no-pager"]] {
        let shown = strip(&machine.on_screen(args, 80));
        assert!(!shown.contains(long) && shown.contains("..."), "{args:?}\n{shown}");
    }
}

#[test]
fn an_id_is_abbreviated_to_its_end_or_its_beginning() {
    let (machine, short) = stand();
    let memories = machine.json(&["list", "--json"]);
    let own = memories.as_array().unwrap().iter().find(|one| one["short"] == *short).unwrap();
    let id = own["id"].as_str().unwrap();
    // An id may be given by its last characters or by its first ones, as long as they are unique, in upper or lower
    // case.
    for named in [&short, id, &id[..20], &id[..20].to_uppercase(), &short.to_uppercase()] {
        assert!(machine.ok(&["show", named]).contains("Bread is baked in the oven"), "{named}");
    }
    machine.ok(&["forget", &id[..20]]);
    assert!(machine.ok(&["restore", "--dry-run", &id[..20]]).contains(&short));
    assert!(machine.ok(&["restore", &id[..20]]).starts_with("Restored "));
    let days = machine.json(&["timeline", "--json"]);
    let mut days = days.as_array().unwrap().iter();
    let session = days.find_map(|day| day["sessions"][0]["session"].as_str()).unwrap();
    for named in [session, &session[..8], &session[session.len() - 8..]] {
        machine.ok(&["search", "--turns", "--session", named, "the"]);
        machine.ok(&["purge", "--session", named, "--dry-run"]);
    }
    let project = machine.json(&["projects", "--json"])[0]["project"].clone();
    let project = project.as_str().unwrap();
    for named in [&project[..8], &project[project.len() - 8..]] {
        assert_eq!(machine.ok(&["link", named, "--dry-run"]), "Nothing would be done.\n");
    }
}

#[test]
fn a_shell_completes_ids_kinds_and_settings() {
    let (machine, id) = stand();
    let complete = |words: &[&str]| {
        let args = [&["--", "throughline"], words].concat();
        let said = machine.run_with(&args, &[("THROUGHLINE_COMPLETE", "fish")]);
        assert_eq!(said.code, 0, "{}", said.whole());
        said.stdout
    };
    assert!(complete(&["show", &id[..3]]).contains(&format!("{id}\tBread is baked in the oven")));
    assert!(complete(&["review", "--keep", ""]).contains(&id));
    assert_eq!(complete(&["list", "--kind", "dec"]).trim(), "decision");
    let settings = complete(&["config", "get", ""]);
    assert!(
        settings.contains("start_tokens\n") && settings.contains("redact.harmless\n"),
        "{settings}"
    );
    assert!(!complete(&[""]).contains("merge-driver"), "git runs it, not people");
    machine.ok(&["forget", &id]);
    assert!(complete(&["restore", ""]).contains(&id) && !complete(&["show", ""]).contains(&id));
    // Outside a project there is nothing to complete.
    let nowhere = Machine::new();
    let said =
        nowhere.run_with(&["--", "throughline", "show", ""], &[("THROUGHLINE_COMPLETE", "fish")]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
}

#[test]
fn bash_completes_by_the_script() {
    let (machine, id) = stand();
    let script = "source <(throughline completions bash)\n\
        COMP_WORDS=(throughline show ''); COMP_CWORD=2; COMP_TYPE=9\n\
        _clap_complete_throughline throughline '' show\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    machine.write("script", script);
    let command = machine.command(&[]);
    let mut bash = std::process::Command::new("bash");
    bash.arg(machine.path("script")).current_dir(machine.work()).env_clear();
    bash.envs(
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
    );
    bash.env("PATH", format!("{}:/usr/bin:/bin", machine.path("bin").display()));
    let output = bash.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.lines().any(|line| line == id),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_command_of_the_previous_version_names_its_replacement() {
    let machine = Machine::new();
    for (typed, old, new) in [
        (&["audit", "--fix"][..], "audit", "doctor --secrets"),
        (&["handoff", "-n", "1"], "handoff", "timeline --handoff"),
        (&["selftest"], "selftest", "doctor --selftest"),
        (&["service", "install"], "service", "watch install"),
        (&["stats"], "stats", "status --stats"),
        (&["-C", "/", "tombstones", "--json"], "tombstones", "list --forgotten"),
        (&["upgrade", "--help"], "upgrade", "--version"),
    ] {
        let said = machine.run(typed);
        let expected = format!("`throughline {old}` is now `throughline {new}`.\n");
        assert_eq!((said.code, said.stderr), (2, expected), "{typed:?}");
        assert!(
            machine.ok(&["--help"]).lines().all(|line| !line.starts_with(&format!("  {old} ")))
        );
        // The replacement is a valid command line.
        let new = new.split(' ').chain(["--help"]).collect::<Vec<_>>();
        assert_eq!(machine.run(&new).code, 0, "{new:?}");
    }
}

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let machine = Machine::new();
    machine.write("share/throughline/CHANGELOG.md", "");
    let said = machine.ok(&["--version"]);
    let (said, changelog) = said.split_once('\n').unwrap();
    assert_eq!(changelog, "Changelog: /share/throughline/CHANGELOG.md\n");
    let (version, commit) =
        said.trim().split_at("throughline ".len() + env!("CARGO_PKG_VERSION").len());
    assert_eq!(version, format!("throughline {}", env!("CARGO_PKG_VERSION")));
    let is_commit = |commit: &str| commit.starts_with(" (") && commit.ends_with(')');
    assert!(commit.is_empty() || is_commit(commit), "{said}");
}
