//! Prints the third-party packages of Throughline's programs with their licences, in the format of `NOTICE`.
//! `scripts/licences` inserts the list.

use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "the list is what this program is for")]
fn main() -> ExitCode {
    match journeys::metadata::licences() {
        Ok(licences) => {
            licences.iter().for_each(|(name, licence)| println!("{name}: {licence}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("licences: {error}");
            ExitCode::FAILURE
        }
    }
}
