//! `throughline`: the command-line program.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::FromArgMatches as _;

mod answer;
mod ask;
mod caller;
mod command;
mod complete;
mod credentials;
mod editor;
mod exit;
mod facts;
mod failure;
mod help;
mod inspect;
mod knowledge;
mod memory_files;
mod neighbours;
mod person;
mod receipts;
mod relations;
mod sessions;
mod setup;
mod stores;
mod typed;
mod usage;
mod view;
mod world;

fn main() -> ExitCode {
    // SAFETY: this is the first statement of `main`, when the program has only one thread.
    unsafe { processor::programs::keep_absolute_folders() };
    // If a shell requests completions, the program prints only them and exits.
    clap_complete::CompleteEnv::with_factory(help::command)
        .var(complete::VARIABLE)
        .bin("throughline")
        .complete();
    let words: Vec<OsString> = std::env::args_os().collect();
    // The choice of colours also applies to the help and to messages about the command line.
    usage::apply_color(&words);
    let args = parse(words).unwrap_or_else(|error| usage::exit(error));
    match command::run(args) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(failure) => {
            report(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// Parses the command line. `--json` may precede the command, follow it, or both, with the same meaning.
fn parse(mut words: Vec<OsString>) -> Result<command::Args, clap::Error> {
    let read = |words: &[OsString]| {
        let matches = help::command().try_get_matches_from(words)?;
        command::Args::from_arg_matches(&matches)
    };
    let args = read(&words)?;
    if !args.has_json_before_command() {
        return Ok(args);
    }
    let at = |words: &[OsString], wanted: &str| words.iter().position(|word| word == wanted);
    if let Some(json) = at(&words, "--json") {
        let json = words.remove(json);
        let end = at(&words, "--").unwrap_or(words.len());
        if !words[..end].contains(&json) {
            words.insert(end, json);
        }
    }
    read(&words)
}

/// Prints the message of a failure, its causes and the hint. If there is no message, the command has already reported
/// the failure.
fn report(failure: &failure::Failure) {
    if failure.message.is_empty() {
        return;
    }
    let mut stderr = anstream::stderr().lock();
    let columns = view::wrap::columns(&dialoguer::console::Term::stderr());
    let mut stderr = view::wrap::Wrapped::new(&mut stderr, columns);
    // If this write fails too, only the exit code reports the failure.
    let _ = writeln!(
        stderr,
        "{} {}",
        view::style::paint(view::style::BAD, "throughline:"),
        failure.message
    );
    for cause in &failure.causes {
        let _ = writeln!(stderr, "  because: {cause}");
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(stderr, "{} {hint}", view::style::paint(view::style::CARE, "hint:"));
    }
}
