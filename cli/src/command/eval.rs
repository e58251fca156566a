//! `throughline eval self`: the user's own history once more, to see what recall would have known.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use memory_store::layout::Tree;
use processor::lock::Busy;
use processor::progress::Silent;
use processor::replay::{Replay, replay};
use processor::sync::SyncOptions;

use crate::command::view;
use crate::failure::Result;
use crate::world::World;

/// Measures what recall would have known.
#[derive(Debug, Args)]
pub struct Eval {
    #[command(subcommand)]
    measured: Measured,
}

#[derive(Debug, Subcommand)]
enum Measured {
    #[command(name = "self")]
    Own(Own),
}

/// Replays this project's own history in the order of its time: which errors came back and whether
/// their fix would have been shown, which wishes were repeated and whether they were known.
#[derive(Debug, Args)]
struct Own {
    /// Stop after this many seconds; what was replayed until then is told
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    seconds: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Eval, world: &World, out: &mut dyn Write) -> Result {
    let Measured::Own(args) = &args.measured;
    let tree = world.tree()?;
    let replay = of_tree(world, &tree, Duration::from_secs(args.seconds))?;
    if args.json { view::json(&replay, out) } else { show(&replay, out) }
}

/// Replays the history of a project for at most `limit`.
pub fn of_tree(world: &World, tree: &Tree, limit: Duration) -> Result<Replay> {
    let options =
        SyncOptions { busy: Busy::Leave, ollama_host: None, ..world.sync_options(tree, &Silent) };
    Ok(replay(&options, limit)?)
}

fn show(replay: &Replay, out: &mut dyn Write) -> Result {
    let Replay { sessions, replayed, errors, new_errors, corrections, latency, millis } = replay;
    if let Some(sentence) = replay.sentence() {
        writeln!(out, "{sentence}\n")?;
    }
    writeln!(
        out,
        "{replayed} of {sessions} sessions and subagents replayed in {:.1} s.",
        *millis as f64 / 1e3
    )?;
    writeln!(
        out,
        "Errors met in two sessions: {}; the fix would have been shown {} times, the fix of another error {} times.",
        errors.met_twice, errors.answered, errors.wrong_fixes
    )?;
    writeln!(
        out,
        "Of those fixed in both: {}; the fix would have been shown {} times.",
        errors.fixed_twice, errors.fixed_answered
    )?;
    writeln!(
        out,
        "Errors never met before: {}; a fix of another error would have been shown {} times.",
        new_errors.met, new_errors.false_fires
    )?;
    writeln!(
        out,
        "Wishes repeated in a later session: {}; already in its context {} times.",
        corrections.repeated, corrections.in_context
    )?;
    writeln!(
        out,
        "Recall within this process: {} answers, half within {:.2} ms, 95 percent within {:.2} ms, 99 percent within {:.2} ms.",
        latency.answers,
        latency.p50_us as f64 / 1e3,
        latency.p95_us as f64 / 1e3,
        latency.p99_us as f64 / 1e3
    )?;
    Ok(())
}
