//! Measures learning and recall, on transcripts and on labelled sets. `scripts/eval` builds and runs this program. All
//! files are written into a temporary home. Of the user's files, only the settings of a language model are read.

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod ask;
mod gold;
mod home;
mod lines;
mod machine;
mod names;
mod pairs;
mod passages;
mod project;
mod relations;
mod retrieval;
mod sealed;
mod set;
mod shelf;
mod stage;
mod terms;

use machine::Machine;

/// Measures what is remembered and recalled.
#[derive(Debug, Parser)]
#[command(name = "scripts/eval")]
struct Args {
    /// The folder of Throughline's programs
    #[arg(long, global = true, value_name = "DIR")]
    programs: Option<PathBuf>,
    #[command(subcommand)]
    measured: Measured,
}

#[derive(Debug, Subcommand)]
enum Measured {
    Project(project::Project),
    Retrieval(retrieval::Retrieval),
    Pairs(pairs::Pairs),
    Names(names::NamePairs),
    Relations(relations::RelationPairs),
    Terms(terms::Terms),
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_to_stderr(format_args!("scripts/eval: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    let machine = Machine::read(args.programs)?;
    match &args.measured {
        Measured::Project(args) => project::run(args, &machine),
        Measured::Retrieval(args) => retrieval::run(args, &machine),
        Measured::Pairs(args) => pairs::run(args),
        Measured::Names(args) => names::run(args),
        Measured::Relations(args) => relations::run(args, &machine),
        Measured::Terms(args) => terms::run(args, &machine),
    }
}

/// Prints a line on stderr, since stdout is reserved for the scoring program.
fn print_to_stderr(text: impl Display) {
    // A write error is ignored, since stderr may be closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}
