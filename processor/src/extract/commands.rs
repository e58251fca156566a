//! Verified commands: what builds, tests, checks and runs the project, as tool calls showed it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use memory_store::memory::{CommandRecord, SaidBy, Scope};
use memory_store::signature::CommandClass;
use memory_store::{Kind, Timestamp};

use super::clean::{cut, plain};
use super::draft::{Draft, Effect};
use super::{EXTRACTOR, QUOTE_CHARS_MAX, SessionMiner, shell, unit, words};
use crate::transcript::session::Call;

/// Characters of a command line worth keeping: a longer one is a script of the moment.
const LINE_CHARS_MAX: usize = 120;

/// Commands of one session, those that passed most often.
const COMMANDS_MAX: usize = 40;

/// Confidence in a command that passed more than once.
const SURE: f32 = 0.5;

/// Observations of one command in a session.
#[derive(Debug)]
struct CommandUse {
    class: CommandClass,
    uuid: String,
    at: Timestamp,
    written: String,
    description: String,
    record: CommandRecord,
}

pub fn mine(miner: &SessionMiner<'_>) -> Vec<Draft> {
    let mut seen: BTreeMap<(String, String), CommandUse> = BTreeMap::new();
    for turn in &miner.session.turns {
        for run in shell::calls(turn) {
            let shell::ShellCall { step, call, command, description, .. } = run;
            if call.failed || !has_outcome(call) || found_no_tests(call) {
                continue;
            }
            // A filter's exit status hides that of the command before it.
            if command.contains('|') && words::SHOWS_FAILURE.is_match(&call.output) {
                continue;
            }
            let commands = shell::commands(command);
            let alone = commands.len() == 1;
            for simple in commands {
                let Some(class) = simple.class else { continue };
                let line = format!("{}{}", simple.variables, simple.line);
                if line.chars().count() > LINE_CHARS_MAX || is_passing(&simple.line) {
                    continue;
                }
                let Some(directory) = run.folder(&simple.directory, miner.roots) else { continue };
                let entry =
                    seen.entry((directory.clone(), line.clone())).or_insert_with(|| CommandUse {
                        class,
                        uuid: step.uuid.clone(),
                        at: step.at,
                        written: command.to_owned(),
                        description: String::new(),
                        record: CommandRecord {
                            line,
                            directory,
                            exit_status: 0,
                            passed: 0,
                            last: step.at,
                        },
                    });
                entry.record.passed += 1;
                if alone && entry.description.is_empty() {
                    description.clone_into(&mut entry.description);
                }
            }
        }
    }
    let mut seen: Vec<CommandUse> = seen.into_values().collect();
    seen.sort_by_key(|seen| Reverse(seen.record.passed));
    seen.truncate(COMMANDS_MAX);
    seen.into_iter().map(|seen| draft(miner, seen)).collect()
}

/// Whether a call that passed ran no test at all.
fn found_no_tests(call: &Call) -> bool {
    words::NO_TESTS.is_match(&call.output) && !words::SOME_TESTS.is_match(&call.output)
}

/// Whether the call ran to its end.
pub fn has_outcome(call: &Call) -> bool {
    !call.denied && !call.interrupted && call.result_uuid.is_some()
}

/// A command that names one file, port or process belongs to its moment.
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

fn draft(miner: &SessionMiner<'_>, seen: CommandUse) -> Draft {
    let description = plain(&cut(&seen.description, 100));
    // "Builds" tells nobody what.
    let is_vague = matches!(
        seen.class,
        CommandClass::Build | CommandClass::Generate | CommandClass::Run | CommandClass::Bench
    );
    let (title, body) = if is_vague && !description.is_empty() {
        (format!("`{}`: {}", seen.record.line, description.trim_end_matches('.')), String::new())
    } else {
        (format!("`{}` {}", seen.record.line, told(&seen)), description)
    };
    let key = format!("command {} {}", seen.record.directory, seen.record.line);
    let quote = quote(miner, &seen);
    Draft {
        kind: Kind::Command,
        title,
        body,
        scope: Scope::Project,
        occurred: seen.at,
        confidence: SURE,
        session: miner.session.id.clone(),
        turns: vec![seen.uuid],
        ordinal: 0,
        quote,
        said_by: SaidBy::Tool,
        paths: Vec::new(),
        tags: vec![seen.class.name().to_owned()],
        signatures: Vec::new(),
        command: Some(seen.record),
        extractor: EXTRACTOR.to_owned(),
        worth: 1.0,
        importance: None,
        standing: false,
        cues: Vec::new(),
        effect: Effect::Confirms { key },
    }
}

/// Returns the command as it was written, or as normalised when it names a place of one machine.
fn quote(miner: &SessionMiner<'_>, seen: &CommandUse) -> String {
    let written = miner.roots.strip(&seen.written);
    let told = if unit::names_machine(&written) { &seen.record.line } else { &written };
    told.chars().take(QUOTE_CHARS_MAX).collect()
}

/// Describes the purpose of a command of this class in words.
fn told(seen: &CommandUse) -> &'static str {
    match seen.class {
        CommandClass::Lint if seen.record.line.contains("fix") => "cures what the checks can cure",
        CommandClass::Build => "builds",
        CommandClass::Test => "runs the tests",
        CommandClass::Lint => "checks the source",
        CommandClass::Format if only_looks(&seen.record.line) => "checks the formatting",
        CommandClass::Format => "formats the source",
        CommandClass::Run => "runs the program",
        CommandClass::Install => "installs dependencies",
        CommandClass::Migrate => "migrates the database",
        CommandClass::Generate => "generates files",
        CommandClass::Bench => "measures",
        CommandClass::Deploy => "deploys",
    }
}

/// Whether a formatter only tells what it would change, as `gofmt -l`, `cargo fmt --check` and
/// `prettier --list-different` do.
fn only_looks(line: &str) -> bool {
    let has = |flags: &[&str]| line.split_whitespace().any(|word| flags.contains(&word));
    // To other formatters these letters mean something else: `black -l 100`.
    let lists = has(&["gofmt", "goimports", "gofumpt", "shfmt"]) && has(&["-l", "-d"]);
    (lists || has(&["--check", "--diff", "--list-different"])) && !has(&["-w", "--write"])
}
