//! `stress`: faults and many programs at once, for as long as asked. Called by `scripts/stress`.
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::process::ExitCode;

const USAGE: &str = "usage: stress kill|fail [--count N] [--seed N]
       stress hooks [--step N]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("stress: {error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(target_os = "linux")]
fn run(mut arguments: impl Iterator<Item = String>) -> Result<bool, Box<dyn std::error::Error>> {
    use journeys::trial::storm;

    let what = arguments.next().ok_or(USAGE)?;
    let (mut count, mut seed, mut step) = (1000, 20_261_122, 1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--count" => count = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--step" => step = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let storm = match what.as_str() {
        "kill" => storm::kills(count, seed)?,
        "fail" => storm::failures(count, seed)?,
        "hooks" => storm::each_call_of_hooks(step)?,
        _ => return Err(USAGE.into()),
    };
    for fault in &storm.faults {
        println!("{fault}");
    }
    println!("by writer: {:?}", storm.struck);
    println!("by call: {:?}", storm.classes);
    println!(
        "{} runs, {} struck, {} recoveries, {} faults",
        storm.runs,
        storm.strikes(),
        storm.recoveries,
        storm.faults.len()
    );
    Ok(storm.faults.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn run(_: impl Iterator<Item = String>) -> Result<bool, Box<dyn std::error::Error>> {
    Err("faults need Linux".into())
}
