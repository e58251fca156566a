//! `throughline watch`: learns from running sessions, without hooks.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use memory_store::background;
use memory_store::mode::Mode;
use processor::transcript::SOURCE;
use processor::watch::{self, Options, Pace, Waker};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::view;
use crate::world::World;

/// Learns from the sessions of all projects that are set up while they run, without any hook.
///
/// It runs until it is interrupted, at low priority, once for each user; a second one ends with exit
/// code 8. docs/usage.md has a unit of systemd and an agent of launchd that start it whenever you log in.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Look every so many seconds instead of waiting for the operating system's word, where that does not come,
    /// as on a network drive
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    poll: Option<u64>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(args: &WatchArgs, world: &World, out: &mut dyn Write) -> Result {
    if world.mode != Mode::Full {
        return Err(Failure::new("nothing is learned here: THROUGHLINE, CI or a cloud session")
            .hint("Set THROUGHLINE=full to learn here."));
    }
    if args.dry_run {
        let folder = view::path(SOURCE.folder(&world.dirs.claude));
        let told = format!("learn from what is new in {folder}, until it is interrupted");
        return view::would(&[told], false, out);
    }
    let Some(_turn) = watch::take_turn(&world.dirs)? else {
        return Err(Failure::new("another `throughline watch` of yours is at work")
            .code(exit::RUNNING)
            .hint("One is enough for all projects."));
    };
    let waker = Waker::default();
    watch::stop_on_signals(&waker)?;
    watch::step_back();
    let mut pace = Pace::default();
    if let Some(seconds) = args.poll {
        pace.poll = Duration::from_secs(seconds);
    }
    let options = Options {
        dirs: world.dirs.clone(),
        processor: world.program(background::PROGRAM),
        polls: args.poll.is_some(),
        pace,
    };
    // If the output is closed, the work continues.
    let mut say = |line: &str| {
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    watch::run(&options, &waker, &mut say)?;
    say("Stopped.");
    Ok(())
}
