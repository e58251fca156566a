//! `stress`: tests faults and concurrent programs for a given time. `scripts/stress` runs it.
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::process::ExitCode;

const USAGE: &str = "usage: stress kill|fail [--count N] [--seed N]
       stress hooks [--step N]
       stress kept [--count N] [--seed N]
       stress sessions [--sessions N] [--seconds N] [--seed N]";

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
    use std::time::Duration;

    use journeys::trial::crowd::crowd;
    use journeys::trial::storm;

    let what = arguments.next().ok_or(USAGE)?;
    let (mut count, mut seed, mut step) = (1000, 20_261_122, 1);
    let (mut sessions, mut seconds) = (32, 300);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        match argument.as_str() {
            "--count" => count = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--step" => step = value.parse()?,
            "--sessions" => sessions = value.parse()?,
            "--seconds" => seconds = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    if what == "sessions" {
        let crowd = crowd(sessions, Duration::from_secs(seconds), seed)?;
        for fault in &crowd.faults {
            println!("{fault}");
        }
        println!("{:?}", crowd.done);
        println!(
            "git refused {}, {} commands found others at work, {} files were saved again, {} faults",
            crowd.refused,
            crowd.busy,
            crowd.saved_again,
            crowd.faults.len()
        );
        return Ok(crowd.faults.is_empty());
    }
    if what == "kept" {
        let kept = journeys::trial::kept::kept(count, seed)?;
        for fault in &kept.faults {
            println!("{fault}");
        }
        let (steps, compared, lost) = (kept.steps, kept.compared, kept.faults.len());
        println!("{steps} steps, {compared} comparisons of a person's file, {lost} losses");
        return Ok(kept.faults.is_empty());
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
