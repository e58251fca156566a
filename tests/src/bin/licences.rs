//! Prints the packages of others that our programs are built from, with their licences, as `NOTICE`
//! lists them. `scripts/licences` puts the list in place.

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
